// join_plan.c: a join in a plan.
#include "bindings/postgresql/src/join_plan.h"

#include <nodes/makefuncs.h>
#include <nodes/nodeFuncs.h>
#include <optimizer/clauses.h>
#include <optimizer/optimizer.h>

#include "bindings/postgresql/src/join_scan.h"

static bool has_parameter(Node* node, void* unused) {
  if (node == NULL) return false;
  if (IsA(node, Param)) return true;
  return expression_tree_walker(node, has_parameter, unused);
}

// All columns of both sides.
static List* columns_of(List* children) {
  List* columns = NIL;
  ListCell* child;
  foreach (child, children) {
    ListCell* cell;
    foreach (cell, ((Plan*)lfirst(child))->targetlist) {
      TargetEntry const* const entry = lfirst_node(TargetEntry, cell);
      columns =
          lappend(columns, makeTargetEntry(copyObject(entry->expr),
                                           (AttrNumber)(list_length(columns) + 1), NULL, false));
    }
  }
  return columns;
}

#if PG_VERSION_NUM >= 160000
// From 16 on a column that an outer join may make NULL has another name above that join, with the
// joins that may. Keys are about rows below this join, filters and what comes out about those
// above, and the planner finds a column of a custom scan by one name alone. It is the one above, by
// which the plan there finds what comes out.
static bool is_same_column(const Node* one, const Node* other) {
  if (nodeTag(one) != nodeTag(other)) return false;
  if (IsA(one, PlaceHolderVar)) {
    return ((PlaceHolderVar*)one)->phid == ((PlaceHolderVar*)other)->phid;
  }
  Var const* const left = (Var*)one;
  Var const* const right = (Var*)other;
  return left->varno == right->varno && left->varattno == right->varattno;
}

static Node* find_column(const Node* column, List* among) {
  ListCell* cell;
  foreach (cell, among) {
    if (is_same_column(column, lfirst(cell))) return lfirst(cell);
  }
  return NULL;
}

// The first name of a column counts. Placeholders that are no columns are evaluated here, from
// those inside.
static List* names_above(List* columns, List* above) {
  int const inside = PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS;
  List* waiting = pull_var_clause((Node*)above, inside);
  List* const below = pull_var_clause((Node*)columns, inside);
  List* names = NIL;
  ListCell* cell;
  foreach (cell, waiting) {
    Node* const name = lfirst(cell);
    if (find_column(name, below) != NULL) {
      names = lappend(names, name);
    } else if (IsA(name, PlaceHolderVar)) {
      Node* const value = (Node*)((PlaceHolderVar*)name)->phexpr;
      waiting = list_concat(waiting, pull_var_clause(value, inside));
    }
  }
  return names;
}

static Node* rename_columns(Node* node, List* names) {
  if (node == NULL) return NULL;
  if (IsA(node, Var) || IsA(node, PlaceHolderVar)) {
    Node* const name = find_column(node, names);
    if (name != NULL) return copyObject(name);
  }
  return expression_tree_mutator(node, rename_columns, names);
}

// The planner may give the list of what comes out to the plan later: the relation knows it, too.
static void use_names_above(CustomScan* scan, const RelOptInfo* joined) {
  List* const above =
      list_make3(joined->reltarget->exprs, scan->scan.plan.targetlist, scan->scan.plan.qual);
  List* const names = names_above(scan->custom_scan_tlist, above);
  List** const all[] = {&scan->scan.plan.targetlist, &scan->scan.plan.qual,
                        &scan->custom_scan_tlist, &scan->custom_exprs};
  for (int i = 0; i < lengthof(all); ++i) {
    *all[i] = (List*)rename_columns((Node*)*all[i], names);
  }
}
#endif

CustomScan* make_join_plan(const JoinCandidate* join, const JoinCost* cost, Path* path,
                           List* target, List* children) {
  Plan const* const outer = linitial(children);
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = target;
  scan->scan.plan.qual = join->filter;
  scan->scan.scanrelid = 0;
  scan->flags = ((CustomPath*)path)->flags;
  scan->custom_plans = children;
  scan->custom_scan_tlist = columns_of(children);
  scan->custom_exprs =
      list_make4(join->outer_keys, join->inner_keys, join->key_clauses, join->residual);
#if PG_VERSION_NUM >= 160000
  use_names_above(scan, join->joined);
#endif
  bool const must_rebuild = has_parameter((Node*)join->inner_keys, NULL) ||
                            join->parameters != NULL || contain_subplans((Node*)join->inner_keys);
  scan->custom_private =
      list_make4(makeInteger(join->type), makeInteger(list_length(outer->targetlist)),
                 makeInteger(must_rebuild), join->key_operators);
  scan->custom_private = lappend(scan->custom_private, makeString(pstrdup(cost->executor)));
  scan->custom_private = lappend(scan->custom_private, makeString(pstrdup(cost->plan)));
  scan->custom_private =
      lappend(scan->custom_private, makeString(psprintf("%.3f", cost->milliseconds)));
  scan->methods = join_scan_methods();
  return scan;
}
