//! What is measured of a join, and shown by EXPLAIN ANALYZE.

use std::sync::{Mutex, PoisonError};

use datafusion::common::Result;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, Gauge, MetricBuilder, Time,
};
use gpujoin::{BuildInfo, Device, JoinResult};

use crate::errors::failed;

/// Of one partition.
#[derive(Clone, Debug)]
pub struct JoinMetrics {
    pub baseline: BaselineMetrics,
    /// Reading the left side, handing it over, and what the library does with it.
    pub build_time: Time,
    pub build_input_rows: Count,
    pub build_mem_used: Gauge,
    pub input_rows: Count,
    /// The library's joins, seen by who waits for them.
    pub join_time: Time,
    pub spilled_bytes: Count,
}

impl JoinMetrics {
    pub fn new(partition: usize, metrics: &ExecutionPlanMetricsSet) -> Self {
        let builder = || MetricBuilder::new(metrics);
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            build_time: builder().subset_time("build_time", partition),
            build_input_rows: builder().counter("build_input_rows", partition),
            build_mem_used: builder().gauge("build_mem_used", partition),
            input_rows: builder().counter("input_rows", partition),
            join_time: builder().subset_time("join_time", partition),
            spilled_bytes: builder().spilled_bytes(partition),
        }
    }

    pub fn add_build(&self, info: &BuildInfo) {
        self.build_input_rows.add(info.rows as usize);
        self.build_mem_used.add((info.bytes - info.spilled_bytes) as usize);
    }
}

/// How a join ran, once it has.
#[derive(Debug, Default)]
pub struct Ran(Mutex<Option<String>>);

impl Ran {
    pub fn by_library(&self, result: &JoinResult) -> Result<()> {
        let statistics = result.statistics().map_err(failed)?;
        let executor = if statistics.device == Device::Cuda { "CUDA" } else { "CPU" };
        self.set(format!("executor={executor}, plan={}", statistics.plan));
        Ok(())
    }

    pub fn by_datafusion(&self, reason: &str) {
        self.set(format!("left to HashJoinExec: {reason}"));
    }

    pub fn text(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}
