//! What came out of a join.

use std::fmt;
use std::marker::PhantomData;

use gpujoin_sys as sys;

use crate::arrow::Batch;
use crate::context::Context;
use crate::error::{Error, Result, check, count, text_of};
use crate::handle::Handle;
use crate::number::Device;
use crate::relation::Relation;

/// The row number of a side that has no row in an output row.
pub const NO_ROW: u32 = sys::GPUJOIN_NO_ROW;

/// The same among row numbers of 64 bits.
pub const NO_ROW_INT64: i64 = sys::GPUJOIN_NO_ROW_INT64;

mod sealed {
    pub trait Sealed {}
}

/// A row number: `u32` with [`NO_ROW`], or `i64` with [`NO_ROW_INT64`].
pub trait RowNumber: sealed::Sealed + Copy {
    #[doc(hidden)]
    const TYPE: i32;
    #[doc(hidden)]
    const NONE: Self;
}

impl sealed::Sealed for u32 {}
impl RowNumber for u32 {
    const TYPE: i32 = sys::GPUJOIN_TYPE_UINT32;
    const NONE: Self = NO_ROW;
}

impl sealed::Sealed for i64 {}
impl RowNumber for i64 {
    const TYPE: i32 = sys::GPUJOIN_TYPE_INT64;
    const NONE: Self = NO_ROW_INT64;
}

/// Rows of a join. It owns its memory, and needs neither relation.
pub struct JoinResult {
    handle: Handle<sys::gpujoin_result>,
    rows: u64,
    context: Context,
}

/// What was executed, and what it took.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Which executor ran.
    pub device: Device,
    /// The plan in one line.
    pub plan: String,
    /// Why this executor and this plan.
    pub reason: String,
    /// Rows of the left relation.
    pub left_rows: u64,
    /// Rows of the right relation.
    pub right_rows: u64,
    /// Rows that came out.
    pub output_rows: u64,
    /// Of the execution, seen by the calling thread.
    pub milliseconds: f64,
    /// Sum over the stages.
    pub predicted_bytes: u64,
    /// The most the execution held at one time, its result included.
    pub peak_memory_bytes: u64,
    /// Times the match had to stop for more output memory.
    pub output_resumes: u32,
    /// In the order they ran.
    pub stages: Vec<Stage>,
}

/// A stage of an execution.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// "transfer", "transform", "match", "materialize" ...
    pub stage: String,
    /// What did it.
    pub technique: String,
    /// Of the device for CUDA, of the wall clock for the CPU.
    pub milliseconds: f64,
    /// Memory traffic, read + written; for transfers bytes on the link.
    pub predicted_bytes: u64,
}

impl JoinResult {
    pub(crate) fn new(handle: Handle<sys::gpujoin_result>, context: &Context) -> Result<Self> {
        let mut rows = 0i64;
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_result_get_rows(handle.get(), &mut rows, error) })?;
        Ok(Self { handle, rows: rows as u64, context: context.clone() })
    }

    /// How many rows came out.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// All rows as a record batch: the row numbers when they were asked for (`left_row`,
    /// `right_row`: uint32, of batches with row numbers int64, NULL where a side has no row), then the output columns. On the CPU
    /// nothing is copied: the batch shares the result's memory, and outlives the result.
    pub fn to_batch<B: Batch>(&self) -> Result<B> {
        self.export(None)
    }

    /// The rows in pages of at most so many rows each, from first to last.
    ///
    /// # Errors
    ///
    /// After a page that is an error there is none.
    pub fn pages<B: Batch>(&self, most_rows: u64) -> Pages<'_, B> {
        let most = i64::try_from(most_rows).unwrap_or(i64::MAX);
        self.pages_of(sys::gpujoin_page { max_rows: most, ..sys::gpujoin_page::INIT })
    }

    /// The rows in pages of at most so many bytes of values and validity each; one row is always
    /// allowed.
    pub fn pages_of_bytes<B: Batch>(&self, most_bytes: u64) -> Pages<'_, B> {
        self.pages_of(sys::gpujoin_page { max_bytes: most_bytes, ..sys::gpujoin_page::INIT })
    }

    fn pages_of<B: Batch>(&self, page: sys::gpujoin_page) -> Pages<'_, B> {
        Pages { result: self, page, is_over: false, batch: PhantomData }
    }

    fn export<B: Batch>(&self, page: Option<&mut sys::gpujoin_page>) -> Result<B> {
        let mut schema = sys::ArrowSchema::INIT;
        let mut array = sys::ArrowArray::INIT;
        let page = page.map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: the handle is there, and what the call writes.
        check(|error| unsafe {
            sys::gpujoin_result_export(self.handle.get(), page, &mut schema, &mut array, error)
        })?;
        // SAFETY: the library gives valid structs, which are ours.
        unsafe { B::import(schema, array) }
    }

    /// Numbers of the left rows, [`NO_ROW`] where there is none, of a join with
    /// [`pairs`](crate::Join::pairs).
    ///
    /// # Errors
    ///
    /// [`Error::Type`] for one that 32 bits do not hold: batches of builds and probes number their
    /// rows as they like.
    pub fn left_rows(&self) -> Result<Vec<u32>> {
        self.all_row_numbers(sys::GPUJOIN_FETCH_LEFT_INDEX, 0)
    }

    /// Numbers of the right rows, as [`left_rows`](JoinResult::left_rows).
    pub fn right_rows(&self) -> Result<Vec<u32>> {
        self.all_row_numbers(sys::GPUJOIN_FETCH_RIGHT_INDEX, 0)
    }

    /// Numbers of the left rows in 64 bits, [`NO_ROW_INT64`] where there is none.
    pub fn left_row_numbers(&self) -> Result<Vec<i64>> {
        self.all_row_numbers(sys::GPUJOIN_FETCH_LEFT_INDEX, 0)
    }

    /// Numbers of the right rows in 64 bits.
    pub fn right_row_numbers(&self) -> Result<Vec<i64>> {
        self.all_row_numbers(sys::GPUJOIN_FETCH_RIGHT_INDEX, 0)
    }

    /// Numbers of a dimension's rows of a [`Sequence`](crate::Sequence) with
    /// [`pairs`](crate::Sequence::pairs), [`NO_ROW`] where there is none; a `LeftSemi` step has none.
    pub fn dimension_rows(&self, step: usize) -> Result<Vec<u32>> {
        self.all_row_numbers(sys::GPUJOIN_FETCH_RIGHT_INDEX, count("step", step as u64)?)
    }

    /// Writes the numbers of left rows, from output row `first` on, and says how many there were:
    /// as many as there is room for, fewer at the end.
    pub fn read_left_rows<N: RowNumber>(&self, first: u64, numbers: &mut [N]) -> Result<usize> {
        self.read_row_numbers(sys::GPUJOIN_FETCH_LEFT_INDEX, 0, first, numbers)
    }

    /// The same of right rows.
    pub fn read_right_rows<N: RowNumber>(&self, first: u64, numbers: &mut [N]) -> Result<usize> {
        self.read_row_numbers(sys::GPUJOIN_FETCH_RIGHT_INDEX, 0, first, numbers)
    }

    fn all_row_numbers<N: RowNumber>(&self, what: i32, step: i32) -> Result<Vec<N>> {
        let rows: usize = count("rows", self.rows)?;
        let mut numbers = Vec::new();
        numbers
            .try_reserve_exact(rows)
            .map_err(|_| Error::OutOfMemory(format!("no memory for {rows} row numbers")))?;
        numbers.resize(rows, N::NONE);
        self.read_row_numbers(what, step, 0, &mut numbers)?;
        Ok(numbers)
    }

    fn read_row_numbers<N: RowNumber>(
        &self,
        what: i32,
        step: i32,
        first: u64,
        numbers: &mut [N],
    ) -> Result<usize> {
        if numbers.is_empty() {
            return Ok(0); // A page of no rows is one without a limit.
        }
        let mut page = sys::gpujoin_page {
            first_row: count("first", first)?,
            max_rows: count("numbers", numbers.len() as u64)?,
            ..sys::gpujoin_page::INIT
        };
        let mut fetch = sys::gpujoin_fetch {
            what,
            column: step,
            r#type: N::TYPE,
            data: numbers.as_mut_ptr().cast(),
            data_bytes: size_of_val(numbers) as u64,
            memory: sys::GPUJOIN_MEMORY_HOST,
            ..sys::gpujoin_fetch::INIT
        };
        // SAFETY: the handle is there, and the buffer has room for the page.
        check(|error| unsafe {
            sys::gpujoin_result_fetch(self.handle.get(), &mut page, &mut fetch, 1, error)
        })?;
        count("rows of the page", page.rows as u64)
    }

    /// The rows of a join whose condition the caller evaluated ([`Expr::of_caller`]): these are its
    /// candidates, and `answers` has one column of truth values with a row for each; NULL is no.
    ///
    /// [`Expr::of_caller`]: crate::Expr::of_caller
    pub fn decide(&self, answers: &Relation) -> Result<JoinResult> {
        let handle = Handle::made(|out, error| {
            // SAFETY: both handles are there.
            unsafe { sys::gpujoin_result_decide(self.handle.get(), answers.handle(), out, error) }
        })?;
        Self::new(handle, &self.context)
    }

    /// What was executed, and what it took. Does not wait.
    pub fn statistics(&self) -> Result<Statistics> {
        let mut raw = sys::gpujoin_statistics::INIT;
        // SAFETY: the handle is there.
        check(|error| unsafe {
            sys::gpujoin_result_get_statistics(self.handle.get(), &mut raw, error)
        })?;
        let stages: Result<Vec<_>> = (0..raw.stage_count).map(|stage| self.stage(stage)).collect();
        Ok(Statistics {
            device: Device::of(raw.device).unwrap_or(Device::Automatic),
            plan: text_of(&raw.plan),
            reason: text_of(&raw.reason),
            left_rows: raw.left_rows as u64,
            right_rows: raw.right_rows as u64,
            output_rows: raw.output_rows as u64,
            milliseconds: raw.milliseconds,
            predicted_bytes: raw.predicted_bytes,
            peak_memory_bytes: raw.peak_memory_bytes,
            output_resumes: raw.output_resumes as u32,
            stages: stages?,
        })
    }

    fn stage(&self, stage: i32) -> Result<Stage> {
        let mut raw = sys::gpujoin_stage_statistics::INIT;
        // SAFETY: the handle is there.
        check(|error| unsafe {
            sys::gpujoin_result_get_stage(self.handle.get(), stage, &mut raw, error)
        })?;
        Ok(Stage {
            stage: text_of(&raw.stage),
            technique: text_of(&raw.technique),
            milliseconds: raw.milliseconds,
            predicted_bytes: raw.predicted_bytes,
        })
    }
}

impl fmt::Debug for JoinResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("JoinResult").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// Pages of a result, each a record batch.
pub struct Pages<'result, B> {
    result: &'result JoinResult,
    page: sys::gpujoin_page,
    is_over: bool,
    batch: PhantomData<fn() -> B>,
}

impl<B: Batch> Iterator for Pages<'_, B> {
    type Item = Result<B>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over || self.page.first_row as u64 >= self.result.rows {
            return None;
        }
        let batch = self.result.export(Some(&mut self.page));
        self.is_over = batch.is_err() || self.page.rows == 0;
        Some(batch)
    }
}

impl<B> fmt::Debug for Pages<'_, B> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pages").field("next_row", &self.page.first_row).finish()
    }
}
