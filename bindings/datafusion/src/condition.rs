//! Conditions beside the keys, as the library evaluates them.
//!
//! What looks at one side alone DataFusion computes, as a column of that side; what looks at both
//! is translated.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinSide, Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal, NotExpr, TryCastExpr,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use gpujoin::{Context, Expr, Relation, left, right};

use crate::declined::Declined;
use crate::errors::failed;
use crate::side_layout::SideLayout;

/// A condition of a left and a right row.
#[derive(Clone, Debug)]
pub enum Condition {
    Left(usize),
    Right(usize),
    Constant(ScalarValue),
    Binary(Operator, Box<[Condition; 2]>),
    Not(Box<Condition>),
    IsNull(Box<Condition>),
    IsNotNull(Box<Condition>),
}

impl Condition {
    pub fn and(self, other: Self) -> Self {
        Self::Binary(Operator::And, Box::new([self, other]))
    }

    /// As a join of the library takes it.
    pub fn expression(&self, context: &Context) -> Result<Expr> {
        Ok(match self {
            Self::Left(column) => left(*column),
            Self::Right(column) => right(*column),
            Self::Constant(value) => constant(value, context)?,
            Self::Not(argument) => !argument.expression(context)?,
            Self::IsNull(argument) => argument.expression(context)?.is_null(),
            Self::IsNotNull(argument) => argument.expression(context)?.is_not_null(),
            Self::Binary(operator, arguments) => {
                let [first, second] = &**arguments;
                apply(*operator, first.expression(context)?, second.expression(context)?)
            }
        })
    }
}

fn constant(value: &ScalarValue, context: &Context) -> Result<Expr> {
    let schema = Schema::new(vec![Field::new("value", value.data_type(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![value.to_array()?])?;
    let values = Relation::from_batch(context, &batch).map_err(failed)?;
    Ok(Expr::constant(&values, 0usize))
}

fn is_translated(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
            | Operator::And
            | Operator::Or
    )
}

fn apply(operator: Operator, first: Expr, second: Expr) -> Expr {
    match operator {
        Operator::Eq => first.equal(second),
        Operator::NotEq => first.not_equal(second),
        Operator::Lt => first.less(second),
        Operator::LtEq => first.less_equal(second),
        Operator::Gt => first.greater(second),
        Operator::GtEq => first.greater_equal(second),
        Operator::IsDistinctFrom => first.distinct(second),
        Operator::IsNotDistinctFrom => first.not_distinct(second),
        Operator::Or => first.or(second),
        _ => first.and(second),
    }
}

/// Turns conditions of a join's filter into those of the library, and adds the columns that they
/// look at to the sides.
pub struct Translation<'join> {
    pub filter: &'join JoinFilter,
    pub left: &'join mut SideLayout,
    pub right: &'join mut SideLayout,
}

impl Translation<'_> {
    pub fn translate(&mut self, expression: &PhysicalExprRef) -> Result<Condition, Declined> {
        if is_volatile(expression) {
            return Err(format!("{expression} is another one for each pair of rows").into());
        }
        let sides = self.sides(expression);
        if sides.is_empty()
            && let Some(literal) = expression.downcast_ref::<Literal>()
        {
            return Ok(Condition::Constant(literal.value().clone()));
        }
        if sides.iter().all(|side| *side == JoinSide::Right) && !sides.is_empty() {
            let column = self.of_side(expression, JoinSide::Right)?;
            return Ok(Condition::Right(self.right.compared_column(&column)?));
        }
        if sides.iter().all(|side| *side == JoinSide::Left) {
            let column = self.of_side(expression, JoinSide::Left)?;
            return Ok(Condition::Left(self.left.compared_column(&column)?));
        }
        self.translate_node(expression)
    }

    fn translate_node(&mut self, expression: &PhysicalExprRef) -> Result<Condition, Declined> {
        if let Some(binary) = expression.downcast_ref::<BinaryExpr>()
            && is_translated(*binary.op())
        {
            return self.binary(*binary.op(), binary.left(), binary.right());
        }
        if let Some(not) = expression.downcast_ref::<NotExpr>() {
            return Ok(Condition::Not(Box::new(self.translate(not.arg())?)));
        }
        if let Some(is_null) = expression.downcast_ref::<IsNullExpr>() {
            return Ok(Condition::IsNull(Box::new(self.translate(is_null.arg())?)));
        }
        if let Some(is_not_null) = expression.downcast_ref::<IsNotNullExpr>() {
            return Ok(Condition::IsNotNull(Box::new(self.translate(is_not_null.arg())?)));
        }
        if let Some(in_list) = expression.downcast_ref::<InListExpr>() {
            return self.in_list(in_list);
        }
        Err(format!("{expression} looks at both sides").into())
    }

    fn binary(
        &mut self,
        operator: Operator,
        first: &PhysicalExprRef,
        second: &PhysicalExprRef,
    ) -> Result<Condition, Declined> {
        let arguments = [self.translate(first)?, self.translate(second)?];
        Ok(Condition::Binary(operator, Box::new(arguments)))
    }

    fn in_list(&mut self, in_list: &InListExpr) -> Result<Condition, Declined> {
        let mut any: Option<Condition> = None;
        for value in in_list.list() {
            let equal = self.binary(Operator::Eq, in_list.expr(), value)?;
            any = Some(match any {
                Some(before) => Condition::Binary(Operator::Or, Box::new([before, equal])),
                None => equal,
            });
        }
        let any = any.ok_or("a list without values")?;
        Ok(if in_list.negated() { Condition::Not(Box::new(any)) } else { any })
    }

    fn column_index(&self, column: &Column) -> &ColumnIndex {
        &self.filter.column_indices()[column.index()]
    }

    fn sides(&self, expression: &PhysicalExprRef) -> Vec<JoinSide> {
        let columns = collect_columns(expression);
        columns.iter().map(|column| self.column_index(column).side).collect()
    }

    /// The expression over the input of the side that it looks at alone.
    fn of_side(
        &self,
        expression: &PhysicalExprRef,
        side: JoinSide,
    ) -> Result<PhysicalExprRef, Declined> {
        if !cannot_fail(expression, self.filter.schema()) {
            return Err(format!("{expression} may fail for rows without a match").into());
        }
        over_input(expression, self.filter, side).map_err(|error| error.to_string().into())
    }
}

/// An expression of a join's filter over the input of a side.
fn over_input(
    expression: &PhysicalExprRef,
    filter: &JoinFilter,
    side: JoinSide,
) -> Result<PhysicalExprRef> {
    let indices = filter.column_indices();
    Arc::clone(expression)
        .transform(|node| {
            let Some(column) = node.downcast_ref::<Column>() else {
                return Ok(Transformed::no(node));
            };
            debug_assert_eq!(indices[column.index()].side, side);
            let moved = Column::new(column.name(), indices[column.index()].index);
            Ok(Transformed::yes(Arc::new(moved) as PhysicalExprRef))
        })
        .map(|transformed| transformed.data)
}

/// Whether an expression has a value for every row: it is computed for rows that have no match,
/// which DataFusion would not look at.
fn cannot_fail(expression: &PhysicalExprRef, schema: &Schema) -> bool {
    let mut is_safe = true;
    let visited = expression.apply(|node| {
        is_safe = node_cannot_fail(node, schema)?;
        Ok(if is_safe { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    visited.is_ok() && is_safe
}

fn node_cannot_fail(node: &PhysicalExprRef, schema: &Schema) -> Result<bool> {
    if let Some(binary) = node.downcast_ref::<BinaryExpr>() {
        let data_type = node.data_type(schema)?;
        return Ok(match binary.op() {
            Operator::Plus | Operator::Minus | Operator::Multiply => {
                data_type.is_numeric()
                    && !matches!(data_type, DataType::Decimal128(_, _) | DataType::Decimal256(_, _))
            }
            operator => is_translated(*operator),
        });
    }
    if let Some(cast) = node.downcast_ref::<CastExpr>() {
        return Ok(widens(&cast.expr().data_type(schema)?, cast.cast_type()));
    }
    Ok(node.is::<Column>()
        || node.is::<Literal>()
        || node.is::<NotExpr>()
        || node.is::<IsNullExpr>()
        || node.is::<IsNotNullExpr>()
        || node.is::<InListExpr>()
        || node.is::<LikeExpr>()
        || node.is::<CaseExpr>()
        || node.is::<TryCastExpr>())
}

/// Whether each value of a type is one of the other.
fn widens(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Decimal128(digits, scale), DataType::Decimal128(more, more_scale)) => {
            more_scale >= scale
                && i32::from(*more) - i32::from(*more_scale)
                    >= i32::from(*digits) - i32::from(*scale)
        }
        (from, DataType::Decimal128(digits, scale)) if from.is_integer() => {
            let needed = if from.primitive_width() == Some(8) { 20 } else { 10 };
            i32::from(*digits) - i32::from(*scale) >= needed
        }
        (from, to) => from == to || CastExpr::check_bigger_cast(to, from),
    }
}
