//! The C ABI of `libgpujoin`: relational joins on an NVIDIA GPU, or on the CPU of a machine without
//! one.
//!
//! Everything is called as in `include/gpujoin.h`, whose text is the documentation here; what it
//! says of units, ownership, blocking and threads holds. `INIT` of a struct is its `_INIT` macro:
//!
//! ```
//! use gpujoin_sys::*;
//! # #[cfg(feature = "dlopen")]
//! # load().unwrap();
//!
//! let options = gpujoin_context_options {
//!     device: GPUJOIN_DEVICE_CPU,
//!     ..gpujoin_context_options::INIT
//! };
//! let mut context = std::ptr::null_mut();
//! let mut error = gpujoin_error::INIT;
//! // SAFETY: all pointers are to values of this function; the handle is destroyed once.
//! unsafe {
//!     assert_eq!(gpujoin_context_create(&options, &mut context, &mut error), GPUJOIN_OK);
//!     gpujoin_context_destroy(context);
//! }
//! ```
//!
//! The library is linked, found by `GPUJOIN_LIB_DIR` or pkg-config, or with the feature `dlopen`
//! opened when the program runs. The crate `gpujoin` is the safe one.

#![allow(non_camel_case_types)]

#[cfg(feature = "dlopen")]
mod load;
#[cfg(feature = "dlopen")]
#[macro_use]
mod looked_up;
#[cfg(not(feature = "dlopen"))]
#[macro_use]
mod linked;
#[rustfmt::skip]
mod bindings;

pub use bindings::*;
#[cfg(feature = "dlopen")]
pub use load::{LoadError, load, load_from};

/// The version of the header that these bindings were made from, as [`gpujoin_version_number`] has
/// that of the library.
pub const GPUJOIN_VERSION_NUMBER: i32 =
    GPUJOIN_VERSION_MAJOR * 10000 + GPUJOIN_VERSION_MINOR * 100 + GPUJOIN_VERSION_PATCH;

/// Whether a library of this version has the ABI of these bindings: while the major number is 0,
/// one of the same minor number.
pub const fn is_compatible(version_number: i32) -> bool {
    version_number / 100 == GPUJOIN_VERSION_NUMBER / 100
}
