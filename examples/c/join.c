/* Ten minutes with libgpujoin in C: the README beside it says what happens here, and what it
 * prints. */
#include <gpujoin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCustomers = 1000, kOrders = 100000, kThreads = 4, kBatch = 2048 };

static int32_t customer_ids[kCustomers];
static double discounts[kCustomers];
static int32_t customers_of[kOrders];
static int64_t amounts[kOrders];

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

/* Columns stay the caller's: a relation says where they lie, and copies nothing. */
static gpujoin_relation* relation_of(gpujoin_context* context, int64_t rows, gpujoin_column key,
                                     gpujoin_column payload) {
  const gpujoin_column columns[] = {key, payload};
  gpujoin_relation* relation;
  gpujoin_error error;
  check(gpujoin_relation_create(context, rows, columns, 2, &relation, &error), &error);
  return relation;
}

static gpujoin_relation* customers(gpujoin_context* context) {
  return relation_of(context, kCustomers, column("id", GPUJOIN_TYPE_INT32, customer_ids),
                     column("discount", GPUJOIN_TYPE_FLOAT64, discounts));
}

static gpujoin_relation* orders(gpujoin_context* context, int64_t first, int64_t rows) {
  return relation_of(context, rows, column("customer", GPUJOIN_TYPE_INT32, customers_of + first),
                     column("amount", GPUJOIN_TYPE_INT64, amounts + first));
}

/* The left side of a join is orders(customer, amount), the right one customers(id, discount). */
static gpujoin_join_spec orders_with_customers(gpujoin_join_kind kind) {
  static const int32_t key[] = {0}, amount[] = {1}, discount[] = {1};
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = kind;
  spec.key_count = 1;
  spec.left_keys = key;
  spec.right_keys = key;
  spec.left_columns = amount;
  spec.left_column_count = 1;
  if (kind == GPUJOIN_JOIN_INNER) {
    spec.right_columns = discount;
    spec.right_column_count = 1;
  }
  return spec;
}

/* What the rows of a result are worth, fetched a page at a time; its rows are counted. */
static double value_of(gpujoin_result* result, int has_discount, int64_t* rows) {
  int64_t amount[kBatch];
  double discount[kBatch];
  double value = 0;
  gpujoin_error error;
  gpujoin_fetch fetches[2] = {GPUJOIN_FETCH_INIT, GPUJOIN_FETCH_INIT};
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  fetches[0].what = fetches[1].what = GPUJOIN_FETCH_COLUMN;
  fetches[0].column = 0;
  fetches[0].data = amount;
  fetches[0].data_bytes = sizeof amount;
  fetches[1].column = 1;
  fetches[1].data = discount;
  fetches[1].data_bytes = sizeof discount;
  page.max_rows = kBatch;
  for (;;) {
    check(gpujoin_result_fetch(result, &page, fetches, has_discount ? 2 : 1, &error), &error);
    if (page.rows == 0) return value;
    for (int64_t i = 0; i < page.rows; ++i) {
      value += (double)amount[i] * (1 - (has_discount ? discount[i] : 0));
    }
    *rows += page.rows;
  }
}

/* 1. In one call. */
static void in_one_call(gpujoin_context* context) {
  gpujoin_relation* left = orders(context, 0, kOrders);
  gpujoin_relation* right = customers(context);
  gpujoin_join_spec spec = orders_with_customers(GPUJOIN_JOIN_INNER);
  gpujoin_plan* plan;
  gpujoin_result* result;
  gpujoin_error error;
  int64_t rows = 0;
  size_t length = 0;
  char* text;
  double value;

  check(gpujoin_plan_create(context, left, right, &spec, NULL, &plan, &error), &error);
  if (gpujoin_plan_explain(plan, NULL, &length, &error) != GPUJOIN_ERROR_BUFFER_TOO_SMALL) exit(1);
  text = malloc(length);
  check(gpujoin_plan_explain(plan, text, &length, &error), &error);
  if (getenv("EXPLAIN")) puts(text);
  free(text);

  check(gpujoin_plan_execute(plan, &result, &error), &error);
  value = value_of(result, 1, &rows);
  printf("%lld orders of known customers, %.2f in total\n", (long long)rows, value);
  gpujoin_result_destroy(result);
  gpujoin_plan_destroy(plan);

  /* The same tables, another kind: orders whose customer is not known. */
  spec = orders_with_customers(GPUJOIN_JOIN_LEFT_ANTI);
  check(gpujoin_join(context, left, right, &spec, NULL, &result, &error), &error);
  rows = 0;
  value = value_of(result, 0, &rows);
  printf("%lld orders of unknown customers, %.2f in total\n", (long long)rows, value);
  gpujoin_result_destroy(result);
  gpujoin_relation_destroy(left);
  gpujoin_relation_destroy(right);
}

/* 2. As an engine does it: one side is kept, threads bring batches of the other. */
typedef struct {
  gpujoin_context* context;
  gpujoin_operation* operation;
  int number;
  int64_t rows;
  double value;
} Worker;

static void take_results(gpujoin_probe* probe, Worker* worker) {
  gpujoin_state state;
  gpujoin_result* result;
  gpujoin_error error;
  for (;;) {
    check(gpujoin_probe_next(probe, &state, &result, &error), &error);
    if (state != GPUJOIN_STATE_READY) return;
    worker->value += value_of(result, 1, &worker->rows);
    gpujoin_result_destroy(result);
  }
}

static void* probe_batches(void* argument) {
  Worker* worker = argument;
  gpujoin_probe* probe;
  gpujoin_error error;
  check(gpujoin_probe_create(worker->operation, &probe, &error), &error);
  for (int64_t first = worker->number * kBatch; first < kOrders; first += kThreads * kBatch) {
    int64_t const rows = kOrders - first < kBatch ? kOrders - first : kBatch;
    gpujoin_relation* batch = orders(worker->context, first, rows);
    gpujoin_status status = gpujoin_probe_append(probe, batch, 0, &error);
    while (status == GPUJOIN_ERROR_NOT_READY) { /* what waits is to be taken first */
      take_results(probe, worker);
      status = gpujoin_probe_append(probe, batch, 0, &error);
    }
    check(status, &error);
    gpujoin_relation_destroy(batch); /* its rows were copied */
  }
  check(gpujoin_probe_finish(probe, &error), &error);
  take_results(probe, worker);
  gpujoin_probe_destroy(probe);
  return NULL;
}

static void in_batches(gpujoin_context* context) {
  const int32_t key[] = {0};
  gpujoin_relation* batch = customers(context);
  gpujoin_relation* like = orders(context, 0, 0);
  gpujoin_join_spec spec = orders_with_customers(GPUJOIN_JOIN_INNER);
  gpujoin_build* build;
  gpujoin_operation* operation;
  gpujoin_state state;
  gpujoin_result* result;
  gpujoin_error error;
  pthread_t threads[kThreads];
  Worker workers[kThreads];
  Worker all = {NULL, NULL, 0, 0, 0};

  check(gpujoin_build_create(context, batch, key, 1, NULL, NULL, &build, &error), &error);
  check(gpujoin_build_append(build, batch, 0, &error), &error);
  check(gpujoin_build_finish(build, &error), &error);
  check(gpujoin_operation_create(build, like, &spec, NULL, &operation, &error), &error);
  for (int i = 0; i < kThreads; ++i) {
    Worker const worker = {context, operation, i, 0, 0};
    workers[i] = worker;
    if (pthread_create(&threads[i], NULL, probe_batches, &workers[i]) != 0) exit(1);
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    all.rows += workers[i].rows;
    all.value += workers[i].value;
  }

  /* What comes out when all rows have come: nothing here, as all of it fits into memory. */
  check(gpujoin_operation_close(operation, &error), &error);
  for (;;) {
    check(gpujoin_operation_next(operation, &state, &result, &error), &error);
    if (state == GPUJOIN_STATE_FINISHED) break;
    all.value += value_of(result, 1, &all.rows);
    gpujoin_result_destroy(result);
  }
  printf("%d threads: %lld orders, %.2f in total\n", kThreads, (long long)all.rows, all.value);
  gpujoin_operation_destroy(operation);
  gpujoin_build_destroy(build);
  gpujoin_relation_destroy(batch);
  gpujoin_relation_destroy(like);
}

int main(void) {
  gpujoin_context* context; /* on a GPU when there is one, else on the CPU */
  gpujoin_error error;
  for (int32_t i = 0; i < kCustomers; ++i) {
    customer_ids[i] = 2 * i; /* every other one is known */
    discounts[i] = i % 4 * 0.25;
  }
  for (int32_t i = 0; i < kOrders; ++i) {
    customers_of[i] = (int32_t)((int64_t)i * 7919 % (2 * kCustomers));
    amounts[i] = i % 100;
  }
  check(gpujoin_context_create(NULL, &context, &error), &error);
  in_one_call(context);
  in_batches(context);
  gpujoin_context_destroy(context);
  return 0;
}
