//! The library's errors as DataFusion's.

use std::error::Error as _;
use std::sync::Arc;

use datafusion::common::DataFusionError;
use gpujoin::Error;

/// What a call of the library ended with.
pub fn failed(error: Error) -> DataFusionError {
    // Of a condition that DataFusion evaluates while the library joins.
    if let Some(own) = error.source().and_then(|source| source.downcast_ref()) {
        return DataFusionError::Shared(Arc::clone(own));
    }
    let message = format!("gpujoin: {error}");
    match error {
        Error::MemoryLimit(_) | Error::OutOfMemory(_) | Error::Spill(_) => {
            DataFusionError::ResourcesExhausted(message)
        }
        Error::Cancelled(_) | Error::Evaluation(_) => DataFusionError::Execution(message),
        other => DataFusionError::External(Box::new(other)),
    }
}
