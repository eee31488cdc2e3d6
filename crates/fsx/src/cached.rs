//! What is kept in the caches of the process: node-revisions, directories, properties and changed paths, which never change once they
//! are in a revision; and the containers of packs, whose parts are asked for one after the other.
//!
//! All openings of one filesystem with the same caches have one number there, as long as the files that describe it are those that
//! they were.

use std::path::Path;
use std::sync::Arc;

use sapwood_core::{Exact, Md5, PropList, Revnum};
use sapwood_delta::Version;
use sapwood_fsx_format::changes_container::ChangesContainer;
use sapwood_fsx_format::layout::names;
use sapwood_fsx_format::noderevs_container::NodeRevsContainer;
use sapwood_fsx_format::reps_container::RepsContainer;
use sapwood_fsx_format::{Change, Id, NodeRev, Representation};
use sapwood_store::{Caches, Kind, Stamp, WriteStorage};

use crate::directory::Directory;
use crate::revfile::RevFile;

/// A container: shard and offset.
pub(crate) type ContainerKey = (u64, u64);

/// Node-revisions: revision, item.
const NODE_REV: Kind<NodeRev> = Kind::new(1, node_rev_len);
/// Directories by their representation: revision, item.
const DIRECTORY: Kind<Directory> = Kind::new(2, Directory::byte_len).found_while_held();
/// Properties of nodes by their representation: revision, item.
const PROPS: Kind<PropList> = Kind::new(3, props_len).found_while_held();
/// Changed paths: revision.
const CHANGES: Kind<Vec<Change>> =
    Kind::new(4, |changes: &Vec<Change>| changes_len(changes)).of_neighbours().found_while_held();

/// Containers of changed paths: shard, offset.
const CHANGES_CONTAINER: Kind<ChangesContainer> =
    Kind::new(5, ChangesContainer::byte_len).found_while_held();
/// Containers of node-revisions: shard, offset.
const NODE_REVS_CONTAINER: Kind<NodeRevsContainer> =
    Kind::new(6, NodeRevsContainer::byte_len).found_while_held();
/// Containers of representations: shard, offset.
const REPS_CONTAINER: Kind<RepsContainer> =
    Kind::new(7, RepsContainer::byte_len).found_while_held();

/// Revision properties: revision, generation.
const REVPROPS: Kind<PropList> = Kind::new(8, props_len).of_neighbours();

/// Svndiff of texts of files, by their representation: revision, item, a mixture of the source and the newest version that it may have.
const ENCODED: Kind<EncodedText> = Kind::new(9, |encoded: &EncodedText| encoded.bytes.capacity());

/// Files of revisions that are not packed, read whole: revision.
const FILE: Kind<RevFile> = Kind::new(11, RevFile::byte_len);
/// Short texts whose checksum was found right, by their representation: revision, item.
const TEXT: Kind<KeptText> = Kind::new(10, |kept: &KeptText| kept.text.capacity());

fn node_rev_len(rev: &NodeRev) -> usize {
    let path =
        |other: &Option<(Revnum, Box<str>)>| other.as_ref().map_or(0, |(_, path)| path.len());
    let paths = rev.created_path.len().plus(path(&rev.copy_from)).plus(path(&rev.copy_root));
    size_of::<NodeRev>().plus(paths)
}

fn props_len(props: &PropList) -> usize {
    props.byte_len().plus(size_of::<PropList>())
}

fn changes_len(changes: &[Change]) -> usize {
    changes.iter().fold(0usize, |sum, change| {
        let source = change.copy_from.as_ref().map_or(0, |(_, path)| path.len());
        sum.plus(size_of::<Change>()).plus(change.path.len()).plus(source)
    })
}

/// Svndiff of a text.
#[derive(Debug)]
pub(crate) struct EncodedText {
    /// Revision and item of the text that it is a delta to; `None` when it stands by itself.
    source: Option<(Revnum, u64)>,
    pub(crate) bytes: Vec<u8>,
}

/// A text and its MD5.
#[derive(Debug)]
pub(crate) struct KeptText {
    pub(crate) md5: Md5,
    pub(crate) text: Vec<u8>,
}

/// The caches, and the number of the filesystem in them.
#[derive(Clone, Debug)]
pub(crate) struct FsCaches {
    caches: Arc<Caches>,
    fs: u32,
}

/// What the caches know of a filesystem that was opened.
#[derive(Debug)]
struct CacheIdentity {
    fs: u32,
    identity: [Option<Stamp>; 3],
}

impl FsCaches {
    /// For the filesystem in the folder `db`.
    pub(crate) fn new(caches: &Arc<Caches>, storage: &dyn WriteStorage, db: &Path) -> Self {
        let stamp = |name| storage.stamp(&db.join(name)).ok();
        let identity = [names::FORMAT, names::UUID, names::FS_TYPE].map(stamp);
        let known =
            caches.shared_state::<CacheIdentity>(db).filter(|known| known.identity == identity);
        let known = known.unwrap_or_else(|| {
            let known = Arc::new(CacheIdentity { fs: caches.new_id(), identity });
            caches.keep_shared_state(db, &known);
            known
        });
        Self { caches: Arc::clone(caches), fs: known.fs }
    }

    /// The caches.
    pub(crate) const fn caches(&self) -> &Arc<Caches> {
        &self.caches
    }

    /// Forgets everything: some of it was of revisions that are not to be.
    pub(crate) fn forget(&self) {
        self.caches.forget(self.fs);
    }

    /// The short file of a revision that is not packed.
    pub(crate) fn file(&self, revision: Revnum) -> Option<Arc<RevFile>> {
        self.caches.get(FILE.key(self.fs, revision.0, 0, 0))
    }

    /// Keeps such a file.
    pub(crate) fn keep_file(&self, revision: Revnum, file: RevFile) -> Arc<RevFile> {
        self.caches.put(FILE.key(self.fs, revision.0, 0, 0), file)
    }

    /// A short text that was read or written a short while ago, by its representation.
    pub(crate) fn text(&self, id: Id) -> Option<Arc<KeptText>> {
        let revision = id.change_set.revision()?;
        self.caches.get(TEXT.key(self.fs, revision.0, id.number, 0))
    }

    /// Keeps such a text.
    pub(crate) fn keep_text(&self, id: Id, text: KeptText) -> Arc<KeptText> {
        match id.change_set.revision() {
            Some(revision) => self.caches.put(TEXT.key(self.fs, revision.0, id.number, 0), text),
            None => Arc::new(text),
        }
    }

    /// The number of the filesystem in them.
    pub(crate) const fn number(&self) -> u32 {
        self.fs
    }

    fn get_or<T: Send + Sync + 'static, E>(
        &self,
        kind: &Kind<T>,
        (a, b): (u64, u64),
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let key = kind.key(self.fs, a, b, 0);
        match self.caches.get(key) {
            Some(found) => Ok(found),
            None => Ok(self.caches.put(key, make()?)),
        }
    }

    /// What `make` makes when it is not in the caches. What is not in a revision is not kept.
    fn of_item<T: Send + Sync + 'static, E>(
        &self,
        kind: &Kind<T>,
        id: Id,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        match id.change_set.revision() {
            Some(revision) => self.get_or(kind, (revision.0, id.number), make),
            None => make().map(Arc::new),
        }
    }

    pub(crate) fn node_rev<E>(
        &self,
        id: Id,
        make: impl FnOnce() -> Result<NodeRev, E>,
    ) -> Result<Arc<NodeRev>, E> {
        self.of_item(&NODE_REV, id, make)
    }

    pub(crate) fn directory<E>(
        &self,
        rep: &Representation,
        make: impl FnOnce() -> Result<Directory, E>,
    ) -> Result<Arc<Directory>, E> {
        self.of_item(&DIRECTORY, rep.id, make)
    }

    pub(crate) fn props<E>(
        &self,
        rep: &Representation,
        make: impl FnOnce() -> Result<PropList, E>,
    ) -> Result<Arc<PropList>, E> {
        self.of_item(&PROPS, rep.id, make)
    }

    pub(crate) fn changes<E>(
        &self,
        revision: Revnum,
        make: impl FnOnce() -> Result<Vec<Change>, E>,
    ) -> Result<Arc<Vec<Change>>, E> {
        self.get_or(&CHANGES, (revision.0, 0), make)
    }

    /// The svndiff of a text of a revision, of a version not newer than `newest`, as a delta to `source`, or by itself.
    pub(crate) fn encoded<E>(
        &self,
        (revision, item): (Revnum, u64),
        source: Option<(Revnum, u64)>,
        newest: Version,
        make: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Arc<EncodedText>, E> {
        // Different sources may have the same mixture, but the source is looked at.
        let mixture = source.map_or(0, |(revision, item)| {
            revision.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(item).wrapping_add(1)
        });
        let part = mixture.wrapping_mul(2).wrapping_add(u64::from(newest == Version::V1));
        let key = ENCODED.key(self.fs, revision.0, item, part);
        match self.caches.get(key).filter(|found| found.source == source) {
            Some(found) => Ok(found),
            None => Ok(self.caches.put(key, EncodedText { source, bytes: make()? })),
        }
    }

    pub(crate) fn revprops<E>(
        &self,
        revision: Revnum,
        generation: u64,
        make: impl FnOnce() -> Result<PropList, E>,
    ) -> Result<Arc<PropList>, E> {
        self.get_or(&REVPROPS, (revision.0, generation), make)
    }

    pub(crate) fn changes_container<E>(
        &self,
        key: ContainerKey,
        make: impl FnOnce() -> Result<ChangesContainer, E>,
    ) -> Result<Arc<ChangesContainer>, E> {
        self.get_or(&CHANGES_CONTAINER, key, make)
    }

    pub(crate) fn node_revs_container<E>(
        &self,
        key: ContainerKey,
        make: impl FnOnce() -> Result<NodeRevsContainer, E>,
    ) -> Result<Arc<NodeRevsContainer>, E> {
        self.get_or(&NODE_REVS_CONTAINER, key, make)
    }

    pub(crate) fn reps_container<E>(
        &self,
        key: ContainerKey,
        make: impl FnOnce() -> Result<RepsContainer, E>,
    ) -> Result<Arc<RepsContainer>, E> {
        self.get_or(&REPS_CONTAINER, key, make)
    }
}
