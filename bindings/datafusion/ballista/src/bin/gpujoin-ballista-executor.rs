//! Ballista's executor, with joins on libgpujoin. Its arguments are those of `ballista-executor`.

use std::net::SocketAddr;
use std::sync::Arc;

use ballista_core::RuntimeProducer;
use ballista_core::error::{BallistaError, Result};
use ballista_core::object_store::{runtime_env_with_s3_support, session_config_with_s3_support};
use ballista_executor::config::Config;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::health::spawn_health_server;
use clap::Parser;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use gpujoin_ballista::{executor_settings, logs, with_gpujoin};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(flatten)]
    ballista: Config,
    /// A setting of joins, for example memory_limit=4G; those of a session go before it.
    #[arg(long = "gpujoin", value_name = "NAME=VALUE")]
    gpujoin: Vec<String>,
}

/// Ballista's, but that all sessions have one folder of files: so their joins share the library's
/// contexts. It is not in the executor's own folder, of which Ballista removes what is old.
fn runtimes() -> Result<RuntimeProducer> {
    let files = RuntimeEnvBuilder::new().build()?.disk_manager;
    Ok(Arc::new(move |config| {
        let runtime = runtime_env_with_s3_support(config)?;
        let disk_manager = Arc::clone(&files);
        Ok(Arc::new(RuntimeEnv { disk_manager, ..runtime.as_ref().clone() }))
    }))
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let options = executor_settings(arguments.gpujoin.iter().map(String::as_str))?;
    let health_address: SocketAddr =
        format!("{}:{}", arguments.ballista.bind_host, arguments.ballista.bind_health_port)
            .parse()
            .map_err(|error| BallistaError::Configuration(format!("health port: {error}")))?;

    let mut process = ExecutorProcessConfig::try_from(arguments.ballista)?;
    logs::start(
        &process.special_mod_log_level,
        process.print_thread_info,
        process.log_dir.as_deref(),
        &process.log_rotation_policy,
        &process.log_file_name_prefix(),
    );
    process.override_config_producer = Some(Arc::new(session_config_with_s3_support));
    process.override_runtime_producer = Some(runtimes()?);
    let process = with_gpujoin(process, options);

    let (stop_health, health_stops) = tokio::sync::oneshot::channel();
    let health = spawn_health_server(health_address, process.health.clone(), health_stops);
    let result = start_executor_process(Arc::new(process)).await;
    let _ = stop_health.send(());
    if let Err(error) = health.await {
        log::warn!("the health server: {error}");
    }
    result
}
