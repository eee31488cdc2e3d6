//! Making a new filesystem: the `db` folder of a repository, in any format from 1 to 8, with
//! revision 0 in it.
//!
//! The bytes of revision 0 are fixed for each kind of addressing; what is different from one new
//! filesystem to another is its UUIDs and the date of revision 0.

use sapwood_core::Cut;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::date::Timestamp;
use sapwood_core::props::names as prop_names;
use sapwood_core::{PropList, Revnum, SvnError, hashdump};
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsfs_format::index_write::{ItemOffsets, write_indexes};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{Addressing, FormatFile, ItemType, Layout, P2lEntry};

use crate::config::{DEFAULT_L2P_PAGE_SIZE, DEFAULT_P2L_PAGE_SIZE};
use crate::error::Result;
use crate::uuid;
use sapwood_store::write::WriteStorage;

/// The default number of revisions in a shard.
pub const DEFAULT_SHARD_SIZE: u64 = 1000;

/// The `fsfs.conf` of a new filesystem: every option, commented out.
pub(crate) const CONFIG: &str = include_str!("create/fsfs.conf");

/// What revision 0 begins with in every format: an empty directory.
const EMPTY_DIR: &[u8] = b"PLAIN\nEND\nENDREP\n";

/// The format to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// 1 to 4, or 6 to 8.
    pub format: u32,
    /// Revisions a shard; 0 for the linear layout. Formats 1 and 2 have no other.
    pub shard_size: u64,
    /// Whether items are addressed logically; only formats 7 and 8 can, and only with shards.
    pub logical_addressing: bool,
    /// Whether what is written is also made durable before it counts.
    pub flush_to_disk: bool,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            format: since::YOUNGEST,
            shard_size: DEFAULT_SHARD_SIZE,
            logical_addressing: true,
            flush_to_disk: true,
        }
    }
}

impl CreateOptions {
    /// The newest format that Subversion 1.`minor` can work with; `None` for 1.0, which cannot
    /// work with any.
    #[must_use]
    pub const fn format_for(minor: u32) -> Option<u32> {
        Some(match minor {
            0 => return None,
            1..=3 => 1,
            4 => 2,
            5 => 3,
            6 | 7 => 4,
            8 => 6,
            9 => 7,
            _ => 8,
        })
    }

    fn format_file(&self) -> FormatFile {
        let sharded = self.format >= since::LAYOUT && self.shard_size > 0;
        // Readers refuse logical addressing in the linear layout.
        let logical = sharded && self.format >= since::LOGICAL && self.logical_addressing;
        FormatFile {
            number: self.format,
            shard_size: sharded.then_some(self.shard_size),
            addressing: if logical { Addressing::Logical } else { Addressing::Physical },
        }
    }
}

/// Makes the folder `db` and a filesystem in it. What an error leaves behind is the caller's to
/// remove; without the `format` file, which is written last, it is no filesystem.
///
/// # Errors
/// Whatever the system reports; among others when `db` exists.
pub fn create(storage: &dyn WriteStorage, db: &Path, options: &CreateOptions) -> Result<()> {
    let format = options.format_file();
    let number = format.number;
    let maker = Maker { storage, db, flush: options.flush_to_disk };
    let layout = Layout::new(format);

    storage.create_dir(db, true).map_err(|e| cannot(&e, "Can't create directory", db))?;
    maker.file(names::FS_TYPE, b"fsfs\n")?;
    for top in [names::REVS, names::REVPROPS] {
        maker.dir(top)?;
        if format.shard_size.is_some() {
            maker.dir(&format!("{top}/0"))?;
        }
    }
    maker.dir(names::TRANSACTIONS)?;
    if number >= since::LAYOUT {
        maker.dir(names::TXN_PROTOREVS)?;
    }

    let mut current = Vec::new();
    let next_ids = (number < since::LAYOUT).then_some((1, 1));
    Current { youngest: Revnum::ZERO, next_ids }.write(&mut current);
    maker.file(names::CURRENT, &current)?;
    maker.file(names::WRITE_LOCK, b"")?;
    maker.uuid(number)?;
    if number >= since::PACKING {
        maker.file(names::CONFIG, CONFIG.as_bytes())?;
    }

    let revision = layout.rev_file(Revnum::ZERO);
    maker.file(&revision, &revision_zero(format.addressing))?;
    maker.read_only(&revision)?;
    let revprops = layout.revprops_file(Revnum::ZERO);
    maker.file(&revprops, &revprops_zero())?;
    maker.read_only(&revprops)?;

    if number >= since::PACKING {
        maker.file(names::MIN_UNPACKED_REV, b"0\n")?;
    }
    if number >= since::LAYOUT {
        maker.file(names::TXN_CURRENT, b"0\n")?;
        maker.file(names::TXN_CURRENT_LOCK, b"")?;
    }

    let mut stamp = Vec::new();
    format.write(&mut stamp);
    maker.file(names::FORMAT, &stamp)?;
    maker.read_only(names::FORMAT)
}

/// The revision file of revision 0.
fn revision_zero(addressing: Addressing) -> Vec<u8> {
    let mut file = EMPTY_DIR.to_vec();
    let node_at = file.len();
    let (id, text) = match addressing {
        Addressing::Logical => ("2", "3"),
        Addressing::Physical => ("17", "0"),
    };
    let node = format!(
        "id: 0.0.r0/{id}\ntype: dir\ncount: 0\ntext: 0 {text} 4 4 \
         2d2977d1c96f487abe4a1e202dd03b4e\ncpath: /\n\n"
    );
    file.extend_from_slice(node.as_bytes());
    // No changed paths: only the line that ends their list.
    let changes_at = file.len();
    file.push(b'\n');
    match addressing {
        Addressing::Physical => {
            file.extend_from_slice(format!("{node_at} {changes_at}\n").as_bytes());
        }
        Addressing::Logical => add_indexes(&mut file, &[0, node_at, changes_at]),
    }
    file
}

/// Appends the indexes of revision 0 to its three items, which begin at `starts`: the root's
/// text, the root, the changed paths.
fn add_indexes(file: &mut Vec<u8>, starts: &[usize; 3]) {
    let kinds = [(ItemType::DirRep, 3), (ItemType::NodeRev, 2), (ItemType::Changes, 1)];
    let ends = starts.iter().skip(1).copied().chain([file.len()]);
    let mut offsets = ItemOffsets::new();
    let mut entries = Vec::new();
    for ((start, end), (item_type, item)) in starts.iter().zip(ends).zip(kinds) {
        let bytes = file.piece(*start..end);
        let offset = u64::try_from(*start).unwrap_or_default();
        // The three indexes are far below the limit that `set` knows.
        let _ = offsets.set(item, offset);
        entries.push(P2lEntry {
            offset,
            size: u64::try_from(bytes.len()).unwrap_or_default(),
            item_type,
            fnv1: Fnv1a32x4::of(bytes),
            revision: Revnum::ZERO,
            item,
        });
    }
    let data_len = u64::try_from(file.len()).unwrap_or_default();
    write_indexes(
        Revnum::ZERO,
        data_len,
        &[offsets],
        DEFAULT_L2P_PAGE_SIZE,
        &entries,
        DEFAULT_P2L_PAGE_SIZE,
        file,
    );
}

/// The properties of revision 0: its date, which is now.
fn revprops_zero() -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(i64::try_from(now.as_micros()).unwrap_or_default());
    let mut props = PropList::new();
    props.set(prop_names::DATE, now.to_string());
    let mut out = Vec::new();
    hashdump::write(&mut out, &props, Some("END"));
    out
}

struct Maker<'a> {
    storage: &'a dyn WriteStorage,
    db: &'a Path,
    flush: bool,
}

impl Maker<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.db.join(name)
    }

    fn dir(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        let made = self.storage.create_dir(&path, false);
        made.map_err(|e| cannot(&e, "Can't create directory", &path).into())
    }

    fn file(&self, name: &str, contents: &[u8]) -> Result<()> {
        let path = self.path(name);
        let made = self.storage.create_with(&path, contents);
        made.map_err(|e| cannot(&e, "Can't create file", &path).into())
    }

    fn read_only(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        let done = self.storage.set_read_only(&path);
        done.map_err(|e| cannot(&e, "Can't change perms of file", &path).into())
    }

    /// The UUID of the repository, and from format 7 on that of this copy of it.
    fn uuid(&self, format: u32) -> Result<()> {
        let path = self.path(names::UUID);
        let write = || -> io::Result<()> {
            let mut contents = uuid::generate()? + "\n";
            if format >= since::LOGICAL {
                contents += &(uuid::generate()? + "\n");
            }
            let like = self.path(names::CURRENT);
            self.storage.replace(&path, contents.as_bytes(), Some(&like), self.flush)
        };
        write().map_err(|e| cannot(&e, "Can't write to file", &path).into())
    }
}

fn cannot(error: &io::Error, what: &str, path: &Path) -> SvnError {
    SvnError::io(error, format_args!("{what} '{}'", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use sapwood_store::LocalStorage;

    fn make(options: CreateOptions) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("db");
        create(&LocalStorage, &db, &options).unwrap();
        (dir, db)
    }

    #[test]
    fn the_files_of_each_format() {
        for (format, stamp, has, has_not) in [
            (1, "1\n", vec!["revs/0", "revprops/0"], vec!["fsfs.conf", "txn-current"]),
            (2, "2\n", vec!["revs/0"], vec!["txn-protorevs"]),
            (3, "3\nlayout sharded 1000\n", vec!["revs/0/0", "txn-current"], vec!["fsfs.conf"]),
            (4, "4\nlayout sharded 1000\n", vec!["fsfs.conf", "min-unpacked-rev"], vec![]),
            (6, "6\nlayout sharded 1000\n", vec!["revprops/0/0"], vec!["rep-cache.db"]),
            (7, "7\nlayout sharded 1000\naddressing logical\n", vec!["revs/0/0"], vec![]),
            (8, "8\nlayout sharded 1000\naddressing logical\n", vec!["write-lock"], vec![]),
        ] {
            let (_dir, db) = make(CreateOptions { format, ..CreateOptions::default() });
            assert_eq!(fs::read_to_string(db.join("format")).unwrap(), stamp);
            for name in has {
                assert!(db.join(name).exists(), "{format} {name}");
            }
            for name in has_not {
                assert!(!db.join(name).exists(), "{format} {name}");
            }
            let current = if format < 3 { "0 1 1\n" } else { "0\n" };
            assert_eq!(fs::read_to_string(db.join("current")).unwrap(), current);
            let uuids = fs::read_to_string(db.join("uuid")).unwrap();
            assert_eq!(uuids.lines().count(), if format < 7 { 1 } else { 2 });
        }
    }

    #[test]
    fn options_of_the_format() {
        let linear = CreateOptions { shard_size: 0, format: 4, ..CreateOptions::default() };
        let (_dir, db) = make(linear);
        assert_eq!(fs::read_to_string(db.join("format")).unwrap(), "4\nlayout linear\n");
        assert!(db.join("revs/0").is_file());
        let physical = CreateOptions { logical_addressing: false, ..CreateOptions::default() };
        let (_dir, db) = make(physical);
        assert!(fs::read(db.join("revs/0/0")).unwrap().ends_with(b"\n\n17 107\n"));
    }

    /// The bytes that the reference's svnadmin 1.14 writes.
    #[test]
    fn revision_zero_is_the_references() {
        let physical = revision_zero(Addressing::Physical);
        assert_eq!(physical.len(), 115);
        let logical = revision_zero(Addressing::Logical);
        assert_eq!(sapwood_core::Md5::of(&logical).to_hex(), "076b4456f562784d37fd739b8b5e3359");
    }

    #[test]
    fn an_existing_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let error = create(&LocalStorage, dir.path(), &CreateOptions::default()).unwrap_err();
        assert!(SvnError::from(error).message().starts_with("Can't create directory '"));
    }
}
