//! The course of one connection: greeting, authentication, then commands until the client
//! disconnects.

use std::sync::Arc;
use std::time::Instant;

use sapwood_core::{ErrorCode, SvnError, SvnResult, uri};
use sapwood_delta::Version;
use sapwood_fs::Root;
use sapwood_peers::link::Caller;
use sapwood_wire_svn::editor::WireOptions;
use sapwood_wire_svn::{Encode as _, Error as WireError, Item};

use crate::common::access::UserAccess;
use crate::common::config::Blanket;
use crate::common::lookup::{self, FoundRepository, Place};
use crate::common::metrics::{Limit, Outcome};
use crate::common::operation_log::{Operation, Subject};
use crate::common::slots::AcceptedClient;
use crate::common::state::ServerState;
use crate::svn::auth::{asks_by_sasl, request_auth};
use crate::svn::commands;
use crate::svn::connection::{Connection, Wait};
use crate::svn::forward::{self, Splice};
use crate::svn::session::{CommandResult, Fail, ROOTS, Session};
use crate::svn::transport::Transport;

/// The client's greeting.
struct Greeting {
    url: String,
    capabilities: Vec<String>,
    ra_client: Option<String>,
    client: Option<String>,
}

/// Serves a connection over TCP: the [handler](crate::common::listener::Handler) of svn://.
///
/// # Errors
/// As [`serve_connection`].
pub fn serve_stream(shared: &ServerState, accepted: AcceptedClient) -> SvnResult<()> {
    let transport = Transport::tcp(Arc::clone(&accepted.stream));
    serve(shared, transport, Arrival::Client(Some(accepted)))
}

/// Serves a connection that another server forwards.
///
/// # Errors
/// As [`serve_connection`].
pub(crate) fn serve_forwarded(
    shared: &ServerState,
    accepted: &AcceptedClient,
    caller: Caller,
) -> SvnResult<()> {
    let transport = Transport::forwarded(Arc::clone(&accepted.stream), caller.hello.client);
    serve(shared, transport, Arrival::Forwarded(Box::new(caller)))
}

/// Serves one connection to its end.
///
/// # Errors
/// The error that ended the connection, unless the client closed it.
pub fn serve_connection(shared: &ServerState, transport: Transport) -> SvnResult<()> {
    serve(shared, transport, Arrival::Client(None))
}

/// How a connection came.
enum Arrival {
    /// By its client; with its slot, where it can be handed on.
    Client(Option<AcceptedClient>),
    /// By another server.
    Forwarded(Box<Caller>),
}

fn serve(shared: &ServerState, transport: Transport, mut arrival: Arrival) -> SvnResult<()> {
    let counted = shared.metrics.connection("svn");
    let mut conn = Connection::new(transport, shared.settings.limits, &shared.requests);
    conn.belong_to(shared);
    let remote_host = conn.remote_host().map(str::to_owned);
    let result = Session::begin(shared, conn, &mut arrival).and_then(|begun| match begun {
        ServedConnection::Here(mut session) => session.run(),
        ServedConnection::Elsewhere(splice) => splice.begin(shared, counted),
        ServedConnection::Refused => Ok(()),
    });
    if let Some(ErrorCode::RA_SVN_REQUEST_SIZE) = result.as_ref().err().map(SvnError::code) {
        shared.metrics.limit(Limit::RequestSize);
    }
    if let (Err(error), Some(log)) = (&result, &shared.log) {
        // The reference logs neither user nor repository here.
        log.error(Subject { host: remote_host.as_deref(), ..Subject::default() }, error, false);
    }
    result
}

/// Where a connection is served.
enum ServedConnection<'s> {
    Here(Box<Session<'s>>),
    /// By the server that its repository belongs to.
    Elsewhere(Splice),
    /// By the server that forwarded it: the repository is not here.
    Refused,
}

impl<'s> Session<'s> {
    /// Greets the client, finds the repository, and authenticates; or hands the connection to the server that the repository belongs
    /// to, which does that.
    fn begin(
        shared: &'s ServerState,
        mut conn: Connection,
        arrival: &mut Arrival,
    ) -> SvnResult<ServedConnection<'s>> {
        if let Arrival::Client(_) = arrival {
            write_greeting(conn.out(), shared.settings.compression > 0);
        }
        let (greeting, arrived) = read_greeting(&mut conn)?;
        let place = lookup::locate(shared, &greeting.url);
        let top = place.as_ref().ok().map(|place| &*place.top);
        match arrival {
            Arrival::Client(accepted) => {
                let hand_on = |top| forward::hand_on(shared, &mut conn, accepted, top, &arrived);
                if let Some(splice) = top.and_then(hand_on) {
                    return Ok(ServedConnection::Elsewhere(splice));
                }
            }
            Arrival::Forwarded(caller) => {
                if !forward::answer(&mut conn, caller, top)? {
                    return Ok(ServedConnection::Refused);
                }
            }
        }
        match place.and_then(|place| Self::open(shared, &mut conn, &place, &greeting.url)) {
            Err(error) => {
                if let Some(report) = shared.settings.report_first {
                    report(&error);
                }
                conn.failure(&error);
                let _ = conn.flush();
                Err(error)
            }
            Ok(found) => Self::start(shared, conn, found, &greeting)
                .map(Box::new)
                .map(ServedConnection::Here),
        }
    }

    fn open(
        shared: &'s ServerState,
        conn: &mut Connection,
        place: &Place,
        url: &str,
    ) -> SvnResult<FoundRepository> {
        let remote_host = conn.remote_host();
        let log = |error: &SvnError, warning: bool| {
            if let Some(log) = &shared.log {
                let name = lookup::name_in_logs(shared, place);
                let repository = Some(&*name);
                let subject = Subject { host: remote_host, repository, ..Subject::default() };
                log.error(subject, error, warning);
            }
        };
        let found = lookup::find(shared, place, url, &mut |warning| log(&warning, true));
        let found = found.map_err(|error| match error.code() {
            code @ (ErrorCode::AUTHZ_INVALID_CONFIG | ErrorCode::AUTHN_FAILED) => {
                // Errors of these files are shown to the administrator only.
                log(&error, false);
                SvnError::new(code, "")
            }
            _ => error,
        })?;
        let config = &found.config;
        let tunnel_user = shared.settings.tunnel.as_ref().and_then(|t| t.user.as_ref());
        let can_authenticate =
            tunnel_user.is_some() || found.passwords.is_some() || asks_by_sasl(config);
        if config.anon_access == Blanket::None
            && (config.auth_access == Blanket::None || !can_authenticate)
        {
            let error =
                SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, "No access allowed to this repository");
            log(&error, false);
            return Err(error);
        }
        Ok(found)
    }

    fn start(
        shared: &'s ServerState,
        conn: Connection,
        found: FoundRepository,
        greeting: &Greeting,
    ) -> SvnResult<Self> {
        let has = |word: &str| greeting.capabilities.iter().any(|c| c == word);
        let compression = shared.settings.compression;
        let svndiff = match () {
            () if compression == 0 => Version::V0,
            () if has("accepts-svndiff2") => Version::V2,
            () if has("svndiff1") => Version::V1,
            () => Version::V0,
        };
        let options = WireOptions { svndiff, compression, absent_entries: has("absent-entries") };
        let access = UserAccess::new(
            shared,
            conn.remote_host(),
            &found.name,
            &found.authz_name,
            found.authz,
            found.config,
        );
        let cancel = match conn.hangup() {
            Some(hangup) => shared.cancel.or_when(move || hangup.has_gone()),
            None => shared.cancel.clone(),
        };
        let mut session = Session {
            shared,
            conn,
            cancel,
            decoded_url: uri::decode_utf8(&found.url).unwrap_or_else(|| found.url.clone()),
            url: found.url,
            repository: found.repository,
            fs_path: found.fs_path,
            access,
            passwords: found.passwords,
            realm: found.realm,
            uuid: found.uuid,
            options,
            client_mergeinfo: has("mergeinfo"),
            roots: Vec::with_capacity(ROOTS),
        };
        if let Err(error) = request_auth(&mut session, Blanket::Read, false) {
            if error.code() == ErrorCode::RA_NOT_AUTHORIZED {
                session.conn.failure(&error);
                session.conn.flush()?;
            }
            return Err(error);
        }
        session.require_access()?;
        session.send_repository_info()?;
        session.log_open(greeting);
        Ok(session)
    }

    /// Refuses a user that may not even read.
    fn require_access(&mut self) -> SvnResult<()> {
        if self.access.blanket() != Blanket::None {
            return Ok(());
        }
        let error = SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, "Not authorized for access");
        self.log_error(&error);
        self.conn.failure(&error);
        self.conn.flush()?;
        Err(error)
    }

    fn send_repository_info(&mut self) -> SvnResult<()> {
        let out = self.conn.out();
        out.raw(b"( success ( ");
        out.text(&self.uuid);
        out.text(&self.url);
        out.open();
        if self.repository.has_mergeinfo() {
            out.word("mergeinfo");
        }
        out.raw(b") ) ) ");
        self.conn.flush()
    }

    fn log_open(&self, greeting: &Greeting) {
        self.log_command(&Operation::Open {
            capabilities: &greeting.capabilities,
            path: &self.fs_path,
            ra_client: greeting.ra_client.as_deref(),
            client: greeting.client.as_deref(),
        });
    }

    /// Serves commands until the client disconnects.
    fn run(&mut self) -> SvnResult<()> {
        let requests = self.shared.metrics.requests("svn", commands::NAMES);
        let mut request = self.conn.new_request();
        loop {
            self.conn.begin_request();
            match self.conn.receive(Wait::Request, &mut request) {
                Err(e) if e.is_hang_up() => return Ok(()),
                other => other?,
            }
            let (name, params) = request.command()?;
            self.access.set_request(self.shared.numbers.next());
            let begun = Instant::now();
            let write = commands::begin_write(self, name);
            let (write, result) = match write {
                Ok(write) => (write, commands::run(self, name, params)),
                Err(refused) => (None, Err(refused)),
            };
            requests.record(name, outcome(&result), begun.elapsed(), self.conn.reply_bytes());
            self.roots.iter().for_each(Root::rest);
            self.conn.check()?;
            match result {
                Ok(()) => {}
                Err(Fail::Command(error)) => self.conn.failure(&error),
                Err(Fail::Fatal(error)) => return Err(error),
            }
            if let Some(write) = write {
                // The client hears of it before the server ends.
                self.conn.flush()?;
                drop(write);
            }
        }
    }
}

/// How a command ended.
fn outcome(result: &CommandResult) -> Outcome {
    match result {
        Ok(()) => Outcome::Success,
        Err(Fail::Command(error) | Fail::Fatal(error)) => Outcome::of_error(error),
    }
}

/// Appends the server's greeting: protocol version 2 and the server's capabilities. Without
/// compression it does not offer the svndiff versions that compress.
fn write_greeting(out: &mut Vec<u8>, compression: bool) {
    out.raw(b"( success ( 2 2 ( ) ( edit-pipeline ");
    if compression {
        out.raw(b"svndiff1 accepts-svndiff2 ");
    }
    out.raw(
        b"absent-entries commit-revprops depth log-revprops atomic-revprops partial-replay \
          inherited-props ephemeral-txnprops file-revs-reverse list ) ) ) ",
    );
}

/// The client's greeting, and all bytes that have arrived, with its own.
fn read_greeting(conn: &mut Connection) -> SvnResult<(Greeting, Vec<u8>)> {
    conn.receive_whole(Wait::Greeting, |mut reply| {
        let version = reply.number()?;
        let words = reply.list()?;
        let url = reply.text()?.to_owned();
        let ra_client = reply.opt_text()?.map(str::to_owned);
        let client =
            if ra_client.is_some() { reply.bracketed_text()?.map(str::to_owned) } else { None };
        if version != 2 {
            return Err(SvnError::new(
                ErrorCode::RA_SVN_BAD_VERSION,
                format!("Unsupported ra_svn protocol version {version} (supported versions: [2])"),
            ));
        }
        let url = uri::canonicalize(&url)
            .map_err(|e| SvnError::new(ErrorCode::BAD_URL, e.to_string()))?;
        let capabilities = words
            .map(|item| match item {
                Item::Word(word) => Ok(word.to_owned()),
                _ => Err(WireError::Part("Capability entry is not a word")),
            })
            .collect::<Result<Vec<_>, _>>()?;
        if !capabilities.iter().any(|c| c == "edit-pipeline") {
            return Err(SvnError::new(
                ErrorCode::RA_SVN_BAD_VERSION,
                "Missing edit-pipeline capability",
            ));
        }
        Ok(Greeting { url, capabilities, ra_client, client })
    })
}
