//! The settings that a server is started with.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sapwood_core::SvnError;
use sapwood_core::exact::Exact;

use super::config::AccessConfig;
use crate::dav::Master;

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
    pub tell_first: Option<fn(&SvnError)>,
    /// The folder for temporary files.
    pub scratch: PathBuf,
    /// Settings for http only.
    pub http: HttpSettings,
}

/// Whether update reports over http hold texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkUpdates {
    /// When the client wants it.
    On,
    /// Never.
    Off,
    /// The server recommends it to the client.
    Prefer,
}

/// A folder that is served below some path of the server's URL.
#[derive(Clone, Debug)]
pub struct Location {
    /// The path, decoded, without slashes around it; empty for the top.
    pub prefix: String,
    /// The repository, or the folder of repositories.
    pub root: PathBuf,
    /// How many names below the root its repositories are; at any depth, without one.
    pub levels: Option<usize>,
    /// How it may be used; if this is missing, the repositories' own files decide.
    pub access: Option<Arc<AccessConfig>>,
    /// Whether the folder's page lists its repositories.
    pub list: bool,
    /// A name of the repository, or of all in the folder, for pages.
    pub name: Option<String>,
    /// Whether pages are as mod_dav_svn writes them.
    pub plain_pages: bool,
    /// Whether changes that other programs than Subversion's make at plain URLs become revisions.
    pub autoversioning: bool,
    /// Whether browsers may run scripts of stored pages and images, with the rights of their visitors.
    pub trusted: bool,
    /// Where write requests are passed on to: then this is a mirror.
    pub master: Option<Arc<Master>>,
}

impl Location {
    /// A location whose repositories' own files say how they may be used.
    #[must_use]
    pub fn new(prefix: &str, root: PathBuf) -> Self {
        Self {
            prefix: prefix.trim_matches('/').to_owned(),
            root,
            levels: None,
            access: None,
            list: true,
            name: None,
            plain_pages: false,
            autoversioning: false,
            trusted: false,
            master: None,
        }
    }
}

/// Addresses that have been moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The prefix of such a path, percent-encoded; with a star at the end it may end within a name.
    pub from: String,
    /// What replaces it: a path or a URL.
    pub to: String,
    /// Whether clients should note the new address.
    pub permanent: bool,
}

impl Redirect {
    /// What follows of a path that begins with `from`, at the end of a name: `/old` means `/old/x`, and
    /// not `/older`, which `/old*` means too.
    #[must_use]
    pub fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        if let Some(from) = self.from.strip_suffix('*') {
            return path.strip_prefix(from);
        }
        let rest = path.strip_prefix(&*self.from)?;
        let ends = rest.is_empty() || rest.starts_with('/') || self.from.ends_with('/');
        ends.then_some(rest)
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

/// Settings for http only.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// What is served besides the root; it hides what the root has at the same path.
    pub locations: Vec<Location>,
    /// Whether nothing else is served.
    pub locations_only: bool,
    /// Addresses that have been moved.
    pub redirects: Vec<Redirect>,
    /// The proxies that are trusted to say who the client is, and which address it called.
    pub trusted_proxies: Vec<Network>,
    /// Where a line is written for each request.
    pub access_log: Option<PathBuf>,
    /// Whether such a line also has the client's program and the referring page.
    pub combined_log: bool,
    /// Whether update reports hold texts.
    pub bulk_updates: BulkUpdates,
    /// Whether replies that are text are compressed for clients that accept it.
    pub gzip: bool,
    /// Whether the server announces HTTPv2 to clients.
    pub v2: bool,
    /// As [`Location::autoversioning`], for paths outside of the locations.
    pub autoversioning: bool,
    /// How long such changes wait for the rest of the save that they belong to, if they carry no text.
    pub autoversioning_wait: Duration,
    /// The limit of commits in progress.
    pub transactions: usize,
    /// Time without a request after which such a commit is aborted.
    pub transaction_idle: Duration,
    /// Whether every client must show a certificate.
    pub requires_certificate: bool,
    /// The https address that unencrypted requests are redirected to, if they are.
    pub redirect_to_https: Option<u16>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            locations: Vec::new(),
            locations_only: false,
            redirects: Vec::new(),
            trusted_proxies: Vec::new(),
            access_log: None,
            combined_log: true,
            bulk_updates: BulkUpdates::Prefer,
            gzip: false,
            v2: true,
            autoversioning: false,
            autoversioning_wait: Duration::from_secs(3),
            transactions: 1000,
            transaction_idle: Duration::from_secs(24 * 3600),
            requires_certificate: false,
            redirect_to_https: None,
        }
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
    /// Connections over http that are open at one time, over all listeners together.
    pub http_connections: usize,
    /// Connections over http from one address (of IPv6: one network of 64 bits); more are closed at once.
    pub http_connections_per_address: usize,
    /// Connections from one address; more are closed at once.
    pub connections_per_address: usize,
    /// Time from the connection to the end of the client's greeting.
    pub greeting: Duration,
    /// Time for one authentication: people type passwords.
    pub login: Duration,
    /// Time between two requests. Clients keep a connection open while their user writes a log
    /// message, so this is long; dead connections are found by TCP keep-alive.
    pub idle: Duration,
    /// Time without progress that is allowed for a request over svn:// that has begun, or a reply. Such a
    /// request may also take this time in all, with a second more for each [`Limits::SLOWEST`] bytes of it.
    pub stall: Duration,
    /// Time for the body of a request over http, with a second more for each [`Limits::SLOWEST_BODY`] bytes
    /// of it that have come.
    pub body_first: Duration,
    /// Time without progress that is allowed for such a body.
    pub body_stall: Duration,
    /// Bytes of temporary files for bodies that arrive slowly and for replies that are not read.
    pub spool_bytes: u64,
}

impl Limits {
    /// Bytes a second: clients that send a large request more slowly than this run out of time.
    pub const SLOWEST: u64 = 1024;

    /// Bytes a second of a body over http, as for httpd's `RequestReadTimeout`.
    pub const SLOWEST_BODY: u64 = 500;

    /// How long the server may have waited for a client that has sent so many bytes of a body.
    #[must_use]
    pub fn body_time(&self, bytes: usize) -> Duration {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.body_first.saturating_add(Duration::from_secs(bytes / Self::SLOWEST_BODY))
    }

    /// How long a request may have taken so far, of which so many bytes have arrived.
    #[must_use]
    pub fn time_for(&self, bytes: usize) -> Duration {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
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
            http_connections: 20_000,
            http_connections_per_address: 2048,
            connections_per_address: 1024,
            greeting: Duration::from_secs(60),
            login: Duration::from_secs(600),
            idle: Duration::from_secs(24 * 3600),
            stall: Duration::from_secs(3600),
            body_first: Duration::from_secs(20),
            body_stall: Duration::from_secs(300),
            spool_bytes: 4 << 30,
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
    /// Good defaults for serving what is below `root`.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            only: None,
            virtual_host: false,
            read_only: false,
            config_file: None,
            cache_bytes: DEFAULT_CACHE_BYTES,
            compression: 5,
            tunnel: None,
            sasl_config: sasl_config(),
            limits: Limits::default(),
            tell_first: None,
            scratch: PathBuf::from("/tmp"),
            http: HttpSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_end_with_a_name() {
        let rest = |from: &str, path: &'static str| {
            Redirect { from: from.to_owned(), to: String::new(), permanent: true }.rest(path)
        };
        assert_eq!(rest("/old", "/old"), Some(""));
        assert_eq!(rest("/old", "/old/x"), Some("/x"));
        assert_eq!(rest("/old/", "/old/x"), Some("x"));
        assert_eq!(rest("/old", "/older/x"), None);
        assert_eq!(rest("/old*", "/older/x"), Some("er/x"));
        assert_eq!(rest("/old*", "/ol"), None);
    }

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
