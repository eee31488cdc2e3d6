//! Connections to a database: taken for a question, and kept for the next.
//!
//! Invariant: a connection that failed is never used again; at most [`KEPT`] are kept that nothing uses.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use postgres::config::{SslMode, TargetSessionAttrs};
use postgres::{Client, Config, NoTls};
use rustls::ClientConfig;
use sapwood_objects::Reason;

use super::tls::Tls;
use crate::Settings;
use crate::address::Address;
use crate::pass_file::{Login, password_in};

/// The port of a database where nothing says another.
const PORT: u16 = 5432;
/// The most bytes of a file of passwords that are read.
const PASS_FILE: u64 = 1 << 20;
/// How many connections are kept that nothing uses.
const KEPT: usize = 8;
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long the network may be silent while something was sent.
const SILENCE: Duration = Duration::from_secs(30);
/// What each session begins with: how long a question may take, in milliseconds.
const OPTIONS: &str = "-c statement_timeout=30000";
/// This machine: TLS is not needed unless the user says so.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Connections to one database.
pub(super) struct Pool {
    config: Config,
    /// None for connections without TLS.
    tls: Option<Arc<ClientConfig>>,
    free: Mutex<Vec<Client>>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The configuration has a password.
        f.write_str("Pool")
    }
}

impl Pool {
    /// Prepares connections. None is made yet.
    pub(super) fn new(address: &Address, settings: &Settings) -> Result<Self, Reason> {
        let mut config = Config::new();
        let host = address.host.as_deref().or_else(|| settings.get("PGHOST"));
        let host = host.unwrap_or("/var/run/postgresql");
        config.host(host).dbname(&address.database).application_name("sapwood");
        let port = match (address.port, settings.get("PGPORT")) {
            (Some(port), _) => Some(port),
            (None, Some(text)) => {
                Some(text.parse().map_err(|_| format!("PGPORT is no port: '{text}'"))?)
            }
            (None, None) => None,
        };
        port.map(|port| config.port(port));
        let user = address.user.as_deref().or_else(|| settings.get("PGUSER"));
        user.map(|user| config.user(user));
        let port = port.unwrap_or(PORT);
        let login = Login { host, port, database: &address.database, user };
        password(settings, &login)?.map(|password| config.password(password));
        config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE).options(OPTIONS);
        // A copy that only reads may be behind, and what it says is not what is.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        let tls = wants_tls(host, settings)?;
        config.ssl_mode(if tls { SslMode::Require } else { SslMode::Disable });
        // The word stands for the system's.
        let authorities = settings.get("PGSSLROOTCERT").filter(|file| *file != "system");
        let authorities = authorities.map(Path::new);
        let tls = tls.then(|| sapwood_tls_client::config(authorities)).transpose()?;
        Ok(Self { config, tls, free: Mutex::default() })
    }

    fn connect(&self) -> Result<Client, postgres::Error> {
        let mut client = match &self.tls {
            Some(tls) => self.config.connect(Tls(Arc::clone(tls)))?,
            None => self.config.connect(NoTls)?,
        };
        // Where it is off, a commit that was acknowledged may be lost.
        let row = client.query_one("SHOW synchronous_commit", &[])?;
        if row.get::<_, String>(0) == "off" {
            client.batch_execute("SET synchronous_commit = on")?;
        }
        Ok(client)
    }

    /// Asks a question, once.
    pub(super) fn once<T>(
        &self,
        question: impl FnOnce(&mut Client) -> Result<T, postgres::Error>,
    ) -> Result<T, postgres::Error> {
        let known = self.free.lock().pop().filter(|client| !client.is_closed());
        let mut client = known.map_or_else(|| self.connect(), Ok)?;
        let answer = question(&mut client)?;
        let mut free = self.free.lock();
        if free.len() < KEPT {
            free.push(client);
        }
        Ok(answer)
    }

    /// The same, and once more on a new connection when the one that was kept had ended: for questions that change nothing.
    pub(super) fn ask<T>(
        &self,
        question: impl Fn(&mut Client) -> Result<T, postgres::Error>,
    ) -> Result<T, postgres::Error> {
        match self.once(&question) {
            Err(error) if error.as_db_error().is_none() || error.is_closed() => {
                // Those that were kept as long are no better.
                self.free.lock().clear();
                self.once(&question)
            }
            answer => answer,
        }
    }
}

/// The password of a login: the variable's, else that of the file.
fn password(settings: &Settings, login: &Login<'_>) -> Result<Option<String>, Reason> {
    if let Some(password) = settings.get("PGPASSWORD") {
        return Ok(Some(password.to_owned()));
    }
    let Some(path) = settings.get("PGPASSFILE").map(Path::new) else { return Ok(None) };
    let fail = |e: &dyn fmt::Display| format!("PGPASSFILE '{}': {e}", path.display());
    let file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|e| fail(&e))?,
    };
    let mut text = String::new();
    let mode = file.metadata().map_err(|e| fail(&e))?.permissions().mode();
    file.take(PASS_FILE).read_to_string(&mut text).map_err(|e| fail(&e))?;
    let found = password_in(&text, login);
    if found.is_some() && mode & 0o077 != 0 {
        return Err(fail(&"others than its owner may use it; its mode has to be 0600").into());
    }
    Ok(found)
}

/// Whether connections have TLS.
fn wants_tls(host: &str, settings: &Settings) -> Result<bool, Reason> {
    let is_socket = host.starts_with('/');
    match settings.get("PGSSLMODE") {
        Some("disable") => Ok(false),
        Some("prefer" | "require" | "verify-ca" | "verify-full") => Ok(!is_socket),
        None => Ok(!is_socket && !HERE.contains(&host)),
        Some(other) => {
            Err(format!("PGSSLMODE is 'disable', 'require' or 'verify-full', not '{other}'").into())
        }
    }
}
