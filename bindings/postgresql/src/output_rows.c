// output_rows.c: results of the library as rows.
#include "bindings/postgresql/src/output_rows.h"

#include <access/htup_details.h>
#include <access/tupmacs.h>
#include <executor/executor.h>

#include "bindings/postgresql/src/library.h"

void begin_output(OutputRows* output, gpujoin_result* result) {
  gpujoin_error error;
  gpujoin_status const status =
      gpujoin_result_export(result, NULL, &output->schema, &output->array, &error);
  gpujoin_result_destroy(result);
  if (status != GPUJOIN_OK) output->array.release = NULL;
  if (status != GPUJOIN_OK) output->schema.release = NULL;
  check_status(status, &error);
  output->rows = output->array.length;
  output->next_row = 0;
}

void end_output(OutputRows* output) {
  if (output->array.release != NULL) output->array.release(&output->array);
  if (output->schema.release != NULL) output->schema.release(&output->schema);
  output->rows = 0;
  output->next_row = 0;
}

static bool is_valid(const struct ArrowArray* column, int64_t row) {
  uint8_t const* const bits = column->buffers[0];
  if (bits == NULL) return true;
  int64_t const bit = column->offset + row;
  return (bits[bit / 8] >> (bit % 8) & 1) != 0;
}

static void put_out_tuple(const OutputColumn* column, const struct ArrowArray* array, int64_t row,
                          TupleTableSlot* to) {
  TupleTableSlot* const tuple = column->tuple;
  int const members = tuple->tts_tupleDescriptor->natts;
  if (!is_valid(array, row)) {  // this side has no row
    for (int i = 0; i < members; ++i) to->tts_isnull[column->members[i]] = true;
    return;
  }
  int64_t const* const offsets = (int64_t const*)array->buffers[1] + array->offset;
  ExecStoreMinimalTuple((MinimalTuple)((char*)array->buffers[2] + offsets[row]), tuple, false);
  slot_getallattrs(tuple);
  for (int i = 0; i < members; ++i) {
    to->tts_values[column->members[i]] = tuple->tts_values[i];
    to->tts_isnull[column->members[i]] = tuple->tts_isnull[i];
  }
}

bool put_out(OutputRows* output, TupleTableSlot* row) {
  if (output->next_row == output->rows) return false;
  int64_t const number = output->next_row++;
  for (int i = 0; i < output->column_count; ++i) {
    OutputColumn const* const column = &output->columns[i];
    struct ArrowArray const* const array = output->array.children[i];
    if (column->tuple != NULL) {
      put_out_tuple(column, array, number, row);
    } else if (column->attribute >= 0) {
      char const* const at =
          (char const*)array->buffers[1] + (array->offset + number) * column->width;
      bool const is_null = !is_valid(array, number);
      row->tts_isnull[column->attribute] = is_null;
      row->tts_values[column->attribute] = is_null ? (Datum)0 : fetch_att(at, true, column->width);
    }
  }
  return true;
}

int64_t number_of(const OutputRows* output, int column) {
  struct ArrowArray const* const array = output->array.children[column];
  return ((int64_t const*)array->buffers[1])[array->offset + output->next_row - 1];
}
