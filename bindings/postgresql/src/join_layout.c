// join_layout.c: which columns of both sides go to the library, and where what comes out goes.
#include "bindings/postgresql/src/join_layout.h"

#include <access/sysattr.h>
#include <executor/executor.h>
#include <nodes/nodeFuncs.h>
#include <optimizer/optimizer.h>
#include <utils/lsyscache.h>

#include "bindings/postgresql/src/join_plan.h"

// Plan nodes refer to rows of both sides in one; rows of a side alone come from its plan.
typedef struct SideOfColumns {
  int outer_columns;
} SideOfColumns;

static Node* refer_to_sides(Node* node, void* context) {
  if (node == NULL) return NULL;
  if (IsA(node, Var)) {
    Var* const column = (Var*)copyObject(node);
    int const outer_columns = ((SideOfColumns*)context)->outer_columns;
    Assert(column->varno == INDEX_VAR);
    bool const is_outer = column->varattno <= outer_columns;
    column->varno = is_outer ? OUTER_VAR : INNER_VAR;
    if (!is_outer) column->varattno = (AttrNumber)(column->varattno - outer_columns);
    return (Node*)column;
  }
  return expression_tree_mutator(node, refer_to_sides, context);
}

// Attributes of the rows of both sides, from 0, that something above the library reads.
static Bitmapset* read_attributes(const CustomScan* plan) {
  Bitmapset* found = NULL;
  List* const residual = list_nth(plan->custom_exprs, EXPRESSIONS_RESIDUAL);
  pull_varattnos((Node*)plan->scan.plan.targetlist, INDEX_VAR, &found);
  pull_varattnos((Node*)plan->scan.plan.qual, INDEX_VAR, &found);
  pull_varattnos((Node*)residual, INDEX_VAR, &found);
  Bitmapset* attributes = NULL;
  int member = -1;
  while ((member = bms_next_member(found, member)) >= 0) {
    attributes = bms_add_member(attributes, member + FirstLowInvalidHeapAttributeNumber - 1);
  }
  return attributes;
}

static gpujoin_type type_of_width(int width) {
  switch (width) {
    case 1:
      return GPUJOIN_TYPE_INT8;
    case 2:
      return GPUJOIN_TYPE_INT16;
    case 4:
      return GPUJOIN_TYPE_INT32;
    default:
      return GPUJOIN_TYPE_INT64;
  }
}

static void add_keys(JoinScan* scan, InputRows* rows, const CustomScan* plan, bool is_outer) {
  SideOfColumns sides = {intVal(list_nth(plan->custom_private, PRIVATE_OUTER_COLUMNS))};
  List* const operators = list_nth(plan->custom_private, PRIVATE_OPERATORS);
  List* const keys =
      list_nth(plan->custom_exprs, is_outer ? EXPRESSIONS_OUTER_KEYS : EXPRESSIONS_INNER_KEYS);
  ListCell *cell, *operator_cell;
  forboth(cell, keys, operator_cell, operators) {
    Expr* const key = (Expr*)refer_to_sides(lfirst(cell), &sides);
    Oid const type = exprType((Node*)key);
    Oid const operator_id = lfirst_oid(operator_cell);
    InputColumn* const column = add_input_column(rows, key_type(operator_id, type),
                                                 key_form(operator_id, type), get_typlen(type));
    if (IsA(key, Var)) {
      column->attribute = ((Var*)key)->varattno - 1;
    } else {
      column->key = ExecInitExpr(key, &scan->custom.ss.ps);
    }
  }
  rows->key_count = rows->column_count;
}

// An integer key that is read above, too, is one column; floats that are equal may differ, as -0.
static int column_of_key(const InputRows* rows, int attribute) {
  for (int i = 0; i < rows->key_count; ++i) {
    InputColumn const* const column = &rows->columns[i];
    bool const is_float =
        column->type == GPUJOIN_TYPE_FLOAT32 || column->type == GPUJOIN_TYPE_FLOAT64;
    if (column->form == FORM_FIXED && !is_float && column->attribute == attribute) return i;
  }
  return -1;
}

static void add_output(JoinScan* scan, OutputColumn column) {
  scan->output.columns[scan->output.column_count++] = column;
}

// Columns of one side: the keys, what is read above, a row number where pairs are decided.
// `outputs` of them come out, in the order of the result.
static void describe_side(JoinScan* scan, const CustomScan* plan, InputRows* rows, bool is_outer,
                          bool comes_out, Bitmapset* attributes, List** outputs) {
  TupleDesc const types = ExecGetResultType(is_outer ? scan->outer : scan->inner);
  int const first = is_outer ? 0 : intVal(list_nth(plan->custom_private, PRIVATE_OUTER_COLUMNS));
  init_input(rows, list_length(list_nth(plan->custom_exprs, EXPRESSIONS_KEYS)) + types->natts + 2);
  add_keys(scan, rows, plan, is_outer);
  rows->attributes = types->natts;
  rows->members = palloc(sizeof(int) * (types->natts + 1));
  int* const targets = palloc(sizeof(int) * (types->natts + 1));
  for (int i = 0; comes_out && i < types->natts; ++i) {
    Form_pg_attribute const attribute = TupleDescAttr(types, i);
    if (!bms_is_member(first + i, attributes)) continue;
    if (!attribute->attbyval) {
      targets[rows->member_count] = first + i;
      rows->members[rows->member_count++] = i;
      continue;
    }
    int column = column_of_key(rows, i);
    if (column < 0) {
      column = rows->column_count;
      add_input_column(rows, type_of_width(attribute->attlen), FORM_FIXED, attribute->attlen)
          ->attribute = i;
    }
    *outputs = lappend_int(*outputs, column);
    add_output(scan, (OutputColumn){.attribute = first + i, .width = attribute->attlen});
  }
  if (rows->member_count != 0) {
    rows->member_types = CreateTemplateTupleDesc(rows->member_count);
    for (int i = 0; i < rows->member_count; ++i) {
      TupleDescCopyEntry(rows->member_types, (AttrNumber)(i + 1), types,
                         (AttrNumber)(rows->members[i] + 1));
    }
    *outputs = lappend_int(*outputs, rows->column_count);
    add_input_column(rows, GPUJOIN_TYPE_LARGE_BINARY, FORM_TUPLE, 0);
    add_output(scan, (OutputColumn){
                         .attribute = -1,
                         .tuple = MakeSingleTupleTableSlot(rows->member_types, &TTSOpsMinimalTuple),
                         .members = targets});
  }
  if (scan->decision.residual != NULL) {
    rows->number_column = rows->column_count;
    add_input_column(rows, GPUJOIN_TYPE_INT64, FORM_FIXED, sizeof(int64_t));
    *outputs = lappend_int(*outputs, rows->number_column);
    if (is_outer) scan->output.outer_number = scan->output.column_count;
    if (!is_outer) scan->output.inner_number = scan->output.column_count;
    add_output(scan, (OutputColumn){.attribute = -1, .width = sizeof(int64_t)});
  }
  allocate_input(rows);
}

static bool puts_out_outer(gpujoin_join_kind kind) {
  return kind != GPUJOIN_JOIN_RIGHT_SEMI && kind != GPUJOIN_JOIN_RIGHT_ANTI;
}

static bool puts_out_inner(gpujoin_join_kind kind) {
  return kind != GPUJOIN_JOIN_LEFT_SEMI && kind != GPUJOIN_JOIN_LEFT_ANTI;
}

static void keep_outputs(List* outputs, int32_t** columns, int* count) {
  *count = list_length(outputs);
  *columns = palloc(sizeof(int32_t) * (*count + 1));
  ListCell* cell;
  foreach (cell, outputs) (*columns)[foreach_current_index(cell)] = lfirst_int(cell);
}

void describe_columns(JoinScan* scan) {
  CustomScan const* const plan = (CustomScan*)scan->custom.ss.ps.plan;
  Bitmapset* const attributes = read_attributes(plan);
  scan->output.columns = palloc(sizeof(OutputColumn) * (list_length(plan->custom_scan_tlist) + 4));
  scan->output.outer_number = scan->output.inner_number = -1;
  List* outer = NIL;
  List* inner = NIL;
  bool const outer_comes = puts_out_outer(scan->kind);
  describe_side(scan, plan, &scan->outer_rows, true, outer_comes, attributes, &outer);
  bool const inner_comes = puts_out_inner(scan->kind);
  describe_side(scan, plan, &scan->inner_rows, false, inner_comes, attributes, &inner);
  if (scan->output.column_count == 0) {
    // Rows are counted, and have to be columns for that.
    List** const outputs = outer_comes ? &outer : &inner;
    *outputs = list_make1_int(0);
    add_output(scan, (OutputColumn){.attribute = -1});
  }
  keep_outputs(outer, &scan->outer_outputs, &scan->outer_output_count);
  keep_outputs(inner, &scan->inner_outputs, &scan->inner_output_count);
}
