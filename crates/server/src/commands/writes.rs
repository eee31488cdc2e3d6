//! Commands that change the repository. This server only reads so far: every repository is served
//! as if read-only, and these commands end as they do on the reference's read-only server.

use sapwood_core::{ErrorCode, SvnError};
use sapwood_wire_svn::Tuple;

use crate::access::Required;
use crate::auth::must_have_access;
use crate::session::{CommandResult, Fail, Session};

/// Refuses a command in the reference's words.
pub(super) fn refuse(
    session: &mut Session<'_>,
    name: &str,
    mut params: Tuple<'_>,
) -> CommandResult {
    let (path, needs_username) = match name {
        "lock" => (Some(session.full_path(&params.relpath()?)), true),
        "unlock" => {
            let path = session.full_path(&params.relpath()?);
            let _token = params.bracketed_text()?;
            (Some(path), !params.bool()?)
        }
        "lock-many" => (None, true),
        "unlock-many" => (None, !params.bool()?),
        "commit" => {
            let _message = params.bytes()?;
            let tokens = params.opt_list()?;
            (None, tokens.is_some_and(|t| !t.is_empty()))
        }
        _ => (None, false),
    };
    must_have_access(session, Required::Write, path.as_deref(), needs_username)?;
    Err(Fail::Command(SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, "")))
}
