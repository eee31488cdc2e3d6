//! Commands about the session and about revisions themselves.

use sapwood_core::SvnError;
use sapwood_core::date::Timestamp;
use sapwood_repos::{revision_prop, revision_props};
use sapwood_wire_svn::data::write_props;
use sapwood_wire_svn::{Encode as _, Tuple};

use super::{canonical_url, path_of_url};
use crate::common::operation_log::Operation;
use crate::svn::auth::trivial_auth;
use crate::svn::session::{CommandResult, Session};

/// `reparent`: the session's URL becomes another one of the same repository.
pub(super) fn reparent(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let url = canonical_url(params.text()?)?;
    trivial_auth(&mut session.conn);
    let path = path_of_url(session, &url)?;
    session.log_command(&Operation::Reparent { path: &path });
    session.fs_path = path;
    session.conn.success();
    Ok(())
}

/// `get-latest-rev`
pub(super) fn get_latest_rev(session: &mut Session<'_>) -> CommandResult {
    session.log_command(&Operation::GetLatestRev);
    trivial_auth(&mut session.conn);
    let rev = session.repository.fs().youngest()?;
    reply_rev(session, rev);
    Ok(())
}

/// `get-dated-rev`
pub(super) fn get_dated_rev(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let date = params.text()?;
    session.log_command(&Operation::GetDatedRev { date });
    trivial_auth(&mut session.conn);
    let time = Timestamp::parse(date.as_bytes()).map_err(SvnError::from)?;
    let rev = session.repository.fs().dated_revision(time.0)?;
    reply_rev(session, rev);
    Ok(())
}

/// A successful reply that holds only a revision.
pub(super) fn reply_rev(session: &mut Session<'_>, rev: sapwood_core::Revnum) {
    let out = session.conn.out();
    out.raw(b"( success ( ");
    out.rev(rev);
    out.raw(b") ) ");
}

/// `rev-proplist`
pub(super) fn rev_proplist(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let rev = params.rev()?;
    session.log_command(&Operation::RevProplist { revision: rev });
    trivial_auth(&mut session.conn);
    let props = revision_props(&session.repository, rev, &session.access)?;
    let out = session.conn.out();
    out.raw(b"( success ( ( ");
    write_props(out, props.iter());
    out.raw(b") ) ) ");
    Ok(())
}

/// `rev-prop`
pub(super) fn rev_prop(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let rev = params.rev()?;
    let name = params.text()?;
    session.log_command(&Operation::RevProp { revision: rev, name });
    trivial_auth(&mut session.conn);
    let value = revision_prop(&session.repository, rev, name, &session.access)?;
    let out = session.conn.out();
    out.raw(b"( success ( ");
    out.bracketed(value.as_deref());
    out.raw(b") ) ");
    Ok(())
}
