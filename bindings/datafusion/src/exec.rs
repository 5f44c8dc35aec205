//! GpuJoinExec: a join of a plan that the library does.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalExprRef};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions, displayable,
};
use futures::FutureExt;

use crate::build_side::{BuildSide, try_out};
use crate::cost::Expectation;
use crate::join_layout::JoinLayout;
use crate::join_metrics::{JoinMetrics, Ran};
use crate::join_stream::{Building, JoinStream};
use crate::key_ranges::KeyRanges;
use crate::library::{Library, Place};
use crate::settings::GpuJoinOptions;

/// A [`HashJoinExec`] that runs on the library.
///
/// It stands for the hash join in all that a plan asks of it. Where the library has no room at
/// all when it begins, the hash join runs in its place.
pub struct GpuJoinExec {
    join: HashJoinExec,
    /// Those of the join, but for the order of its rows.
    properties: Arc<PlanProperties>,
    layout: Arc<JoinLayout>,
    expectation: Expectation,
    library: Arc<Library>,
    metrics: ExecutionPlanMetricsSet,
    ran: Arc<Ran>,
    /// Where it runs, or why it does not.
    place: OnceLock<Result<Place, String>>,
    /// Of all builds together; none where no scan asks.
    ranges: OnceLock<Option<Arc<KeyRanges>>>,
    /// The left side that all partitions share.
    left: Mutex<Option<Building>>,
}

impl GpuJoinExec {
    pub(crate) fn new(
        join: HashJoinExec,
        layout: JoinLayout,
        expectation: Expectation,
        library: Arc<Library>,
    ) -> Self {
        let mut equalities = join.properties().eq_properties.clone();
        equalities.clear_orderings();
        let properties = PlanProperties::clone(join.properties()).with_eq_properties(equalities);
        Self {
            join,
            properties: Arc::new(properties),
            layout: Arc::new(layout),
            expectation,
            library,
            metrics: ExecutionPlanMetricsSet::new(),
            ran: Arc::default(),
            place: OnceLock::new(),
            ranges: OnceLock::new(),
            left: Mutex::default(),
        }
    }

    /// The join that it stands for.
    pub fn hash_join(&self) -> &HashJoinExec {
        &self.join
    }

    fn standing_for(&self, join: HashJoinExec) -> Result<Arc<dyn ExecutionPlan>> {
        let layout = JoinLayout::of(&join)
            .map_err(|reason| DataFusionError::Plan(format!("gpujoin: {reason}")))?;
        let (expectation, library) = (self.expectation.clone(), Arc::clone(&self.library));
        Ok(Arc::new(Self::new(join, layout, expectation, library)))
    }

    fn place(&self, task: &TaskContext) -> &Result<Place, String> {
        self.place.get_or_init(|| {
            let options = GpuJoinOptions::of(task.session_config().options());
            let place = self.library.place(&options, task).map_err(|error| error.to_string())?;
            try_out(&self.layout, &place.context).map_err(|error| error.to_string())?;
            Ok(place)
        })
    }

    /// Reads partition `partition` of the left side for so many probes.
    fn build(
        &self,
        partition: usize,
        probes: usize,
        place: &Place,
        metrics: &JoinMetrics,
        task: &Arc<TaskContext>,
    ) -> Result<Building> {
        let rows = self.join.left().execute(partition, Arc::clone(task))?;
        let reservation =
            MemoryConsumer::new(format!("GpuJoinBuild[{partition}]")).register(task.memory_pool());
        let (layout, place, metrics) = (Arc::clone(&self.layout), place.clone(), metrics.clone());
        let builds = self.join.left().output_partitioning().partition_count();
        let ranges = self.ranges.get_or_init(|| KeyRanges::of(&self.join, builds).map(Arc::new));
        let ranges = ranges.clone();
        let build = BuildSide::read(rows, layout, place, probes, ranges, reservation, metrics);
        Ok(build.map(|built| built.map(Arc::new).map_err(Arc::new)).boxed().shared())
    }
}

impl fmt::Debug for GpuJoinExec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GpuJoinExec").field("join", &self.join).finish_non_exhaustive()
    }
}

impl DisplayAs for GpuJoinExec {
    fn fmt_as(&self, kind: DisplayFormatType, formatter: &mut fmt::Formatter) -> fmt::Result {
        let how = self.ran.text().unwrap_or_else(|| self.expectation.to_string());
        if kind == DisplayFormatType::TreeRender {
            self.join.fmt_as(kind, formatter)?;
            return writeln!(formatter, "{how}");
        }
        let shown = displayable(&self.join).one_line().to_string();
        let arguments = shown.trim_end().trim_start_matches("HashJoinExec: ");
        write!(formatter, "GpuJoinExec: {arguments}, {how}")
    }
}

impl ExecutionPlan for GpuJoinExec {
    fn name(&self) -> &'static str {
        "GpuJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        self.join.input_distribution_requirements().into_per_child()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.join.input_distribution_requirements()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.join.children()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&PhysicalExprRef) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.join.apply_expressions(visit)
    }

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.join.dynamic_expressions_produced()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let builder = self.join.builder().recompute_properties();
        self.standing_for(builder.with_new_children(children)?.build()?)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let builder = self.join.builder().recompute_properties();
        self.standing_for(builder.with_new_children(children)?.build()?)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        self.standing_for(self.join.builder().reset_state().build()?)
    }

    fn execute(
        &self,
        partition: usize,
        task: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let place = match self.place(&task) {
            Ok(place) => place.clone(),
            Err(reason) => {
                self.ran.by_datafusion(reason);
                return self.join.execute(partition, task);
            }
        };
        let metrics = JoinMetrics::new(partition, &self.metrics);
        let building = if *self.join.partition_mode() == PartitionMode::CollectLeft {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            match &*left {
                Some(building) => building.clone(),
                None => {
                    let probes = self.join.right().output_partitioning().partition_count();
                    left.insert(self.build(0, probes, &place, &metrics, &task)?).clone()
                }
            }
        } else {
            self.build(partition, 1, &place, &metrics, &task)?
        };
        let stream = JoinStream {
            layout: Arc::clone(&self.layout),
            join_type: *self.join.join_type(),
            context: place.context.clone(),
            building,
            batch_size: task.session_config().batch_size(),
            right: self.join.right().execute(partition, task)?,
            metrics,
            ran: Arc::clone(&self.ran),
            fetch: self.join.fetch(),
        };
        Ok(stream.start())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let metrics = self.metrics.clone_inner();
        if metrics.iter().next().is_some() { Some(metrics) } else { self.join.metrics() }
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.join.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        arguments: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.join.statistics_from_inputs(inputs, arguments)
    }

    fn supports_limit_pushdown(&self) -> bool {
        self.join.supports_limit_pushdown()
    }

    fn fetch(&self) -> Option<usize> {
        self.join.fetch()
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let join = self.join.builder().with_fetch(limit).build().ok()?;
        self.standing_for(join).ok()
    }
}
