//! Types of columns that the library takes.

use datafusion::arrow::datatypes::DataType;
use gpujoin::Type;

/// The library's name of a type; `None` of nested ones and runs.
pub fn column_type(of: &DataType) -> Option<Type> {
    Some(match of {
        DataType::Boolean | DataType::Null => Type::Bool,
        DataType::Int8 => Type::Int8,
        DataType::Int16 => Type::Int16,
        DataType::Int32 => Type::Int32,
        DataType::Int64 => Type::Int64,
        DataType::UInt8 => Type::UInt8,
        DataType::UInt16 => Type::UInt16,
        DataType::UInt32 => Type::UInt32,
        DataType::UInt64 => Type::UInt64,
        DataType::Float16 => Type::Float16,
        DataType::Float32 => Type::Float32,
        DataType::Float64 => Type::Float64,
        DataType::Date32 => Type::Date32,
        DataType::Date64 => Type::Date64,
        DataType::Timestamp(_, _) => Type::Timestamp,
        DataType::Time32(_) => Type::Time32,
        DataType::Time64(_) => Type::Time64,
        DataType::Duration(_) => Type::Duration,
        DataType::Interval(_) => Type::Bytes16,
        DataType::Decimal32(_, _) => Type::Decimal32,
        DataType::Decimal64(_, _) => Type::Decimal64,
        DataType::Decimal128(_, _) => Type::Bytes16,
        DataType::Decimal256(_, _) => Type::Decimal256,
        DataType::Utf8 => Type::Utf8,
        DataType::LargeUtf8 => Type::LargeUtf8,
        DataType::Utf8View => Type::Utf8View,
        DataType::Binary | DataType::FixedSizeBinary(_) => Type::Binary,
        DataType::LargeBinary => Type::LargeBinary,
        DataType::BinaryView => Type::BinaryView,
        DataType::Dictionary(_, values) => column_type(values).map(|_| Type::Dictionary)?,
        _ => return None,
    })
}

/// Bytes of a value as a batch brings it, about.
pub fn value_bytes(of: &DataType) -> f64 {
    match of.primitive_width() {
        Some(bytes) => bytes as f64,
        None if *of == DataType::Boolean => 0.125,
        None => 24.0,
    }
}

/// Whether equal values of two columns of the type are so for the library exactly where they are
/// for DataFusion.
pub fn is_comparable(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(_, values) => is_comparable(values),
        DataType::Interval(_) => false,
        _ => column_type(of).is_some(),
    }
}
