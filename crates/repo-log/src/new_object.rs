//! An object that an entry will name, as it is written: any length, piece by piece.
//!
//! One of which it is not known whether it is long is kept in memory at first ([`SomeObject`]): a short one is one request.
//!
//! Invariant: the object has the bytes that were appended, and its description has their sum; nothing is there before it is finished.

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Key, Store, Token, Upload};

use crate::digest::{Digest, Hasher};
use crate::entry::Object;
use crate::error::Result;

/// An object that is being written.
#[derive(Debug)]
pub struct NewObject {
    token: Token,
    upload: Box<dyn Upload>,
    hasher: Hasher,
    len: u64,
}

impl NewObject {
    /// Begins an object in a part of the store.
    ///
    /// # Errors
    /// Those of the store; the system has no random bytes.
    pub fn begin(store: &dyn Store, part: &str) -> Result<Self> {
        let token = Token::new()?;
        let upload = store.upload(&Key::of_token(part, token)?)?;
        Ok(Self { token, upload, hasher: Hasher::new(), len: 0 })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Those of the store.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.len = self.len.plus(len64(bytes.len()));
        Ok(self.upload.append(bytes)?)
    }

    /// Makes the object: what an entry says of it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn finish(self) -> Result<Object> {
        self.upload.finish()?;
        Ok(Object { token: self.token, len: self.len, digest: self.hasher.finish() })
    }
}

/// Bytes that are kept in memory.
const SHORT: usize = 4 << 20;

/// An object that is being written, and may be short.
#[derive(Debug)]
pub(crate) struct SomeObject<'a> {
    store: &'a dyn Store,
    part: &'static str,
    held: Vec<u8>,
    long: Option<NewObject>,
}

impl<'a> SomeObject<'a> {
    /// Begins one in a part of the store.
    pub(crate) fn new(store: &'a dyn Store, part: &'static str) -> Self {
        Self { store, part, held: Vec::new(), long: None }
    }

    /// Appends bytes.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.held.extend_from_slice(bytes);
        if self.held.len() < SHORT {
            return Ok(());
        }
        let mut long = match self.long.take() {
            Some(long) => long,
            None => NewObject::begin(self.store, self.part)?,
        };
        long.append(&std::mem::take(&mut self.held))?;
        self.long = Some(long);
        Ok(())
    }

    /// Makes the object: what an entry says of it.
    pub(crate) fn finish(self) -> Result<Object> {
        if let Some(mut long) = self.long {
            long.append(&self.held)?;
            return long.finish();
        }
        let token = Token::new()?;
        self.store.put(&Key::of_token(self.part, token)?, &self.held)?;
        Ok(Object { token, len: len64(self.held.len()), digest: Digest::of(&self.held) })
    }
}
