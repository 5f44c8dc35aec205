//! Settings: `SET gpujoin.force = true`.

use std::fmt;

use datafusion::common::Result;
use datafusion::common::config::{ConfigExtension, ConfigOptions};
use datafusion::common::{config_field, extensions_options, plan_err};
use datafusion::prelude::SessionContext;
use gpujoin::Device;

extensions_options! {
    /// What a session says of joins on the library.
    pub struct GpuJoinOptions {
        /// false: plans are DataFusion's
        pub enable: bool, default = true
        /// true: every join that can be taken is, whatever it costs
        pub force: bool, default = false
        /// Of joins, build sides and waiting rows, for example 4G; 0: that of DataFusion's memory
        /// pool where it has one, and all of a device's
        pub memory_limit: Bytes, default = Bytes(0)
        /// automatic, cuda or cpu
        pub device: Executor, default = Executor::Automatic
        /// Of the library's joins on the CPU; 0: all that the process may run on
        pub threads: u32, default = 0
    }
}

impl ConfigExtension for GpuJoinOptions {
    const PREFIX: &'static str = "gpujoin";
}

impl GpuJoinOptions {
    /// Those of a session, or the defaults where it has none.
    pub fn of(config: &ConfigOptions) -> Self {
        config.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}

/// A number of bytes, written as DataFusion's own limits are: `64M`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { write!(formatter, "0") } else { write!(formatter, "{}K", self.0 / 1024) }
    }
}

fn bytes_of(value: &str) -> Result<Bytes> {
    SessionContext::parse_capacity_limit("gpujoin.memory_limit", value)
        .map(|bytes| Bytes(bytes as u64))
}

config_field!(Bytes, value => bytes_of(value)?);

/// Which executor joins run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Executor {
    /// CUDA when it can be used, else the CPU.
    #[default]
    Automatic,
    /// An NVIDIA GPU.
    Cuda,
    /// The CPU.
    Cpu,
}

impl Executor {
    pub(crate) fn device(self) -> Device {
        match self {
            Self::Automatic => Device::Automatic,
            Self::Cuda => Device::Cuda,
            Self::Cpu => Device::Cpu,
        }
    }
}

impl fmt::Display for Executor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Automatic => "automatic",
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
        })
    }
}

fn executor_of(value: &str) -> Result<Executor> {
    match value.to_lowercase().as_str() {
        "automatic" => Ok(Executor::Automatic),
        "cuda" => Ok(Executor::Cuda),
        "cpu" => Ok(Executor::Cpu),
        _ => plan_err!("gpujoin.device is automatic, cuda or cpu, not '{value}'"),
    }
}

config_field!(Executor, value => executor_of(value)?);
