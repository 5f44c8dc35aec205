// input_rows.c: rows of one side of a join, as batches of columns.
#include "bindings/postgresql/src/input_rows.h"

#include <access/htup_details.h>
#include <access/tupmacs.h>
#include <executor/executor.h>
#include <fmgr.h>
#include <utils/builtins.h>
#include <utils/memutils.h>
#include <utils/numeric.h>
#include <utils/timestamp.h>

#include "bindings/postgresql/src/library.h"
#include "bindings/postgresql/src/server_versions.h"

#define BATCH_ROWS 4096
#define BATCH_BYTES (256 * 1024)

void init_input(InputRows* rows, int most_columns) {
  memset(rows, 0, sizeof *rows);
  rows->columns = palloc0(sizeof(InputColumn) * (most_columns + 1));
  rows->number_column = -1;
}

InputColumn* add_input_column(InputRows* rows, gpujoin_type type, ValueForm form, int width) {
  InputColumn* const column = &rows->columns[rows->column_count++];
  column->type = type;
  column->form = form;
  column->attribute = -1;
  column->width = width;
  return column;
}

void allocate_input(InputRows* rows) {
  for (int i = 0; i < rows->column_count; ++i) {
    InputColumn* const column = &rows->columns[i];
    bool const is_fixed = column->type != GPUJOIN_TYPE_LARGE_BINARY;
    column->data_room = is_fixed ? (size_t)BATCH_ROWS * column->width : 16 * BATCH_ROWS;
    column->data = palloc(column->data_room);
    column->validity = palloc(BATCH_ROWS / 8);
    if (!is_fixed) column->offsets = palloc0(sizeof(int64_t) * (BATCH_ROWS + 1));
  }
  rows->member_values = palloc(sizeof(Datum) * (rows->member_count + 1));
  rows->member_nulls = palloc(sizeof(bool) * (rows->member_count + 1));
  empty_input(rows);
}

void empty_input(InputRows* rows) {
  rows->batch_rows = 0;
  for (int i = 0; i < rows->column_count; ++i) {
    InputColumn* const column = &rows->columns[i];
    column->data_bytes = 0;
    column->has_null = false;
    memset(column->validity, 0xff, BATCH_ROWS / 8);
  }
}

void begin_input(InputRows* rows) {
  rows->is_over = false;
  rows->all_rows = 0;
  empty_input(rows);
}

bool is_full(const InputRows* rows) {
  if (rows->batch_rows == BATCH_ROWS) return true;
  for (int i = 0; i < rows->column_count; ++i) {
    InputColumn const* const column = &rows->columns[i];
    if (column->offsets != NULL && column->data_bytes >= BATCH_BYTES) return true;
  }
  return false;
}

// Room for as many more.
static char* more_bytes(InputColumn* column, size_t bytes) {
  if (column->data_bytes + bytes > column->data_room) {
    column->data_room = Max(2 * column->data_room, column->data_bytes + bytes);
    column->data = repalloc_huge(column->data, column->data_room);
  }
  char* const at = column->data + column->data_bytes;
  column->data_bytes += bytes;
  return at;
}

static void add_bytes(InputColumn* column, const void* bytes, size_t length) {
  memcpy(more_bytes(column, length), bytes, length);
}

static void add_text(InputColumn* column, Datum value, bool is_padded) {
  struct varlena* const text = PG_DETOAST_DATUM_PACKED(value);
  size_t length = VARSIZE_ANY_EXHDR(text);
  char const* const bytes = VARDATA_ANY(text);
  while (is_padded && length > 0 && bytes[length - 1] == ' ') --length;
  add_bytes(column, bytes, length);
}

// As interval_eq has it: months are 30 days, days 24 hours.
static void add_interval(InputColumn* column, const Interval* interval) {
  int64_t days = interval->time / USECS_PER_DAY + interval->month * INT64CONST(30) + interval->day;
  int64_t rest = interval->time % USECS_PER_DAY;
  // One way to write each length: both parts have the sign of the whole.
  if (rest < 0 && days > 0) {
    rest += USECS_PER_DAY;
    days -= 1;
  } else if (rest > 0 && days < 0) {
    rest -= USECS_PER_DAY;
    days += 1;
  }
  int64_t const length[2] = {days, rest};
  add_bytes(column, length, sizeof length);
}

// A tuple of the members' values, whose length is a multiple of its alignment: so are the places of
// those behind it, here and in a result.
static void add_tuple(InputRows* rows, InputColumn* column, TupleTableSlot* row) {
  for (int i = 0; i < rows->member_count; ++i) {
    rows->member_values[i] = row->tts_values[rows->members[i]];
    rows->member_nulls[i] = row->tts_isnull[rows->members[i]];
  }
  MinimalTuple const tuple =
      heap_form_minimal_tuple(rows->member_types, rows->member_values, rows->member_nulls, 0);
  char* const at = more_bytes(column, MAXALIGN(tuple->t_len));
  memcpy(at, tuple, tuple->t_len);
  memset(at + tuple->t_len, 0, MAXALIGN(tuple->t_len) - tuple->t_len);
}

static void add_value(InputColumn* column, Datum value) {
  switch (column->form) {
    case FORM_FIXED:
      store_att_byval(more_bytes(column, column->width), value, column->width);
      break;
    case FORM_BYTES:
      add_text(column, value, false);
      break;
    case FORM_PADDED_TEXT:
      add_text(column, value, true);
      break;
    case FORM_NAME:
      add_bytes(column, DatumGetPointer(value), strlen(NameStr(*DatumGetName(value))));
      break;
    case FORM_FIXED_BYTES:
      add_bytes(column, DatumGetPointer(value), column->width);
      break;
    case FORM_NUMERIC: {
      char* const digits = numeric_normalize(DatumGetNumeric(value));
      add_bytes(column, digits, strlen(digits));
      break;
    }
    case FORM_INTERVAL:
      add_interval(column, DatumGetIntervalP(value));
      break;
    case FORM_TUPLE:
      break;
  }
}

void add_row(InputRows* rows, TupleTableSlot* row, ExprContext* context) {
  slot_getsomeattrs(row, rows->attributes);
  ResetExprContext(context);
  MemoryContext const before = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
  int64_t const number = rows->batch_rows;
  for (int i = 0; i < rows->column_count; ++i) {
    InputColumn* const column = &rows->columns[i];
    Datum value = 0;
    bool is_null = false;
    if (column->key != NULL) {
      value = ExecEvalExpr(column->key, context, &is_null);
    } else if (column->attribute >= 0) {
      value = row->tts_values[column->attribute];
      is_null = row->tts_isnull[column->attribute];
    } else if (i == rows->number_column) {
      value = Int64GetDatum(rows->all_rows);
    } else {
      add_tuple(rows, column, row);
    }
    if (is_null) {
      column->has_null = true;
      column->validity[number / 8] &= (uint8_t) ~(1 << (number % 8));
      if (column->offsets == NULL) memset(more_bytes(column, column->width), 0, column->width);
    } else {
      add_value(column, value);
    }
    if (column->offsets != NULL) column->offsets[number + 1] = (int64_t)column->data_bytes;
  }
  MemoryContextSwitchTo(before);
  ++rows->batch_rows;
  ++rows->all_rows;
}

gpujoin_relation* batch_of(InputRows* rows, gpujoin_context* context) {
  gpujoin_column const init = GPUJOIN_COLUMN_INIT;
  gpujoin_column* const columns = palloc(sizeof(gpujoin_column) * rows->column_count);
  for (int i = 0; i < rows->column_count; ++i) {
    InputColumn const* const column = &rows->columns[i];
    columns[i] = init;
    columns[i].type = column->type;
    columns[i].data = column->data;
    columns[i].offsets = column->offsets;
    columns[i].memory = GPUJOIN_MEMORY_HOST;
    if (column->has_null) columns[i].validity = column->validity;
  }
  gpujoin_relation* batch = NULL;
  gpujoin_error error;
  gpujoin_status const status = gpujoin_relation_create(context, rows->batch_rows, columns,
                                                        rows->column_count, &batch, &error);
  pfree(columns);
  check_status(status, &error);
  return batch;
}
