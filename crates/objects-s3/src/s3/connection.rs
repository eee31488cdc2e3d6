//! The connection to a bucket: settings, threads, and the two ways in which requests are sent.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use object_store::RetryConfig;
use sapwood_objects::{OpenError, Reason, Store};
use tokio::runtime::Runtime;

use super::buckets::{self, Bucket};
use super::requests::{Kind, Requests};
use super::store::S3;
use super::transport::Transport;
use crate::Settings;
use crate::address::Address;

/// Threads that send requests for all stores of a connection.
const THREADS: usize = 2;
/// How often a request is repeated that may be.
const RETRIES: usize = 5;
/// How long after its beginning a request is not repeated any more.
const RETRY: Duration = Duration::from_secs(60);
/// How long one operation may take, with all its repetitions.
const OPERATION: Duration = Duration::from_secs(300);

/// A file of authorities that certificates of servers are checked with.
const CA_BUNDLE: &str = "AWS_CA_BUNDLE";

/// A bucket, with threads of its own. Its stores, and clones of them, share it.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<BucketConnection>,
}

/// What all stores of a bucket share.
#[derive(Debug)]
pub(super) struct BucketConnection {
    /// For requests that may be repeated.
    pub(super) bucket: Arc<dyn Bucket>,
    /// For those that are sent once.
    pub(super) once: Arc<dyn Bucket>,
    pub(super) runtime: Runtime,
    requests: Arc<Requests>,
}

impl Connection {
    /// Prepares to reach the bucket of an address. Nothing is sent yet.
    ///
    /// # Errors
    /// [`OpenError::Settings`]
    pub fn open(address: &Address, settings: &Settings) -> Result<Self, OpenError> {
        let opened = BucketConnection::open(address, settings);
        let shared = opened
            .map_err(|reason| OpenError::Settings { address: address.to_string(), reason })?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The store at a prefix of the bucket.
    #[must_use]
    pub fn store(&self, address: &Address) -> Arc<dyn Store> {
        Arc::new(S3::new(Arc::clone(&self.shared), address))
    }

    /// How many requests were sent, by kind.
    #[must_use]
    pub fn requests(&self) -> Vec<(Kind, u64)> {
        self.shared.requests.all()
    }
}

impl BucketConnection {
    fn open(address: &Address, settings: &Settings) -> std::result::Result<Self, Reason> {
        let tls = sapwood_tls_client::config(settings.last(CA_BUNDLE).map(Path::new))?;
        let requests = Arc::new(Requests::default());
        let transport = Transport::new(tls, Arc::clone(&requests));
        let open =
            |retry| buckets::open(address.scheme, &address.bucket, settings, &transport, retry);
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: RETRY, ..RetryConfig::default() };
        let never = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("object store")
            .enable_all()
            .build()?;
        Ok(Self { bucket: open(retry)?, once: open(never)?, runtime, requests })
    }

    /// Waits for what the threads of the connection do.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        operation: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> std::result::Result<T, Failure> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            // The one that waits is there until it has this.
            let _ = sender.send(tokio::time::timeout(OPERATION, operation).await);
        });
        match receiver.recv() {
            Ok(Ok(done)) => done.map_err(Failure::Store),
            Ok(Err(_)) => Err(Failure::Late),
            Err(_) => Err(Failure::Ended),
        }
    }
}

/// Why an operation was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// What the store says.
    #[error("{0}")]
    Store(object_store::Error),
    /// It took too long.
    #[error("no answer within {} seconds", OPERATION.as_secs())]
    Late,
    /// A thread ended.
    #[error("the request has ended")]
    Ended,
}
