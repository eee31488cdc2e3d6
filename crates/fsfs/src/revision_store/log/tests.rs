//! The store as a server uses it: how many requests it makes, and what is left when it dies in the middle of anything.

mod costs;
mod crashes;
mod tables;
mod upkeep;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sapwood_block_cache::BlockCache;
use sapwood_core::{CancelToken, Lock, Revnum};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fsfs_format::{FormatFile, Layout};
use sapwood_objects::{Error, Memory, Store, addresses};
use sapwood_store::{Caches, LocalStorage, Storage as _};
use sapwood_testkit::fspath;
use tempfile::TempDir;

use super::LogRevisions;
use super::marker::{KIND, Marker};
use crate::create::{CreateOptions, create};
use crate::filesystem::{Filesystem, OpenOptions};
use crate::locks::{LockOptions, LockOutcome, LockTarget};
use crate::stored_folder::attach;
use crate::txn::{WriteOptions, Writer};

/// Stores that tests have made, by address.
static STORES: Mutex<BTreeMap<String, Arc<dyn Store>>> = Mutex::new(BTreeMap::new());

fn find(address: &str) -> Result<Arc<dyn Store>, Error> {
    let known = STORES.lock().get(address).cloned();
    known.ok_or_else(|| Error::NoAddress(address.into()))
}

/// An empty repository in a store in memory.
struct StoredRepository {
    folder: TempDir,
    store: Arc<dyn Store>,
}

impl StoredRepository {
    fn new() -> Self {
        addresses::register("test", find);
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        std::fs::create_dir(&made).unwrap();
        let options = CreateOptions { shard_size: 3, ..CreateOptions::default() };
        create(&LocalStorage, &made.join("db"), &options).unwrap();
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        sapwood_repo_transfer::import(&made, Arc::clone(&store), &CancelToken::default()).unwrap();
        Self { folder, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A server whose store is this one, which is the repository's or one around it; `None` when it cannot begin.
    fn server(&self, name: &str, store: Arc<dyn Store>) -> Option<Server> {
        self.server_with(name, store, None)
    }

    /// The same, which keeps blocks in a folder.
    fn server_with(
        &self,
        name: &str,
        store: Arc<dyn Store>,
        blocks: Option<&Path>,
    ) -> Option<Server> {
        let address = format!("test://{}", self.path(name).display());
        STORES.lock().insert(address.clone(), store);
        let opened = self.opened(name, &address, blocks);
        STORES.lock().remove(&address);
        opened.ok()
    }

    fn opened(
        &self,
        name: &str,
        address: &str,
        blocks: Option<&Path>,
    ) -> crate::error::Result<Server> {
        let root = self.path(name);
        if !root.exists() {
            attach(&root, address)?;
        }
        let db = root.join("db");
        let text = LocalStorage.read(&db.join("fs-type"), 1000).unwrap();
        let text = String::from_utf8(text).unwrap();
        let rest = text.strip_prefix(KIND).unwrap().strip_prefix('\n').unwrap();
        let marker = Marker::parse(rest, &db)?;
        let format = FormatFile::parse(&std::fs::read(db.join("format")).unwrap(), "format");
        let layout = Layout::new(format.unwrap());
        let mut log = LogRevisions::open(&db, layout, Arc::new(LocalStorage), &marker)?;
        log.patience = Duration::ZERO;
        log.cache = blocks.map(|folder| BlockCache::open(folder, 1 << 30).unwrap());
        let caches = Caches::new(16 << 20);
        let fs = Filesystem::open_with(&db, &caches, Arc::new(log))?;
        Ok(Server { writer: Writer::new(&fs, WriteOptions::default())?, fs })
    }

    /// The repository as a plain folder.
    fn exported(&self, name: &str) -> Filesystem {
        let root = self.path(name);
        let store = Arc::clone(&self.store);
        sapwood_repo_transfer::export(store, &root, &CancelToken::default()).unwrap();
        let options = OpenOptions::default();
        Filesystem::open(&root.join("db"), &Caches::new(16 << 20), &options).unwrap()
    }
}

/// A server of a repository.
struct Server {
    fs: Filesystem,
    writer: Arc<Writer>,
}

impl Server {
    /// Adds a file or changes it.
    fn put(&self, path: &str, text: &str) -> crate::error::Result<Revnum> {
        let mut txn = self.writer.begin(self.fs.youngest()?)?;
        if txn.kind(fspath(path))?.is_none() {
            txn.make_file(fspath(path))?;
        }
        txn.set_text(fspath(path), &mut text.as_bytes(), None)?;
        txn.commit()
    }

    /// Locks a file.
    fn lock(&self, path: &str) -> LockOutcome<Lock> {
        let target = LockTarget { path: fspath(path).to_owned(), token: None, revision: None };
        let options = LockOptions {
            user: "jane",
            comment: None,
            is_dav_comment: false,
            expires: None,
            steal: false,
        };
        self.writer.lock_paths(&[target], &options)
    }
}
