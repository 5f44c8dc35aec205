// decisions.c: gpujoin_decisions().
#include "bindings/postgresql/src/decisions.h"

#include <funcapi.h>
#include <lib/stringinfo.h>
#include <miscadmin.h>
#include <optimizer/pathnode.h>
#include <optimizer/paths.h>
#include <optimizer/planner.h>
#include <parser/parsetree.h>
#include <utils/builtins.h>
#include <utils/memutils.h>
#include <utils/tuplestore.h>

#include "bindings/postgresql/src/join_path.h"
#include "bindings/postgresql/src/settings.h"

// While a query is planned: why joins that were offered were not taken.
typedef struct Reason {
  PlannerInfo* root;
  Relids joined;
  const char* text;
} Reason;
static List* reasons = NIL;
static MemoryContext planning_context = NULL;

typedef struct Decision {
  bool is_taken;
  const char* join_type;
  char* relations;
  char* reason;
} Decision;
static MemoryContext decisions_context = NULL;
static List* decisions = NIL;
// Those there are belong to a query that was planned before.
static bool are_old = false;
static int planning_depth = 0;

static planner_hook_type previous_planner = NULL;
static create_upper_paths_hook_type previous_upper_paths = NULL;

void add_reason(PlannerInfo* root, Relids joined, const char* text) {
  if (planning_depth == 0) return;
  // With very many relations (GEQO) joins are tried in memory that is given back in between.
  MemoryContext const before = MemoryContextSwitchTo(planning_context);
  Reason* reason = NULL;
  ListCell* cell;
  foreach (cell, reasons) {
    Reason* const known = lfirst(cell);
    if (known->root == root && bms_equal(known->joined, joined)) reason = known;
  }
  if (reason == NULL) {
    reason = palloc(sizeof *reason);
    reason->root = root;
    reason->joined = bms_copy(joined);
    reasons = lappend(reasons, reason);
  }
  reason->text = pstrdup(text);
  MemoryContextSwitchTo(before);
}

static const char* reason_of(PlannerInfo* root, Relids joined) {
  const char* found = NULL;
  ListCell* cell;
  foreach (cell, reasons) {
    Reason const* const reason = lfirst(cell);
    if (reason->root == root && bms_equal(reason->joined, joined)) found = reason->text;
  }
  if (found != NULL) return found;
  // Since its last minor versions PostgreSQL does not ask where a condition has no columns.
  if (setting_force) return "PostgreSQL asks for no other way, as where a condition has no columns";
  return "PostgreSQL's own join is expected to be faster";
}

static char* names_of(PlannerInfo* root, Relids joined) {
  StringInfoData names;
  initStringInfo(&names);
  int number = -1;
  while ((number = bms_next_member(joined, number)) >= 0) {
    // From 16 on outer joins have numbers, too.
    if (root->simple_rel_array[number] == NULL) continue;
    if (names.len != 0) appendStringInfoString(&names, ", ");
    appendStringInfoString(&names, root->simple_rte_array[number]->eref->aliasname);
  }
  return names.data;
}

static void decide(PlannerInfo* root, Path* path, JoinType type, bool is_taken) {
  MemoryContext const before = MemoryContextSwitchTo(decisions_context);
  if (are_old) {
    MemoryContextReset(decisions_context);
    decisions = NIL;
    are_old = false;
  }
  Relids const joined = path->parent->relids;
  Decision* const decision = palloc(sizeof *decision);
  decision->is_taken = is_taken;
  decision->join_type = join_type_name(type);
  decision->relations = names_of(root, joined);
  decision->reason = pstrdup(is_taken ? taken_reason(path) : reason_of(root, joined));
  decisions = lappend(decisions, decision);
  MemoryContextSwitchTo(before);
}

static void decide_below(PlannerInfo* root, Path* path);

static void decide_each(PlannerInfo* root, List* paths) {
  ListCell* cell;
  foreach (cell, paths) decide_below(root, lfirst(cell));
}

// Subqueries come up by themselves: each has a final relation of its own.
static void decide_below(PlannerInfo* root, Path* path) {
  check_stack_depth();
  switch (nodeTag(path)) {
    case T_NestPath:
    case T_MergePath:
    case T_HashPath: {
      JoinPath const* const join = (JoinPath*)path;
      decide(root, path, join->jointype, false);
      decide_below(root, join->outerjoinpath);
      decide_below(root, join->innerjoinpath);
      break;
    }
    case T_CustomPath:
      if (is_join_path(path)) decide(root, path, type_of_join_path(path), true);
      decide_each(root, ((CustomPath*)path)->custom_paths);
      break;
    case T_AppendPath:
      decide_each(root, ((AppendPath*)path)->subpaths);
      break;
    case T_MergeAppendPath:
      decide_each(root, ((MergeAppendPath*)path)->subpaths);
      break;
#if PG_VERSION_NUM < 140000
    case T_ModifyTablePath:
      decide_each(root, ((ModifyTablePath*)path)->subpaths);
      break;
#else
    case T_ModifyTablePath:
    case T_MemoizePath:
#endif
    case T_MaterialPath:
    case T_UniquePath:
    case T_GatherPath:
    case T_GatherMergePath:
    case T_ProjectionPath:
    case T_ProjectSetPath:
    case T_SortPath:
    case T_IncrementalSortPath:
    case T_GroupPath:
    case T_UpperUniquePath:
    case T_AggPath:
    case T_GroupingSetsPath:
    case T_WindowAggPath:
    case T_LockRowsPath:
    case T_LimitPath:
      // All of them begin with a path and the one below.
      decide_below(root, ((MaterialPath*)path)->subpath);
      break;
    default:
      break;
  }
}

static void see_final_paths(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input,
                            RelOptInfo* output, void* extra) {
  if (previous_upper_paths != NULL) previous_upper_paths(root, stage, input, output, extra);
  if (stage != UPPERREL_FINAL || !setting_enable || output->pathlist == NIL) return;
  set_cheapest(output);
  decide_below(root, get_cheapest_fractional_path(output, root->tuple_fraction));
}

static PlannedStmt* plan_query(Query* query, const char* text, int options,
                               ParamListInfo parameters) {
  List* const reasons_before = reasons;
  MemoryContext const context_before = planning_context;
  planning_context = CurrentMemoryContext;
  reasons = NIL;
  if (planning_depth == 0) are_old = true;
  ++planning_depth;
  PlannedStmt* plan = NULL;
  PG_TRY();
  {
    plan = previous_planner != NULL ? previous_planner(query, text, options, parameters)
                                    : standard_planner(query, text, options, parameters);
  }
  PG_FINALLY();
  {
    --planning_depth;
    reasons = reasons_before;
    planning_context = context_before;
  }
  PG_END_TRY();
  return plan;
}

void install_decisions(void) {
  decisions_context =
      AllocSetContextCreate(TopMemoryContext, "gpujoin decisions", ALLOCSET_SMALL_SIZES);
  previous_planner = planner_hook;
  planner_hook = plan_query;
  previous_upper_paths = create_upper_paths_hook;
  create_upper_paths_hook = see_final_paths;
}

PG_FUNCTION_INFO_V1(gpujoin_decisions);
Datum gpujoin_decisions(PG_FUNCTION_ARGS) {
  ReturnSetInfo* const set = (ReturnSetInfo*)fcinfo->resultinfo;
#if PG_VERSION_NUM >= 150000
  InitMaterializedSRF(fcinfo, 0);
#else
  if (set == NULL || !IsA(set, ReturnSetInfo) || !(set->allowedModes & SFRM_Materialize)) {
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("gpujoin_decisions() has to be called where rows are expected")));
  }
  MemoryContext const before = MemoryContextSwitchTo(set->econtext->ecxt_per_query_memory);
  get_call_result_type(fcinfo, NULL, &set->setDesc);
  set->returnMode = SFRM_Materialize;
  set->setResult = tuplestore_begin_heap(true, false, work_mem);
  MemoryContextSwitchTo(before);
#endif
  ListCell* cell;
  foreach (cell, decisions) {
    Decision const* const decision = lfirst(cell);
    Datum values[] = {BoolGetDatum(decision->is_taken), CStringGetTextDatum(decision->join_type),
                      CStringGetTextDatum(decision->relations),
                      CStringGetTextDatum(decision->reason)};
    bool nulls[lengthof(values)] = {false};
    tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
  }
  return (Datum)0;
}
