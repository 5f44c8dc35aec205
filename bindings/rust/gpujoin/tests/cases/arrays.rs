//! Words of cases as arrays, and arrays as words.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, FixedSizeBinaryBuilder, LargeBinaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BooleanArray, LargeStringArray, NullArray, PrimitiveArray, StringArray,
    downcast_primitive_array,
};
use arrow_schema::{DataType, TimeUnit};

/// A type by its name in cases: int8, fixed_binary(3), decimal64(10,2).
pub fn type_of(name: &str) -> DataType {
    use DataType::*;
    if let Some((name, numbers)) = name.split_once('(') {
        let numbers: Vec<i32> =
            numbers.trim_end_matches(')').split(',').map(|word| word.parse().unwrap()).collect();
        let digits = || (numbers[0] as u8, numbers[1] as i8);
        return match name {
            "fixed_binary" => FixedSizeBinary(numbers[0]),
            "decimal32" => Decimal32(digits().0, digits().1),
            "decimal64" => Decimal64(digits().0, digits().1),
            "decimal128" => Decimal128(digits().0, digits().1),
            "decimal256" => Decimal256(digits().0, digits().1),
            other => panic!("type {other}"),
        };
    }
    match name {
        "int8" => Int8,
        "int16" => Int16,
        "int32" => Int32,
        "int64" => Int64,
        "uint8" => UInt8,
        "uint16" => UInt16,
        "uint32" => UInt32,
        "uint64" => UInt64,
        "float16" => Float16,
        "float32" => Float32,
        "float64" => Float64,
        "bool" => Boolean,
        "date32" => Date32,
        "date64" => Date64,
        "timestamp_s" => Timestamp(TimeUnit::Second, None),
        "timestamp_ms" => Timestamp(TimeUnit::Millisecond, None),
        "timestamp_us" => Timestamp(TimeUnit::Microsecond, None),
        "timestamp_ns" => Timestamp(TimeUnit::Nanosecond, None),
        "time32" => Time32(TimeUnit::Millisecond),
        "time64" => Time64(TimeUnit::Microsecond),
        "duration" => Duration(TimeUnit::Microsecond),
        "utf8" => Utf8,
        "large_utf8" => LargeUtf8,
        "binary" => Binary,
        "large_binary" => LargeBinary,
        "bytes16" => FixedSizeBinary(16),
        "null" => Null,
        other => panic!("type {other}"),
    }
}

fn bytes_of(word: &str) -> Vec<u8> {
    let digits = if word == "\"\"" { "" } else { word };
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// Digits of a decimal as its integer has them: "-0.05" of scale 3 is -50.
fn unscaled(word: &str, scale: i8) -> String {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    match usize::try_from(scale) {
        Ok(scale) => format!("{whole}{fraction:0<scale$}"),
        Err(_) => {
            let zeros = usize::from(scale.unsigned_abs());
            if whole.trim_start_matches('-').len() <= zeros {
                assert!(whole.trim_matches(['-', '0']).is_empty(), "{word}");
                return String::from("0");
            }
            assert!(whole.ends_with(&"0".repeat(zeros)), "{word}");
            whole[..whole.len() - zeros].into()
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(
    words: &[&str],
    value: impl Fn(&str) -> T::Native,
) -> PrimitiveArray<T> {
    words.iter().map(|word| (*word != "NULL").then(|| value(word))).collect()
}

fn numbers<T: ArrowPrimitiveType>(words: &[&str]) -> ArrayRef
where
    T::Native: std::str::FromStr<Err: std::fmt::Debug>,
{
    Arc::new(primitive::<T>(words, |word| word.parse().unwrap()))
}

fn decimals<T: DecimalType>(
    words: &[&str],
    precision: u8,
    scale: i8,
    value: impl Fn(String) -> T::Native,
) -> ArrayRef {
    let array = primitive::<T>(words, |word| value(unscaled(word, scale)));
    Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
}

pub fn array_of(words: &[&str], kind: &DataType) -> ArrayRef {
    let texts = || words.iter().map(|word| (*word != "NULL").then(|| word.trim_matches('"')));
    let bytes = || words.iter().map(|word| (*word != "NULL").then(|| bytes_of(word)));
    match *kind {
        DataType::Int8 => numbers::<Int8Type>(words),
        DataType::Int16 => numbers::<Int16Type>(words),
        DataType::Int32 => numbers::<Int32Type>(words),
        DataType::Int64 => numbers::<Int64Type>(words),
        DataType::UInt8 => numbers::<UInt8Type>(words),
        DataType::UInt16 => numbers::<UInt16Type>(words),
        DataType::UInt32 => numbers::<UInt32Type>(words),
        DataType::UInt64 => numbers::<UInt64Type>(words),
        DataType::Float16 => Arc::new(primitive::<Float16Type>(words, |word| {
            half::f16::from_f32(word.parse().unwrap())
        })),
        DataType::Float32 => numbers::<Float32Type>(words),
        DataType::Float64 => numbers::<Float64Type>(words),
        DataType::Date32 => numbers::<Date32Type>(words),
        DataType::Date64 => numbers::<Date64Type>(words),
        DataType::Timestamp(TimeUnit::Second, _) => numbers::<TimestampSecondType>(words),
        DataType::Timestamp(TimeUnit::Millisecond, _) => numbers::<TimestampMillisecondType>(words),
        DataType::Timestamp(TimeUnit::Microsecond, _) => numbers::<TimestampMicrosecondType>(words),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => numbers::<TimestampNanosecondType>(words),
        DataType::Time32(_) => numbers::<Time32MillisecondType>(words),
        DataType::Time64(_) => numbers::<Time64MicrosecondType>(words),
        DataType::Duration(_) => numbers::<DurationMicrosecondType>(words),
        DataType::Decimal32(precision, scale) => {
            decimals::<Decimal32Type>(words, precision, scale, |word| word.parse().unwrap())
        }
        DataType::Decimal64(precision, scale) => {
            decimals::<Decimal64Type>(words, precision, scale, |word| word.parse().unwrap())
        }
        DataType::Decimal128(precision, scale) => {
            decimals::<Decimal128Type>(words, precision, scale, |word| word.parse().unwrap())
        }
        DataType::Decimal256(precision, scale) => {
            decimals::<Decimal256Type>(words, precision, scale, |word| word.parse().unwrap())
        }
        DataType::Boolean => Arc::new(
            words
                .iter()
                .map(|word| (*word != "NULL").then(|| word.parse().unwrap()))
                .collect::<BooleanArray>(),
        ),
        DataType::Utf8 => Arc::new(texts().collect::<StringArray>()),
        DataType::LargeUtf8 => Arc::new(texts().collect::<LargeStringArray>()),
        DataType::Binary => {
            let mut builder = BinaryBuilder::new();
            bytes().for_each(|value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        DataType::LargeBinary => {
            let mut builder = LargeBinaryBuilder::new();
            bytes().for_each(|value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        DataType::FixedSizeBinary(width) => {
            let mut builder = FixedSizeBinaryBuilder::new(width);
            for value in bytes() {
                match value {
                    Some(value) => builder.append_value(value).unwrap(),
                    None => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        DataType::Null => Arc::new(NullArray::new(words.len())),
        ref other => panic!("type {other}"),
    }
}

/// Values of an array, each in one way: what lies in memory, -0.0 as 0.0.
pub fn words_of(array: &ArrayRef) -> Vec<String> {
    let word = |row: usize| -> String {
        if array.is_null(row) || *array.data_type() == DataType::Null {
            return String::from("NULL");
        }
        match array.data_type() {
            DataType::Boolean => array.as_boolean().value(row).to_string(),
            DataType::Utf8 => array.as_string::<i32>().value(row).into(),
            DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
            DataType::Binary => format!("{:02x?}", array.as_binary::<i32>().value(row)),
            DataType::LargeBinary => format!("{:02x?}", array.as_binary::<i64>().value(row)),
            DataType::FixedSizeBinary(_) => {
                format!("{:02x?}", array.as_fixed_size_binary().value(row))
            }
            DataType::Float16 => {
                (f64::from(array.as_primitive::<Float16Type>().value(row)) + 0.0).to_string()
            }
            DataType::Float32 => {
                (f64::from(array.as_primitive::<Float32Type>().value(row)) + 0.0).to_string()
            }
            DataType::Float64 => (array.as_primitive::<Float64Type>().value(row) + 0.0).to_string(),
            _ => downcast_primitive_array!(
                array => format!("{:?}", array.value(row)),
                other => panic!("type {other}")
            ),
        }
    };
    (0..array.len()).map(word).collect()
}
