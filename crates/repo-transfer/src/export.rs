//! A repository in a store becomes a folder that all programs of Subversion take.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::exact::{Exact as _, clamped};
use sapwood_core::{CancelToken, Revnum, SvnResult};
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::{FormatFile, Layout};
use sapwood_objects::{Key, Store};
use sapwood_repo_log::entry::Object;
use sapwood_repo_log::{RepositoryLog, RevisionData, container, read_object};
use sapwood_store::{LocalStorage, WriteStorage as _};

use crate::error::{Error, Result, failed};
use crate::reps;

/// The files by which a folder is known as a repository: they come last.
const LAST: [&str; 2] = ["db/format", "format"];
/// Folders that are there in an empty repository too.
const FOLDERS: [&str; 9] = [
    "conf",
    "hooks",
    "locks",
    "db",
    "db/revs",
    "db/revprops",
    "db/transactions",
    "db/txn-protorevs",
    "db/locks",
];

/// Is given the first and the last revision of what was written.
pub type CopyProgress<'a> = &'a mut dyn FnMut(Revnum, Revnum) -> SvnResult<()>;

/// Writes the repository of a store to a folder, which must be empty or not be there. What was read of it.
///
/// # Errors
/// `NotThere` when the store has none; damage; those of the store and the system.
pub fn export(store: Arc<dyn Store>, folder: &Path, cancel: &CancelToken) -> Result<RepositoryLog> {
    export_saying(store, folder, cancel, &mut |_, _| Ok(()))
}

/// The same; `copied` is called after each pack and revision.
///
/// # Errors
/// Those of [`export`], and of `copied`.
pub fn export_saying(
    store: Arc<dyn Store>,
    folder: &Path,
    cancel: &CancelToken,
    copied: CopyProgress<'_>,
) -> Result<RepositoryLog> {
    let address = sapwood_objects::Blobs::address(&*store).into();
    let log = RepositoryLog::open(store)?;
    let log = log.ok_or(sapwood_repo_log::Error::NotThere(address))?;
    fs::create_dir_all(folder).map_err(failed("make", folder))?;
    let mut entries = fs::read_dir(folder).map_err(failed("read", folder))?;
    if entries.next().is_some() {
        let why = "is not empty".to_owned();
        return Err(Error::Unfit { path: folder.to_owned(), why });
    }
    let made = BTreeSet::new();
    let mut export = Export { log, folder, layout: None, made, cancel, copied };
    export.all()?;
    Ok(export.log)
}

struct Export<'a> {
    log: RepositoryLog,
    folder: &'a Path,
    layout: Option<Layout>,
    made: BTreeSet<PathBuf>,
    cancel: &'a CancelToken,
    copied: CopyProgress<'a>,
}

impl Export<'_> {
    fn all(&mut self) -> Result<()> {
        for folder in FOLDERS {
            let path = self.folder.join(folder);
            fs::create_dir_all(&path).map_err(failed("make", &path))?;
        }
        let files = self.log.state().files.clone();
        let mut last = Vec::new();
        for (path, file) in &files {
            let bytes = self.log.read(&file.bytes)?;
            if path == "db/format" {
                let parsed = FormatFile::parse(&bytes, path);
                let parsed = parsed.map_err(|e| self.unfit(&format!("has a wrong format: {e}")))?;
                self.layout = Some(Layout::new(parsed));
            }
            if LAST.contains(&path.as_str()) {
                last.push((path, bytes));
            } else {
                self.write(path, &bytes, file.executable)?;
            }
        }
        let layout = self.layout.ok_or_else(|| self.unfit("has no 'db/format'"))?;
        self.packs(&layout)?;
        self.revisions(&layout)?;
        self.current()?;
        reps::database(&self.log, &self.folder.join("db"), self.cancel)?;
        self.sync()?;
        for (path, bytes) in last {
            self.write(path, &bytes, false)?;
        }
        self.sync()
    }

    fn unfit(&self, why: &str) -> Error {
        Error::Unfit { path: PathBuf::from(self.log.address()), why: why.to_owned() }
    }

    fn sync(&self) -> Result<()> {
        LocalStorage.sync_all(self.folder).map_err(failed("sync", self.folder))
    }

    /// Begins a file at a path below the folder.
    fn create(&mut self, path: &str) -> Result<(File, PathBuf)> {
        self.cancel.check().map_err(Error::Stopped)?;
        let path = self.folder.join(path);
        if let Some(parent) = path.parent().filter(|parent| !self.made.contains(*parent)) {
            fs::create_dir_all(parent).map_err(failed("make", parent))?;
            self.made.insert(parent.to_owned());
        }
        let file = File::options().write(true).create_new(true).open(&path);
        Ok((file.map_err(failed("make", &path))?, path))
    }

    fn write(&mut self, path: &str, bytes: &[u8], executable: bool) -> Result<()> {
        let (mut file, path) = self.create(path)?;
        let written = file.write_all(bytes).and_then(|()| match executable {
            true => {
                let mode = file.metadata()?.permissions().mode();
                // Those may execute it who may read it.
                file.set_permissions(fs::Permissions::from_mode(mode | ((mode & 0o444) >> 2)))
            }
            false => Ok(()),
        });
        written.map_err(failed("write", &path))
    }

    fn write_object(&mut self, path: &str, part: &str, object: &Object, slot: u64) -> Result<()> {
        let (mut file, path) = self.create(path)?;
        let mut failure = None;
        let read = read_object(&**self.log.store(), part, object, slot, &mut |piece| {
            // What is read is thrown away after a failure, which is reported.
            if failure.is_none() {
                failure = file.write_all(piece).err();
            }
            Ok(())
        });
        match failure {
            Some(error) => Err(failed("write", &path)(error)),
            None => Ok(read?),
        }
    }

    fn packs(&mut self, layout: &Layout) -> Result<()> {
        let packs = self.log.state().packs.clone();
        for (first, pack) in packs {
            let shard = layout.shard(Revnum(first)).unwrap_or(0);
            self.write_object(
                &format!("db/{}", layout.pack_file(shard)),
                "pack",
                &pack.data,
                pack.slot,
            )?;
            // Where it begins in revision data of logical addressing is in the pack itself.
            let key = Key::of_token("props", pack.props.token)?;
            let mut bytes = Vec::with_capacity(clamped(pack.props.len.min(1 << 20)));
            read_object(&**self.log.store(), "props", &pack.props, pack.slot, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
            let files = container::split(&bytes).ok_or_else(|| {
                self.unfit(&format!("is damaged: '{key}' does not hold properties"))
            })?;
            let folder = layout.revprops_pack_dir(shard);
            for (name, contents) in files {
                self.write(&format!("db/{folder}/{name}"), contents, false)?;
            }
            let last = first.plus(pack.count).minus(1);
            (self.copied)(Revnum(first), Revnum(last)).map_err(Error::Stopped)?;
        }
        Ok(())
    }

    fn revisions(&mut self, layout: &Layout) -> Result<()> {
        let data = self.log.state().data.clone();
        for (revision, data) in data {
            let path = format!("db/{}", layout.rev_file(Revnum(revision)));
            match data {
                RevisionData::Inline(location) => {
                    let bytes = self.log.read(&location)?;
                    self.write(&path, &bytes, false)?;
                }
                RevisionData::Big(object, slot) => {
                    self.write_object(&path, "big", &object, slot)?
                }
            }
            (self.copied)(Revnum(revision), Revnum(revision)).map_err(Error::Stopped)?;
        }
        let props = self.log.state().props.clone();
        for (revision, location) in props {
            let bytes = self.log.read(&location)?;
            self.write(&format!("db/{}", layout.revprops_file(Revnum(revision))), &bytes, false)?;
        }
        Ok(())
    }

    /// The small files that say what there is.
    fn current(&mut self) -> Result<()> {
        let state = self.log.state();
        let revisions = state.revisions;
        if revisions == 0 {
            return Err(self.unfit("has no revision yet: its import was stopped"));
        }
        let unpacked = state.packs.iter().map(|(first, pack)| first.plus(pack.count)).max();
        let mut bytes = Vec::new();
        Current { youngest: Revnum(revisions.minus(1)), next_ids: None }.write(&mut bytes);
        self.write(&format!("db/{}", names::CURRENT), &bytes, false)?;
        let unpacked = format!("{}\n", unpacked.unwrap_or(0));
        self.write(&format!("db/{}", names::MIN_UNPACKED_REV), unpacked.as_bytes(), false)
    }
}
