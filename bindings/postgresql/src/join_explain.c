// join_explain.c: what EXPLAIN shows of a join.
#include <postgres.h>

#include <commands/explain.h>
#if PG_VERSION_NUM >= 180000
#include <commands/explain_format.h>
#include <commands/explain_state.h>
#endif
#include <nodes/makefuncs.h>
#include <utils/ruleutils.h>

#include "bindings/postgresql/src/join_path.h"
#include "bindings/postgresql/src/join_plan.h"
#include "bindings/postgresql/src/join_scan.h"

static void explain_conditions(const CustomScan* plan, int which, const char* label,
                               List* ancestors, ExplainState* explain) {
  List* const conditions = list_nth(plan->custom_exprs, which);
  if (conditions == NIL) return;
  List* const context = set_deparse_context_plan(explain->deparse_cxt, (Plan*)plan, ancestors);
  char* const text =
      deparse_expression((Node*)make_ands_explicit(conditions), context, true, false);
  ExplainPropertyText(label, text, explain);
}

static void explain_measure(const JoinMeasure* measure, ExplainState* explain) {
  if (measure->results != 0) {
    ExplainPropertyText("Executor", measure->executor, explain);
    ExplainPropertyText("Plan", measure->plan, explain);
  }
  ExplainPropertyFloat("Library Time", "ms", measure->milliseconds, 3, explain);
  ExplainPropertyInteger("Builds", NULL, measure->builds, explain);
  ExplainPropertyInteger("Build Rows", NULL, measure->build_rows, explain);
  ExplainPropertyInteger("Probe Rows", NULL, measure->probe_rows, explain);
  ExplainPropertyInteger("Results", NULL, measure->results, explain);
  if (measure->partitions > 1) {
    ExplainPropertyInteger("Partitions", NULL, measure->partitions, explain);
  }
  if (measure->spilled_bytes != 0) {
    ExplainPropertyInteger("Spilled", "kB", (int64)(measure->spilled_bytes / 1024), explain);
  }
}

void explain_join(CustomScanState* node, List* ancestors, ExplainState* explain) {
  JoinScan const* const scan = (JoinScan*)node;
  CustomScan const* const plan = (CustomScan*)node->ss.ps.plan;
  JoinType const type = (JoinType)intVal(list_nth(plan->custom_private, PRIVATE_TYPE));
  ExplainPropertyText("Join Type", join_type_name(type), explain);
  explain_conditions(plan, EXPRESSIONS_KEYS, "Keys", ancestors, explain);
  explain_conditions(plan, EXPRESSIONS_RESIDUAL, "Join Filter", ancestors, explain);
  if (explain->analyze && scan->measure.builds != 0) {
    explain_measure(&scan->measure, explain);
  } else if (explain->costs) {
    ExplainPropertyText("Executor", strVal(list_nth(plan->custom_private, PRIVATE_EXECUTOR)),
                        explain);
    ExplainPropertyText("Plan", strVal(list_nth(plan->custom_private, PRIVATE_PLAN)), explain);
    ExplainPropertyFloat("Expected", "ms",
                         atof(strVal(list_nth(plan->custom_private, PRIVATE_MILLISECONDS))), 3,
                         explain);
  }
}
