//! What the keys of a build let scans of the right side leave out: DataFusion's dynamic filters.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{ArrayData, make_array};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{NullEquality, Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::{BinaryExpr, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_expr::utils::conjunction;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use gpujoin::{Build, Error, FilterKind, FilterOptions};

use crate::errors::failed;

/// From the lowest to the highest value of each key, in all builds of a join.
pub struct KeyRanges {
    filter: Arc<DynamicFilterPhysicalExpr>,
    right_keys: Vec<PhysicalExprRef>,
    /// Of both sides; where they differ `Null`.
    key_types: Vec<DataType>,
    seen: Mutex<Seen>,
}

struct Seen {
    builds_left: usize,
    ranges: Vec<Range>,
}

/// Of a key's values.
#[derive(Clone)]
enum Range {
    /// There is none.
    Empty,
    /// From the lowest to the highest.
    Within(ScalarValue, ScalarValue),
    /// Nobody can tell.
    Unknown,
}

impl Range {
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Within(low, high), Self::Within(other_low, other_high)) => {
                Self::Within(lesser(low, other_low), greater(high, other_high))
            }
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Empty, range) | (range, Self::Empty) => range,
        }
    }

    /// A value is in the range. `None`: every one may be.
    fn has(&self, key: &PhysicalExprRef) -> Option<PhysicalExprRef> {
        let Self::Within(low, high) = self else { return None };
        let compared = |operator, bound: &ScalarValue| -> PhysicalExprRef {
            Arc::new(BinaryExpr::new(Arc::clone(key), operator, lit(bound.clone())))
        };
        Some(conjunction([compared(Operator::GtEq, low), compared(Operator::LtEq, high)]))
    }
}

impl KeyRanges {
    /// Of a join whose scans have a filter, of so many builds. `None`: there is none to fill, or
    /// NULLs, which no range has, may have a match.
    pub fn of(join: &HashJoinExec, builds: usize) -> Option<Self> {
        let filter = join.dynamic_expressions_produced().into_iter().next()?;
        let filter = (filter as Arc<dyn Any + Send + Sync>).downcast().ok()?;
        if join.null_aware || join.null_equality() == NullEquality::NullEqualsNull {
            return None;
        }
        let (left, right) = (join.left().schema(), join.right().schema());
        let type_of = |(key, other): &(PhysicalExprRef, PhysicalExprRef)| {
            let key_type = key.data_type(&left)?;
            let is_of_both = other.data_type(&right)? == key_type;
            Ok(if is_of_both { key_type } else { DataType::Null })
        };
        let types: Result<Vec<_>> = join.on().iter().map(type_of).collect();
        Some(Self {
            filter,
            right_keys: join.on().iter().map(|(_, key)| Arc::clone(key)).collect(),
            key_types: types.ok()?,
            seen: Mutex::new(Seen {
                builds_left: builds,
                ranges: vec![Range::Empty; join.on().len()],
            }),
        })
    }

    /// Adds a finished build's keys; with those of the last one the filter is there. May block.
    pub fn add(&self, build: &Build) -> Result<()> {
        let found: Result<Vec<_>> =
            (0..self.key_types.len()).map(|key| self.range_of(build, key)).collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // A plan that runs again, and was not reset, is of the same rows.
        if seen.builds_left == 0 {
            return Ok(());
        }
        for (all, range) in seen.ranges.iter_mut().zip(found?) {
            *all = std::mem::replace(all, Range::Empty).with(range);
        }
        seen.builds_left -= 1;
        if seen.builds_left != 0 {
            return Ok(());
        }
        let ranges = self.right_keys.iter().zip(&seen.ranges);
        let conditions: Vec<_> = ranges.filter_map(|(key, range)| range.has(key)).collect();
        if !conditions.is_empty() {
            self.filter.update(conjunction(conditions))?;
        }
        self.filter.mark_complete();
        Ok(())
    }

    fn range_of(&self, build: &Build, key: usize) -> Result<Range> {
        let key_type = &self.key_types[key];
        // Of others the order may be another one; and files would be read for it.
        let spilled = build.info().map_err(failed)?.spilled_bytes;
        if !is_ordered_as_numbers(key_type) || spilled != 0 {
            return Ok(Range::Unknown);
        }
        let options = FilterOptions::default().kind(FilterKind::MinMax);
        let filter = match build.filter(Some(key), options) {
            Err(Error::Unsupported(_)) => return Ok(Range::Unknown),
            made => made.map_err(failed)?,
        };
        let info = filter.info().map_err(failed)?;
        let (Some(low), Some(high)) = (info.min_value, info.max_value) else {
            return Ok(Range::Empty);
        };
        Ok(Range::Within(value_of(key_type, low)?, value_of(key_type, high)?))
    }
}

fn is_ordered_as_numbers(key_type: &DataType) -> bool {
    use DataType::{Date32, Date64, Time32, Time64, Timestamp};
    key_type.is_integer()
        || matches!(key_type, Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..))
}

fn value_of(key_type: &DataType, bytes: &[u8]) -> Result<ScalarValue> {
    let data =
        ArrayData::builder(key_type.clone()).len(1).add_buffer(Buffer::from(bytes)).build()?;
    ScalarValue::try_from_array(&make_array(data), 0)
}

fn lesser(a: ScalarValue, b: ScalarValue) -> ScalarValue {
    if b.partial_cmp(&a) == Some(Ordering::Less) { b } else { a }
}

fn greater(a: ScalarValue, b: ScalarValue) -> ScalarValue {
    if b.partial_cmp(&a) == Some(Ordering::Greater) { b } else { a }
}
