//! An object that an entry will name, as it is written: any length, piece by piece.
//!
//! Invariant: the object has the bytes that were appended, and its description has their sum; nothing is there before it is finished.

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Key, Store, Token, Upload};

use crate::digest::Hasher;
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
