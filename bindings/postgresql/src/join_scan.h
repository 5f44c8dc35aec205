// join_scan.h: a join while it runs.
#ifndef GPUJOIN_POSTGRESQL_JOIN_SCAN_H
#define GPUJOIN_POSTGRESQL_JOIN_SCAN_H

#include <postgres.h>

#include <nodes/execnodes.h>
#include <nodes/extensible.h>

#include "bindings/postgresql/src/input_rows.h"
#include "bindings/postgresql/src/join_handles.h"
#include "bindings/postgresql/src/output_rows.h"
#include "bindings/postgresql/src/pair_decision.h"

typedef enum JoinPhase {
  PHASE_BUILDS,  // no row of the inner side is known yet
  PHASE_PROBES,
  PHASE_DRAINS,  // of the probe
  PHASE_ENDS,    // what comes out when all rows have come
  PHASE_UNMATCHED,
  PHASE_IS_OVER,
} JoinPhase;

// Of all executions together, for EXPLAIN ANALYZE.
typedef struct JoinMeasure {
  char executor[8];
  char plan[192];
  double milliseconds;
  int64_t build_rows;
  int64_t probe_rows;
  int64_t builds;
  int64_t results;
  int64_t partitions;
  uint64_t spilled_bytes;
} JoinMeasure;

typedef struct JoinScan {
  CustomScanState custom;  // the first, as it is cast
  JoinType type;
  gpujoin_join_kind kind;
  bool must_rebuild;
  bool is_on_cpu;  // as the plan expects it to be faster
  PlanState* outer;
  PlanState* inner;
  InputRows outer_rows;
  InputRows inner_rows;
  ExprContext* input_context;
  OutputRows output;
  // Columns of both sides that come out.
  int32_t* outer_outputs;
  int32_t* inner_outputs;
  int outer_output_count;
  int inner_output_count;
  // Of a residual; decides nothing where there is none.
  PairDecision decision;
  JoinHandles* handles;
  JoinPhase phase;
  // Rows of the outer side wait to be taken.
  bool has_batch;
  JoinMeasure measure;
} JoinScan;

const CustomScanMethods* join_scan_methods(void);
void register_join_scan(void);

void explain_join(CustomScanState* node, List* ancestors, ExplainState* explain);

#endif
