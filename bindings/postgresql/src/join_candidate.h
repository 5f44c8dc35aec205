// join_candidate.h: a join as the planner offers it, and what of it the library can do.
#ifndef GPUJOIN_POSTGRESQL_JOIN_CANDIDATE_H
#define GPUJOIN_POSTGRESQL_JOIN_CANDIDATE_H

#include <postgres.h>

#include <nodes/pathnodes.h>

typedef struct JoinCandidate {
  PlannerInfo* root;
  RelOptInfo* joined;
  RelOptInfo* outer;
  RelOptInfo* inner;
  Path* outer_path;
  Path* inner_path;
  JoinType type;
  ParamPathInfo* parameters;
  // Of equal keys: lists as long as each other.
  List* key_clauses;
  List* outer_keys;
  List* inner_keys;
  List* key_operators;
  // What rows with equal keys have to fulfil besides to match, and what rows that come out have to.
  List* residual;
  List* filter;
} JoinCandidate;

// NULL, or why the library can't do it. `restrictions` are all conditions at this join.
const char* describe_join(JoinCandidate* join, List* restrictions);

#endif
