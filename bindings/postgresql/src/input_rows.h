// input_rows.h: rows of one side of a join, as batches of columns.
#ifndef GPUJOIN_POSTGRESQL_INPUT_ROWS_H
#define GPUJOIN_POSTGRESQL_INPUT_ROWS_H

#include <postgres.h>

#include <executor/tuptable.h>
#include <nodes/execnodes.h>

#include "bindings/postgresql/src/join_key.h"
#include "gpujoin.h"

typedef struct InputColumn {
  gpujoin_type type;
  ValueForm form;
  // In the rows of this side, from 0; -1: `key` says it, or all of `members`.
  int attribute;
  ExprState* key;
  // Bytes of a value of fixed width.
  int width;

  char* data;
  size_t data_bytes;  // in use, and how many there are
  size_t data_room;
  int64_t* offsets;
  uint8_t* validity;
  bool has_null;
} InputColumn;

typedef struct InputRows {
  InputColumn* columns;
  int column_count;
  int key_count;  // the first ones
  // Of FORM_TUPLE, at most one of a side: attributes in the rows of this side, and their types.
  int* members;
  int member_count;
  TupleDesc member_types;
  // Attributes that are read.
  int attributes;
  // Number the batch's rows: the last column. -1: there is none.
  int number_column;

  // No more will come.
  bool is_over;
  int64_t batch_rows;
  int64_t all_rows;
  Datum* member_values;
  bool* member_nulls;
} InputRows;

// Columns are added until the first row comes.
void init_input(InputRows* rows, int most_columns);
InputColumn* add_input_column(InputRows* rows, gpujoin_type type, ValueForm form, int width);
void allocate_input(InputRows* rows);

// Before the first row of an execution.
void begin_input(InputRows* rows);
bool is_full(const InputRows* rows);
// Keys are evaluated in `context`, which has the row and is reset.
void add_row(InputRows* rows, TupleTableSlot* row, ExprContext* context);
// Of the rows since the last one; what it refers to stays as it is until empty_input.
gpujoin_relation* batch_of(InputRows* rows, gpujoin_context* context);
void empty_input(InputRows* rows);

#endif
