//! Functions of the caller that say which pairs of an operation match, while it joins.

use std::any::Any;
use std::error::Error as StdError;
use std::ffi::c_void;
use std::mem::replace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

use gpujoin_sys as sys;

use crate::arrow::Batch;
use crate::error::{DecideError, Error, Result};
use crate::relation::{Column, positions};

/// Candidates as the library shows them, and a byte for each, 1 of those that match.
type Decide = Box<dyn Fn(sys::ArrowSchema, sys::ArrowArray, &mut [u8]) -> Result<()> + Send + Sync>;

pub(crate) struct Decider {
    left: Vec<Column>,
    right: Vec<Column>,
    decide: Decide,
    /// The first that a call of it ended with.
    failed: Mutex<Option<Error>>,
}

impl Decider {
    pub(crate) fn of<B, E>(
        left: Vec<Column>,
        right: Vec<Column>,
        decide: impl Fn(B) -> std::result::Result<B::Answers, E> + Send + Sync + 'static,
    ) -> Self
    where
        B: Batch,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let decide: Decide = Box::new(move |schema, array, matches| {
            // SAFETY: the library gives valid structs, which were moved out of its own.
            let batch = unsafe { B::import(schema, array) }?;
            let answers = decide(batch).map_err(|error| {
                let source: Arc<dyn StdError + Send + Sync> = Arc::from(error.into());
                Error::Decide(DecideError::new(source.to_string(), Some(source)))
            })?;
            B::write_answers(&answers, matches)
        });
        Self { left, right, decide, failed: Mutex::new(None) }
    }

    /// Positions of the columns that it is shown, of the left and of the right side.
    pub(crate) fn shown(&self, left: &[String], right: &[String]) -> Result<[Vec<i32>; 2]> {
        Ok([
            positions("column shown of the left side", &self.left, left)?,
            positions("column shown of the right side", &self.right, right)?,
        ])
    }

    /// What a call ended with, where the library knows only that the function failed.
    pub(crate) fn reason(&self, error: Error) -> Error {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match (error, &*failed) {
            (Error::Evaluation(_), Some(failed)) => failed.clone(),
            (error, _) => error,
        }
    }

    fn fail(&self, error: Error) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    }
}

/// `user` is the decider, which the operation keeps.
pub(crate) unsafe extern "C" fn call_decide(
    rows: i64,
    schema: *mut sys::ArrowSchema,
    candidates: *mut sys::ArrowArray,
    matches: *mut u8,
    user: *mut c_void,
) -> i32 {
    // SAFETY: the library's structs are valid and may be moved out; there is a byte for each row.
    let (decider, schema, candidates, matches) = unsafe {
        (
            &*(user as *const Decider),
            replace(&mut *schema, sys::ArrowSchema::INIT),
            replace(&mut *candidates, sys::ArrowArray::INIT),
            slice::from_raw_parts_mut(matches, rows as usize),
        )
    };
    // Nothing may unwind into the library; the panic's own message has been reported by its hook.
    let answer = catch_unwind(AssertUnwindSafe(|| (decider.decide)(schema, candidates, matches)))
        .unwrap_or_else(|panic| Err(Error::Decide(DecideError::new(text_of(&*panic), None))));
    match answer {
        Ok(()) => sys::GPUJOIN_OK,
        Err(error) => {
            decider.fail(error);
            sys::GPUJOIN_ERROR_EVALUATION
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("without a text"))
}
