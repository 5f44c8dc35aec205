//! A join that was planned.

use std::fmt;
use std::sync::Arc;

use gpujoin_sys as sys;

use crate::context::Context;
use crate::error::{Error, Result, check};
use crate::handle::Handle;
use crate::relation::Relation;
use crate::result::JoinResult;

/// How to join two relations, chosen by [`Join::plan`](crate::Join::plan). Clones are the same plan;
/// any number of threads may execute it, any number of times.
#[derive(Clone)]
pub struct Plan(Arc<Inner>);

struct Inner {
    handle: Handle<sys::gpujoin_plan>,
    // After the handle: what the plan reads.
    _relations: Vec<Relation>,
    context: Context,
}

/// What a plan would put out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Output rows.
    pub rows: u64,
    /// Bytes of output columns and row numbers; `u64::MAX`: more than can be counted.
    pub bytes: u64,
}

impl Plan {
    pub(crate) fn new(
        handle: Handle<sys::gpujoin_plan>,
        relations: Vec<Relation>,
        context: &Context,
    ) -> Self {
        Self(Arc::new(Inner { handle, _relations: relations, context: context.clone() }))
    }

    fn handle(&self) -> *mut sys::gpujoin_plan {
        self.0.handle.get()
    }

    /// The techniques, what was sampled, each candidate with its predicted bytes and milliseconds,
    /// and why the winner won. Does not wait.
    pub fn explain(&self) -> Result<String> {
        explained(|buffer, length, error| {
            // SAFETY: the handle is there, and the buffer has that length.
            unsafe { sys::gpujoin_plan_explain(self.handle(), buffer, length, error) }
        })
    }

    /// Runs the plan. Blocks until the result is complete.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyRows`], [`Error::SeveralMatches`], [`Error::Evaluation`],
    /// [`Error::RowLimit`], [`Error::ByteLimit`], [`Error::BrokenPromise`],
    /// [`Error::OutOfMemory`], [`Error::MemoryLimit`], [`Error::Cancelled`], [`Error::Deadline`],
    /// and those of the device.
    pub fn execute(&self) -> Result<JoinResult> {
        let handle = Handle::made(|out, error| {
            // SAFETY: the handle is there.
            unsafe { sys::gpujoin_plan_execute(self.handle(), out, error) }
        })?;
        JoinResult::new(handle, &self.0.context)
    }

    /// How much the plan would put out, without putting it out. Blocks about as long as the join
    /// without its columns.
    pub fn count(&self) -> Result<Size> {
        let (mut rows, mut bytes) = (0i64, 0);
        // SAFETY: the handle is there, and both numbers.
        check(|error| unsafe {
            sys::gpujoin_plan_count(self.handle(), &mut rows, &mut bytes, error)
        })?;
        Ok(Size { rows: rows as u64, bytes })
    }

    /// Asks the executions of this plan that run now to stop; they answer [`Error::Cancelled`].
    /// Later ones run. Does not wait.
    pub fn cancel(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_plan_cancel(self.handle(), error) })
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Plan").finish_non_exhaustive()
    }
}

/// Text of a function that says how long it is where there is no room.
pub(crate) fn explained(
    call: impl Fn(*mut std::ffi::c_char, *mut usize, *mut sys::gpujoin_error) -> i32,
) -> Result<String> {
    let mut text: Vec<u8> = Vec::new();
    loop {
        let mut length = text.len();
        match check(|error| call(text.as_mut_ptr().cast(), &mut length, error)) {
            Ok(()) => break,
            Err(Error::BufferTooSmall(_)) if length > text.len() => text.resize(length, 0),
            Err(error) => return Err(error),
        }
    }
    text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
    Ok(String::from_utf8_lossy(&text).into_owned())
}
