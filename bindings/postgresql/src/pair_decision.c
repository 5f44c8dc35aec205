// pair_decision.c: conditions besides equal keys that decide whether rows match.
#include "bindings/postgresql/src/pair_decision.h"

#include <executor/executor.h>
#include <miscadmin.h>
#include <utils/memutils.h>

#include "bindings/postgresql/src/server_versions.h"

bool keeps_outer(JoinType type) {
  return type == JOIN_LEFT || type == JOIN_FULL || type == JOIN_ANTI;
}

bool keeps_inner(JoinType type) {
  return type == JOIN_RIGHT || type == JOIN_FULL || type == JOIN_RIGHT_ANTI;
}

static bool comes_out_once(JoinType type, bool is_outer) {
  return type == (is_outer ? JOIN_SEMI : JOIN_RIGHT_SEMI);
}

static bool is_anti(JoinType type) { return type == JOIN_ANTI || type == JOIN_RIGHT_ANTI; }

static void init_side(MatchedRows* side, bool is_kept, TupleDesc types) {
  memset(side, 0, sizeof *side);
  if (!is_kept) return;
  side->rows = tuplestore_begin_heap(false, false, work_mem);
  side->slot = MakeSingleTupleTableSlot(types, &TTSOpsMinimalTuple);
}

void init_decision(PairDecision* decision, JoinType type, ExprState* residual,
                   TupleDesc outer_types, TupleDesc inner_types) {
  decision->residual = residual;
  decision->type = type;
  init_side(&decision->outer, residual != NULL && keeps_outer(type), outer_types);
  init_side(&decision->inner, residual != NULL && keeps_inner(type), inner_types);
}

void keep_row(MatchedRows* side, TupleTableSlot* row) {
  if (side->rows != NULL) tuplestore_puttupleslot(side->rows, row);
}

// Whether it was before.
static bool set_matched(MatchedRows* side, int64_t row) {
  if (row / 8 >= side->room) {
    int64_t const room = Max(2 * side->room, row / 8 + 1024);
    if (side->bits == NULL) {
      side->bits = MemoryContextAllocHuge(CurrentMemoryContext, (Size)room);
    } else {
      side->bits = repalloc_huge(side->bits, (Size)room);
    }
    memset(side->bits + side->room, 0, (size_t)(room - side->room));
    side->room = room;
  }
  uint8_t const bit = (uint8_t)(1 << (row % 8));
  bool const was_matched = (side->bits[row / 8] & bit) != 0;
  side->bits[row / 8] |= bit;
  return was_matched;
}

static bool is_matched(const MatchedRows* side, int64_t row) {
  return row / 8 < side->room && (side->bits[row / 8] & 1 << (row % 8)) != 0;
}

bool decide_pair(PairDecision* decision, ExprContext* context, int64_t outer_row,
                 int64_t inner_row) {
  JoinType const type = decision->type;
  bool const outer_once = comes_out_once(type, true);
  bool const inner_once = comes_out_once(type, false);
  if (outer_once && is_matched(&decision->outer, outer_row)) return false;
  if (inner_once && is_matched(&decision->inner, inner_row)) return false;
  if (!ExecQual(decision->residual, context)) return false;
  if (outer_once || decision->outer.rows != NULL) set_matched(&decision->outer, outer_row);
  if (inner_once || decision->inner.rows != NULL) set_matched(&decision->inner, inner_row);
  return !is_anti(type);
}

TupleTableSlot* next_unmatched(MatchedRows* side) {
  if (side->rows == NULL) return NULL;
  if (side->next_row == 0) tuplestore_rescan(side->rows);
  while (tuplestore_gettupleslot(side->rows, true, false, side->slot)) {
    CHECK_FOR_INTERRUPTS();
    if (!is_matched(side, side->next_row++)) return side->slot;
  }
  return NULL;
}

static void forget_matches(MatchedRows* side) {
  if (side->bits != NULL) memset(side->bits, 0, (size_t)side->room);
  side->next_row = 0;
}

void forget_outer(PairDecision* decision) {
  forget_matches(&decision->outer);
  if (decision->outer.rows != NULL) tuplestore_clear(decision->outer.rows);
}

void forget_inner(PairDecision* decision, bool with_rows) {
  forget_matches(&decision->inner);
  if (with_rows && decision->inner.rows != NULL) tuplestore_clear(decision->inner.rows);
}

static void end_side(MatchedRows* side) {
  if (side->rows == NULL) return;
  tuplestore_end(side->rows);
  ExecDropSingleTupleTableSlot(side->slot);
  side->rows = NULL;
}

void end_decision(PairDecision* decision) {
  end_side(&decision->outer);
  end_side(&decision->inner);
}
