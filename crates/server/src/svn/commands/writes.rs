//! Changing properties of revisions.

use sapwood_core::{ErrorCode, Revnum, SvnError};
use sapwood_repos::{RevpropHooks, RevpropRequest, change_revision_prop};
use sapwood_wire_svn::Tuple;

use crate::common::access::Action;
use crate::common::operation_log::Operation;
use crate::svn::auth::must_have_access;
use crate::svn::session::{CommandResult, Fail, Session};

/// `change-rev-prop`
pub(super) fn change_rev_prop(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let (revision, name) = (params.rev()?, params.text()?);
    let value = params.opt_bytes()?;
    change(session, revision, name, None, value)
}

/// `change-rev-prop2`
pub(super) fn change_rev_prop2(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let (revision, name) = (params.rev()?, params.text()?);
    let value = params.bracketed_bytes()?;
    let mut condition = params.tuple()?;
    let dont_care = condition.bool()?;
    let old = condition.opt_bytes()?;
    if dont_care && old.is_some() {
        return Err(Fail::Command(SvnError::new(
            ErrorCode::INCORRECT_PARAMS,
            "'previous-value' and 'dont-care' cannot both be set in 'change-rev-prop2' request",
        )));
    }
    change(session, revision, name, if dont_care { None } else { Some(old) }, value)
}

fn change(
    session: &mut Session<'_>,
    revision: Revnum,
    name: &str,
    expected: Option<Option<&[u8]>>,
    value: Option<&[u8]>,
) -> CommandResult {
    must_have_access(session, Action::Write, None, false)?;
    session.log_command(&Operation::ChangeRevProp { revision, name });
    let Session { access, repository, .. } = session;
    let hooks = access.hooks(repository);
    let user = access.user();
    let request =
        RevpropRequest { revision, name, expected, value, user, hooks: RevpropHooks::ALL };
    change_revision_prop(repository, &hooks, &request, &*access)?;
    session.shared.revprop_changed(repository, revision);
    session.conn.success();
    Ok(())
}
