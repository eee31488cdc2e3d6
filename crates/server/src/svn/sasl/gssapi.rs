//! A login by Kerberos: GSSAPI. Each step may block on a disk or a KDC, so another thread does it, while this one looks whether
//! the client is still there.

use sapwood_core::{SvnError, SvnResult, base64};
use sapwood_kerberos::sasl::{Exchange, Turn};
use sapwood_kerberos::{KerberosError, MAX_TOKEN};

use super::{BAD_PROTOCOL, Outcome, Success, Verifier, step, token_or_step};
use crate::svn::session::Session;

impl Verifier {
    /// The tokens go back and forth until the user is known.
    pub(super) fn gssapi(
        &self,
        session: &mut Session<'_>,
        token: Option<&[u8]>,
    ) -> SvnResult<Outcome> {
        let token = match token.map(base64::decode) {
            None => None,
            Some(Some(token)) => Some(token),
            Some(None) => return Ok(BAD_PROTOCOL.into()),
        };
        let Some(mut message) = token_or_step(&mut session.conn, token, b"")? else {
            return Ok(Outcome::Anew);
        };
        let mut exchange = match Exchange::server(self.strengths.clone()) {
            Ok(exchange) => exchange,
            Err(error) => return Ok(failed(&error)),
        };
        loop {
            if message.len() > MAX_TOKEN {
                return Ok(BAD_PROTOCOL.into());
            }
            match apart(session, move || exchange.reply(&message))? {
                Ok((Some(next), Turn::Say(said))) => {
                    let Some(answer) = step(&mut session.conn, &said)? else {
                        return Ok(Outcome::Anew);
                    };
                    (exchange, message) = (next, answer);
                }
                Ok((_, Turn::Done(done))) => {
                    return Ok(match self.proven(&done.user, None) {
                        Outcome::Success(success) => {
                            Outcome::Success(Success { layer: done.layer, ..success })
                        }
                        // A user of another realm.
                        _ => Outcome::NotProven(Some(done.user)),
                    });
                }
                Ok((None, Turn::Say(_))) => {
                    return Err(SvnError::internal("an exchange without end"));
                }
                Err(error) => {
                    // The administrator reads why: mostly a key is missing.
                    session.log_error(&failed_login(&error));
                    return Ok(Outcome::NotProven(None));
                }
            }
        }
    }
}

fn failed_login(error: &KerberosError) -> SvnError {
    SvnError::new(sapwood_core::ErrorCode::AUTHN_FAILED, format!("GSSAPI: {error}"))
}

fn failed(error: &KerberosError) -> Outcome {
    Outcome::Refused(format!("SASL(-1): generic failure: {error}"))
}

/// Does something that may block, in another thread.
fn apart<T: Send + 'static>(
    session: &mut Session<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> SvnResult<T> {
    let cancel = session.cancel.clone();
    let task = async move { tokio::task::spawn_blocking(work).await };
    let shared = session.shared;
    let done = session.conn.wait_for(&shared.tasks, &cancel, task)?;
    done.map_err(|_| SvnError::internal("a step of GSSAPI has panicked"))
}
