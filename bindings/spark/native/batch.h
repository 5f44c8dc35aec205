/* batch.h: a page of a result as a batch of columns of Arrow. */
#ifndef GPUJOIN_SPARK_BATCH_H
#define GPUJOIN_SPARK_BATCH_H

#include <stdint.h>

#include "gpujoin.h"

struct batch {
  struct ArrowSchema schema;
  struct ArrowArray array;
  uint8_t* marks; /* of a mark column: its bits, where a NULL is false */
};

/* Numbers of a column: addresses of validity, its first bit, data, offsets; NULLs. */
#define BATCH_NUMBERS 5

/* The next page, with at most `rows` rows; of none *out is NULL. `mark` is the position of a column
 * whose NULLs are to be false, or -1. */
gpujoin_status batch_next(gpujoin_result* result, gpujoin_page* page, int32_t mark,
                          struct batch** out, gpujoin_error* error);

/* Writes BATCH_NUMBERS numbers for each column. */
void batch_describe(const struct batch* batch, int32_t mark, int64_t* numbers);

void batch_free(struct batch* batch);

#endif
