/* first_call.c: what a process waits for once. Prints the milliseconds of the first context and of
 * each of a few joins after it; the first join loads and unpacks the kernels that it launches.
 *
 *   gpujoin_first_call [rows of a side, default 1000]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gpujoin.h"

enum { kJoins = 3 };

static void check(gpujoin_status status, const gpujoin_error* error) {
  if (status == GPUJOIN_OK) return;
  fprintf(stderr, "%s: %s\n", gpujoin_status_name(status), error->message);
  exit(1);
}

static double milliseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int main(int count, char** words) {
  const int64_t rows = count > 1 ? atoll(words[1]) : 1000;
  int32_t* keys = rows > 0 ? malloc((size_t)rows * sizeof *keys) : NULL;
  if (keys == NULL) {
    fprintf(stderr, "usage: %s [rows of a side, default 1000]\n", words[0]);
    return 2;
  }
  for (int64_t i = 0; i < rows; ++i) keys[i] = (int32_t)(i * 7 % 1000003);
  gpujoin_column column = GPUJOIN_COLUMN_INIT;
  column.name = "key";
  column.type = GPUJOIN_TYPE_INT32;
  column.data = keys;

  gpujoin_error error;
  gpujoin_context* context;
  gpujoin_relation *left, *right;
  double before = milliseconds();
  check(gpujoin_context_create(NULL, &context, &error), &error);
  printf("context %.2f ms\n", milliseconds() - before);
  check(gpujoin_relation_create(context, rows, &column, 1, &left, &error), &error);
  check(gpujoin_relation_create(context, rows, &column, 1, &right, &error), &error);

  const int32_t key[] = {0};
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = key;
  spec.right_keys = key;
  spec.left_columns = key;
  spec.left_column_count = 1;
  for (int i = 0; i < kJoins; ++i) {
    gpujoin_result* result;
    before = milliseconds();
    check(gpujoin_join(context, left, right, &spec, NULL, &result, &error), &error);
    printf("join %d %.2f ms\n", i + 1, milliseconds() - before);
    gpujoin_result_destroy(result);
  }
  gpujoin_relation_destroy(left);
  gpujoin_relation_destroy(right);
  gpujoin_context_destroy(context);
  free(keys);
  return 0;
}
