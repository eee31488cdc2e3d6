//! A setting of a configuration file that cannot be used: for crates that are configured, whatever file the setting stands in.

use std::fmt;

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{setting}': {why}")]
pub struct WrongSetting {
    /// Its name in the configuration file.
    pub setting: &'static str,
    /// What is wrong with it.
    pub why: String,
}

impl WrongSetting {
    /// A setting, and what is wrong with it.
    pub fn new(setting: &'static str, why: impl fmt::Display) -> Self {
        Self { setting, why: why.to_string() }
    }
}
