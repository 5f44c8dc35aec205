/* columns.c: rows of Spark as columns of the library.
 *
 * An UnsafeRow is a bit for each field, 1 = NULL, in words of 8 bytes; 8 bytes a field; and what is
 * longer, to which the upper half of a field is the offset in the row and the lower half the size.
 */
#include "bindings/spark/native/columns.h"

#include <stdlib.h>
#include <string.h>

struct column_memory {
  void* data;
  int64_t data_bytes;
  int32_t* offsets;
  int64_t offsets_bytes;
  uint8_t* validity;
  int64_t validity_bytes;
};

static int grow(void* pointer_to_memory, int64_t* capacity, int64_t bytes) {
  if (bytes <= *capacity) return 1;
  void** memory = pointer_to_memory;
  free(*memory);
  *capacity = 0;
  *memory = malloc((size_t)(bytes + bytes / 4));
  if (*memory == NULL) return 0;
  *capacity = bytes + bytes / 4;
  return 1;
}

int column_is_text(gpujoin_type type) {
  return type == GPUJOIN_TYPE_UTF8 || type == GPUJOIN_TYPE_BINARY;
}

int64_t column_width(gpujoin_type type) {
  switch (type) {
    case GPUJOIN_TYPE_INT8:
      return 1;
    case GPUJOIN_TYPE_INT16:
      return 2;
    case GPUJOIN_TYPE_INT32:
    case GPUJOIN_TYPE_FLOAT32:
      return 4;
    case GPUJOIN_TYPE_INT64:
    case GPUJOIN_TYPE_FLOAT64:
    case GPUJOIN_TYPE_DECIMAL64:
      return 8;
    case GPUJOIN_TYPE_BYTES16:
      return 16;
    default:
      return 0;
  }
}

int columns_init(struct columns* columns, const int32_t* numbers, int32_t count, int32_t fields) {
  memset(columns, 0, sizeof *columns);
  columns->count = count;
  columns->fields = fields;
  size_t const room = count > 0 ? (size_t)count : 1;
  columns->kinds = calloc(room, sizeof *columns->kinds);
  columns->values = calloc(room, sizeof *columns->values);
  columns->memory = calloc(room, sizeof *columns->memory);
  if (columns->kinds == NULL || columns->values == NULL || columns->memory == NULL) return 0;
  for (int32_t i = 0; i < count; ++i) {
    struct column_kind const kind = {numbers[4 * i], numbers[4 * i + 1], numbers[4 * i + 2],
                                     numbers[4 * i + 3]};
    columns->kinds[i] = kind;
  }
  return 1;
}

void columns_free(struct columns* columns) {
  for (int32_t i = 0; columns->memory != NULL && i < columns->count; ++i) {
    free(columns->memory[i].data);
    free(columns->memory[i].offsets);
    free(columns->memory[i].validity);
  }
  free(columns->memory);
  free(columns->values);
  free(columns->kinds);
  free(columns->rows);
  memset(columns, 0, sizeof *columns);
}

static int64_t find_rows(struct columns* columns, const uint8_t* packed, int64_t bytes) {
  int64_t rows = 0;
  for (int64_t at = 0; at < bytes;) {
    int64_t size;
    memcpy(&size, packed + at, sizeof size);
    if (rows == columns->rows_capacity) {
      int64_t const capacity = rows == 0 ? 1 << 14 : 2 * rows;
      const uint8_t** more = realloc(columns->rows, (size_t)capacity * sizeof *more);
      if (more == NULL) return -1;
      columns->rows = more;
      columns->rows_capacity = capacity;
    }
    columns->rows[rows++] = packed + at + sizeof size;
    at += (int64_t)sizeof size + size;
  }
  return rows;
}

static const uint8_t* field_of(const struct columns* columns, int64_t row, int32_t ordinal) {
  return columns->rows[row] + 8 * ((columns->fields + 63) / 64) + 8 * ordinal;
}

static const uint8_t* bytes_of(const struct columns* columns, int64_t row, int32_t ordinal,
                               int64_t* size) {
  uint64_t word;
  memcpy(&word, field_of(columns, row, ordinal), sizeof word);
  *size = (int64_t)(word & UINT32_MAX);
  return columns->rows[row] + (word >> 32);
}

/* Answers how many NULLs there are. */
static int64_t read_validity(const struct columns* columns, int64_t rows, int32_t ordinal,
                             uint8_t* validity) {
  int64_t nulls = 0;
  memset(validity, 0, (size_t)((rows + 7) / 8));
  for (int64_t row = 0; row < rows; ++row) {
    int const is_null = columns->rows[row][ordinal / 8] >> (ordinal % 8) & 1;
    nulls += is_null;
    validity[row / 8] |= (uint8_t)(!is_null << (row % 8));
  }
  return nulls;
}

static int is_valid(const uint8_t* validity, int64_t row) {
  return validity[row / 8] >> (row % 8) & 1;
}

#define READ_VALUES(type)                                                     \
  for (int64_t row = 0; row < rows; ++row) {                                  \
    memcpy((type*)data + row, field_of(columns, row, ordinal), sizeof(type)); \
  }

static void read_bits(const struct columns* columns, int64_t rows, int32_t ordinal, uint8_t* data) {
  memset(data, 0, (size_t)((rows + 7) / 8));
  for (int64_t row = 0; row < rows; ++row) {
    data[row / 8] |= (uint8_t)((*field_of(columns, row, ordinal) != 0) << (row % 8));
  }
}

/* A decimal of more than 18 digits, or an interval. The first is the bytes of a BigInteger, highest
 * first. */
static void read_16_bytes(const struct columns* columns, int64_t rows, int32_t ordinal,
                          int is_decimal, const uint8_t* validity, uint8_t* data) {
  for (int64_t row = 0; row < rows; ++row) {
    uint8_t* value = data + 16 * row;
    memset(value, 0, 16);
    if (!is_valid(validity, row)) continue;
    int64_t size;
    const uint8_t* bytes = bytes_of(columns, row, ordinal, &size);
    if (!is_decimal) {
      memcpy(value, bytes, 16);
      continue;
    }
    if (size > 0 && bytes[0] & 0x80) memset(value, 0xff, 16);
    for (int64_t i = 0; i < size; ++i) value[size - 1 - i] = bytes[i];
  }
}

static int read_text(const struct columns* columns, int64_t rows, int32_t ordinal,
                     const uint8_t* validity, struct column_memory* memory) {
  int64_t total = 0, size;
  memory->offsets[0] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (is_valid(validity, row)) {
      bytes_of(columns, row, ordinal, &size);
      total += size;
    }
    memory->offsets[row + 1] = (int32_t)total;
  }
  if (!grow(&memory->data, &memory->data_bytes, total + 1)) return 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (!is_valid(validity, row)) continue;
    const uint8_t* bytes = bytes_of(columns, row, ordinal, &size);
    memcpy((uint8_t*)memory->data + memory->offsets[row], bytes, (size_t)size);
  }
  return 1;
}

static int read_column(const struct columns* columns, int64_t rows, int32_t number) {
  struct column_kind const kind = columns->kinds[number];
  struct column_memory* memory = &columns->memory[number];
  struct column_values* values = &columns->values[number];
  int32_t const ordinal = kind.ordinal;
  int const is_text = column_is_text(kind.type);
  int64_t const width = column_width(kind.type);
  if (!grow(&memory->validity, &memory->validity_bytes, rows / 8 + 1)) return 0;
  if (is_text && !grow(&memory->offsets, &memory->offsets_bytes, 4 * (rows + 1))) return 0;
  if (!is_text && !grow(&memory->data, &memory->data_bytes, rows * width + rows / 8 + 1)) return 0;
  int64_t const nulls = read_validity(columns, rows, ordinal, memory->validity);
  void* data = memory->data;
  if (is_text) {
    if (!read_text(columns, rows, ordinal, memory->validity, memory)) return 0;
  } else if (kind.type == GPUJOIN_TYPE_BOOL) {
    read_bits(columns, rows, ordinal, data);
  } else if (width == 1) {
    READ_VALUES(int8_t)
  } else if (width == 2) {
    READ_VALUES(int16_t)
  } else if (width == 4) {
    READ_VALUES(int32_t)
  } else if (width == 8) {
    READ_VALUES(int64_t)
  } else {
    read_16_bytes(columns, rows, ordinal, kind.precision > 0, memory->validity, data);
  }
  values->validity = nulls > 0 ? memory->validity : NULL;
  values->first_bit = 0;
  values->data = memory->data;
  values->offsets = memory->offsets;
  return 1;
}

int64_t columns_read(struct columns* columns, const uint8_t* packed, int64_t bytes) {
  int64_t const rows = find_rows(columns, packed, bytes);
  if (rows < 0) return -1;
  for (int32_t i = 0; i < columns->count; ++i) {
    if (!read_column(columns, rows, i)) return -1;
  }
  return rows;
}

gpujoin_status columns_relation(const struct columns* columns, gpujoin_context* context,
                                int64_t rows, gpujoin_relation** out, gpujoin_error* error) {
  int32_t const count = columns->count;
  gpujoin_column* described = calloc(count > 0 ? (size_t)count : 1, sizeof *described);
  if (described == NULL) {
    memset(error, 0, sizeof *error);
    return error->status = GPUJOIN_ERROR_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < count; ++i) {
    gpujoin_column column = GPUJOIN_COLUMN_INIT;
    column.type = columns->kinds[i].type;
    column.decimal_precision = columns->kinds[i].precision;
    column.decimal_scale = columns->kinds[i].scale;
    column.memory = GPUJOIN_MEMORY_HOST;
    if (rows > 0) {
      column.data = columns->values[i].data;
      column.validity = columns->values[i].validity;
      column.validity_bit_offset = column.validity == NULL ? 0 : columns->values[i].first_bit;
      if (column.type == GPUJOIN_TYPE_BOOL) column.first_bit = columns->values[i].first_bit;
      if (column_is_text(column.type)) column.offsets = columns->values[i].offsets;
    }
    described[i] = column;
  }
  gpujoin_status const status =
      gpujoin_relation_create(context, rows, described, count, out, error);
  free(described);
  return status;
}
