// join_scan.c: a join while it runs: rows of the inner side go into a build of the library, those
// of the outer side into a probe, and results come out in between.
#include "bindings/postgresql/src/join_scan.h"

#include <executor/executor.h>
#include <miscadmin.h>
#include <utils/memutils.h>

#include "bindings/postgresql/src/join_layout.h"
#include "bindings/postgresql/src/join_plan.h"
#include "bindings/postgresql/src/library.h"
#include "bindings/postgresql/src/server_versions.h"

static gpujoin_join_kind kind_of(JoinType type) {
  switch ((int)type) {
    case JOIN_INNER:
      return GPUJOIN_JOIN_INNER;
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
    case JOIN_RIGHT_ANTI:
      return GPUJOIN_JOIN_RIGHT_ANTI;
    case JOIN_RIGHT_SEMI:
      return GPUJOIN_JOIN_RIGHT_SEMI;
    default:
      elog(ERROR, "gpujoin: join type %d", (int)type);
  }
}

static void begin(CustomScanState* node, EState* estate, int flags) {
  JoinScan* const scan = (JoinScan*)node;
  CustomScan const* const plan = (CustomScan*)node->ss.ps.plan;
  scan->outer = ExecInitNode(linitial(plan->custom_plans), estate, flags);
  scan->inner = ExecInitNode(lsecond(plan->custom_plans), estate, flags);
  node->custom_ps = list_make2(scan->outer, scan->inner);
  if (flags & EXEC_FLAG_EXPLAIN_ONLY) return;

  scan->type = (JoinType)intVal(list_nth(plan->custom_private, PRIVATE_TYPE));
  scan->must_rebuild = intVal(list_nth(plan->custom_private, PRIVATE_MUST_REBUILD)) != 0;
  scan->is_on_cpu = strcmp(strVal(list_nth(plan->custom_private, PRIVATE_EXECUTOR)), "CPU") == 0;
  List* const residual = list_nth(plan->custom_exprs, EXPRESSIONS_RESIDUAL);
  scan->kind = residual == NIL ? kind_of(scan->type) : GPUJOIN_JOIN_INNER;
  init_decision(&scan->decision, scan->type, ExecInitQual(residual, &node->ss.ps),
                ExecGetResultType(scan->outer), ExecGetResultType(scan->inner));
  scan->input_context = CreateExprContext(estate);
  describe_columns(scan);
  scan->handles = make_handles(&scan->output);
  // Attributes that nothing reads stay so.
  TupleTableSlot* const row = node->ss.ss_ScanTupleSlot;
  memset(row->tts_isnull, true, sizeof(bool) * row->tts_tupleDescriptor->natts);
}

static void take_measure_of_build(JoinScan* scan) {
  gpujoin_build_info info = GPUJOIN_BUILD_INFO_INIT;
  gpujoin_error error;
  check_status(gpujoin_build_get_info(scan->handles->build, &info, &error), &error);
  scan->measure.builds += 1;
  scan->measure.build_rows += info.rows;
  scan->measure.partitions = Max(scan->measure.partitions, info.partitions);
}

static void take_measure(JoinScan* scan, const gpujoin_result* result) {
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  if (gpujoin_result_get_statistics(result, &statistics, NULL) != GPUJOIN_OK) return;
  bool const is_cuda = statistics.device == GPUJOIN_DEVICE_CUDA;
  strlcpy(scan->measure.executor, is_cuda ? "CUDA" : "CPU", sizeof scan->measure.executor);
  strlcpy(scan->measure.plan, statistics.plan, sizeof scan->measure.plan);
  scan->measure.milliseconds += statistics.milliseconds;
  scan->measure.results += 1;
}

// Rows of the next batch; 0: there are no more.
static int64_t fill(JoinScan* scan, PlanState* side, InputRows* rows, bool is_outer) {
  ExprContext* const context = scan->input_context;
  MatchedRows* const kept = is_outer ? &scan->decision.outer : &scan->decision.inner;
  release_batch(scan->handles);
  empty_input(rows);
  while (!rows->is_over && !is_full(rows)) {
    CHECK_FOR_INTERRUPTS();
    TupleTableSlot* const row = ExecProcNode(side);
    // Scans that are asked again begin again.
    rows->is_over = TupIsNull(row);
    if (rows->is_over) break;
    if (is_outer) context->ecxt_outertuple = row;
    if (!is_outer) context->ecxt_innertuple = row;
    add_row(rows, row, context);
    keep_row(kept, row);
  }
  if (rows->batch_rows == 0) return 0;
  scan->handles->batch = batch_of(rows, scan->handles->context);
  return rows->batch_rows;
}

static gpujoin_relation* like(InputRows* rows, gpujoin_context* context) {
  empty_input(rows);
  return batch_of(rows, context);
}

static void build(JoinScan* scan) {
  JoinHandles* const handles = scan->handles;
  gpujoin_error error;
  handles->context = session_context(&error);
  if (handles->context == NULL) check_status(error.status, &error);
  begin_input(&scan->inner_rows);

  int32_t keys[16];
  for (int i = 0; i < scan->inner_rows.key_count; ++i) keys[i] = i;
  handles->batch = like(&scan->inner_rows, handles->context);
  // On what the plan expects it to be faster on; every context has the CPU.
  gpujoin_build_options options = GPUJOIN_BUILD_OPTIONS_INIT;
  if (scan->is_on_cpu) options.device = GPUJOIN_DEVICE_CPU;
  check_status(
      gpujoin_build_create(handles->context, handles->batch, keys, scan->inner_rows.key_count, NULL,
                           &options, &handles->build, &error),
      &error);
  while (fill(scan, scan->inner, &scan->inner_rows, false) != 0) append_build(handles);
  release_batch(handles);
  handles->build_rows = scan->inner_rows.all_rows;
  finish_build(handles);
  take_measure_of_build(scan);
}

static void begin_probe(JoinScan* scan) {
  JoinHandles* const handles = scan->handles;
  int32_t keys[16];
  for (int i = 0; i < scan->outer_rows.key_count; ++i) keys[i] = i;
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = scan->kind;
  spec.key_count = scan->outer_rows.key_count;
  spec.output = GPUJOIN_OUTPUT_COLUMNS;
  spec.left_keys = spec.right_keys = keys;
  spec.left_columns = scan->outer_outputs;
  spec.left_column_count = scan->outer_output_count;
  spec.right_columns = scan->inner_outputs;
  spec.right_column_count = scan->inner_output_count;
  begin_input(&scan->outer_rows);
  gpujoin_error error;
  handles->batch = like(&scan->outer_rows, handles->context);
  check_status(gpujoin_operation_create(handles->build, handles->batch, &spec, NULL,
                                        &handles->operation, &error),
               &error);
  release_batch(handles);
  check_status(gpujoin_probe_create(handles->operation, &handles->probe, &error), &error);
  scan->has_batch = false;
  handles->waiting_rows = 0;
}

static void end_probe(JoinScan* scan) {
  gpujoin_progress progress = GPUJOIN_PROGRESS_INIT;
  gpujoin_error error;
  check_status(gpujoin_operation_get_progress(scan->handles->operation, &progress, &error), &error);
  scan->measure.probe_rows += progress.rows_in;
  scan->measure.spilled_bytes = Max(scan->measure.spilled_bytes, progress.spilled_bytes);
  release_probe(scan->handles);
}

// Does what comes next; a result where there is one.
static gpujoin_result* advance(JoinScan* scan) {
  JoinHandles* const handles = scan->handles;
  gpujoin_state state = GPUJOIN_STATE_NOT_READY;
  gpujoin_result* result = NULL;
  gpujoin_error error;
  switch (scan->phase) {
    case PHASE_BUILDS:
      if (handles->build == NULL) build(scan);
      begin_probe(scan);
      scan->phase = PHASE_PROBES;
      break;
    case PHASE_PROBES:
      if (!scan->has_batch) {
        if (fill(scan, scan->outer, &scan->outer_rows, true) == 0) {
          release_batch(handles);
          finish_probe(handles);
          scan->phase = PHASE_DRAINS;
          break;
        }
        scan->has_batch = true;
        handles->waiting_rows += scan->outer_rows.batch_rows;
      }
      if (append_probe(handles) == GPUJOIN_OK) {
        scan->has_batch = false;
      } else {
        result = next_of_probe(handles, &state);
        handles->waiting_rows = scan->outer_rows.batch_rows;
      }
      break;
    case PHASE_DRAINS:
      result = next_of_probe(handles, &state);
      if (state != GPUJOIN_STATE_FINISHED) break;
      check_status(gpujoin_operation_close(handles->operation, &error), &error);
      scan->phase = PHASE_ENDS;
      break;
    case PHASE_ENDS:
      result = next_of_operation(handles, &state);
      if (state != GPUJOIN_STATE_FINISHED) break;
      end_probe(scan);
      scan->phase = PHASE_UNMATCHED;
      break;
    case PHASE_UNMATCHED:
    case PHASE_IS_OVER:
      break;
  }
  return result;
}

// A row of one side alone.
static void put_out_alone(TupleTableSlot* row, TupleTableSlot* from, int first) {
  int const attributes = row->tts_tupleDescriptor->natts;
  slot_getallattrs(from);
  memset(row->tts_isnull, true, sizeof(bool) * attributes);
  for (int i = 0; i < from->tts_tupleDescriptor->natts; ++i) {
    row->tts_values[first + i] = from->tts_values[i];
    row->tts_isnull[first + i] = from->tts_isnull[i];
  }
}

// The next row of the join into the scan tuple.
static bool next_row(JoinScan* scan) {
  TupleTableSlot* const row = scan->custom.ss.ss_ScanTupleSlot;
  ExprContext* const context = scan->custom.ss.ps.ps_ExprContext;
  PairDecision* const decision = &scan->decision;
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    ExecClearTuple(row);
    while (put_out(&scan->output, row)) {
      ExecStoreVirtualTuple(row);
      if (decision->residual == NULL) return true;
      CHECK_FOR_INTERRUPTS();
      ResetExprContext(context);
      context->ecxt_scantuple = row;
      if (decide_pair(decision, context, number_of(&scan->output, scan->output.outer_number),
                      number_of(&scan->output, scan->output.inner_number))) {
        return true;
      }
      ExecClearTuple(row);
    }
    end_output(&scan->output);
    if (scan->phase == PHASE_IS_OVER) return false;
    if (scan->phase == PHASE_UNMATCHED) {
      TupleTableSlot* alone = next_unmatched(&decision->outer);
      int first = 0;
      if (alone == NULL) {
        alone = next_unmatched(&decision->inner);
        first = row->tts_tupleDescriptor->natts - scan->inner_rows.attributes;
      }
      if (alone == NULL) {
        scan->phase = PHASE_IS_OVER;
        return false;
      }
      put_out_alone(row, alone, first);
      ExecStoreVirtualTuple(row);
      return true;
    }
    gpujoin_result* const result = advance(scan);
    if (result == NULL) continue;
    take_measure(scan, result);
    begin_output(&scan->output, result);
  }
}

// Not ExecScan: for EvalPlanQual that one asks a scan of joined rows to find them again, whereas
// this is a join like any other, over scans that give the rows in question.
static TupleTableSlot* run(CustomScanState* node) {
  JoinScan* const scan = (JoinScan*)node;
  ExprContext* const context = node->ss.ps.ps_ExprContext;
  ProjectionInfo* const projection = node->ss.ps.ps_ProjInfo;
  for (;;) {
    ResetExprContext(context);
    if (!next_row(scan)) {
      return projection != NULL ? ExecClearTuple(projection->pi_state.resultslot) : NULL;
    }
    TupleTableSlot* const row = node->ss.ss_ScanTupleSlot;
    context->ecxt_scantuple = row;
    if (node->ss.ps.qual == NULL || ExecQual(node->ss.ps.qual, context)) {
      return projection != NULL ? ExecProject(projection) : row;
    }
    InstrCountFiltered1(node, 1);
    ResetExprContext(context);
  }
}

static void end(CustomScanState* node) {
  JoinScan* const scan = (JoinScan*)node;
  if (scan->handles != NULL) release_handles(scan->handles);
  end_decision(&scan->decision);
  ExecEndNode(scan->outer);
  ExecEndNode(scan->inner);
}

static void rescan_side(PlanState* side, Bitmapset* changed) {
  if (changed != NULL) UpdateChangedParamSet(side, changed);
  // With parameters that changed it happens when its first row is asked for.
  if (side->chgParam == NULL) ExecReScan(side);
}

static void rescan(CustomScanState* node) {
  JoinScan* const scan = (JoinScan*)node;
  Bitmapset* const changed = node->ss.ps.chgParam;
  if (changed != NULL) UpdateChangedParamSet(scan->inner, changed);
  bool const is_kept = scan->handles != NULL && scan->phase != PHASE_BUILDS &&
                       scan->inner->chgParam == NULL && !(scan->must_rebuild && changed != NULL);
  rescan_side(scan->outer, changed);
  if (scan->handles == NULL) return;
  if (is_kept) {
    release_probe(scan->handles);
  } else {
    rescan_side(scan->inner, NULL);
    release_handles(scan->handles);
  }
  forget_outer(&scan->decision);
  forget_inner(&scan->decision, !is_kept);
  scan->phase = PHASE_BUILDS;
}

static const CustomExecMethods exec_methods = {
    .CustomName = "GPUJOIN",
    .BeginCustomScan = begin,
    .ExecCustomScan = run,
    .EndCustomScan = end,
    .ReScanCustomScan = rescan,
    .ExplainCustomScan = explain_join,
};

static Node* create_scan(CustomScan* plan) {
  JoinScan* const scan = palloc0(sizeof *scan);
  NodeSetTag(scan, T_CustomScanState);
  scan->custom.methods = &exec_methods;
  return (Node*)scan;
}

static const CustomScanMethods scan_methods = {.CustomName = "GPUJOIN",
                                               .CreateCustomScanState = create_scan};

const CustomScanMethods* join_scan_methods(void) { return &scan_methods; }

void register_join_scan(void) { RegisterCustomScanMethods(&scan_methods); }
