// join_cost.c: what a join would take here, and whether that is worth it.
#include "bindings/postgresql/src/join_cost.h"

#include <math.h>
#include <nodes/nodeFuncs.h>
#include <utils/lsyscache.h>

#include "bindings/postgresql/src/join_key.h"
#include "bindings/postgresql/src/library.h"
#include "bindings/postgresql/src/settings.h"

// What the way in and out costs, rounded up from what bench.py measures: a row that is handed over
// or taken back, and each of its columns; a join however small. A row with values of any length
// is put together and taken apart; that is taken for, not measured.
#define ROW_NANOSECONDS 12
#define COLUMN_NANOSECONDS 4
#define TUPLE_NANOSECONDS 90
#define JOIN_NANOSECONDS 150e3
// Of a byte that goes to a temporary file and back.
#define SPILL_NANOSECONDS 2
// How long PostgreSQL's hash joins take for a unit of their cost: 9 us with 2^14 build rows, 16
// with 2^16, 26 to 34 with 2^18 and more, which no cache holds.
#define NANOSECONDS_PER_UNIT 15e3

// A row that is kept in a build, beside one that passes by.
#define BUILD_FACTOR 1.5

#define SMALL_ROWS 20000

typedef struct ExpectedSide {
  gpujoin_expected_side side;
  gpujoin_expected_column columns[18];
  int32_t keys[16];
  int32_t outputs[2];
  double row_nanoseconds;
  double row_bytes;
  // The least of a batch, text and binary by their offsets.
  double fixed_bytes;
} ExpectedSide;

static void add_column(ExpectedSide* expected, gpujoin_type type, double bytes) {
  gpujoin_expected_column const init = GPUJOIN_EXPECTED_COLUMN_INIT;
  gpujoin_expected_column* const column = &expected->columns[expected->side.column_count++];
  *column = init;
  column->type = type;
  column->is_nullable = 1;
  column->value_bytes = bytes;
  expected->row_bytes += bytes;
}

static void expect_side(ExpectedSide* expected, const JoinCandidate* join, bool is_outer) {
  gpujoin_expected_side const init = GPUJOIN_EXPECTED_SIDE_INIT;
  memset(expected, 0, sizeof *expected);
  expected->side = init;
  RelOptInfo const* const relation = is_outer ? join->outer : join->inner;
  Path const* const path = is_outer ? join->outer_path : join->inner_path;

  ListCell *key, *operator_cell;
  forboth(key, is_outer ? join->outer_keys : join->inner_keys, operator_cell, join->key_operators) {
    gpujoin_type const type = key_type(lfirst_oid(operator_cell), exprType(lfirst(key)));
    expected->keys[expected->side.column_count] = expected->side.column_count;
    add_column(expected, type, type == GPUJOIN_TYPE_LARGE_BINARY ? 24 : 8);
    expected->row_nanoseconds += type == GPUJOIN_TYPE_LARGE_BINARY ? TUPLE_NANOSECONDS : 0;
  }

  // Values of fixed widths as one column, as far as the estimate goes; the others as a tuple.
  int fixed = 0;
  double bytes = 0;
  ListCell* cell;
  foreach (cell, relation->reltarget->exprs) {
    Oid const type = exprType(lfirst(cell));
    if (get_typbyval(type)) {
      ++fixed;
      expected->fixed_bytes += 8;
    } else {
      bytes += get_typavgwidth(type, exprTypmod(lfirst(cell)));
    }
  }
  int32_t* outputs = expected->outputs;
  if (fixed != 0) {
    *outputs++ = expected->side.column_count;
    add_column(expected, GPUJOIN_TYPE_INT64, 8);
    expected->row_bytes += (fixed - 1) * 8;
  }
  if (bytes != 0) {
    *outputs++ = expected->side.column_count;
    add_column(expected, GPUJOIN_TYPE_LARGE_BINARY, bytes + 24);
    expected->fixed_bytes += 8;
    expected->row_nanoseconds += TUPLE_NANOSECONDS;
  }
  expected->fixed_bytes += 8 * list_length(join->key_clauses);
  expected->row_nanoseconds += ROW_NANOSECONDS + COLUMN_NANOSECONDS * fixed;
  expected->side.memory = GPUJOIN_MEMORY_HOST;
  expected->side.rows = (int64_t)Min(path->rows, 4e9);
  expected->side.columns = expected->columns;
  expected->side.keys = expected->keys;
  expected->side.output_columns = expected->outputs;
  expected->side.output_column_count = (int32_t)(outputs - expected->outputs);
}

static gpujoin_join_kind estimated_kind(const JoinCandidate* join) {
  if (join->residual != NIL) return GPUJOIN_JOIN_INNER;
  switch (join->type) {
    case JOIN_LEFT:
      return GPUJOIN_JOIN_LEFT;
    case JOIN_RIGHT:
      return GPUJOIN_JOIN_RIGHT;
    case JOIN_FULL:
      return GPUJOIN_JOIN_FULL;
    case JOIN_SEMI:
      return GPUJOIN_JOIN_LEFT_SEMI;
    case JOIN_ANTI:
      return GPUJOIN_JOIN_LEFT_ANTI;
    default:
      return GPUJOIN_JOIN_INNER;
  }
}

bool is_small(const JoinCandidate* join, double rows) {
  return join->outer_path->rows + join->inner_path->rows + rows < SMALL_ROWS;
}

const char* estimate_cost(const JoinCandidate* join, double rows, JoinCost* cost) {
  ExpectedSide outer, inner;
  expect_side(&outer, join, true);
  expect_side(&inner, join, false);
  double const limit = setting_memory_limit * 1024.0;
  double const wider = Max(outer.fixed_bytes, inner.fixed_bytes);
  if (4096 * wider > limit) {
    return psprintf("gpujoin.memory_limit is less than 4096 rows of %.0f bytes", wider);
  }
  gpujoin_error error;
  gpujoin_context* const context = session_context(&error);
  if (context == NULL) return pstrdup(error.message);

  gpujoin_expected_join expected = GPUJOIN_EXPECTED_JOIN_INIT;
  expected.kind = estimated_kind(join);
  bool const is_of_outer =
      expected.kind == GPUJOIN_JOIN_LEFT_SEMI || expected.kind == GPUJOIN_JOIN_LEFT_ANTI;
  if (is_of_outer) inner.side.output_column_count = 0;
  expected.left = &outer.side;
  expected.right = &inner.side;
  expected.key_count = list_length(join->key_clauses);
  expected.output = GPUJOIN_OUTPUT_COLUMNS;
  if (join->type == JOIN_INNER) {
    expected.has_pairs = 1;
    expected.pairs = (int64_t)Min(rows, 4e9);
  }
  gpujoin_estimate estimate = GPUJOIN_ESTIMATE_INIT;
  if (gpujoin_estimate_join(context, &expected, &estimate, &error) != GPUJOIN_OK) {
    return pstrdup(error.message);
  }

  // Results come to host memory. Who names the GPU gets it, where there is one.
  double const by_cuda = estimate.cuda_milliseconds + estimate.cuda_fetch_milliseconds;
  bool const has_cuda = estimate.cuda_plan[0] != '\0';
  bool const is_cuda =
      has_cuda && (setting_device == GPUJOIN_DEVICE_CUDA || by_cuda <= estimate.cpu_milliseconds);
  cost->milliseconds = is_cuda ? by_cuda : estimate.cpu_milliseconds;
  strcpy(cost->executor, is_cuda ? "CUDA" : "CPU");
  strcpy(cost->plan, is_cuda ? estimate.cuda_plan : estimate.cpu_plan);
  double const inner_bytes = join->inner_path->rows * inner.row_bytes;
  double const outer_bytes = join->outer_path->rows * outer.row_bytes;
  double spill = 0;
  if (inner_bytes > limit / BUILD_SHARE && inner_bytes + outer_bytes > limit / 2) {
    spill = (inner_bytes + outer_bytes) * SPILL_NANOSECONDS;
  }
  double const before =
      JOIN_NANOSECONDS + BUILD_FACTOR * join->inner_path->rows * inner.row_nanoseconds;
  double const after = cost->milliseconds * 1e6 + spill +
                       join->outer_path->rows * outer.row_nanoseconds +
                       rows * (outer.row_nanoseconds + inner.row_nanoseconds);
  cost->startup = before / NANOSECONDS_PER_UNIT;
  cost->total = (before + after) / NANOSECONDS_PER_UNIT;
  return NULL;
}
