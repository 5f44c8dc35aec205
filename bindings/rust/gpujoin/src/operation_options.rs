//! What an operation is to be.

use std::error::Error as StdError;
use std::fmt;

use crate::arrow::Batch;
use crate::decider::Decider;
use crate::filter::KeyFilter;
use crate::options::PlanOptions;
use crate::relation::Column;

/// What an operation is to be; all automatic as long as nothing else is said.
#[derive(Default)]
#[must_use]
pub struct OperationOptions {
    pub(crate) has_row_numbers: bool,
    pub(crate) plan: PlanOptions,
    pub(crate) ready: Option<Box<dyn FnOnce() + Send>>,
    pub(crate) filters: Vec<(KeyFilter, Vec<Column>)>,
    pub(crate) own_filter: Option<bool>,
    pub(crate) decider: Option<Decider>,
}

impl OperationOptions {
    /// Rows of probes have numbers, which are given with each batch, [`Probe::append_from`].
    ///
    /// [`Probe::append_from`]: crate::Probe::append_from
    pub fn row_numbers(mut self) -> Self {
        self.has_row_numbers = true;
        self
    }

    /// How to join. [`PlanOptions::build_side`] says which side of the join the build is, the right
    /// one without it; [`PlanOptions::timeout`] is of each call on the operation and its probes.
    pub fn plan(mut self, options: PlanOptions) -> Self {
        self.plan = options;
        self
    }

    /// Called once, when [`Operation::next_result`] would no longer answer [`Next::NotReady`], on
    /// the thread that closed the operation or ended its last probe. It must not call the library;
    /// a panic of it ends there.
    ///
    /// [`Operation::next_result`]: crate::Operation::next_result
    /// [`Next::NotReady`]: crate::Next::NotReady
    pub fn on_ready(mut self, ready: impl FnOnce() + Send + 'static) -> Self {
        self.ready = Some(Box::new(ready));
        self
    }

    /// A filter of another build that rows of probes have to pass, and the columns of the probe
    /// side that it looks at, as many as it has keys.
    pub fn filter<C: Into<Column>>(
        mut self,
        filter: &KeyFilter,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        self.filters.push((filter.clone(), columns.into_iter().map(Into::into).collect()));
        self
    }

    /// Whether rows are tested by a filter of the operation's own build before they are kept;
    /// without it on the CPU, and where the build does not fit, as long as a sample says so.
    pub fn own_filter(mut self, is_on: bool) -> Self {
        self.own_filter = Some(is_on);
        self
    }

    /// Says which candidates match, pairs of rows with equal keys, of a join whose condition is
    /// [`Expr::of_caller`].
    ///
    /// The batch, of any of the arrow versions that are on, has 1 to 65536 candidates in host
    /// memory: `left_row` and `right_row` (int64) of the sides whose rows have numbers, then those
    /// columns of the left side and of the right one; both may have columns of one name. Types are
    /// those of an operation's results: views of text are `LargeUtf8`. The answer has a truth value
    /// for each candidate; NULL is no.
    ///
    /// It is called in [`Probe::next_result`] and [`Operation::next_result`] on their thread, on
    /// several at once, as long as the operation and its probes are there. It must not call these,
    /// but for [`Operation::cancel`]. An error or a panic ends the call with [`Error::Decide`], an
    /// answer of another length with [`Error::InvalidArgument`]; where several calls of an
    /// operation failed so, all of them answer the first one's error.
    ///
    /// [`Expr::of_caller`]: crate::Expr::of_caller
    /// [`Probe::next_result`]: crate::Probe::next_result
    /// [`Operation::next_result`]: crate::Operation::next_result
    /// [`Operation::cancel`]: crate::Operation::cancel
    /// [`Error::Decide`]: crate::Error::Decide
    /// [`Error::InvalidArgument`]: crate::Error::InvalidArgument
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, cast::AsArray};
    /// use arrow_array::types::Int64Type;
    /// use gpujoin::{Appended, Build, Context, Expr, Join, OperationOptions, Relation};
    ///
    /// let column = |of: [i64; 3]| -> ArrayRef { Arc::new(Int64Array::from(of.to_vec())) };
    /// let offers = [("item", column([1, 2, 2])), ("price", column([10, 20, 30]))];
    /// let bids = [("item", column([2, 1, 2])), ("bid", column([30, 10, 50]))];
    /// let offers = RecordBatch::try_from_iter(offers)?;
    /// let bids = RecordBatch::try_from_iter(bids)?;
    ///
    /// let context = Context::new()?;
    /// let offers = Relation::from_batch(&context, &offers)?;
    /// let bids = Relation::from_batch(&context, &bids)?;
    /// let build = Build::builder().key("item").create(&offers)?;
    /// build.append(&offers)?;
    /// build.finish()?;
    ///
    /// // Any code may decide. This one wants a bid to be a multiple of half the price.
    /// let options = OperationOptions::default().decide(["bid"], ["price"], |pairs: RecordBatch| {
    ///     let bids = pairs.column(0).as_primitive::<Int64Type>();
    ///     let prices = pairs.column(1).as_primitive::<Int64Type>();
    ///     let is_multiple = |bid: i64, price: i64| (2 * bid).checked_rem(price) == Some(0);
    ///     let pairs = bids.iter().zip(prices);
    ///     let matches = pairs.map(|(bid, price)| Some(is_multiple(bid?, price?)));
    ///     Ok::<BooleanArray, gpujoin::Error>(matches.collect())
    /// });
    /// let join = Join::inner()
    ///     .on("item", "item")
    ///     .condition(Expr::of_caller())
    ///     .left_columns(["bid"])
    ///     .right_columns(["price"]);
    /// let probe = build.operation(&bids, &join, options)?.probe()?;
    /// assert_eq!(probe.append(&bids)?, Appended::Taken);
    /// probe.finish()?;
    /// let rows: gpujoin::Result<Vec<_>> =
    ///     probe.results().map(|result| result.map(|rows| rows.rows())).collect();
    /// assert_eq!(rows?.iter().sum::<u64>(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide<L, R, B, E>(
        mut self,
        left_columns: impl IntoIterator<Item = L>,
        right_columns: impl IntoIterator<Item = R>,
        decide: impl Fn(B) -> std::result::Result<B::Answers, E> + Send + Sync + 'static,
    ) -> Self
    where
        L: Into<Column>,
        R: Into<Column>,
        B: Batch,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let left = left_columns.into_iter().map(Into::into).collect();
        let right = right_columns.into_iter().map(Into::into).collect();
        self.decider = Some(Decider::of(left, right, decide));
        self
    }
}

impl fmt::Debug for OperationOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("OperationOptions");
        debug.field("plan", &self.plan).field("filters", &self.filters).finish_non_exhaustive()
    }
}
