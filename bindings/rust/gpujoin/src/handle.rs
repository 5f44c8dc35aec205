//! Handles of the library, destroyed once.

use std::ptr::NonNull;

use gpujoin_sys as sys;

use crate::error::{Error, Result, check};

/// An object of the library.
pub(crate) trait Object: Sized {
    /// # Safety
    ///
    /// The handle was given out by the library and is not used again.
    unsafe fn destroy(handle: *mut Self);
}

macro_rules! objects {
    ($($object:ident: $destroy:ident,)*) => {
        $(impl Object for sys::$object {
            unsafe fn destroy(handle: *mut Self) {
                // SAFETY: as the caller says.
                unsafe { sys::$destroy(handle) }
            }
        })*
    };
}

objects! {
    gpujoin_context: gpujoin_context_destroy,
    gpujoin_relation: gpujoin_relation_destroy,
    gpujoin_result: gpujoin_result_destroy,
    gpujoin_plan: gpujoin_plan_destroy,
    gpujoin_build: gpujoin_build_destroy,
    gpujoin_key_filter: gpujoin_key_filter_destroy,
    gpujoin_operation: gpujoin_operation_destroy,
    gpujoin_probe: gpujoin_probe_destroy,
}

/// Owns an object.
pub(crate) struct Handle<T: Object>(NonNull<T>);

// SAFETY: "any function may be called from any thread at any time, also with handles that other
// threads use in the same moment"; a handle is a number and points to nothing.
unsafe impl<T: Object> Send for Handle<T> {}
// SAFETY: the same.
unsafe impl<T: Object> Sync for Handle<T> {}

impl<T: Object> Handle<T> {
    /// What a function of the library makes: it writes the handle where the first pointer says.
    pub(crate) fn made(
        call: impl FnOnce(*mut *mut T, *mut sys::gpujoin_error) -> i32,
    ) -> Result<Self> {
        let mut handle = std::ptr::null_mut();
        check(|error| call(&mut handle, error))?;
        Self::of(handle).ok_or_else(|| Error::Internal(String::from("the library gave no handle")))
    }

    /// Takes over a handle of the library's; `None` of NULL.
    pub(crate) fn of(handle: *mut T) -> Option<Self> {
        NonNull::new(handle).map(Self)
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Object> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: it came from the library, and nobody has it after this.
        unsafe { T::destroy(self.0.as_ptr()) }
    }
}
