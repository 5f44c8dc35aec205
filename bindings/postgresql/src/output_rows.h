// output_rows.h: results of the library as rows.
#ifndef GPUJOIN_POSTGRESQL_OUTPUT_ROWS_H
#define GPUJOIN_POSTGRESQL_OUTPUT_ROWS_H

#include <postgres.h>

#include <executor/tuptable.h>

#include "gpujoin.h"

// A column of results, and where its values go.
typedef struct OutputColumn {
  // Of a fixed width: an attribute of the rows that come out, or -1: nowhere.
  int attribute;
  int width;
  // Of tuples: their types and where each value goes; NULL = a fixed width.
  TupleTableSlot* tuple;
  int* members;
} OutputColumn;

typedef struct OutputRows {
  OutputColumn* columns;
  int column_count;
  // The row numbers of decided pairs, among the columns; -1: there are none.
  int outer_number;
  int inner_number;

  // A result as Arrow arrays; none: release is NULL.
  struct ArrowSchema schema;
  struct ArrowArray array;
  int64_t rows;
  int64_t next_row;
} OutputRows;

// Takes the result. Call end_output before the next one.
void begin_output(OutputRows* output, gpujoin_result* result);
// Any time, any number of times.
void end_output(OutputRows* output);
// The next row; its values stay until end_output. false: there is none.
bool put_out(OutputRows* output, TupleTableSlot* row);
// Of the row that was put out last.
int64_t number_of(const OutputRows* output, int column);

#endif
