//! Aggregates over the rows of a join.

use std::ffi::CString;
use std::ptr;

use gpujoin_sys as sys;

use crate::error::{Result, c_text};
use crate::number::{Side, numbers};
use crate::relation::Column;

numbers! {
    /// What is made of the rows of a group.
    Function {
        /// How many have a value that is not NULL, int64.
        Count = GPUJOIN_FUNCTION_COUNT,
        /// The sum of the values, int64, uint64, decimal128(38) or float64; what that does not hold
        /// is [`Error::Evaluation`](crate::Error::Evaluation).
        Sum = GPUJOIN_FUNCTION_SUM,
        /// The least value.
        Min = GPUJOIN_FUNCTION_MIN,
        /// The greatest value; NaN is above all others.
        Max = GPUJOIN_FUNCTION_MAX,
        /// The mean, float64, rounded once.
        Avg = GPUJOIN_FUNCTION_AVG,
        /// One of the values.
        Any = GPUJOIN_FUNCTION_ANY,
    }
}

/// One aggregate, in the place of rows: over all rows that the join would put out, or with
/// [`Join::by`](crate::Join::by) over those of each row of a side.
///
/// ```
/// use gpujoin::{Aggregate, Function, Join, Kind, Side};
///
/// let totals = Join::new(Kind::Left)
///     .on("order", "order")
///     .by(Side::Left)
///     .left_columns(["order"])
///     .aggregate(Aggregate::count_rows().named("lines"))
///     .aggregate(Aggregate::of(Function::Sum, Side::Right, "price"));
/// # let _ = totals;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Aggregate {
    function: i32,
    column: Option<(Side, Column)>,
    name: Option<String>,
}

impl Aggregate {
    /// A function of the values of a column that are not NULL.
    pub fn of(function: Function, side: Side, column: impl Into<Column>) -> Self {
        let column = Some((side, column.into()));
        Self { function: function.number(), column, name: None }
    }

    /// How many rows there are, int64.
    pub fn count_rows() -> Self {
        Self { function: sys::GPUJOIN_FUNCTION_COUNT_ROWS, column: None, name: None }
    }

    /// Whether there is a row.
    pub fn exists() -> Self {
        Self { function: sys::GPUJOIN_FUNCTION_EXISTS, column: None, name: None }
    }

    /// Its column's name; without it the function's and the column's: `sum(price)`.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Points to the name, which is to be kept.
    pub(crate) fn raw(
        &self,
        left: &[String],
        right: &[String],
    ) -> Result<(sys::gpujoin_aggregate, Option<CString>)> {
        let mut aggregate =
            sys::gpujoin_aggregate { function: self.function, ..sys::gpujoin_aggregate::INIT };
        if let Some((side, column)) = &self.column {
            let names = if *side == Side::Left { left } else { right };
            aggregate.side = side.number();
            aggregate.column = column.position("column of an aggregate", names)?;
        }
        let name = match &self.name {
            Some(name) => Some(c_text("name of an aggregate", name.as_str())?),
            None => None,
        };
        aggregate.name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        Ok((aggregate, name))
    }
}
