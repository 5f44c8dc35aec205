//! Contexts that work with the caller's memory.

#![allow(missing_docs)]

mod tables;

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use gpujoin::{Allocator, Context, Device, Error, Join, Memory};

use tables::{cpu, table};

#[derive(Default)]
struct Counts {
    given: AtomicI64,
    there: AtomicI64,
}

/// The system's memory, counted.
struct Counting(Arc<Counts>);

fn layout(bytes: u64) -> Layout {
    Layout::from_size_align(bytes as usize, 256).unwrap()
}

// SAFETY: blocks are the system's, of the layout asked for.
unsafe impl Allocator for Counting {
    fn allocate(&self, bytes: u64, align: u64, memory: Memory, _: *mut c_void) -> *mut c_void {
        assert!(align <= 256 && memory == Memory::Host);
        self.0.given.fetch_add(1, Ordering::Relaxed);
        self.0.there.fetch_add(bytes as i64, Ordering::Relaxed);
        // SAFETY: the library asks for no block of 0 bytes.
        unsafe { alloc(layout(bytes)) as *mut c_void }
    }

    unsafe fn deallocate(&self, block: *mut c_void, bytes: u64, _: Memory, _: *mut c_void) {
        self.0.there.fetch_sub(bytes as i64, Ordering::Relaxed);
        // SAFETY: it came from alloc with this layout.
        unsafe { dealloc(block as *mut u8, layout(bytes)) }
    }
}

fn context_with(allocator: impl Allocator + 'static) -> Context {
    Context::builder().device(Device::Cpu).cpu_threads(2).allocator(allocator).create().unwrap()
}

fn join(context: &Context) -> gpujoin::Result<RecordBatch> {
    let left = table(context, "a", 0..50_000);
    let right = table(context, "b", 25_000..75_000);
    Join::inner().on("a", "b").left_columns(["a"]).run(&left, &right)?.to_batch()
}

#[test]
fn all_memory_is_the_allocators_and_comes_back() {
    let counts = Arc::new(Counts::default());
    let context = context_with(Counting(counts.clone()));
    let batch = join(&context).unwrap();
    assert_eq!(batch.num_rows(), join(&cpu()).unwrap().num_rows());
    assert!(counts.given.load(Ordering::Relaxed) > 0);
    drop(context);
    // The batch has its rows, and with them the allocator.
    let mut keys = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
    keys.sort_unstable();
    assert_eq!(keys, (25_000..50_000).collect::<Vec<_>>());
    drop(batch);
    assert_eq!(counts.there.load(Ordering::Relaxed), 0);
    assert_eq!(Arc::strong_count(&counts), 1);
}

struct Empty;

// SAFETY: it answers no block.
unsafe impl Allocator for Empty {
    fn allocate(&self, _: u64, _: u64, _: Memory, _: *mut c_void) -> *mut c_void {
        ptr::null_mut()
    }
    unsafe fn deallocate(&self, _: *mut c_void, _: u64, _: Memory, _: *mut c_void) {
        unreachable!()
    }
}

struct Panicking;

// SAFETY: it answers no block.
unsafe impl Allocator for Panicking {
    fn allocate(&self, _: u64, _: u64, _: Memory, _: *mut c_void) -> *mut c_void {
        panic!("no memory today")
    }
    unsafe fn deallocate(&self, _: *mut c_void, _: u64, _: Memory, _: *mut c_void) {
        unreachable!()
    }
}

#[test]
fn no_memory_is_an_error() {
    let empty = context_with(Empty);
    assert!(matches!(join(&empty), Err(Error::OutOfMemory(_))));
    let panicking = context_with(Panicking);
    assert!(matches!(join(&panicking), Err(Error::OutOfMemory(_))));
}

#[test]
fn a_context_of_the_cpu_has_no_stream() {
    let builder = Context::builder().device(Device::Cpu);
    let mut nothing = 0u64;
    // SAFETY: a context of the CPU refuses it without a look.
    let made = unsafe { builder.cuda_stream(ptr::from_mut(&mut nothing).cast()) }.create();
    assert!(
        matches!(made, Err(Error::InvalidArgument(message)) if message.contains("cuda_stream"))
    );
}
