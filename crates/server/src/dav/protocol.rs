//! What the http server does when the server as a whole does something.

use std::path::Path;

use sapwood_core::SvnResult;

use super::access_log::AccessLog;
use super::state::HttpState;
use crate::common::state::Protocol;

impl Protocol for HttpState {
    fn commit_pending(&self, repository: &Path) {
        self.saves.flush(self, |save| save.is_of(repository));
    }

    fn reload(&self) -> SvnResult<()> {
        self.access_log.as_ref().map_or(Ok(()), AccessLog::reopen)
    }
}
