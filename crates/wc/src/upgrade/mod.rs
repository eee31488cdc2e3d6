//! Upgrades working copies of older formats to the present one.
//!
//! | format | made by | what it is | here |
//! | --- | --- | --- | --- |
//! | 4 to 6 | 1.0 to 1.3 | a folder `.svn` in every directory; `entries` is XML | [`xml`] |
//! | 7 to 10 | 1.4 to 1.6 | the same; `entries` has a line a field | [`lines`] |
//! | 12 to 28 | developers | a database; refused | |
//! | 29, 30 | 1.7, 1.8 before its release | a database | [`bump`] |
//! | 31 | 1.8 and later | what is written here | |
//!
//! Up to format 10 a new database is made in `.svn/tmp/wcng` of the root ([`walk`]), with all texts: the
//! old working copy stays complete beside it, except for a lock in each directory. The last step is one
//! rename of `wc.db`; the rest is in the work queue: the texts are moved, the old files are removed
//! ([`wipe`]). A kill before the rename leaves the old working copy, and the upgrade can be started
//! again; one after it leaves a new working copy that `cleanup` or `upgrade` finishes.
//!
//! `docs/formats/entries.md` describes the old formats.

mod ahead;
mod bump;
mod conflicts;
pub mod entry;
mod layers;
mod lines;
mod props;
mod read;
#[cfg(test)]
mod tests;
mod texts;
mod walk;
mod wipe;
mod xml;
use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::paths::{RelPath, UrlBuf};
use sapwood_core::{CancelToken, ErrorCode, SvnError};

use crate::clock::RecordedTimes;
use crate::db::{Access, Db, FORMAT, FORMAT_OPTIONAL_PRISTINES};
use crate::error::{Error, Result};
use crate::layout;
use crate::locks::steal_lock;
use crate::root::{Options, WorkingCopy};
use crate::work_item::WorkItem;

pub use read::parse_entries;
pub(crate) use wipe::wipe_directories;

/// The first format with a database.
pub(crate) const FIRST_WITH_DATABASE: i64 = 12;
/// The first one that was not only in use by developers.
const FIRST_RELEASED: i64 = 29;
/// Those that scripts of their time could bring on.
const FIRST_OF_SCRIPTS: i64 = 19;

/// What happened to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeNotice {
    /// It is of the present format now.
    Upgraded,
    /// It is not there, or not what its parent thinks.
    Skipped,
}

/// Finds root and UUID of the repository that a URL is in.
pub(crate) type AskRepository<'a> = dyn FnMut(&str) -> Result<(UrlBuf, String)> + 'a;

/// The caller of an upgrade.
pub struct Caller<'a> {
    /// How databases are opened.
    pub access: Access,
    /// Where the times that are recorded are noted.
    pub recorded: RecordedTimes,
    /// Asks it to stop.
    pub cancel: &'a CancelToken,
    /// Finds the repository where no entry has it (before 1.3).
    pub ask: &'a mut AskRepository<'a>,
    /// Called for each directory.
    pub notify: &'a mut dyn FnMut(&Path, UpgradeNotice),
}

impl std::fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("access", &self.access).finish_non_exhaustive()
    }
}

/// Upgrades the working copy whose root is `root` to the present format.
///
/// # Errors
/// E155019 when it is no root of a working copy; E155021 for formats of developers and of the future,
/// and when an old program left work that it has to finish itself; E155016 and others for old
/// working copies that are broken; SQLite's.
pub fn upgrade(root: &Path, caller: &mut Caller<'_>) -> Result<()> {
    if fs::metadata(layout::db(root)).is_err() {
        return match read::entries(root) {
            Ok(entries) => {
                walk::check_root(root)?;
                walk::upgrade(root, &entries, caller)
            }
            Err(error) => Err(without_database(root, error)),
        };
    }
    let db = Db::open(&layout::db(root), caller.access)?;
    let format = db.format();
    if format > FORMAT_OPTIONAL_PRISTINES {
        return Err(Error::Format { path: root.to_owned(), format });
    }
    if format < FIRST_RELEASED {
        return Err(too_old(root, format));
    }
    if format < FORMAT {
        bump::bump(&db, format)?;
    }
    let unfinished = begins_with_upgrade(&db)?;
    drop(db);
    if unfinished {
        finish(root, caller)?;
    } else {
        wipe::wipe_root(root);
    }
    if format < FORMAT {
        (caller.notify)(root, UpgradeNotice::Upgraded);
    }
    Ok(())
}

/// Whether a directory is of a format before 1.7.
#[must_use]
pub fn is_old(dir: &Path) -> bool {
    wipe::is_old_directory(dir) && layout::old_format(dir).is_some_and(|f| f < FIRST_WITH_DATABASE)
}

/// Whether the queue is the one that a killed upgrade left.
fn begins_with_upgrade(db: &Db) -> Result<bool> {
    for (_, skel) in db.work_after(0, 2)? {
        if WorkItem::parse(&skel).ok() == Some(WorkItem::Postupgrade) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folder in which a new working copy is made.
fn workshop(root: &Path) -> PathBuf {
    layout::tmp(root).join("wcng")
}

/// Runs the queue of a new database: moves the texts, removes the old files.
fn finish(root: &Path, caller: &Caller<'_>) -> Result<()> {
    let (access, recorded) = (caller.access, caller.recorded.clone());
    let options = Options { access, recorded, ..Options::default() };
    let wc = WorkingCopy::open_root(root, options)?;
    // What is in the queue is why it is locked: that is no hindrance.
    let lock = steal_lock(&wc, RelPath::ROOT, -1)?;
    wc.run_queue(caller.cancel)?;
    lock.release()?;
    crate::files::remove_tree(&workshop(root))
}

/// The error for what has no database and no entries that can be read: no working copy.
fn without_database(root: &Path, error: Error) -> Error {
    let shown = root.display();
    let not_found = format!("Working copy database '{}' not found", layout::db(root).display());
    let cause = SvnError::new(ErrorCode(2), not_found)
        .with_cause(SvnError::from(error).wrap(ErrorCode(200_042), "Additional errors:"));
    let text = format!("Can't upgrade '{shown}' as it is not a working copy root");
    cause.wrap(ErrorCode::WC_INVALID_OP_ON_CWD, text).into()
}

fn too_old(root: &Path, format: i64) -> Error {
    let shown = root.display();
    let text = if format < FIRST_WITH_DATABASE {
        let version = match format {
            4 => "<=1.3",
            8 => "1.4",
            9 => "1.5",
            10 => "1.6",
            _ => "(unreleased development version)",
        };
        format!(
            "Working copy '{shown}' is too old (format {format}, created by Subversion {version})"
        )
    } else if format < FIRST_OF_SCRIPTS {
        format!(
            "Working copy '{shown}' is an old development version (format {format}); to upgrade it, \
             use a format 18 client, then use 'tools/dev/wc-ng/bump-to-19.py', then use the current \
             client"
        )
    } else {
        format!(
            "Working copy '{shown}' is an old development version (format {format}); to upgrade it, \
             use a Subversion 1.7-1.9 client, then use the current client"
        )
    };
    SvnError::new(ErrorCode::WC_UPGRADE_REQUIRED, text)
        .wrap(ErrorCode::WC_UNSUPPORTED_FORMAT, "Working copy upgrade failed")
        .into()
}
