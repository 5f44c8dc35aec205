//! What tests share.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::Result;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use gpujoin_datafusion::{GpuJoinRule, with_gpujoin};

/// A session whose joins the rule sees.
pub fn session(
    config: SessionConfig,
    runtime: Arc<RuntimeEnv>,
) -> (SessionContext, Arc<GpuJoinRule>) {
    let rule = Arc::new(GpuJoinRule::new());
    let builder = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(runtime);
    let state = with_gpujoin(builder, &rule).build();
    (SessionContext::new_with_state(state), rule)
}

pub fn runtime() -> Arc<RuntimeEnv> {
    RuntimeEnvBuilder::new().build_arc().unwrap()
}

/// Two partitions, and batches small enough that there are several.
pub fn config() -> SessionConfig {
    SessionConfig::new().with_target_partitions(2).with_batch_size(1000)
}

pub async fn set(context: &SessionContext, setting: &str, value: &str) {
    let sql = format!("SET gpujoin.{setting} = '{value}'");
    context.sql(&sql).await.unwrap().collect().await.unwrap();
}

pub async fn answer(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    context.sql(sql).await?.collect().await
}

/// Rows as text.
pub fn rows_of(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::new().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let words: Vec<_> = columns.iter().map(|c| c.value(row).to_string()).collect();
            rows.push(words.join("|"));
        }
    }
    rows
}

pub fn sorted_rows_of(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = rows_of(batches);
    rows.sort();
    rows
}

/// Random numbers that a seed repeats (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    pub fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub fn pick<'list, T>(&mut self, list: &'list [T]) -> &'list T {
        &list[self.below(list.len())]
    }
}
