//! Tables that tests share.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use gpujoin::{Context, Device, Relation};

pub fn cpu() -> Context {
    Context::builder().device(Device::Cpu).cpu_threads(2).create().unwrap()
}

/// A batch of one column of int64.
pub fn batch(name: &str, values: impl IntoIterator<Item = i64>) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    RecordBatch::try_from_iter([(name, column)]).unwrap()
}

pub fn table(context: &Context, name: &str, values: impl IntoIterator<Item = i64>) -> Relation {
    Relation::from_batch(context, &batch(name, values)).unwrap()
}
