//! Filters of builds: rows that none of a build's keys equals.

use std::fmt;
use std::slice;
use std::sync::Arc;

use gpujoin_sys as sys;

use crate::build::Build;
use crate::context::Context;
use crate::error::{Result, check, count};
use crate::handle::Handle;
use crate::number::numbers;
use crate::relation::{Column, Relation, positions};

numbers! {
    /// How a filter knows the keys.
    FilterKind {
        /// All rows pass.
        None = GPUJOIN_KEY_FILTER_NONE,
        /// Rows from the lowest to the highest key pass.
        MinMax = GPUJOIN_KEY_FILTER_MIN_MAX,
        /// A bit for each value from the lowest to the highest. Exact.
        Bitmap = GPUJOIN_KEY_FILTER_BITMAP,
        /// A split block Bloom filter of the keys' hashes.
        Bloom = GPUJOIN_KEY_FILTER_BLOOM,
    }
}

/// What a filter is to be; all automatic as long as nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[must_use]
pub struct FilterOptions {
    kind: Option<FilterKind>,
    largest_bytes: u64,
    false_positive_rate: f64,
}

impl FilterOptions {
    /// How it knows the keys.
    pub fn kind(mut self, kind: FilterKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Of the bits.
    pub fn largest_bytes(mut self, bytes: u64) -> Self {
        self.largest_bytes = bytes;
        self
    }

    /// Of rows without a match, what share may pass a Bloom filter; without it 0.01.
    pub fn false_positive_rate(mut self, share: f64) -> Self {
        self.false_positive_rate = share;
        self
    }
}

/// What a finished build says of rows that it cannot match: one that passes may have no match, one
/// that does not pass has none. It needs the build no more. Clones are the same filter; any number
/// of threads may use it.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int32Array, RecordBatch};
/// use gpujoin::{Build, Context, FilterKind, FilterOptions, Relation};
///
/// let column: ArrayRef = Arc::new(Int32Array::from(vec![3, 5, 9]));
/// let context = Context::new()?;
/// let keys = Relation::from_batch(&context, &RecordBatch::try_from_iter([("k", column)])?)?;
/// let build = Build::builder().key("k").create(&keys)?;
/// build.append(&keys)?;
/// build.finish()?;
/// let filter = build.filter(None, FilterOptions::default().kind(FilterKind::Bitmap))?;
///
/// let column: ArrayRef = Arc::new(Int32Array::from(vec![4, 5, 6, 9]));
/// let scanned = Relation::from_batch(&context, &RecordBatch::try_from_iter([("a", column)])?)?;
/// let passing = filter.test(&scanned, ["a"])?;
/// assert_eq!((passing.rows, passing.bits[0]), (2, 0b1010));
/// assert_eq!(scanned.select_bits(passing.bits)?.rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct KeyFilter(Arc<Inner>);

struct Inner {
    handle: Handle<sys::gpujoin_key_filter>,
    _context: Context,
}

/// What a filter is. Section 10 of `gpujoin.h` says how to test rows with `bits` without a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FilterInfo<'filter> {
    /// How it knows the keys.
    pub kind: FilterKind,
    /// Of the build's keys, how many the filter has.
    pub key_count: u32,
    /// A row of the build has a NULL in one of them.
    pub has_null: bool,
    /// Rows with a NULL pass.
    pub passes_null: bool,
    /// Rows of the build.
    pub rows: u64,
    /// Different values of their keys.
    pub distinct: u64,
    /// They were counted, not estimated.
    pub distinct_is_exact: bool,
    /// Of rows without a match, the share that is expected to pass.
    pub false_positive_rate: f64,
    /// The lowest value, as a column of the key's type has it; of text and binary its bytes.
    pub min_value: Option<&'filter [u8]>,
    /// The highest value.
    pub max_value: Option<&'filter [u8]>,
    /// Of a `MinMax` and a `Bitmap`, in units of the build's column: what passes is this or more,
    pub first_value: i64,
    /// and this or less.
    pub last_value: i64,
    /// Of a `Bitmap` and a `Bloom`.
    pub bits: &'filter [u8],
}

/// Which rows of a batch pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passing {
    /// A bit for each row, least significant first: what [`Relation::select_bits`] takes.
    pub bits: Vec<u8>,
    /// How many pass.
    pub rows: u64,
}

impl Build {
    /// A filter of the build's keys: of the one at a position, or of all of them together. It is
    /// made by the first call that asks for such a one, and kept for the next. Blocks until then.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::Error::InvalidArgument) (also: the build is not finished, or has
    /// no keys), [`Unsupported`](crate::Error::Unsupported) for a kind that the key's type has not,
    /// [`MemoryLimit`](crate::Error::MemoryLimit), [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Spill`](crate::Error::Spill), [`Cancelled`](crate::Error::Cancelled),
    /// [`Deadline`](crate::Error::Deadline).
    pub fn filter(&self, key: Option<usize>, options: FilterOptions) -> Result<KeyFilter> {
        let key = match key {
            Some(position) => count("key", position as u64)?,
            None => -1,
        };
        let options = sys::gpujoin_key_filter_options {
            kind: options.kind.map_or(sys::GPUJOIN_KEY_FILTER_AUTOMATIC, FilterKind::number),
            largest_bytes: options.largest_bytes,
            false_positive_rate: options.false_positive_rate,
            ..sys::gpujoin_key_filter_options::INIT
        };
        let handle = Handle::made(|out, error| {
            // SAFETY: the handle is there.
            unsafe { sys::gpujoin_build_get_filter(self.handle(), key, &options, out, error) }
        })?;
        let context = self.0.like.context().clone();
        Ok(KeyFilter(Arc::new(Inner { handle, _context: context })))
    }
}

impl KeyFilter {
    pub(crate) fn handle(&self) -> *mut sys::gpujoin_key_filter {
        self.0.handle.get()
    }

    /// What it is. Does not wait.
    pub fn info(&self) -> Result<FilterInfo<'_>> {
        let mut info = sys::gpujoin_key_filter_info::INIT;
        // SAFETY: the handle is there.
        check(|error| unsafe {
            sys::gpujoin_key_filter_get_info(self.handle(), &mut info, error)
        })?;
        // SAFETY: the filter's memory, which is good and const as long as the filter is there.
        let bytes = |from: *const std::ffi::c_void, length: u64| unsafe {
            (!from.is_null()).then(|| slice::from_raw_parts(from.cast::<u8>(), length as usize))
        };
        Ok(FilterInfo {
            kind: FilterKind::of(info.kind).unwrap_or(FilterKind::None),
            key_count: info.key_count as u32,
            has_null: info.has_null != 0,
            passes_null: info.passes_null != 0,
            rows: info.rows as u64,
            distinct: info.distinct as u64,
            distinct_is_exact: info.distinct_is_exact != 0,
            false_positive_rate: info.false_positive_rate,
            min_value: bytes(info.min_value, info.value_bytes[0]),
            max_value: bytes(info.max_value, info.value_bytes[1]),
            first_value: info.first_value,
            last_value: info.last_value,
            bits: bytes(info.bits, info.bytes).unwrap_or_default(),
        })
    }

    /// Which rows of a batch pass, by as many columns as the filter has keys, of any types that
    /// compare with them. Blocks until the rows are tested.
    pub fn test<C: Into<Column>>(
        &self,
        batch: &Relation,
        columns: impl IntoIterator<Item = C>,
    ) -> Result<Passing> {
        let columns: Vec<Column> = columns.into_iter().map(Into::into).collect();
        let columns = positions("column", &columns, batch.names())?;
        let columns_there = count("columns", columns.len() as u64)?;
        let mut bits = vec![0u8; batch.rows().div_ceil(8)];
        let mut passing = 0i64;
        // SAFETY: handles are there, and room for a bit of each row.
        check(|error| unsafe {
            let room = bits.as_mut_ptr();
            sys::gpujoin_key_filter_test(
                self.handle(),
                batch.handle(),
                columns.as_ptr(),
                columns_there,
                room.cast(),
                sys::GPUJOIN_MEMORY_HOST,
                &mut passing,
                error,
            )
        })?;
        Ok(Passing { bits, rows: passing as u64 })
    }
}

impl fmt::Debug for KeyFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeyFilter").finish_non_exhaustive()
    }
}
