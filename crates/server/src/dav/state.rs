//! What all connections over http have in common, beside the state of the server.

use std::sync::Arc;

use parking_lot::RwLock;
use sapwood_core::{SvnError, SvnResult};
use sapwood_oidc::Secret;

use super::access_log::AccessLog;
use super::autoversioning::held::HeldLocks;
use super::autoversioning::pending::Saves;
use super::connection_slots::ConnectionSlots;
use super::digest::Nonces;
use super::peers::names::ChosenNames;
use super::peers::pools::Pools;
use super::settings::HttpSettings;
use super::sign_in::SignIn;
use super::tls::Tls;
use super::txns::OpenTxns;
use super::workers::Workers;
use crate::common::metrics::RequestSeries;
use crate::common::state::ServerState;
use crate::common::status::StatusReader;

/// The state that is shared by all connections over http.
#[derive(Debug)]
pub struct HttpState {
    /// What they share with other protocols.
    pub server: Arc<ServerState>,
    /// The settings of the http server.
    pub settings: HttpSettings,
    /// The log of requests, if there is one.
    pub access_log: Option<Arc<AccessLog>>,
    /// The key for nonces of Digest authentication.
    pub nonces: Arc<Nonces>,
    /// Users who sign in by a provider of OpenID Connect.
    pub sign_in: Option<Arc<SignIn>>,
    /// The key of the codes in forms.
    pub forms: Secret,
    /// Locks of DAV programs that repositories cannot have.
    pub held: Arc<HeldLocks>,
    /// Changes of DAV programs that wait for the rest of a save.
    pub saves: Arc<Saves>,
    /// How many connections may be open.
    pub slots: Arc<ConnectionSlots>,
    /// The resources that requests share.
    pub workers: Arc<Workers>,
    /// Commits in progress.
    pub txns: Arc<OpenTxns>,
    /// Where those of other servers went whose names their clients chose.
    pub(super) chosen: Arc<ChosenNames>,
    /// Connections to other servers.
    pub(super) pools: Arc<Pools>,
    /// The certificate of https, where that is spoken.
    pub(super) tls: Arc<RwLock<Option<Arc<Tls>>>>,
    /// What reads repositories for the page of the server's status.
    pub(super) status: Arc<StatusReader>,
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
    /// The state of an http server that has just started.
    ///
    /// # Errors
    /// When the access log cannot be opened, or the system has no random bytes.
    pub(super) fn new(server: &Arc<ServerState>, settings: HttpSettings) -> SvnResult<Self> {
        let access_log = settings.open_access_log()?;
        server.folders.add(settings.folders());
        Ok(Self {
            server: Arc::clone(server),
            access_log,
            nonces: nonces(server),
            sign_in: sign_in(&settings, None)?,
            forms: Secret::new().map_err(SvnError::from)?,
            held: Arc::default(),
            saves: Arc::default(),
            slots: ConnectionSlots::new(&settings.limits, &server.metrics),
            workers: Workers::new(server, settings.limits.spool_bytes),
            txns: Arc::default(),
            chosen: Arc::default(),
            pools: Arc::default(),
            tls: Arc::default(),
            status: Arc::default(),
            requests: server.metrics.requests("http", METHODS),
            settings,
        })
    }

    /// The tag of this server in names of commits, where there are other servers.
    pub(super) fn own_tag(&self) -> Option<String> {
        self.server.settings.servers.as_ref().map(|servers| servers.settings().own.tag())
    }

    /// The same server with other settings; limits stay as they are, and directories of users keep the logins that they
    /// know.
    ///
    /// # Errors
    /// When the access log cannot be opened, or the system has no random bytes.
    pub(super) fn with(
        &self,
        server: &Arc<ServerState>,
        mut settings: HttpSettings,
    ) -> SvnResult<Self> {
        settings.keep_directories(&self.settings);
        let access_log = settings.open_access_log()?;
        server.folders.add(settings.folders());
        Ok(Self {
            server: Arc::clone(server),
            access_log,
            nonces: match server.has_servers_of(&self.server) {
                true => Arc::clone(&self.nonces),
                false => nonces(server),
            },
            sign_in: sign_in(&settings, self.sign_in.as_deref())?,
            forms: self.forms.clone(),
            held: Arc::clone(&self.held),
            saves: Arc::clone(&self.saves),
            slots: Arc::clone(&self.slots),
            workers: Arc::clone(&self.workers),
            txns: Arc::clone(&self.txns),
            chosen: Arc::clone(&self.chosen),
            pools: Arc::clone(&self.pools),
            tls: Arc::clone(&self.tls),
            status: Arc::clone(&self.status),
            requests: Arc::clone(&self.requests),
            settings,
        })
    }
}

/// The nonces of a server: with others of the same repositories, any of them makes and accepts them.
fn nonces(server: &ServerState) -> Arc<Nonces> {
    let servers = server.settings.servers.as_ref();
    let key = servers.and_then(|servers| servers.settings().secret.key("nonces"));
    key.map_or_else(Arc::default, |key| Arc::new(Nonces::with_key(key)))
}

/// What sign-ins have in common, if there are any.
fn sign_in(settings: &HttpSettings, before: Option<&SignIn>) -> SvnResult<Option<Arc<SignIn>>> {
    let own = settings.sign_in.clone();
    own.map(|own| SignIn::new(own, before).map(Arc::new)).transpose()
}
