//! The http server as a part of the whole: its state of the moment, and what it does when the server as a whole does something.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sapwood_acme::Report;
use sapwood_core::SvnResult;
use tokio::sync::watch;

use super::settings::HttpSettings;
use super::state::HttpState;
use super::tls::TlsSettings;
use crate::common::current::Current;
use crate::common::metrics::sample::{Sample, ServedFolder};
use crate::common::state::{Protocol, ServerState};

/// A commit whose client has sent nothing for so long is not waited for when the server ends.
const BETWEEN: Duration = Duration::from_secs(10);

/// The http server, whatever addresses it listens at.
#[derive(Debug)]
pub struct Http {
    current: Arc<Current<HttpState>>,
    /// Whether its listeners accept connections.
    accepts: watch::Sender<bool>,
}

impl Http {
    /// A server that has just started, which takes part in what the server does as a whole.
    ///
    /// # Errors
    /// When the access log cannot be opened.
    pub fn new(server: &Arc<ServerState>, settings: HttpSettings) -> SvnResult<Arc<Self>> {
        let current = Current::new(Arc::new(HttpState::new(server, settings)?));
        let http = Arc::new(Self { current, accepts: watch::Sender::new(true) });
        let protocol: Weak<Self> = Arc::downgrade(&http);
        server.add(protocol);
        Ok(http)
    }

    /// The state for the next request.
    #[must_use]
    pub fn current(&self) -> Arc<HttpState> {
        self.current.get()
    }

    /// What a new configuration makes of it. It is in use from [`Http::renew`] on.
    ///
    /// # Errors
    /// When the access log cannot be opened.
    pub fn with(
        &self,
        server: &Arc<ServerState>,
        settings: HttpSettings,
    ) -> SvnResult<Arc<HttpState>> {
        self.current().with(server, settings).map(Arc::new)
    }

    /// Uses other settings for all requests that come from now on, and another certificate for all connections. `report`
    /// gets what goes wrong with orders by ACME.
    ///
    /// # Errors
    /// When the certificate cannot be used; then all stays as it is.
    pub fn renew(
        &self,
        state: Arc<HttpState>,
        tls: Option<(TlsSettings, Arc<Report>)>,
    ) -> SvnResult<()> {
        let used = state.tls.read().clone();
        if let Some((used, (tls, report))) = used.zip(tls) {
            used.renew(tls, &state.server, &report)?;
        }
        self.current.replace(state);
        Ok(())
    }

    /// Whether connections are accepted, as it changes.
    pub(super) fn accepts(&self) -> watch::Receiver<bool> {
        self.accepts.subscribe()
    }
}

impl Protocol for Http {
    fn commit_pending(&self, repository: &Path) {
        let current = self.current();
        current.saves.flush(&*current, |save| save.is_of(repository));
    }

    fn reload(&self) -> SvnResult<()> {
        self.current().access_log.as_ref().map_or(Ok(()), |log| log.reopen())
    }

    fn stop_accepting(&self) {
        self.accepts.send_replace(false);
    }

    fn is_within_commit(&self) -> bool {
        self.current().txns.was_used_within(BETWEEN)
    }

    fn sample(&self, sample: &mut Sample) {
        let state = self.current();
        sample.queues.extend(state.workers.queues());
        sample.temporary_bytes = state.workers.spool.used();
        sample.open_commits = state.txns.count();
        if let Some(tls) = &*state.tls.read() {
            let summary = tls.summary();
            sample.certificate_end = summary.end;
            sample.failing_certificates = tls.acme().map(|_| summary.failing);
        }
        let folder =
            |url: &str, path: &Path| ServedFolder { url: url.to_owned(), path: path.to_owned() };
        if !state.settings.locations_only {
            let top = &state.server.settings;
            sample.folders.push(folder("", top.only.as_deref().unwrap_or(&top.root)));
        }
        let locations = state.settings.locations.iter();
        sample.folders.extend(locations.map(|one| folder(&one.prefix, &one.root)));
    }
}
