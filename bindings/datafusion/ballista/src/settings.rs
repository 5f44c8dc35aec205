//! Settings: those of an executor, and those that a session sends it.

use std::any::Any;
use std::collections::BTreeMap;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::common::{DataFusionError, Result};
use datafusion::prelude::SessionConfig;
use gpujoin_datafusion::GpuJoinOptions;

/// What a session has set of `gpujoin.force` and its like.
///
/// A client's session and the scheduler's have these, the executor's has [`GpuJoinOptions`]. Only
/// what was set travels: of the rest each executor has its own, as it was started with.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    set: BTreeMap<String, String>,
}

impl ConfigExtension for SessionSettings {
    const PREFIX: &'static str = GpuJoinOptions::PREFIX;
}

impl ExtensionOptions for SessionSettings {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        // An executor would only leave out what it cannot read.
        ExtensionOptions::set(&mut GpuJoinOptions::default(), name, value)?;
        self.set.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |(name, value): (&String, &String)| ConfigEntry {
            key: format!("{}.{name}", Self::PREFIX),
            value: Some(value.clone()),
            description: "of joins on libgpujoin",
        };
        self.set.iter().map(entry).collect()
    }
}

/// Lets a session, of a client or of a scheduler, have settings of joins.
pub fn with_gpujoin_settings(config: SessionConfig) -> SessionConfig {
    config.with_option_extension(SessionSettings::default())
}

/// The settings of an executor from words such as `memory_limit=4G`.
pub fn executor_settings<'word>(
    words: impl IntoIterator<Item = &'word str>,
) -> Result<GpuJoinOptions> {
    let mut options = GpuJoinOptions::default();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| DataFusionError::Configuration(format!("'{word}' is not NAME=VALUE")))?;
        ExtensionOptions::set(&mut options, name, value)?;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_set_travels() {
        let mut config = with_gpujoin_settings(SessionConfig::new());
        let travels = |config: &SessionConfig| -> Vec<(String, Option<String>)> {
            let entries = config.options().entries().into_iter();
            let ours = entries.filter(|entry| entry.key.starts_with("gpujoin"));
            ours.map(|entry| (entry.key, entry.value)).collect()
        };
        assert_eq!(travels(&config), []);
        config.options_mut().set("gpujoin.memory_limit", "4G").unwrap();
        assert_eq!(travels(&config), [("gpujoin.memory_limit".into(), Some("4G".into()))]);
        for (name, value) in [("color", "red"), ("device", "fpga"), ("force", "perhaps")] {
            assert!(config.options_mut().set(&format!("gpujoin.{name}"), value).is_err(), "{name}");
        }
        assert_eq!(travels(&config).len(), 1);
    }

    #[test]
    fn executors_are_started_with_settings() {
        let options = executor_settings(["force=true", "memory_limit=64M"]).unwrap();
        assert!(options.force && options.enable);
        assert_eq!(options.memory_limit.0, 64 << 20);
        for word in ["force", "color=red", "device=fpga"] {
            assert!(executor_settings([word]).is_err(), "{word}");
        }
    }
}
