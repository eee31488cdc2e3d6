//! How the server is, for those who may ask: what is read of the repositories, and the page for people.
//!
//! * [`repositories`]: the youngest revisions, backups, and messages that wait; `page`: the page.
//!
//! Invariant: of a reader, one thread at a time reads from disks; others wait for it a few seconds, and go on with what was
//! read before.

pub(crate) mod page;
pub(crate) mod repositories;

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sapwood_core::date::{MICROS_PER_SEC, Timestamp};
use sapwood_web::Reply;
use sapwood_web::site::Visitor;

use self::repositories::{Repositories, RepositoryReader};
use crate::common::state::ServerState;

/// How long a reply waits for what is read from disks.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// What reads repositories for those who ask, and knows what it read last.
#[derive(Debug, Default)]
pub(crate) struct StatusReader {
    reader: RepositoryReader,
    /// Held by the thread that reads.
    turn: Mutex<()>,
    /// What was read last, and when.
    last: Mutex<Option<(Instant, Repositories)>>,
}

impl StatusReader {
    /// Reads the repositories, unless another thread takes too long with it.
    pub(crate) fn read(&self, server: &ServerState) {
        let Some(_turn) = self.turn.try_lock_for(PATIENCE) else { return };
        let found = self.reader.read(server);
        *self.last.lock() = Some((Instant::now(), found));
    }

    /// The repositories as they were read last, and how long ago that was.
    pub(crate) fn last(&self) -> (Duration, Repositories) {
        let last = self.last.lock();
        let (at, found) = match &*last {
            Some((at, found)) => (*at, found.clone()),
            None => (Instant::now(), Repositories::default()),
        };
        (at.elapsed(), found)
    }

    /// The page for a visitor, with what was read last.
    pub(crate) fn page(&self, server: &ServerState, visitor: &Visitor) -> Reply {
        let (age, repositories) = self.last();
        let (summary, sample) = (server.metrics.summary(), server.sample());
        let values = page::Values {
            summary: &summary,
            repositories: &repositories,
            age: age.as_secs(),
            certificate_end: sample.certificate_end,
            is_ending: server.ending.has_begun(),
        };
        let now = Timestamp::now().0.div_euclid(MICROS_PER_SEC);
        page::page(&values, visitor, now)
    }
}
