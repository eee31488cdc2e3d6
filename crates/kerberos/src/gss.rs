//! One side of a login, by the system's library.

use libgssapi::context::{ClientCtx, CtxFlags, SecurityContext, ServerCtx};
use libgssapi::error::Error;
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_MECH_SPNEGO, GSS_NT_HOSTBASED_SERVICE, GSS_NT_USER_NAME};

use crate::{KerberosError, MAX_TOKEN, Step, Use};

/// The first bytes of a wrapped message of RFC 4121, whose keys have 128 bits at least (older ones have DES and RC4).
const WRAPPED: [u8; 2] = [5, 4];
/// The bit of the byte behind them that says that it is encrypted.
const SEALED: u8 = 2;

impl From<Error> for KerberosError {
    fn from(error: Error) -> Self {
        // The library ends its sentences with line ends.
        Self::Library(error.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

#[derive(Debug)]
enum Side {
    Client(ClientCtx),
    Server(ServerCtx),
}

/// One side of a login.
#[derive(Debug)]
pub struct Context {
    side: Side,
    purpose: Use,
}

#[allow(clippy::missing_errors_doc, reason = "`KerberosError` says what its variants mean")]
impl Context {
    /// The client of a service of a host. Looks for no ticket before the first step.
    pub fn initiate(purpose: Use, host: &str) -> Result<Self, KerberosError> {
        let name = format!("{}@{host}", purpose.service());
        let target = Name::new(name.as_bytes(), Some(GSS_NT_HOSTBASED_SERVICE))?;
        let flags = CtxFlags::GSS_C_MUTUAL_FLAG
            | CtxFlags::GSS_C_REPLAY_FLAG
            | CtxFlags::GSS_C_SEQUENCE_FLAG
            | CtxFlags::GSS_C_INTEG_FLAG
            | CtxFlags::GSS_C_CONF_FLAG;
        let mechanism = match purpose {
            Use::Sasl => GSS_MECH_KRB5,
            Use::Negotiate => GSS_MECH_SPNEGO,
        };
        let side = Side::Client(ClientCtx::new(None, target, flags, Some(mechanism)));
        Ok(Self { side, purpose })
    }

    /// A server, with the keys of the process's key table.
    pub fn accept(purpose: Use) -> Result<Self, KerberosError> {
        Ok(Self { side: Side::Server(ServerCtx::new(None)), purpose })
    }

    /// Takes a token of the other side, if it has sent one. May block on a KDC or a disk.
    pub fn step(&mut self, token: Option<&[u8]>) -> Result<Step, KerberosError> {
        if token.is_some_and(|token| token.len() > MAX_TOKEN) {
            return Err(KerberosError::Malformed);
        }
        let answer = match &mut self.side {
            Side::Client(client) => client.step(token, None)?,
            Side::Server(server) => server.step(token.ok_or(KerberosError::Malformed)?, None)?,
        };
        let is_done = match &self.side {
            Side::Client(client) => client.is_complete(),
            Side::Server(server) => server.is_complete(),
        };
        Ok(Step { token: answer.map(|token| token.to_vec()), is_done })
    }

    fn context(&mut self) -> &mut dyn SecurityContext {
        match &mut self.side {
            Side::Client(client) => client,
            Side::Server(server) => server,
        }
    }

    /// The user who has logged in to this server: the name without the realm if that is the server's own, otherwise with it.
    pub fn user(&mut self) -> Result<String, KerberosError> {
        let service = self.purpose.service();
        let context = self.context();
        // A key table may have keys of other services: a ticket for one of them is not for us.
        let ours = text(&context.target_name()?)?;
        let is_ours =
            ours.split_once('/').is_some_and(|(name, _)| name.eq_ignore_ascii_case(service));
        if !is_ours {
            return Err(KerberosError::Library(format!("the ticket is for '{ours}'")));
        }
        let principal = text(&context.source_name()?)?;
        let Some((user, _)) = principal.rsplit_once('@') else { return Ok(principal) };
        let local = Name::new(user.as_bytes(), Some(GSS_NT_USER_NAME))
            .and_then(|name| name.canonicalize(Some(GSS_MECH_KRB5)));
        let is_local = local.is_ok_and(|local| text(&local).as_deref() == Ok(&*principal));
        Ok(if is_local { user.to_owned() } else { principal })
    }

    /// Signs a message, and encrypts it if `encrypt`.
    pub fn wrap(&mut self, encrypt: bool, message: &[u8]) -> Result<Vec<u8>, KerberosError> {
        let wrapped = self.context().wrap(encrypt, message)?.to_vec();
        // What the library did not encrypt must not be sent.
        if is_wrapped(&wrapped, encrypt) { Ok(wrapped) } else { Err(KerberosError::TooWeak) }
    }

    /// Verifies a message, and decrypts it; it has to be encrypted if `encrypted`.
    pub(crate) fn unwrap_token(
        &mut self,
        encrypted: bool,
        message: &[u8],
    ) -> Result<Vec<u8>, KerberosError> {
        if !is_wrapped(message, encrypted) {
            return Err(KerberosError::Malformed);
        }
        Ok(self.context().unwrap(message)?.to_vec())
    }
}

fn is_wrapped(message: &[u8], encrypted: bool) -> bool {
    message.starts_with(&WRAPPED)
        && (!encrypted || message.get(2).is_some_and(|flags| flags & SEALED != 0))
}

fn text(name: &Name) -> Result<String, KerberosError> {
    let text = name.display_name()?;
    str::from_utf8(&text).map(str::to_owned).map_err(|_| KerberosError::Malformed)
}
