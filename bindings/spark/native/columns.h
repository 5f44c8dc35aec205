/* columns.h: rows of Spark as columns of the library. */
#ifndef GPUJOIN_SPARK_COLUMNS_H
#define GPUJOIN_SPARK_COLUMNS_H

#include <stdint.h>

#include "gpujoin.h"

/* A column of one side: where it lies in that side's rows, and what it is for the library. */
struct column_kind {
  int32_t ordinal;
  gpujoin_type type;
  int32_t precision;
  int32_t scale;
};

/* A column's values, wherever they lie. */
struct column_values {
  const uint8_t* validity; /* NULL = no NULLs */
  int64_t first_bit;       /* of validity, and of the data of BOOL */
  const void* data;
  const int32_t* offsets; /* of text */
};

/* Columns made of packed rows, and the memory that they are in, which the next rows use again. */
struct columns {
  int32_t count;
  int32_t fields; /* of the rows that the columns are read from */
  struct column_kind* kinds;
  struct column_values* values;
  struct column_memory* memory;
  const uint8_t** rows;
  int64_t rows_capacity;
};

/* 0 = no memory; columns_free is due all the same. `numbers`: four for each column. */
int columns_init(struct columns* columns, const int32_t* numbers, int32_t count, int32_t fields);
void columns_free(struct columns* columns);

/* Rows packed one after the other, each an int64 with its size and the bytes of an UnsafeRow,
 * turned into columns. Answers how many there are, or -1 where there is no memory. */
int64_t columns_read(struct columns* columns, const uint8_t* packed, int64_t bytes);

/* A relation of `rows` rows with these values; the caller destroys it before they change. */
gpujoin_status columns_relation(const struct columns* columns, gpujoin_context* context,
                                int64_t rows, gpujoin_relation** out, gpujoin_error* error);

/* Bytes of a value; 0 of BOOL and text. */
int64_t column_width(gpujoin_type type);
int column_is_text(gpujoin_type type);

#endif
