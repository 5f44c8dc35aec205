//! Constants of conditions.

use gpujoin_sys as sys;

use crate::context::Context;
use crate::error::Result;
use crate::relation::Relation;

/// A constant of a condition. [`Expr::constant`](crate::Expr::constant) takes those of other types.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// NULL, which compares with any type.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of 32 bits.
    Int32(i32),
    /// An integer of 64 bits.
    Int64(i64),
    /// An integer of 64 bits without a sign.
    UInt64(u64),
    /// A float of 32 bits.
    Float32(f32),
    /// A float of 64 bits.
    Float64(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// Days since 1970-01-01.
    Date32(i32),
    /// Microseconds since 1970-01-01, without a zone.
    TimestampMicroseconds(i64),
    /// An integer times 10^-scale.
    Decimal128 {
        /// The integer.
        unscaled: i128,
        /// Digits that its type has, 1 to 38.
        precision: u8,
        /// Digits behind the point.
        scale: i8,
    },
}

macro_rules! from {
    ($($kind:ty => $value:ident,)*) => {
        $(impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                Self::$value(value.into())
            }
        })*
    };
}

from! {
    bool => Bool,
    i32 => Int32,
    i64 => Int64,
    u64 => UInt64,
    f32 => Float32,
    f64 => Float64,
    &str => Text,
    String => Text,
    Vec<u8> => Binary,
}

/// A relation of one row, and its memory: words, because values are aligned to their width.
impl Value {
    pub(crate) fn as_relation(&self, context: &Context) -> Result<Relation> {
        let mut column =
            sys::gpujoin_column { memory: sys::GPUJOIN_MEMORY_HOST, ..sys::gpujoin_column::INIT };
        let mut bytes: &[u8] = &[];
        let number: [u8; 16];
        let of_number = |value: i128| value.to_le_bytes();
        (column.r#type, number) = match self {
            Self::Null => (sys::GPUJOIN_TYPE_NULL, [0; 16]),
            Self::Bool(value) => (sys::GPUJOIN_TYPE_BOOL, of_number((*value).into())),
            Self::Int32(value) => (sys::GPUJOIN_TYPE_INT32, of_number((*value).into())),
            Self::Int64(value) => (sys::GPUJOIN_TYPE_INT64, of_number((*value).into())),
            Self::UInt64(value) => (sys::GPUJOIN_TYPE_UINT64, of_number((*value).into())),
            Self::Float32(value) => (sys::GPUJOIN_TYPE_FLOAT32, of_number(value.to_bits().into())),
            Self::Float64(value) => (sys::GPUJOIN_TYPE_FLOAT64, of_number(value.to_bits().into())),
            Self::Text(text) => {
                bytes = text.as_bytes();
                (sys::GPUJOIN_TYPE_LARGE_UTF8, [0; 16])
            }
            Self::Binary(value) => {
                bytes = value;
                (sys::GPUJOIN_TYPE_LARGE_BINARY, [0; 16])
            }
            Self::Date32(days) => (sys::GPUJOIN_TYPE_DATE32, of_number((*days).into())),
            Self::TimestampMicroseconds(value) => {
                (sys::GPUJOIN_TYPE_TIMESTAMP_US, of_number((*value).into()))
            }
            Self::Decimal128 { unscaled, precision, scale } => {
                column.decimal_precision = (*precision).into();
                column.decimal_scale = (*scale).into();
                (sys::GPUJOIN_TYPE_BYTES16, of_number(*unscaled))
            }
        };
        let is_text =
            matches!(column.r#type, sys::GPUJOIN_TYPE_LARGE_UTF8 | sys::GPUJOIN_TYPE_LARGE_BINARY);
        let data = if is_text { bytes } else { &number };
        let offsets = [0i64, data.len() as i64];
        let memory = Box::new((words_of(data), offsets));
        column.data = memory.0.as_ptr().cast();
        if is_text {
            column.offsets = memory.1.as_ptr().cast();
        }
        // SAFETY: data and offsets are in the box, whose contents do not move with it.
        unsafe { Relation::of_columns(context, 1, &[column], memory) }
    }
}

/// Numbers are little-endian, as the library's machines are.
fn words_of(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0; bytes.len().div_ceil(8).max(1)];
    for (word, part) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..part.len()].copy_from_slice(part);
        *word = u64::from_ne_bytes(padded);
    }
    words
}
