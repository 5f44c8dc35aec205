/* join.c: one task's join with a build, for Java. */
#include <stdlib.h>
#include <string.h>

#include "bindings/spark/native/batch.h"
#include "bindings/spark/native/doors.h"

/* Where the numbers of a join stand that Java describes it by. */
enum { KIND, BUILD_SIDE, MARK, PROBE_FIELDS, HEADER_NUMBERS };
/* Numbers of a node of a residual: operator, arguments, side, column. */
enum { NODE_NUMBERS = 4 };
/* What joinNext answers in the place of a batch. */
enum { NEEDS_ROWS = 0, IS_OVER = -1 };
/* A batch is to stay in the cache until its rows are read. */
enum { BATCH_ROWS = 1 << 14 };

struct join {
  gpujoin_context* context;
  struct columns columns;
  struct columns constants;
  gpujoin_relation* constant_values;
  gpujoin_operation* operation;
  gpujoin_probe* probe;
  gpujoin_relation* waiting; /* rows that the probe has not taken yet */
  gpujoin_result* result;    /* whose pages are given out */
  gpujoin_page page;
  int32_t mark;
  int is_finished; /* no rows will come */
  int is_closed;   /* the probe has no results any more */
};

static struct join* join_of(jlong handle) { return (struct join*)(intptr_t)handle; }

static void destroy(struct join* join) {
  if (join == NULL) return;
  gpujoin_result_destroy(join->result);
  gpujoin_relation_destroy(join->waiting);
  gpujoin_probe_destroy(join->probe);
  gpujoin_operation_destroy(join->operation);
  gpujoin_relation_destroy(join->constant_values);
  columns_free(&join->constants);
  columns_free(&join->columns);
  free(join);
}

/* Int arrays of Java's, in the order of Native.joinCreate. */
enum {
  HEADER,
  PROBE_COLUMNS,
  LEFT_KEYS,
  RIGHT_KEYS,
  KEY_FLAGS,
  LEFT_COLUMNS,
  RIGHT_COLUMNS,
  NODES,
  CONSTANTS,
  ARRAYS
};

struct numbers {
  int32_t* of[ARRAYS];
  int32_t count[ARRAYS];
};

static gpujoin_node* nodes_of(const struct numbers* numbers, const gpujoin_relation* constants) {
  int32_t const count = numbers->count[NODES] / NODE_NUMBERS;
  gpujoin_node* nodes = calloc((size_t)count + 1, sizeof *nodes);
  for (int32_t i = 0; nodes != NULL && i < count; ++i) {
    const int32_t* at = numbers->of[NODES] + NODE_NUMBERS * i;
    gpujoin_node node = GPUJOIN_NODE_INIT;
    node.operation = at[0];
    node.argument_count = at[1];
    node.side = at[2];
    node.column = at[3];
    if (node.operation == GPUJOIN_OPERATOR_CONSTANT) node.values = constants;
    nodes[i] = node;
  }
  return nodes;
}

static gpujoin_status create(struct join* join, gpujoin_build* build, const struct numbers* numbers,
                             int64_t constant_rows, gpujoin_error* error) {
  gpujoin_status status = GPUJOIN_OK;
  if (constant_rows > 0) {
    status = columns_relation(&join->constants, join->context, constant_rows,
                              &join->constant_values, error);
    if (status != GPUJOIN_OK) return status;
  }
  gpujoin_node* nodes = nodes_of(numbers, join->constant_values);
  if (nodes == NULL) {
    memset(error, 0, sizeof *error);
    return GPUJOIN_ERROR_OUT_OF_MEMORY;
  }
  gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
  condition.node_count = numbers->count[NODES] / NODE_NUMBERS;
  condition.nodes = nodes;
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = numbers->of[HEADER][KIND];
  spec.output = GPUJOIN_OUTPUT_COLUMNS;
  spec.key_count = numbers->count[LEFT_KEYS];
  spec.left_keys = numbers->of[LEFT_KEYS];
  spec.right_keys = numbers->of[RIGHT_KEYS];
  spec.key_flags = numbers->of[KEY_FLAGS];
  spec.left_columns = numbers->of[LEFT_COLUMNS];
  spec.left_column_count = numbers->count[LEFT_COLUMNS];
  spec.right_columns = numbers->of[RIGHT_COLUMNS];
  spec.right_column_count = numbers->count[RIGHT_COLUMNS];
  if (condition.node_count > 0) spec.residual = &condition;
  gpujoin_plan_options plan = GPUJOIN_PLAN_OPTIONS_INIT;
  plan.build_side = numbers->of[HEADER][BUILD_SIDE];
  gpujoin_operation_options options = GPUJOIN_OPERATION_OPTIONS_INIT;
  options.plan = &plan;
  gpujoin_relation* like = NULL;
  status = columns_relation(&join->columns, join->context, 0, &like, error);
  if (status == GPUJOIN_OK) {
    status = gpujoin_operation_create(build, like, &spec, &options, &join->operation, error);
  }
  if (status == GPUJOIN_OK) status = gpujoin_probe_create(join->operation, &join->probe, error);
  gpujoin_relation_destroy(like);
  free(nodes);
  return status;
}

DOOR(jlong, joinCreate)
(JNIEnv* env, jclass type, jlong build_handle, jobjectArray arrays, jbyteArray constants) {
  (void)type;
  const struct build* build = (const struct build*)(intptr_t)build_handle;
  struct numbers numbers;
  for (int i = 0; i < ARRAYS; ++i) {
    jintArray const array = (*env)->GetObjectArrayElement(env, arrays, i);
    numbers.of[i] = numbers_of(env, array, &numbers.count[i]);
  }
  struct join* join = calloc(1, sizeof *join);
  int is_made = 0;
  if ((*env)->ExceptionCheck(env)) {
    is_made = 0;
  } else if (join == NULL ||
             !columns_init(&join->columns, numbers.of[PROBE_COLUMNS],
                           numbers.count[PROBE_COLUMNS] / 4, numbers.of[HEADER][PROBE_FIELDS]) ||
             !columns_init(&join->constants, numbers.of[CONSTANTS], numbers.count[CONSTANTS] / 4,
                           numbers.count[CONSTANTS] / 4)) {
    throw_no_memory(env);
  } else {
    join->context = build->context;
    join->mark = numbers.of[HEADER][MARK];
    int64_t rows = 0;
    if (constants != NULL) {
      jlong const bytes = (*env)->GetArrayLength(env, constants);
      rows = read_packed(env, &join->constants, constants, 0, bytes);
    }
    gpujoin_error error;
    is_made = rows >= 0 && is_ok(env, create(join, build->build, &numbers, rows, &error), &error);
  }
  for (int i = 0; i < ARRAYS; ++i) free(numbers.of[i]);
  if (!is_made) {
    destroy(join);
    join = NULL;
  }
  return (jlong)(intptr_t)join;
}

static void wait_for_probe(JNIEnv* env, struct join* join, int64_t rows) {
  gpujoin_error error;
  is_ok(env, columns_relation(&join->columns, join->context, rows, &join->waiting, &error), &error);
}

/* Only after joinNext answered NEEDS_ROWS. */
DOOR(void, joinAppendRows)
(JNIEnv* env, jclass type, jlong join, jbyteArray packed, jlong bytes) {
  (void)type;
  int64_t const rows = read_packed(env, &join_of(join)->columns, packed, 0, bytes);
  if (rows > 0) wait_for_probe(env, join_of(join), rows);
}

/* The same with a batch's columns, which stay as they are until joinNext answers NEEDS_ROWS. */
DOOR(void, joinAppendColumns)
(JNIEnv* env, jclass type, jlong join, jlongArray addresses, jint rows) {
  (void)type;
  jlong* numbers = (*env)->GetLongArrayElements(env, addresses, NULL);
  if (numbers == NULL) return;
  read_addresses(&join_of(join)->columns, numbers);
  (*env)->ReleaseLongArrayElements(env, addresses, numbers, JNI_ABORT);
  wait_for_probe(env, join_of(join), rows);
}

DOOR(void, joinFinish)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  struct join* join = join_of(handle);
  gpujoin_error error;
  if (is_ok(env, gpujoin_probe_finish(join->probe, &error), &error)) join->is_finished = 1;
}

static gpujoin_status append_waiting(struct join* join, gpujoin_error* error) {
  if (join->waiting == NULL) return GPUJOIN_OK;
  gpujoin_status const status = gpujoin_probe_append(join->probe, join->waiting, 0, error);
  if (status == GPUJOIN_ERROR_NOT_READY) return GPUJOIN_OK; /* results have to be taken first */
  gpujoin_relation_destroy(join->waiting);
  join->waiting = NULL;
  return status;
}

static gpujoin_status next_result(struct join* join, gpujoin_state* state, gpujoin_error* error) {
  gpujoin_status status;
  if (!join->is_closed) {
    status = append_waiting(join, error);
    if (status != GPUJOIN_OK) return status;
    status = gpujoin_probe_next(join->probe, state, &join->result, error);
    if (status != GPUJOIN_OK || *state != GPUJOIN_STATE_FINISHED) return status;
    status = gpujoin_operation_close(join->operation, error);
    if (status != GPUJOIN_OK) return status;
    join->is_closed = 1;
  }
  return gpujoin_operation_next(join->operation, state, &join->result, error);
}

static jlongArray single(JNIEnv* env, jlong number) {
  jlongArray const array = (*env)->NewLongArray(env, 1);
  if (array != NULL) (*env)->SetLongArrayRegion(env, array, 0, 1, &number);
  return array;
}

static jlongArray described(JNIEnv* env, struct batch* batch, const struct join* join) {
  jsize const count = (jsize)(2 + BATCH_NUMBERS * batch->array.n_children);
  jlong* numbers = calloc((size_t)count, sizeof *numbers);
  jlongArray const array = numbers == NULL ? NULL : (*env)->NewLongArray(env, count);
  if (array == NULL) {
    if (numbers == NULL) throw_no_memory(env);
    batch_free(batch);
  } else {
    numbers[0] = (jlong)(intptr_t)batch;
    numbers[1] = join->page.rows;
    batch_describe(batch, join->mark, (int64_t*)numbers + 2);
    (*env)->SetLongArrayRegion(env, array, 0, count, numbers);
  }
  free(numbers);
  return array;
}

/* NEEDS_ROWS or IS_OVER; or a batch: its handle, its rows, and BATCH_NUMBERS for each column. */
DOOR(jlongArray, joinNext)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  struct join* join = join_of(handle);
  gpujoin_error error;
  for (;;) {
    if (join->result != NULL) {
      struct batch* batch = NULL;
      if (!is_ok(env, batch_next(join->result, &join->page, join->mark, &batch, &error), &error)) {
        return NULL;
      }
      if (batch != NULL) return described(env, batch, join);
      gpujoin_result_destroy(join->result);
      join->result = NULL;
    }
    gpujoin_state state = GPUJOIN_STATE_NOT_READY;
    if (!is_ok(env, next_result(join, &state, &error), &error)) return NULL;
    if (state == GPUJOIN_STATE_FINISHED) return single(env, IS_OVER);
    if (state == GPUJOIN_STATE_NOT_READY && join->waiting == NULL && !join->is_finished) {
      return single(env, NEEDS_ROWS);
    }
    gpujoin_page const page = GPUJOIN_PAGE_INIT;
    join->page = page;
    join->page.max_rows = BATCH_ROWS;
  }
}

DOOR(void, batchDestroy)(JNIEnv* env, jclass type, jlong batch) {
  (void)env, (void)type;
  batch_free((struct batch*)(intptr_t)batch);
}

/* Bytes in files. */
DOOR(jlong, joinSpilled)(JNIEnv* env, jclass type, jlong join) {
  (void)type;
  gpujoin_progress progress = GPUJOIN_PROGRESS_INIT;
  gpujoin_error error;
  is_ok(env, gpujoin_operation_get_progress(join_of(join)->operation, &progress, &error), &error);
  return (jlong)progress.spilled_bytes;
}

/* What joinCancel takes: good on any thread, also when the join is gone. */
DOOR(jlong, joinHandle)(JNIEnv* env, jclass type, jlong join) {
  (void)env, (void)type;
  return (jlong)(intptr_t)join_of(join)->operation;
}

DOOR(void, joinCancel)(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  gpujoin_operation_cancel((gpujoin_operation*)(intptr_t)handle, NULL);
}

DOOR(void, joinDestroy)(JNIEnv* env, jclass type, jlong join) {
  (void)env, (void)type;
  destroy(join_of(join));
}
