//! What a call ended with.

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::sync::Arc;

use gpujoin_sys as sys;

/// What a call answers.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! errors {
    ($($(#[$text:meta])* $name:ident = $status:ident,)*) => {
        /// Why a call failed, by the library's status, with its message, which names the argument.
        ///
        /// On failure nothing has happened: what was passed in is as it was.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$text])* $name(String),)*
            /// A CUDA call failed; the context stays usable.
            Cuda {
                /// The library's text.
                message: String,
                /// The `cudaError_t` or `CUresult` behind it.
                code: i32,
            },
            /// A sticky CUDA error: this process cannot use the device any more.
            DeviceLost {
                /// The library's text.
                message: String,
                /// The `cudaError_t` or `CUresult` behind it.
                code: i32,
            },
            /// A status that this crate does not know.
            Other {
                /// The library's number of it.
                status: i32,
                /// The library's text.
                message: String,
            },
            /// The library could not be opened (feature `dlopen`).
            Load(String),
            /// The arrow crate refused a batch or an array.
            Arrow(String),
            /// The function of [`OperationOptions::decide`](crate::OperationOptions::decide)
            /// failed or panicked.
            Decide(DecideError),
        }

        impl Error {
            fn of(status: i32, message: String, code: i32) -> Self {
                match status {
                    $(sys::$status => Self::$name(message),)*
                    sys::GPUJOIN_ERROR_CUDA => Self::Cuda { message, code },
                    sys::GPUJOIN_ERROR_DEVICE_LOST => Self::DeviceLost { message, code },
                    status => Self::Other { status, message },
                }
            }

            /// The library's status (`GPUJOIN_ERROR_*`); 0 of errors that are not the library's.
            pub fn status(&self) -> i32 {
                match self {
                    $(Self::$name(_) => sys::$status,)*
                    Self::Cuda { .. } => sys::GPUJOIN_ERROR_CUDA,
                    Self::DeviceLost { .. } => sys::GPUJOIN_ERROR_DEVICE_LOST,
                    Self::Other { status, .. } => *status,
                    Self::Load(_) | Self::Arrow(_) | Self::Decide(_) => 0,
                }
            }

            /// The text alone.
            pub fn message(&self) -> &str {
                match self {
                    $(Self::$name(message) => message,)*
                    Self::Cuda { message, .. }
                    | Self::DeviceLost { message, .. }
                    | Self::Other { message, .. }
                    | Self::Load(message)
                    | Self::Arrow(message) => message,
                    Self::Decide(error) => &error.message,
                }
            }
        }
    };
}

errors! {
    /// The message names the argument.
    InvalidArgument = GPUJOIN_ERROR_INVALID_ARGUMENT,
    /// The library is not of the version that this crate was made for.
    AbiMismatch = GPUJOIN_ERROR_ABI_MISMATCH,
    /// Well-formed, but this version of the library cannot do it.
    Unsupported = GPUJOIN_ERROR_UNSUPPORTED,
    /// A column's type cannot be used here, or two key types do not compare.
    Type = GPUJOIN_ERROR_TYPE,
    /// The techniques named do not fit together, or one is not in this library.
    IllegalPlan = GPUJOIN_ERROR_ILLEGAL_PLAN,
    /// The machine or the device had no memory left.
    OutOfMemory = GPUJOIN_ERROR_OUT_OF_MEMORY,
    /// A limit of the context would be passed.
    MemoryLimit = GPUJOIN_ERROR_MEMORY_LIMIT,
    /// An input has 2^32 - 1 rows or more, or more than the technique named can place.
    TooManyRows = GPUJOIN_ERROR_TOO_MANY_ROWS,
    /// A buffer is too small; nothing was written.
    BufferTooSmall = GPUJOIN_ERROR_BUFFER_TOO_SMALL,
    /// It was cancelled.
    Cancelled = GPUJOIN_ERROR_CANCELLED,
    /// CUDA was asked for and cannot be used.
    NoDevice = GPUJOIN_ERROR_NO_DEVICE,
    /// The context was made in the parent process.
    Forked = GPUJOIN_ERROR_FORKED,
    /// A defect of the library.
    Internal = GPUJOIN_ERROR_INTERNAL,
    /// A row of a single join has more than one match.
    SeveralMatches = GPUJOIN_ERROR_SEVERAL_MATCHES,
    /// A condition or an aggregate has no value for some rows: an overflow, a division by zero.
    Evaluation = GPUJOIN_ERROR_EVALUATION,
    /// More rows than [`Join::row_limit`](crate::Join::row_limit).
    RowLimit = GPUJOIN_ERROR_ROW_LIMIT,
    /// More bytes than [`Join::byte_limit`](crate::Join::byte_limit).
    ByteLimit = GPUJOIN_ERROR_BYTE_LIMIT,
    /// What was promised of the data is not so.
    BrokenPromise = GPUJOIN_ERROR_BROKEN_PROMISE,
    /// The spill folder is full, passes its limit, or cannot be written or read.
    Spill = GPUJOIN_ERROR_SPILL,
    /// The call took longer than its timeout.
    Deadline = GPUJOIN_ERROR_DEADLINE,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Decide(error) => Some(error.source.as_deref()?),
            _ => None,
        }
    }
}

/// What a function of the caller ended with. The error that it answered is the
/// [`source`](std::error::Error::source) of [`Error::Decide`]; a panic has none.
#[derive(Clone, Debug)]
pub struct DecideError {
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl DecideError {
    pub(crate) fn new(
        message: String,
        source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { message: format!("the function that decides: {message}"), source }
    }
}

impl PartialEq for DecideError {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Eq for DecideError {}

/// Calls a function of the library with room for its error.
pub(crate) fn check(call: impl FnOnce(*mut sys::gpujoin_error) -> i32) -> Result<()> {
    match status_of(call)? {
        sys::GPUJOIN_OK => Ok(()),
        status => Err(Error::of(status, String::from("not ready"), 0)),
    }
}

/// The same where NOT_READY is an answer: OK or NOT_READY.
pub(crate) fn status_of(call: impl FnOnce(*mut sys::gpujoin_error) -> i32) -> Result<i32> {
    let mut error = sys::gpujoin_error::INIT;
    let status = call(&mut error);
    if status == sys::GPUJOIN_OK || status == sys::GPUJOIN_ERROR_NOT_READY {
        return Ok(status);
    }
    let mut message = text_of(&error.message);
    if message.is_empty() {
        // SAFETY: it may be called at any time, and answers text of static storage.
        message =
            unsafe { CStr::from_ptr(sys::gpujoin_status_name(status)) }.to_string_lossy().into();
    }
    Err(Error::of(status, message, error.cuda_code))
}

/// Text in an array of a struct, up to its terminator.
pub(crate) fn text_of(characters: &[c_char]) -> String {
    let bytes: Vec<u8> =
        characters.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `what` names the argument.
pub(crate) fn c_text(what: &str, text: impl Into<Vec<u8>>) -> Result<CString> {
    CString::new(text).map_err(|_| Error::InvalidArgument(format!("{what}: has a NUL byte in it")))
}

/// A count that the C struct has as an int64 or an int32.
pub(crate) fn count<T: TryFrom<u64>>(what: &str, number: u64) -> Result<T> {
    T::try_from(number).map_err(|_| Error::InvalidArgument(format!("{what}: {number} is too many")))
}
