// join_plan.c: a join in a plan.
#include "bindings/postgresql/src/join_plan.h"

#include <nodes/makefuncs.h>
#include <nodes/nodeFuncs.h>
#include <optimizer/clauses.h>
#include <optimizer/optimizer.h>
#if PG_VERSION_NUM >= 160000
#include <rewrite/rewriteManip.h>
#endif

#include "bindings/postgresql/src/join_scan.h"

static bool has_parameter(Node* node, void* unused) {
  if (node == NULL) return false;
  if (IsA(node, Param)) return true;
  return expression_tree_walker(node, has_parameter, unused);
}

// From 16 on a column that an outer join may make NULL is another one above that join. What the
// join is asked is about rows below it, but the executor has all columns of a row in one place:
// there they are those above.
static Node* as_above(const JoinCandidate* join, Node* node) {
#if PG_VERSION_NUM >= 160000
  SpecialJoinInfo const* const info = ((JoinPathExtraData*)join->extra)->sjinfo;
  if (info == NULL || info->ojrelid == 0) return node;
  Relids const made = bms_make_singleton(info->ojrelid);
  bool const is_left = join->type == JOIN_LEFT || join->type == JOIN_FULL;
  bool const is_right = join->type == JOIN_RIGHT || join->type == JOIN_FULL;
  if (is_left) node = add_nulling_relids(node, join->inner->relids, made);
  if (is_right) node = add_nulling_relids(node, join->outer->relids, made);
#endif
  return node;
}

// All columns of both sides.
static List* columns_of(const JoinCandidate* join, List* children) {
  List* columns = NIL;
  ListCell* child;
  foreach (child, children) {
    ListCell* cell;
    foreach (cell, ((Plan*)lfirst(child))->targetlist) {
      TargetEntry const* const entry = lfirst_node(TargetEntry, cell);
      Expr* const value = (Expr*)as_above(join, copyObject((Node*)entry->expr));
      columns = lappend(
          columns, makeTargetEntry(value, (AttrNumber)(list_length(columns) + 1), NULL, false));
    }
  }
  return columns;
}

CustomScan* make_join_plan(const JoinCandidate* join, const JoinCost* cost, Path* path,
                           List* target, List* children) {
  Plan const* const outer = linitial(children);
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = target;
  scan->scan.plan.qual = join->filter;
  scan->scan.scanrelid = 0;
  scan->flags = ((CustomPath*)path)->flags;
  scan->custom_plans = children;
  scan->custom_scan_tlist = columns_of(join, children);
  List* const asked =
      list_make4(join->outer_keys, join->inner_keys, join->key_clauses, join->residual);
  scan->custom_exprs = (List*)as_above(join, (Node*)asked);
  bool const must_rebuild = has_parameter((Node*)join->inner_keys, NULL) ||
                            join->parameters != NULL || contain_subplans((Node*)join->inner_keys);
  scan->custom_private = list_make5(
      makeInteger(join->type), makeInteger(list_length(outer->targetlist)),
      makeInteger(must_rebuild), join->key_operators, makeString(pstrdup(cost->executor)));
  scan->custom_private = lappend(scan->custom_private, makeString(pstrdup(cost->plan)));
  scan->custom_private =
      lappend(scan->custom_private, makeString(psprintf("%.3f", cost->milliseconds)));
  scan->methods = join_scan_methods();
  return scan;
}
