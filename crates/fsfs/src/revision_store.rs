//! The seam for other stores than files: what revisions are read from and published to, one level above
//! file operations.
//!
//! The content of a store is named by [`Object`]. Readers use these verbs, and nothing else of a revision's data or
//! properties:
//!
//! | verb | promise | in local files |
//! |---|---|---|
//! | `open` | ranges of the object are read from what it gives, [`StoredFile`], also after it was removed | the file is opened |
//! | `read` | all of a small object | the file is opened, read and closed |
//! | `version` | changes whenever the object, or one of those in it, is replaced; [`Stamp::is_stable`] says from when on that is certain | `stat` |
//! | `list` | the names of the objects in it | the folder is listed |
//!
//! Writers use these, in this order:
//!
//! | verb | promise | in local files |
//! |---|---|---|
//! | `youngest` | what the last swap that succeeded made it, by whatever process: no older answer | `current` is read |
//! | `stage` | takes the bytes of one revision: from memory, or from the transaction's spool when they are long. No reader sees them, and they may still be lost | the prototype and the property file are written |
//! | `put` | the data of staged revisions are whole and, with `flush`, durable when it returns; they never change again. They are not announced yet. What an earlier commit put under these numbers and never announced is replaced | prototypes and property files are synced, oldest first, and moved to their names; then the folders are synced |
//! | `swap_youngest` | atomic: all of the new revisions are there, or none. It fails if the youngest is not the one that they follow | `current` is replaced. `write-lock` is held since it was read, so that it still is |
//! | `sync` | the swap outlasts a power failure when it returns; a swap that is seen before may be lost by one, never a part of it | the folder of `current` is synced |
//! | `withdraw`, `discard` | tidy up after a failure; whatever they leave does no harm | what was not moved is removed |
//! | `put_revprops_if_unchanged` | atomic and durable: readers see the old properties or the new ones, and no change of another writer is lost; what is to be written is asked for anew when there was one | `write-lock` is held from reading to writing, so that there is none. Packs are replaced, or divided: the parts, then the manifest, then the old pack goes |
//!
//! A store of objects ([`LogRevisions`]) has the bytes of a [`NewRevision`] in an entry of the repository's log, or, if they are
//! long, under a key of their own that an entry names; the swap is a claim on the next entry, and there is nothing to make last. Who
//! loses the entry prepares again. `tests::objects` is a smaller one, in memory.
//!
//! Not behind the seam, on purpose: what belongs to one machine or to one writer (transactions, `rep-cache.db`,
//! lock files, `txn-current`, locks on paths, `format`, `uuid` and `fsfs.conf`), and what administration writes
//! (`pack`, `hotcopy`, `recover`, `upgrade`, `load-index`). All of that goes through
//! [`sapwood_store::WriteStorage`], the same one as [`LocalRevisions`]: it is said when the filesystem is
//! opened ([`OpenOptions::storage`](crate::OpenOptions::storage)).
//!
//! Invariant: until [`RevisionStore::swap_youngest`] has succeeded, no reader sees any of a new revision, and
//! whatever fails before leaves at most data that the next commit replaces.

mod local;
mod local_props;
mod log;
mod props;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use sapwood_core::{PropList, Revnum, SvnResult};
use sapwood_fs_common::rep_cache::Row;
use sapwood_fsfs_format::Layout;
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;
use sapwood_store::write::NewFile;
use sapwood_store::{Folder, Stamp, StoredFile};

pub(crate) use self::local::LocalRevisions;
pub(crate) use self::log::{FileChanges, LogRevisions, marker, upkeep};
pub(crate) use self::props::{
    gone_or, missing, not_in_pack, not_named, parse, read_manifest, read_pack, unreadable,
};
use crate::config::RevpropPackConfig;
use crate::error::Result;
use crate::revprop_shards::Shard;

/// A function from the present properties of a revision to the new ones, `None` to leave them. It may
/// be called more than once, and only the last result counts.
pub(crate) type ChangeProps<'a> = dyn FnMut(&PropList) -> SvnResult<Option<PropList>> + 'a;

/// An object of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object<'a> {
    /// The data of a revision that is not packed.
    Revision(Revnum),
    /// The data of all revisions of a shard.
    Pack(u64),
    /// Where each begins in it, with physical addressing.
    PackManifest(u64),
    /// The properties of a revision that are not packed.
    Props(Revnum),
    /// Which packs of properties a shard has.
    PropsManifest(u64),
    /// One of these, by its name there.
    PropsPack(u64, &'a str),
    /// All properties of a shard, to be listed or for their version.
    PropsOf(Shard),
    /// All of these, for their version.
    AllProps,
    /// The number of the youngest revision.
    Youngest,
    /// The first revision that is not packed.
    MinUnpacked,
}

impl Object<'_> {
    /// Its name: where it is below the `db` folder.
    pub(crate) fn name(self, layout: &Layout) -> Cow<'static, str> {
        Cow::Owned(match self {
            Self::Revision(revision) => layout.rev_file(revision),
            Self::Pack(shard) => layout.pack_file(shard),
            Self::PackManifest(shard) => layout.pack_manifest(shard),
            Self::Props(revision) => layout.revprops_file(revision),
            Self::PropsManifest(shard) => {
                format!("{}/{}", layout.revprops_pack_dir(shard), names::MANIFEST)
            }
            Self::PropsPack(shard, name) => format!("{}/{name}", layout.revprops_pack_dir(shard)),
            Self::PropsOf(Shard { packed: true, number }) => layout.revprops_pack_dir(number),
            Self::PropsOf(Shard { packed: false, number }) => {
                let size = layout.format.shard_size.unwrap_or(0);
                layout.revprops_dir(Revnum(number.saturating_mul(size)))
            }
            Self::AllProps => return Cow::Borrowed(names::REVPROPS),
            Self::Youngest => return Cow::Borrowed(names::CURRENT),
            Self::MinUnpacked => return Cow::Borrowed(names::MIN_UNPACKED_REV),
        })
    }
}

/// State of a request that opens many objects of the same shard.
#[derive(Debug, Default)]
pub(crate) struct Near(Option<(u64, Folder)>);

/// A revision that is made, to be staged.
#[derive(Debug)]
pub(crate) struct NewRevision {
    pub(crate) revision: Revnum,
    /// All of its data, unless they are too long for memory; empty then.
    pub(crate) bytes: Arc<Vec<u8>>,
    /// The file in which all of the data are then, still open; not durable.
    pub(crate) spooled: Option<Box<dyn NewFile>>,
    /// Where that file is, which belongs to the transaction; otherwise where a store of local files may
    /// have the data until they are put.
    pub(crate) spool: PathBuf,
    /// Its properties, as they are to be stored.
    pub(crate) props: Vec<u8>,
    /// The representations in it that later revisions can share, for stores that let others know.
    pub(crate) reps: Vec<Row>,
}

/// A revision whose bytes the store has, and that is not put yet.
#[derive(Debug)]
pub(crate) struct StagedRevision {
    revision: Revnum,
    /// Data and properties, as far as they are still to be made durable.
    data: Option<Box<dyn NewFile>>,
    props: Option<Box<dyn NewFile>>,
    /// Whether the data were written before, and errors of that may be missed by a sync of many files.
    was_spooled: bool,
    spool: PathBuf,
}

impl StagedRevision {
    /// Its number.
    pub(crate) const fn revision(&self) -> Revnum {
        self.revision
    }
}

/// What will say that revisions are there.
#[derive(Debug)]
pub(crate) struct Announcement {
    /// The store's own name for the prepared object.
    token: String,
}

/// What new revisions take from the one that they follow: in local files its permissions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Like(u32);

/// How changed properties are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PropsWriting {
    /// Whether they are durable when that is reported.
    pub(crate) flush: bool,
    pub(crate) packing: RevpropPackConfig,
}

/// Where revisions and their properties are. Errors of reading keep their `ErrorKind`: `NotFound` has a
/// meaning of its own, because packing removes objects under their former names.
pub(crate) trait RevisionStore: Send + Sync + fmt::Debug {
    /// The store of objects that it is, if it is one: other servers may add to it at any time.
    fn as_log(&self) -> Option<&LogRevisions> {
        None
    }

    /// What messages call an object.
    fn place(&self, object: Object<'_>) -> PathBuf;

    /// Opens an object, of which ranges are to be read.
    fn open(&self, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>>;

    /// The same of the data or properties of a revision, for a request that does it with many.
    fn open_near(&self, near: &mut Near, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        let _ = near;
        self.open(object)
    }

    /// Reads a small object; one that is longer than `limit` is an error of the kind `FileTooLarge`.
    fn read(&self, object: Object<'_>, limit: usize) -> io::Result<Vec<u8>> {
        self.open(object)?.whole(limit)
    }

    /// The present version of an object.
    fn version(&self, object: Object<'_>) -> io::Result<Stamp>;

    /// Something that gives the version of an object more cheaply ([`StoredFile::stamp`]); of the kind
    /// `Unsupported` where there is no such thing.
    fn open_version(&self, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        let _ = object;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The last parts of the names of the entries of an object, in no particular order.
    fn list(&self, object: Object<'_>) -> io::Result<Vec<OsString>>;

    /// The youngest revision, read again.
    fn youngest(&self) -> Result<Current>;

    /// What the revisions that follow `youngest` take from it.
    fn like(&self, youngest: Revnum) -> Result<Like>;

    /// Takes the bytes of a revision. With `flush` they are to be durable when they are put. The spooled file is
    /// taken over only on success.
    fn stage(&self, revision: &mut NewRevision, like: Like, flush: bool) -> Result<StagedRevision>;

    /// Puts staged revisions, oldest first, to where readers will look for them when `next`
    /// is the youngest. With `flush` they outlast a power failure then.
    fn put(
        &self,
        revisions: &mut [&mut StagedRevision],
        next: Current,
        flush: bool,
    ) -> Result<Announcement>;

    /// Makes the youngest what was announced, if the youngest is still what the first of these revisions
    /// follows. Readers see them from then on.
    ///
    /// # Errors
    /// [`Error::Overtaken`](crate::error::Error::Overtaken) when it is not, in a store that others add to.
    fn swap_youngest(&self, next: &Announcement) -> Result<()>;

    /// Withdraws the announcement.
    fn withdraw(&self, next: &Announcement);

    /// Makes sure that the swap outlasts a power failure.
    ///
    /// # Errors
    /// One that says that the revisions are there all the same.
    fn sync(&self, youngest: Revnum) -> Result<()>;

    /// Removes the staged data of a revision that were not put.
    fn discard(&self, revision: &StagedRevision);

    /// Puts what `change` makes of the present properties of a revision in their place, if they are still
    /// those that it was given; asks it again, with the ones that are there then, if they are not.
    ///
    /// # Errors
    /// What `change` fails with; corruption and system errors. The properties are then what they were.
    fn put_revprops_if_unchanged(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
        how: &PropsWriting,
    ) -> Result<()>;
}

#[cfg(test)]
mod tests;
