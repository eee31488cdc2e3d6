//! The options of `fsx.conf` that writers go by.

use std::io::ErrorKind;

use sapwood_core::ErrorCode;
use sapwood_core::config::{Case, Config};
use sapwood_fsx_format::layout::names;

use crate::error::{Error, Result};
use crate::filesystem::Fs;

/// The longest configuration that is read.
const LEN: usize = 1 << 20;

/// How new data are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteConfig {
    /// Share equal texts.
    pub rep_sharing: bool,
    /// How many predecessors back a delta base may be.
    pub max_deltification_walk: u64,
    /// Half of this, about, is how long a chain of deltas may be.
    pub max_linear_deltification: u64,
    /// The zlib level of deltas.
    pub compression_level: u8,
    /// Items in a page of the log-to-phys index.
    pub l2p_page_size: usize,
    /// Bytes that a page of the phys-to-log index describes.
    pub p2l_page_size: u64,
    /// Bytes that are read at once, for which packs are aligned.
    pub block_size: u64,
    /// Bytes of properties in a pack, before compression.
    pub revprop_pack_size: u64,
    /// Pack full shards after each commit.
    pub pack_after_commit: bool,
}

impl Default for WriteConfig {
    fn default() -> Self {
        Self {
            rep_sharing: true,
            max_deltification_walk: 1023,
            max_linear_deltification: 16,
            compression_level: 5,
            l2p_page_size: 8192,
            p2l_page_size: 1 << 20,
            block_size: 64 << 10,
            revprop_pack_size: 256 << 10,
            pack_after_commit: false,
        }
    }
}

impl WriteConfig {
    /// What the filesystem's `fsx.conf` says; the defaults when there is none.
    pub(crate) fn of(fs: &Fs) -> Result<Self> {
        let path = fs.file(names::CONFIG);
        match fs.storage.read(&path, LEN) {
            Ok(bytes) => {
                Self::new(&Config::parse_file(&path.to_string_lossy(), &bytes, Case::default())?)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::io("Can't open file", &path, error)),
        }
    }

    fn new(config: &Config) -> Result<Self> {
        const DELTAS: &str = "deltification";
        const REVPROPS: &str = "packed-revprops";
        let default = Self::default();
        // Negative numbers are as good as 0: no delta.
        let number = |section, option, default: i64| -> Result<u64> {
            Ok(u64::try_from(config.get_i64(section, option, default)?).unwrap_or(0))
        };
        let level = config.get_i64(DELTAS, "compression-level", 5)?.clamp(0, 9);
        let compress = config.get_bool(REVPROPS, "compress-packed-revprops", true)?;
        let pack_size = number(REVPROPS, "revprop-pack-size", if compress { 256 } else { 64 })?;
        let l2p = page_size(config, "l2p-page-size", 8192, 8)?;
        Ok(Self {
            rep_sharing: config.get_bool("rep-sharing", "enable-rep-sharing", true)?,
            max_deltification_walk: number(DELTAS, "max-deltification-walk", 1023)?,
            max_linear_deltification: number(DELTAS, "max-linear-deltification", 16)?,
            compression_level: u8::try_from(level).unwrap_or(default.compression_level),
            l2p_page_size: usize::try_from(l2p).unwrap_or(default.l2p_page_size),
            p2l_page_size: page_size(config, "p2l-page-size", 1024, 1024)?.saturating_mul(1024),
            block_size: page_size(config, "block-size", 64, 1024)?.saturating_mul(1024),
            revprop_pack_size: pack_size.saturating_mul(1024),
            pack_after_commit: config.get_bool("debug", "pack-after-commit", false)?,
        })
    }
}

/// A size from the section `io`, a power of two; one of it is `unit` bytes.
fn page_size(config: &Config, option: &str, default: i64, unit: u64) -> Result<u64> {
    let value = config.get_i64("io", option, default)?;
    let problem = match u64::try_from(value) {
        Err(_) | Ok(0) => format!("is too small for fsx.conf setting '{option}'."),
        Ok(n) if !n.is_power_of_two() => {
            format!("is invalid for fsx.conf setting '{option}' because it is not a power of 2.")
        }
        Ok(n) if n.checked_mul(unit).is_none_or(|n| n > u64::from(u32::MAX)) => {
            format!("is too large for fsx.conf setting '{option}'.")
        }
        Ok(n) => return Ok(n),
    };
    Err(Error::new(ErrorCode::BAD_CONFIG_VALUE, format!("{value} {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<WriteConfig> {
        WriteConfig::new(&Config::parse(text.as_bytes(), Case::default()).unwrap())
    }

    #[test]
    fn options_and_defaults() {
        assert_eq!(read("").unwrap(), WriteConfig::default());
        assert_eq!(read(crate::create::CONFIG).unwrap(), WriteConfig::default());
        let some = read(
            "[io]\nl2p-page-size = 4\np2l-page-size = 2\n[deltification]\n\
             compression-level = 99\nmax-deltification-walk = -1\n\
             [packed-revprops]\ncompress-packed-revprops = no\n",
        );
        let some = some.unwrap();
        assert_eq!((some.l2p_page_size, some.p2l_page_size), (4, 2048));
        assert_eq!((some.compression_level, some.max_deltification_walk), (9, 0));
        assert_eq!(some.revprop_pack_size, 64 << 10);
        assert!(read("[io]\nl2p-page-size = 3\n").is_err());
        assert!(read("[io]\np2l-page-size = 0\n").is_err());
    }
}
