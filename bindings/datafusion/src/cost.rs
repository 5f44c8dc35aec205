//! Whether a join is worth taking.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ExecutionOptions;
use datafusion::common::{JoinType, Result, Statistics};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use gpujoin::{Context, Device, ExpectedJoin};

use crate::declined::Declined;
use crate::errors::failed;
use crate::join_layout::JoinLayout;

/// What a join is expected to be.
#[derive(Clone, Debug, Default)]
pub struct Expectation {
    executor: &'static str,
    plan: String,
    /// On the library, and by DataFusion's own join; `None` where the rows are not known.
    milliseconds: Option<(f64, f64)>,
    /// On a GPU, or by more than a few threads.
    is_server: bool,
}

impl fmt::Display for Expectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.milliseconds {
            Some((ours, _)) => write!(
                formatter,
                "executor={}, plan={}, expected={ours:.2} ms",
                self.executor, self.plan
            ),
            None => write!(formatter, "rows unknown"),
        }
    }
}

/// What a join takes for a row that it builds with and for one that probes, on one thread, by how
/// large the table is: what comes of `tests/joins/times.rs`, with the times in the README.
struct Rates {
    most_bytes: f64,
    build_nanoseconds: f64,
    probe_nanoseconds: f64,
}

/// DataFusion's hash table. Of sides that lie in the order of their keys, which no statistics tell,
/// the rows of a large one cost 30 ns, of others 250: what lies between them.
const HASH_TABLE: [Rates; 3] = [
    Rates { most_bytes: 4e6, build_nanoseconds: 25.0, probe_nanoseconds: 20.0 },
    Rates { most_bytes: 64e6, build_nanoseconds: 30.0, probe_nanoseconds: 35.0 },
    Rates { most_bytes: f64::INFINITY, build_nanoseconds: 90.0, probe_nanoseconds: 90.0 },
];
/// The library's CPU executor, which gathers batches and puts rows out beside.
const ON_CPU: [Rates; 3] = [
    Rates { most_bytes: 4e6, build_nanoseconds: 40.0, probe_nanoseconds: 35.0 },
    Rates { most_bytes: 64e6, build_nanoseconds: 50.0, probe_nanoseconds: 45.0 },
    Rates { most_bytes: f64::INFINITY, build_nanoseconds: 70.0, probe_nanoseconds: 70.0 },
];
/// Where DataFusion has an array in the place of a hash table it hashes nothing and compares
/// nothing: the same for all sizes, since dense keys mostly lie in order.
const ARRAY_NANOSECONDS: f64 = 10.0;
/// Of a row of the table, besides its values: hash and chain.
const TABLE_ROW_BYTES: f64 = 24.0;
/// What it takes to hand rows over to a GPU and to take them back: a thread, and as many as there
/// are, since they share the host's memory.
const NANOSECONDS_PER_BYTE: f64 = 0.5;
const LEAST_NANOSECONDS_PER_BYTE: f64 = 0.045;
/// Cores that share the caches which the sizes above are of. A server has more of both.
const CORES_OF_RATES: f64 = 2.0;
/// It is taken where it is so much faster. The rates above are of two cores; of a server's sixteen,
/// beside an H200, joins of DataFusion took half of them.
const LEAST_GAIN_OF_FEW_THREADS: f64 = 1.25;
const LEAST_GAIN_OF_SERVERS: f64 = 1.75;
const MOST_OF_FEW_THREADS: usize = 8;

impl Rates {
    /// Of the table of so many bytes, or all tables of `threads` at a time.
    fn nanoseconds(
        rates: &[Self; 3],
        bytes: f64,
        threads: f64,
        build_rows: f64,
        probe_rows: f64,
    ) -> f64 {
        let caches = (threads / CORES_OF_RATES).max(1.0);
        let of_size =
            rates.iter().find(|rates| bytes <= rates.most_bytes * caches).unwrap_or(&rates[2]);
        build_rows * of_size.build_nanoseconds + probe_rows * of_size.probe_nanoseconds
    }
}

/// Whether DataFusion may look keys up in an array: it does where there is one, a whole number, and
/// a good part of the numbers from the lowest to the highest are there. What is not known it finds
/// out when it has the rows.
fn may_have_array(
    join: &HashJoinExec,
    left: &Statistics,
    rows_of_table: f64,
    execution: &ExecutionOptions,
) -> bool {
    let [(key, _)] = join.on() else { return false };
    if !key.data_type(&join.left().schema()).is_ok_and(|found| found.is_integer()) {
        return false;
    }
    let Some(column) = key.downcast_ref::<Column>() else { return true };
    let Some(known) = left.column_statistics.get(column.index()) else { return true };
    let (low, high) = (known.min_value.get_value(), known.max_value.get_value());
    let Some(range) = low.zip(high).and_then(|(low, high)| low.distance(high)) else {
        return true;
    };
    range < execution.perfect_hash_join_small_build_threshold
        || rows_of_table / (range as f64 + 1.0) > execution.perfect_hash_join_min_key_density
}

/// Joins that put out rows of one side alone.
fn is_semi_or_anti(join_type: JoinType) -> bool {
    !matches!(join_type, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full)
}

/// What a plan knows of its rows.
fn statistics_of(plan: &dyn ExecutionPlan) -> Option<Arc<Statistics>> {
    StatisticsContext::new().compute(plan, &StatisticsArgs::new()).ok()
}

/// How many they are, where it has an idea of it.
fn rows_of(statistics: Option<&Statistics>) -> Option<u64> {
    statistics?.num_rows.get_value().map(|&rows| rows as u64)
}

pub fn expect(
    context: &Context,
    join: &HashJoinExec,
    layout: &JoinLayout,
    partitions: usize,
    execution: &ExecutionOptions,
) -> Result<Expectation> {
    let left_known = statistics_of(join.left().as_ref());
    let right_known = statistics_of(join.right().as_ref());
    let rows = rows_of(left_known.as_deref()).zip(rows_of(right_known.as_deref()));
    let (Some(left_known), Some((left_rows, right_rows))) = (left_known, rows) else {
        return Ok(Expectation::default());
    };
    let (left, right) = (layout.left.expected(left_rows), layout.right.expected(right_rows));
    let estimate =
        context.estimate(&ExpectedJoin::new(layout.kind, left, right)).map_err(failed)?;
    let (left_bytes, right_bytes) = (layout.left.row_bytes(), layout.right.row_bytes());
    let (left_rows, right_rows) = (left_rows as f64, right_rows as f64);
    let threads = partitions.max(1) as f64;
    let is_partitioned = *join.partition_mode() == PartitionMode::Partitioned;
    let rows_of_table = if is_partitioned { left_rows / threads } else { left_rows };
    let table_bytes = left_rows * (left_bytes + TABLE_ROW_BYTES);
    let of_threads = |rates| {
        Rates::nanoseconds(rates, table_bytes, threads, left_rows, right_rows) / 1e6 / threads
    };
    let is_cuda = estimate.device == Device::Cuda;
    let ours = if is_cuda {
        let output_rows =
            rows_of(statistics_of(join).as_deref()).unwrap_or(estimate.output_rows) as f64;
        let handed_over = left_rows * left_bytes
            + right_rows * right_bytes
            + output_rows * (left_bytes + right_bytes);
        estimate.cuda_milliseconds
            + estimate.cuda_fetch_milliseconds
            + handed_over / 1e6 * (NANOSECONDS_PER_BYTE / threads).max(LEAST_NANOSECONDS_PER_BYTE)
    } else {
        of_threads(&ON_CPU)
    };
    let theirs = if may_have_array(join, &left_known, rows_of_table, execution) {
        (left_rows + right_rows) * ARRAY_NANOSECONDS / 1e6 / threads
    } else {
        of_threads(&HASH_TABLE)
    };
    Ok(Expectation {
        executor: if is_cuda { "CUDA" } else { "CPU" },
        plan: if is_cuda { estimate.cuda_plan } else { estimate.cpu_plan },
        milliseconds: Some((ours, theirs)),
        is_server: is_cuda || partitions > MOST_OF_FEW_THREADS,
    })
}

impl Expectation {
    /// Why a join is not worth taking, where it is not.
    pub fn check(&self, join_type: JoinType) -> Result<(), Declined> {
        let least_gain =
            if self.is_server { LEAST_GAIN_OF_SERVERS } else { LEAST_GAIN_OF_FEW_THREADS };
        match self.milliseconds {
            None => Err("how many rows it has is not known".into()),
            // Of TPC-H's queries with them beside an H200 most took longer.
            Some(_) if self.is_server && is_semi_or_anti(join_type) => {
                Err("HashJoinExec is faster at semi and anti joins of many threads".into())
            }
            Some((ours, theirs)) if ours * least_gain > theirs => {
                Err(format!("expected {ours:.2} ms, of HashJoinExec {theirs:.2} ms").into())
            }
            Some(_) => Ok(()),
        }
    }
}
