//! A ticket of Kerberos in a request: Negotiate (RFC 4559), with one token each way.

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_kerberos::{Context, KerberosError, Use};

/// The user whose ticket this is, and what proves the server's name to the client. The library may read from a disk, in a
/// thread that may block.
///
/// # Errors
/// E215004 for what is no ticket for this server, also for one of another way to log in (NTLM), which would take more tokens.
pub(super) async fn user_of(token: Vec<u8>) -> SvnResult<(String, Option<Vec<u8>>)> {
    let found = tokio::task::spawn_blocking(move || {
        let mut context = Context::accept(Use::Negotiate)?;
        let step = context.step(Some(&token))?;
        let user = if step.is_done { context.user() } else { Err(KerberosError::Malformed) };
        Ok::<_, KerberosError>((user?, step.token))
    });
    let found = found.await.map_err(|_| SvnError::internal("a step of GSSAPI has panicked"))?;
    found.map_err(|error| SvnError::new(ErrorCode::AUTHN_FAILED, format!("Negotiate: {error}")))
}
