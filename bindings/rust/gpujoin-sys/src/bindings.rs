// Written by bindings/rust/generate.py from include/gpujoin.h: change that, and run it.

use std::ffi::{c_char, c_void};

/// While the major number is 0, a new minor number may change the ABI; when it does, the SONAME
/// changes with it.
pub const GPUJOIN_VERSION_MAJOR: i32 = 0;
/// `GPUJOIN_VERSION_MINOR` of the header.
pub const GPUJOIN_VERSION_MINOR: i32 = 2;
/// `GPUJOIN_VERSION_PATCH` of the header.
pub const GPUJOIN_VERSION_PATCH: i32 = 0;
/// `gpujoin_status` of the header.
pub type gpujoin_status = i32;
/// `GPUJOIN_OK` of the header.
pub const GPUJOIN_OK: i32 = 0;
/// The message names the argument.
pub const GPUJOIN_ERROR_INVALID_ARGUMENT: i32 = 1;
/// struct_size is not one that this library can read.
pub const GPUJOIN_ERROR_ABI_MISMATCH: i32 = 2;
/// Well-formed, but this version cannot do it.
pub const GPUJOIN_ERROR_UNSUPPORTED: i32 = 3;
/// A column's type cannot be used here, or two key types do not compare.
pub const GPUJOIN_ERROR_TYPE: i32 = 4;
/// The techniques named do not fit together, or one is not in this library; the message says why.
pub const GPUJOIN_ERROR_ILLEGAL_PLAN: i32 = 5;
/// The machine, the device or the caller's allocator had none left.
pub const GPUJOIN_ERROR_OUT_OF_MEMORY: i32 = 6;
/// The context's limit would be passed.
pub const GPUJOIN_ERROR_MEMORY_LIMIT: i32 = 7;
/// An input relation has 2^32 - 1 rows or more, or more than the technique named can place.
pub const GPUJOIN_ERROR_TOO_MANY_ROWS: i32 = 8;
/// A caller's buffer is too small; nothing was written.
pub const GPUJOIN_ERROR_BUFFER_TOO_SMALL: i32 = 9;
/// gpujoin_context_cancel, the cancel function of the object, or the progress callback asked for
/// it.
pub const GPUJOIN_ERROR_CANCELLED: i32 = 10;
/// CUDA was asked for and cannot be used; the message says why.
pub const GPUJOIN_ERROR_NO_DEVICE: i32 = 11;
/// A CUDA call failed; the context stays usable.
pub const GPUJOIN_ERROR_CUDA: i32 = 12;
/// A sticky CUDA error: this process cannot use the device any more.
pub const GPUJOIN_ERROR_DEVICE_LOST: i32 = 13;
/// The context was made in the parent process.
pub const GPUJOIN_ERROR_FORKED: i32 = 14;
/// A defect of this library.
pub const GPUJOIN_ERROR_INTERNAL: i32 = 15;
/// A row of a single join has more than one match; the message names the row. Since 0.2.
pub const GPUJOIN_ERROR_SEVERAL_MATCHES: i32 = 16;
/// A condition or an aggregate has no value for some rows: an overflow, a division by zero; the
/// message names the node and the rows. Since 0.2, as all that follow.
pub const GPUJOIN_ERROR_EVALUATION: i32 = 17;
/// More rows than spec.row_limit, more bytes than spec.byte_limit.
pub const GPUJOIN_ERROR_ROW_LIMIT: i32 = 18;
/// `GPUJOIN_ERROR_BYTE_LIMIT` of the header.
pub const GPUJOIN_ERROR_BYTE_LIMIT: i32 = 19;
/// What the caller promised of the data is not so; the message names the first row that shows it.
pub const GPUJOIN_ERROR_BROKEN_PROMISE: i32 = 20;
/// The spill folder is full, passes its limit, or cannot be written or read; the message says
/// which.
pub const GPUJOIN_ERROR_SPILL: i32 = 21;
/// Not an error: rows wait to be joined. Take results, then call again.
pub const GPUJOIN_ERROR_NOT_READY: i32 = 22;
/// The call took longer than options.timeout_milliseconds.
pub const GPUJOIN_ERROR_DEADLINE: i32 = 23;
/// The caller's error record: may be uninitialized before the call, is written only on failure.
/// Frozen for this ABI.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_error {
    /// Text in UTF-8, always terminated.
    pub message: [c_char; 512],
    /// The status returned.
    pub status: i32,
    /// The cudaError_t or CUresult behind it, or 0.
    pub cuda_code: i32,
    /// 1 when the device is lost for this process.
    pub is_sticky: i32,
    /// `reserved` of the C struct.
    pub reserved: [i32; 13],
}

impl gpujoin_error {
    /// All zero.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let value: Self = unsafe { std::mem::zeroed() };
        value
    };
}

/// A device, a stream, a memory pool with a limit, and callbacks.
#[repr(C)]
pub struct gpujoin_context {
    _private: [u8; 0],
}

/// Which executor a context or a plan uses.
pub type gpujoin_device = i32;
/// CUDA when it can be used, else the CPU; gpujoin_context_get_info says which and why.
pub const GPUJOIN_DEVICE_AUTOMATIC: i32 = 0;
/// `GPUJOIN_DEVICE_CUDA` of the header.
pub const GPUJOIN_DEVICE_CUDA: i32 = 1;
/// `GPUJOIN_DEVICE_CPU` of the header.
pub const GPUJOIN_DEVICE_CPU: i32 = 2;
/// Where a pointer points.
pub type gpujoin_memory = i32;
/// Ask CUDA about the pointer; host memory on a machine without CUDA.
pub const GPUJOIN_MEMORY_AUTOMATIC: i32 = 0;
/// `GPUJOIN_MEMORY_HOST` of the header.
pub const GPUJOIN_MEMORY_HOST: i32 = 1;
/// `GPUJOIN_MEMORY_DEVICE` of the header.
pub const GPUJOIN_MEMORY_DEVICE: i32 = 2;
/// Page-locked host memory.
pub const GPUJOIN_MEMORY_PINNED: i32 = 3;
/// Memory callbacks: called for the pool's growth, not for each buffer. All three pointers are
/// copied. Called on the thread that calls the library, on one of its threads while that call lasts
/// (host memory of results), or on the thread that releases an exported Arrow array; one call at a
/// time for each context and kind of executor. Must not call the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_allocator {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `reserved` of the C struct.
    pub reserved: u32,
    /// At least `bytes`, aligned to `alignment` (a power of two, at most 256), in `memory` (HOST,
    /// DEVICE or PINNED). NULL when there is none, which the join answers with
    /// GPUJOIN_ERROR_OUT_OF_MEMORY. Device memory is used on `cuda_stream`, the stream of the call,
    /// and later on those of other calls, which then wait for what this one was given before.
    pub allocate: Option<unsafe extern "C" fn(
        bytes: u64, alignment: u64, memory: gpujoin_memory, cuda_stream: *mut c_void,
        user: *mut c_void
    ) -> *mut c_void>,
    /// Gets back what allocate gave; work that uses it may still be queued on `cuda_stream`, which
    /// may be another one than at its allocation.
    pub deallocate: Option<unsafe extern "C" fn(
        pointer: *mut c_void, bytes: u64, memory: gpujoin_memory, cuda_stream: *mut c_void,
        user: *mut c_void
    )>,
    /// `user` of the C struct.
    pub user: *mut c_void,
}

impl gpujoin_allocator {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_allocator>() as u32;
        value
    };
}

/// `GPUJOIN_LOG_DEBUG` of the header.
pub const GPUJOIN_LOG_DEBUG: i32 = 1;
/// `GPUJOIN_LOG_INFO` of the header.
pub const GPUJOIN_LOG_INFO: i32 = 2;
/// `GPUJOIN_LOG_WARNING` of the header.
pub const GPUJOIN_LOG_WARNING: i32 = 3;
/// Called on the thread that calls the library, with one line of text without a newline; at the
/// same time on as many threads as call it. Must not call the library.
pub type gpujoin_log_function = Option<unsafe extern "C" fn(
    level: i32, message: *const c_char, user: *mut c_void
)>;
/// Called between the steps of an execution on the thread that runs it: `stage` is the stage's
/// name, `done` of `total` steps are over. A non-zero answer cancels that execution, not those of
/// other threads, by which it is called at the same time. Must not call the library.
pub type gpujoin_progress_function = Option<unsafe extern "C" fn(
    stage: *const c_char, done: i64, total: i64, user: *mut c_void
) -> i32>;
/// Whose threads the loops of the CPU executor run on. Since 0.2.
pub type gpujoin_threads = i32;
/// The library's own oneTBB arenas, of cpu_threads threads with the one that calls. With
/// cpu_threads = 1 a call runs on the calling thread alone, and no thread is started.
pub const GPUJOIN_THREADS_OWN: i32 = 0;
/// The oneTBB arena in which the calling thread is, with as many threads as that allows; on the
/// calling thread alone where it is in none. While it waits for others, it takes no other tasks of
/// the arena. For hosts that schedule by the same oneTBB library (a shared libtbb).
pub const GPUJOIN_THREADS_OF_CALLER: i32 = 1;
/// `struct gpujoin_context_options` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_context_options {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// GPUJOIN_DEVICE_*.
    pub device: gpujoin_device,
    /// CUDA ordinal; 0 is the first device.
    pub cuda_device_id: i32,
    /// Of the CPU executor; 0 = all that this process may run on, and never more. With
    /// GPUJOIN_THREADS_OF_CALLER what the planner reckons with.
    pub cpu_threads: i32,
    /// Of the memory that joins run in: device memory for CUDA, host memory for the CPU, inputs
    /// that need no copy not counted. 0 = no limit. Section 10 has the least for builds and
    /// operations.
    pub memory_limit_bytes: u64,
    /// A cudaStream_t of yours, which must outlive the context and what was made from it. NULL =
    /// the context makes its own, one for each call that runs at the same time.
    pub cuda_stream: *mut c_void,
    /// NULL = the library's own pools.
    pub allocator: *const gpujoin_allocator,
    /// NULL = silent.
    pub log: gpujoin_log_function,
    /// `log_user` of the C struct.
    pub log_user: *mut c_void,
    /// NULL = none.
    pub progress: gpujoin_progress_function,
    /// `progress_user` of the C struct.
    pub progress_user: *mut c_void,
    /// A file that gpujoin_context_calibrate wrote on this machine, read once. NULL = the figures
    /// built in for the architecture.
    pub calibration_path: *const c_char,
    /// Of host memory that the library allocates, 0 = no limit; on a context of the CPU the smaller
    /// of this and memory_limit_bytes counts. The least is that of section 10, too. Since 0.2, as
    /// all that follow.
    pub host_limit_bytes: u64,
    /// Of page-locked host memory, on a context of CUDA. 0 = no limit.
    pub pinned_limit_bytes: u64,
    /// An existing folder where rows go that no limit has room for: those of builds, operations and
    /// joins in pieces. Files there have no names, and are gone when the process is, however it
    /// ends. NULL = none.
    pub spill_path: *const c_char,
    /// Of all files there together. 0 = no limit.
    pub spill_limit_bytes: u64,
    /// GPUJOIN_THREADS_*.
    pub threads: gpujoin_threads,
    /// `reserved` of the C struct.
    pub reserved: i32,
}

impl gpujoin_context_options {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_context_options>() as u32;
        value
    };
}

/// `struct gpujoin_context_info` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_context_info {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// GPUJOIN_DEVICE_CUDA or GPUJOIN_DEVICE_CPU.
    pub device: gpujoin_device,
    /// For example "NVIDIA H200".
    pub device_name: [c_char; 128],
    /// Why this device was taken: for AUTOMATIC, why CUDA could not be used.
    pub reason: [c_char; 256],
    /// -1 for the CPU.
    pub cuda_device_id: i32,
    /// `cpu_threads` of the C struct.
    pub cpu_threads: i32,
    /// 0 = none.
    pub memory_limit_bytes: u64,
    /// Held now by the context's pools, cached blocks included.
    pub memory_used_bytes: u64,
    /// The most in use by joins and results at one time since the context was made.
    pub memory_peak_bytes: u64,
    /// Of host memory, as the three before; on a context of the CPU they are those. Since 0.2, as
    /// all that follow.
    pub host_limit_bytes: u64,
    /// `host_used_bytes` of the C struct.
    pub host_used_bytes: u64,
    /// `host_peak_bytes` of the C struct.
    pub host_peak_bytes: u64,
    /// Page-locked host memory of a context of CUDA: held now, cached blocks included.
    pub pinned_used_bytes: u64,
    /// In files of options.spill_path, now and at most.
    pub spill_used_bytes: u64,
    /// `spill_peak_bytes` of the C struct.
    pub spill_peak_bytes: u64,
}

impl gpujoin_context_info {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_context_info>() as u32;
        value
    };
}

/// ```text
/// A relation describes columns of equal length. It copies no data: the memory must stay valid and
/// unchanged until the relation and every plan made from it are destroyed. Results own their memory
/// and need neither.
///
/// Payloads and keys are any type below. Keys of the two sides are compared pairwise, by value:
/// integers of any widths and signs, and decimals of any widths and scales, with each other; floats
/// of any widths (-0.0 equals 0.0, NaN equals NaN); dates and timestamps of any units, timestamps
/// with a zone among themselves; times and durations of any units; text of any offsets or views;
/// binary values, of one width or not; dictionaries and runs as their values; NULL columns with
/// anything. All others with their own type. docs/semantics.md has an example of each.
///
/// Keys that do not compare by their bits as they lie there are copied to columns that do when a
/// plan is made, 4 to 8 bytes a value and 4 a NULL flag, in the memory where they lie. Values of any
/// number of bytes (text, binary of more than 16 bytes) become codes of 4 bytes, where the executor
/// reads: by a hash with the context's seed, every value compared with the one whose code it takes.
///
/// Columns of nested types may be registered and come out by row number. Output columns of text,
/// bits, and widths other than 1, 2, 4, 8 and 16 are fetched by row number when the output rows are
/// known; dictionaries and views keep what they name, which their relation's Arrow arrays hold.
/// ```
#[repr(C)]
pub struct gpujoin_relation {
    _private: [u8; 0],
}

/// `gpujoin_type` of the header.
pub type gpujoin_type = i32;
/// `GPUJOIN_TYPE_INT8` of the header.
pub const GPUJOIN_TYPE_INT8: i32 = 1;
/// `GPUJOIN_TYPE_INT16` of the header.
pub const GPUJOIN_TYPE_INT16: i32 = 2;
/// `GPUJOIN_TYPE_INT32` of the header.
pub const GPUJOIN_TYPE_INT32: i32 = 3;
/// `GPUJOIN_TYPE_INT64` of the header.
pub const GPUJOIN_TYPE_INT64: i32 = 4;
/// `GPUJOIN_TYPE_UINT8` of the header.
pub const GPUJOIN_TYPE_UINT8: i32 = 5;
/// `GPUJOIN_TYPE_UINT16` of the header.
pub const GPUJOIN_TYPE_UINT16: i32 = 6;
/// `GPUJOIN_TYPE_UINT32` of the header.
pub const GPUJOIN_TYPE_UINT32: i32 = 7;
/// `GPUJOIN_TYPE_UINT64` of the header.
pub const GPUJOIN_TYPE_UINT64: i32 = 8;
/// `GPUJOIN_TYPE_FLOAT32` of the header.
pub const GPUJOIN_TYPE_FLOAT32: i32 = 9;
/// `GPUJOIN_TYPE_FLOAT64` of the header.
pub const GPUJOIN_TYPE_FLOAT64: i32 = 10;
/// Days since 1970-01-01, int32.
pub const GPUJOIN_TYPE_DATE32: i32 = 11;
/// Milliseconds since 1970-01-01, int64.
pub const GPUJOIN_TYPE_DATE64: i32 = 12;
/// Seconds, milliseconds, microseconds, nanoseconds since 1970-01-01, int64.
pub const GPUJOIN_TYPE_TIMESTAMP_S: i32 = 13;
/// `GPUJOIN_TYPE_TIMESTAMP_MS` of the header.
pub const GPUJOIN_TYPE_TIMESTAMP_MS: i32 = 14;
/// `GPUJOIN_TYPE_TIMESTAMP_US` of the header.
pub const GPUJOIN_TYPE_TIMESTAMP_US: i32 = 15;
/// `GPUJOIN_TYPE_TIMESTAMP_NS` of the header.
pub const GPUJOIN_TYPE_TIMESTAMP_NS: i32 = 16;
/// 16 opaque bytes: a decimal128, a UUID.
pub const GPUJOIN_TYPE_BYTES16: i32 = 17;
/// `GPUJOIN_TYPE_FLOAT16` of the header.
pub const GPUJOIN_TYPE_FLOAT16: i32 = 18;
/// int32, int64, int64; the unit is the Arrow format's.
pub const GPUJOIN_TYPE_TIME32: i32 = 19;
/// `GPUJOIN_TYPE_TIME64` of the header.
pub const GPUJOIN_TYPE_TIME64: i32 = 20;
/// `GPUJOIN_TYPE_DURATION` of the header.
pub const GPUJOIN_TYPE_DURATION: i32 = 21;
/// Bits, least significant first, as validity has them. Since 0.2, as all that follow.
pub const GPUJOIN_TYPE_BOOL: i32 = 22;
/// Bytes between two of rows + 1 offsets: int32, of LARGE_* int64.
pub const GPUJOIN_TYPE_UTF8: i32 = 23;
/// `GPUJOIN_TYPE_LARGE_UTF8` of the header.
pub const GPUJOIN_TYPE_LARGE_UTF8: i32 = 24;
/// `GPUJOIN_TYPE_UTF8_VIEW` of the header.
pub const GPUJOIN_TYPE_UTF8_VIEW: i32 = 25;
/// `GPUJOIN_TYPE_BINARY` of the header.
pub const GPUJOIN_TYPE_BINARY: i32 = 26;
/// `GPUJOIN_TYPE_LARGE_BINARY` of the header.
pub const GPUJOIN_TYPE_LARGE_BINARY: i32 = 27;
/// `GPUJOIN_TYPE_BINARY_VIEW` of the header.
pub const GPUJOIN_TYPE_BINARY_VIEW: i32 = 28;
/// Any number of bytes a value, the same for all.
pub const GPUJOIN_TYPE_FIXED_BINARY: i32 = 29;
/// Integers of 4, 8, 32 bytes, times 10^-scale; decimals of 16 bytes are BYTES16.
pub const GPUJOIN_TYPE_DECIMAL32: i32 = 30;
/// `GPUJOIN_TYPE_DECIMAL64` of the header.
pub const GPUJOIN_TYPE_DECIMAL64: i32 = 31;
/// `GPUJOIN_TYPE_DECIMAL256` of the header.
pub const GPUJOIN_TYPE_DECIMAL256: i32 = 32;
/// All rows are NULL.
pub const GPUJOIN_TYPE_NULL: i32 = 33;
/// `GPUJOIN_TYPE_INTERVAL_MONTHS` of the header.
pub const GPUJOIN_TYPE_INTERVAL_MONTHS: i32 = 34;
/// `GPUJOIN_TYPE_INTERVAL_DAY_TIME` of the header.
pub const GPUJOIN_TYPE_INTERVAL_DAY_TIME: i32 = 35;
/// `GPUJOIN_TYPE_INTERVAL_MONTH_DAY_NANO` of the header.
pub const GPUJOIN_TYPE_INTERVAL_MONTH_DAY_NANO: i32 = 36;
/// Positions in a dictionary of values; of Arrow columns only.
pub const GPUJOIN_TYPE_DICTIONARY: i32 = 37;
/// Of Arrow columns only; output columns of it have the type of its values.
pub const GPUJOIN_TYPE_RUN_END_ENCODED: i32 = 38;
/// `struct gpujoin_column` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_column {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `type` of the C struct.
    pub r#type: gpujoin_type,
    /// As many values as the relation has rows, aligned to their width (16-byte values: to 8); may
    /// be NULL when there are no rows.
    pub data: *const c_void,
    /// One bit a row, least significant first, 1 = valid; NULL = no NULLs.
    pub validity: *const u8,
    /// Of the first row's bit; 0 to 2^50.
    pub validity_bit_offset: i64,
    /// Of data and validity.
    pub memory: gpujoin_memory,
    /// Of device memory; must be the context's.
    pub cuda_device_id: i32,
    /// Copied; NULL = "". Used in explain and in exported schemas.
    pub name: *const c_char,
    /// Of UTF8, BINARY (int32) and LARGE_UTF8, LARGE_BINARY (int64): rows + 1 of them, which count
    /// bytes of data and do not decrease; in the same memory as data. Since 0.2, as all that
    /// follow.
    pub offsets: *const c_void,
    /// Of BOOL: the first row's bit in data; 0 to 2^50.
    pub first_bit: i64,
    /// Of FIXED_BINARY: bytes of a value.
    pub value_width: i32,
    /// Of DECIMAL32, DECIMAL64, DECIMAL256; of BYTES16 where decimal_precision is not 0.
    pub decimal_precision: i32,
    /// `decimal_scale` of the C struct.
    pub decimal_scale: i32,
    /// `reserved` of the C struct.
    pub reserved: i32,
}

impl gpujoin_column {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_column>() as u32;
        value
    };
}

/// `ARROW_FLAG_DICTIONARY_ORDERED` of the header.
pub const ARROW_FLAG_DICTIONARY_ORDERED: i32 = 1;
/// `ARROW_FLAG_NULLABLE` of the header.
pub const ARROW_FLAG_NULLABLE: i32 = 2;
/// `ARROW_FLAG_MAP_KEYS_SORTED` of the header.
pub const ARROW_FLAG_MAP_KEYS_SORTED: i32 = 4;
/// `struct ArrowSchema` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ArrowSchema {
    /// `format` of the C struct.
    pub format: *const c_char,
    /// `name` of the C struct.
    pub name: *const c_char,
    /// `metadata` of the C struct.
    pub metadata: *const c_char,
    /// `flags` of the C struct.
    pub flags: i64,
    /// `n_children` of the C struct.
    pub n_children: i64,
    /// `children` of the C struct.
    pub children: *mut *mut ArrowSchema,
    /// `dictionary` of the C struct.
    pub dictionary: *mut ArrowSchema,
    /// `release` of the C struct.
    pub release: Option<unsafe extern "C" fn(argument: *mut ArrowSchema)>,
    /// `private_data` of the C struct.
    pub private_data: *mut c_void,
}

impl ArrowSchema {
    /// All zero.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let value: Self = unsafe { std::mem::zeroed() };
        value
    };
}

/// `struct ArrowArray` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ArrowArray {
    /// `length` of the C struct.
    pub length: i64,
    /// `null_count` of the C struct.
    pub null_count: i64,
    /// `offset` of the C struct.
    pub offset: i64,
    /// `n_buffers` of the C struct.
    pub n_buffers: i64,
    /// `n_children` of the C struct.
    pub n_children: i64,
    /// `buffers` of the C struct.
    pub buffers: *mut *const c_void,
    /// `children` of the C struct.
    pub children: *mut *mut ArrowArray,
    /// `dictionary` of the C struct.
    pub dictionary: *mut ArrowArray,
    /// `release` of the C struct.
    pub release: Option<unsafe extern "C" fn(argument: *mut ArrowArray)>,
    /// `private_data` of the C struct.
    pub private_data: *mut c_void,
}

impl ArrowArray {
    /// All zero.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let value: Self = unsafe { std::mem::zeroed() };
        value
    };
}

/// `ArrowDeviceType` of the header.
pub type ArrowDeviceType = i32;
/// `ARROW_DEVICE_CPU` of the header.
pub const ARROW_DEVICE_CPU: i32 = 1;
/// `ARROW_DEVICE_CUDA` of the header.
pub const ARROW_DEVICE_CUDA: i32 = 2;
/// `ARROW_DEVICE_CUDA_HOST` of the header.
pub const ARROW_DEVICE_CUDA_HOST: i32 = 3;
/// `ARROW_DEVICE_CUDA_MANAGED` of the header.
pub const ARROW_DEVICE_CUDA_MANAGED: i32 = 13;
/// `struct ArrowDeviceArray` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ArrowDeviceArray {
    /// `array` of the C struct.
    pub array: ArrowArray,
    /// `device_id` of the C struct.
    pub device_id: i64,
    /// `device_type` of the C struct.
    pub device_type: ArrowDeviceType,
    /// `sync_event` of the C struct.
    pub sync_event: *mut c_void,
    /// `reserved` of the C struct.
    pub reserved: [i64; 3],
}

impl ArrowDeviceArray {
    /// All zero.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let value: Self = unsafe { std::mem::zeroed() };
        value
    };
}

/// Which rows of a relation are read. All since 0.2.
pub type gpujoin_selection_form = i32;
/// A bit for each row, least significant first: 1 = it is read.
pub const GPUJOIN_SELECTION_BITMAP: i32 = 1;
/// Row numbers, in any order; each time that one comes it is a row.
pub const GPUJOIN_SELECTION_ROWS: i32 = 2;
/// `struct gpujoin_selection` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_selection {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Required.
    pub form: gpujoin_selection_form,
    /// Bits, or row numbers aligned to their width; may be NULL when there are none.
    pub data: *const c_void,
    /// Of BITMAP: the first row's bit; 0 to 2^50.
    pub first_bit: i64,
    /// Of ROWS: how many there are; 0 of BITMAP.
    pub count: i64,
    /// Of ROWS: UINT32 or INT64; 0 of BITMAP.
    pub r#type: gpujoin_type,
    /// Of data.
    pub memory: gpujoin_memory,
    /// Of device memory; must be the context's.
    pub cuda_device_id: i32,
    /// `reserved` of the C struct.
    pub reserved: i32,
}

impl gpujoin_selection {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_selection>() as u32;
        value
    };
}

/// `gpujoin_side` of the header.
pub type gpujoin_side = i32;
/// `GPUJOIN_SIDE_LEFT` of the header.
pub const GPUJOIN_SIDE_LEFT: i32 = 1;
/// `GPUJOIN_SIDE_RIGHT` of the header.
pub const GPUJOIN_SIDE_RIGHT: i32 = 2;
/// Which rows come out. A row matches one of the other side when all their keys are equal; a NULL
/// key is equal to nothing, but where its flags say that NULLs are equal. docs/semantics.md has
/// every kind as a table of examples.
pub type gpujoin_join_kind = i32;
/// Each pair of rows that match.
pub const GPUJOIN_JOIN_INNER: i32 = 1;
/// The same, and once each left row without a match, its right columns NULL (since 0.2, as all that
/// follow).
pub const GPUJOIN_JOIN_LEFT: i32 = 2;
/// The same, and once each right row without a match, its left columns NULL.
pub const GPUJOIN_JOIN_RIGHT: i32 = 3;
/// Inner, and the rows without a match of both sides.
pub const GPUJOIN_JOIN_FULL: i32 = 4;
/// Rows of one side that have a match (EXISTS), once each.
pub const GPUJOIN_JOIN_LEFT_SEMI: i32 = 5;
/// `GPUJOIN_JOIN_RIGHT_SEMI` of the header.
pub const GPUJOIN_JOIN_RIGHT_SEMI: i32 = 6;
/// Rows of one side that have none (NOT EXISTS).
pub const GPUJOIN_JOIN_LEFT_ANTI: i32 = 7;
/// `GPUJOIN_JOIN_RIGHT_ANTI` of the header.
pub const GPUJOIN_JOIN_RIGHT_ANTI: i32 = 8;
/// All rows of one side, with a BOOL column "mark" after the output columns: what SQL answers for
/// keys IN (the other side's keys): true where there is a match, else NULL where a comparison is
/// unknown, because of a NULL key here or there, else false.
pub const GPUJOIN_JOIN_LEFT_MARK: i32 = 9;
/// `GPUJOIN_JOIN_RIGHT_MARK` of the header.
pub const GPUJOIN_JOIN_RIGHT_MARK: i32 = 10;
/// Null-aware anti join (NOT IN): rows whose mark is false.
pub const GPUJOIN_JOIN_LEFT_NOT_IN: i32 = 11;
/// `GPUJOIN_JOIN_RIGHT_NOT_IN` of the header.
pub const GPUJOIN_JOIN_RIGHT_NOT_IN: i32 = 12;
/// LEFT and RIGHT for a scalar subquery: a row of that side with a second match ends the join with
/// GPUJOIN_ERROR_SEVERAL_MATCHES.
pub const GPUJOIN_JOIN_LEFT_SINGLE: i32 = 13;
/// `GPUJOIN_JOIN_RIGHT_SINGLE` of the header.
pub const GPUJOIN_JOIN_RIGHT_SINGLE: i32 = 14;
/// Each left row with each right row; without keys.
pub const GPUJOIN_JOIN_CROSS: i32 = 15;
/// The row number of a side that has no row in an output row: as UINT32, and as INT64.
pub const GPUJOIN_NO_ROW: u32 = u32::MAX;
/// `GPUJOIN_NO_ROW_INT64` of the header.
pub const GPUJOIN_NO_ROW_INT64: i64 = -1;
/// The output columns, materialized.
pub const GPUJOIN_OUTPUT_COLUMNS: i32 = 1;
/// Row numbers: left row and right row of each output row.
pub const GPUJOIN_OUTPUT_PAIRS: i32 = 2;
/// NULL equals NULL, and nothing else (IS NOT DISTINCT FROM).
pub const GPUJOIN_KEY_NULL_EQUAL: i32 = 1;
/// Floats as IEEE 754 has it: NaN equals nothing, not even NaN. Ignored for other types.
pub const GPUJOIN_KEY_IEEE_FLOAT: i32 = 2;
/// ```text
/// Conditions. Rows match when their keys are equal and a condition of both rows is true: nodes in
/// postfix order, of which each takes the values of as many nodes before it as it has arguments, so
/// that "l.a < r.b + 1" is
///
///   COLUMN left a, COLUMN right b, CONSTANT 1, ADD (2 arguments), LESS (2 arguments)
///
/// and the last one is the answer: true, false or NULL, as SQL has it. All since 0.2.
///
/// Compared are values of types that compare as keys do, by value, integers and decimals with floats
/// as FLOAT64; text and binary by their bytes; false before true; NaN equals NaN, above all else.
/// Arithmetic is of integers, in the wider type (of a signed and an unsigned one the signed one that
/// holds both; INT64 for UINT64), of decimals in 38 digits, of floats as FLOAT64, which may be
/// infinite, of dates (days) and timestamps (units) with integers, durations or each other, which
/// is INT64, days or the finer unit. What a type does not hold, and a division by zero, is no value:
/// the join ends with GPUJOIN_ERROR_EVALUATION where the answer for a pair of rows with equal keys
/// depends on it. NULL = no value is NULL, false AND no value false, true OR no value true; a CASE
/// looks at the branch that it takes, on either executor and whatever the plan.
/// ```
pub type gpujoin_operator = i32;
/// The value of `column` in the row of `side`.
pub const GPUJOIN_OPERATOR_COLUMN: i32 = 1;
/// The value of `column` in the first row of `values`.
pub const GPUJOIN_OPERATOR_CONSTANT: i32 = 2;
/// 2 arguments; NULL where one is.
pub const GPUJOIN_OPERATOR_EQUAL: i32 = 3;
/// `GPUJOIN_OPERATOR_NOT_EQUAL` of the header.
pub const GPUJOIN_OPERATOR_NOT_EQUAL: i32 = 4;
/// `GPUJOIN_OPERATOR_LESS` of the header.
pub const GPUJOIN_OPERATOR_LESS: i32 = 5;
/// `GPUJOIN_OPERATOR_LESS_EQUAL` of the header.
pub const GPUJOIN_OPERATOR_LESS_EQUAL: i32 = 6;
/// `GPUJOIN_OPERATOR_GREATER` of the header.
pub const GPUJOIN_OPERATOR_GREATER: i32 = 7;
/// `GPUJOIN_OPERATOR_GREATER_EQUAL` of the header.
pub const GPUJOIN_OPERATOR_GREATER_EQUAL: i32 = 8;
/// 2 arguments; NULL is equal to NULL and to nothing else: never NULL.
pub const GPUJOIN_OPERATOR_DISTINCT: i32 = 9;
/// `GPUJOIN_OPERATOR_NOT_DISTINCT` of the header.
pub const GPUJOIN_OPERATOR_NOT_DISTINCT: i32 = 10;
/// 3 arguments: second \<= first AND first \<= third.
pub const GPUJOIN_OPERATOR_BETWEEN: i32 = 11;
/// 1 argument, and all rows of `column` of `values`: true where one is equal, else NULL where the
/// argument or a row is NULL, else false; false where there is no row.
pub const GPUJOIN_OPERATOR_IN: i32 = 12;
/// 1 or more arguments of BOOL, three-valued.
pub const GPUJOIN_OPERATOR_AND: i32 = 13;
/// `GPUJOIN_OPERATOR_OR` of the header.
pub const GPUJOIN_OPERATOR_OR: i32 = 14;
/// 1 argument of BOOL.
pub const GPUJOIN_OPERATOR_NOT: i32 = 15;
/// 1 argument of any type; never NULL.
pub const GPUJOIN_OPERATOR_IS_NULL: i32 = 16;
/// `GPUJOIN_OPERATOR_IS_NOT_NULL` of the header.
pub const GPUJOIN_OPERATOR_IS_NOT_NULL: i32 = 17;
/// 1 argument of BOOL; never NULL.
pub const GPUJOIN_OPERATOR_IS_TRUE: i32 = 18;
/// `GPUJOIN_OPERATOR_IS_FALSE` of the header.
pub const GPUJOIN_OPERATOR_IS_FALSE: i32 = 19;
/// 2 arguments of text or binary: whether the first one begins with the bytes of the second: LIKE
/// 'prefix%'.
pub const GPUJOIN_OPERATOR_STARTS_WITH: i32 = 20;
/// when, then, when, then ..., and, of an odd number, else; the first whose `when` is true.
pub const GPUJOIN_OPERATOR_CASE: i32 = 21;
/// 1 or more arguments: the first that is not NULL.
pub const GPUJOIN_OPERATOR_COALESCE: i32 = 22;
/// 2 arguments. DIVIDE is of FLOAT64, whatever they are; QUOTIENT of integers, towards zero; the
/// sign of MODULO is that of the first.
pub const GPUJOIN_OPERATOR_ADD: i32 = 23;
/// `GPUJOIN_OPERATOR_SUBTRACT` of the header.
pub const GPUJOIN_OPERATOR_SUBTRACT: i32 = 24;
/// `GPUJOIN_OPERATOR_MULTIPLY` of the header.
pub const GPUJOIN_OPERATOR_MULTIPLY: i32 = 25;
/// `GPUJOIN_OPERATOR_DIVIDE` of the header.
pub const GPUJOIN_OPERATOR_DIVIDE: i32 = 26;
/// `GPUJOIN_OPERATOR_QUOTIENT` of the header.
pub const GPUJOIN_OPERATOR_QUOTIENT: i32 = 27;
/// `GPUJOIN_OPERATOR_MODULO` of the header.
pub const GPUJOIN_OPERATOR_MODULO: i32 = 28;
/// 1 argument.
pub const GPUJOIN_OPERATOR_NEGATE: i32 = 29;
/// `GPUJOIN_OPERATOR_ABSOLUTE` of the header.
pub const GPUJOIN_OPERATOR_ABSOLUTE: i32 = 30;
/// The whole condition, without arguments: the caller evaluates it. The result of the join is then
/// its candidates, the pairs of rows with equal keys as an INNER join with OUTPUT_PAIRS has them,
/// for gpujoin_result_decide to be told which of them match; an operation asks its options.decide.
/// Not of MARK and NOT IN joins, and not without keys.
pub const GPUJOIN_OPERATOR_CALLER: i32 = 31;
/// `struct gpujoin_node` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_node {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `operation` of the C struct.
    pub operation: gpujoin_operator,
    /// `argument_count` of the C struct.
    pub argument_count: i32,
    /// Of COLUMN.
    pub side: gpujoin_side,
    /// Of COLUMN, CONSTANT and IN.
    pub column: i32,
    /// `reserved` of the C struct.
    pub reserved: i32,
    /// Of CONSTANT and IN: a relation of the same context, in host memory.
    pub values: *const gpujoin_relation,
}

impl gpujoin_node {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_node>() as u32;
        value
    };
}

/// `struct gpujoin_condition` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_condition {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// 1 to 4096.
    pub node_count: i32,
    /// Each with the same struct_size, in postfix order.
    pub nodes: *const gpujoin_node,
}

impl gpujoin_condition {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_condition>() as u32;
        value
    };
}

/// ASOF joins. Of the right rows whose keys are equal to a left row's, or of all where the
/// specification has no keys, it has one match at most: the one next to it in an ordered column.
/// The kinds are INNER, LEFT, RIGHT, FULL, LEFT_SEMI, LEFT_ANTI, RIGHT_SEMI, RIGHT_ANTI by that
/// match, and LEFT_SINGLE, which is LEFT; others, a residual and aggregates beside it are
/// UNSUPPORTED. No technique can be named. Sides that lie in order, by their keys and the column,
/// or by the column where there are no keys, are merged as they lie; others are sorted first. All
/// since 0.2.
pub type gpujoin_direction = i32;
/// The last right row at or before the left row; of several at the same place the last one.
pub const GPUJOIN_DIRECTION_BACKWARD: i32 = 1;
/// The first right row at or after it; of several at the same place the first one.
pub const GPUJOIN_DIRECTION_FORWARD: i32 = 2;
/// The nearer one of both, BACKWARD's where they are equally near.
pub const GPUJOIN_DIRECTION_NEAREST: i32 = 3;
/// Not at the same place: before, after.
pub const GPUJOIN_ASOF_STRICT: i32 = 1;
/// No farther away than `tolerance`.
pub const GPUJOIN_ASOF_TOLERANCE: i32 = 2;
/// `struct gpujoin_asof` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_asof {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Required.
    pub direction: gpujoin_direction,
    /// Column positions of the ordered columns, which compare with each other: integers, floats,
    /// decimals, dates, times, timestamps, durations. A row with a NULL or NaN there has no match.
    /// Neither side has to be sorted.
    pub left_column: i32,
    /// `right_column` of the C struct.
    pub right_column: i32,
    /// GPUJOIN_ASOF_*, or-ed.
    pub flags: i32,
    /// `reserved` of the C struct.
    pub reserved: i32,
    /// With ASOF_TOLERANCE, 0 or more: of floats in tolerance_float, else in units of the finer of
    /// the two columns (days, nanoseconds, the last place of a decimal). The other one, and both
    /// without the flag, are 0. Decimals of scales more than 77 apart have no distance: TYPE, as
    /// for columns without an order.
    pub tolerance: i64,
    /// `tolerance_float` of the C struct.
    pub tolerance_float: f64,
}

impl gpujoin_asof {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_asof>() as u32;
        value
    };
}

/// ```text
/// Aggregates over the rows of a join, in the place of the rows: over those that the kind would put
/// out, as one group, which is there even if no row is, or as a group for each row of group_side.
/// Groups of an inner or a cross join are the rows of that side with a match, those of an outer or
/// single join of that side all of them: a row without a match counts, and its other columns are
/// NULL. They come in any order, or with order LEFT or RIGHT in that of group_side. Its output
/// columns come first, then the aggregates; with OUTPUT_PAIRS each has its row number in group_side,
/// and none in the other side. Output 0 means COLUMNS. All rows as one group have neither columns
/// nor row numbers.
///
/// Refused with UNSUPPORTED: groups of a semi, anti or NOT IN join, whose rows come out once; groups
/// of a side that other rows come out without (FULL, RIGHT by left); mark joins. Values of
/// dictionaries and runs are those that they name. All since 0.2.
/// ```
pub type gpujoin_function = i32;
/// Rows, INT64; without a column: side and column are 0.
pub const GPUJOIN_FUNCTION_COUNT_ROWS: i32 = 1;
/// Rows in which the column is not NULL, INT64.
pub const GPUJOIN_FUNCTION_COUNT: i32 = 2;
/// Of values that are not NULL; NULL where there is none. Of integers up to 64 bits INT64 (UINT64
/// of unsigned ones), of decimals one of 38 digits and the same scale, of floats FLOAT64, in any
/// order. A total that its type does not hold ends the join with GPUJOIN_ERROR_EVALUATION; what is
/// added up on the way may be larger.
pub const GPUJOIN_FUNCTION_SUM: i32 = 3;
/// The column's type, any but intervals and nested ones; text and binary by their bytes, false
/// before true; NaN is above all else. NULL where there is no value.
pub const GPUJOIN_FUNCTION_MIN: i32 = 4;
/// `GPUJOIN_FUNCTION_MAX` of the header.
pub const GPUJOIN_FUNCTION_MAX: i32 = 5;
/// FLOAT64; of integers and decimals the exact quotient, rounded once.
pub const GPUJOIN_FUNCTION_AVG: i32 = 6;
/// One of the values that are not NULL, of any type.
pub const GPUJOIN_FUNCTION_ANY: i32 = 7;
/// Whether there is a row, BOOL; without a column. In the group of a row without a match: false.
pub const GPUJOIN_FUNCTION_EXISTS: i32 = 8;
/// `struct gpujoin_aggregate` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_aggregate {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `function` of the C struct.
    pub function: gpujoin_function,
    /// Where the column is; 0 of COUNT_ROWS and EXISTS.
    pub side: gpujoin_side,
    /// `column` of the C struct.
    pub column: i32,
    /// Copied; NULL = the function's name and the column's: "sum(price)".
    pub name: *const c_char,
}

impl gpujoin_aggregate {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_aggregate>() as u32;
        value
    };
}

/// In which order rows come out. Pairs are sorted by row number before any column is fetched,
/// unless they come in that order; the rows of semi, anti, mark and NOT IN joins by the number of
/// their side, whichever side is named. Since 0.2.
pub type gpujoin_order = i32;
/// Any.
pub const GPUJOIN_ORDER_NONE: i32 = 0;
/// LEFT or RIGHT: by the side that the plan does not build on; of a cross join LEFT.
pub const GPUJOIN_ORDER_PROBE: i32 = 1;
/// By left row, those of one left row by right row; rows without a left row come last.
pub const GPUJOIN_ORDER_LEFT: i32 = 2;
/// The same of the right side.
pub const GPUJOIN_ORDER_RIGHT: i32 = 3;
/// No two rows of the side have equal keys; NULL keys that are equal to nothing not counted.
pub const GPUJOIN_PROMISE_LEFT_UNIQUE: i32 = 1;
/// `GPUJOIN_PROMISE_RIGHT_UNIQUE` of the header.
pub const GPUJOIN_PROMISE_RIGHT_UNIQUE: i32 = 2;
/// Keys do not decrease from row to row, in the order of conditions, the first key first; NULLs lie
/// together, before or behind the others.
pub const GPUJOIN_PROMISE_LEFT_SORTED: i32 = 4;
/// `GPUJOIN_PROMISE_RIGHT_SORTED` of the header.
pub const GPUJOIN_PROMISE_RIGHT_SORTED: i32 = 8;
/// The join has promised_rows rows or fewer.
pub const GPUJOIN_PROMISE_ROWS: i32 = 16;
/// `struct gpujoin_join_spec` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_join_spec {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Required.
    pub kind: gpujoin_join_kind,
    /// Of left_keys and right_keys: 1 to 16 columns, all of which must be equal; 0 of a cross join,
    /// and where asof is set or residual alone says what matches.
    pub key_count: i32,
    /// GPUJOIN_OUTPUT_COLUMNS, GPUJOIN_OUTPUT_PAIRS or both; 0 = COLUMNS when columns are named,
    /// else PAIRS. Semi, anti, mark and NOT IN joins have columns and row numbers of their side
    /// alone.
    pub output: i32,
    /// Column positions in the left relation.
    pub left_keys: *const i32,
    /// As many in the right relation, compared pairwise.
    pub right_keys: *const i32,
    /// Output columns of the left relation, any order, keys allowed, repeats allowed.
    pub left_columns: *const i32,
    /// Output columns of the right relation; they follow the left ones in the result.
    pub right_columns: *const i32,
    /// `left_column_count` of the C struct.
    pub left_column_count: i32,
    /// `right_column_count` of the C struct.
    pub right_column_count: i32,
    /// GPUJOIN_KEY_*, or-ed, of each pair of keys; NULL = 0 of all. Since 0.2, as all that follow.
    pub key_flags: *const i32,
    /// What rows with equal keys have to fulfil besides, to match; NULL = nothing. Without keys all
    /// rows meet: comparisons (\<, \<=, \>, \>=, =, BETWEEN) of a left with a right column, parts
    /// of an AND, find pairs in sorted orders; without any, each pair is evaluated.
    pub residual: *const gpujoin_condition,
    /// NULL = not an ASOF join.
    pub asof: *const gpujoin_asof,
    /// In the place of rows; each with the same struct_size; NULL = rows.
    pub aggregates: *const gpujoin_aggregate,
    /// `aggregate_count` of the C struct.
    pub aggregate_count: i32,
    /// Of aggregates: a group for each row of this side that comes out; 0 = one group of all rows.
    pub group_side: gpujoin_side,
    /// `order` of the C struct.
    pub order: gpujoin_order,
    /// GPUJOIN_PROMISE_*, or-ed.
    pub promises: i32,
    /// `promised_rows` of the C struct.
    pub promised_rows: i64,
    /// More output rows end the join with GPUJOIN_ERROR_ROW_LIMIT, as soon as the match has found
    /// them; 0 = no limit.
    pub row_limit: i64,
    /// More bytes of output columns and row numbers, as gpujoin_plan_count counts them, end it with
    /// GPUJOIN_ERROR_BYTE_LIMIT; 0 = none.
    pub byte_limit: u64,
}

impl gpujoin_join_spec {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_join_spec>() as u32;
        value
    };
}

/// A handle: `gpujoin_result*` of the header.
#[repr(C)]
pub struct gpujoin_result {
    _private: [u8; 0],
}

/// A page is a window on the result, and the cursor to resume at. Start with first_row 0; after a
/// call, first_row is the row after the page; the result is exhausted when rows comes back 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_page {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `reserved` of the C struct.
    pub reserved: u32,
    /// In and out.
    pub first_row: i64,
    /// 0 = no limit.
    pub max_rows: i64,
    /// Of values and validity bits written in the page, 0 = no limit; one row is always allowed.
    pub max_bytes: u64,
    /// Out: rows in the page.
    pub rows: i64,
}

impl gpujoin_page {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_page>() as u32;
        value
    };
}

/// Output column number `column`.
pub const GPUJOIN_FETCH_COLUMN: i32 = 1;
/// Row numbers in the left relation; needs GPUJOIN_OUTPUT_PAIRS.
pub const GPUJOIN_FETCH_LEFT_INDEX: i32 = 2;
/// Row numbers in the right relation; needs GPUJOIN_OUTPUT_PAIRS. Of a sequence: in the dimension
/// of step `column`, which a LEFT_SEMI step does not have.
pub const GPUJOIN_FETCH_RIGHT_INDEX: i32 = 3;
/// `struct gpujoin_fetch` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_fetch {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// GPUJOIN_FETCH_*; required.
    pub what: i32,
    /// With FETCH_COLUMN; with FETCH_RIGHT_INDEX of a sequence, the step.
    pub column: i32,
    /// Indices: UINT32 or INT64, 0 = INT64; columns: 0 or the column's own.
    pub r#type: gpujoin_type,
    /// As many values as the page has rows are written; of BOOL (rows + 7) / 8 bytes, the page's
    /// first row in bit 0 of byte 0, in device memory rounded up to 4. INT64 row numbers into
    /// device memory: aligned to 8 bytes.
    pub data: *mut c_void,
    /// Room in data.
    pub data_bytes: u64,
    /// Bits, the page's first row in bit 0 of byte 0; NULL is allowed when the page has no NULL,
    /// and for row numbers, which say GPUJOIN_NO_ROW themselves.
    pub validity: *mut u8,
    /// Room in validity; (rows + 7) / 8 are written, in device memory rounded up to 4.
    pub validity_bytes: u64,
    /// Of data and validity.
    pub memory: gpujoin_memory,
    /// `reserved` of the C struct.
    pub reserved: i32,
    /// Out: NULLs in the page.
    pub null_count: i64,
    /// Of text (UTF8, BINARY: int32; LARGE_*: int64), whose bytes go to data: rows + 1 are written,
    /// from 0 on. With data NULL they are written alone. Since 0.2, as all that follow.
    pub offsets: *mut c_void,
    /// Room in offsets.
    pub offsets_bytes: u64,
    /// Out: bytes of the page's text.
    pub text_bytes: u64,
}

impl gpujoin_fetch {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_fetch>() as u32;
        value
    };
}

/// ```text
/// A plan names one technique for each stage. Whatever is left at 0 the planner chooses, by a cost
/// that it computes from row counts, column widths, and a sampled match ratio and skew;
/// gpujoin_plan_explain shows the candidates and their cost. Techniques that cannot go together
/// answer GPUJOIN_ERROR_ILLEGAL_PLAN, and the message says which two.
///
/// Named here is what the planner chooses from, and what a host may need; the papers' other
/// techniques are in section 11. Papers are named where a technique is theirs: Wu et al. 2024
/// ("Efficiently Processing Large Relational Joins on GPUs"), Lin & Liao 2025, Rui & Tu 2017, Paul
/// et al. 2020. docs/papers.md has their sections, the files, and where we differ.
/// ```
#[repr(C)]
pub struct gpujoin_plan {
    _private: [u8; 0],
}

/// A name for a whole combination.
pub type gpujoin_algorithm = i32;
/// `GPUJOIN_ALGORITHM_AUTOMATIC` of the header.
pub const GPUJOIN_ALGORITHM_AUTOMATIC: i32 = 0;
/// Non-partitioned hash join: global table, gather untransformed (Paul et al. IV.A.1).
pub const GPUJOIN_ALGORITHM_NOP: i32 = 1;
/// Stable one-sweep partitions, co-partitions, gather transformed (Wu et al. 4.3).
pub const GPUJOIN_ALGORITHM_PHJ_OM: i32 = 2;
/// The same with gather untransformed.
pub const GPUJOIN_ALGORITHM_PHJ_GFUR: i32 = 3;
/// Radix sort, merge path, gather transformed (Wu et al. 4.2).
pub const GPUJOIN_ALGORITHM_SMJ_OM: i32 = 4;
/// The same with gather untransformed (Wu et al. 3.1).
pub const GPUJOIN_ALGORITHM_SMJ_UM: i32 = 5;
/// The CPU executor's radix-partitioned hash join (Balkesen et al., ICDE 2013).
pub const GPUJOIN_ALGORITHM_CPU_RADIX: i32 = 6;
/// Bucket chains, co-partitions, gather untransformed (Sioulas et al., in Wu et al. 3.2).
pub const GPUJOIN_ALGORITHM_PHJ_UM: i32 = 7;
/// A multiset of row numbers, hashed in build and probe (Lin & Liao 3.1.2).
pub const GPUJOIN_ALGORITHM_ROW_MULTISET: i32 = 8;
/// Unordered partitions of whole rows, co-partitions, output written by the match.
pub const GPUJOIN_ALGORITHM_PHJ_CARRIED: i32 = 9;
/// Global table, output written by the probe.
pub const GPUJOIN_ALGORITHM_NOP_CARRIED: i32 = 10;
/// Dense keys as addresses, output written by the probe.
pub const GPUJOIN_ALGORITHM_DIRECT_CARRIED: i32 = 11;
/// Sides that lie in the order of their keys, merged where they lie, output written by the match;
/// where one does not, another join follows. Since 0.2.
pub const GPUJOIN_ALGORITHM_SMJ_CARRIED: i32 = 12;
/// Dense keys as addresses within parts that shared memory holds, output written by the match: a
/// direct join of partitions. Where keys are not dense, or repeat, or columns are others than
/// WRITE_COMBINED moves, another join follows. Since 0.2.
pub const GPUJOIN_ALGORITHM_PDJ_CARRIED: i32 = 13;
/// How columns in host memory reach the device; columns in device memory are read where they are.
/// The planner takes OVERLAPPED_COPIES.
pub type gpujoin_transfer = i32;
/// Nothing to transfer: all columns are on the device.
pub const GPUJOIN_TRANSFER_NONE: i32 = 1;
/// Each column copied before the join begins.
pub const GPUJOIN_TRANSFER_EXPLICIT_COPIES: i32 = 2;
/// Copies on a stream of their own, under the transform of what has arrived (Rui & Tu 3.4).
pub const GPUJOIN_TRANSFER_OVERLAPPED_COPIES: i32 = 3;
/// For a probe side or a result larger than the device's memory: the build side kept on the device,
/// the probe side in chunks, results back to host memory (Rui & Tu 3.4). Must be named.
pub const GPUJOIN_TRANSFER_PROBE_CHUNKS: i32 = 7;
/// Which rows are left out before they are moved, or before a table of them is made.
pub type gpujoin_filter = i32;
/// Those with NULL keys.
pub const GPUJOIN_FILTER_NONE: i32 = 1;
/// And those that cannot match, by a bit for each key of a small range.
pub const GPUJOIN_FILTER_KEY_BITS: i32 = 2;
/// And most of those that cannot match, by a bit for each hash of a key (Bloom filter).
pub const GPUJOIN_FILTER_KEY_HASHES: i32 = 3;
/// How rows are moved before the match.
pub type gpujoin_transform = i32;
/// Rows stay where they are.
pub const GPUJOIN_TRANSFORM_NONE: i32 = 1;
/// Stable radix partition (Wu et al. 4.3).
pub const GPUJOIN_TRANSFORM_RADIX_ONESWEEP: i32 = 2;
/// Full sort of the varying key bits (Wu et al. 4.2).
pub const GPUJOIN_TRANSFORM_RADIX_SORT: i32 = 3;
/// Partitions as chains of buckets, without a histogram (PRBC: Sioulas et al., Paul et al.).
pub const GPUJOIN_TRANSFORM_BUCKET_CHAINS: i32 = 7;
/// Radix partition of all columns with one rank, rows of a partition in any order.
pub const GPUJOIN_TRANSFORM_RADIX_UNORDERED: i32 = 9;
/// Rows to parts of a table that shared memory holds, in one pass that combines its writes to
/// lines. With DIRECT_TABLE, or GLOBAL_TABLE of hashed keys (of 8 bytes within 2^32 steps), and
/// CARRIED, of columns of 4 and 8 bytes, 16 bytes of a side at most. Since 0.2.
pub const GPUJOIN_TRANSFORM_WRITE_COMBINED: i32 = 10;
/// How partitions of unequal size are spread over thread blocks. Of matches that join partitions.
pub type gpujoin_skew = i32;
/// One block joins one partition, whatever its size.
pub const GPUJOIN_SKEW_NONE: i32 = 1;
/// Heavy partitions are cut into units of bounded size.
pub const GPUJOIN_SKEW_WORK_UNITS: i32 = 2;
/// How rows with equal keys find each other.
pub type gpujoin_match = i32;
/// One hash table in device memory.
pub const GPUJOIN_MATCH_GLOBAL_TABLE: i32 = 1;
/// Hash tables in shared memory, a pair of partitions at a time.
pub const GPUJOIN_MATCH_CO_PARTITIONS: i32 = 2;
/// Lower bounds by merge path, upper bounds by a local search.
pub const GPUJOIN_MATCH_MERGE_PATH: i32 = 3;
/// A multiset of hash and row number; keys of 1 to 5 columns, verified (Lin & Liao 3.1.2).
pub const GPUJOIN_MATCH_ROW_MULTISET: i32 = 7;
/// Unique build keys from a small range are addresses of their rows; others are hashed.
pub const GPUJOIN_MATCH_DIRECT_TABLE: i32 = 8;
/// Both sides in the order of their keys as they lie: a tile of each at a time. With TRANSFORM_NONE
/// and CARRIED. Since 0.2.
pub const GPUJOIN_MATCH_MERGE_TILES: i32 = 9;
/// How the match finds room for what it writes. Not to be taken for gpujoin_join_spec.output.
pub type gpujoin_output = i32;
/// Blocks reserve exactly what they write.
pub const GPUJOIN_OUTPUT_GROWN: i32 = 1;
/// Of merges, which know their counts before they write.
pub const GPUJOIN_OUTPUT_COUNTED: i32 = 2;
/// Each block fills chunks: of columns, or of page_pairs pairs (Rui & Tu 3.2.2).
pub const GPUJOIN_OUTPUT_BLOCK_CHUNKS: i32 = 4;
/// Where payload values come from.
pub type gpujoin_gather = i32;
/// Fetched from the input columns by row number (GFUR of Wu et al.).
pub const GPUJOIN_GATHER_UNTRANSFORMED: i32 = 1;
/// Transformed with their keys, fetched by position (GFTR of Wu et al.).
pub const GPUJOIN_GATHER_TRANSFORMED: i32 = 2;
/// Transformed with their keys, or where they are; the match writes the output columns.
pub const GPUJOIN_GATHER_CARRIED: i32 = 3;
/// Row numbers transformed with their keys; the match writes them, and payloads are fetched by
/// them, but for a lone one of 4 bytes, which travels itself. Of RADIX_UNORDERED and CO_PARTITIONS.
pub const GPUJOIN_GATHER_CARRIED_ROWS: i32 = 4;
/// `struct gpujoin_plan_options` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_plan_options {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// AUTOMATIC = the context's; its plans can be the CPU's, too. One of CUDA joins so by itself,
    /// in gpujoin_join and gpujoin_plan_execute, what it has no room for in some pieces, where the
    /// CPU can read it and no technique is named here; the statistics say why.
    pub device: gpujoin_device,
    /// Names transform, match and gather at once, and no filter unless one is named.
    pub algorithm: gpujoin_algorithm,
    /// `transform` of the C struct.
    pub transform: gpujoin_transform,
    /// `match` of the C struct.
    pub r#match: gpujoin_match,
    /// `gather` of the C struct.
    pub gather: gpujoin_gather,
    /// The side that is hashed or sorted into; 0 = the smaller, unless its keys repeat.
    pub build_side: gpujoin_side,
    /// Of partitioning transforms: 2^bits partitions, 1 to 16 (on the CPU to 14).
    pub radix_bits: i32,
    /// Ignored where every column is on the device, but for PROBE_CHUNKS; on the CPU only NONE.
    pub transfer: gpujoin_transfer,
    /// `skew` of the C struct.
    pub skew: gpujoin_skew,
    /// `output` of the C struct.
    pub output: gpujoin_output,
    /// Of RADIX_UNORDERED, BUCKET_CHAINS and the partitions of section 11: 1 or 2 passes.
    pub passes: i32,
    /// Of BLOCK_CHUNKS of pairs and THREAD_PAGES, one of which is to be named with it: 1 to 2^20.
    pub page_pairs: i32,
    /// KEY_BITS and KEY_HASHES need RADIX_UNORDERED, or a table with CARRIED.
    pub filter: gpujoin_filter,
    /// Of PROBE_CHUNKS: rows of a chunk.
    pub probe_chunk_rows: i64,
    /// How long a call that plans or executes may take before it answers DEADLINE:
    /// gpujoin_plan_create and each gpujoin_plan_execute, gpujoin_join and gpujoin_join_sequence as
    /// a whole, each call on an operation and its probes. 0 = as long as it takes. Since 0.2.
    pub timeout_milliseconds: i64,
}

impl gpujoin_plan_options {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_plan_options>() as u32;
        value
    };
}

/// What was executed, and what it took.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_statistics {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Which executor ran.
    pub device: gpujoin_device,
    /// The plan in one line.
    pub plan: [c_char; 192],
    /// Why this executor and this plan.
    pub reason: [c_char; 256],
    /// `left_rows` of the C struct.
    pub left_rows: i64,
    /// `right_rows` of the C struct.
    pub right_rows: i64,
    /// `output_rows` of the C struct.
    pub output_rows: i64,
    /// Of the execution, seen by the calling thread.
    pub milliseconds: f64,
    /// Sum over the stages.
    pub predicted_bytes: u64,
    /// The most the execution held at one time, its result included.
    pub peak_memory_bytes: u64,
    /// `stage_count` of the C struct.
    pub stage_count: i32,
    /// Times the match had to stop for more output memory.
    pub output_resumes: i32,
}

impl gpujoin_statistics {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_statistics>() as u32;
        value
    };
}

/// `struct gpujoin_stage_statistics` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_stage_statistics {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `reserved` of the C struct.
    pub reserved: u32,
    /// "transfer", "transform", "match", "materialize" ...
    pub stage: [c_char; 32],
    /// `technique` of the C struct.
    pub technique: [c_char; 64],
    /// Of the device for CUDA, of the wall clock for the CPU.
    pub milliseconds: f64,
    /// By the traffic functions: memory traffic, read + written; for transfers, bytes on the link.
    pub predicted_bytes: u64,
}

impl gpujoin_stage_statistics {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_stage_statistics>() as u32;
        value
    };
}

/// What is known of a join before there is data, or without reading it: for optimizers, which ask
/// of many joins what they would cost. All since 0.2.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_expected_column {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Required; of runs name the type of the values.
    pub r#type: gpujoin_type,
    /// 1: there may be NULLs.
    pub is_nullable: i32,
    /// Of FIXED_BINARY: bytes of a value; of DICTIONARY (of text or binary): of an index, 0 = 4.
    pub value_width: i32,
    /// Of text and binary, also in views and dictionaries: bytes of a value on average; 0 = 16.
    pub value_bytes: f64,
}

impl gpujoin_expected_column {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_expected_column>() as u32;
        value
    };
}

/// `struct gpujoin_expected_side` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_expected_side {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Where the columns lie; 0 = host memory.
    pub memory: gpujoin_memory,
    /// `rows` of the C struct.
    pub rows: i64,
    /// Of which keys and output columns are positions; each with the same struct_size.
    pub columns: *const gpujoin_expected_column,
    /// `keys` of the C struct.
    pub keys: *const i32,
    /// `output_columns` of the C struct.
    pub output_columns: *const i32,
    /// `column_count` of the C struct.
    pub column_count: i32,
    /// `output_column_count` of the C struct.
    pub output_column_count: i32,
    /// Different keys; 0 = as many as the side of fewer rows has rows.
    pub distinct_keys: i64,
    /// Rows with a match, where has_matched_rows is 1; else those that the distinct keys say: the
    /// side with fewer of them has all of its own on the other side.
    pub matched_rows: i64,
    /// `has_matched_rows` of the C struct.
    pub has_matched_rows: i32,
    /// `reserved` of the C struct.
    pub reserved: i32,
}

impl gpujoin_expected_side {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_expected_side>() as u32;
        value
    };
}

/// `struct gpujoin_expected_join` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_expected_join {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Required.
    pub kind: gpujoin_join_kind,
    /// Required, both.
    pub left: *const gpujoin_expected_side,
    /// `right` of the C struct.
    pub right: *const gpujoin_expected_side,
    /// As in gpujoin_join_spec.
    pub key_count: i32,
    /// `output` of the C struct.
    pub output: i32,
    /// `order` of the C struct.
    pub order: gpujoin_order,
    /// 1: pairs says how many pairs of rows match; else they follow from the keys.
    pub has_pairs: i32,
    /// `pairs` of the C struct.
    pub pairs: i64,
}

impl gpujoin_expected_join {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_expected_join>() as u32;
        value
    };
}

/// `struct gpujoin_estimate` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_estimate {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// The executor that is faster where the columns lie; CUDA's result stays on the device.
    pub device: gpujoin_device,
    /// `output_rows` of the C struct.
    pub output_rows: i64,
    /// As gpujoin_plan_count has them.
    pub output_bytes: u64,
    /// Of planning and executing, the columns' copies to the device included.
    pub cpu_milliseconds: f64,
    /// 0, as are the others of CUDA, on a context of the CPU.
    pub cuda_milliseconds: f64,
    /// The result's way to host memory.
    pub cuda_fetch_milliseconds: f64,
    /// Memory traffic, read + written.
    pub cpu_bytes: u64,
    /// `cuda_bytes` of the C struct.
    pub cuda_bytes: u64,
    /// At the peak, the output included, inputs not.
    pub cpu_memory_bytes: u64,
    /// `cuda_memory_bytes` of the C struct.
    pub cuda_memory_bytes: u64,
    /// The plan in one line.
    pub cpu_plan: [c_char; 192],
    /// `cuda_plan` of the C struct.
    pub cuda_plan: [c_char; 192],
}

impl gpujoin_estimate {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_estimate>() as u32;
        value
    };
}

/// ```text
/// A fact relation with a foreign key for each of several dimension relations, joined with one after
/// the other: step 0 joins the fact relation with the first dimension, step 1 what is left with the
/// second, and so on. A row without a match in a dimension leaves, unless its step is a LEFT join;
/// one with several multiplies, unless it is a LEFT_SEMI join; and a NULL key matches nothing,
/// unless key_flags say so. In every step the fact side is the left one and the dimension the right
/// one.
///
/// Between the steps row numbers of the fact relation are kept. The next foreign key is fetched by
/// them just before its join, and the output columns of the fact relation at the end, so that none
/// of them is moved by a join that does not need it (Wu et al. 5.2.7). Dimensions choose between two
/// ways:
/// ```
pub type gpujoin_materialize = i32;
/// For each dimension the one that moves fewer bytes, by widths and the number of joins to come.
pub const GPUJOIN_MATERIALIZE_AUTOMATIC: i32 = 0;
/// A dimension's output columns are columns of the joins after its own (Wu et al. 5.2.7).
pub const GPUJOIN_MATERIALIZE_AS_THEY_COME: i32 = 1;
/// Its row numbers are, and its output columns are fetched by them after the last join.
pub const GPUJOIN_MATERIALIZE_AT_THE_END: i32 = 2;
/// `struct gpujoin_sequence_step` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_sequence_step {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Of fact_keys and dimension_keys; 1 in this version.
    pub key_count: i32,
    /// Required; of the same context.
    pub dimension: *const gpujoin_relation,
    /// Column positions in the fact relation.
    pub fact_keys: *const i32,
    /// Column positions in the dimension.
    pub dimension_keys: *const i32,
    /// Output columns of the dimension, any order, keys allowed, repeats allowed.
    pub dimension_columns: *const i32,
    /// `dimension_column_count` of the C struct.
    pub dimension_column_count: i32,
    /// INNER (or 0); LEFT: a row without a match stays, the dimension's columns NULL; LEFT_SEMI:
    /// rows with a match stay, once each, without dimension columns. Since 0.2, as all that follow.
    pub kind: gpujoin_join_kind,
    /// GPUJOIN_KEY_*, or-ed.
    pub key_flags: i32,
    /// `reserved` of the C struct.
    pub reserved: i32,
}

impl gpujoin_sequence_step {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_sequence_step>() as u32;
        value
    };
}

/// `struct gpujoin_sequence_spec` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_sequence_spec {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// 1 or more.
    pub step_count: i32,
    /// Each with the same struct_size, in the order of the joins.
    pub steps: *const gpujoin_sequence_step,
    /// Output columns of the fact relation, any order, keys allowed, repeats allowed.
    pub fact_columns: *const i32,
    /// `fact_column_count` of the C struct.
    pub fact_column_count: i32,
    /// GPUJOIN_OUTPUT_COLUMNS, GPUJOIN_OUTPUT_PAIRS or both; 0 = COLUMNS when columns are named,
    /// else PAIRS. PAIRS: a row number in the fact relation and one in each dimension.
    pub output: i32,
    /// `materialize` of the C struct.
    pub materialize: gpujoin_materialize,
    /// `reserved` of the C struct.
    pub reserved: i32,
}

impl gpujoin_sequence_spec {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_sequence_spec>() as u32;
        value
    };
}

/// ```text
/// For engines: rows of both sides in batches, from any thread, more than memory holds. Since 0.2.
///
///   gpujoin_build_create       a side whose rows are kept: its columns and keys
///   gpujoin_build_append       its batches, from any thread
///   gpujoin_build_finish       after it the rows are const, and any number of joins share them
///   gpujoin_operation_create   one join of any kind with a build
///   gpujoin_probe_create       one for each thread that has rows of the other side
///   gpujoin_probe_append       its batches; NOT_READY: take results first
///   gpujoin_probe_next         results, while rows still come
///   gpujoin_probe_finish       no batch will come; take results until there are none
///   gpujoin_operation_close    no probe will come
///   gpujoin_operation_next     what comes out when all rows have come: rows of the build side by
///                              their matches, and what did not fit into memory
///   gpujoin_build_get_filter   what a finished build says of rows that it cannot match: for scans,
///                              and for probes
///
/// The results of an operation and its probes together are the rows of gpujoin_join of all rows of
/// both sides, in any order, but that each result of a probe keeps to spec.order where that is the
/// probe side's.
///
/// Memory: batches are copied when they are appended; they are the caller's again when the call
/// returns. What a build holds in the end, and what its joins need, is to fit into a share of the
/// context's limits (an eighth of the host's for rows that wait, less beside others; for the build a
/// fifth of a device's, or a sixteenth of the host's; for a part of it a sixteenth of either). What
/// does not fit is partitioned by its keys, the partitions that memory has no room for go to
/// options.spill_path of the context, and the operation's joins of partitions run when all rows have
/// come. Without that folder: MEMORY_LIMIT. gpujoin_operation_explain says which way, and why.
///
/// The least limits of a context with builds and operations: of host memory 1 MiB, or 4096 rows of
/// the wider side (text and binary by their offsets) where that is more; of device memory 24 MiB; of
/// page-locked memory any. Below them the calls that create them answer MEMORY_LIMIT, and how much
/// it takes: for one operation at a time, results destroyed as they come, text of a few KiB a value,
/// and beside rows with a NULL in a key of MARK and NOT IN joins, and with spec.aggregates all build
/// rows of a key. Operations at the same time wait for each other: a call that has no room fails
/// when nobody has given memory back for a second.
///
/// An error of an operation or a probe leaves the build and other operations as they are. Where a
/// probe failed, or was destroyed before its last result was taken, the rows of its operation are
/// not complete, and gpujoin_operation_next says so.
/// ```
#[repr(C)]
pub struct gpujoin_build {
    _private: [u8; 0],
}

/// A handle: `gpujoin_operation*` of the header.
#[repr(C)]
pub struct gpujoin_operation {
    _private: [u8; 0],
}

/// A handle: `gpujoin_probe*` of the header.
#[repr(C)]
pub struct gpujoin_probe {
    _private: [u8; 0],
}

/// `struct gpujoin_build_options` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_build_options {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// Which executor its joins run on; AUTOMATIC = the context's.
    pub device: gpujoin_device,
    /// 1: rows have numbers, which are given with each batch; results that have row numbers have
    /// these. 0: joins with this build put out none of its row numbers.
    pub has_row_numbers: i32,
    /// `reserved` of the C struct.
    pub reserved: i32,
    /// How long a call on the build may take before it answers DEADLINE. 0 = as long as it takes.
    pub timeout_milliseconds: i64,
}

impl gpujoin_build_options {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_build_options>() as u32;
        value
    };
}

/// `struct gpujoin_build_info` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_build_info {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `is_finished` of the C struct.
    pub is_finished: i32,
    /// `rows` of the C struct.
    pub rows: i64,
    /// That the rows take, in memory and in files; the latter's share.
    pub bytes: u64,
    /// `spilled_bytes` of the C struct.
    pub spilled_bytes: u64,
    /// Of a finished build: 1: it fits, and rows of probes are joined as they come; 0: operations
    /// join it in partitions.
    pub is_whole: i32,
    /// `partitions` of the C struct.
    pub partitions: i32,
}

impl gpujoin_build_info {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_build_info>() as u32;
        value
    };
}

/// ```text
/// Filters of builds: which rows of another table none of a build's keys equals. A row that passes
/// may have no match; one that does not pass has none.
///
/// A filter is const, belongs to no build once it is made, and may be used by any number of threads
/// at a time.
/// ```
#[repr(C)]
pub struct gpujoin_key_filter {
    _private: [u8; 0],
}

/// `gpujoin_key_filter_kind` of the header.
pub type gpujoin_key_filter_kind = i32;
/// `GPUJOIN_KEY_FILTER_AUTOMATIC` of the header.
pub const GPUJOIN_KEY_FILTER_AUTOMATIC: i32 = 0;
/// All rows pass.
pub const GPUJOIN_KEY_FILTER_NONE: i32 = 1;
/// Rows whose key is the lowest, the highest, or between them pass. Of integers, decimals, dates,
/// times, timestamps, durations, and truth values, whose values are at most 64 bits as they lie in
/// the build. Of a build without keys (but NULLs that equal nothing) none passes, whatever the
/// type.
pub const GPUJOIN_KEY_FILTER_MIN_MAX: i32 = 2;
/// Of the same types: a bit for each value from the lowest to the highest. Exact.
pub const GPUJOIN_KEY_FILTER_BITMAP: i32 = 3;
/// Of any type, and of several keys together: a Bloom filter of the keys' hashes.
pub const GPUJOIN_KEY_FILTER_BLOOM: i32 = 4;
/// `struct gpujoin_key_filter_options` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_key_filter_options {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// AUTOMATIC = MIN_MAX where the values from the lowest to the highest are all there; BITMAP
    /// where it takes no more than 32 KiB, or twice what a Bloom filter takes; else BLOOM; NONE
    /// where no row would be dropped, or half of those without a match would pass. A MIN_MAX or a
    /// BITMAP reads the rows of the build twice, a BLOOM once.
    pub kind: gpujoin_key_filter_kind,
    /// Of the bits. 0 = a thirty-second of the host's limit, 256 MiB without one.
    pub largest_bytes: u64,
    /// Of a BLOOM: of rows without a match, what share may pass, above 0 and below 1, as far as
    /// largest_bytes allows. 0 = 0.01, for 10.5 bits a key.
    pub false_positive_rate: f64,
}

impl gpujoin_key_filter_options {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_key_filter_options>() as u32;
        value
    };
}

/// ```text
/// What a filter is. Pointers are to memory of the filter's, and good until it is destroyed.
///
/// With `bits` a host tests rows of its own scan without a call:
///
///   BITMAP   value v of a key has a bit if v - first_value, both in units of the build's column (a
///            DECIMAL as its integer of that scale, a TIMESTAMP_MS in milliseconds), is 0 to
///            last_value - first_value: bit (v - first_value) % 8 of byte (v - first_value) / 8.
///   BLOOM    the split block Bloom filter of Apache Parquet: blocks of 32 bytes, 8 little-endian
///            words each. A hash h of 64 bits has block ((h >> 32) * blocks) >> 32, and of its word
///            i the bit ((uint32_t)h * salt[i]) >> 27, which is one of 32 bits; a row passes where
///            all 8 are set. The salts are Parquet's: 0x47b6137b, 0x44974d91, 0x8824ad5b,
///            0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31.
///
/// h is XXH64 with seed 0, of a value, whatever its type, so that INT32 5, UINT64 5 and DECIMAL 5.00
/// share theirs:
///
///   - of an integer of 64 bits, or a decimal that is one, its 8 bytes, lowest first, as an int64;
///     of dates, times, timestamps and durations the same of their nanoseconds, or 16 bytes where
///     these take more than 64 bits; of a truth value 0 or 1 as an int64;
///   - of a float its value as a double, -0.0 as 0.0 and NaN as 0x7ff8000000000000;
///   - of any other number, m * 10^e where m is no multiple of ten: m as 32 bytes in two's
///     complement, then e as an int32;
///   - of text and of binary values their bytes; of 16-byte intervals the lower 8 bytes where the
///     upper ones are only their sign, else all;
///   - of several keys: XXH64 of their hashes, 8 bytes each, in the order of the keys; NULL, where
///     a key's flags say that it equals NULL, has the hash 0x9ae16a3b2f90404f.
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_key_filter_info {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `kind` of the C struct.
    pub kind: gpujoin_key_filter_kind,
    /// Of the build's keys: how many the filter has, and their types, \[key_count\].
    pub key_count: i32,
    /// 1: a row of the build has a NULL in one of them.
    pub has_null: i32,
    /// `key_types` of the C struct.
    pub key_types: *const gpujoin_type,
    /// Rows of the build, and different values of their keys: counted where distinct_is_exact is 1,
    /// else estimated (by HyperLogLog, of a standard error of 1.6 %).
    pub rows: i64,
    /// `distinct` of the C struct.
    pub distinct: i64,
    /// `distinct_is_exact` of the C struct.
    pub distinct_is_exact: i32,
    /// 1: rows with a NULL pass: the key's flags say that NULL equals NULL, and the build has one.
    /// Of several keys 0.
    pub passes_null: i32,
    /// Of rows without a match, the share that is expected to pass. Of MIN_MAX, which nobody can
    /// tell of, 1, but 0 where it is exact; of NONE 1; of a BITMAP 0.
    pub false_positive_rate: f64,
    /// The lowest and the highest value, value_bytes\[0\] and \[1\] bytes each, as a column of the
    /// key's type has them: of BOOL a byte, of text and binary the bytes of the value, which are
    /// compared as bytes; NULL of several keys, of other types (INTERVAL_*), and where there is no
    /// value. NaN does not count, -0.0 is 0.0.
    pub min_value: *const c_void,
    /// `max_value` of the C struct.
    pub max_value: *const c_void,
    /// `value_bytes` of the C struct.
    pub value_bytes: [u64; 2],
    /// Of MIN_MAX and BITMAP, in units of the build's column: what passes lies between.
    pub first_value: i64,
    /// `last_value` of the C struct.
    pub last_value: i64,
    /// Of BITMAP and BLOOM: host memory, aligned to 32 bytes.
    pub bits: *const c_void,
    /// `bytes` of the C struct.
    pub bytes: u64,
}

impl gpujoin_key_filter_info {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_key_filter_info>() as u32;
        value
    };
}

/// Called once, when gpujoin_operation_next would no longer answer NOT_READY: on the thread that
/// closed the operation or ended its last probe. Must not call the library.
pub type gpujoin_ready_function = Option<unsafe extern "C" fn(user: *mut c_void)>;
/// A filter of another build, say of a later join, that rows of probes have to pass: those that do
/// not are as if they had not been selected.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_applied_filter {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// As many as the filter has keys.
    pub column_count: i32,
    /// Required; of the build's context.
    pub filter: *const gpujoin_key_filter,
    /// Positions among the columns of the probe side.
    pub columns: *const i32,
}

impl gpujoin_applied_filter {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_applied_filter>() as u32;
        value
    };
}

/// Whether rows of probes are tested by a filter of the operation's own build before they are kept:
/// never where a row without a match comes out or changes what does, and never rows that are read
/// where they lie.
pub type gpujoin_own_filter = i32;
/// Where the build fits, on the CPU; where it does not, and host memory has a limit. Once an eighth
/// as many rows came as the build has, a filter is made, unless few were seen without a match, and
/// used while a sample shows that it drops two fifths, or one fifth of what it keeps from files.
pub const GPUJOIN_OWN_FILTER_AUTOMATIC: i32 = 0;
/// `GPUJOIN_OWN_FILTER_OFF` of the header.
pub const GPUJOIN_OWN_FILTER_OFF: i32 = 1;
/// All rows, by a filter that is made with the operation, also where the build fits.
pub const GPUJOIN_OWN_FILTER_ON: i32 = 2;
/// ```text
/// Says which pairs of rows with equal keys match, of a residual that is GPUJOIN_OPERATOR_CALLER.
///
/// rows      of candidates: 1 to 65536.
/// schema, candidates  a struct array in host memory: left_row, right_row (int64) of the sides whose
///           rows have numbers, then options.decide_left_columns and decide_right_columns. May be
///           moved out, as importing does; what is left is released when it has returned.
/// matches   [rows] bytes, all 0: written, 1 = the pair matches.
/// Answers   GPUJOIN_OK, or the status that the call for the result is to end with.
///
/// Called in gpujoin_probe_next and gpujoin_operation_next on the thread that calls these, at the
/// same time on as many threads as do. Must not call the probe or the operation, but for cancel.
/// Pairs of rows for whose result there was no room are shown again.
/// ```
pub type gpujoin_decide_function = Option<unsafe extern "C" fn(
    rows: i64, schema: *mut ArrowSchema, candidates: *mut ArrowArray, matches: *mut u8,
    user: *mut c_void
) -> gpujoin_status>;
/// `struct gpujoin_operation_options` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_operation_options {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// 1: rows of probes have numbers, which are given with each batch; results that have row
    /// numbers have these. 0: none of the probe side's come out.
    pub has_row_numbers: i32,
    /// NULL = all automatic. build_side says which side of spec the build is; 0 = the right one.
    pub plan: *const gpujoin_plan_options,
    /// NULL = none.
    pub ready: gpujoin_ready_function,
    /// `ready_user` of the C struct.
    pub ready_user: *mut c_void,
    /// filter_count of them, each with the same struct_size; NULL = none. Batches of which some
    /// rows are dropped so are not read where they lie.
    pub filters: *const gpujoin_applied_filter,
    /// `filter_count` of the C struct.
    pub filter_count: i32,
    /// ON where the kind of join or a promise allows none: UNSUPPORTED.
    pub own_filter: gpujoin_own_filter,
    /// Required by a residual that is GPUJOIN_OPERATOR_CALLER, NULL with any other.
    pub decide: gpujoin_decide_function,
    /// `decide_user` of the C struct.
    pub decide_user: *mut c_void,
    /// Columns of each side that it is shown.
    pub decide_left_columns: *const i32,
    /// `decide_right_columns` of the C struct.
    pub decide_right_columns: *const i32,
    /// `decide_left_column_count` of the C struct.
    pub decide_left_column_count: i32,
    /// `decide_right_column_count` of the C struct.
    pub decide_right_column_count: i32,
}

impl gpujoin_operation_options {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_operation_options>() as u32;
        value
    };
}

/// What a call for the next result found.
pub type gpujoin_state = i32;
/// Nothing yet: of a probe, as rows have to come; of an operation, as its probes still run.
pub const GPUJOIN_STATE_NOT_READY: i32 = 0;
/// A result.
pub const GPUJOIN_STATE_READY: i32 = 1;
/// Nothing, and there never will be.
pub const GPUJOIN_STATE_FINISHED: i32 = 2;
/// `struct gpujoin_progress` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gpujoin_progress {
    /// `struct_size` of the C struct.
    pub struct_size: u32,
    /// `reserved` of the C struct.
    pub reserved: u32,
    /// Of the probe side that came, and of the results.
    pub rows_in: i64,
    /// `rows_out` of the C struct.
    pub rows_out: i64,
    /// `bytes_in` of the C struct.
    pub bytes_in: u64,
    /// `bytes_out` of the C struct.
    pub bytes_out: u64,
    /// Of both sides, in files.
    pub spilled_bytes: u64,
    /// Pieces that were joined, of those known so far: of probes, and when all rows have come of
    /// the partitions. One that is partitioned again adds as many as it has parts.
    pub pieces_done: i64,
    /// `pieces` of the C struct.
    pub pieces: i64,
    /// Of rows_in, those that did not pass a filter.
    pub rows_dropped: i64,
}

impl gpujoin_progress {
    /// Its `_INIT` macro: zero, but for `struct_size`.
    pub const INIT: Self = {
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: Self = unsafe { std::mem::zeroed() };
        value.struct_size = size_of::<gpujoin_progress>() as u32;
        value
    };
}

/// gpujoin_transfer: managed memory, migrated by page faults (UMJ, Paul et al. IV.A.4).
pub const GPUJOIN_TRANSFER_MANAGED: i32 = 4;
/// gpujoin_transfer: managed memory, prefetched (UMJ-PF, Paul et al. V.C.3).
pub const GPUJOIN_TRANSFER_MANAGED_PREFETCH: i32 = 5;
/// gpujoin_transfer: kernels read host memory over the link.
pub const GPUJOIN_TRANSFER_ZERO_COPY: i32 = 6;
/// gpujoin_transform: partition with a histogram for each thread (PTH, Paul et al. IV.A.2).
pub const GPUJOIN_TRANSFORM_HISTOGRAM_THREAD: i32 = 4;
/// gpujoin_transform: partition with a histogram for each warp (WSH, Paul et al. IV.A.2).
pub const GPUJOIN_TRANSFORM_HISTOGRAM_WARP: i32 = 5;
/// gpujoin_transform: partition with a histogram for each block, by shared atomics (BSH, Rui & Tu
/// 3.2.1).
pub const GPUJOIN_TRANSFORM_HISTOGRAM_BLOCK: i32 = 6;
/// gpujoin_transform: merge sort by merge path (Rui & Tu 3.3.1).
pub const GPUJOIN_TRANSFORM_MERGE_SORT: i32 = 8;
/// gpujoin_skew: partitions get blocks in proportion to their size (Paul et al. IV.B.1).
pub const GPUJOIN_SKEW_REDISTRIBUTED_BLOCKS: i32 = 3;
/// gpujoin_skew: the block that meets a heavy partition launches a kernel for it (Rui & Tu 3.2.3).
pub const GPUJOIN_SKEW_CHILD_KERNELS: i32 = 4;
/// gpujoin_match: a pair of partitions at a time, every row with every row (Paul et al. IV.A.2).
pub const GPUJOIN_MATCH_NESTED_LOOP: i32 = 4;
/// gpujoin_match: lower and upper bounds by a merge path each (Rui & Tu 3.3.2).
pub const GPUJOIN_MATCH_MERGE_TWO_BOUNDS: i32 = 5;
/// gpujoin_match: lower bounds only, where a check finds build keys unique; else as above (Wu et
/// al. 3.1).
pub const GPUJOIN_MATCH_MERGE_ONE_BOUND: i32 = 6;
/// gpujoin_output: each thread fills thread pages of page_pairs pairs (Rui & Tu 3.2.2).
pub const GPUJOIN_OUTPUT_THREAD_PAGES: i32 = 3;
/// gpujoin_output: count, sum, and match again to write (Rui & Tu 3.2.2, Lin & Liao 3.1.2).
pub const GPUJOIN_OUTPUT_TWO_PASSES: i32 = 5;
/// gpujoin_output: groups of partitions whose estimated output fits; overflow is found and repaired
/// (Paul et al. IV.B.2).
pub const GPUJOIN_OUTPUT_ESTIMATED_GROUPS: i32 = 6;

functions! {
    /// gpujoin_version_number: the version of the loaded library, as GPUJOIN_VERSION_NUMBER is of
    /// this header. Any thread, any time. Since 0.1.
    pub fn gpujoin_version_number() -> i32;
    /// gpujoin_version_string: for example "0.2.0". Static storage. Any thread, any time. Since
    /// 0.1.
    pub fn gpujoin_version_string() -> *const c_char;
    /// gpujoin_status_name: for example "GPUJOIN_ERROR_CANCELLED"; "GPUJOIN_ERROR_UNKNOWN" for a
    /// code unknown to this library. Static storage. Any thread, any time. Since 0.1.
    pub fn gpujoin_status_name(status: gpujoin_status) -> *const c_char;
    /// ```text
    /// gpujoin_context_create: open a device.
    ///
    /// options   NULL = all automatic; read before the call returns, not kept.
    /// out       on success a new context; destroy with gpujoin_context_destroy.
    /// Blocking: initializes CUDA in this process when the device is CUDA or automatic (hundreds of
    ///           milliseconds, once).
    /// Threads:  any.
    /// Errors:   INVALID_ARGUMENT (also a calibration file that cannot be read, is not complete, or was
    ///           written for another device, number of CPU threads or version of this library: it is
    ///           never used in part; a spill folder that is none, or in which no file can be made),
    ///           ABI_MISMATCH, NO_DEVICE (device CUDA only), OUT_OF_MEMORY, CUDA,
    ///           DEVICE_LOST.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_context_create(
        options: *const gpujoin_context_options, out: *mut *mut gpujoin_context,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_context_get_info: what the context runs on, and its memory. Does not wait.
    ///
    /// info      written; its struct_size says how much of it there is.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, FORKED.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_context_get_info(
        context: *mut gpujoin_context, info: *mut gpujoin_context_info, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_context_cancel: ask the plannings and executions that run now to stop, or else the next
    /// one to begin; they answer GPUJOIN_ERROR_CANCELLED, and the request is then spent. Does not wait.
    ///
    /// Threads:  any, at any time; not from a signal handler.
    /// Errors:   INVALID_ARGUMENT, FORKED.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_context_cancel(
        context: *mut gpujoin_context, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_context_calibrate: measure what the planner has to know of this machine, use it in this
    /// context from now on, and keep it in a file for options.calibration_path of later ones. Without it
    /// the planner works with figures built in for each architecture, most of them scaled from one that
    /// was measured: good enough to rank plans, not to promise times.
    ///
    /// Measured are copies in the memory that joins run in, random reads and inserts there and in the
    /// cache, launches, for CUDA copies from pageable host memory; and the passes and matches of joins
    /// of 2^25 (CUDA) or 2^22 (CPU) rows a side. Explain says whose figures it predicts with. Plans for
    /// the CPU in a CUDA context keep the built-in ones.
    ///
    /// path      where the file goes: text, one "name value" a line, rates in bytes, reads, inserts,
    ///           rows or pairs a second, launch_seconds in seconds. A regular file that is there is
    ///           replaced by the complete new one, or not at all; anything else is refused. Of a link,
    ///           what it leads to is replaced.
    /// Blocking: until all is measured, seconds. Beside other work on the device or the cores it finds
    ///           too little. No other call on this context may run. May be cancelled; reports progress
    ///           as "calibrate", and the stages of its joins as theirs.
    /// Memory:   up to 3 GiB of device memory (CUDA) or 1 GiB (CPU) within the context's limit, given
    ///           back to the pool.
    /// Errors:   INVALID_ARGUMENT (the file cannot be written), OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED,
    ///           CUDA, DEVICE_LOST, FORKED.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_context_calibrate(
        context: *mut gpujoin_context, path: *const c_char, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_context_trim: give cached memory that nothing uses back to the system.
    ///
    /// Errors:   INVALID_ARGUMENT, CUDA, DEVICE_LOST, FORKED.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_context_trim(
        context: *mut gpujoin_context, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_context_destroy: objects made from the context stay valid and keep what they need of
    /// it. Accepts NULL. Any thread. Since 0.1.
    pub fn gpujoin_context_destroy(context: *mut gpujoin_context);
    /// ```text
    /// gpujoin_relation_create: describe a table by plain columns. Does not wait.
    ///
    /// rows      of every column, 0 or more.
    /// columns   column_count descriptors, each with the same struct_size; copied. What they point to
    ///           stays yours.
    /// out       on success a new relation; destroy with gpujoin_relation_destroy.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, TYPE, TOO_MANY_ROWS, UNSUPPORTED (device memory with a
    ///           CPU context), DEVICE_LOST, FORKED.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_relation_create(
        context: *mut gpujoin_context, rows: i64, columns: *const gpujoin_column, column_count: i32,
        out: *mut *mut gpujoin_relation, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_relation_import: a table from the Arrow C data interface (host memory), without a copy.
    /// Does not wait.
    ///
    /// schema, array  one struct array (a record batch), sliced or not. Moved in on success: the
    ///                relation releases both when it and the plans made from it are gone, and their
    ///                release members read NULL on return. On failure both stay yours. Columns of nested
    ///                types are allowed and may not be named by a join; dictionaries of them may be
    ///                output columns.
    /// out       on success a new relation.
    /// Errors:   INVALID_ARGUMENT (also: nulls in the struct itself), TOO_MANY_ROWS, OUT_OF_MEMORY,
    ///           DEVICE_LOST, FORKED.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_relation_import(
        context: *mut gpujoin_context, schema: *mut ArrowSchema, array: *mut ArrowArray,
        out: *mut *mut gpujoin_relation, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_relation_import_device: the same from the Arrow C device data interface: CPU, CUDA,
    /// CUDA_HOST or CUDA_MANAGED memory. Streams that read it wait for sync_event (a cudaEvent_t*);
    /// the call does not. Both structs are moved in on success.
    ///
    /// Errors:   as of gpujoin_relation_import, and CUDA; UNSUPPORTED for another device type, or for
    ///           CUDA memory with a CPU context or of another device.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_relation_import_device(
        context: *mut gpujoin_context, schema: *mut ArrowSchema, array: *mut ArrowDeviceArray,
        out: *mut *mut gpujoin_relation, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_relation_select: a relation of some rows of another one, which every join takes as any
    /// other. Neither the columns nor the selection are copied: both must stay valid and unchanged until
    /// the new relation and every plan made from it are destroyed. The first handle need not be kept.
    ///
    /// Row numbers that joins put out, and those in messages, are those of the relation as registered.
    /// A selection of a selected relation picks of those rows: bit or number 0 is the first row picked.
    ///
    /// A join copies what it reads of the rows that are picked when its plan is made, keys and columns
    /// of fixed widths, into memory of the same kind, and fetches other output columns from where they
    /// are; so it does with columns that nothing but the output reads, where the parts of both relations
    /// that are picked say that few of these rows come out. Where a bitmap leaves nearly all rows, and
    /// rows that are not picked cannot come out, it takes their keys for NULL in the place of that.
    /// gpujoin_plan_explain says which.
    ///
    /// relation   may be selected itself.
    /// selection  required; what it points to stays yours.
    /// out        on success a new relation; destroy with gpujoin_relation_destroy. Its size is the
    ///            number of rows picked.
    /// Blocking:  until the bits are counted, or the numbers are checked.
    /// Errors:    INVALID_ARGUMENT (also: a row number that the relation has not; the message names the
    ///            first), ABI_MISMATCH, TOO_MANY_ROWS, UNSUPPORTED (device memory with a CPU context),
    ///            CANCELLED, CUDA, DEVICE_LOST, FORKED.
    /// Since:     0.2
    /// ```
    pub fn gpujoin_relation_select(
        relation: *const gpujoin_relation, selection: *const gpujoin_selection,
        out: *mut *mut gpujoin_relation, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_relation_get_size: rows and columns; either pointer may be NULL. Does not wait.
    ///
    /// Errors:   INVALID_ARGUMENT.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_relation_get_size(
        relation: *const gpujoin_relation, rows: *mut i64, columns: *mut i32,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_relation_destroy: plans made from the relation stay valid, and need its columns.
    /// Accepts NULL. Any thread. Since 0.1.
    pub fn gpujoin_relation_destroy(relation: *mut gpujoin_relation);
    /// ```text
    /// gpujoin_join: plan and execute a join of two relations of one context.
    ///
    /// spec      required; read before the call returns, not kept.
    /// options   NULL = all automatic: the planner chooses, see section 8.
    /// out       on success a new result, which owns its memory and needs neither relation; destroy
    ///           with gpujoin_result_destroy.
    /// Blocking: until the result is complete. Waits for its stream only.
    /// Memory:   grows with the output, within the context's limit; on failure all of it is back in the
    ///           pool.
    /// Errors:   those of gpujoin_plan_create and gpujoin_plan_execute.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_join(
        context: *mut gpujoin_context, left: *const gpujoin_relation,
        right: *const gpujoin_relation, spec: *const gpujoin_join_spec,
        options: *const gpujoin_plan_options, out: *mut *mut gpujoin_result,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_result_get_rows: number of output rows. Does not wait.
    ///
    /// Errors:   INVALID_ARGUMENT.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_result_get_rows(
        result: *const gpujoin_result, rows: *mut i64, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_result_fetch: copy a page of indices and columns into the caller's buffers, host or
    /// device.
    ///
    /// page      NULL = the whole result.
    /// fetches   fetch_count requests with the same struct_size; their buffers stay yours.
    /// Blocking: until the buffers are written.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, BUFFER_TOO_SMALL (nothing written, page unchanged),
    ///           OUT_OF_MEMORY, MEMORY_LIMIT,
    ///           TYPE, UNSUPPORTED, CUDA, DEVICE_LOST, FORKED.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_result_fetch(
        result: *mut gpujoin_result, page: *mut gpujoin_page, fetches: *mut gpujoin_fetch,
        fetch_count: i32, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_result_export: a page as an Arrow struct array in host memory. Its children are the
    /// pairs, when asked for (left_row, right_row: uint32, NULL where a side has no row; of a semi,
    /// anti, mark or NOT IN join that of its side alone; of a sequence left_row, right_row_0,
    /// right_row_1 ...), then the output columns with their names and Arrow types.
    ///
    /// page           NULL = the whole result.
    /// schema, array  overwritten; yours, to release both. They outlive the result. On a CPU result
    ///                nothing is copied: the array shares the result's memory.
    /// Blocking: until a CUDA result has been copied.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, OUT_OF_MEMORY, CUDA, DEVICE_LOST, FORKED; UNSUPPORTED:
    ///           a dictionary of a nested type that lies in the other memory.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_result_export(
        result: *mut gpujoin_result, page: *mut gpujoin_page, schema: *mut ArrowSchema,
        array: *mut ArrowArray, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_result_export_device: the same where the result lies, without a copy: device memory
    /// (ARROW_DEVICE_CUDA) for a CUDA result, host memory for a CPU result and for one of
    /// PROBE_CHUNKS. The data is complete: sync_event is NULL. Dictionaries and buffers of views
    /// that lie in the other memory are copied, by either call; otherwise it does not wait. Errors:
    /// as of gpujoin_result_export. Since:    0.1
    pub fn gpujoin_result_export_device(
        result: *mut gpujoin_result, page: *mut gpujoin_page, schema: *mut ArrowSchema,
        array: *mut ArrowDeviceArray, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_result_decide: the rows of a join whose residual the caller evaluated (OPERATOR_CALLER).
    ///
    /// candidates  the result of the join; it stays as it is.
    /// answers   one BOOL column with a row for each candidate, in their order: whether the pair
    ///           matches; NULL is no. Where the context reads it; read before the call returns.
    /// out       on success a new result of the kind, columns and output that the join was asked for.
    /// Blocking: until the result is complete.
    /// Errors:   INVALID_ARGUMENT (also: candidates of another join, another number of rows), TYPE,
    ///           TOO_MANY_ROWS (2^32 - 1 candidates or more), SEVERAL_MATCHES, ROW_LIMIT, BYTE_LIMIT,
    ///           BROKEN_PROMISE, OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED, CUDA, DEVICE_LOST, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_result_decide(
        candidates: *mut gpujoin_result, answers: *const gpujoin_relation,
        out: *mut *mut gpujoin_result, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_result_destroy: Arrow arrays exported from it stay valid. Accepts NULL. Any thread.
    /// Since 0.1.
    pub fn gpujoin_result_destroy(result: *mut gpujoin_result);
    /// ```text
    /// gpujoin_plan_create: choose how to join two relations of one context.
    ///
    /// spec      required; copied.
    /// options   NULL = all automatic; copied.
    /// out       on success a new plan; destroy with gpujoin_plan_destroy. It refers to both relations
    ///           and may be executed any number of times.
    /// Blocking: samples keys when the planner has a choice to make for 2^21 rows or more, of a join of
    ///           more than 0.42 to 0.8 ms: one read of at most 2^24 of the smaller side's keys, and of
    ///           all keys where one of these comes very often. Of shorter ones 2^16 of each may be read.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED, TYPE, ILLEGAL_PLAN, OUT_OF_MEMORY,
    ///           MEMORY_LIMIT, CANCELLED, NO_DEVICE (options.device CUDA on a CPU context), CUDA,
    ///           DEVICE_LOST, FORKED, BROKEN_PROMISE.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_plan_create(
        context: *mut gpujoin_context, left: *const gpujoin_relation,
        right: *const gpujoin_relation, spec: *const gpujoin_join_spec,
        options: *const gpujoin_plan_options, out: *mut *mut gpujoin_plan, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_plan_explain: the plan as text: the techniques, what was sampled, each candidate with its
    /// predicted bytes and milliseconds, and why the winner won. Does not wait.
    ///
    /// buffer    may be NULL when *length is 0.
    /// length    in: bytes in buffer; out: bytes needed, the terminator counted. When buffer is too
    ///           small nothing is written and the answer is BUFFER_TOO_SMALL.
    /// Errors:   INVALID_ARGUMENT, BUFFER_TOO_SMALL.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_plan_explain(
        plan: *const gpujoin_plan, buffer: *mut c_char, length: *mut usize,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_plan_execute: run the plan.
    ///
    /// out       on success a new result, which owns its memory.
    /// Blocking: until the result is complete. Waits for its stream only.
    /// Memory:   grows with the output, within the context's limit; on failure all of it is back in the
    ///           pool.
    /// Errors:   UNSUPPORTED (MANAGED* where device or platform cannot page), TOO_MANY_ROWS,
    ///           SEVERAL_MATCHES (of a single join), ROW_LIMIT, BYTE_LIMIT, BROKEN_PROMISE,
    ///           OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED, CUDA, DEVICE_LOST, FORKED, INTERNAL.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_plan_execute(
        plan: *mut gpujoin_plan, out: *mut *mut gpujoin_result, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_plan_count: how many rows and bytes the plan would put out, without putting them out: by
    /// joins that write nothing, or row numbers where text is summed up by them. The size is that of the
    /// data as it is now; limits and promised_rows of the specification do not end it.
    ///
    /// rows      output rows; may be NULL.
    /// bytes     of output columns and row numbers: values, offsets and bytes of text, 4 bytes a row
    ///           number, and of columns that may be NULL a bit a row; what dictionaries and views name
    ///           stays yours and is not counted. UINT64_MAX: more than can be counted. May be NULL, and
    ///           then text need not be summed up.
    /// Blocking: until it is counted: about as long as the join without its columns.
    /// Memory:   4 bytes an output row for each side with columns of text, and what the join itself
    ///           needs; all of it is back in the pool at the end.
    /// Errors:   those of gpujoin_plan_execute.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_plan_count(
        plan: *mut gpujoin_plan, rows: *mut i64, bytes: *mut u64, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_plan_cancel: ask the executions of this plan that run now to stop; they answer CANCELLED.
    /// Later ones run. Does not wait.
    ///
    /// Threads:  any, at any time; not from a signal handler.
    /// Errors:   INVALID_ARGUMENT, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_plan_cancel(
        plan: *mut gpujoin_plan, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_plan_destroy: results of the plan stay valid. Accepts NULL. Any thread. Since 0.1.
    pub fn gpujoin_plan_destroy(plan: *mut gpujoin_plan);
    /// ```text
    /// gpujoin_result_get_statistics: of the whole execution. Does not wait.
    ///
    /// statistics  written; its struct_size says how much of it there is.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_result_get_statistics(
        result: *const gpujoin_result, statistics: *mut gpujoin_statistics,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_result_get_stage: of stage number 0 to stage_count - 1, in the order they ran. Does not
    /// wait.
    ///
    /// statistics  written; its struct_size says how much of it there is.
    /// Errors:   INVALID_ARGUMENT (also: there is no such stage), ABI_MISMATCH.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_result_get_stage(
        result: *const gpujoin_result, stage: i32, statistics: *mut gpujoin_stage_statistics,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_estimate_join: what a join would cost on either executor, from numbers alone. Nothing is
    /// read, no relation is needed, and it takes some microseconds. By the rates that the context has,
    /// measured (gpujoin_context_calibrate) or built in: with measured ones most of them are within a
    /// factor of two. Columns of device memory are CUDA's: of such a join the CPU's figures are those of
    /// columns in host memory.
    ///
    /// join      required; read before the call returns, not kept.
    /// estimate  written; its struct_size says how much of it there is.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED (device memory with a CPU context), TYPE,
    ///           FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_estimate_join(
        context: *mut gpujoin_context, join: *const gpujoin_expected_join,
        estimate: *mut gpujoin_estimate, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_join_sequence: plan and execute all joins of a sequence.
    ///
    /// fact      the relation with the foreign keys. The same relation may also be a dimension, and a
    ///           dimension may come twice.
    /// spec      required; read before the call returns, not kept.
    /// options   NULL = all automatic. Of each join: what is named there every join does, and what is
    ///           left at 0 is planned for each join from the rows that reach it, and weighed with the
    ///           joins to come. build_side 0 = the dimension, unless fewer rows reach it than it has.
    /// out       on success a new result, which owns its memory. Its columns: those of the fact relation
    ///           as listed, then each step's in order. Its row numbers: FETCH_LEFT_INDEX for the fact
    ///           relation, FETCH_RIGHT_INDEX with the step for a dimension. In its statistics left_rows
    ///           are the fact relation's, right_rows those of all dimensions; `plan` and `reason` name
    ///           each step's; stages are called "steps[1].match", those of the fetches
    ///           "steps[1].fetch_key", "fact.materialize".
    /// Blocking: until the result is complete. Waits for its stream only.
    /// Memory:   what a join leaves is let go of as soon as the next one has read it. On CUDA a fact
    ///           column in host memory is copied to the device once, when it is first needed, by
    ///           explicit copies where that is not the first join.
    /// Progress: each join reports its stages as ever, and before it "sequence", its number of all
    ///           steps.
    /// Errors:   those of gpujoin_plan_create and gpujoin_plan_execute, with the argument named:
    ///           "spec.steps[2].fact_keys[0]". TOO_MANY_ROWS also when a step but the last leaves
    ///           2^32 - 1 rows or more; ILLEGAL_PLAN also for PROBE_CHUNKS.
    /// Since:    0.1
    /// ```
    pub fn gpujoin_join_sequence(
        context: *mut gpujoin_context, fact: *const gpujoin_relation,
        spec: *const gpujoin_sequence_spec, options: *const gpujoin_plan_options,
        out: *mut *mut gpujoin_result, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_build_create: a side of joins whose rows will come in batches.
    ///
    /// like      a relation that has the columns of the batches, of any number of rows: names and types,
    ///           and of FIXED_BINARY, DECIMAL and TIMESTAMP their parameters. Batches may differ from it
    ///           in where they lie, in validity and offsets, in dictionaries, and in being plain or
    ///           encoded as a dictionary, a view or runs of the same type.
    /// keys      key_count positions of key columns; none (0) for joins without keys.
    /// key_flags NULL, or GPUJOIN_KEY_* for each key: those of the joins to come.
    /// options   NULL = all automatic; read before the call returns, not kept.
    /// out       on success a new build; destroy with gpujoin_build_destroy.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, TYPE, UNSUPPORTED, NO_DEVICE, FORKED; MEMORY_LIMIT for
    ///           a limit below the least.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_build_create(
        context: *mut gpujoin_context, like: *const gpujoin_relation, keys: *const i32,
        key_count: i32, key_flags: *const i32, options: *const gpujoin_build_options,
        out: *mut *mut gpujoin_build, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_build_append: copy rows of a batch into the build.
    ///
    /// batch     columns as those of `like`; of a selected relation the selected rows.
    /// first_row the number of the batch's first row, where the build has row numbers; the others'
    ///           follow. Of a selection the numbers are those of the relation it was made of.
    /// Blocking: while the rows are copied, and written to files where memory is used up.
    /// Threads:  any number of calls on one build run side by side.
    /// Errors:   INVALID_ARGUMENT (also: the build is finished), TYPE, MEMORY_LIMIT, OUT_OF_MEMORY,
    ///           SPILL, CANCELLED, DEADLINE, CUDA, DEVICE_LOST, FORKED. After one of the batch's columns
    ///           the build is as before; after any other it is lost, and answers so from then on.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_build_append(
        build: *mut gpujoin_build, batch: *const gpujoin_relation, first_row: i64,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_build_finish: no further batch will come. Called once, when all appends have returned.
    ///
    /// Blocking: where the joins run on the GPU, until the rows are there; where they do not fit, until
    ///           they are partitioned.
    /// Errors:   those of gpujoin_build_append.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_build_finish(
        build: *mut gpujoin_build, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_build_get_info: what it has so far. Does not wait.
    ///
    /// info      written; its struct_size says how much of it there is.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_build_get_info(
        build: *mut gpujoin_build, info: *mut gpujoin_build_info, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_build_cancel: calls on the build that run now and later ones answer CANCELLED; joins with
    /// a finished build go on. Does not wait. Any thread, not from a signal handler.
    ///
    /// Errors:   INVALID_ARGUMENT, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_build_cancel(
        build: *mut gpujoin_build, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_build_destroy: operations on it go on. Accepts NULL. Any thread. Since 0.2.
    pub fn gpujoin_build_destroy(build: *mut gpujoin_build);
    /// ```text
    /// gpujoin_build_get_filter: a filter of all rows of a build, wherever they lie.
    ///
    /// It is made by the first call that asks for such a one, and kept for the next: rows that are in
    /// files are read again, a block at a time, those on a device are copied from there, their keys
    /// alone. While it is made it takes 3 MiB besides the bits.
    ///
    /// build     finished; joined in one piece or in partitions.
    /// key       a position among the build's keys; -1 = all of them together.
    /// options   NULL = all automatic.
    /// out       on success a new filter; destroy with gpujoin_key_filter_destroy.
    /// Blocking: until it is made. Other calls that ask this build for a filter wait for it.
    /// Errors:   INVALID_ARGUMENT (also: the build is not finished, or has no keys), UNSUPPORTED (a kind
    ///           that the key's type has not, a BITMAP of more than largest_bytes), MEMORY_LIMIT,
    ///           OUT_OF_MEMORY, SPILL, CANCELLED, DEADLINE, CUDA, DEVICE_LOST, FORKED. The build is as
    ///           before.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_build_get_filter(
        build: *mut gpujoin_build, key: i32, options: *const gpujoin_key_filter_options,
        out: *mut *mut gpujoin_key_filter, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_key_filter_get_info: what it is. Does not wait.
    ///
    /// info      written; its struct_size says how much of it there is.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_key_filter_get_info(
        filter: *const gpujoin_key_filter, info: *mut gpujoin_key_filter_info,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_key_filter_test: which rows of a batch pass. Any layout of columns, in any memory; types
    /// that compare with the build's keys are tested by value. A row with a NULL does not pass, unless
    /// the key's flags say that NULL equals NULL and the build has one.
    ///
    /// relation  of the filter's context; may be selected: then there is a bit for each row picked.
    /// columns   column_count positions, as many as the filter has keys.
    /// bits      written: a bit for each row, least significant first, 1 = it passes, (rows + 7) / 8
    ///           bytes, those behind the last row 0: what gpujoin_relation_select takes as a BITMAP.
    /// memory    of bits; AUTOMATIC = whatever it is.
    /// passing   NULL, or written: how many pass.
    /// Blocking: until the rows are tested: on the calling thread, where they lie in host memory;
    ///           integers of 4 and 8 bytes without NULLs in device memory on the device, others from
    ///           there are copied to the host.
    /// Errors:   INVALID_ARGUMENT, TYPE, UNSUPPORTED (values of nested types, device memory with a CPU
    ///           context), MEMORY_LIMIT, OUT_OF_MEMORY, CANCELLED, CUDA, DEVICE_LOST, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_key_filter_test(
        filter: *const gpujoin_key_filter, relation: *const gpujoin_relation, columns: *const i32,
        column_count: i32, bits: *mut c_void, memory: gpujoin_memory, passing: *mut i64,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_key_filter_destroy: operations that it was given to go on. Accepts NULL. Any thread.
    /// Since 0.2.
    pub fn gpujoin_key_filter_destroy(filter: *mut gpujoin_key_filter);
    /// ```text
    /// gpujoin_operation_create: one join with a finished build.
    ///
    /// probe_like  a relation that has the columns of the batches of the probe side, as `like` of
    ///           gpujoin_build_create.
    /// spec      required; copied. Its keys of the build side, and key_flags, are those of the build.
    ///           GPUJOIN_OUTPUT_PAIRS needs row numbers of the sides that come out.
    /// options   NULL = all automatic; copied.
    /// out       on success a new operation; destroy with gpujoin_operation_destroy.
    /// Errors:   those of gpujoin_plan_create; UNSUPPORTED for what no operation does: promises that
    ///           the build side is sorted, groups and orders that are not the probe side's, an order
    ///           where the build does not fit, ASOF joins whose build side is the left one;
    ///           BROKEN_PROMISE of a build that is whole; MEMORY_LIMIT for a limit below the least.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_operation_create(
        build: *mut gpujoin_build, probe_like: *const gpujoin_relation,
        spec: *const gpujoin_join_spec, options: *const gpujoin_operation_options,
        out: *mut *mut gpujoin_operation, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_operation_explain: how it joins and why, as text. Does not wait.
    ///
    /// buffer, length  as those of gpujoin_plan_explain.
    /// Errors:   INVALID_ARGUMENT, BUFFER_TOO_SMALL.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_operation_explain(
        operation: *const gpujoin_operation, buffer: *mut c_char, length: *mut usize,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_operation_close: no further probe will come; those that there are may still be at work.
    ///
    /// Errors:   INVALID_ARGUMENT, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_operation_close(
        operation: *mut gpujoin_operation, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_operation_next: the next rows of those that come out when all rows have come.
    ///
    /// state     written.
    /// out       a new result where the state is READY, else NULL; destroy with gpujoin_result_destroy.
    /// Blocking: until there is a result; of FINISHED until no other call is inside a join.
    /// Threads:  any number of calls join partitions side by side, as far as memory allows it.
    /// Errors:   those of gpujoin_plan_execute, SPILL, DEADLINE; INVALID_ARGUMENT where a probe failed,
    ///           as rows are missing then. What one call's join ended with all later calls answer.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_operation_next(
        operation: *mut gpujoin_operation, state: *mut gpujoin_state, out: *mut *mut gpujoin_result,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_operation_cancel: calls on the operation and its probes that run now and later ones
    /// answer CANCELLED, and what they hold is given back. The build and other operations go on. Does
    /// not wait. Any thread, not from a signal handler.
    ///
    /// Errors:   INVALID_ARGUMENT, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_operation_cancel(
        operation: *mut gpujoin_operation, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_operation_get_progress: how far it is. Does not wait.
    ///
    /// progress  written; its struct_size says how much of it there is.
    /// Errors:   INVALID_ARGUMENT, ABI_MISMATCH, FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_operation_get_progress(
        operation: *mut gpujoin_operation, progress: *mut gpujoin_progress,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_operation_destroy: its probes and results stay valid. Accepts NULL. Any thread.
    /// Since 0.2.
    pub fn gpujoin_operation_destroy(operation: *mut gpujoin_operation);
    /// ```text
    /// gpujoin_probe_create: rows of the probe side, of one thread or stream. Calls on one probe run one
    /// after the other, those of several side by side.
    ///
    /// out       on success a new probe; destroy with gpujoin_probe_destroy.
    /// Errors:   INVALID_ARGUMENT (also: the operation is closed), FORKED.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_probe_create(
        operation: *mut gpujoin_operation, out: *mut *mut gpujoin_probe, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_probe_append: copy rows of a batch.
    ///
    /// batch     as that of gpujoin_build_append; columns as those of `probe_like`. By joins on the GPU
    ///           one that lies on the device, or has 2^20 rows or more, is read where it lies, unless
    ///           the operation has row numbers, or a column is a dictionary, a view or runs: whether or
    ///           not the build fits, its columns stay as they are until gpujoin_probe_next no longer
    ///           answers READY.
    /// first_row as that of gpujoin_build_append, where the operation has row numbers.
    /// Answers:  NOT_READY when pieces wait to be joined: nothing was taken; call gpujoin_probe_next,
    ///           and this again. It leaves the probe as it is.
    /// Blocking: while the rows are copied.
    /// Errors:   those of gpujoin_build_append. After one but NOT_READY, or one of the batch's columns,
    ///           the probe is lost.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_probe_append(
        probe: *mut gpujoin_probe, batch: *const gpujoin_relation, first_row: i64,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_probe_flush: what was appended is joined by the next calls of gpujoin_probe_next, however
    /// little it is. Without it a piece is some MiB, where the build fits.
    ///
    /// Errors:   those of gpujoin_probe_append.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_probe_flush(
        probe: *mut gpujoin_probe, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_probe_next: join what waits until there is a result.
    ///
    /// state     written. NOT_READY: append more, or finish.
    /// out       a new result where the state is READY, else NULL; destroy with gpujoin_result_destroy.
    /// Blocking: until there is a result, or nothing waits.
    /// Errors:   those of gpujoin_plan_execute, SPILL, DEADLINE. After one the probe is lost.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_probe_next(
        probe: *mut gpujoin_probe, state: *mut gpujoin_state, out: *mut *mut gpujoin_result,
        error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// ```text
    /// gpujoin_probe_finish: no further batch will come. Results are taken until FINISHED.
    ///
    /// Errors:   those of gpujoin_probe_append.
    /// Since:    0.2
    /// ```
    pub fn gpujoin_probe_finish(
        probe: *mut gpujoin_probe, error: *mut gpujoin_error
    ) -> gpujoin_status;
    /// gpujoin_probe_destroy: its results stay valid. Accepts NULL. Any thread. Since 0.2.
    pub fn gpujoin_probe_destroy(probe: *mut gpujoin_probe);
}
