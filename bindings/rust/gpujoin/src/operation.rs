//! Operations: one join with a finished build, whose other side comes in batches.

use std::ffi::c_void;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use gpujoin_sys as sys;

use crate::build::Build;
use crate::decider::{Decider, call_decide};
use crate::error::{Result, check, count};
use crate::handle::Handle;
use crate::join::{Join, Lowered};
use crate::number::Side;
use crate::operation_options::OperationOptions;
use crate::plan::explained;
use crate::probe::Probe;
use crate::relation::{Relation, positions};
use crate::result::JoinResult;

type Ready = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// One join with a finished build. Clones are the same operation.
///
/// The results of an operation and its probes together are the rows of the join of all rows of both
/// sides. Where a probe failed, or went away before its last result was taken, they are not
/// complete, and [`next_result`](Operation::next_result) says so.
#[derive(Clone)]
pub struct Operation(pub(crate) Arc<OperationInner>);

pub(crate) struct OperationInner {
    pub(crate) handle: Handle<sys::gpujoin_operation>,
    pub(crate) build: Build,
    // After the handle: relations that conditions and the columns' dictionaries are in, and what is
    // called when results are there and to decide.
    _relations: Vec<Relation>,
    _ready: Option<Box<Ready>>,
    decider: Option<Box<Decider>>,
}

/// What a call for the next result found.
#[derive(Debug)]
pub enum Next {
    /// Nothing yet: of a probe, as rows have to come; of an operation, as its probes still run.
    NotReady,
    /// A result.
    Ready(JoinResult),
    /// Nothing, and there never will be.
    Finished,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationProgress {
    /// Rows of the probe side that came.
    pub rows_in: u64,
    /// Rows of the results.
    pub rows_out: u64,
    /// Bytes of the probe side that came.
    pub bytes_in: u64,
    /// Bytes of the results.
    pub bytes_out: u64,
    /// Of both sides, in files.
    pub spilled_bytes: u64,
    /// Pieces that were joined.
    pub pieces_done: u64,
    /// Pieces known so far.
    pub pieces: u64,
    /// Of the rows that came, those that did not pass a filter.
    pub rows_dropped: u64,
}

unsafe extern "C" fn call_ready(user: *mut c_void) {
    // SAFETY: `user` is the box that the operation keeps.
    let ready = unsafe { &*(user as *const Ready) };
    let ready = ready.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(ready) = ready {
        // Nothing may unwind into the library.
        let _ = catch_unwind(AssertUnwindSafe(ready));
    }
}

impl Build {
    /// One join of any kind with this build, which is finished.
    ///
    /// `probe_like` has the columns of the batches of the probe side; its rows are not read. The
    /// join's keys of the build side are those of the build, how they are compared included.
    ///
    /// # Errors
    ///
    /// Those of [`Join::plan`]; [`Unsupported`](crate::Error::Unsupported) for what no operation
    /// does: promises about keys, groups and orders that are not the probe side's, an order where
    /// the build does not fit, ASOF joins whose build side is the left one;
    /// [`MemoryLimit`](crate::Error::MemoryLimit) for a limit below the least.
    pub fn operation(
        &self,
        probe_like: &Relation,
        join: &Join,
        options: OperationOptions,
    ) -> Result<Operation> {
        let (build_names, probe_names) = (self.0.like.names(), probe_like.names());
        let (left, right) = match options.plan.build {
            Some(Side::Left) => (build_names, probe_names),
            _ => (probe_names, build_names),
        };
        let lowered = Lowered::of(join, left, right, probe_like.context())?;
        let columns: Result<Vec<Vec<i32>>> = options
            .filters
            .iter()
            .map(|(_, columns)| positions("column of a filter", columns, probe_names))
            .collect();
        let columns = columns?;
        let filters: Result<Vec<_>> = options
            .filters
            .iter()
            .zip(&columns)
            .map(|((filter, _), columns)| {
                Ok(sys::gpujoin_applied_filter {
                    column_count: count("columns of a filter", columns.len() as u64)?,
                    filter: filter.handle(),
                    columns: columns.as_ptr(),
                    ..sys::gpujoin_applied_filter::INIT
                })
            })
            .collect();
        let filters = filters?;
        let decider = options.decider.map(Box::new);
        let [shown_left, shown_right] = match &decider {
            Some(decider) => decider.shown(left, right)?,
            None => Default::default(),
        };
        let ready = options.ready.map(|ready| Box::new(Mutex::new(Some(ready))));
        let plan = options.plan.raw()?;
        let raw = sys::gpujoin_operation_options {
            has_row_numbers: i32::from(options.has_row_numbers),
            plan: &plan,
            ready: ready.as_ref().map(|_| call_ready as unsafe extern "C" fn(_)),
            ready_user: ready
                .as_ref()
                .map_or(ptr::null_mut(), |ready| ptr::from_ref(&**ready) as *mut c_void),
            filters: if filters.is_empty() { ptr::null() } else { filters.as_ptr() },
            filter_count: count("filters", filters.len() as u64)?,
            own_filter: match options.own_filter {
                None => sys::GPUJOIN_OWN_FILTER_AUTOMATIC,
                Some(false) => sys::GPUJOIN_OWN_FILTER_OFF,
                Some(true) => sys::GPUJOIN_OWN_FILTER_ON,
            },
            decide: decider
                .as_ref()
                .map(|_| call_decide as unsafe extern "C" fn(_, _, _, _, _) -> i32),
            decide_user: decider
                .as_ref()
                .map_or(ptr::null_mut(), |decider| ptr::from_ref(&**decider) as *mut c_void),
            decide_left_columns: shown_left.as_ptr(),
            decide_right_columns: shown_right.as_ptr(),
            decide_left_column_count: count("columns shown", shown_left.len() as u64)?,
            decide_right_column_count: count("columns shown", shown_right.len() as u64)?,
            ..sys::gpujoin_operation_options::INIT
        };
        let handle = Handle::made(|out, error| {
            lowered.with_spec(|spec| {
                let (build, like) = (self.handle(), probe_like.handle());
                // SAFETY: handles are there, and what the options and the specification point to.
                unsafe { sys::gpujoin_operation_create(build, like, spec, &raw, out, error) }
            })
        })?;
        let mut relations = lowered.values();
        relations.push(probe_like.clone());
        Ok(Operation(Arc::new(OperationInner {
            handle,
            build: self.clone(),
            _relations: relations,
            _ready: ready,
            decider,
        })))
    }
}

impl Operation {
    pub(crate) fn handle(&self) -> *mut sys::gpujoin_operation {
        self.0.handle.get()
    }

    /// How it joins and why. Does not wait.
    pub fn explain(&self) -> Result<String> {
        explained(|buffer, length, error| {
            // SAFETY: the handle is there, and the buffer has that length.
            unsafe { sys::gpujoin_operation_explain(self.handle(), buffer, length, error) }
        })
    }

    /// Rows of the probe side, of one thread or stream.
    pub fn probe(&self) -> Result<Probe> {
        Probe::new(self)
    }

    /// No further probe will come; those that there are may still be at work.
    pub fn close(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_operation_close(self.handle(), error) })
    }

    /// The next rows of those that come out when all rows have come: rows of the build side by
    /// their matches, and what did not fit into memory. Blocks until there are some. Any number of
    /// threads join partitions side by side, as far as memory allows it.
    ///
    /// # Errors
    ///
    /// Those of [`Plan::execute`](crate::Plan::execute), [`Spill`](crate::Error::Spill);
    /// [`InvalidArgument`](crate::Error::InvalidArgument) where a probe failed, as rows are missing
    /// then.
    pub fn next_result(&self) -> Result<Next> {
        self.next(|state, out, error| {
            // SAFETY: the handle is there.
            unsafe { sys::gpujoin_operation_next(self.handle(), state, out, error) }
        })
    }

    /// What a call for the next result found, of the operation or of a probe of it.
    pub(crate) fn next(
        &self,
        call: impl FnOnce(
            *mut sys::gpujoin_state,
            *mut *mut sys::gpujoin_result,
            *mut sys::gpujoin_error,
        ) -> i32,
    ) -> Result<Next> {
        let (mut state, mut out) = (sys::GPUJOIN_STATE_NOT_READY, ptr::null_mut());
        check(|error| call(&mut state, &mut out, error)).map_err(|error| {
            match &self.0.decider {
                Some(decider) => decider.reason(error),
                None => error,
            }
        })?;
        let context = self.0.build.0.like.context();
        match (Handle::of(out), state) {
            (Some(result), _) => Ok(Next::Ready(JoinResult::new(result, context)?)),
            (None, sys::GPUJOIN_STATE_FINISHED) => Ok(Next::Finished),
            (None, _) => Ok(Next::NotReady),
        }
    }

    /// Calls on the operation and its probes that run now and later ones answer
    /// [`Cancelled`](crate::Error::Cancelled), and what they hold is given back. The build and
    /// other operations go on. Does not wait.
    pub fn cancel(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_operation_cancel(self.handle(), error) })
    }

    /// How far it is. Does not wait.
    pub fn progress(&self) -> Result<OperationProgress> {
        let mut raw = sys::gpujoin_progress::INIT;
        // SAFETY: the handle is there.
        check(|error| unsafe {
            sys::gpujoin_operation_get_progress(self.handle(), &mut raw, error)
        })?;
        Ok(OperationProgress {
            rows_in: raw.rows_in as u64,
            rows_out: raw.rows_out as u64,
            bytes_in: raw.bytes_in,
            bytes_out: raw.bytes_out,
            spilled_bytes: raw.spilled_bytes,
            pieces_done: raw.pieces_done as u64,
            pieces: raw.pieces as u64,
            rows_dropped: raw.rows_dropped as u64,
        })
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Operation").field("build", &self.0.build).finish_non_exhaustive()
    }
}
