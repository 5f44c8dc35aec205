//! Probes: batches of the side that a build is joined with.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpujoin_sys as sys;

use crate::error::{Result, check, status_of};
use crate::handle::Handle;
use crate::operation::{Next, Operation};
use crate::relation::Relation;
use crate::result::JoinResult;

/// Rows of the probe side, of one thread or stream. Calls on one probe run one after the other,
/// those of several side by side.
pub struct Probe {
    handle: Handle<sys::gpujoin_probe>,
    /// Batches that joins may still read where they lie.
    held: Mutex<Vec<Relation>>,
    operation: Operation,
}

/// Whether the rows of a batch were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Appended {
    /// They were.
    Taken,
    /// None was, as pieces wait to be joined: take [results](Probe::results), then append it again.
    Full,
}

impl Probe {
    pub(crate) fn new(operation: &Operation) -> Result<Self> {
        let handle = Handle::made(|out, error| {
            // SAFETY: the handle is there.
            unsafe { sys::gpujoin_probe_create(operation.handle(), out, error) }
        })?;
        Ok(Self { handle, held: Mutex::new(Vec::new()), operation: operation.clone() })
    }

    fn held(&self) -> MutexGuard<'_, Vec<Relation>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the rows of a batch.
    ///
    /// # Errors
    ///
    /// Those of [`Build::append`](crate::Build::append). After one that is not about the batch's
    /// columns the probe is lost.
    pub fn append(&self, batch: &Relation) -> Result<Appended> {
        self.append_from(batch, 0)
    }

    /// The same with the number of the batch's first row, where the operation has row numbers; the
    /// others' follow.
    pub fn append_from(&self, batch: &Relation, first_row: i64) -> Result<Appended> {
        // Held first, and as long as the call runs: a result on another thread lets go of them.
        let mut held = self.held();
        // SAFETY: both handles are there; the batch is kept where it may be read later.
        let status = status_of(|error| unsafe {
            sys::gpujoin_probe_append(self.handle.get(), batch.handle(), first_row, error)
        })?;
        if status != sys::GPUJOIN_OK {
            return Ok(Appended::Full);
        }
        if batch.may_be_read_in_place() {
            held.push(batch.clone());
        }
        Ok(Appended::Taken)
    }

    /// What was appended is joined by the next calls for results, however little it is.
    pub fn flush(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_probe_flush(self.handle.get(), error) })
    }

    /// No further batch will come. Results are taken until there are none.
    pub fn finish(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_probe_finish(self.handle.get(), error) })
    }

    /// Joins what waits until there is a result. Blocks until then, or until nothing waits.
    ///
    /// # Errors
    ///
    /// Those of [`Plan::execute`](crate::Plan::execute), [`Spill`](crate::Error::Spill). After one
    /// the probe is lost.
    pub fn next_result(&self) -> Result<Next> {
        let mut held = self.held();
        let found = self.operation.next(|state, out, error| {
            // SAFETY: the handle is there.
            unsafe { sys::gpujoin_probe_next(self.handle.get(), state, out, error) }
        })?;
        if !matches!(found, Next::Ready(_)) {
            held.clear();
        }
        Ok(found)
    }

    /// The results that there are now, until more rows have to come, or for good.
    pub fn results(&self) -> impl Iterator<Item = Result<JoinResult>> + '_ {
        let mut is_over = false;
        std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            match self.next_result() {
                Ok(Next::Ready(result)) => Some(Ok(result)),
                Ok(_) => None,
                Err(error) => {
                    is_over = true;
                    Some(Err(error))
                }
            }
        })
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Probe").field("operation", &self.operation).finish_non_exhaustive()
    }
}
