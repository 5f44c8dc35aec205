//! Ballista's scheduler, which hands the settings of joins that a session makes to executors. Its
//! arguments are those of `ballista-scheduler`; it needs no library.

use std::net::SocketAddr;
use std::sync::Arc;

use ballista_core::error::{BallistaError, Result};
use ballista_core::object_store::{session_config_with_s3_support, session_state_with_s3_support};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{Config, SchedulerConfig};
use ballista_scheduler::scheduler_process::start_server;
use clap::Parser;
use gpujoin_ballista::{logs, with_gpujoin_settings};

/// Plans are walked by recursion, as in Ballista's own binary.
const STACK_BYTES: usize = 32 << 20;

fn main() -> Result<()> {
    let arguments = Config::parse();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()?
        .block_on(run(arguments))
}

async fn run(arguments: Config) -> Result<()> {
    logs::start(
        &arguments.log_level_setting,
        arguments.print_thread_info,
        arguments.log_dir.as_deref(),
        &arguments.log_rotation_policy,
        &format!(
            "scheduler_{}_{}_{}",
            arguments.namespace, arguments.external_host, arguments.bind_port
        ),
    );
    let address: SocketAddr = format!("{}:{}", arguments.bind_host, arguments.bind_port)
        .parse()
        .map_err(|error| BallistaError::Configuration(format!("bind address: {error}")))?;
    let config = SchedulerConfig::try_from(arguments)?
        .with_override_config_producer(Arc::new(|| {
            with_gpujoin_settings(session_config_with_s3_support())
        }))
        .with_override_session_builder(Arc::new(session_state_with_s3_support));
    let cluster = BallistaCluster::new_from_config(&config).await?;
    start_server(cluster, address, Arc::new(config)).await
}
