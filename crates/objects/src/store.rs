//! The two traits that a store is seen by.
//!
//! | | promise |
//! |---|---|
//! | [`Blobs::get`] | what the last `put` or `finish` of the key that returned left there, or a later one |
//! | [`Blobs::put`], [`Upload::finish`] | whole, durable, and seen by all when it returns; after an error it may be there or not. Nothing is ever there in part |
//! | [`Blobs::list`] | all keys that were there before it began, and were not deleted, in their order |
//! | [`Log::attempt`] | creates the entry if there is none: at most one attempt of all writers ever succeeds. It is durable when the answer is [`Attempt::Created`] or [`Attempt::Taken`] |
//! | [`Log::read_from`] | entries without a gap, whole; one that was created before the call began is among them if there is room |
//!
//! A store is opened at an address; all keys are below it. Handles are shared by threads.

use std::fmt::Debug;
use std::ops::Range;
use std::time::SystemTime;

use crate::error::{Error, Result};
use crate::key::Key;

/// Objects under keys.
pub trait Blobs: Send + Sync + Debug {
    /// The store's address, for people.
    fn address(&self) -> &str;

    /// A range of an object's bytes: fewer where the object ends before. `None` when there is no such object.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>>;

    /// Writes an object, in place of the one that is there.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()>;

    /// Begins an object that comes in pieces, of any length. It is there when it is finished.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>>;

    /// At most `most` of the objects whose keys have `part` before their first `/`, those after the key `after`.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>>;

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn delete(&self, key: &Key) -> Result<()>;

    /// All of an object that must be there, which has at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Failed`]
    fn whole(&self, key: &Key, most: u64) -> Result<Vec<u8>> {
        self.get(key, 0..most)?.ok_or_else(|| Error::missing(self.address(), key))
    }
}

/// An object that is written in pieces. One that is dropped before it is finished never is there.
pub trait Upload: Send + Debug {
    /// Appends bytes.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes the object, of all that was appended.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn finish(self: Box<Self>) -> Result<()>;
}

/// An object of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key.
    pub key: Key,
    /// How many bytes it has.
    pub len: u64,
    /// When it was written, by the store's clock: no better than seconds with some.
    pub modified: SystemTime,
}

/// Numbered entries that are created once, each by one writer. `log` names one of several logs of a store.
pub trait Log: Send + Sync + Debug {
    /// The store's address, for people.
    fn address(&self) -> &str;

    /// The entries from `first` on, at most `most`, up to the first that is not there.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>>;

    /// Creates an entry, if there is none. Only [`claim`](crate::claim()) knows what the answer means for a writer.
    ///
    /// # Errors
    /// [`Error::Failed`]: the entry was not created, and will not be by this call.
    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt>;

    /// Removes an entry of a log that was made to try the store; entries of others are never removed.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn discard(&self, log: &Key, slot: u64) -> Result<()>;
}

/// What became of an attempt to create an entry.
#[derive(Debug)]
pub enum Attempt {
    /// The entry is there, and this attempt created it.
    Created,
    /// An entry is there. It may be from an earlier attempt of the same writer, or from one of this call that the
    /// store was asked twice for.
    Taken,
    /// It is not known: it may be there, or may yet come to be.
    Unknown(Error),
}

/// A store that has both.
pub trait Store: Blobs + Log {}

impl<S: Blobs + Log> Store for S {}
