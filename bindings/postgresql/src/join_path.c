// join_path.c: joins that are offered to the planner.
#include "bindings/postgresql/src/join_path.h"

#include <nodes/extensible.h>
#include <optimizer/cost.h>
#include <optimizer/optimizer.h>
#include <optimizer/pathnode.h>
#include <optimizer/paths.h>
#include <optimizer/restrictinfo.h>

#include "bindings/postgresql/src/decisions.h"
#include "bindings/postgresql/src/join_candidate.h"
#include "bindings/postgresql/src/join_cost.h"
#include "bindings/postgresql/src/join_plan.h"
#include "bindings/postgresql/src/library.h"
#include "bindings/postgresql/src/server_versions.h"
#include "bindings/postgresql/src/settings.h"

typedef struct JoinPathOfLibrary {
  CustomPath path;
  JoinCandidate join;
  JoinCost cost;
} JoinPathOfLibrary;

static set_join_pathlist_hook_type previous_hook = NULL;

static Plan* plan_join(PlannerInfo* root, RelOptInfo* relation, CustomPath* path, List* target,
                       List* conditions, List* children) {
  JoinPathOfLibrary const* const join = (JoinPathOfLibrary*)path;
  return &make_join_plan(&join->join, &join->cost, &path->path, target, children)->scan.plan;
}

static const CustomPathMethods path_methods = {.CustomName = "GPUJOIN",
                                               .PlanCustomPath = plan_join};

bool is_join_path(const Path* path) {
  return IsA(path, CustomPath) && ((CustomPath*)path)->methods == &path_methods;
}

JoinType type_of_join_path(const Path* path) { return ((JoinPathOfLibrary*)path)->join.type; }

const char* taken_reason(const Path* path) {
  JoinCost const* const cost = &((JoinPathOfLibrary*)path)->cost;
  return psprintf("%s, %s, %.2f ms expected%s", cost->executor, cost->plan, cost->milliseconds,
                  setting_force ? ", forced" : "");
}

const char* join_type_name(JoinType type) {
  switch ((int)type) {
    case JOIN_INNER:
      return "inner";
    case JOIN_LEFT:
      return "left";
    case JOIN_RIGHT:
      return "right";
    case JOIN_FULL:
      return "full";
    case JOIN_SEMI:
      return "semi";
    case JOIN_ANTI:
      return "anti";
    case JOIN_RIGHT_ANTI:
      return "right anti";
    case JOIN_RIGHT_SEMI:
      return "right semi";
    default:
      return "unique";
  }
}

// Pairs of rows with equal keys, of which those come out that fulfil all else.
static double pairs_of(const JoinCandidate* join, SpecialJoinInfo* info) {
  Selectivity const share =
      clauselist_selectivity(join->root, join->key_clauses, 0, JOIN_INNER, info);
  return clamp_row_est(share * join->outer_path->rows * join->inner_path->rows);
}

// Whether PostgreSQL has a way in which each process is expected to take less by itself than ours
// takes. What comes above the join is done in parallel then, too, where ours would leave it to one
// process: 16 cores, four workers, TPC-H query 13 of scale factor 2, 1.5 s, and 2.5 to 3.0 with a
// join that costs less.
static bool is_faster_in_parallel(const RelOptInfo* joined, Cost ours) {
  if (joined->partial_pathlist == NIL) return false;
  Path const* const cheapest = linitial(joined->partial_pathlist);
  return cheapest->total_cost < ours;
}

// The path, or why there is none.
static const char* make_path(JoinCandidate* join, JoinPathExtraData* extra,
                             JoinPathOfLibrary** made) {
  join->outer_path = join->outer->cheapest_total_path;
  join->inner_path = join->inner->cheapest_total_path;
  if (bms_overlap(PATH_REQ_OUTER(join->outer_path), join->inner->relids) ||
      bms_overlap(PATH_REQ_OUTER(join->inner_path), join->outer->relids)) {
    return "one side's rows depend on a row of the other (LATERAL)";
  }
  Relids const required = calc_non_nestloop_required_outer(join->outer_path, join->inner_path);
  if (required != NULL && enable_partitionwise_join) {
    // For partitions the planner copies such a path as a CustomPath, without what is behind that.
    return "rows depend on another relation, whose partitions may be joined one by one";
  }
  List* restrictions = list_copy(extra->restrictlist);
  join->parameters =
      get_joinrel_parampathinfo(join->root, join->joined, join->outer_path, join->inner_path,
                                extra->sjinfo, required, &restrictions);
  double const rows = join->parameters != NULL ? join->parameters->ppi_rows : join->joined->rows;
  const char* reason = describe_join(join, restrictions);
  if (reason != NULL) return reason;
  if (!setting_force && is_small(join, rows)) return "so few rows are not worth it";

  JoinCost cost;
  reason = estimate_cost(join, rows, &cost);
  if (reason != NULL) return reason;
  // PostgreSQL evaluates what is left for each pair of rows with equal keys.
  QualCost evaluated;
  List* const left = list_concat_copy(join->residual, join->filter);
  cost_qual_eval(&evaluated, left, join->root);
  double const pairs = left == NIL ? 0 : pairs_of(join, extra->sjinfo);

  JoinPathOfLibrary* const path = palloc0(sizeof *path);
  NodeSetTag(path, T_CustomPath);
  path->path.path.pathtype = T_CustomScan;
  path->path.path.parent = join->joined;
  path->path.path.pathtarget = join->joined->reltarget;
  path->path.path.param_info = join->parameters;
  path->path.path.rows = rows;
  path->path.path.startup_cost = join->inner_path->total_cost + join->outer_path->startup_cost +
                                 cost.startup + evaluated.startup;
  path->path.path.total_cost = join->inner_path->total_cost + join->outer_path->total_cost +
                               cost.total + evaluated.startup + evaluated.per_tuple * pairs +
                               join->joined->reltarget->cost.per_tuple * rows;
  if (!setting_force && is_faster_in_parallel(join->joined, path->path.path.total_cost)) {
    return "PostgreSQL is expected to be faster in parallel";
  }
  path->path.flags = CUSTOMPATH_SUPPORT_PROJECTION;
#if PG_VERSION_NUM >= 170000
  path->path.custom_restrictinfo = restrictions;
#endif
#if PG_VERSION_NUM >= 180000
  path->path.path.disabled_nodes =
      join->inner_path->disabled_nodes + join->outer_path->disabled_nodes;
#endif
  path->path.custom_paths = list_make2(join->outer_path, join->inner_path);
  path->path.methods = &path_methods;
  path->join = *join;
  path->cost = cost;
  *made = path;
  return NULL;
}

static JoinPathOfLibrary* copy_of(const JoinPathOfLibrary* path) {
  JoinPathOfLibrary* const copy = palloc(sizeof *copy);
  memcpy(copy, path, sizeof *copy);
  return copy;
}

// Of the ways to this relation ours alone are left. PostgreSQL's own, which come with each pair of
// sides that make it, may have driven out ours of the pairs before: they are kept with the
// relation, in a place that is a foreign data wrapper's where it has one.
static void keep_ours_alone(RelOptInfo* joined, const JoinPathOfLibrary* path) {
  if (path != NULL) joined->fdw_private = lappend(joined->fdw_private, copy_of(path));
  if (joined->fdw_private == NULL) return;
  joined->pathlist = NIL;
  joined->partial_pathlist = NIL;
  ListCell* cell;
  foreach (cell, (List*)joined->fdw_private) {
    add_path(joined, &copy_of(lfirst(cell))->path.path);
  }
}

static void offer_join(PlannerInfo* root, RelOptInfo* joined, RelOptInfo* outer, RelOptInfo* inner,
                       JoinType type, JoinPathExtraData* extra) {
  if (previous_hook != NULL) previous_hook(root, joined, outer, inner, type, extra);
  if (!setting_enable) return;
  JoinCandidate join = {
      .root = root, .joined = joined, .outer = outer, .inner = inner, .type = type};
  const char* reason = why_no_library();
  // A semi join is also offered as an inner one with the inner rows made unique. Where it can be a
  // semi join, it is one.
  if (type == JOIN_UNIQUE_INNER || type == JOIN_UNIQUE_OUTER) {
    if (type == JOIN_UNIQUE_OUTER) {
      join.outer = inner;
      join.inner = outer;
    }
    if (!bms_is_subset(extra->sjinfo->min_lefthand, join.outer->relids)) return;
    join.type = JOIN_SEMI;
  }
  JoinPathOfLibrary* path = NULL;
  if (reason == NULL) reason = make_path(&join, extra, &path);
  if (reason != NULL) add_reason(root, joined->relids, reason);
  if (setting_force && joined->fdwroutine == NULL) {
    keep_ours_alone(joined, path);
  } else if (path != NULL) {
    add_path(joined, &path->path.path);
  }
}

void install_join_paths(void) {
  previous_hook = set_join_pathlist_hook;
  set_join_pathlist_hook = offer_join;
}
