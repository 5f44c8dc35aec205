//! A device, its memory limits, and callbacks.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use gpujoin_sys as sys;

use crate::allocator::{self, Allocator};
use crate::error::{Error, Result, c_text, check, count, text_of};
use crate::handle::Handle;
use crate::number::{Device, numbers};

numbers! {
    /// How much a line of the log matters.
    Level {
        /// For who looks for a fault of the library.
        Debug = GPUJOIN_LOG_DEBUG,
        /// What was chosen.
        Info = GPUJOIN_LOG_INFO,
        /// What may surprise.
        Warning = GPUJOIN_LOG_WARNING,
    }
}

type Log = Box<dyn Fn(Level, &str) + Send + Sync>;
type Progress = Box<dyn Fn(&str, i64, i64) -> ControlFlow<()> + Send + Sync>;

/// A device, an account of memory with limits, and callbacks. Clones are the same context.
///
/// Any thread may use it at any time; calls on it run side by side. What is made from it keeps it.
///
/// ```
/// use gpujoin::{Context, Device};
///
/// let context = Context::builder().device(Device::Cpu).memory_limit(1 << 30).create()?;
/// assert_eq!(context.info()?.device, Device::Cpu);
/// # Ok::<(), gpujoin::Error>(())
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    handle: Handle<sys::gpujoin_context>,
    device: Device,
    // After the handle: the library calls them as long as it is there.
    _allocator: Option<Arc<allocator::Shared>>,
    _log: Option<Box<Log>>,
    _progress: Option<Box<Progress>>,
}

/// What a context is to be; all automatic as long as nothing else is said.
#[derive(Default)]
#[must_use]
pub struct ContextBuilder {
    device: Option<Device>,
    cuda_device_id: i32,
    cpu_threads: u32,
    threads_of_caller: bool,
    memory_limit: u64,
    host_limit: u64,
    pinned_limit: u64,
    spill: Option<(PathBuf, u64)>,
    calibration: Option<PathBuf>,
    cuda_stream: usize, // the address, which any thread may have
    allocator: Option<Box<dyn Allocator>>,
    log: Option<Log>,
    progress: Option<Progress>,
}

/// What a context runs on, and its memory, in bytes. A limit of 0 is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextInfo {
    /// CUDA or the CPU.
    pub device: Device,
    /// For example "NVIDIA H200".
    pub device_name: String,
    /// Why this device was taken.
    pub reason: String,
    /// The CUDA ordinal, -1 for the CPU.
    pub cuda_device_id: i32,
    /// Threads of the CPU executor.
    pub cpu_threads: i32,
    /// Of the memory that joins run in.
    pub memory_limit: u64,
    /// Held now by the context's pools, cached blocks included.
    pub memory_used: u64,
    /// The most in use by joins and results at one time since the context was made.
    pub memory_peak: u64,
    /// Of host memory, as the three before.
    pub host_limit: u64,
    /// Of host memory: held now.
    pub host_used: u64,
    /// Of host memory: the most at one time.
    pub host_peak: u64,
    /// Page-locked host memory held now.
    pub pinned_used: u64,
    /// In files of the spill folder now.
    pub spill_used: u64,
    /// In files of the spill folder at most.
    pub spill_peak: u64,
}

impl ContextBuilder {
    /// Which executor; without it CUDA when it can be used, else the CPU.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// The CUDA ordinal; 0 is the first device.
    pub fn cuda_device_id(mut self, ordinal: i32) -> Self {
        self.cuda_device_id = ordinal;
        self
    }

    /// Threads of the CPU executor; without it all that this process may run on. With 1 a call runs
    /// on the calling thread alone.
    pub fn cpu_threads(mut self, threads: u32) -> Self {
        self.cpu_threads = threads;
        self
    }

    /// Loops of the CPU executor run in the oneTBB arena that the calling thread is in, on that
    /// thread alone where it is in none.
    pub fn threads_of_caller(mut self) -> Self {
        self.threads_of_caller = true;
        self
    }

    /// Bytes of the memory that joins run in: of the device for CUDA, of the host for the CPU.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Bytes of host memory that the library allocates.
    pub fn host_limit(mut self, bytes: u64) -> Self {
        self.host_limit = bytes;
        self
    }

    /// Bytes of page-locked host memory, for CUDA.
    pub fn pinned_limit(mut self, bytes: u64) -> Self {
        self.pinned_limit = bytes;
        self
    }

    /// An existing folder where rows go that no limit has room for, and the most bytes there (0 =
    /// no limit). Files there have no names, and are gone when the process is.
    pub fn spill(mut self, folder: impl Into<PathBuf>, most_bytes: u64) -> Self {
        self.spill = Some((folder.into(), most_bytes));
        self
    }

    /// A file that [`Context::calibrate`] wrote on this machine.
    pub fn calibration(mut self, path: impl Into<PathBuf>) -> Self {
        self.calibration = Some(path.into());
        self
    }

    /// Where the context's memory comes from; without it the library's own pools ask the system and
    /// CUDA.
    pub fn allocator(mut self, allocator: impl Allocator + 'static) -> Self {
        self.allocator = Some(Box::new(allocator));
        self
    }

    /// A `cudaStream_t` on which all work of a context of CUDA is queued; its calls then come one
    /// after the other. Without it each call has a stream of the context's own.
    ///
    /// # Safety
    ///
    /// The stream is one of the context's device, and is there as long as the context is.
    pub unsafe fn cuda_stream(mut self, stream: *mut c_void) -> Self {
        self.cuda_stream = stream as usize;
        self
    }

    /// Called with each line of the log, on the thread that calls the library, on several at once.
    /// It must not call the library; a panic of it ends there.
    pub fn log(mut self, log: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }

    /// Called between the steps of an execution with the stage's name, how many steps are over and
    /// of how many, on the thread that runs it, on several at once. `Break` cancels that execution,
    /// and so does a panic. It must not call the library.
    pub fn progress(
        mut self,
        progress: impl Fn(&str, i64, i64) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Opens the device. With CUDA the first one of a process takes hundreds of milliseconds.
    pub fn create(self) -> Result<Context> {
        open_library()?;
        let spill = match &self.spill {
            Some((folder, _)) => Some(path_text("spill folder", folder)?),
            None => None,
        };
        let calibration = match &self.calibration {
            Some(path) => Some(path_text("calibration", path)?),
            None => None,
        };
        // In boxes of their own: the library has the address, and what is called is two words.
        let log = self.log.map(Box::new);
        let progress = self.progress.map(Box::new);
        let allocator = self.allocator.map(allocator::shared);
        let callbacks = allocator.as_ref().map(allocator::callbacks);
        let threads = if self.threads_of_caller {
            sys::GPUJOIN_THREADS_OF_CALLER
        } else {
            sys::GPUJOIN_THREADS_OWN
        };
        let options = sys::gpujoin_context_options {
            device: self.device.unwrap_or(Device::Automatic).number(),
            cuda_device_id: self.cuda_device_id,
            cpu_threads: count("cpu_threads", self.cpu_threads.into())?,
            memory_limit_bytes: self.memory_limit,
            host_limit_bytes: self.host_limit,
            pinned_limit_bytes: self.pinned_limit,
            spill_path: pointer(&spill),
            spill_limit_bytes: self.spill.map_or(0, |(_, most)| most),
            calibration_path: pointer(&calibration),
            cuda_stream: self.cuda_stream as *mut c_void,
            allocator: callbacks.as_ref().map_or(ptr::null(), ptr::from_ref),
            log: log.as_ref().map(|_| call_log as unsafe extern "C" fn(_, _, _)),
            log_user: address(&log),
            progress: progress
                .as_ref()
                .map(|_| call_progress as unsafe extern "C" fn(_, _, _, _) -> i32),
            progress_user: address(&progress),
            threads,
            ..sys::gpujoin_context_options::INIT
        };
        let handle = Handle::made(|out, error| {
            // SAFETY: what options points to is there until the call returns, callbacks as long as
            // the context.
            unsafe { sys::gpujoin_context_create(&options, out, error) }
        })?;
        let device = info_of(&handle)?.device;
        Ok(Context(Arc::new(Inner {
            handle,
            device,
            _allocator: allocator,
            _log: log,
            _progress: progress,
        })))
    }
}

impl fmt::Debug for ContextBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ContextBuilder").finish_non_exhaustive()
    }
}

fn open_library() -> Result<()> {
    #[cfg(feature = "dlopen")]
    sys::load().map_err(|error| Error::Load(error.to_string()))?;
    // SAFETY: it may be called at any time.
    let version = unsafe { sys::gpujoin_version_number() };
    if sys::is_compatible(version) {
        return Ok(());
    }
    let ours = sys::GPUJOIN_VERSION_NUMBER;
    Err(Error::AbiMismatch(format!("the library has version {version}, this crate is for {ours}")))
}

fn path_text(what: &str, path: &Path) -> Result<CString> {
    c_text(what, path.as_os_str().as_encoded_bytes())
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

fn address<T>(callback: &Option<Box<T>>) -> *mut c_void {
    callback.as_ref().map_or(ptr::null_mut(), |callback| ptr::from_ref(&**callback) as *mut c_void)
}

unsafe extern "C" fn call_log(level: i32, message: *const c_char, user: *mut c_void) {
    // SAFETY: `user` is the box that the context keeps; the message is terminated.
    let (log, message) = unsafe { (&*(user as *const Log), CStr::from_ptr(message)) };
    let level = Level::of(level).unwrap_or(Level::Info);
    // Nothing may unwind into the library; the panic's own message has been reported by its hook.
    let _ = catch_unwind(AssertUnwindSafe(|| log(level, &message.to_string_lossy())));
}

unsafe extern "C" fn call_progress(
    stage: *const c_char,
    done: i64,
    total: i64,
    user: *mut c_void,
) -> i32 {
    // SAFETY: `user` is the box that the context keeps; the stage is terminated.
    let (progress, stage) = unsafe { (&*(user as *const Progress), CStr::from_ptr(stage)) };
    let answer = catch_unwind(AssertUnwindSafe(|| progress(&stage.to_string_lossy(), done, total)));
    i32::from(!matches!(answer, Ok(ControlFlow::Continue(()))))
}

fn info_of(handle: &Handle<sys::gpujoin_context>) -> Result<ContextInfo> {
    let mut info = sys::gpujoin_context_info::INIT;
    // SAFETY: the handle is there, and info is of this function.
    check(|error| unsafe { sys::gpujoin_context_get_info(handle.get(), &mut info, error) })?;
    Ok(ContextInfo {
        device: Device::of(info.device).unwrap_or(Device::Automatic),
        device_name: text_of(&info.device_name),
        reason: text_of(&info.reason),
        cuda_device_id: info.cuda_device_id,
        cpu_threads: info.cpu_threads,
        memory_limit: info.memory_limit_bytes,
        memory_used: info.memory_used_bytes,
        memory_peak: info.memory_peak_bytes,
        host_limit: info.host_limit_bytes,
        host_used: info.host_used_bytes,
        host_peak: info.host_peak_bytes,
        pinned_used: info.pinned_used_bytes,
        spill_used: info.spill_used_bytes,
        spill_peak: info.spill_peak_bytes,
    })
}

impl Context {
    /// A context with nothing said of it: a GPU when there is one, else the CPU.
    pub fn new() -> Result<Self> {
        Self::builder().create()
    }

    /// Says what a context is to be.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// What it runs on, and its memory. Does not wait.
    pub fn info(&self) -> Result<ContextInfo> {
        info_of(&self.0.handle)
    }

    /// Asks the plannings and executions that run now to stop, or else the next one to begin; they
    /// answer [`Error::Cancelled`], and the request is then spent. Does not wait.
    pub fn cancel(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_context_cancel(self.handle(), error) })
    }

    /// Measures what the planner has to know of this machine, uses it from now on, and keeps it in
    /// a file for [`ContextBuilder::calibration`]. Takes seconds, and up to 3 GiB of device memory
    /// or 1 GiB of the host's; no other call on this context may run.
    pub fn calibrate(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path_text("path", path.as_ref())?;
        // SAFETY: handle and path are there.
        check(|error| unsafe {
            sys::gpujoin_context_calibrate(self.handle(), path.as_ptr(), error)
        })
    }

    /// Gives cached memory that nothing uses back to the system.
    pub fn trim(&self) -> Result<()> {
        // SAFETY: the handle is there.
        check(|error| unsafe { sys::gpujoin_context_trim(self.handle(), error) })
    }

    pub(crate) fn handle(&self) -> *mut sys::gpujoin_context {
        self.0.handle.get()
    }

    pub(crate) fn is_cuda(&self) -> bool {
        self.0.device == Device::Cuda
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Context").field("device", &self.0.device).finish_non_exhaustive()
    }
}
