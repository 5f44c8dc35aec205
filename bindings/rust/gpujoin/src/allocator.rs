//! Memory of the caller's.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use gpujoin_sys as sys;

use crate::number::numbers;

numbers! {
    /// Where a block of memory lies.
    Memory {
        /// Pageable memory of the host.
        Host = GPUJOIN_MEMORY_HOST,
        /// Memory of the device.
        Device = GPUJOIN_MEMORY_DEVICE,
        /// Page-locked memory of the host.
        Pinned = GPUJOIN_MEMORY_PINNED,
    }
}

/// Gives a context the blocks of memory that it works with, for example out of a host's own pools:
/// see [`ContextBuilder::allocator`](crate::ContextBuilder::allocator).
///
/// It is asked for the pools' growth, not for each buffer; by one call at a time for each context
/// and kind of executor, on whichever thread works for a call or drops what holds memory. It must
/// not call the library. A panic in `allocate` is no memory, one in `deallocate` ends there.
///
/// # Safety
///
/// A block that `allocate` answers is at least `bytes` bytes at a multiple of `alignment` in
/// `memory`, and nobody else's until it comes back.
pub unsafe trait Allocator: Send + Sync {
    /// A block, or null where there is none, which calls answer with
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory). `alignment` is a power of two, at most
    /// 256. Device memory is used on `cuda_stream` first.
    fn allocate(
        &self,
        bytes: u64,
        alignment: u64,
        memory: Memory,
        cuda_stream: *mut c_void,
    ) -> *mut c_void;

    /// Takes a block back. Work that uses it may still be queued on `cuda_stream`.
    ///
    /// # Safety
    ///
    /// `allocate` of this allocator answered `block` for as many bytes of this memory, and it has
    /// not come back yet.
    unsafe fn deallocate(
        &self,
        block: *mut c_void,
        bytes: u64,
        memory: Memory,
        cuda_stream: *mut c_void,
    );
}

/// What the library calls: there as long as the context or a block, which a record batch may keep
/// longer than that.
pub(crate) struct Shared(Box<dyn Allocator>);

pub(crate) fn shared(allocator: Box<dyn Allocator>) -> Arc<Shared> {
    Arc::new(Shared(allocator))
}

pub(crate) fn callbacks(shared: &Arc<Shared>) -> sys::gpujoin_allocator {
    sys::gpujoin_allocator {
        allocate: Some(allocate),
        deallocate: Some(deallocate),
        user: Arc::as_ptr(shared) as *mut c_void,
        ..sys::gpujoin_allocator::INIT
    }
}

unsafe extern "C" fn allocate(
    bytes: u64,
    alignment: u64,
    memory: i32,
    cuda_stream: *mut c_void,
    user: *mut c_void,
) -> *mut c_void {
    let shared = user as *const Shared;
    // SAFETY: the context has a share while the library allocates.
    let allocator = unsafe { &(*shared).0 };
    let ask = || match Memory::of(memory) {
        Some(memory) => allocator.allocate(bytes, alignment, memory, cuda_stream),
        None => ptr::null_mut(),
    };
    let block = catch_unwind(AssertUnwindSafe(ask)).unwrap_or(ptr::null_mut());
    if !block.is_null() {
        // SAFETY: it came from an Arc, whose share is there.
        unsafe { Arc::increment_strong_count(shared) };
    }
    block
}

unsafe extern "C" fn deallocate(
    block: *mut c_void,
    bytes: u64,
    memory: i32,
    cuda_stream: *mut c_void,
    user: *mut c_void,
) {
    // SAFETY: the share that allocate took for this block.
    let shared = unsafe { Arc::from_raw(user as *const Shared) };
    let Some(memory) = Memory::of(memory) else { return };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the library gives back what allocate answered, once.
        unsafe { shared.0.deallocate(block, bytes, memory, cuda_stream) }
    }));
}
