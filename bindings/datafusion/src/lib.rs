//! DataFusion's joins on libgpujoin: on an NVIDIA GPU, or on the library's CPU executor.

mod build_side;
mod column_types;
mod condition;
mod cost;
mod decided_filter;
mod declined;
mod errors;
mod exec;
mod join_layout;
mod join_metrics;
mod join_stream;
mod key_ranges;
mod library;
mod rule;
mod settings;
mod side_layout;

pub use exec::GpuJoinExec;
pub use rule::{Decision, GpuJoinRule, with_gpujoin};
pub use settings::{Bytes, Executor, GpuJoinOptions};
