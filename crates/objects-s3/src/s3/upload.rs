//! Objects that are sent in parts, a few at a time.
//!
//! Invariant: at most [`AT_ONCE`] parts are in memory, beside the one that is collected; what is not finished is given up,
//! so that the store does not keep its parts.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStore as _, ObjectStoreExt as _, PutMultipartOptions, PutPayload,
    UploadPart,
};
use sapwood_core::exact::Exact as _;
use sapwood_objects::{Error, Key, Result, Upload};

use super::connection::{BucketConnection, Failure};

/// Bytes of a part. Stores want 5 MiB, but for the last, and take 10,000 parts.
const PART: usize = 8 << 20;
/// After so many parts they become twice as long, so that 10,000 are enough for a terabyte.
const LONGER_AFTER: usize = 1000;
/// The longest part.
const LONGEST: usize = 256 << 20;
/// How many parts are sent together.
const AT_ONCE: usize = 2;

/// An object in parts.
#[derive(Debug)]
pub(super) struct Parts {
    shared: Arc<BucketConnection>,
    path: Path,
    address: Box<str>,
    key: Key,
    /// Once there was more than one part.
    upload: Option<Box<dyn MultipartUpload>>,
    waiting: Vec<Vec<u8>>,
    collected: Vec<u8>,
    sent: usize,
}

impl Parts {
    pub(super) fn new(shared: Arc<BucketConnection>, path: Path, address: &str, key: &Key) -> Self {
        Self {
            shared,
            path,
            address: address.into(),
            key: key.clone(),
            upload: None,
            waiting: Vec::new(),
            collected: Vec::new(),
            sent: 0,
        }
    }

    fn failed(&self, failure: Failure) -> Error {
        Error::failed("write", &self.address, &self.key, failure)
    }

    /// Bytes of the part that is collected.
    fn part_len(&self) -> usize {
        let doublings = self.sent / LONGER_AFTER;
        (0..doublings).fold(PART, |len, _| len.times(2).min(LONGEST))
    }

    /// Sends the parts that wait, together.
    fn send(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.waiting);
        self.sent = self.sent.plus(parts.len());
        let upload = self.begun()?;
        let sending: Vec<UploadPart> =
            parts.into_iter().map(|part| upload.put_part(PutPayload::from(part))).collect();
        let all = async move {
            let mut set = tokio::task::JoinSet::new();
            sending.into_iter().for_each(|part| drop(set.spawn(part)));
            while let Some(sent) = set.join_next().await {
                sent??;
            }
            Ok(())
        };
        self.shared.wait(all).map_err(|e| self.failed(e))
    }

    /// The upload, which is begun by the first part.
    fn begun(&mut self) -> Result<&mut Box<dyn MultipartUpload>> {
        let begun = match self.upload.take() {
            Some(upload) => upload,
            None => {
                let (bucket, path) = (self.shared.bucket.clone(), self.path.clone());
                let options = PutMultipartOptions::default();
                let begin = async move { bucket.put_multipart_opts(&path, options).await };
                self.shared.wait(begin).map_err(|e| self.failed(e))?
            }
        };
        Ok(self.upload.insert(begun))
    }
}

impl Upload for Parts {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let len = self.part_len();
            let (now, later) = rest.split_at(rest.len().min(len.minus(self.collected.len())));
            self.collected.extend_from_slice(now);
            rest = later;
            if self.collected.len() == len {
                self.waiting.push(std::mem::take(&mut self.collected));
                if self.waiting.len() == AT_ONCE {
                    self.send()?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let last = std::mem::take(&mut self.collected);
        if self.upload.is_none() && self.waiting.is_empty() {
            let (bucket, path) = (self.shared.bucket.clone(), self.path.clone());
            let write = async move { bucket.put(&path, PutPayload::from(last)).await };
            return self.shared.wait(write).map(drop).map_err(|e| self.failed(e));
        }
        if !last.is_empty() {
            self.waiting.push(last);
        }
        if !self.waiting.is_empty() {
            self.send()?;
        }
        let Some(mut upload) = self.upload.take() else { return Ok(()) };
        let complete = async move {
            let completed = upload.complete().await;
            if completed.is_err() {
                // The first error is what counts; the parts must not stay.
                let _ = upload.abort().await;
            }
            completed
        };
        self.shared.wait(complete).map(drop).map_err(|e| self.failed(e))
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            // Who drops it does not wait; the store removes what is left by a rule of its own, if it has one.
            self.shared.runtime.spawn(async move {
                let _ = upload.abort().await;
            });
        }
    }
}
