/* batch.c: a page of a result as a batch of columns of Arrow. */
#include "bindings/spark/native/batch.h"

#include <stdlib.h>
#include <string.h>

static int bit(const uint8_t* bits, int64_t at) { return bits[at / 8] >> (at % 8) & 1; }

/* IN is NULL where a comparison is unknown; EXISTS is false there. */
static int make_marks(struct batch* batch, const struct ArrowArray* mark) {
  const uint8_t* validity = mark->buffers[0];
  const uint8_t* values = mark->buffers[1];
  batch->marks = calloc((size_t)(mark->length / 8 + 1), 1);
  if (batch->marks == NULL) return 0;
  for (int64_t row = 0; row < mark->length; ++row) {
    int64_t const at = mark->offset + row;
    int const is_true = bit(values, at) && (validity == NULL || bit(validity, at));
    batch->marks[row / 8] |= (uint8_t)(is_true << (row % 8));
  }
  return 1;
}

gpujoin_status batch_next(gpujoin_result* result, gpujoin_page* page, int32_t mark,
                          struct batch** out, gpujoin_error* error) {
  *out = NULL;
  struct batch* batch = calloc(1, sizeof *batch);
  memset(error, 0, sizeof *error);
  if (batch == NULL) return GPUJOIN_ERROR_OUT_OF_MEMORY;
  gpujoin_status const status =
      gpujoin_result_export(result, page, &batch->schema, &batch->array, error);
  if (status != GPUJOIN_OK || page->rows == 0) {
    batch_free(batch);
    return status;
  }
  if (mark >= 0 && !make_marks(batch, batch->array.children[mark])) {
    batch_free(batch);
    return GPUJOIN_ERROR_OUT_OF_MEMORY;
  }
  *out = batch;
  return GPUJOIN_OK;
}

/* Where the values of `format` begin that has `offset` values before its first. */
static const void* data_of(const struct ArrowArray* column, const char* format) {
  const uint8_t* data = column->buffers[1];
  int64_t width = 0; /* of bits, and of text, whose offsets are moved in the place of it */
  switch (format[0]) {
    case 'c':
      width = 1;
      break;
    case 's':
      width = 2;
      break;
    case 'i':
    case 'f':
      width = 4;
      break;
    case 'l':
    case 'g':
      width = 8;
      break;
    case 'w':
      width = 16;
      break;
    case 'd': /* decimal of 64 bits, which the format says, or of 128 */
      width =
          strstr(format, ",64") != NULL && strrchr(format, ',') == strstr(format, ",64") ? 8 : 16;
      break;
    default:
      return data;
  }
  return data + width * column->offset;
}

void batch_describe(const struct batch* batch, int32_t mark, int64_t* numbers) {
  for (int64_t i = 0; i < batch->array.n_children; ++i) {
    const struct ArrowArray* column = batch->array.children[i];
    const char* format = batch->schema.children[i]->format;
    int64_t* at = numbers + BATCH_NUMBERS * i;
    int const has_nulls = column->buffers[0] != NULL && column->null_count != 0;
    at[0] = has_nulls ? (int64_t)(intptr_t)column->buffers[0] : 0;
    at[1] = column->offset;
    at[2] = (int64_t)(intptr_t)data_of(column, format);
    at[3] = 0;
    at[4] = has_nulls ? column->null_count : 0;
    if (format[0] == 'u' || format[0] == 'z') {
      at[2] = (int64_t)(intptr_t)column->buffers[2];
      at[3] = (int64_t)(intptr_t)((const int32_t*)column->buffers[1] + column->offset);
    }
    if (i == mark) {
      at[0] = at[1] = at[4] = 0;
      at[2] = (int64_t)(intptr_t)batch->marks;
    }
  }
}

void batch_free(struct batch* batch) {
  if (batch == NULL) return;
  if (batch->schema.release != NULL) batch->schema.release(&batch->schema);
  if (batch->array.release != NULL) batch->array.release(&batch->array);
  free(batch->marks);
  free(batch);
}
