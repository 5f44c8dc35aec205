// pair_decision.h: conditions besides equal keys that decide whether rows match, of joins that are
// not inner ones: PostgreSQL evaluates them for the pairs of rows with equal keys, which the
// library finds, and the kind of join is made of the answers here.
//
// Rows that may come out without a match are kept in a tuplestore until all pairs are decided.
#ifndef GPUJOIN_POSTGRESQL_PAIR_DECISION_H
#define GPUJOIN_POSTGRESQL_PAIR_DECISION_H

#include <postgres.h>

#include <nodes/execnodes.h>
#include <utils/tuplestore.h>

// Of one side.
typedef struct MatchedRows {
  // A bit a row.
  uint8_t* bits;
  int64_t room;
  // The side's rows, where those without a match come out; else NULL.
  Tuplestorestate* rows;
  TupleTableSlot* slot;
  int64_t next_row;
} MatchedRows;

typedef struct PairDecision {
  // NULL: equal keys decide alone.
  ExprState* residual;
  JoinType type;
  MatchedRows outer;
  MatchedRows inner;
} PairDecision;

void init_decision(PairDecision* decision, JoinType type, ExprState* residual,
                   TupleDesc outer_types, TupleDesc inner_types);
bool keeps_outer(JoinType type);
bool keeps_inner(JoinType type);
void keep_row(MatchedRows* side, TupleTableSlot* row);
// Whether the pair, which is the scan tuple of `context`, comes out.
bool decide_pair(PairDecision* decision, ExprContext* context, int64_t outer_row,
                 int64_t inner_row);
// The side's next row without a match; NULL: there is none.
TupleTableSlot* next_unmatched(MatchedRows* side);
// Before another execution: of the inner side's rows only what they matched.
void forget_outer(PairDecision* decision);
void forget_inner(PairDecision* decision, bool with_rows);
void end_decision(PairDecision* decision);

#endif
