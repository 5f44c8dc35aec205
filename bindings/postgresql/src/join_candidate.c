// join_candidate.c: a join as the planner offers it, and what of it the library can do.
#include "bindings/postgresql/src/join_candidate.h"

#include <nodes/nodeFuncs.h>
#include <optimizer/optimizer.h>
#include <optimizer/restrictinfo.h>
#include <utils/lsyscache.h>

#include "bindings/postgresql/src/join_key.h"
#include "bindings/postgresql/src/server_versions.h"

// Of the library.
#define MOST_KEYS 16

static bool is_kind_known(JoinType type) {
  switch ((int)type) {
    case JOIN_INNER:
    case JOIN_LEFT:
    case JOIN_RIGHT:
    case JOIN_FULL:
    case JOIN_SEMI:
    case JOIN_ANTI:
    case JOIN_RIGHT_ANTI:
    case JOIN_RIGHT_SEMI:
      return true;
    default:
      return false;
  }
}

// Whether it is an equality of the two sides, by a hash or an order; `is_turned`: inner = outer.
static bool is_equality(const JoinCandidate* join, const RestrictInfo* restriction,
                        bool* is_turned) {
  if (!restriction->can_join) return false;
  if (!OidIsValid(restriction->hashjoinoperator) && restriction->mergeopfamilies == NIL) {
    return false;
  }
  Relids const outer = join->outer->relids;
  Relids const inner = join->inner->relids;
  *is_turned = bms_is_subset(restriction->left_relids, inner) &&
               bms_is_subset(restriction->right_relids, outer);
  return *is_turned || (bms_is_subset(restriction->left_relids, outer) &&
                        bms_is_subset(restriction->right_relids, inner));
}

// Which child of an inherited target of UPDATE, DELETE or MERGE a row is of: EXPLAIN VERBOSE can't
// name such columns of a custom scan.
static bool has_row_identity(const RelOptInfo* side) {
  ListCell* cell;
  foreach (cell, side->reltarget->exprs) {
    Var const* const column = lfirst(cell);
    if (IsA(column, Var) && column->varno == ROWID_VAR) return true;
  }
  return false;
}

static void add_key(JoinCandidate* join, OpExpr* clause, bool is_turned) {
  Node* const left = get_leftop((Expr*)clause);
  Node* const right = get_rightop((Expr*)clause);
  join->key_clauses = lappend(join->key_clauses, clause);
  join->key_operators = lappend_oid(join->key_operators, clause->opno);
  join->outer_keys = lappend(join->outer_keys, is_turned ? right : left);
  join->inner_keys = lappend(join->inner_keys, is_turned ? left : right);
}

const char* describe_join(JoinCandidate* join, List* restrictions) {
  if (!is_kind_known(join->type)) return "a kind of join that is PostgreSQL's own";
  if (has_row_identity(join->outer) || has_row_identity(join->inner)) {
    return "one side is a target with children, which rows are written to";
  }
  bool const is_outer_join = IS_OUTER_JOIN(join->type);
  const char* refused_key = NULL;
  ListCell* cell;
  foreach (cell, restrictions) {
    RestrictInfo* const restriction = lfirst_node(RestrictInfo, cell);
    if (restriction->pseudoconstant) return "a condition that has no columns";
    if (is_outer_join && RINFO_IS_PUSHED_DOWN(restriction, join->joined->relids)) {
      join->filter = lappend(join->filter, restriction->clause);
      continue;
    }
    bool is_turned = false;
    if (is_equality(join, restriction, &is_turned) && list_length(join->key_clauses) < MOST_KEYS) {
      OpExpr* const clause = castNode(OpExpr, restriction->clause);
      refused_key = why_no_key(clause);
      if (refused_key == NULL) {
        add_key(join, clause, is_turned);
        continue;
      }
    }
    if (join->type == JOIN_INNER) {
      join->filter = lappend(join->filter, restriction->clause);
    } else {
      join->residual = lappend(join->residual, restriction->clause);
    }
  }
  if (join->key_clauses == NIL) return refused_key != NULL ? refused_key : "no equal key";
  // So it is with PostgreSQL's own, which has no other way for them.
  if (join->type == JOIN_FULL && join->residual != NIL) {
    return "a full join with a condition that is no equal key";
  }
  return NULL;
}
