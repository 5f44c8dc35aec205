//! The rule that puts joins on the library into plans.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::sanity_checker::SanityCheckPlan;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, displayable, replace_children_if_necessary,
};

use crate::build_side::try_out;
use crate::cost::{Expectation, expect};
use crate::declined::Declined;
use crate::exec::GpuJoinExec;
use crate::join_layout::JoinLayout;
use crate::library::Library;
use crate::settings::GpuJoinOptions;

/// Replaces hash joins by joins on the library, where that is expected to be faster. The last rule
/// of a session.
#[derive(Debug, Default)]
pub struct GpuJoinRule {
    library: Arc<Library>,
    decisions: Mutex<Vec<Decision>>,
}

/// What became of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// As EXPLAIN shows it.
    pub join: String,
    /// The library does it.
    pub taken: bool,
    /// What is expected of it, or why it is DataFusion's.
    pub reason: String,
}

/// Adds the settings and the rule to a session.
pub fn with_gpujoin(
    mut builder: SessionStateBuilder,
    rule: &Arc<GpuJoinRule>,
) -> SessionStateBuilder {
    let config = builder.config().take().unwrap_or_default();
    let config = config.with_option_extension(GpuJoinOptions::default());
    let rule: Arc<dyn PhysicalOptimizerRule + Send + Sync> = Arc::clone(rule) as _;
    builder.with_config(config).with_physical_optimizer_rule(rule)
}

impl GpuJoinRule {
    /// A rule, whose joins share the library's contexts.
    pub fn new() -> Self {
        Self::default()
    }

    /// What became of the joins of the last plan that it saw.
    pub fn decisions(&self) -> Vec<Decision> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A plan with the joins that are taken, and what became of each of its joins; where several
    /// plans are made at a time, `decisions` does not say of which one it tells.
    pub fn apply(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<(Arc<dyn ExecutionPlan>, Vec<Decision>)> {
        let relied_on = plan.output_ordering().is_some();
        let (optimized, decisions) = self.rewrite(&plan, relied_on, config)?;
        // What a node says of the orders that it needs may be less than it makes use of.
        let are_all_left = decisions.iter().all(|decision| !decision.taken);
        if are_all_left || SanityCheckPlan::new().optimize(Arc::clone(&optimized), config).is_ok() {
            return Ok((optimized, decisions));
        }
        Ok((plan, Self::all_left(decisions)))
    }

    /// The same of a part of a plan. relied_on: on the order of its rows.
    fn rewrite(
        &self,
        node: &Arc<dyn ExecutionPlan>,
        relied_on: bool,
        config: &ConfigOptions,
    ) -> Result<(Arc<dyn ExecutionPlan>, Vec<Decision>)> {
        let (mut children, mut decisions) = (Vec::new(), Vec::new());
        let needed = node.required_input_ordering();
        let kept = node.maintains_input_order();
        for (i, child) in node.children().into_iter().enumerate() {
            let relied_on = needed[i].is_some() || (relied_on && kept[i]);
            let (child, of_child) = self.rewrite(child, relied_on, config)?;
            children.push(child);
            decisions.extend(of_child);
        }
        let node = replace_children_if_necessary(Arc::clone(node), children)?;
        let Some(join) = node.downcast_ref::<HashJoinExec>() else {
            return Ok((node, decisions));
        };
        let shown = displayable(node.as_ref()).one_line().to_string().trim_end().to_owned();
        let taken = self.take(join, relied_on, config);
        let reason = match &taken {
            Ok((_, expectation)) => expectation.to_string(),
            Err(reason) => reason.to_string(),
        };
        decisions.push(Decision { join: shown, taken: taken.is_ok(), reason });
        let Ok((layout, expectation)) = taken else { return Ok((node, decisions)) };
        let join = join.builder().build()?;
        let join = GpuJoinExec::new(join, layout, expectation, Arc::clone(&self.library));
        Ok((Arc::new(join), decisions))
    }

    fn all_left(decisions: Vec<Decision>) -> Vec<Decision> {
        let reason = String::from("the plan would not hold");
        let left = |decision| Decision { taken: false, reason: reason.clone(), ..decision };
        decisions.into_iter().map(|made| if made.taken { left(made) } else { made }).collect()
    }

    fn take(
        &self,
        join: &HashJoinExec,
        relied_on: bool,
        config: &ConfigOptions,
    ) -> Result<(JoinLayout, Expectation), Declined> {
        let options = GpuJoinOptions::of(config);
        if !options.enable {
            return Err("gpujoin.enable is false".into());
        }
        if join.properties().boundedness.is_unbounded() {
            return Err("a side has no end".into());
        }
        if *join.partition_mode() == PartitionMode::Auto {
            return Err("how its sides are partitioned is not known yet".into());
        }
        if relied_on && join.properties().output_ordering().is_some() {
            return Err("the order of its rows is relied on".into());
        }
        let layout = JoinLayout::of(join)?;
        let context = self.library.context(&options).map_err(|error| error.to_string())?;
        try_out(&layout, &context).map_err(|error| error.to_string())?;
        let partitions = join.right().output_partitioning().partition_count();
        let expectation = expect(&context, join, &layout, partitions, &config.execution)
            .map_err(|error| error.to_string())?;
        if !options.force {
            expectation.check(*join.join_type())?;
        }
        Ok((layout, expectation))
    }
}

impl PhysicalOptimizerRule for GpuJoinRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (optimized, decisions) = self.apply(plan, config)?;
        *self.decisions.lock().unwrap_or_else(PoisonError::into_inner) = decisions;
        Ok(optimized)
    }

    fn name(&self) -> &str {
        "gpujoin"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
