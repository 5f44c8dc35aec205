//! What a join is to do.

use std::ffi::CString;
use std::ptr;

use gpujoin_sys as sys;

use crate::aggregate::Aggregate;
use crate::asof::Asof;
use crate::condition::{Expr, Program};
use crate::context::Context;
use crate::error::{Result, count};
use crate::handle::Handle;
use crate::number::{Kind, Order, Promise, Side};
use crate::options::PlanOptions;
use crate::plan::Plan;
use crate::relation::{Column, Relation, positions};
use crate::result::JoinResult;

/// What a join is to do: which rows match, which come out, and what of them.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
/// use gpujoin::{Context, Join, Relation};
///
/// let numbers = |of: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(of.to_vec())) };
/// let names: ArrayRef = Arc::new(StringArray::from(vec!["Ada", "Bob"]));
/// let orders = RecordBatch::try_from_iter([("id", numbers(&[1, 2])), ("customer", names)])?;
/// let lines =
///     RecordBatch::try_from_iter([("order", numbers(&[1, 1, 9])), ("quantity", numbers(&[5, 6, 7]))])?;
///
/// let context = Context::new()?;
/// let lines = Relation::from_batch(&context, &lines)?;
/// let orders = Relation::from_batch(&context, &orders)?;
/// let result = Join::inner()
///     .on("order", "id")
///     .left_columns(["quantity"])
///     .right_columns(["customer"])
///     .run(&lines, &orders)?;
/// let batch: RecordBatch = result.to_batch()?;
/// assert_eq!(batch.num_rows(), 2);
/// assert_eq!(batch.schema().field(1).name(), "customer");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Join {
    kind: Kind,
    keys: Vec<(Key, Column)>,
    left_columns: Vec<Column>,
    right_columns: Vec<Column>,
    has_pairs: bool,
    condition: Option<Expr>,
    asof: Option<Asof>,
    aggregates: Vec<Aggregate>,
    group_side: Option<Side>,
    order: Option<Order>,
    promises: i32,
    promised_rows: i64,
    row_limit: i64,
    byte_limit: u64,
}

/// A key column, and how its values are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub(crate) column: Column,
    pub(crate) flags: i32,
}

impl Key {
    /// A column of which NULL equals nothing, and NaN NaN.
    pub fn new(column: impl Into<Column>) -> Self {
        Self { column: column.into(), flags: 0 }
    }

    /// NULL equals NULL, and nothing else (`IS NOT DISTINCT FROM`).
    pub fn null_equal(mut self) -> Self {
        self.flags |= sys::GPUJOIN_KEY_NULL_EQUAL;
        self
    }

    /// NaN equals nothing, not even NaN.
    pub fn ieee_float(mut self) -> Self {
        self.flags |= sys::GPUJOIN_KEY_IEEE_FLOAT;
        self
    }
}

impl<C: Into<Column>> From<C> for Key {
    fn from(column: C) -> Self {
        Self::new(column)
    }
}

impl Join {
    /// A join of a kind, without keys as yet.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            keys: Vec::new(),
            left_columns: Vec::new(),
            right_columns: Vec::new(),
            has_pairs: false,
            condition: None,
            asof: None,
            aggregates: Vec::new(),
            group_side: None,
            order: None,
            promises: 0,
            promised_rows: 0,
            row_limit: 0,
            byte_limit: 0,
        }
    }

    /// Each pair of rows that match.
    pub fn inner() -> Self {
        Self::new(Kind::Inner)
    }

    /// One more pair of key columns, which must be equal too; up to 16. How they are compared is
    /// said of the left one: `.on(Key::new("a").null_equal(), "b")`.
    pub fn on(mut self, left: impl Into<Key>, right: impl Into<Column>) -> Self {
        self.keys.push((left.into(), right.into()));
        self
    }

    /// More output columns of the left relation.
    pub fn left_columns<C: Into<Column>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.left_columns.extend(columns.into_iter().map(Into::into));
        self
    }

    /// More output columns of the right relation; they come behind the left ones.
    pub fn right_columns<C: Into<Column>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.right_columns.extend(columns.into_iter().map(Into::into));
        self
    }

    /// Row numbers come out, of both sides: what a join without output columns puts out anyway.
    pub fn pairs(mut self) -> Self {
        self.has_pairs = true;
        self
    }

    /// What rows with equal keys have to fulfil besides, to match; without keys all rows meet.
    pub fn condition(mut self, condition: impl Into<Expr>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    /// Of the right rows with equal keys a left row matches the next one in an order.
    pub fn asof(mut self, asof: Asof) -> Self {
        self.asof = Some(asof);
        self
    }

    /// One more aggregate, in the place of rows.
    pub fn aggregate(mut self, aggregate: Aggregate) -> Self {
        self.aggregates.push(aggregate);
        self
    }

    /// Aggregates are of the rows of each row of this side, whose output columns come first.
    pub fn by(mut self, side: Side) -> Self {
        self.group_side = Some(side);
        self
    }

    /// In which order rows come out; without it in any.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// One more thing that is known of the keys, and checked.
    pub fn promise(mut self, promise: Promise) -> Self {
        self.promises |= promise.number();
        self
    }

    /// There are so many rows or fewer, which is checked.
    pub fn promised_rows(mut self, rows: i64) -> Self {
        self.promises |= sys::GPUJOIN_PROMISE_ROWS;
        self.promised_rows = rows;
        self
    }

    /// More rows end the join with [`Error::RowLimit`](crate::Error::RowLimit), as soon as that is
    /// seen; 0 = no limit.
    pub fn row_limit(mut self, rows: i64) -> Self {
        self.row_limit = rows;
        self
    }

    /// More bytes of output end it with [`Error::ByteLimit`](crate::Error::ByteLimit); 0 = none.
    pub fn byte_limit(mut self, bytes: u64) -> Self {
        self.byte_limit = bytes;
        self
    }

    /// Plans and executes the join of two relations of one context. Blocks until the result is
    /// complete.
    ///
    /// # Errors
    ///
    /// Those of [`Join::plan`] and [`Plan::execute`].
    pub fn run(&self, left: &Relation, right: &Relation) -> Result<JoinResult> {
        self.run_with(left, right, &PlanOptions::default())
    }

    /// The same with what is said of how to join.
    pub fn run_with(
        &self,
        left: &Relation,
        right: &Relation,
        options: &PlanOptions,
    ) -> Result<JoinResult> {
        let context = left.context();
        let lowered = Lowered::of(self, left.names(), right.names(), context)?;
        let options = options.raw()?;
        let result = Handle::made(|out, error| {
            lowered.with_spec(|spec| {
                let (context, left, right) = (context.handle(), left.handle(), right.handle());
                // SAFETY: handles are there; the specification points into `lowered`.
                unsafe { sys::gpujoin_join(context, left, right, spec, &options, out, error) }
            })
        })?;
        JoinResult::new(result, context)
    }

    /// Chooses how to join two relations of one context, without doing it.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::Error::InvalidArgument),
    /// [`Unsupported`](crate::Error::Unsupported), [`Type`](crate::Error::Type),
    /// [`IllegalPlan`](crate::Error::IllegalPlan), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`MemoryLimit`](crate::Error::MemoryLimit), [`Cancelled`](crate::Error::Cancelled),
    /// [`Deadline`](crate::Error::Deadline), [`NoDevice`](crate::Error::NoDevice),
    /// [`BrokenPromise`](crate::Error::BrokenPromise), and those of the device.
    pub fn plan(&self, left: &Relation, right: &Relation, options: &PlanOptions) -> Result<Plan> {
        let context = left.context();
        let lowered = Lowered::of(self, left.names(), right.names(), context)?;
        let options = options.raw()?;
        let handle = Handle::made(|out, error| {
            lowered.with_spec(|spec| {
                let (context, left, right) = (context.handle(), left.handle(), right.handle());
                // SAFETY: handles are there; the specification points into `lowered`.
                unsafe {
                    sys::gpujoin_plan_create(context, left, right, spec, &options, out, error)
                }
            })
        })?;
        let mut relations = lowered.values();
        relations.extend([left.clone(), right.clone()]);
        Ok(Plan::new(handle, relations, context))
    }
}

/// A specification as the library takes it, with what it points to.
pub(crate) struct Lowered {
    spec: sys::gpujoin_join_spec,
    left_keys: Vec<i32>,
    right_keys: Vec<i32>,
    key_flags: Vec<i32>,
    left_columns: Vec<i32>,
    right_columns: Vec<i32>,
    program: Option<Program>,
    condition: Option<sys::gpujoin_condition>,
    asof: Option<sys::gpujoin_asof>,
    aggregates: Vec<sys::gpujoin_aggregate>,
    _names: Vec<Option<CString>>,
}

impl Lowered {
    pub(crate) fn of(
        join: &Join,
        left: &[String],
        right: &[String],
        context: &Context,
    ) -> Result<Self> {
        let left_keys = join.keys.iter().map(|(key, _)| key.column.position("left key", left));
        let right_keys = join.keys.iter().map(|(_, column)| column.position("right key", right));
        let left_columns = positions("left output column", &join.left_columns, left)?;
        let right_columns = positions("right output column", &join.right_columns, right)?;
        let program = match &join.condition {
            Some(condition) => Some(Program::of(condition, left, right, context)?),
            None => None,
        };
        let condition = match &program {
            Some(program) => Some(program.raw()?),
            None => None,
        };
        let asof = match &join.asof {
            Some(asof) => Some(asof.raw(left, right)?),
            None => None,
        };
        let aggregates: Result<Vec<_>> =
            join.aggregates.iter().map(|aggregate| aggregate.raw(left, right)).collect();
        let (aggregates, names): (Vec<_>, Vec<_>) = aggregates?.into_iter().unzip();
        let has_columns = !left_columns.is_empty() || !right_columns.is_empty();
        let has_more =
            !aggregates.is_empty() || matches!(join.kind, Kind::LeftMark | Kind::RightMark);
        let spec = sys::gpujoin_join_spec {
            kind: join.kind.number(),
            key_count: count("keys", join.keys.len() as u64)?,
            output: output_of(has_columns || has_more, join.has_pairs),
            left_column_count: count("left output columns", left_columns.len() as u64)?,
            right_column_count: count("right output columns", right_columns.len() as u64)?,
            aggregate_count: count("aggregates", aggregates.len() as u64)?,
            group_side: join.group_side.map_or(0, Side::number),
            order: join.order.map_or(sys::GPUJOIN_ORDER_NONE, Order::number),
            promises: join.promises,
            promised_rows: join.promised_rows,
            row_limit: join.row_limit,
            byte_limit: join.byte_limit,
            ..sys::gpujoin_join_spec::INIT
        };
        Ok(Self {
            spec,
            left_keys: left_keys.collect::<Result<_>>()?,
            right_keys: right_keys.collect::<Result<_>>()?,
            key_flags: join.keys.iter().map(|(key, _)| key.flags).collect(),
            left_columns,
            right_columns,
            program,
            condition,
            asof,
            aggregates,
            _names: names,
        })
    }

    /// The specification, whose pointers are good during the call.
    pub(crate) fn with_spec<T>(&self, call: impl FnOnce(&sys::gpujoin_join_spec) -> T) -> T {
        let spec = sys::gpujoin_join_spec {
            left_keys: pointer(&self.left_keys),
            right_keys: pointer(&self.right_keys),
            key_flags: pointer(&self.key_flags),
            left_columns: pointer(&self.left_columns),
            right_columns: pointer(&self.right_columns),
            residual: self.condition.as_ref().map_or(ptr::null(), ptr::from_ref),
            asof: self.asof.as_ref().map_or(ptr::null(), ptr::from_ref),
            aggregates: pointer(&self.aggregates),
            ..self.spec
        };
        call(&spec)
    }

    /// Relations of constants: the library has its own hold on them, but not on their memory.
    pub(crate) fn values(&self) -> Vec<Relation> {
        self.program.as_ref().map_or_else(Vec::new, |program| program.values.clone())
    }
}

/// `GPUJOIN_OUTPUT_*`; neither leaves it to the library.
pub(crate) fn output_of(has_columns: bool, has_row_numbers: bool) -> i32 {
    let columns = if has_columns { sys::GPUJOIN_OUTPUT_COLUMNS } else { 0 };
    if has_row_numbers { columns | sys::GPUJOIN_OUTPUT_PAIRS } else { columns }
}

fn pointer<T>(values: &[T]) -> *const T {
    if values.is_empty() { ptr::null() } else { values.as_ptr() }
}
