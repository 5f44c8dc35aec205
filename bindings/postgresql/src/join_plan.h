// join_plan.h: a join in a plan: what the planner hands to the executor, as nodes that can be
// copied and kept.
#ifndef GPUJOIN_POSTGRESQL_JOIN_PLAN_H
#define GPUJOIN_POSTGRESQL_JOIN_PLAN_H

#include <postgres.h>

#include <nodes/plannodes.h>

#include "bindings/postgresql/src/join_candidate.h"
#include "bindings/postgresql/src/join_cost.h"

// What custom_exprs has, each a list.
enum { EXPRESSIONS_OUTER_KEYS, EXPRESSIONS_INNER_KEYS, EXPRESSIONS_KEYS, EXPRESSIONS_RESIDUAL };
// What custom_private has.
enum {
  PRIVATE_TYPE,           // JoinType
  PRIVATE_OUTER_COLUMNS,  // how many of custom_scan_tlist are those of the outer side
  PRIVATE_MUST_REBUILD,   // parameters may change the inner side's keys
  PRIVATE_OPERATORS,
  PRIVATE_EXECUTOR,  // what is expected
  PRIVATE_PLAN,
  PRIVATE_MILLISECONDS,
};

CustomScan* make_join_plan(const JoinCandidate* join, const JoinCost* cost, Path* path,
                           List* target, List* children);

#endif
