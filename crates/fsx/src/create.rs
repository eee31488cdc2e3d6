//! Making a new filesystem: the `db` folder of a repository, with revision 0 in it.
//!
//! `format` is written last, so that half a filesystem is none.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::date::Timestamp;
use sapwood_core::props::names as prop_names;
use sapwood_core::{NodeKind, PropList, Revnum, SvnError, len64};
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsx_format::format_file::FormatFile;
use sapwood_fsx_format::layout::{Layout, names};
use sapwood_fsx_format::p2l::ItemType;
use sapwood_fsx_format::{ChangeSet, Id, NEWEST, NodeRev, revprops};
use sapwood_store::{WriteStorage, uuid};

use crate::config::WriteConfig;
use crate::error::Result;
use crate::filesystem::uuid_text;
use crate::items::{CHANGES, ROOT};
use crate::txn::RevisionIndex;

/// The default number of revisions in a shard.
pub const DEFAULT_SHARD_SIZE: u64 = 1000;

/// The `fsx.conf` of a new filesystem: every option, commented out.
pub(crate) const CONFIG: &str = include_str!("create/fsx.conf");

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// Revisions in a shard, at least 1.
    pub shard_size: u64,
    /// Whether what is written is also made durable before it counts.
    pub flush_to_disk: bool,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self { shard_size: DEFAULT_SHARD_SIZE, flush_to_disk: true }
    }
}

/// Makes the folder `db` and a filesystem in it. What an error leaves behind is the caller's to
/// remove.
///
/// # Errors
/// Whatever the system reports; among others when `db` exists.
pub fn create(storage: &dyn WriteStorage, db: &Path, options: &CreateOptions) -> Result<()> {
    let format = FormatFile { number: NEWEST, shard_size: options.shard_size.max(1) };
    let layout = Layout(format);
    let dir = |name: &str, is_top: bool| {
        let path = if is_top { db.to_owned() } else { db.join(name) };
        let made = storage.create_dir(&path, is_top);
        made.map_err(|error| cannot(&error, "Can't create directory", &path))
    };
    let file = |name: &str, contents: &[u8], is_read_only: bool| {
        let path = db.join(name);
        let made = storage.create_with(&path, contents);
        made.map_err(|error| cannot(&error, "Can't create file", &path))?;
        let done = if is_read_only { storage.set_read_only(&path) } else { Ok(()) };
        done.map_err(|error| cannot(&error, "Can't change perms of file", &path))
    };
    dir("", true)?;
    file(names::FS_TYPE, b"fsx\n", false)?;
    for name in [names::REVS, &layout.shard_dir(0), names::TRANSACTIONS, names::TXN_PROTOREVS] {
        dir(name, false)?;
    }
    file(names::CURRENT, b"0\n", false)?;
    file(names::WRITE_LOCK, b"", false)?;
    let path = db.join(names::UUID);
    let like = db.join(names::CURRENT);
    let written = uuid::generate().and_then(|uuid| uuid_text(&uuid)).and_then(|text| {
        storage.replace(&path, text.as_bytes(), Some(&like), options.flush_to_disk)
    });
    written.map_err(|error| cannot(&error, "Can't write to file", &path))?;
    file(names::CONFIG, CONFIG.as_bytes(), false)?;
    file(&layout.revision(Revnum::ZERO), &revision_zero()?, true)?;
    file(&layout.revprops(Revnum::ZERO, false), &revprops_zero(), false)?;
    file(names::MIN_UNPACKED, b"0\n", false)?;
    file(names::TXN_CURRENT, b"0\n", false)?;
    file(names::TXN_CURRENT_LOCK, b"", false)?;
    file(names::REVPROP_GENERATION, b"0\n", false)?;
    Ok(file(names::FORMAT, format.to_text().as_bytes(), true)?)
}

/// The revision file of revision 0: an empty root directory, and no changes.
fn revision_zero() -> Result<Vec<u8>> {
    let id = Id { change_set: ChangeSet::Revision(Revnum::ZERO), number: ROOT };
    let root = NodeRev {
        id,
        node: Id::ROOT,
        copy: Id::ROOT,
        kind: NodeKind::Dir,
        predecessor: None,
        predecessor_count: 0,
        text: None,
        props: None,
        created_path: "/".into(),
        copy_from: None,
        copy_root: None,
        mergeinfo_count: 0,
        has_mergeinfo: false,
    };
    let mut file = Vec::new();
    let mut index = RevisionIndex::default();
    root.write(&mut file);
    index.add((ItemType::NodeRev, ROOT), (0, len64(file.len())), Fnv1a32x4::of(&file))?;
    let at = len64(file.len());
    file.push(b'\n');
    index.add((ItemType::Changes, CHANGES), (at, 1), Fnv1a32x4::of(b"\n"))?;
    let data_len = len64(file.len());
    index.write(Revnum::ZERO, data_len, &WriteConfig::default(), &mut file)?;
    Ok(file)
}

/// The properties of revision 0: its date, which is now.
fn revprops_zero() -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(i64::try_from(now.as_micros()).unwrap_or_default());
    let mut props = PropList::new();
    props.set(prop_names::DATE, now.to_string());
    revprops::write_file(&props)
}

fn cannot(error: &io::Error, what: &str, path: &Path) -> SvnError {
    SvnError::io(error, format_args!("{what} '{}'", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::Md5;

    /// The bytes that the reference's svnadmin 1.14 writes.
    #[test]
    fn revision_zero_is_the_references() {
        let file = revision_zero().unwrap();
        assert_eq!(
            (file.len(), Md5::of(&file).to_hex().as_str()),
            (193, "5106b9edd46a21cdea1708a350a09454")
        );
    }
}
