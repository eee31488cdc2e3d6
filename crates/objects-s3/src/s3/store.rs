//! The promises of a store, kept by requests to a bucket.

use std::ops::Range;
use std::sync::Arc;

use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectStore as _, ObjectStoreExt as _, PutMode, PutPayload,
};
use sapwood_core::exact::Exact as _;
use sapwood_objects::{Attempt, Blobs, Error, Key, ListedObject, Log, Result, Upload};
use tokio::task::JoinSet;

use super::connection::{BucketConnection, Failure};
use super::upload::Parts;
use crate::address::{Address, Scheme};

/// How many entries are asked for at once.
const AT_ONCE: usize = 16;

/// A prefix of a bucket.
#[derive(Clone, Debug)]
pub(super) struct S3 {
    shared: Arc<BucketConnection>,
    prefix: Key,
    address: Arc<str>,
    /// Whether lists go on by tokens alone: Azure's emulator does not know where to begin.
    by_tokens: bool,
}

impl S3 {
    pub(super) fn new(shared: Arc<BucketConnection>, address: &Address) -> Self {
        let by_tokens = address.scheme == Scheme::Azure;
        let (prefix, address) = (address.prefix.clone(), address.to_string().into());
        Self { shared, prefix, address, by_tokens }
    }

    /// Where an object is in the bucket.
    fn path(&self, key: &Key) -> Path {
        Path::from(format!("{}/{key}", self.prefix))
    }

    fn failed(&self, what: &'static str, key: &Key, failure: Failure) -> Error {
        Error::failed(what, &self.address, key, failure)
    }

    /// The entries from `first` on that are there, asked for together: one for each slot, in order.
    fn several(&self, log: &Key, first: u64, count: usize) -> Result<Vec<Option<Vec<u8>>>> {
        let paths = (first..).take(count).map(|slot| Ok(self.path(&Key::slot(log, slot)?)));
        let paths = paths.collect::<Result<Vec<Path>>>()?;
        let shared = Arc::clone(&self.shared);
        let all = async move {
            let mut asked = JoinSet::new();
            for (at, path) in paths.into_iter().enumerate() {
                let bucket = shared.bucket.clone();
                asked.spawn(async move {
                    let bytes = match bucket.get(&path).await {
                        Ok(found) => Some(found.bytes().await?.to_vec()),
                        Err(object_store::Error::NotFound { .. }) => None,
                        Err(error) => return Err(error),
                    };
                    Ok((at, bytes))
                });
            }
            let mut found = Vec::new();
            while let Some(one) = asked.join_next().await {
                found.push(one??);
            }
            found.sort_unstable_by_key(|(at, _)| *at);
            Ok(found.into_iter().map(|(_, bytes)| bytes).collect())
        };
        self.shared.wait(all).map_err(|failure| self.failed("read", log, failure))
    }
}

/// Whether a store refuses a request, whatever it is about and how often it comes.
fn is_refusal(failure: &Failure) -> bool {
    use object_store::Error::{
        NotFound, NotImplemented, NotSupported, PermissionDenied, Unauthenticated,
    };
    let Failure::Store(error) = failure else { return false };
    matches!(
        error,
        NotFound { .. }
            | NotImplemented { .. }
            | NotSupported { .. }
            | PermissionDenied { .. }
            | Unauthenticated { .. }
    )
}

impl Blobs for S3 {
    fn address(&self) -> &str {
        &self.address
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let whole = range.start == 0 && range.end == u64::MAX;
        // A range of no bytes cannot be asked for: its first byte is, and left out.
        let end = range.end.max(range.start.plus(1));
        let wanted = (!whole).then_some(GetRange::Bounded(range.start..end));
        let options = GetOptions { range: wanted, ..GetOptions::default() };
        let (bucket, path) = (self.shared.bucket.clone(), self.path(key));
        let read = async move {
            match bucket.get_opts(&path, options).await {
                Ok(found) => Ok(Some(found.bytes().await?.to_vec())),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => match bucket.head(&path).await {
                    // Nothing is behind the end, and stores refuse to say so in a better way.
                    Ok(object) if object.size <= range.start => Ok(Some(Vec::new())),
                    Err(object_store::Error::NotFound { .. }) => Ok(None),
                    _ => Err(error),
                },
            }
        };
        let is_empty = range.end <= range.start;
        let found = self.shared.wait(read).map_err(|e| self.failed("read", key, e))?;
        Ok(found.map(|bytes| if is_empty { Vec::new() } else { bytes }))
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        let (bucket, path) = (self.shared.bucket.clone(), self.path(key));
        let payload = PutPayload::from(bytes.to_vec());
        let write = async move { bucket.put(&path, payload).await };
        self.shared.wait(write).map(drop).map_err(|e| self.failed("write", key, e))
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        let parts = Parts::new(Arc::clone(&self.shared), self.path(key), &self.address, key);
        Ok(Box::new(parts))
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        let mut listed = Vec::new();
        // A part that is no key has nothing in it.
        let Ok(within) = Key::new(part) else { return Ok(listed) };
        let prefix = format!("{}/{within}/", self.prefix);
        let mut offset = after.map(|after| format!("{}/{after}", self.prefix));
        let mut token = None;
        while listed.len() < most {
            let options = PaginatedListOptions {
                offset: offset.take(),
                page_token: token.take(),
                max_keys: Some(most.minus(listed.len()).min(1000)),
                ..PaginatedListOptions::default()
            };
            let (bucket, prefix) = (self.shared.bucket.clone(), prefix.clone());
            let page = async move { bucket.list_paginated(Some(&prefix), options).await };
            let page = self.shared.wait(page).map_err(|e| self.failed("list", &within, e))?;
            for object in page.result.objects {
                let key = object.location.as_ref().strip_prefix(self.prefix.as_str());
                let key = key.and_then(|key| key.strip_prefix('/'));
                // What is no key was not written by us.
                if let Some(Ok(key)) = key.map(Key::new)
                    && after.is_none_or(|after| key > *after)
                {
                    let modified = object.last_modified.into();
                    listed.push(ListedObject { key, len: object.size, modified });
                }
                offset = Some(object.location.to_string());
            }
            if page.page_token.is_none() || (offset.is_none() && !self.by_tokens) {
                break;
            }
            if self.by_tokens {
                (token, offset) = (page.page_token, None);
            }
        }
        Ok(listed)
    }

    fn delete(&self, key: &Key) -> Result<()> {
        let (bucket, path) = (self.shared.bucket.clone(), self.path(key));
        let remove = async move {
            match bucket.delete(&path).await {
                Err(object_store::Error::NotFound { .. }) => Ok(()),
                done => done,
            }
        };
        self.shared.wait(remove).map_err(|e| self.failed("delete", key, e))
    }
}

impl Log for S3 {
    fn address(&self) -> &str {
        &self.address
    }

    /// Asks for one entry, and only if it is there for as many as a list names behind it.
    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        let mut found: Vec<Vec<u8>> = Vec::new();
        if most == 0 {
            return Ok(found);
        }
        // Mostly there is nothing new, else one entry: a question for one more is less than a list, by time and price.
        for slot in [first, first.plus(1)] {
            let entry = self.several(log, slot, 1)?.into_iter().flatten().next();
            found.extend(entry);
            if sapwood_core::len64(found.len()) != slot.minus(first).plus(1) || found.len() == most
            {
                return Ok(found);
            }
        }
        let last = first.plus(1);
        let behind = self.list(log.as_str(), Some(&Key::slot(log, last)?), most.minus(2))?;
        let mut slots = behind.iter().filter_map(|listed| listed.key.slot_in(log));
        let mut end = last.plus(1);
        while slots.next() == Some(end) {
            end = end.plus(1);
        }
        let mut next = last.plus(1);
        while next < end {
            let count = AT_ONCE.min(sapwood_core::exact::clamped(end.minus(next)));
            for entry in self.several(log, next, count)? {
                let Some(entry) = entry else { return Ok(found) };
                found.push(entry);
            }
            next = next.plus(sapwood_core::len64(count));
        }
        Ok(found)
    }

    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        let key = Key::slot(log, slot)?;
        let (bucket, path) = (self.shared.once.clone(), self.path(&key));
        let payload = PutPayload::from(bytes.to_vec());
        let create = async move { bucket.put_opts(&path, payload, PutMode::Create.into()).await };
        match self.shared.wait(create) {
            Ok(_) => Ok(Attempt::Created),
            Err(Failure::Store(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            )) => Ok(Attempt::Taken),
            Err(failure) if is_refusal(&failure) => Err(self.failed("write", &key, failure)),
            Err(failure) => Ok(Attempt::Unknown(self.failed("write", &key, failure))),
        }
    }

    fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        self.delete(&Key::slot(log, slot)?)
    }
}
