//! A store of objects in memory, without folders, modes, renames or syncs: what one elsewhere would be. It counts
//! which verbs it is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::hashdump;
use sapwood_fsfs_format::FormatFile;

use super::super::*;
use crate::error::Error;

/// An object and its version.
type VersionedObject = (Arc<Vec<u8>>, u64);

#[derive(Debug)]
pub(super) struct Objects {
    layout: Layout,
    kept: Mutex<(BTreeMap<String, VersionedObject>, u64)>,
    pub(super) verbs: Mutex<BTreeSet<&'static str>>,
}

/// An object that is read.
#[derive(Debug)]
struct ObjectFile(Arc<Vec<u8>>);

impl StoredFile for ObjectFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap().min(self.0.len());
        io::Read::read(&mut &self.0[from..], buf)
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len().try_into().unwrap())
    }
}

impl Objects {
    /// A store of what is in a `db` folder, from where it is taken away.
    pub(super) fn copied_from(db: &Path) -> Self {
        let format = std::fs::read(db.join(names::FORMAT)).unwrap();
        let layout = Layout::new(FormatFile::parse(&format, "format").unwrap());
        let store = Self { layout, kept: Mutex::default(), verbs: Mutex::default() };
        for top in [names::REVS, names::REVPROPS, names::CURRENT, names::MIN_UNPACKED_REV] {
            store.take(db, top);
        }
        store
    }

    fn take(&self, db: &Path, name: &str) {
        let path = db.join(name);
        if path.is_dir() {
            for entry in std::fs::read_dir(&path).unwrap() {
                let below = entry.unwrap().file_name().into_string().unwrap();
                self.take(db, &format!("{name}/{below}"));
            }
            std::fs::remove_dir(path).unwrap();
        } else {
            self.keep(name, std::fs::read(&path).unwrap());
            std::fs::remove_file(path).unwrap();
        }
    }

    fn keep(&self, name: &str, bytes: Vec<u8>) {
        let mut kept = self.kept.lock();
        kept.1 += 1;
        let version = kept.1;
        kept.0.insert(name.to_owned(), (Arc::new(bytes), version));
    }

    fn note(&self, verb: &'static str) {
        self.verbs.lock().insert(verb);
    }

    fn get(&self, object: Object<'_>) -> io::Result<VersionedObject> {
        let kept = self.kept.lock();
        let found = kept.0.get(&*object.name(&self.layout));
        found.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// What is below a name that ends nowhere, and the youngest version of it.
    fn below(&self, object: Object<'_>) -> (Vec<OsString>, u64) {
        let top = format!("{}/", object.name(&self.layout));
        let kept = self.kept.lock();
        let below = kept
            .0
            .iter()
            .filter_map(|(name, (_, version))| Some((name.strip_prefix(&top)?.into(), *version)));
        let (names, versions): (_, Vec<u64>) = below.unzip();
        (names, versions.into_iter().max().unwrap_or(0))
    }
}

impl RevisionStore for Objects {
    fn place(&self, object: Object<'_>) -> PathBuf {
        Path::new("objects:").join(&*object.name(&self.layout))
    }

    fn open(&self, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        self.note("open");
        Ok(Arc::new(ObjectFile(self.get(object)?.0)))
    }

    fn read(&self, object: Object<'_>, limit: usize) -> io::Result<Vec<u8>> {
        self.note("read");
        ObjectFile(self.get(object)?.0).whole(limit)
    }

    fn version(&self, object: Object<'_>) -> io::Result<Stamp> {
        self.note("version");
        let (inode, len) = match self.get(object) {
            Ok((bytes, version)) => (version, bytes.len().try_into().unwrap()),
            Err(_) => (self.below(object).1, 0),
        };
        // A version of such a store is never met again: as if it were old.
        Ok(Stamp { inode, len, modified: 0, changed: 0 })
    }

    fn list(&self, object: Object<'_>) -> io::Result<Vec<OsString>> {
        self.note("list");
        Ok(self.below(object).0)
    }

    fn youngest(&self) -> Result<Current> {
        self.note("youngest");
        let bytes = self.get(Object::Youngest).unwrap().0;
        Ok(Current::parse(&bytes, self.layout.format.number).unwrap())
    }

    fn like(&self, _: Revnum) -> Result<Like> {
        Ok(Like::default())
    }

    fn stage(&self, new: &mut NewRevision, _: Like, _: bool) -> Result<StagedRevision> {
        self.note("stage");
        let bytes = match new.bytes.is_empty() {
            true => std::fs::read(&new.spool).unwrap(),
            false => new.bytes.to_vec(),
        };
        self.keep(&format!("staged/{}", new.revision), bytes);
        self.keep(&format!("staged/{}.props", new.revision), new.props.clone());
        Ok(StagedRevision {
            revision: new.revision,
            data: None,
            props: None,
            was_spooled: false,
            spool: new.spool.clone(),
        })
    }

    fn put(
        &self,
        revisions: &mut [&mut StagedRevision],
        next: Current,
        _: bool,
    ) -> Result<Announcement> {
        self.note("put");
        for staged in revisions {
            let revision = staged.revision();
            let mut kept = self.kept.lock();
            let (data, version) = kept.0.remove(&format!("staged/{revision}")).unwrap();
            let (props, _) = kept.0.remove(&format!("staged/{revision}.props")).unwrap();
            kept.0.insert(self.layout.rev_file(revision), (data, version));
            kept.0.insert(self.layout.revprops_file(revision), (props, version));
        }
        let mut text = Vec::new();
        next.write(&mut text);
        Ok(Announcement { token: String::from_utf8(text).unwrap() })
    }

    fn swap_youngest(&self, next: &Announcement) -> Result<()> {
        self.note("swap_youngest");
        let number = self.layout.format.number;
        let announced = Current::parse(next.token.as_bytes(), number).unwrap();
        if self.youngest()?.youngest >= announced.youngest {
            return Err(Error::internal("another revision came first"));
        }
        self.keep(names::CURRENT, next.token.clone().into_bytes());
        Ok(())
    }

    fn withdraw(&self, _: &Announcement) {}

    fn sync(&self, _: Revnum) -> Result<()> {
        Ok(())
    }

    fn discard(&self, revision: &StagedRevision) {
        let mut kept = self.kept.lock();
        kept.0.remove(&format!("staged/{}", revision.revision()));
        kept.0.remove(&format!("staged/{}.props", revision.revision()));
    }

    fn put_revprops_if_unchanged(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
        _: &PropsWriting,
    ) -> Result<()> {
        self.note("put_revprops_if_unchanged");
        let object = Object::Props(revision);
        loop {
            let (bytes, version) =
                self.get(object).map_err(|e| Error::io(e, "Can't read", &self.place(object)))?;
            let Some(props) = change(&parse(&bytes, revision)?)? else { return Ok(()) };
            let mut text = Vec::new();
            hashdump::write(&mut text, &props, Some(hashdump::END));
            // Another writer may have been quicker.
            if self.get(object).unwrap().1 == version {
                self.keep(&object.name(&self.layout), text);
                return Ok(());
            }
        }
    }
}
