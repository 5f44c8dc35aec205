//! What of a join of DataFusion's the library does.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::conjunction;
use datafusion::physical_expr::{PhysicalExprRef, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter, build_join_schema};
use gpujoin::{BuildBuilder, Context, Expr, Join, Key, Kind};

use crate::condition::{Condition, Translation};
use crate::decided_filter::DecidedFilter;
use crate::declined::Declined;
use crate::side_layout::SideLayout;

/// A join as the library does it: the left side is its build.
#[derive(Clone, Debug)]
pub struct JoinLayout {
    pub kind: Kind,
    pub left: SideLayout,
    pub right: SideLayout,
    is_null_equal: bool,
    condition: Option<Condition>,
    /// In the condition's place, what DataFusion says of each pair.
    pub decided: Option<DecidedFilter>,
    /// What DataFusion asks of the rows that come out.
    pub kept_filter: Option<KeptFilter>,
    /// Where each column that comes out is.
    pub output: Vec<Output>,
    pub schema: SchemaRef,
}

/// A condition that only DataFusion can evaluate, of an inner join.
#[derive(Clone, Debug)]
pub struct KeptFilter {
    pub expression: PhysicalExprRef,
    pub schema: SchemaRef,
    /// Where its columns are.
    pub columns: Vec<Output>,
}

/// A column of the library's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Position among the left output columns.
    Left(usize),
    /// Position among the right ones.
    Right(usize),
    Mark,
}

impl JoinLayout {
    pub fn of(join: &HashJoinExec) -> Result<Self, Declined> {
        let mut left = SideLayout::new(join.left().schema());
        let mut right = SideLayout::new(join.right().schema());
        if join.on().len() > 16 {
            return Err("it has more than 16 keys".into());
        }
        for (left_key, right_key) in join.on() {
            left.add_key(left_key)?;
            right.add_key(right_key)?;
        }
        let kind = kind_of(join)?;
        let Split { condition, decided, kept } = match join.filter() {
            Some(filter) => split_filter(filter, kind, &mut left, &mut right)?,
            None => Split::default(),
        };
        let (join_schema, indices) =
            build_join_schema(&join.left().schema(), &join.right().schema(), join.join_type());
        debug_assert_eq!(join_schema.fields().len(), indices.len());
        let shown: Vec<usize> = match &join.projection {
            Some(projection) => projection.to_vec(),
            None => (0..indices.len()).collect(),
        };
        let mut outputs = Outputs { left: &mut left, right: &mut right };
        let output: Result<Vec<_>, _> =
            shown.iter().map(|&column| outputs.add(&indices[column])).collect();
        let kept_filter = match join.filter() {
            Some(filter) if !kept.is_empty() => Some(outputs.add_filter(filter, kept)?),
            _ => None,
        };
        let output = output?;
        let mut layout = Self {
            kind,
            left,
            right,
            is_null_equal: join.null_equality() == NullEquality::NullEqualsNull,
            condition,
            decided,
            kept_filter,
            output,
            schema: join.schema(),
        };
        layout.have_an_output();
        Ok(layout)
    }

    /// A join without output columns would put out row numbers.
    fn have_an_output(&mut self) {
        if !self.left.outputs.is_empty() || !self.right.outputs.is_empty() {
            return;
        }
        match self.kind {
            Kind::LeftSemi | Kind::LeftAnti | Kind::LeftNotIn => {
                self.left.outputs.push(self.left.keys[0]);
            }
            Kind::LeftMark | Kind::RightMark => {}
            _ => self.right.outputs.push(self.right.keys[0]),
        }
    }

    /// Position of a column in the library's result.
    pub fn position(&self, output: Output) -> usize {
        match output {
            Output::Left(position) => position,
            Output::Right(position) => self.left.outputs.len() + position,
            Output::Mark => self.left.outputs.len() + self.right.outputs.len(),
        }
    }

    /// Rows of the left side come out when all right ones have come.
    pub fn ends_with_left_rows(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Inner | Kind::Right | Kind::RightSemi | Kind::RightAnti | Kind::RightMark
        )
    }

    fn key(&self, column: usize) -> Key {
        if self.is_null_equal { Key::new(column).null_equal() } else { Key::new(column) }
    }

    pub fn build(&self) -> BuildBuilder {
        self.left
            .keys
            .iter()
            .fold(gpujoin::Build::builder(), |builder, &column| builder.key(self.key(column)))
    }

    pub fn join(&self, context: &Context) -> Result<Join> {
        let mut join = Join::new(self.kind)
            .left_columns(self.left.outputs.iter().copied())
            .right_columns(self.right.outputs.iter().copied());
        for (&left, &right) in self.left.keys.iter().zip(&self.right.keys) {
            join = join.on(self.key(left), right);
        }
        if let Some(condition) = &self.condition {
            join = join.condition(condition.expression(context)?);
        }
        if self.decided.is_some() {
            join = join.condition(Expr::of_caller());
        }
        Ok(join)
    }
}

fn kind_of(join: &HashJoinExec) -> Result<Kind, Declined> {
    Ok(match join.join_type() {
        JoinType::Inner => Kind::Inner,
        JoinType::Left => Kind::Left,
        JoinType::Right => Kind::Right,
        JoinType::Full => Kind::Full,
        JoinType::LeftSemi => Kind::LeftSemi,
        JoinType::RightSemi => Kind::RightSemi,
        JoinType::LeftAnti if join.null_aware && join.filter().is_some() => {
            return Err("NOT IN with a condition".into());
        }
        JoinType::LeftAnti if join.null_aware => Kind::LeftNotIn,
        JoinType::LeftAnti => Kind::LeftAnti,
        JoinType::RightAnti => Kind::RightAnti,
        JoinType::LeftMark => Kind::LeftMark,
        JoinType::RightMark => Kind::RightMark,
    })
}

/// Who evaluates what of a join's filter.
#[derive(Default)]
struct Split {
    /// The library.
    condition: Option<Condition>,
    /// DataFusion, all of it, of pairs of rows.
    decided: Option<DecidedFilter>,
    /// DataFusion, of rows that come out, which only an inner join may have.
    kept: Vec<PhysicalExprRef>,
}

fn split_filter(
    filter: &JoinFilter,
    kind: Kind,
    left: &mut SideLayout,
    right: &mut SideLayout,
) -> Result<Split, Declined> {
    let (left_before, right_before) = (left.clone(), right.clone());
    let mut split = Split::default();
    for part in split_conjunction(filter.expression()) {
        let (mut left_with, mut right_with) = (left.clone(), right.clone());
        let (left_side, right_side) = (&mut left_with, &mut right_with);
        match (Translation { filter, left: left_side, right: right_side }).translate(part) {
            Ok(translated) => {
                (*left, *right) = (left_with, right_with);
                split.condition = Some(match split.condition {
                    Some(before) => Condition::and(before, translated),
                    None => translated,
                });
            }
            Err(_) if kind == Kind::Inner => split.kept.push(Arc::clone(part)),
            Err(reason) => {
                (*left, *right) = (left_before, right_before);
                let decided = DecidedFilter::of(filter, kind, &reason, left, right)?;
                return Ok(Split { decided: Some(decided), ..Split::default() });
            }
        }
    }
    Ok(split)
}

/// The columns of both sides that come out.
struct Outputs<'layout> {
    left: &'layout mut SideLayout,
    right: &'layout mut SideLayout,
}

impl Outputs<'_> {
    fn add(&mut self, column: &ColumnIndex) -> Result<Output, Declined> {
        Ok(match column.side {
            JoinSide::Left => Output::Left(add_to(self.left, column.index)?),
            JoinSide::Right => Output::Right(add_to(self.right, column.index)?),
            JoinSide::None => Output::Mark,
        })
    }

    fn add_filter(
        &mut self,
        filter: &JoinFilter,
        parts: Vec<PhysicalExprRef>,
    ) -> Result<KeptFilter, Declined> {
        let columns: Result<Vec<_>, _> =
            filter.column_indices().iter().map(|column| self.add(column)).collect();
        let schema = Arc::clone(filter.schema());
        Ok(KeptFilter { expression: conjunction(parts), schema, columns: columns? })
    }
}

fn add_to(side: &mut SideLayout, index: usize) -> Result<usize, Declined> {
    let column: PhysicalExprRef = Arc::new(Column::new(side.input_name(index), index));
    side.output(&column)
}
