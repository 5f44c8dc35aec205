/* example_join.c: orders and their customers, joined and printed. README.md quotes the part between
 * the two marks. */
/* example-begin */
#include <stdio.h>
#include <stdlib.h>

#include "gpujoin.h"

static void check(gpujoin_status status, const gpujoin_error* error) {
  if (status == GPUJOIN_OK) return;
  fprintf(stderr, "%s: %s\n", gpujoin_status_name(status), error->message);
  exit(1);
}

static gpujoin_column column(const char* name, gpujoin_type type, const void* data) {
  gpujoin_column described = GPUJOIN_COLUMN_INIT;
  described.name = name;
  described.type = type;
  described.data = data;
  return described;
}

int main(void) {
  /* customers(id, discount) and orders(customer, amount); the columns stay yours. */
  const int32_t ids[] = {10, 11, 12};
  const double discounts[] = {0.5, 0.0, 0.25};
  const int32_t customers[] = {12, 10, 99, 10};
  const int64_t amounts[] = {400, 100, 700, 200};
  const gpujoin_column left_columns[] = {column("id", GPUJOIN_TYPE_INT32, ids),
                                         column("discount", GPUJOIN_TYPE_FLOAT64, discounts)};
  const gpujoin_column right_columns[] = {column("customer", GPUJOIN_TYPE_INT32, customers),
                                          column("amount", GPUJOIN_TYPE_INT64, amounts)};

  gpujoin_error error;
  gpujoin_context* context; /* on a GPU when there is one, else on the CPU */
  gpujoin_relation *left, *right;
  check(gpujoin_context_create(NULL, &context, &error), &error);
  check(gpujoin_relation_create(context, 3, left_columns, 2, &left, &error), &error);
  check(gpujoin_relation_create(context, 4, right_columns, 2, &right, &error), &error);

  /* select id, discount, amount from customers join orders on id = customer */
  const int32_t key[] = {0}, left_output[] = {0, 1}, right_output[] = {1};
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = key;
  spec.right_keys = key;
  spec.left_columns = left_output;
  spec.left_column_count = 2;
  spec.right_columns = right_output;
  spec.right_column_count = 1;
  gpujoin_result* result;
  check(gpujoin_join(context, left, right, &spec, NULL, &result, &error), &error);

  /* Fetch two rows at a time. */
  int32_t id[2];
  double discount[2];
  int64_t amount[2];
  void* buffers[] = {id, discount, amount};
  const uint64_t sizes[] = {sizeof id, sizeof discount, sizeof amount};
  gpujoin_fetch fetches[] = {GPUJOIN_FETCH_INIT, GPUJOIN_FETCH_INIT, GPUJOIN_FETCH_INIT};
  for (int i = 0; i < 3; ++i) {
    fetches[i].what = GPUJOIN_FETCH_COLUMN;
    fetches[i].column = i;
    fetches[i].data = buffers[i];
    fetches[i].data_bytes = sizes[i];
  }
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_rows = 2;
  int64_t rows = 0;
  double total = 0;
  for (;;) {
    check(gpujoin_result_fetch(result, &page, fetches, 3, &error), &error);
    if (page.rows == 0) break;
    for (int64_t i = 0; i < page.rows; ++i) {
      printf("customer %d: %lld less %.0f%%\n", id[i], (long long)amount[i], 100 * discount[i]);
      total += (double)amount[i] * (1 - discount[i]);
    }
    rows += page.rows;
  }
  printf("%lld orders, %.2f in total\n", (long long)rows, total);

  gpujoin_result_destroy(result);
  gpujoin_relation_destroy(left);
  gpujoin_relation_destroy(right);
  gpujoin_context_destroy(context);
  return rows == 3 && total == 450.0 ? 0 : 1;
}
/* example-end */
