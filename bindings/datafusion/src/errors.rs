//! The library's errors as DataFusion's.

use datafusion::common::DataFusionError;
use gpujoin::Error;

/// What a call of the library ended with.
pub fn failed(error: Error) -> DataFusionError {
    let message = format!("gpujoin: {error}");
    match error {
        Error::MemoryLimit(_) | Error::OutOfMemory(_) | Error::Spill(_) => {
            DataFusionError::ResourcesExhausted(message)
        }
        Error::Cancelled(_) | Error::Evaluation(_) => DataFusionError::Execution(message),
        other => DataFusionError::External(Box::new(other)),
    }
}
