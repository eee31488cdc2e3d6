//! A session over the svn protocol: greeting, URLs, and the exchange of command and reply that most requests consist of.
//!
//! A connection that was closed between two requests (a server that was restarted, a firewall that
//! drops idle connections) is silently replaced by a new one when the next request
//! comes. A request without any reply is sent a second time over a new connection,
//! once, if it only reads; a request that changes the repository is never sent twice.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_delta::Version;
use sapwood_wire_svn::editor::WireOptions;
use sapwood_wire_svn::{Encode as _, Error as WireError, Item, List, Tuple};

use super::connection::{Connection, closed};
use super::idle::IdleConnection;
use super::login::{Login, answer_request};
use super::repository::Repository;
use super::settings::ClientSettings;
use super::transport::Transport;
use super::{silent, tunnel};
use crate::error::Error;
use crate::session::{COMPATIBLE_VERSION, Capability, SessionInfo};

/// The default port of `svn://`.
const DEFAULT_PORT: u16 = 3690;
/// The capabilities of this client.
const CAPABILITIES: &str =
    "edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ";

/// Where the session is, and where the server believes that it is.
#[derive(Debug)]
struct SessionUrls {
    /// The session's URL.
    client: UrlBuf,
    /// The URL that commands are below: the same, or above it.
    server: UrlBuf,
    /// What lies between them.
    below: RelPathBuf,
    /// The URL that the server knows. Where it is another one than `server`, the move goes out with the next command.
    known: UrlBuf,
}

impl SessionUrls {
    /// All at one URL.
    fn at(url: &Url) -> Self {
        let [client, server, known] = [url.to_owned(), url.to_owned(), url.to_owned()];
        Self { client, server, below: RelPathBuf::default(), known }
    }
}

/// A session over the svn protocol.
#[derive(Debug)]
pub struct SvnSession {
    conn: RefCell<Connection>,
    place: RefCell<SessionUrls>,
    pub(super) repository: Rc<Repository>,
    /// What is needed to connect again.
    settings: Option<ClientSettings>,
}

impl Drop for SvnSession {
    fn drop(&mut self) {
        let Some(settings) = &self.settings else { return };
        let conn = std::mem::replace(self.conn.get_mut(), Connection::ended());
        let server = self.place.get_mut().known.clone();
        let repository = Rc::clone(&self.repository);
        settings.idle.put(IdleConnection { conn, server, repository });
    }
}

/// The greeting of the server.
struct Greeting {
    min: u64,
    max: u64,
    capabilities: Vec<String>,
}

impl Greeting {
    /// E210006 for a server whose protocol is another one.
    fn check(&self) -> SvnResult<()> {
        if self.min > 2 {
            return Err(bad_version(format!("Server requires minimum version {}", self.min)));
        }
        if self.max < 2 {
            return Err(bad_version(format!("Server only supports versions up to {}", self.max)));
        }
        if !self.capabilities.iter().any(|word| word == "edit-pipeline") {
            return Err(bad_version("Server does not support edit pipelining"));
        }
        Ok(())
    }
}

/// Writes the answer to a greeting.
fn greet(out: &mut Vec<u8>, url: &Url, user_agent: &str, client_name: Option<&str>) {
    out.raw(b"( 2 ( ");
    out.raw(CAPABILITIES.as_bytes());
    out.close();
    out.text(url);
    out.text(user_agent);
    out.bracketed_text(client_name);
    out.close();
}

/// The repository's root as the server names it; old servers do not.
fn checked_root(root: Option<String>, url: &Url) -> SvnResult<UrlBuf> {
    let root_url = match root {
        None => url.to_owned(),
        Some(root) => UrlBuf::canonicalize(&root)
            .map_err(|e| SvnError::new(ErrorCode::BAD_URL, e.to_string()))?,
    };
    if root_url.len() > url.len() {
        return Err(WireError::Part("Impossibly long repository root from server").into());
    }
    Ok(root_url)
}

fn words(list: List<'_>) -> SvnResult<Vec<String>> {
    list.map(|item| match item {
        Item::Word(word) => Ok(word.to_owned()),
        _ => Err(WireError::Part("Capability entry is not a word").into()),
    })
    .collect()
}

fn read_greeting(conn: &mut Connection) -> SvnResult<Greeting> {
    conn.reply(|mut params| {
        let (min, max) = (params.number()?, params.number()?);
        let _mechanisms = params.list()?;
        Ok(Greeting { min, max, capabilities: words(params.list()?)? })
    })
}

fn bad_version(message: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::RA_SVN_BAD_VERSION, message)
}

impl SvnSession {
    /// Opens a session to a canonical URL.
    ///
    /// # Errors
    /// Errors of connecting and authentication; E210006 for servers of another protocol version.
    pub fn open(url: &Url, settings: &ClientSettings) -> SvnResult<Self> {
        while let Some(idle) = settings.idle.take(url, &settings.auth) {
            if let Some(session) = Self::over_idle(idle, url, settings) {
                return Ok(session);
            }
        }
        Self::connect(url, settings)
    }

    /// A session over a connection of another one, moved to `url`; `None` when that fails.
    fn over_idle(idle: IdleConnection, url: &Url, settings: &ClientSettings) -> Option<Self> {
        let IdleConnection { mut conn, server, repository } = idle;
        conn.begin_count();
        let session = Self {
            conn: RefCell::new(conn),
            place: RefCell::new(SessionUrls::at(&server)),
            repository,
            settings: Some(settings.clone()),
        };
        match SessionInfo::reparent(&session, url) {
            Ok(()) => Some(session),
            Err(_) => {
                session.conn.borrow_mut().give_up();
                None
            }
        }
    }

    /// Opens a session over a new connection.
    fn connect(url: &Url, settings: &ClientSettings) -> SvnResult<Self> {
        let illegal = || SvnError::from(Error::IllegalUrl(url.to_string()));
        let parts = url.parts().ok_or_else(illegal)?;
        let transport = match parts.tunnel {
            None => {
                let port = parts.port.unwrap_or(DEFAULT_PORT);
                let transport = Transport::connect(parts.host, port)?;
                if let Transport::Tcp(stream) = &transport {
                    silent::await_greeting(stream, parts.host, port, &settings.cancel)?;
                }
                transport
            }
            Some(name) => {
                let rest = url.split_once("://").map_or("", |(_, rest)| rest);
                let authority = rest.split('/').next().unwrap_or("");
                let words =
                    tunnel::command_line(name, authority, &settings.config, settings.variable)?;
                tunnel::start(&words)?
            }
        };
        let mut session = Self::over(transport, url, settings)?;
        session.settings = Some(settings.clone());
        Ok(session)
    }

    /// Begins a session with the server at the other end of `transport` only.
    ///
    /// # Errors
    /// As [`SvnSession::open`].
    pub fn over(transport: Transport, url: &Url, settings: &ClientSettings) -> SvnResult<Self> {
        let illegal = || SvnError::from(Error::IllegalUrl(url.to_string()));
        let parts = url.parts().ok_or_else(illegal)?;
        let mut conn = Connection::new(transport);
        let realm_prefix = match parts.tunnel {
            None => format!("<svn://{}:{}>", parts.host, parts.port.unwrap_or(DEFAULT_PORT)),
            Some(name) => {
                conn.skip_garbage().map_err(|e| {
                    e.context(
                        "To better debug SSH connection problems, remove the -q option from 'ssh' \
                         in the [tunnels] section of your Subversion configuration file.",
                    )
                })?;
                format!("<svn+{name}://{}:{}>", parts.host, parts.port.unwrap_or(0))
            }
        };
        let greeting = read_greeting(&mut conn)?;
        greeting.check()?;
        let user_agent = format!("SVN/{COMPATIBLE_VERSION} (sapwood)");
        greet(conn.out(), url, &user_agent, settings.client_name.as_deref());
        let login = Login {
            auth: &settings.auth,
            realm_prefix: &realm_prefix,
            host: parts.host,
            is_tunneled: parts.tunnel.is_some(),
        };
        let is_logged_in = answer_request(&mut conn, &login)?;
        let mut capabilities = greeting.capabilities;
        let (uuid, root_url) = conn.reply(|mut params| {
            let uuid = params.text()?.to_owned();
            let root = params.opt_text()?.map(str::to_owned);
            if let Some(list) = params.opt_list()? {
                capabilities.extend(words(list)?);
            }
            Ok((uuid, root))
        })?;
        let root_url = checked_root(root_url, url)?;
        Ok(Self {
            conn: RefCell::new(conn),
            place: RefCell::new(SessionUrls::at(url)),
            repository: Rc::new(Repository {
                root_url,
                uuid,
                capabilities,
                auth: Arc::clone(&settings.auth),
                host: parts.host.to_owned(),
                is_tunneled: parts.tunnel.is_some(),
                realm_prefix,
                is_logged_in,
                user_agent: match &settings.client_name {
                    Some(name) => format!("{user_agent} {name}"),
                    None => user_agent,
                },
            }),
            settings: None,
        })
    }

    /// The connection, when nothing else is using it; a new one when it was closed.
    pub(super) fn conn(&self) -> SvnResult<RefMut<'_, Connection>> {
        let mut conn = self.conn.try_borrow_mut().map_err(|_| SvnError::from(Error::Busy))?;
        if conn.has_ended() && self.settings.is_some() && self.reopen(&mut conn).is_err() {
            // Nothing is sent over a connection that may be half closed.
            conn.give_up();
        }
        let mut place = self.place.borrow_mut();
        if place.known != place.server {
            write_reparent(conn.out(), &place.server);
            let moves = conn.moves().plus(1);
            conn.expect_moves(moves);
            place.known = place.server.clone();
        }
        Ok(conn)
    }

    /// Whether commands may go out before the server has answered those before them: it knows the user and will not ask
    /// for a name, and what fails can be asked again over another connection.
    pub(super) fn pipelines(&self) -> bool {
        self.repository.is_logged_in && self.settings.is_some()
    }

    /// Connects again, in place of a closed connection.
    fn reopen(&self, conn: &mut Connection) -> SvnResult<()> {
        let settings = self.settings.as_ref().ok_or_else(closed)?;
        let url = self.place.borrow().server.clone();
        let again = Self::connect(&url, settings)?;
        let (new, old) = (&again.repository, &self.repository);
        if new.uuid != old.uuid || new.root_url != old.root_url {
            // Another repository is at this URL now.
            return Err(closed());
        }
        again.conn.replace(Connection::ended()).replace(conn);
        self.place.borrow_mut().known = url;
        Ok(())
    }

    /// Whether the server has announced a capability, by its word.
    pub(super) fn knows(&self, word: &str) -> bool {
        self.repository.capabilities.iter().any(|c| c == word)
    }

    /// Answers the request for authentication that follows a command.
    pub(super) fn authenticate(&self, conn: &mut Connection) -> SvnResult<()> {
        let login = Login {
            auth: &self.repository.auth,
            realm_prefix: &self.repository.realm_prefix,
            host: &self.repository.host,
            is_tunneled: self.repository.is_tunneled,
        };
        answer_request(conn, &login).map(drop)
    }

    /// The same for a command that only reads and is in the output buffer as a whole: it is sent
    /// again when the connection turns out to be closed.
    pub(super) fn authenticate_reader(&self, conn: &mut Connection) -> SvnResult<()> {
        let (request, moves) = (conn.out().clone(), conn.moves());
        match self.authenticate(conn) {
            Err(_) if conn.is_lost() && self.reopen(conn).is_ok() => {
                *conn.out() = request;
                conn.expect_moves(moves);
                self.authenticate(conn)
            }
            other => other,
        }
    }

    /// The same for commands that old servers do not know.
    pub(super) fn authenticate_new(&self, conn: &mut Connection, otherwise: &str) -> SvnResult<()> {
        self.authenticate_reader(conn).map_err(|error| old_server(error, otherwise))
    }

    /// A command that only reads, with a simple reply.
    pub(super) fn exchange<T>(
        &self,
        write: impl FnOnce(&mut Vec<u8>),
        look: impl FnOnce(Tuple<'_>) -> SvnResult<T>,
    ) -> SvnResult<T> {
        let mut conn = self.conn()?;
        write(conn.out());
        self.authenticate_reader(&mut conn)?;
        conn.reply(look)
    }

    /// A path below the session's URL, as it is sent to the server.
    pub(super) fn at(&self, path: &RelPath) -> RelPathBuf {
        self.place.borrow().below.join(path)
    }

    /// The same of several.
    pub(super) fn all_at(&self, paths: &[&RelPath]) -> Vec<RelPathBuf> {
        paths.iter().map(|path| self.at(path)).collect()
    }

    /// The inverse of [`SvnSession::at`], for paths that the server sends.
    pub(super) fn client_path(&self, path: &str) -> RelPathBuf {
        let place = self.place.borrow();
        let path = RelPathBuf::canonicalize(path);
        path.below(&place.below).map(RelPath::to_owned).unwrap_or(path)
    }

    /// The place of a path below the session's URL in the repository.
    ///
    /// # Errors
    /// E170000 when it is not in the repository as the server names that, or not UTF-8.
    pub(super) fn fs_path(&self, path: &RelPath) -> SvnResult<FsPathBuf> {
        let place = self.place.borrow();
        let below = place.client.below(&self.repository.root_url);
        let below = below.ok_or_else(|| Error::IllegalUrl(place.client.to_string()))?;
        Ok(below.join(path).to_fspath())
    }

    /// Sends the server the session's URL, if the server has another.
    pub(super) fn sync_server_url(&self) -> SvnResult<()> {
        let url = {
            let place = self.place.borrow();
            if place.client == place.server {
                return Ok(());
            }
            place.client.clone()
        };
        self.move_server(&url)?;
        self.place.borrow_mut().below = RelPathBuf::default();
        Ok(())
    }

    /// Moves the server to a URL: with the next command, where that may go out before the answer.
    fn move_server(&self, url: &Url) -> SvnResult<()> {
        if !self.pipelines() {
            self.exchange(|out| write_reparent(out, url), |_| Ok(()))?;
            self.place.borrow_mut().known = url.to_owned();
        }
        self.place.borrow_mut().server = url.to_owned();
        Ok(())
    }

    /// The server's capabilities for edits.
    pub(super) fn wire_options(&self) -> WireOptions {
        let svndiff = if self.knows("accepts-svndiff2") {
            Version::V2
        } else if self.knows("svndiff1") {
            Version::V1
        } else {
            Version::V0
        };
        WireOptions { svndiff, compression: 5, absent_entries: self.knows("absent-entries") }
    }
}

/// The error for a command that the server does not know.
pub(super) fn old_server(error: SvnError, otherwise: &str) -> SvnError {
    if error.code() == ErrorCode::RA_SVN_UNKNOWN_CMD {
        error.wrap(ErrorCode::RA_NOT_IMPLEMENTED, otherwise)
    } else {
        error
    }
}

fn write_reparent(out: &mut Vec<u8>, url: &Url) {
    out.raw(b"( reparent ( ");
    out.text(url);
    out.raw(b") ) ");
}

impl SessionInfo for SvnSession {
    fn url(&self) -> UrlBuf {
        self.place.borrow().client.clone()
    }

    fn root_url(&self) -> UrlBuf {
        self.repository.root_url.clone()
    }

    fn uuid(&self) -> String {
        self.repository.uuid.clone()
    }

    fn has_capability(&self, capability: Capability) -> SvnResult<bool> {
        Ok(self.knows(match capability {
            Capability::Depth => "depth",
            Capability::Mergeinfo => "mergeinfo",
            Capability::LogRevprops => "log-revprops",
            Capability::PartialReplay => "partial-replay",
            Capability::CommitRevprops => "commit-revprops",
            Capability::AtomicRevprops => "atomic-revprops",
            Capability::EphemeralTxnprops => "ephemeral-txnprops",
            Capability::InheritedProps => "inherited-props",
            Capability::FileRevsReverse => "file-revs-reverse",
            Capability::List => "list",
        }))
    }

    fn bytes_transferred(&self) -> u64 {
        self.conn.try_borrow().map_or(0, |conn| conn.transferred())
    }

    fn reparent(&self, url: &Url) -> SvnResult<()> {
        let below = {
            let place = self.place.borrow();
            url.below(&place.server)
        };
        let below = match below {
            Some(below) => below,
            None => match url.below(&self.repository.root_url) {
                // The root is usable for most later URLs too.
                Some(below) => {
                    self.move_server(&self.repository.root_url)?;
                    below
                }
                // Not asked of the server: svnserve takes `/r.other` for a path of the repository at `/r`.
                None => return Err(Error::other_repository(url, &self.repository.root_url).into()),
            },
        };
        let mut place = self.place.borrow_mut();
        place.client = url.to_owned();
        place.below = below;
        Ok(())
    }
}
