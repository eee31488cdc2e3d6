//! What the http server does when the server as a whole does something.

use std::path::Path;

use sapwood_core::SvnResult;

use super::access_log::AccessLog;
use super::state::HttpState;
use crate::common::metrics::sample::{Sample, ServedFolder};
use crate::common::state::Protocol;

impl Protocol for HttpState {
    fn commit_pending(&self, repository: &Path) {
        self.saves.flush(self, |save| save.is_of(repository));
    }

    fn reload(&self) -> SvnResult<()> {
        self.access_log.as_ref().map_or(Ok(()), AccessLog::reopen)
    }

    fn sample(&self, sample: &mut Sample) {
        sample.queues.extend(self.workers.queues());
        sample.temporary_bytes = self.workers.spool.used();
        sample.open_commits = self.txns.count();
        sample.certificate_end = self.tls.read().as_ref().and_then(|tls| tls.end());
        let folder =
            |url: &str, path: &Path| ServedFolder { url: url.to_owned(), path: path.to_owned() };
        if !self.settings.locations_only {
            let top = &self.server.settings;
            sample.folders.push(folder("", top.only.as_deref().unwrap_or(&top.root)));
        }
        let locations = self.settings.locations.iter();
        sample.folders.extend(locations.map(|one| folder(&one.prefix, &one.root)));
    }
}
