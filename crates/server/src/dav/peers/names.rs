//! Which server has a commit in progress, by its name.
//!
//! A name that a server gives has its tag at the end: `12-a.5bd9d3a6`. Names that clients choose have none: the server that forwarded
//! the request by which such a commit began remembers where it went.
//!
//! Invariant: what is kept is bounded, by number and by time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sapwood_peers::Name as Server;

use super::super::txns::Name;

/// The most that is kept.
const MOST: usize = 4096;
/// How long: as long as a commit may be idle.
const TIME: Duration = Duration::from_secs(24 * 3600);

/// Where commits went whose names their clients chose.
#[derive(Debug, Default)]
pub(in crate::dav) struct ChosenNames(Mutex<HashMap<(String, Name), (Server, Instant)>>);

impl ChosenNames {
    /// A commit of a repository goes to a server.
    pub(super) fn remember(&self, repository: &str, name: Name, server: &Server) {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.retain(|_, (_, since)| since.elapsed() < TIME);
        }
        if known.len() >= MOST {
            let oldest = known.iter().min_by_key(|(_, (_, since))| *since);
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                known.remove(&key);
            }
        }
        known.insert((repository.to_owned(), name), (server.clone(), Instant::now()));
    }

    /// Where it went.
    pub(super) fn server(&self, repository: &str, name: &Name) -> Option<Server> {
        let known = self.0.lock();
        let found = known.get(&(repository.to_owned(), name.clone()))?;
        (found.1.elapsed() < TIME).then(|| found.0.clone())
    }
}

/// The tag at the end of a name that a server gave.
pub(super) fn tag(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_commits() {
        assert_eq!((tag("12-a.5bd9d3a6"), tag("12-a")), (Some("5bd9d3a6"), None));
        let (chosen, server) = (ChosenNames::default(), Server::parse("a:1").unwrap());
        for at in 0..MOST + 10 {
            chosen.remember("r", Name::Activity(at.to_string()), &server);
        }
        assert_eq!(chosen.0.lock().len(), MOST);
        let of = |at: usize| chosen.server("r", &Name::Activity(at.to_string()));
        assert_eq!((of(0), of(MOST + 9)), (None, Some(server)));
        assert_eq!(chosen.server("other", &Name::Activity("9".to_owned())), None);
    }
}
