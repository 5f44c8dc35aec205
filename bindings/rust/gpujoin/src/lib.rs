//! Relational joins on an NVIDIA GPU, or on the CPU of a machine without one, of Arrow record
//! batches.
//!
//! - [`Context`]: a device, limits of memory, callbacks, an [`Allocator`] of the caller's.
//! - [`Relation`]: a table, which is a record batch, or some of its rows.
//! - [`Join`]: which rows match and what comes out: [`run`](Join::run) it, or
//!   [`plan`](Join::plan) it to see how and what for. [`left`], [`right`] and [`value`] are what
//!   its conditions are made of.
//! - [`Sequence`]: a fact table with several dimensions in one call.
//! - [`JoinResult`]: record batches, pages of them, row numbers.
//! - [`Build`], [`Operation`], [`Probe`]: the same for engines whose rows come in batches, from
//!   many threads, and may be more than memory holds. [`KeyFilter`] tells of rows without a match.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use gpujoin::{Context, Join, Relation};
//!
//! let column = |of: [i64; 3]| -> ArrayRef { Arc::new(Int64Array::from(of.to_vec())) };
//! let left = RecordBatch::try_from_iter([("a", column([1, 2, 3]))])?;
//! let right = RecordBatch::try_from_iter([("b", column([3, 3, 4]))])?;
//!
//! let context = Context::new()?;
//! let left = Relation::from_batch(&context, &left)?;
//! let right = Relation::from_batch(&context, &right)?;
//! let result = Join::inner().on("a", "b").run(&left, &right)?;
//! assert_eq!(result.left_rows()?, [2, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Objects keep what they need: they may be dropped in any order, and are `Send` and `Sync`, as any
//! function of the library may be called from any thread at any time. Clones of them are the same
//! object. A call blocks its thread until it is done; [`Context::cancel`], [`Plan::cancel`],
//! [`Build::cancel`] and [`Operation::cancel`] end it from another one, timeouts by themselves. No
//! call panics on its arguments: an [`Error`] names the one that is wrong.
//!
//! Record batches are those of arrow 60, of arrow 59 with the feature `arrow-59`, or of both. The
//! library is linked, or with the feature `dlopen` opened by the first context.

#![warn(missing_debug_implementations)]

mod aggregate;
mod allocator;
mod arrow;
mod asof;
mod build;
mod condition;
mod context;
mod decider;
mod error;
mod estimate;
mod filter;
mod handle;
mod join;
mod number;
mod operation;
mod operation_options;
mod options;
mod plan;
mod probe;
mod relation;
mod result;
mod sequence;
mod value;

pub use aggregate::{Aggregate, Function};
pub use allocator::{Allocator, Memory};
pub use arrow::Batch;
pub use asof::{Asof, Direction};
pub use build::{Build, BuildBuilder, BuildInfo};
pub use condition::{Expr, left, right, value};
pub use context::{Context, ContextBuilder, ContextInfo, Level};
pub use error::{DecideError, Error, Result};
pub use estimate::{Estimate, ExpectedColumn, ExpectedJoin, ExpectedSide, Type};
pub use filter::{FilterInfo, FilterKind, FilterOptions, KeyFilter, Passing};
pub use gpujoin_sys as sys;
pub use join::{Join, Key};
pub use number::{Device, Kind, Order, Promise, Side};
pub use operation::{Next, Operation, OperationProgress};
pub use operation_options::OperationOptions;
pub use options::{Algorithm, Filter, Gather, Match, PlanOptions, Transfer, Transform};
pub use plan::{Plan, Size};
pub use probe::{Appended, Probe};
pub use relation::{Column, Relation};
pub use result::{JoinResult, NO_ROW, NO_ROW_INT64, Pages, RowNumber, Stage, Statistics};
pub use sequence::{Materialize, Sequence, Step};
pub use value::Value;

/// The crate's page, whose example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
