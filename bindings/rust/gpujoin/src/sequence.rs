//! Sequences: a fact relation joined with several dimensions, one after the other.

use std::ptr;

use gpujoin_sys as sys;

use crate::error::{Result, count};
use crate::handle::Handle;
use crate::join::{Key, output_of};
use crate::number::{Kind, numbers};
use crate::options::PlanOptions;
use crate::relation::{Column, Relation, positions};
use crate::result::JoinResult;

numbers! {
    /// When a dimension's output columns are fetched.
    Materialize {
        /// For each dimension the way that moves fewer bytes.
        Automatic = GPUJOIN_MATERIALIZE_AUTOMATIC,
        /// They are columns of the joins after its own.
        AsTheyCome = GPUJOIN_MATERIALIZE_AS_THEY_COME,
        /// By row numbers, after the last join.
        AtTheEnd = GPUJOIN_MATERIALIZE_AT_THE_END,
    }
}

/// A fact relation with a foreign key for each of several dimensions, joined with one after the
/// other in one call. Between the joins row numbers of the fact relation are kept, and each next
/// key is fetched by them.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use gpujoin::{Context, Kind, Relation, Sequence, Step};
///
/// let column = |of: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(of.to_vec())) };
/// let sales = [("day", column(&[1, 2, 2])), ("item", column(&[7, 8, 9]))];
/// let sales = RecordBatch::try_from_iter(sales)?;
/// let days = RecordBatch::try_from_iter([("id", column(&[1, 2]))])?;
/// let items = RecordBatch::try_from_iter([("id", column(&[7, 9])), ("price", column(&[5, 6]))])?;
///
/// let context = Context::new()?;
/// let table = |batch| Relation::from_batch(&context, batch);
/// let result = Sequence::new()
///     .step(Step::new(&table(&days)?, "day", "id"))
///     .step(Step::new(&table(&items)?, "item", "id").columns(["price"]).kind(Kind::Left))
///     .fact_columns(["day"])
///     .run(&table(&sales)?)?;
/// assert_eq!(result.rows(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Sequence {
    steps: Vec<Step>,
    fact_columns: Vec<Column>,
    has_pairs: bool,
    materialize: Option<Materialize>,
}

/// A join of a sequence with a dimension.
#[derive(Clone, Debug)]
#[must_use]
pub struct Step {
    dimension: Relation,
    fact_key: Key,
    dimension_key: Column,
    columns: Vec<Column>,
    kind: Kind,
}

impl Step {
    /// An inner join by a key of the fact relation, which says how the two are compared, and one of
    /// the dimension.
    pub fn new(
        dimension: &Relation,
        fact_key: impl Into<Key>,
        dimension_key: impl Into<Column>,
    ) -> Self {
        Self {
            dimension: dimension.clone(),
            fact_key: fact_key.into(),
            dimension_key: dimension_key.into(),
            columns: Vec::new(),
            kind: Kind::Inner,
        }
    }

    /// More output columns of the dimension.
    pub fn columns<C: Into<Column>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.columns.extend(columns.into_iter().map(Into::into));
        self
    }

    /// `Inner`, `Left`: a row without a match stays; `LeftSemi`: rows with a match stay, once each,
    /// without columns of the dimension.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }
}

impl Sequence {
    /// A sequence without joins as yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more join, behind the others.
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// More output columns of the fact relation; those of the dimensions follow, step by step.
    pub fn fact_columns<C: Into<Column>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.fact_columns.extend(columns.into_iter().map(Into::into));
        self
    }

    /// Row numbers come out: [`left_rows`](JoinResult::left_rows) of the fact relation,
    /// [`dimension_rows`](JoinResult::dimension_rows) of each dimension.
    pub fn pairs(mut self) -> Self {
        self.has_pairs = true;
        self
    }

    /// When dimensions' output columns are fetched.
    pub fn materialize(mut self, materialize: Materialize) -> Self {
        self.materialize = Some(materialize);
        self
    }

    /// Plans and executes all joins. Blocks until the result is complete.
    ///
    /// # Errors
    ///
    /// Those of [`Join::run`](crate::Join::run); [`TooManyRows`](crate::Error::TooManyRows) also where a step but the
    /// last leaves 2^32 - 1 rows or more.
    pub fn run(&self, fact: &Relation) -> Result<JoinResult> {
        self.run_with(fact, &PlanOptions::default())
    }

    /// The same with what is said of how to join, of each join.
    pub fn run_with(&self, fact: &Relation, options: &PlanOptions) -> Result<JoinResult> {
        let fact_columns = positions("fact column", &self.fact_columns, fact.names())?;
        let lowered: Result<Vec<LoweredStep>> =
            self.steps.iter().map(|step| LoweredStep::of(step, fact)).collect();
        let lowered = lowered?;
        let steps: Vec<_> = lowered.iter().map(LoweredStep::raw).collect();
        let has_columns =
            !fact_columns.is_empty() || lowered.iter().any(|step| !step.columns.is_empty());
        let spec = sys::gpujoin_sequence_spec {
            step_count: count("steps", steps.len() as u64)?,
            steps: steps.as_ptr(),
            fact_columns: fact_columns.as_ptr(),
            fact_column_count: count("fact columns", fact_columns.len() as u64)?,
            output: output_of(has_columns, self.has_pairs),
            materialize: self.materialize.unwrap_or(Materialize::Automatic).number(),
            ..sys::gpujoin_sequence_spec::INIT
        };
        let options = options.raw()?;
        let result = Handle::made(|out, error| {
            let (context, fact) = (fact.context().handle(), fact.handle());
            // SAFETY: handles are there, and what the specification points to.
            unsafe { sys::gpujoin_join_sequence(context, fact, &spec, &options, out, error) }
        })?;
        JoinResult::new(result, fact.context())
    }
}

/// A step as the library takes it, with what it points to.
struct LoweredStep {
    step: sys::gpujoin_sequence_step,
    fact_key: i32,
    dimension_key: i32,
    columns: Vec<i32>,
}

impl LoweredStep {
    fn of(step: &Step, fact: &Relation) -> Result<Self> {
        let names = step.dimension.names();
        let columns = positions("dimension column", &step.columns, names)?;
        Ok(Self {
            step: sys::gpujoin_sequence_step {
                key_count: 1,
                dimension: step.dimension.handle(),
                dimension_column_count: count("dimension columns", columns.len() as u64)?,
                kind: step.kind.number(),
                key_flags: step.fact_key.flags,
                ..sys::gpujoin_sequence_step::INIT
            },
            fact_key: step.fact_key.column.position("fact key", fact.names())?,
            dimension_key: step.dimension_key.position("dimension key", names)?,
            columns,
        })
    }

    /// Points into the step.
    fn raw(&self) -> sys::gpujoin_sequence_step {
        sys::gpujoin_sequence_step {
            fact_keys: &self.fact_key,
            dimension_keys: &self.dimension_key,
            dimension_columns: if self.columns.is_empty() {
                ptr::null()
            } else {
                self.columns.as_ptr()
            },
            ..self.step
        }
    }
}
