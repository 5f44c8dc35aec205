//! What an executor does with a stage before it runs.

use std::sync::Arc;

use ballista_core::JobId;
use ballista_core::utils::default_config_producer;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use ballista_executor::executor_process::ExecutorProcessConfig;
use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use gpujoin_datafusion::{GpuJoinOptions, GpuJoinRule};

use crate::shuffle_clients::ShuffleClients;

/// Puts the joins of a stage on the library, and hands it to the engine that it stands before.
pub struct GpuJoinEngine {
    rule: GpuJoinRule,
    engine: Arc<dyn ExecutionEngine>,
}

impl GpuJoinEngine {
    /// Before an engine; the joins of all its stages share the library's contexts.
    pub fn new(engine: Arc<dyn ExecutionEngine>) -> Self {
        Self { rule: GpuJoinRule::new(), engine }
    }
}

impl ExecutionEngine for GpuJoinEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let (plan, decisions) = self.rule.apply(plan, config.options())?;
        for decision in decisions {
            let what = if decision.taken { "taken" } else { "left" };
            let (join, reason) = (decision.join, decision.reason);
            log::debug!("task {job_id}/{stage_id}/{task_id}, {what}: {join}: {reason}");
        }
        self.engine.create_query_stage_exec(
            job_id,
            stage_id,
            task_id,
            global_output_partition_ids,
            plan,
            work_dir,
            config,
        )
    }
}

/// An executor whose joins the library does, with settings for what sessions do not say.
pub fn with_gpujoin(
    mut process: ExecutorProcessConfig,
    options: GpuJoinOptions,
) -> ExecutorProcessConfig {
    let produce = process
        .override_config_producer
        .take()
        .unwrap_or_else(|| Arc::new(default_config_producer));
    process.override_config_producer =
        Some(Arc::new(move || produce().with_option_extension(options.clone())));
    let engine = process.override_execution_engine.take().unwrap_or_else(|| {
        Arc::new(match process.client_ttl {
            0 => DefaultExecutionEngine::new(),
            seconds => DefaultExecutionEngine::with_client_pool(ShuffleClients::new(seconds)),
        })
    });
    process.override_execution_engine = Some(Arc::new(GpuJoinEngine::new(engine)));
    process
}
