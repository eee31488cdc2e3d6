//! A filesystem of any engine, to which revisions are committed one after the other: what a conversion needs of one.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::{ErrorCode, FsPath, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_fsx::txn as fsx;
use sapwood_store::{Caches, LocalStorage};

use crate::Engine;
use crate::admin::create as fsfs_create;
use crate::of::Of;
use crate::txn::{Bulk, Txn, WriteOptions, Writer};
use crate::{Filesystem, OpenOptions, Roots};

/// How many transactions' numbers are reserved at once.
const NUMBERS_AT_ONCE: u64 = 1024;

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewFilesystem {
    /// One of FSFS.
    Fsfs(fsfs_create::CreateOptions),
    /// One of FSX.
    Fsx(sapwood_fsx::create::CreateOptions),
}

impl NewFilesystem {
    /// An FSX filesystem with the defaults.
    #[must_use]
    pub fn fsx() -> Self {
        Self::Fsx(sapwood_fsx::create::CreateOptions::default())
    }

    /// Makes the folder `db` and a filesystem with a UUID in it.
    ///
    /// # Errors
    /// Whatever the system reports; E125008 for a UUID that is none.
    pub fn create(&self, db: &Path, uuid: &str, caches: &Arc<Caches>) -> SvnResult<()> {
        match self {
            Self::Fsfs(options) => {
                fsfs_create::create(&LocalStorage, db, options)?;
                let made = Filesystem::open(db, caches, &OpenOptions::default())?;
                Writer::new(&made, WriteOptions::default())?.set_uuid(uuid)?;
            }
            Self::Fsx(options) => {
                sapwood_fsx::create::create(&LocalStorage, db, options)?;
                let made = sapwood_fsx::Filesystem::open(db)?;
                fsx::Writer::new(&made, fsx::WriteOptions::default())?.set_uuid(uuid)?;
            }
        }
        Ok(())
    }
}

/// An opened filesystem of any engine that is written.
#[derive(Debug)]
pub enum Target {
    /// Of FSFS.
    Fsfs {
        /// Writes single revisions and properties.
        writer: Arc<Writer>,
        /// Writes many revisions, where the filesystem's options allow that.
        bulk: Option<Bulk>,
        /// Roots of revisions that were copied from last.
        roots: Roots,
    },
    /// Of FSX.
    Fsx(Arc<fsx::Writer>),
}

/// A transaction of any engine.
#[derive(Debug)]
pub enum TargetTxn {
    /// Of FSFS.
    Fsfs(Box<Txn>),
    /// Of FSX.
    Fsx(Box<fsx::Txn>),
}

#[allow(clippy::missing_errors_doc)]
impl Target {
    /// Opens the `db` folder of a repository.
    pub fn open(db: &Path, caches: &Arc<Caches>) -> SvnResult<Self> {
        Ok(match Engine::of(db)? {
            Engine::Fsfs => {
                let fs = Filesystem::open(db, caches, &OpenOptions::default())?;
                let options = WriteOptions {
                    flush_to_disk: true,
                    numbers_at_once: NUMBERS_AT_ONCE,
                    batch_reps: true,
                };
                let writer = Writer::new(&fs, options)?;
                Self::Fsfs { bulk: Bulk::new(&writer)?, roots: Roots::new(&fs), writer }
            }
            Engine::Fsx => {
                let fs = sapwood_fsx::Filesystem::open(db)?;
                let options =
                    fsx::WriteOptions { flush_to_disk: true, numbers_at_once: NUMBERS_AT_ONCE };
                Self::Fsx(fsx::Writer::new(&fs, options)?)
            }
        })
    }

    /// The filesystem, to be read.
    #[must_use]
    pub fn fs(&self) -> Filesystem {
        match self {
            Self::Fsfs { writer, .. } => writer.fs().clone(),
            Self::Fsx(writer) => Filesystem(Of::Fsx(writer.fs().clone())),
        }
    }

    /// Begins the transaction that is to become `revision`; E160024 when another program has made that.
    pub fn begin(&self, revision: Revnum) -> SvnResult<TargetTxn> {
        let txn = match self {
            Self::Fsfs { writer, bulk, .. } => TargetTxn::Fsfs(Box::new(match bulk {
                Some(bulk) => bulk.begin()?,
                None => writer.begin(writer.fs().youngest()?)?,
            })),
            Self::Fsx(writer) => TargetTxn::Fsx(Box::new(writer.begin(writer.fs().youngest()?)?)),
        };
        let base = match &txn {
            TargetTxn::Fsfs(txn) => txn.base_revision(),
            TargetTxn::Fsx(txn) => txn.base_revision(),
        };
        if base.next() == revision {
            return Ok(txn);
        }
        let message = "The target was changed by another program during the conversion";
        Err(SvnError::new(ErrorCode::FS_CONFLICT, message))
    }

    /// Makes a revision of a transaction. It is there at [`Target::sync`] at the latest.
    pub fn commit(&self, txn: TargetTxn) -> SvnResult<()> {
        match (self, txn) {
            (Self::Fsfs { bulk: Some(bulk), .. }, TargetTxn::Fsfs(txn)) => {
                bulk.commit(*txn)?;
            }
            (_, TargetTxn::Fsfs(txn)) => drop(txn.commit()?),
            (_, TargetTxn::Fsx(txn)) => drop(txn.commit()?),
        }
        Ok(())
    }

    /// Waits until all revisions are there, and writes what later ones can share.
    pub fn sync(&self) -> SvnResult<()> {
        if let Self::Fsfs { writer, bulk, .. } = self {
            bulk.as_ref().map_or(Ok(()), Bulk::sync)?;
            writer.flush_reps();
        }
        Ok(())
    }

    /// Makes the properties of a revision these.
    pub fn set_revprops(&self, revision: Revnum, wanted: &PropList) -> SvnResult<()> {
        let mut change = |present: &PropList| {
            let is_same = present == wanted;
            Ok((!is_same).then(|| wanted.clone()))
        };
        match self {
            // Most are as they should be: that is seen without the lock.
            Self::Fsfs { writer, .. } if *writer.fs().revprops(revision)? == *wanted => {}
            Self::Fsx(writer) if writer.fs().revprops(revision)? == *wanted => {}
            Self::Fsfs { writer, .. } => writer.change_revision_props(revision, &mut change)?,
            Self::Fsx(writer) => writer.change_revision_props(revision, &mut change)?,
        }
        Ok(())
    }

    /// Copies a node of an earlier revision to `path`, with its history.
    pub fn copy(
        &mut self,
        txn: &mut TargetTxn,
        (from, from_path): (Revnum, &FsPath),
        path: &FsPath,
    ) -> SvnResult<()> {
        match (self, txn) {
            (Self::Fsfs { roots, .. }, TargetTxn::Fsfs(txn)) => {
                txn.copy(&roots.get(from)?, from_path, path, true)?;
            }
            (_, TargetTxn::Fsx(txn)) => txn.copy((from, from_path), path, true)?,
            (Self::Fsx(_), TargetTxn::Fsfs(_)) => {
                return Err(SvnError::internal("a transaction of another filesystem"));
            }
        }
        Ok(())
    }
}

/// The same call of the transaction of whichever engine.
macro_rules! either {
    ($txn:expr, $name:ident($($argument:expr),*)) => {
        Ok(match $txn {
            TargetTxn::Fsfs(txn) => txn.$name($($argument),*)?,
            TargetTxn::Fsx(txn) => txn.$name($($argument),*)?,
        })
    };
}

#[allow(clippy::missing_errors_doc)]
impl TargetTxn {
    /// What `path` leads to.
    pub fn kind(&self, path: &FsPath) -> SvnResult<Option<NodeKind>> {
        either!(self, kind(path))
    }

    /// The properties of `path`.
    pub fn node_props(&self, path: &FsPath) -> SvnResult<PropList> {
        either!(self, node_props(path))
    }

    /// The MD5 of a file's text as it is now.
    pub fn file_md5(&self, path: &FsPath) -> SvnResult<Md5> {
        either!(self, file_md5(path))
    }

    /// Makes an empty directory.
    pub fn make_dir(&mut self, path: &FsPath) -> SvnResult<()> {
        either!(self, make_dir(path))
    }

    /// Makes an empty file.
    pub fn make_file(&mut self, path: &FsPath) -> SvnResult<()> {
        either!(self, make_file(path))
    }

    /// Removes `path` and everything below.
    pub fn delete(&mut self, path: &FsPath) -> SvnResult<()> {
        either!(self, delete(path))
    }

    /// Sets or (with `None`) deletes a property of a node.
    pub fn change_prop(
        &mut self,
        path: &FsPath,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        either!(self, change_prop(path, name, value))
    }

    /// Records a change of a node that changes nothing, with or without the flag for properties.
    pub fn touch(&mut self, path: &FsPath, prop_mod: bool) -> SvnResult<()> {
        either!(self, touch(path, prop_mod))
    }

    /// Gives a file new contents: all that `text` has. `expected` is the MD5 that it must have.
    pub fn set_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        expected: Option<Md5>,
    ) -> SvnResult<()> {
        either!(self, set_text(path, text, expected))
    }

    /// Sets all properties of the future revision; its date stays what they say.
    pub fn set_props(&mut self, props: PropList) {
        match self {
            Self::Fsfs(txn) => {
                *txn.props_mut() = props;
                txn.keep_date(true);
            }
            Self::Fsx(txn) => {
                *txn.props_mut() = props;
                txn.keep_date(true);
            }
        }
    }
}
