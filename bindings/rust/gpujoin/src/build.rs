//! Builds: a side of joins whose rows come in batches.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gpujoin_sys as sys;

use crate::error::{Result, check, count};
use crate::handle::Handle;
use crate::join::Key;
use crate::number::Device;
use crate::options::milliseconds;
use crate::relation::Relation;

/// A side of joins whose rows are kept. Its batches come from any thread, may be more than memory
/// holds, and are the caller's again when [`append`](Build::append) returns; once it is finished,
/// any number of [operations](Build::operation) share it. Clones are the same build.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use gpujoin::{Appended, Build, Context, Join, Next, OperationOptions, Relation};
///
/// let numbers = |name: &str, of: std::ops::Range<i64>| {
///     let column: ArrayRef = Arc::new(Int64Array::from_iter_values(of));
///     RecordBatch::try_from_iter([(name, column)])
/// };
/// let context = Context::new()?;
/// let days = Relation::from_batch(&context, &numbers("day", 0..100)?)?;
/// let build = Build::builder().key("day").create(&days)?; // `days` says what columns there are
/// build.append(&days)?;
/// build.finish()?;
///
/// let sales = Relation::from_batch(&context, &numbers("day", 90..110)?)?;
/// let join = Join::inner().on("day", "day").left_columns(["day"]);
/// let operation = build.operation(&sales, &join, OperationOptions::default())?;
/// let probe = operation.probe()?; // one for each thread
/// while probe.append(&sales)? == Appended::Full {
///     for result in probe.results() {
///         println!("{} rows", result?.rows());
///     }
/// }
/// probe.finish()?;
/// let mut rows = 0;
/// for result in probe.results() {
///     rows += result?.rows();
/// }
/// operation.close()?;
/// while let Next::Ready(result) = operation.next_result()? {
///     rows += result.rows();
/// }
/// assert_eq!(rows, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Build(pub(crate) Arc<BuildInner>);

pub(crate) struct BuildInner {
    pub(crate) handle: Handle<sys::gpujoin_build>,
    /// Of which the batches have the columns.
    pub(crate) like: Relation,
}

/// What a build is to be.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct BuildBuilder {
    keys: Vec<Key>,
    device: Option<Device>,
    has_row_numbers: bool,
    timeout: Option<Duration>,
}

/// What a build has so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildInfo {
    /// No batch will come.
    pub is_finished: bool,
    /// Rows that came.
    pub rows: u64,
    /// That they take, in memory and in files.
    pub bytes: u64,
    /// That they take in files.
    pub spilled_bytes: u64,
    /// Of a finished build: it fits, and rows of probes are joined as they come.
    pub is_whole: bool,
    /// In which operations join it.
    pub partitions: u32,
}

impl BuildBuilder {
    /// One more key column; none for joins without keys.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// Which executor its joins run on; without it the context's.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Rows have numbers, which are given with each batch, [`Build::append_from`], and come out of
    /// joins with row numbers.
    pub fn row_numbers(mut self) -> Self {
        self.has_row_numbers = true;
        self
    }

    /// How long a call on the build may take before it answers [`Deadline`](crate::Error::Deadline).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// A build of the columns of `like`, of whose rows none is read, in its context.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::Error::InvalidArgument), [`Type`](crate::Error::Type), [`Unsupported`](crate::Error::Unsupported), [`NoDevice`](crate::Error::NoDevice),
    /// and [`MemoryLimit`](crate::Error::MemoryLimit) for a limit below the least.
    pub fn create(self, like: &Relation) -> Result<Build> {
        let keys: Result<Vec<i32>> =
            self.keys.iter().map(|key| key.column.position("key", like.names())).collect();
        let keys = keys?;
        let flags: Vec<i32> = self.keys.iter().map(|key| key.flags).collect();
        let options = sys::gpujoin_build_options {
            device: self.device.map_or(sys::GPUJOIN_DEVICE_AUTOMATIC, Device::number),
            has_row_numbers: i32::from(self.has_row_numbers),
            timeout_milliseconds: milliseconds(self.timeout)?,
            ..sys::gpujoin_build_options::INIT
        };
        let key_count = count("keys", keys.len() as u64)?;
        let handle = Handle::made(|out, error| {
            let (context, like) = (like.context().handle(), like.handle());
            let (keys, flags) = (keys.as_ptr(), flags.as_ptr());
            // SAFETY: handles are there, and key_count keys and flags.
            unsafe {
                sys::gpujoin_build_create(
                    context, like, keys, key_count, flags, &options, out, error,
                )
            }
        })?;
        Ok(Build(Arc::new(BuildInner { handle, like: like.clone() })))
    }
}

impl Build {
    /// Says what a build is to be.
    pub fn builder() -> BuildBuilder {
        BuildBuilder::default()
    }

    pub(crate) fn handle(&self) -> *mut sys::gpujoin_build {
        self.0.handle.get()
    }

    /// Copies the rows of a batch into the build; any number of threads may. Blocks while they are
    /// copied, and written to files where memory is used up.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::Error::InvalidArgument) and [`Type`](crate::Error::Type), after which the build is as before;
    /// [`MemoryLimit`](crate::Error::MemoryLimit), [`OutOfMemory`](crate::Error::OutOfMemory), [`Spill`](crate::Error::Spill), [`Cancelled`](crate::Error::Cancelled),
    /// [`Deadline`](crate::Error::Deadline), after which it is lost.
    pub fn append(&self, batch: &Relation) -> Result<()> {
        self.append_from(batch, 0)
    }

    /// The same with the number of the batch's first row, where rows have numbers; the others'
    /// follow.
    pub fn append_from(&self, batch: &Relation, first_row: i64) -> Result<()> {
        // SAFETY: both handles are there; the rows are copied before the call returns.
        check(|error| unsafe {
            sys::gpujoin_build_append(self.handle(), batch.handle(), first_row, error)
        })
    }

    /// No further batch will come. Called once, when all appends have returned. Blocks until the
    /// rows are where joins read them.
    pub fn finish(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_build_finish(self.handle(), error) })
    }

    /// What it has so far. Does not wait.
    pub fn info(&self) -> Result<BuildInfo> {
        let mut info = sys::gpujoin_build_info::INIT;
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_build_get_info(self.handle(), &mut info, error) })?;
        Ok(BuildInfo {
            is_finished: info.is_finished != 0,
            rows: info.rows as u64,
            bytes: info.bytes,
            spilled_bytes: info.spilled_bytes,
            is_whole: info.is_whole != 0,
            partitions: info.partitions as u32,
        })
    }

    /// Calls on the build that run now and later ones answer [`Cancelled`](crate::Error::Cancelled); joins with a
    /// finished build go on. Does not wait.
    pub fn cancel(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_build_cancel(self.handle(), error) })
    }
}

impl fmt::Debug for Build {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Build").field("like", &self.0.like).finish_non_exhaustive()
    }
}
