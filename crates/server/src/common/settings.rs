//! The settings that a server is started with.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sapwood_core::SvnError;
use sapwood_core::exact::Exact;
use sapwood_ldap::Directory;
use sapwood_peers::Servers;

/// All settings of a server. Paths are absolute.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder that URLs are relative to.
    pub root: PathBuf,
    /// Serve this repository only, whatever else is below the root.
    pub only: Option<PathBuf>,
    /// Whether the host name of the URL is the first part of the path.
    pub virtual_host: bool,
    /// Whether all writing is refused, whatever the configuration says.
    pub read_only: bool,
    /// A configuration file for all repositories, in place of each one's own.
    pub config_file: Option<PathBuf>,
    /// Users whom the server knows, besides those of the repositories' own files.
    pub users: RootUsers,
    /// A file of rules for commits to all repositories, besides their own.
    pub rules: Option<PathBuf>,
    /// The folder with the backups of the repositories and their records.
    pub backups: Option<PathBuf>,
    /// The folder of search indexes; without it there are none.
    pub search_folder: Option<PathBuf>,
    /// Folders whose folders are not searched inside, by name: copies of what is elsewhere.
    pub search_skip: Vec<String>,
    /// Bytes of memory for all caches together.
    pub cache_bytes: usize,
    /// The compression level of what is sent: 0 (none, and svndiff version 0 only) to 9.
    pub compression: u8,
    /// Set in tunnel mode: the user's name, from the login agent.
    pub tunnel: Option<Tunnel>,
    /// The directories with Cyrus SASL's own configuration of this service.
    pub sasl_config: Vec<PathBuf>,
    /// The limits of a connection.
    pub limits: Limits,
    /// Called with the reason why no repository was found for a connection, before the reply is
    /// sent to its client: a client that has the reply may end the process at once.
    pub report_first: Option<fn(&SvnError)>,
    /// The folder for temporary files.
    pub scratch: PathBuf,
    /// Other servers of the same repositories, where these are in a store.
    pub servers: Option<Arc<Servers>>,
}

/// Users of what is below the root, besides those that `svnserve.conf` files name.
#[derive(Clone, Debug, Default)]
pub struct RootUsers {
    /// A file of accounts.
    pub accounts: Option<PathBuf>,
    /// A directory of users.
    pub directory: Option<Directory>,
    /// Only these users and groups may log in, if there are any.
    pub members: Vec<String>,
    /// Whether users of the accounts and the directory may send their passwords over svn://, where they are not encrypted.
    pub plain_over_svn: bool,
    /// Whether browsers sign in by a provider of OpenID Connect.
    pub sign_in: bool,
}

impl RootUsers {
    /// Uses the directory of other settings where it is the same: it knows who logged in a short time ago.
    pub(crate) fn keep_directory(&mut self, others: &Self) {
        if let (Some(new), Some(known)) = (&self.directory, &others.directory)
            && known.has_settings_of(new)
        {
            self.directory = Some(known.clone());
        }
    }
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Reads `ADDRESS` or `ADDRESS/BITS`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.trim().split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Self { address, bits })
    }

    /// The range of one address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Whether an address is within.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let number = |ip: IpAddr| match ip {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, true),
            IpAddr::V6(v6) => (v6.to_bits(), false),
        };
        let ((own, own_kind), (other, kind)) =
            (number(self.address), number(address.to_canonical()));
        let shift = 128u32.minus(self.bits);
        kind == own_kind && (own ^ other).checked_shr(shift).unwrap_or(0) == 0
    }
}

/// Tunnel mode.
#[derive(Clone, Debug)]
pub struct Tunnel {
    /// The name that the user may authenticate as without a password.
    pub user: Option<String>,
}

/// Limits of connections, requests and replies.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one request; `None` for no limit.
    pub request_bytes: Option<usize>,
    /// Bytes of the reply to one request; `None` for no limit.
    pub response_bytes: Option<u64>,
    /// Bytes that requests in progress may take, beyond a small free amount each, over all
    /// connections together.
    pub pending_bytes: usize,
    /// Connections that are served at the same time; more wait to be accepted.
    pub connections: usize,
    /// Connections from one address; more are closed at once.
    pub connections_per_address: usize,
    /// Time from the connection to the end of the client's greeting.
    pub greeting: Duration,
    /// Time for one authentication: people type passwords.
    pub login: Duration,
    /// Time between two requests. Clients keep a connection open while their user writes a log
    /// message, so this is long; dead connections are found by TCP keep-alive.
    pub idle: Duration,
    /// Time without progress that is allowed for a request that has begun, or a reply. A request over a
    /// connection of its own may also take this time in all, with a second more for each [`Limits::SLOWEST`] bytes of it.
    pub stall: Duration,
}

impl Limits {
    /// Bytes a second: clients that send a large request more slowly than this run out of time.
    pub const SLOWEST: u64 = 1024;

    /// How long a request may have taken so far, of which so many bytes have arrived.
    #[must_use]
    pub(crate) fn time_for(&self, bytes: usize) -> Duration {
        let bytes = sapwood_core::exact::len64(bytes);
        self.stall.saturating_add(Duration::from_secs(bytes / Self::SLOWEST))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: Some(16 << 20),
            response_bytes: None,
            pending_bytes: 64 << 20,
            connections: 4096,
            connections_per_address: 1024,
            greeting: Duration::from_secs(60),
            login: Duration::from_secs(600),
            idle: Duration::from_secs(24 * 3600),
            stall: Duration::from_secs(3600),
        }
    }
}

/// The default of [`Settings::cache_bytes`] for servers.
pub const DEFAULT_CACHE_BYTES: usize = 256 << 20;

/// The default of [`Settings::sasl_config`]: where Debian's Cyrus SASL looks.
fn sasl_config() -> Vec<PathBuf> {
    let of_machine = format!("/usr/lib/{}-linux-gnu/sasl2", std::env::consts::ARCH);
    ["/etc/sasl2", "/etc/sasl", &of_machine, "/usr/lib/sasl2"].iter().map(PathBuf::from).collect()
}

impl Settings {
    /// Uses the list of servers of other settings where it is the same: it knows which of them cannot be reached.
    pub(crate) fn keep_servers(&mut self, others: &Self) {
        if let (Some(new), Some(known)) = (&self.servers, &others.servers)
            && known.settings() == new.settings()
        {
            self.servers = Some(Arc::clone(known));
        }
    }

    /// Good defaults for serving what is below `root`.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            only: None,
            virtual_host: false,
            read_only: false,
            config_file: None,
            users: RootUsers::default(),
            rules: None,
            backups: None,
            search_folder: None,
            search_skip: ["tags", "branches"].map(str::to_owned).into(),
            cache_bytes: DEFAULT_CACHE_BYTES,
            compression: 5,
            tunnel: None,
            sasl_config: sasl_config(),
            limits: Limits::default(),
            report_first: None,
            scratch: PathBuf::from("/tmp"),
            servers: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let has = |network: &str, address: &str| {
            Network::parse(network).unwrap().has(address.parse().unwrap())
        };
        assert!(has("10.0.0.0/8", "10.1.2.3") && has("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(!has("10.0.0.0/8", "11.0.0.0") && !has("10.0.0.0/8", "::1"));
        assert!(has("127.0.0.1", "127.0.0.1") && !has("127.0.0.1", "127.0.0.2"));
        assert!(has("2001:db8::/32", "2001:db8:1::2") && has("0.0.0.0/0", "1.2.3.4"));
        for bad in ["", "x", "1.2.3.4/33", "1.2.3.4/", "::/129"] {
            assert_eq!(Network::parse(bad), None, "{bad}");
        }
    }
}
