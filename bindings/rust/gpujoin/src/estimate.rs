//! What a join would cost, from numbers alone.

use std::ptr;

use gpujoin_sys as sys;

use crate::context::Context;
use crate::error::{Result, check, count, text_of};
use crate::join::output_of;
use crate::number::{Device, Kind, Order, numbers};

numbers! {
    /// The type of a column that is expected.
    Type {
        /// Integers of 8 bits.
        Int8 = GPUJOIN_TYPE_INT8,
        /// Integers of 16 bits.
        Int16 = GPUJOIN_TYPE_INT16,
        /// Integers of 32 bits.
        Int32 = GPUJOIN_TYPE_INT32,
        /// Integers of 64 bits.
        Int64 = GPUJOIN_TYPE_INT64,
        /// Integers of 8 bits without a sign.
        UInt8 = GPUJOIN_TYPE_UINT8,
        /// Integers of 16 bits without a sign.
        UInt16 = GPUJOIN_TYPE_UINT16,
        /// Integers of 32 bits without a sign.
        UInt32 = GPUJOIN_TYPE_UINT32,
        /// Integers of 64 bits without a sign.
        UInt64 = GPUJOIN_TYPE_UINT64,
        /// Floats of 16 bits.
        Float16 = GPUJOIN_TYPE_FLOAT16,
        /// Floats of 32 bits.
        Float32 = GPUJOIN_TYPE_FLOAT32,
        /// Floats of 64 bits.
        Float64 = GPUJOIN_TYPE_FLOAT64,
        /// Truth values.
        Bool = GPUJOIN_TYPE_BOOL,
        /// Days.
        Date32 = GPUJOIN_TYPE_DATE32,
        /// Milliseconds.
        Date64 = GPUJOIN_TYPE_DATE64,
        /// Timestamps of any unit.
        Timestamp = GPUJOIN_TYPE_TIMESTAMP_US,
        /// Times of 32 bits.
        Time32 = GPUJOIN_TYPE_TIME32,
        /// Times of 64 bits.
        Time64 = GPUJOIN_TYPE_TIME64,
        /// Durations.
        Duration = GPUJOIN_TYPE_DURATION,
        /// Decimals of 32 bits.
        Decimal32 = GPUJOIN_TYPE_DECIMAL32,
        /// Decimals of 64 bits.
        Decimal64 = GPUJOIN_TYPE_DECIMAL64,
        /// Decimals of 128 bits, UUIDs.
        Bytes16 = GPUJOIN_TYPE_BYTES16,
        /// Decimals of 256 bits.
        Decimal256 = GPUJOIN_TYPE_DECIMAL256,
        /// Text with offsets of 32 bits.
        Utf8 = GPUJOIN_TYPE_UTF8,
        /// Text with offsets of 64 bits.
        LargeUtf8 = GPUJOIN_TYPE_LARGE_UTF8,
        /// Text as views.
        Utf8View = GPUJOIN_TYPE_UTF8_VIEW,
        /// Bytes with offsets of 32 bits.
        Binary = GPUJOIN_TYPE_BINARY,
        /// Bytes with offsets of 64 bits.
        LargeBinary = GPUJOIN_TYPE_LARGE_BINARY,
        /// Bytes as views.
        BinaryView = GPUJOIN_TYPE_BINARY_VIEW,
        /// Positions in a dictionary of text.
        Dictionary = GPUJOIN_TYPE_DICTIONARY,
    }
}

/// A column of which there is no data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct ExpectedColumn {
    raw_type: Type,
    is_nullable: bool,
    value_bytes: f64,
}

impl ExpectedColumn {
    /// A column of a type, without NULLs.
    pub fn new(kind: Type) -> Self {
        Self { raw_type: kind, is_nullable: false, value_bytes: 0.0 }
    }

    /// There may be NULLs.
    pub fn nullable(mut self) -> Self {
        self.is_nullable = true;
        self
    }

    /// Of text and binary: bytes of a value on average; without it 16.
    pub fn value_bytes(mut self, bytes: f64) -> Self {
        self.value_bytes = bytes;
        self
    }
}

/// A side of a join of which there is no data.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ExpectedSide {
    rows: u64,
    columns: Vec<ExpectedColumn>,
    keys: Vec<usize>,
    output: Vec<usize>,
    distinct: u64,
    matched: Option<u64>,
    on_device: bool,
}

impl ExpectedSide {
    /// So many rows of such columns in host memory.
    pub fn new(rows: u64, columns: impl IntoIterator<Item = ExpectedColumn>) -> Self {
        Self {
            rows,
            columns: columns.into_iter().collect(),
            keys: Vec::new(),
            output: Vec::new(),
            distinct: 0,
            matched: None,
            on_device: false,
        }
    }

    /// Positions of the key columns.
    pub fn keys(mut self, positions: impl IntoIterator<Item = usize>) -> Self {
        self.keys = positions.into_iter().collect();
        self
    }

    /// Positions of the output columns.
    pub fn output(mut self, positions: impl IntoIterator<Item = usize>) -> Self {
        self.output = positions.into_iter().collect();
        self
    }

    /// Different keys; without it as many as the side of fewer rows has rows.
    pub fn distinct_keys(mut self, keys: u64) -> Self {
        self.distinct = keys;
        self
    }

    /// Rows with a match; without it those that the distinct keys say.
    pub fn matched_rows(mut self, rows: u64) -> Self {
        self.matched = Some(rows);
        self
    }

    /// The columns lie in the device's memory.
    pub fn on_device(mut self) -> Self {
        self.on_device = true;
        self
    }
}

/// A join of which there is no data, for [`Context::estimate`].
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ExpectedJoin {
    kind: Kind,
    left: ExpectedSide,
    right: ExpectedSide,
    has_row_numbers: bool,
    order: Option<Order>,
    pairs: Option<u64>,
}

impl ExpectedJoin {
    /// A join of a kind of two sides; their keys are compared pairwise.
    pub fn new(kind: Kind, left: ExpectedSide, right: ExpectedSide) -> Self {
        Self { kind, left, right, has_row_numbers: false, order: None, pairs: None }
    }

    /// Row numbers come out too, as they do without output columns.
    pub fn row_numbers(mut self) -> Self {
        self.has_row_numbers = true;
        self
    }

    /// In which order rows come out.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// How many pairs of rows match; without it they follow from the keys.
    pub fn matching_pairs(mut self, pairs: u64) -> Self {
        self.pairs = Some(pairs);
        self
    }
}

/// What a join would cost on either executor. Figures of CUDA are 0 on a context of the CPU.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The executor that is faster where the columns lie.
    pub device: Device,
    /// Rows that come out.
    pub output_rows: u64,
    /// Bytes of output columns and row numbers.
    pub output_bytes: u64,
    /// Of planning and executing on the CPU.
    pub cpu_milliseconds: f64,
    /// The same on the device, the columns' copies to it included.
    pub cuda_milliseconds: f64,
    /// The result's way to host memory.
    pub cuda_fetch_milliseconds: f64,
    /// Memory traffic on the CPU, read + written.
    pub cpu_bytes: u64,
    /// Memory traffic on the device.
    pub cuda_bytes: u64,
    /// At the peak, the output included, inputs not.
    pub cpu_memory_bytes: u64,
    /// The same of the device.
    pub cuda_memory_bytes: u64,
    /// The plan in one line.
    pub cpu_plan: String,
    /// The plan in one line.
    pub cuda_plan: String,
}

/// A side as the library takes it, with what it points to.
struct Side {
    raw: sys::gpujoin_expected_side,
    _columns: Vec<sys::gpujoin_expected_column>,
    _keys: Vec<i32>,
    _output: Vec<i32>,
}

impl Side {
    fn of(side: &ExpectedSide) -> Result<Self> {
        let columns: Vec<_> = side
            .columns
            .iter()
            .map(|column| sys::gpujoin_expected_column {
                r#type: column.raw_type.number(),
                is_nullable: i32::from(column.is_nullable),
                value_bytes: column.value_bytes,
                ..sys::gpujoin_expected_column::INIT
            })
            .collect();
        let positions = |what, positions: &[usize]| -> Result<Vec<i32>> {
            positions.iter().map(|&position| count(what, position as u64)).collect()
        };
        let keys = positions("key", &side.keys)?;
        let output = positions("output column", &side.output)?;
        let memory =
            if side.on_device { sys::GPUJOIN_MEMORY_DEVICE } else { sys::GPUJOIN_MEMORY_HOST };
        let raw = sys::gpujoin_expected_side {
            memory,
            rows: count("rows", side.rows)?,
            columns: columns.as_ptr(),
            keys: if keys.is_empty() { ptr::null() } else { keys.as_ptr() },
            output_columns: if output.is_empty() { ptr::null() } else { output.as_ptr() },
            column_count: count("columns", columns.len() as u64)?,
            output_column_count: count("output columns", output.len() as u64)?,
            distinct_keys: count("distinct keys", side.distinct)?,
            matched_rows: count("matched rows", side.matched.unwrap_or(0))?,
            has_matched_rows: i32::from(side.matched.is_some()),
            ..sys::gpujoin_expected_side::INIT
        };
        Ok(Self { raw, _columns: columns, _keys: keys, _output: output })
    }
}

impl Context {
    /// What a join would cost on either executor, from numbers alone: nothing is read, and it takes
    /// some microseconds. For optimizers.
    ///
    /// ```
    /// use gpujoin::{Context, ExpectedColumn, ExpectedJoin, ExpectedSide, Kind, Type};
    ///
    /// let columns = [ExpectedColumn::new(Type::Int64), ExpectedColumn::new(Type::Int32)];
    /// let fact = ExpectedSide::new(100_000_000, columns).keys([0]).output([1]);
    /// let dimension = ExpectedSide::new(10_000_000, columns).keys([0]).output([1]);
    /// let price = Context::new()?.estimate(&ExpectedJoin::new(Kind::Inner, fact, dimension))?;
    /// assert_eq!(price.output_rows, 100_000_000);
    /// # Ok::<(), gpujoin::Error>(())
    /// ```
    pub fn estimate(&self, join: &ExpectedJoin) -> Result<Estimate> {
        let (left, right) = (Side::of(&join.left)?, Side::of(&join.right)?);
        if join.left.keys.len() != join.right.keys.len() {
            return Err(crate::Error::InvalidArgument(format!(
                "keys: {} on the left, {} on the right",
                join.left.keys.len(),
                join.right.keys.len()
            )));
        }
        let has_columns = !join.left.output.is_empty() || !join.right.output.is_empty();
        let raw = sys::gpujoin_expected_join {
            kind: join.kind.number(),
            left: &left.raw,
            right: &right.raw,
            key_count: count("keys", join.left.keys.len() as u64)?,
            output: output_of(has_columns, join.has_row_numbers),
            order: join.order.map_or(sys::GPUJOIN_ORDER_NONE, Order::number),
            has_pairs: i32::from(join.pairs.is_some()),
            pairs: count("pairs", join.pairs.unwrap_or(0))?,
            ..sys::gpujoin_expected_join::INIT
        };
        let mut estimate = sys::gpujoin_estimate::INIT;
        // SAFETY: the handle is there, and what the join points to.
        check(|error| unsafe {
            sys::gpujoin_estimate_join(self.handle(), &raw, &mut estimate, error)
        })?;
        Ok(Estimate {
            device: Device::of(estimate.device).unwrap_or(Device::Automatic),
            output_rows: estimate.output_rows as u64,
            output_bytes: estimate.output_bytes,
            cpu_milliseconds: estimate.cpu_milliseconds,
            cuda_milliseconds: estimate.cuda_milliseconds,
            cuda_fetch_milliseconds: estimate.cuda_fetch_milliseconds,
            cpu_bytes: estimate.cpu_bytes,
            cuda_bytes: estimate.cuda_bytes,
            cpu_memory_bytes: estimate.cpu_memory_bytes,
            cuda_memory_bytes: estimate.cuda_memory_bytes,
            cpu_plan: text_of(&estimate.cpu_plan),
            cuda_plan: text_of(&estimate.cuda_plan),
        })
    }
}
