//! ASOF joins: the next row in order.

use gpujoin_sys as sys;

use crate::error::Result;
use crate::number::numbers;
use crate::relation::Column;

numbers! {
    /// Where the match of a left row lies in the order.
    Direction {
        /// The last right row at or before the left row; of several at one place the last one.
        Backward = GPUJOIN_DIRECTION_BACKWARD,
        /// The first right row at or after it; of several at one place the first one.
        Forward = GPUJOIN_DIRECTION_FORWARD,
        /// The nearer one of both, Backward's where they are equally near.
        Nearest = GPUJOIN_DIRECTION_NEAREST,
    }
}

/// A left row matches one right row at most: of those with equal keys the one next to it in an
/// ordered column. Neither side has to be sorted.
///
/// ```
/// use gpujoin::{Asof, Direction, Join, Kind};
///
/// let last_quote = Join::new(Kind::Left)
///     .on("symbol", "symbol")
///     .asof(Asof::new("time", "time", Direction::Backward).within(5_000_000))
///     .right_columns(["bid"]);
/// # let _ = last_quote;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Asof {
    left: Column,
    right: Column,
    direction: Direction,
    is_strict: bool,
    tolerance: Option<Tolerance>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Tolerance {
    Units(i64),
    Float(f64),
}

impl Asof {
    /// By columns of numbers, dates or times that compare with each other.
    pub fn new(left: impl Into<Column>, right: impl Into<Column>, direction: Direction) -> Self {
        let (left, right) = (left.into(), right.into());
        Self { left, right, direction, is_strict: false, tolerance: None }
    }

    /// Not at the same place: before, after.
    pub fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// No farther away than this, in units of the finer of the two columns: days, nanoseconds, the
    /// last place of a decimal.
    pub fn within(mut self, units: i64) -> Self {
        self.tolerance = Some(Tolerance::Units(units));
        self
    }

    /// No farther away than this, of columns of floats.
    pub fn within_float(mut self, distance: f64) -> Self {
        self.tolerance = Some(Tolerance::Float(distance));
        self
    }

    pub(crate) fn raw(&self, left: &[String], right: &[String]) -> Result<sys::gpujoin_asof> {
        let mut asof = sys::gpujoin_asof {
            direction: self.direction.number(),
            left_column: self.left.position("left column of asof", left)?,
            right_column: self.right.position("right column of asof", right)?,
            flags: sys::GPUJOIN_ASOF_STRICT * i32::from(self.is_strict),
            ..sys::gpujoin_asof::INIT
        };
        match self.tolerance {
            None => return Ok(asof),
            Some(Tolerance::Units(units)) => asof.tolerance = units,
            Some(Tolerance::Float(distance)) => asof.tolerance_float = distance,
        }
        asof.flags |= sys::GPUJOIN_ASOF_TOLERANCE;
        Ok(asof)
    }
}
