//! Record batches of the arrow versions that are on, by the Arrow C data interface.

use gpujoin_sys as sys;

use crate::error::Result;

mod sealed {
    pub trait Sealed {}
}

/// A record batch of one of the arrow versions that are on: feature `arrow-59`, `arrow-60`.
pub trait Batch: sealed::Sealed + Sized {
    /// Truth values of the same version: its `BooleanArray`.
    type Answers;

    /// Writes the batch as a struct array, which shares its buffers.
    #[doc(hidden)]
    fn export(&self, schema: &mut sys::ArrowSchema, array: &mut sys::ArrowArray) -> Result<()>;

    /// Takes over a struct array.
    ///
    /// # Safety
    ///
    /// Both are valid as the interface has it, and the caller's; they are released by this call, or
    /// with the batch.
    #[doc(hidden)]
    unsafe fn import(schema: sys::ArrowSchema, array: sys::ArrowArray) -> Result<Self>;

    /// Writes 1 where an answer is true.
    #[doc(hidden)]
    fn write_answers(answers: &Self::Answers, matches: &mut [u8]) -> Result<()>;
}

/// The two versions differ in the name of the crate alone.
#[cfg(any(feature = "arrow-59", feature = "arrow-60"))]
macro_rules! batch_of {
    ($arrow:ident) => {
        const _: () = {
            use std::mem::transmute;

            use $arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
            use $arrow::{Array, BooleanArray, RecordBatch, StructArray};

            use crate::error::Error;

            impl sealed::Sealed for RecordBatch {}

            impl Batch for RecordBatch {
                type Answers = BooleanArray;

                fn export(
                    &self,
                    schema: &mut sys::ArrowSchema,
                    array: &mut sys::ArrowArray,
                ) -> Result<()> {
                    let data = StructArray::from(self.clone()).into_data();
                    let (exported, described) =
                        to_ffi(&data).map_err(|error| Error::Arrow(error.to_string()))?;
                    // SAFETY: both are the structs of the C data interface, in Rust and in C.
                    unsafe {
                        *array = transmute::<FFI_ArrowArray, sys::ArrowArray>(exported);
                        *schema = transmute::<FFI_ArrowSchema, sys::ArrowSchema>(described);
                    }
                    Ok(())
                }

                unsafe fn import(schema: sys::ArrowSchema, array: sys::ArrowArray) -> Result<Self> {
                    // SAFETY: the same layout; the caller says that they are valid and gives them.
                    let data = unsafe {
                        let schema = transmute::<sys::ArrowSchema, FFI_ArrowSchema>(schema);
                        from_ffi(transmute::<sys::ArrowArray, FFI_ArrowArray>(array), &schema)
                    };
                    let data = data.map_err(|error| Error::Arrow(error.to_string()))?;
                    Ok(RecordBatch::from(StructArray::from(data)))
                }

                fn write_answers(answers: &BooleanArray, matches: &mut [u8]) -> Result<()> {
                    if answers.len() != matches.len() {
                        return Err(Error::InvalidArgument(format!(
                            "decide: {} answers for {} candidates",
                            answers.len(),
                            matches.len()
                        )));
                    }
                    for (to, answer) in matches.iter_mut().zip(answers) {
                        *to = u8::from(answer == Some(true));
                    }
                    Ok(())
                }
            }
        };
    };
}

#[cfg(feature = "arrow-59")]
batch_of!(arrow_array_59);
#[cfg(feature = "arrow-60")]
batch_of!(arrow_array);
