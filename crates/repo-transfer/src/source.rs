//! The folder of a repository as it is read: what is where, and which files there are beside revisions.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sapwood_core::Revnum;
use sapwood_core::exact::{Exact as _, clamped};
use sapwood_core::len64;
use sapwood_fsfs_format::current::{Current, parse_min_unpacked_rev};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::{Addressing, FormatFile, Layout};

use sapwood_repo_log::container;

use crate::error::{Error, Result, failed};

/// The longest file beside revisions.
pub(crate) const MAX_FILE: u64 = 4 << 20;
/// The most bytes of the packed properties of a shard.
const MAX_PROPS: u64 = 256 << 20;
/// The folder of the filesystem.
const DB: &str = "db";
/// The folder of locks on paths.
const LOCKS: &str = "db/locks";
/// The format that a store takes.
const FORMAT: u32 = 8;

/// A repository's folder.
#[derive(Debug)]
pub(crate) struct Source {
    root: PathBuf,
    db: PathBuf,
    layout: Layout,
    /// Revisions of a shard.
    pub(crate) shard_size: u64,
}

/// A file that is not a revision's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlainFile {
    pub(crate) executable: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Source {
    /// Looks what a folder has.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let db = root.join(DB);
        let unfit = |what: String| Error::Format { path: root.to_owned(), what };
        let format = match fs::read(db.join(names::FORMAT)) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let why = "is no repository".to_owned();
                return Err(Error::Unfit { path: root.to_owned(), why });
            }
            read => read.map_err(failed("read", &db.join(names::FORMAT)))?,
        };
        let kind = fs::read_to_string(db.join(names::FS_TYPE)).unwrap_or("fsfs\n".to_owned());
        if kind.trim_end() != "fsfs" {
            return Err(unfit(format!("has a filesystem of the kind '{}'", kind.trim_end())));
        }
        let path = db.join(names::FORMAT);
        let format = FormatFile::parse(&format, &path.to_string_lossy());
        let format =
            format.map_err(|e| Error::Unfit { path, why: format!("has a wrong format: {e}") })?;
        let shard_size = match format {
            FormatFile {
                number: FORMAT,
                shard_size: Some(size),
                addressing: Addressing::Logical,
            } => size,
            FormatFile { number: FORMAT, .. } => {
                return Err(unfit(
                    "has format 8 with the addressing or the layout of older ones".to_owned(),
                ));
            }
            FormatFile { number, .. } => return Err(unfit(format!("has format {number}"))),
        };
        Ok(Self { root: root.to_owned(), db, layout: Layout::new(format), shard_size })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the filesystem.
    pub(crate) fn db(&self) -> &Path {
        &self.db
    }

    fn small<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&[u8]) -> sapwood_fsfs_format::Result<T>,
    ) -> Result<T> {
        let path = self.db.join(name);
        let bytes = fs::read(&path).map_err(failed("read", &path))?;
        parse(&bytes)
            .map_err(|e| Error::Unfit { path, why: format!("is not what it should be: {e}") })
    }

    /// The youngest revision.
    pub(crate) fn youngest(&self) -> Result<u64> {
        Ok(self.small(names::CURRENT, |bytes| Current::parse(bytes, FORMAT))?.youngest.0)
    }

    /// The first revision that is not packed.
    pub(crate) fn min_unpacked(&self) -> Result<u64> {
        Ok(self.small(names::MIN_UNPACKED_REV, parse_min_unpacked_rev)?.0)
    }

    /// The file with the data of a revision that is not packed; `None` when it has gone into a pack.
    pub(crate) fn revision(&self, revision: u64) -> Result<Option<(File, u64)>> {
        opened(&self.db.join(self.layout.rev_file(Revnum(revision))))
    }

    /// The file with the data of a packed shard.
    pub(crate) fn pack(&self, shard: u64) -> Result<Option<(File, u64)>> {
        opened(&self.db.join(self.layout.pack_file(shard)))
    }

    /// The properties of a revision that are not packed.
    pub(crate) fn props(&self, revision: u64) -> Result<Option<Vec<u8>>> {
        let path = self.db.join(self.layout.revprops_file(Revnum(revision)));
        let Some((file, len)) = opened(&path)? else { return Ok(None) };
        Ok(Some(bounded(file, len, MAX_FILE).map_err(|e| too_long(e, &path))?))
    }

    /// The properties of a packed shard, as one object.
    pub(crate) fn packed_props(&self, shard: u64) -> Result<Vec<u8>> {
        let folder = self.db.join(self.layout.revprops_pack_dir(shard));
        // Packs are replaced when a property changes: the manifest and what it names belong together.
        loop {
            let manifest = folder.join(names::MANIFEST);
            let before = fs::read(&manifest).map_err(failed("read", &manifest))?;
            let files = self.read_all(&folder)?;
            if files.as_ref().and_then(|files| files.get(names::MANIFEST)) == Some(&before)
                && fs::read(&manifest).map_err(failed("read", &manifest))? == before
                && let Some(files) = files
            {
                return Ok(container::join(&files));
            }
        }
    }

    /// All files of a folder; `None` when one has gone while they were read.
    fn read_all(&self, folder: &Path) -> Result<Option<BTreeMap<String, Vec<u8>>>> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(failed("read", folder))? {
            let path = entry.map_err(failed("read", folder))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let Some((file, len)) = opened(&path)? else { return Ok(None) };
            let bytes = bounded(file, len, MAX_PROPS).map_err(|e| too_long(e, &path))?;
            files.insert(name.to_owned(), bytes);
        }
        Ok(Some(files))
    }

    /// The files beside revisions, by path: hooks, configuration, locks on paths, small files of the filesystem. What
    /// belongs to one machine (transactions, the cache of representations) is left out.
    pub(crate) fn files(&self) -> Result<BTreeMap<String, PlainFile>> {
        let mut found = BTreeMap::new();
        self.walk(&self.root, "", &mut found)?;
        Ok(found)
    }

    fn walk(
        &self,
        folder: &Path,
        below: &str,
        found: &mut BTreeMap<String, PlainFile>,
    ) -> Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(failed("read", folder))?,
        };
        for entry in entries {
            let path = entry.map_err(failed("read", folder))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                let why = "has a name that is not UTF-8".to_owned();
                return Err(Error::Unfit { path, why });
            };
            let relative =
                if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            let in_db = below == DB;
            if path.is_dir() {
                if !in_db || relative == LOCKS {
                    self.walk(&path, &relative, found)?;
                }
            } else if !(in_db && is_left_out(name))
                && let Some(file) = plain(&path)?
            {
                if !sapwood_repo_log::entry::is_path(&relative) {
                    let why = "has a name that no repository in a store can have".to_owned();
                    return Err(Error::Unfit { path, why });
                }
                found.insert(relative, file);
            }
        }
        Ok(())
    }
}

/// What is written anew at an export, or made by those who need it.
fn is_left_out(name: &str) -> bool {
    name == names::CURRENT || name == names::MIN_UNPACKED_REV || name.starts_with(names::REP_CACHE)
}

/// A file that is there and regular.
fn plain(path: &Path) -> Result<Option<PlainFile>> {
    let Some((file, len)) = opened(path)? else { return Ok(None) };
    let found = file.metadata().map_err(failed("read", path))?;
    if !found.is_file() {
        return Ok(None);
    }
    let bytes = bounded(file, len, MAX_FILE).map_err(|e| too_long(e, path))?;
    Ok(Some(PlainFile { executable: found.permissions().mode() & 0o111 != 0, bytes }))
}

/// A file and its length; `None` when it is not there.
fn opened(path: &Path) -> Result<Option<(File, u64)>> {
    match File::open(path).and_then(|file| Ok((file.metadata()?.len(), file))) {
        Ok((len, file)) => Ok(Some((file, len))),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failed("open", path)(e)),
    }
}

/// All of a file that is not too long.
fn bounded(file: File, len: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(clamped(len.min(most)));
    file.take(most.plus(1)).read_to_end(&mut bytes)?;
    if len64(bytes.len()) > most {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

fn too_long(error: io::Error, path: &Path) -> Error {
    match error.kind() {
        ErrorKind::FileTooLarge => {
            let why = "is longer than a repository in a store can have it".to_owned();
            Error::Unfit { path: path.to_owned(), why }
        }
        _ => failed("read", path)(error),
    }
}
