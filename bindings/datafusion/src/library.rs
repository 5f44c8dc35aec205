//! Contexts of the library, which sessions of equal settings share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::{SpillFile, TaskContext};
use gpujoin::{Context, Device};

use crate::errors::failed;
use crate::settings::GpuJoinOptions;

const MOST_CONTEXTS: usize = 8;

/// Contexts that were made, the last one last.
#[derive(Debug, Default)]
pub struct Library {
    contexts: Mutex<Vec<(ContextSettings, Context)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ContextSettings {
    device: Device,
    threads: u32,
    /// Of the executor's memory and of the host's; 0 = no limit.
    memory_limit: u64,
    host_limit: u64,
    spill_folder: Option<PathBuf>,
}

/// Where a join runs.
#[derive(Clone)]
pub struct Place {
    pub context: Context,
    /// Keeps the folder that rows go to that memory has no room for.
    _folder: Option<Arc<dyn SpillFile>>,
}

impl Library {
    /// A context to plan with.
    pub fn context(&self, options: &GpuJoinOptions) -> gpujoin::Result<Context> {
        self.context_of(ContextSettings {
            device: options.device.device(),
            threads: options.threads,
            memory_limit: 0,
            host_limit: 0,
            spill_folder: None,
        })
    }

    /// Where the joins of a task run: within the memory and in the folder that DataFusion has.
    pub fn place(&self, options: &GpuJoinOptions, task: &TaskContext) -> Result<Place> {
        let memory_limit = options.memory_limit.0;
        let host_limit = match task.memory_pool().memory_limit() {
            _ if memory_limit != 0 => memory_limit,
            MemoryLimit::Finite(bytes) => bytes as u64,
            _ => 0,
        };
        let mut settings = ContextSettings {
            device: options.device.device(),
            threads: options.threads,
            memory_limit,
            host_limit,
            spill_folder: None,
        };
        let mut folder = None;
        let disk_manager = &task.runtime_env().disk_manager;
        if host_limit != 0 && disk_manager.tmp_files_enabled() {
            let file = disk_manager.create_tmp_file("joining")?;
            settings.spill_folder =
                file.path().and_then(|path| path.parent()).map(|parent| parent.to_path_buf());
            folder = Some(file);
        }
        let context = self.context_of(settings).map_err(failed)?;
        Ok(Place { context, _folder: folder })
    }

    fn context_of(&self, settings: ContextSettings) -> gpujoin::Result<Context> {
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, context)) = contexts.iter().find(|(other, _)| *other == settings) {
            return Ok(context.clone());
        }
        let mut builder = Context::builder()
            .device(settings.device)
            .cpu_threads(settings.threads)
            .memory_limit(settings.memory_limit)
            .host_limit(settings.host_limit);
        if let Some(folder) = &settings.spill_folder {
            builder = builder.spill(folder, 0);
        }
        let context = builder.create()?;
        if contexts.len() == MOST_CONTEXTS {
            contexts.remove(0);
        }
        contexts.push((settings, context.clone()));
        Ok(context)
    }
}
