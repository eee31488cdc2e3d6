//! Logins that a server accepted, each under a digest of name and password.
//!
//! Invariant: neither a name nor a password can be read from it: the digests are made with a key of this process. A
//! password that a server refuses is forgotten, a wrong one takes nothing away from the right one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::Mutex;
use sha2::Sha256;

use crate::member::Member;

/// The limit of logins. Beyond it the older half is removed.
const MOST: usize = 16 << 10;

/// What stands for a name and password, or for a name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digest([u8; 32]);

/// The logins.
#[derive(Debug)]
pub(crate) struct Cache {
    /// With the key, and nothing else yet.
    mac: Hmac<Sha256>,
    logins: Mutex<HashMap<Digest, (Instant, Arc<Member>)>>,
}

impl Cache {
    /// An empty one; `None` without random numbers.
    pub(crate) fn new() -> Option<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        let mac = Hmac::new_from_slice(&key).ok()?;
        Some(Self { mac, logins: Mutex::new(HashMap::new()) })
    }

    /// The digest of a name and password, or of a name alone.
    pub(crate) fn digest(&self, user: &str, password: Option<&str>) -> Digest {
        let length = sapwood_core::exact::len64(user.len()).to_le_bytes();
        let mac = self
            .mac
            .clone()
            .chain_update([u8::from(password.is_some())])
            .chain_update(length)
            .chain_update(user)
            .chain_update(password.unwrap_or(""));
        Digest(mac.finalize().into_bytes().into())
    }

    /// The user, if a server accepted the login no longer ago than this.
    pub(crate) fn get(
        &self,
        digest: &Digest,
        within: Duration,
        now: Instant,
    ) -> Option<Arc<Member>> {
        let logins = self.logins.lock();
        let (accepted, member) = logins.get(digest)?;
        (now.saturating_duration_since(*accepted) < within).then(|| Arc::clone(member))
    }

    /// Notes that a server accepted a login.
    pub(crate) fn accept(&self, digest: Digest, member: Arc<Member>, now: Instant) {
        let mut logins = self.logins.lock();
        if logins.len() >= MOST && !logins.contains_key(&digest) {
            let mut times: Vec<Instant> = logins.values().map(|(accepted, _)| *accepted).collect();
            let middle = times.len() / 2;
            let middle = *times.select_nth_unstable(middle).1;
            logins.retain(|_, (accepted, _)| *accepted > middle);
        }
        logins.insert(digest, (now, member));
    }

    /// Notes that a server refused a login.
    pub(crate) fn refuse(&self, digest: &Digest) {
        self.logins.lock().remove(digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> Arc<Member> {
        Arc::new(Member { name: name.to_owned(), groups: Vec::new() })
    }

    #[test]
    fn a_login_counts_for_its_time_and_only_with_its_password() {
        let cache = Cache::new().unwrap();
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let right = cache.digest("ada", Some("secret"));
        cache.accept(right, member("ada"), now);
        assert_eq!(cache.get(&right, second, now).unwrap().name, "ada");
        assert!(cache.get(&right, second, now + second).is_none());
        assert!(cache.get(&right, second * 2, now + second).is_some());
        let others = [
            ("ada", Some("Secret")),
            ("ada", Some("")),
            ("ada", None),
            ("adas", Some("ecret")),
            ("Ada", Some("secret")),
        ];
        for (user, password) in others {
            let other = cache.digest(user, password);
            assert!(cache.get(&other, second, now).is_none(), "{user} {password:?}");
            cache.refuse(&other);
        }
        assert!(cache.get(&right, second, now).is_some());
        cache.refuse(&right);
        assert!(cache.get(&right, second, now).is_none());
        assert_ne!(Cache::new().unwrap().digest("ada", Some("secret")), right, "a key of its own");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let cache = Cache::new().unwrap();
        let now = Instant::now();
        for number in 0..40_000u64 {
            let digest = cache.digest(&format!("user{number}"), Some("x"));
            cache.accept(digest, member("x"), now + Duration::from_millis(number));
        }
        assert!(cache.logins.lock().len() <= MOST);
        let last = cache.digest("user39999", Some("x"));
        assert!(cache.get(&last, Duration::from_secs(1), now + Duration::from_secs(40)).is_some());
    }
}
