//! Conditions that the library does not have, which DataFusion evaluates while it joins.

use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DataFusionError, JoinSide, Result};
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::joins::utils::JoinFilter;
use gpujoin::{Kind, OperationOptions};

use crate::declined::Declined;
use crate::side_layout::SideLayout;

/// The whole filter of a join, which says of each pair of rows with equal keys whether it matches.
#[derive(Clone, Debug)]
pub struct DecidedFilter {
    expression: PhysicalExprRef,
    schema: SchemaRef,
    /// Columns of the sides that it looks at.
    left: Vec<usize>,
    right: Vec<usize>,
    /// Where its columns are: position among those of the side.
    columns: Vec<(JoinSide, usize)>,
}

impl DecidedFilter {
    /// Adds the columns that it looks at to the sides. Errors: `reason`, where only the library can
    /// say which pairs match.
    pub fn of(
        filter: &JoinFilter,
        kind: Kind,
        reason: &Declined,
        left: &mut SideLayout,
        right: &mut SideLayout,
    ) -> Result<Self, Declined> {
        let is_marked = matches!(kind, Kind::LeftMark | Kind::RightMark | Kind::LeftNotIn);
        if is_marked || is_volatile(filter.expression()) {
            return Err(format!("condition: {reason}").into());
        }
        let mut decided = Self {
            expression: Arc::clone(filter.expression()),
            schema: Arc::clone(filter.schema()),
            left: Vec::new(),
            right: Vec::new(),
            columns: Vec::new(),
        };
        for column in filter.column_indices() {
            let (layout, shown) = match column.side {
                JoinSide::Left => (&mut *left, &mut decided.left),
                JoinSide::Right => (&mut *right, &mut decided.right),
                JoinSide::None => return Err(format!("condition: {reason}").into()),
            };
            let name = layout.input_name(column.index).to_owned();
            let input: PhysicalExprRef = Arc::new(Column::new(&name, column.index));
            shown.push(layout.column(&input)?);
            decided.columns.push((column.side, shown.len() - 1));
        }
        Ok(decided)
    }

    /// Options of an operation that asks it.
    pub fn ask(&self, options: OperationOptions) -> OperationOptions {
        let (left, right) = (self.left.iter().copied(), self.right.iter().copied());
        let filter = self.clone();
        options.decide(left, right, move |candidates: RecordBatch| {
            // Shared, as the error of one call is that of all calls on the operation.
            filter.matches(&candidates).map_err(Arc::<DataFusionError>::new)
        })
    }

    fn matches(&self, candidates: &RecordBatch) -> Result<BooleanArray> {
        let rows = candidates.num_rows();
        let columns: Result<Vec<_>> = self
            .columns
            .iter()
            .zip(self.schema.fields())
            .map(|(&(side, position), field)| {
                let before = if side == JoinSide::Right { self.left.len() } else { 0 };
                let array = candidates.column(before + position);
                if array.data_type() == field.data_type() {
                    return Ok(Arc::clone(array));
                }
                Ok(cast(array, field.data_type())?)
            })
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns?, &options)?;
        let answers = self.expression.evaluate(&batch)?.into_array(rows)?;
        Ok(as_boolean_array(&answers)?.clone())
    }
}
