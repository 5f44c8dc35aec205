//! Joins of Ballista's executors on libgpujoin: on NVIDIA GPUs, or on the library's CPU executor.
//!
//! Each executor applies DataFusion's rule to the plan of a stage that it was sent. What goes over
//! the wire is Ballista's own, and schedulers, clients and other executors need nothing of this.

mod engine;
pub mod logs;
mod settings;
mod shuffle_clients;

pub use engine::{GpuJoinEngine, with_gpujoin};
pub use settings::{SessionSettings, executor_settings, with_gpujoin_settings};
