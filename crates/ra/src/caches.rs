//! The caches that `file:` sessions of one program share: made when the first of them is opened,
//! of the size that the configuration wants.

use std::sync::{Arc, OnceLock};

use sapwood_core::config::Config;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_fs::Caches;

/// Caches that are made when they are needed.
#[derive(Debug)]
pub struct FileCaches {
    default: usize,
    made: OnceLock<Arc<Caches>>,
}

impl FileCaches {
    /// Caches of `default` bytes, when nothing else is configured.
    #[must_use]
    pub const fn new(default: usize) -> Self {
        Self { default, made: OnceLock::new() }
    }

    /// The caches. `memory-cache-size`, in mebibytes, decides how large they are made.
    pub(crate) fn get(&self, config: &Config) -> SvnResult<Arc<Caches>> {
        if let Some(made) = self.made.get() {
            return Ok(Arc::clone(made));
        }
        let bytes = match config.get("miscellany", "memory-cache-size") {
            None => self.default,
            Some(word) => {
                let number = word.trim_ascii_start().parse::<u64>().map_err(|_| {
                    SvnError::new(
                        ErrorCode::INCORRECT_PARAMS,
                        format!("Could not convert '{word}' into a number"),
                    )
                    .context("memory-cache-size invalid")
                })?;
                sapwood_core::exact::clamped(number.saturating_mul(1 << 20))
            }
        };
        Ok(Arc::clone(self.made.get_or_init(|| Caches::for_one_task(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::config::Case;

    #[test]
    fn sizes_of_the_configuration() {
        let config = |text: &str| Config::parse(text.as_bytes(), Case::INSENSITIVE).unwrap();
        let size = |text| FileCaches::new(4 << 20).get(&config(text)).map(|c| c.capacity());
        let default = size("").unwrap();
        let sixteen = size("[miscellany]\nmemory-cache-size = 16\n").unwrap();
        assert_eq!(sixteen, default * 4);
        let error = size("[miscellany]\nmemory-cache-size = much\n").unwrap_err();
        assert_eq!(error.message(), "memory-cache-size invalid");
    }
}
