//! The list of servers, and which of them are avoided for a while.
//!
//! Invariant: no request waits for a name to be looked up, and a server that could not be reached is not tried again by each request.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::error::{Error, Result};
use crate::name::Name;
use crate::owner::owner;
use crate::secret::Secret;
use crate::tls::{Tls, TlsFiles};

/// How long a server is avoided that could not be reached; twice as long each time, up to the most.
const AVOIDED: Duration = Duration::from_secs(5);
const MOST_AVOIDED: Duration = Duration::from_secs(60);
/// How often a name in DNS is looked up again.
const REFRESH: Duration = Duration::from_secs(30);
/// The same when that failed.
const AGAIN: Duration = Duration::from_secs(2);
/// How long one look-up may take.
const LOOK_UP: Duration = Duration::from_secs(10);
/// The most servers of a list.
pub const MOST_SERVERS: usize = 1024;

/// Where the list comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// These servers.
    Fixed(Vec<Name>),
    /// All addresses of this name, at its port.
    Dns(Name),
}

/// What a configuration says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerList {
    /// The name of this server in the list.
    pub own: Name,
    /// All of them.
    pub members: Members,
    /// What all of them know.
    pub secret: Secret,
    /// What connections between them are encrypted with, if they are.
    pub tls: Option<TlsFiles>,
}

impl ServerList {
    /// The name that the certificate of a server has to be for: its host, or that of the name in DNS, which has all of them.
    #[must_use]
    pub fn host_of<'n>(&'n self, name: &'n Name) -> &'n str {
        match &self.members {
            Members::Fixed(_) => name.host(),
            Members::Dns(all) => all.host(),
        }
    }
}

/// A server that could not be reached.
#[derive(Clone, Copy, Debug)]
struct AvoidedServer {
    until: Instant,
    times: u32,
}

/// How one server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Its name.
    pub name: Name,
    /// Whether it is this one.
    pub is_own: bool,
    /// Whether it is avoided, because it could not be reached.
    pub is_avoided: bool,
}

/// The servers of this moment.
#[derive(Debug)]
pub struct Servers {
    settings: ServerList,
    tls: Option<Tls>,
    list: RwLock<Arc<[Name]>>,
    avoided: Mutex<HashMap<Name, AvoidedServer>>,
}

impl Servers {
    /// Those of a configuration. Where the list is a name in DNS, it is empty until [`Servers::refresh`] has looked it up: this
    /// server answers by itself until then.
    ///
    /// # Errors
    /// As of [`TlsFiles::check`].
    pub fn new(settings: ServerList) -> Result<Self> {
        let list = match &settings.members {
            Members::Fixed(list) => list.clone(),
            Members::Dns(_) => Vec::new(),
        };
        let own = settings.host_of(&settings.own);
        let tls = settings.tls.clone().map(|files| Tls::new(files, own)).transpose()?;
        Ok(Self { settings, tls, list: RwLock::new(list.into()), avoided: Mutex::default() })
    }

    /// What encrypts connections between them, if they are encrypted.
    pub(crate) const fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// What the configuration says.
    #[must_use]
    pub const fn settings(&self) -> &ServerList {
        &self.settings
    }

    /// The server that a repository belongs to, among those that can be reached; nothing if it is this one.
    #[must_use]
    pub fn owner(&self, repository: &str) -> Option<Name> {
        let list = Arc::clone(&self.list.read());
        let avoided = self.avoided_now();
        let live = list.iter().filter(|name| !avoided.contains(name));
        owner(repository, live).filter(|name| **name != self.settings.own).cloned()
    }

    /// The server of a tag, if it is another one, and in the list.
    #[must_use]
    pub fn of_tag(&self, tag: &str) -> Option<Name> {
        let list = Arc::clone(&self.list.read());
        let found = list.iter().find(|name| name.tag() == tag);
        found.filter(|name| **name != self.settings.own).cloned()
    }

    fn avoided_now(&self) -> Vec<Name> {
        let avoided = self.avoided.lock();
        if avoided.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        avoided.iter().filter(|(_, one)| one.until > now).map(|(name, _)| name.clone()).collect()
    }

    /// Whether a server could not be reached a short time ago.
    #[must_use]
    pub fn is_avoided(&self, name: &Name) -> bool {
        self.avoided.lock().get(name).is_some_and(|one| one.until > Instant::now())
    }

    /// A server could not be reached, or does not do what it is asked for: it is avoided for some seconds.
    pub fn avoid(&self, name: &Name) {
        let now = Instant::now();
        let mut avoided = self.avoided.lock();
        let one = avoided.entry(name.clone()).or_insert(AvoidedServer { until: now, times: 0 });
        // Requests that failed together count once.
        if one.until <= now {
            let wait = AVOIDED.saturating_mul(1 << one.times.min(4)).min(MOST_AVOIDED);
            one.until = now.checked_add(wait).unwrap_or(now);
            one.times = one.times.saturating_add(1);
        }
    }

    /// A server was reached.
    pub fn reached(&self, name: &Name) {
        let mut avoided = self.avoided.lock();
        if !avoided.is_empty() {
            avoided.remove(name);
        }
    }

    /// How all of them are.
    #[must_use]
    pub fn states(&self) -> Vec<State> {
        let list = Arc::clone(&self.list.read());
        let state = |name: &Name| State {
            name: name.clone(),
            is_own: *name == self.settings.own,
            is_avoided: self.is_avoided(name),
        };
        list.iter().map(state).collect()
    }

    /// Looks up the name in DNS, if the list is one, and says when that is to be done again; `None` where it never is. A look-up that
    /// fails leaves the list as it is.
    ///
    /// # Errors
    /// Why the name could not be looked up.
    pub async fn refresh(&self) -> Option<(Duration, Result<()>)> {
        let Members::Dns(name) = &self.settings.members else { return None };
        let looked =
            tokio::time::timeout(LOOK_UP, tokio::net::lookup_host((name.host(), name.port())));
        let failed = |why: String| Error::Unreachable { name: name.to_string(), why };
        let found = match looked.await {
            Ok(Ok(found)) => Ok(found.collect::<Vec<_>>()),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(late) => Err(failed(late.to_string())),
        };
        Some(match found {
            Ok(found) if !found.is_empty() => {
                self.take(found);
                (REFRESH, Ok(()))
            }
            Ok(_) => (AGAIN, Err(failed("it has no addresses".to_owned()))),
            Err(error) => (AGAIN, Err(error)),
        })
    }

    fn take(&self, found: Vec<SocketAddr>) {
        let mut names: Vec<Name> = found.into_iter().map(Name::of_address).collect();
        names.sort();
        names.dedup();
        names.truncate(MOST_SERVERS);
        self.avoided.lock().retain(|name, _| names.contains(name));
        *self.list.write() = names.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn servers(own: &str, members: Members) -> Servers {
        let secret = Secret::new(b"a secret of all servers".to_vec()).unwrap();
        Servers::new(ServerList { own: name(own), members, secret, tls: None }).unwrap()
    }

    #[test]
    fn a_server_that_cannot_be_reached_is_avoided() {
        let list = ["a:1", "b:1", "c:1"].map(name);
        let of = |own: &str| servers(own, Members::Fixed(list.to_vec()));
        let (a, b) = (of("a:1"), of("b:1"));
        let of_b = (0..100).map(|n| format!("{n:x}")).find(|r| b.owner(r).is_none()).unwrap();
        assert_eq!(a.owner(&of_b), Some(name("b:1")));
        a.avoid(&name("b:1"));
        let next = a.owner(&of_b);
        assert!(next != Some(name("b:1")) && a.is_avoided(&name("b:1")));
        assert_eq!(a.states().iter().filter(|state| state.is_avoided).count(), 1);
        // All that it has could be at the third server, or here.
        a.avoid(&name("c:1"));
        assert_eq!(a.owner(&of_b), None);
        a.reached(&name("b:1"));
        assert_eq!(a.owner(&of_b), Some(name("b:1")));
        assert_eq!(a.of_tag(&name("c:1").tag()), Some(name("c:1")));
        assert_eq!((a.of_tag(&name("a:1").tag()), a.of_tag("00000000")), (None, None));
    }

    #[test]
    fn a_server_that_is_not_in_the_list_owns_nothing() {
        let outside = servers("x:1", Members::Fixed(vec![name("a:1")]));
        assert!((0..50).all(|n| outside.owner(&format!("{n}")) == Some(name("a:1"))));
    }

    #[test]
    fn certificates_are_for_hosts_or_for_the_name_that_has_all() {
        let one = name("10.0.0.1:3700");
        let fixed = servers("10.0.0.1:3700", Members::Fixed(vec![one.clone()]));
        assert_eq!(fixed.settings().host_of(&one), "10.0.0.1");
        let dns = servers("10.0.0.1:3700", Members::Dns(name("all.example:3700")));
        assert_eq!(dns.settings().host_of(&one), "all.example");
    }

    #[test]
    fn addresses_of_a_name() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let found = servers("127.0.0.1:3700", Members::Dns(name("localhost:3700")));
        assert!(found.states().is_empty() && found.owner("r").is_none());
        let (_, looked) = runtime.block_on(found.refresh()).unwrap();
        looked.unwrap();
        assert!(found.states().iter().any(|state| state.is_own), "{:?}", found.states());
        let missing = servers("a:1", Members::Dns(name("no.such.name.invalid:3700")));
        missing.take(vec!["10.0.0.1:3700".parse().unwrap()]);
        let (_, looked) = runtime.block_on(missing.refresh()).unwrap();
        assert!(looked.is_err() && missing.states().len() == 1, "{looked:?}");
        let fixed = servers("a:1", Members::Fixed(vec![name("a:1")]));
        assert!(runtime.block_on(fixed.refresh()).is_none());
    }
}
