//! What all connections over http have in common, beside the state of the server.

use std::sync::{Arc, Weak};

use parking_lot::RwLock;
use sapwood_core::SvnResult;

use super::access_log::AccessLog;
use super::autoversioning::held::HeldLocks;
use super::autoversioning::pending::Saves;
use super::connection_slots::ConnectionSlots;
use super::digest::Nonces;
use super::settings::HttpSettings;
use super::tls::Tls;
use super::txns::OpenTxns;
use super::workers::Workers;
use crate::common::metrics::RequestSeries;
use crate::common::state::ServerState;

/// The state that is shared by all connections over http.
#[derive(Debug)]
pub struct HttpState {
    /// What they share with other protocols.
    pub server: Arc<ServerState>,
    /// The settings of the http server.
    pub settings: HttpSettings,
    /// The log of requests, if there is one.
    pub access_log: Option<AccessLog>,
    /// The key for nonces of Digest authentication.
    pub nonces: Nonces,
    /// Locks of DAV programs that repositories cannot have.
    pub held: HeldLocks,
    /// Changes of DAV programs that wait for the rest of a save.
    pub saves: Saves,
    /// How many connections may be open.
    pub slots: Arc<ConnectionSlots>,
    /// The resources that requests share.
    pub workers: Arc<Workers>,
    /// Commits in progress.
    pub txns: OpenTxns,
    /// The certificate of https, where that is spoken.
    pub(super) tls: RwLock<Option<Arc<Tls>>>,
    /// The counts of requests.
    pub requests: Arc<RequestSeries>,
}

/// The methods that are counted by their names.
const METHODS: &[&str] = &[
    "GET",
    "HEAD",
    "OPTIONS",
    "PROPFIND",
    "REPORT",
    "PUT",
    "POST",
    "MERGE",
    "PROPPATCH",
    "DELETE",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "MKACTIVITY",
    "CHECKOUT",
    "VERSION-CONTROL",
];

impl HttpState {
    /// The state of an http server that has just started, which takes part in what the server does
    /// as a whole.
    ///
    /// # Errors
    /// When the access log cannot be opened.
    pub fn new(server: &Arc<ServerState>, settings: HttpSettings) -> SvnResult<Arc<Self>> {
        let log = settings.access_log.as_deref();
        let access_log = log.map(|path| AccessLog::new(path, settings.combined_log)).transpose()?;
        server.folders.add(settings.folders());
        let state = Arc::new(Self {
            server: Arc::clone(server),
            access_log,
            nonces: Nonces::default(),
            held: HeldLocks::default(),
            saves: Saves::default(),
            slots: ConnectionSlots::new(&settings.limits, &server.metrics),
            workers: Workers::new(server, settings.limits.spool_bytes),
            txns: OpenTxns::default(),
            tls: RwLock::default(),
            requests: server.metrics.requests("http", METHODS),
            settings,
        });
        let protocol: Weak<Self> = Arc::downgrade(&state);
        server.add(protocol);
        Ok(state)
    }
}
