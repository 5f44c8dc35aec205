//! Opens the library when the program runs.

use std::ffi::{OsStr, OsString, c_char};
use std::fmt;
use std::sync::OnceLock;

use crate::bindings::Functions;
use crate::{GPUJOIN_ERROR_UNSUPPORTED, GPUJOIN_VERSION_NUMBER, is_compatible};

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

pub(crate) fn functions() -> Option<&'static Functions> {
    FUNCTIONS.get()
}

/// Why no library was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(String);

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

/// Opens the library, unless one is open: the file that the environment's `GPUJOIN_LIBRARY` names,
/// else `libgpujoin.so.0`, else `libgpujoin.so`, where the system's loader looks. It stays open.
///
/// Until it succeeds functions that answer a status answer `GPUJOIN_ERROR_UNSUPPORTED`, and write
/// no error; the others answer 0 or an empty text, or do nothing.
pub fn load() -> Result<(), LoadError> {
    if FUNCTIONS.get().is_some() {
        return Ok(());
    }
    let names: Vec<OsString> = match std::env::var_os("GPUJOIN_LIBRARY") {
        Some(path) => vec![path],
        None => vec!["libgpujoin.so.0".into(), "libgpujoin.so".into()],
    };
    let mut reasons = Vec::new();
    for name in &names {
        // SAFETY: a library of this name is ours, as when it is linked by its name.
        match unsafe { load_from(name) } {
            Ok(()) => return Ok(()),
            Err(error) => reasons.push(error.0),
        }
    }
    Err(LoadError(reasons.join("; ")))
}

/// Opens the library at `path`, unless one is open.
///
/// # Safety
///
/// The file is a libgpujoin: code of it runs.
pub unsafe fn load_from(path: impl AsRef<OsStr>) -> Result<(), LoadError> {
    if FUNCTIONS.get().is_some() {
        return Ok(());
    }
    let path = path.as_ref();
    let shown = path.to_string_lossy();
    // SAFETY: the caller says that it is a libgpujoin, whose initializers ask for nothing.
    let library = unsafe { libloading::Library::new(path) }
        .map_err(|error| LoadError(format!("{shown}: {error}")))?;
    // SAFETY: a libgpujoin has the symbols of its header; it is kept open below.
    let found = unsafe { Functions::of(&library) };
    let version = found.version_number();
    if !is_compatible(version) {
        return Err(LoadError(format!(
            "{shown}: has version number {version}; these bindings are of {GPUJOIN_VERSION_NUMBER}"
        )));
    }
    // Of two threads that come here at once one opens the library a second time, which is the same.
    if FUNCTIONS.set(found).is_ok() {
        std::mem::forget(library);
    }
    Ok(())
}

/// What a function answers that is not there.
pub(crate) trait Missing {
    fn answer(function: &str) -> Self;
}

impl Missing for () {
    fn answer(_: &str) {}
}

impl Missing for i32 {
    fn answer(function: &str) -> i32 {
        if function == "gpujoin_version_number" { 0 } else { GPUJOIN_ERROR_UNSUPPORTED }
    }
}

impl Missing for *const c_char {
    fn answer(_: &str) -> *const c_char {
        c"".as_ptr()
    }
}
