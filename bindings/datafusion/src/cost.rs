//! Whether a join is worth taking.

use std::fmt;

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
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

/// What DataFusion's own hash join takes for a row that it builds with and for one that probes, on
/// one thread: while its table is in the cache, on the edge of it, and behind it. Rounded down from
/// the times in the README.
struct TableRates {
    most_bytes: f64,
    build_nanoseconds: f64,
    probe_nanoseconds: f64,
}

const DATAFUSION_RATES: [TableRates; 3] = [
    TableRates { most_bytes: 4e6, build_nanoseconds: 30.0, probe_nanoseconds: 30.0 },
    TableRates { most_bytes: 64e6, build_nanoseconds: 60.0, probe_nanoseconds: 80.0 },
    TableRates { most_bytes: f64::INFINITY, build_nanoseconds: 140.0, probe_nanoseconds: 130.0 },
];
/// Of a row of the table, besides its values: hash and chain.
const TABLE_ROW_BYTES: f64 = 24.0;
/// What it takes to hand rows over and to take them back.
const NANOSECONDS_PER_BYTE: f64 = 0.5;
/// It is taken where it is so much faster.
const LEAST_GAIN: f64 = 1.25;

fn datafusion_nanoseconds(build_rows: f64, build_width: f64, probe_rows: f64) -> f64 {
    let bytes = build_rows * (build_width + TABLE_ROW_BYTES);
    let rates = DATAFUSION_RATES.iter().find(|rates| bytes <= rates.most_bytes);
    let rates = rates.unwrap_or(&DATAFUSION_RATES[2]);
    build_rows * rates.build_nanoseconds + probe_rows * rates.probe_nanoseconds
}

/// Rows of a plan, where it has an idea of them.
fn rows_of(plan: &dyn ExecutionPlan) -> Option<u64> {
    let arguments = StatisticsArgs::new();
    let statistics = StatisticsContext::new().compute(plan, &arguments).ok()?;
    statistics.num_rows.get_value().map(|&rows| rows as u64)
}

pub fn expect(
    context: &Context,
    join: &HashJoinExec,
    layout: &JoinLayout,
    partitions: usize,
) -> Result<Expectation> {
    let (Some(left_rows), Some(right_rows)) =
        (rows_of(join.left().as_ref()), rows_of(join.right().as_ref()))
    else {
        return Ok(Expectation::default());
    };
    let (left, right) = (layout.left.expected(left_rows), layout.right.expected(right_rows));
    let estimate =
        context.estimate(&ExpectedJoin::new(layout.kind, left, right)).map_err(failed)?;
    let (left_bytes, right_bytes) = (layout.left.row_bytes(), layout.right.row_bytes());
    let output_rows = rows_of(join).unwrap_or(estimate.output_rows);
    let threads = partitions.max(1) as f64;
    let handed_over = left_rows as f64 * left_bytes
        + right_rows as f64 * right_bytes
        + output_rows as f64 * (left_bytes + right_bytes);
    let is_cuda = estimate.device == Device::Cuda;
    let joined_in = if is_cuda {
        estimate.cuda_milliseconds + estimate.cuda_fetch_milliseconds
    } else {
        estimate.cpu_milliseconds
    };
    let ours = joined_in + handed_over * NANOSECONDS_PER_BYTE / 1e6 / threads;
    let theirs =
        datafusion_nanoseconds(left_rows as f64, left_bytes, right_rows as f64) / 1e6 / threads;
    Ok(Expectation {
        executor: if is_cuda { "CUDA" } else { "CPU" },
        plan: if is_cuda { estimate.cuda_plan } else { estimate.cpu_plan },
        milliseconds: Some((ours, theirs)),
    })
}

impl Expectation {
    /// Why a join is not worth taking, where it is not.
    pub fn check(&self) -> Result<(), Declined> {
        match self.milliseconds {
            None => Err("how many rows it has is not known".into()),
            Some((ours, theirs)) if ours * LEAST_GAIN > theirs => {
                Err(format!("expected {ours:.2} ms, of HashJoinExec {theirs:.2} ms").into())
            }
            Some(_) => Ok(()),
        }
    }
}
