//! The options of `fsfs.conf` that writers go by, with the defaults of each format.

use sapwood_core::ErrorCode;
use sapwood_core::config::{Config, parse_i64};
use sapwood_delta::Version;
use sapwood_fsfs_format::since;

use crate::error::{Error, Result};

/// From which format on directories and properties may be deltas, and options say so.
const DELTIFICATION: u32 = since::PACKING;
/// From which format on svndiff 1 may be written.
const SVNDIFF1: u32 = 2;
/// The default zlib level.
const DEFAULT_LEVEL: u32 = 5;

/// Items in a page of the log-to-phys index, by default.
pub(crate) const DEFAULT_L2P_PAGE_SIZE: u64 = 8192;
/// Bytes that a page of the phys-to-log index describes, by default.
pub(crate) const DEFAULT_P2L_PAGE_SIZE: u64 = 1024 * 1024;

/// How new data are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteConfig {
    /// Share equal texts.
    pub rep_sharing: bool,
    /// Store directories as deltas.
    pub deltify_directories: bool,
    /// Store properties as deltas.
    pub deltify_properties: bool,
    /// How many predecessors back a delta base may be.
    pub max_deltification_walk: u64,
    /// How long the linear part of a delta chain may be.
    pub max_linear_deltification: u64,
    /// The encoding of deltas.
    pub svndiff: Version,
    /// The zlib level of svndiff 1.
    pub compression_level: u32,
    /// Items in a page of the log-to-phys index.
    pub l2p_page_size: u64,
    /// Bytes that a page of the phys-to-log index describes.
    pub p2l_page_size: u64,
    /// Read each new revision back before it becomes visible.
    pub verify_before_commit: bool,
    /// Pack full shards after each commit.
    pub pack_after_commit: bool,
}

impl WriteConfig {
    /// What `config` (an empty one when there is no `fsfs.conf`) says for a filesystem of
    /// `format`.
    ///
    /// # Errors
    /// E125009 and kin for values that make no sense, in the reference's sentences.
    pub fn new(config: &Config, format: u32) -> Result<Self> {
        let mut this = Self {
            rep_sharing: format >= since::PACKING
                && config.get_bool("rep-sharing", "enable-rep-sharing", true)?,
            deltify_directories: false,
            deltify_properties: false,
            max_deltification_walk: 1023,
            max_linear_deltification: 16,
            svndiff: if format >= SVNDIFF1 { Version::V1 } else { Version::V0 },
            compression_level: DEFAULT_LEVEL,
            l2p_page_size: DEFAULT_L2P_PAGE_SIZE,
            p2l_page_size: DEFAULT_P2L_PAGE_SIZE,
            verify_before_commit: config.get_bool("debug", "verify-before-commit", false)?,
            pack_after_commit: format >= since::PACKING
                && config.get_bool("debug", "pack-after-commit", false)?,
        };
        if format >= DELTIFICATION {
            this.read_deltification(config, format)?;
        }
        if format >= since::LOGICAL {
            // A page of the first kind is an array of offsets, one of the second is in KiB.
            this.l2p_page_size = page_size(config, "l2p-page-size", DEFAULT_L2P_PAGE_SIZE, 8)?;
            let kib = page_size(config, "p2l-page-size", DEFAULT_P2L_PAGE_SIZE / 1024, 1024)?;
            this.p2l_page_size = kib.saturating_mul(1024);
        }
        Ok(this)
    }

    fn read_deltification(&mut self, config: &Config, format: u32) -> Result<()> {
        const SECTION: &str = "deltification";
        // Negative numbers are as good as 0: no delta.
        let number = |option, default: i64| -> Result<u64> {
            Ok(u64::try_from(config.get_i64(SECTION, option, default)?).unwrap_or(0))
        };
        self.deltify_directories = config.get_bool(SECTION, "enable-dir-deltification", true)?;
        self.deltify_properties = config.get_bool(SECTION, "enable-props-deltification", true)?;
        self.max_deltification_walk = number("max-deltification-walk", 1023)?;
        self.max_linear_deltification = number("max-linear-deltification", 16)?;
        if format >= since::SVNDIFF2 {
            self.svndiff = Version::V2;
        }
        match (config.get(SECTION, "compression"), config.get(SECTION, "compression-level")) {
            (Some(_), Some(_)) => {
                return Err(bad("The 'compression' and 'compression-level' config options are \
                                mutually exclusive"
                    .into()));
            }
            (Some(word), None) => {
                (self.svndiff, self.compression_level) = parse_compression(&word)?;
                if self.svndiff == Version::V2 && format < since::SVNDIFF2 {
                    return Err(bad("Compression type 'lz4' requires filesystem format 8 or \
                                    higher"
                        .into()));
                }
            }
            (None, Some(_)) => {
                let level = config.get_i64(SECTION, "compression-level", 5)?;
                self.svndiff = Version::V1;
                self.compression_level = u32::try_from(level.clamp(0, 9)).unwrap_or(DEFAULT_LEVEL);
            }
            (None, None) => {}
        }
        Ok(())
    }
}

fn parse_compression(word: &str) -> Result<(Version, u32)> {
    Ok(match word {
        "none" => (Version::V0, 0),
        "lz4" => (Version::V2, DEFAULT_LEVEL),
        "zlib" => (Version::V1, DEFAULT_LEVEL),
        _ => {
            let level = word.strip_prefix("zlib-").map(parse_i64).transpose()?;
            match level.map(u32::try_from) {
                Some(Ok(level @ 1..=9)) => (Version::V1, level),
                _ => {
                    return Err(bad(format!("Invalid 'compression' value '{word}' in the config")));
                }
            }
        }
    })
}

fn bad(message: String) -> Error {
    Error::new(ErrorCode::BAD_CONFIG_VALUE, message)
}

/// A page size from the section `io`; one item of it is `unit` bytes.
fn page_size(config: &Config, option: &str, default: u64, unit: u64) -> Result<u64> {
    let default = sapwood_core::exact::signed(default);
    let value = config.get_i64("io", option, default)?;
    let problem = match u64::try_from(value) {
        Err(_) | Ok(0) => format!("is too small for fsfs.conf setting '{option}'."),
        Ok(n) if !n.is_power_of_two() => {
            format!("is invalid for fsfs.conf setting '{option}' because it is not a power of 2.")
        }
        Ok(n) if n.checked_mul(unit).is_none_or(|n| n > u64::from(u32::MAX)) => {
            format!("is too large for fsfs.conf setting '{option}'.")
        }
        Ok(n) => return Ok(n),
    };
    Err(bad(format!("{value} {problem}")))
}

/// How revision properties are packed: section `packed-revprops` of `fsfs.conf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevpropPackConfig {
    /// Whether pack files are compressed.
    pub compress: bool,
    /// Bytes that a pack file should not exceed, expanded. A change of revision properties that
    /// makes it larger divides it.
    pub size: u64,
}

impl RevpropPackConfig {
    /// What `config` (an empty one when there is no `fsfs.conf`) says for a filesystem of
    /// `format`.
    ///
    /// # Errors
    /// E125009 and kin for values that make no sense.
    pub fn new(config: &Config, format: u32) -> Result<Self> {
        const SECTION: &str = "packed-revprops";
        if format < since::REVPROP_PACKING {
            return Ok(Self { compress: false, size: 64 << 10 });
        }
        let compress = config.get_bool(SECTION, "compress-packed-revprops", false)?;
        let default = if compress { 64 } else { 16 };
        let kib = config.get_i64(SECTION, "revprop-pack-size", default)?;
        Ok(Self { compress, size: u64::try_from(kib).unwrap_or(0).saturating_mul(1024) })
    }

    /// How far pack files are filled at first: there is room left for changes.
    pub(crate) const fn fill(&self) -> u64 {
        self.size.saturating_sub(self.size.div_ceil(10))
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::config::Case;

    use super::*;

    fn read(text: &str, format: u32) -> Result<WriteConfig> {
        WriteConfig::new(&Config::parse(text.as_bytes(), Case::default()).unwrap(), format)
    }

    #[test]
    fn defaults_of_formats() {
        let one = read("", 1).unwrap();
        assert_eq!(
            (one.svndiff, one.rep_sharing, one.deltify_directories),
            (Version::V0, false, false)
        );
        let three = read("", 3).unwrap();
        assert_eq!((three.svndiff, three.rep_sharing), (Version::V1, false));
        let six = read("", 6).unwrap();
        assert_eq!(
            (six.svndiff, six.rep_sharing, six.deltify_directories),
            (Version::V1, true, true)
        );
        let eight = read("", 8).unwrap();
        assert_eq!(eight.svndiff, Version::V2);
        assert_eq!((eight.l2p_page_size, eight.p2l_page_size), (8192, 1 << 20));
    }

    #[test]
    fn our_own_template_says_nothing() {
        let template = include_str!("create/fsfs.conf");
        assert_eq!(read(template, 8).unwrap(), read("", 8).unwrap());
    }

    #[test]
    fn options() {
        let some = "[deltification]\ncompression = zlib-9\nmax-linear-deltification = 4\n\
                    enable-dir-deltification = false\n[io]\nl2p-page-size = 32\n";
        let some = read(some, 8).unwrap();
        assert_eq!((some.svndiff, some.compression_level), (Version::V1, 9));
        assert_eq!((some.max_linear_deltification, some.deltify_directories), (4, false));
        assert_eq!(some.l2p_page_size, 32);
        let none = read("[deltification]\ncompression = none\n", 8).unwrap();
        assert_eq!(none.svndiff, Version::V0);
        let level = read("[deltification]\ncompression-level = 12\n", 8).unwrap();
        assert_eq!((level.svndiff, level.compression_level), (Version::V1, 9));
    }

    #[test]
    fn refusals() {
        for (text, format, sentence) in [
            (
                "[deltification]\ncompression = lz4\n",
                7,
                "Compression type 'lz4' requires filesystem format 8 or higher",
            ),
            (
                "[deltification]\ncompression = brotli\n",
                8,
                "Invalid 'compression' value 'brotli' in the config",
            ),
            (
                "[deltification]\ncompression = zlib-10\n",
                8,
                "Invalid 'compression' value 'zlib-10' in the config",
            ),
            (
                "[deltification]\ncompression = lz4\ncompression-level = 5\n",
                8,
                "The 'compression' and 'compression-level' config options are mutually exclusive",
            ),
            (
                "[io]\nl2p-page-size = 33\n",
                8,
                "33 is invalid for fsfs.conf setting 'l2p-page-size' because it is not a power of 2.",
            ),
            (
                "[io]\np2l-page-size = 0\n",
                8,
                "0 is too small for fsfs.conf setting 'p2l-page-size'.",
            ),
        ] {
            let error = sapwood_core::SvnError::from(read(text, format).unwrap_err());
            assert_eq!(error.message(), sentence);
            assert_eq!(error.code(), ErrorCode::BAD_CONFIG_VALUE);
        }
    }
}
