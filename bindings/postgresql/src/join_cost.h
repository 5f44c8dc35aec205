// join_cost.h: what a join would take here, and whether that is worth it.
#ifndef GPUJOIN_POSTGRESQL_JOIN_COST_H
#define GPUJOIN_POSTGRESQL_JOIN_COST_H

#include "bindings/postgresql/src/join_candidate.h"
#include "gpujoin.h"

typedef struct JoinCost {
  // In PostgreSQL's units, both sides' own costs not counted.
  Cost startup;
  Cost total;
  // Of the library.
  double milliseconds;
  char executor[8];
  char plan[192];
} JoinCost;

// NULL, or why the library can't do it. `rows` come out.
const char* estimate_cost(const JoinCandidate* join, double rows, JoinCost* cost);

// So few rows that nothing is to be won, and no context has to be made to find that out.
bool is_small(const JoinCandidate* join, double rows);

#endif
