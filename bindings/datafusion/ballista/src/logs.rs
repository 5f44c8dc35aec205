//! Where the processes write what they do: as Ballista's own binaries do.

use std::path::Path;

use ballista_core::config::LogRotationPolicy;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;

/// Starts writing, to standard output or to files in a folder. `RUST_LOG` goes before `levels`.
pub fn start(
    levels: &str,
    shows_threads: bool,
    folder: Option<&str>,
    rotation: &LogRotationPolicy,
    prefix: &str,
) {
    let levels = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_else(|_| levels.to_owned());
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_thread_names(shows_threads)
        .with_thread_ids(shows_threads)
        .with_env_filter(EnvFilter::new(levels));
    let Some(folder) = folder else { return log.init() };
    let rotation = match rotation {
        LogRotationPolicy::Minutely => Rotation::MINUTELY,
        LogRotationPolicy::Hourly => Rotation::HOURLY,
        LogRotationPolicy::Daily => Rotation::DAILY,
        LogRotationPolicy::Never => Rotation::NEVER,
    };
    log.with_writer(RollingFileAppender::new(rotation, Path::new(folder), prefix)).init();
}
