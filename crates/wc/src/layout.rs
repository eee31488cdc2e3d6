//! The files in `.svn`.
//!
//! | file | holds |
//! | --- | --- |
//! | `wc.db` | the database |
//! | `pristine/XX/SHA1.svn-base` | the texts that were checked out, read-only |
//! | `tmp/` | files that are being written; emptied by cleanup |
//! | `sapwood/` | what is ours alone, and may be deleted at any moment |
//! | `experimental/` | [shelves](crate::shelf) |
//! | `format`, `entries` | the text `12`: it stops programs before 1.7 |

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sapwood_core::Sha1;
use sapwood_core::exact::Cut;

use crate::error::{Error, Result};

/// The name of the administrative folder.
pub const ADM: &str = ".svn";
/// The database.
pub const DB: &str = "wc.db";
/// The pristine store.
pub(crate) const PRISTINE: &str = "pristine";
/// Temporary files.
pub(crate) const TMP: &str = "tmp";
/// What only experimental subcommands know of: shelves.
pub(crate) const EXPERIMENTAL: &str = "experimental";
/// What `format` and `entries` hold.
pub(crate) const OLD_FORMAT: &str = "12\n";
/// Longest text of a file that holds a format.
const FORMAT_LIMIT: u64 = 80;
/// What has neither a number nor a file that says one: the oldest that is known.
const OLDEST: i64 = 4;

/// The administrative folder of a working copy's root.
#[must_use]
pub fn adm(root: &Path) -> PathBuf {
    root.join(ADM)
}

/// The database of a working copy's root.
#[must_use]
pub fn db(root: &Path) -> PathBuf {
    root.join(ADM).join(DB)
}

/// The folder for temporary files of a working copy's root.
#[must_use]
pub fn tmp(root: &Path) -> PathBuf {
    root.join(ADM).join(TMP)
}

/// The path of a pristine text below a working copy's root.
#[must_use]
fn pristine_relpath(sha1: &Sha1) -> String {
    let hex = sha1.to_hex();
    let shard = hex.head(2);
    format!("{ADM}/{PRISTINE}/{shard}/{hex}.svn-base")
}

/// The file of a pristine text.
#[must_use]
pub fn pristine(root: &Path, sha1: &Sha1) -> PathBuf {
    root.join(pristine_relpath(sha1))
}

/// Makes the directories and the two files for old programs; the database is not made here.
/// Existing directories are kept.
pub(crate) fn create(root: &Path) -> Result<()> {
    for dir in [adm(root), adm(root).join(PRISTINE), tmp(root)] {
        match fs::create_dir(&dir) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            other => other.map_err(|e| Error::io(e, "Can't create directory", &dir))?,
        }
    }
    for name in ["format", "entries"] {
        let file = adm(root).join(name);
        fs::write(&file, OLD_FORMAT).map_err(|e| Error::io(e, "Can't write to file", &file))?;
    }
    Ok(())
}

/// The format of a directory of a working copy from before 1.7: the number in front of its entries or, when those are XML, in the file
/// `format`. None when there are no entries.
pub(crate) fn old_format(dir: &Path) -> Option<i64> {
    let adm = adm(dir);
    let entries = File::open(adm.join("entries")).ok()?;
    if !entries.metadata().ok()?.is_file() {
        return None;
    }
    let mut number = number_in(entries);
    if number.is_none() {
        number = File::open(adm.join("format")).ok().and_then(number_in);
    }
    Some(number.unwrap_or(OLDEST))
}

/// The number that is the first line of a file.
fn number_in(file: File) -> Option<i64> {
    let mut start = Vec::new();
    file.take(FORMAT_LIMIT).read_to_end(&mut start).ok()?;
    let line = start.split(|byte| *byte == b'\n').next()?;
    sapwood_core::Revnum::parse(line).and_then(|n| i64::try_from(n.0).ok())
}
