//! Who has signed in, and until when.
//!
//! Invariants: there are no more than [`MOST`] sessions, and no user has more than [`MOST_OF_USER`] of them: a new one ends
//! the one that was used least recently. A session ends after its length, however much it is used. They end with the server.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::common::principal::Principal;

/// The most sessions.
const MOST: usize = 10_000;
/// The most sessions of one user.
const MOST_OF_USER: usize = 20;

/// How long a session counts, and how long without a request.
pub(crate) type Limits = (Duration, Duration);

#[derive(Debug)]
struct Session {
    user: Principal,
    /// Where the user signs out at the provider.
    sign_out: Option<String>,
    begun: Instant,
    used: Instant,
}

impl Session {
    fn counts(&self, (length, idle): Limits, now: Instant) -> bool {
        now.duration_since(self.begun) < length && now.duration_since(self.used) < idle
    }
}

/// The sessions, by codes of the texts in browsers' cookies.
#[derive(Debug)]
pub(crate) struct Sessions {
    all: Mutex<HashMap<String, Session>>,
    most: usize,
}

impl Default for Sessions {
    fn default() -> Self {
        Self::limited_to(MOST)
    }
}

impl Sessions {
    fn limited_to(most: usize) -> Self {
        Self { all: Mutex::default(), most }
    }

    /// The user of a session, which is used by that.
    pub(crate) fn user(&self, code: &str, limits: Limits, now: Instant) -> Option<Principal> {
        let mut all = self.all.lock();
        let session = all.get_mut(code)?;
        if !session.counts(limits, now) {
            all.remove(code);
            return None;
        }
        session.used = now;
        Some(session.user.clone())
    }

    /// Begins a session of a user, who ends that at the provider at `sign_out`.
    pub(crate) fn begin(
        &self,
        code: String,
        (user, sign_out): (Principal, Option<String>),
        limits: Limits,
        now: Instant,
    ) {
        let mut all = self.all.lock();
        all.retain(|_, session| session.counts(limits, now));
        let of_user = |session: &Session| session.user.name() == user.name();
        if all.values().filter(|session| of_user(session)).count() >= MOST_OF_USER {
            end_oldest(&mut all, of_user);
        }
        if all.len() >= self.most {
            end_oldest(&mut all, |_| true);
        }
        all.insert(code, Session { user, sign_out, begun: now, used: now });
    }

    /// Ends a session; the address at which its user signs out at the provider, if there is one.
    pub(crate) fn end(&self, code: &str) -> Option<String> {
        self.all.lock().remove(code)?.sign_out
    }
}

/// Ends the session that was used least recently, of those that are meant.
fn end_oldest(all: &mut HashMap<String, Session>, is_meant: impl Fn(&Session) -> bool) {
    let meant = all.iter().filter(|(_, session)| is_meant(session));
    let oldest = meant.min_by_key(|(_, session)| session.used).map(|(code, _)| code.clone());
    oldest.and_then(|code| all.remove(&code));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Principal {
        Principal::named(name.to_owned())
    }

    const LIMITS: Limits = (Duration::from_secs(100), Duration::from_secs(10));

    #[test]
    fn sessions_end_by_length_by_idleness_and_at_once() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let user = |code: &str, seconds| sessions.user(code, LIMITS, at(seconds));
        sessions.begin("a".to_owned(), (named("ada"), None), LIMITS, start);
        sessions.begin("b".to_owned(), (named("bob"), None), LIMITS, start);
        assert_eq!(user("c", 0), None);
        for seconds in (0..100).step_by(9) {
            assert_eq!(user("a", seconds), Some(named("ada")));
        }
        assert_eq!(user("a", 100), None, "it was used all the time, and ends");
        assert_eq!(user("b", 10), None, "it was not used");
        assert_eq!(user("b", 0), None, "it is gone for good");
        let at_provider = Some("https://h/end".to_owned());
        sessions.begin("d".to_owned(), (named("ada"), at_provider.clone()), LIMITS, start);
        assert_eq!((sessions.end("d"), sessions.end("d")), (at_provider, None));
        assert_eq!(user("d", 0), None);
    }

    #[test]
    fn there_are_never_too_many() {
        let (sessions, start) = (Sessions::limited_to(100), Instant::now());
        let begin = |code: String, name: &str, after| {
            let user = (named(name), None);
            sessions.begin(code, user, LIMITS, start + Duration::from_millis(after));
        };
        begin("bob".to_owned(), "bob", 0);
        for n in 0..=20 {
            begin(format!("ada {n}"), "ada", n);
        }
        let is_there = |code: &str| sessions.user(code, LIMITS, start).is_some();
        assert!(is_there("bob") && !is_there("ada 0") && is_there("ada 1") && is_there("ada 20"));
        (0..200).for_each(|n| begin(n.to_string(), &n.to_string(), n));
        assert_eq!(sessions.all.lock().len(), 100);
    }
}
