//! Commands that send revisions as they were committed.

use sapwood_core::ReplayRequest;
use sapwood_core::{Revnum, SvnError};
use sapwood_delta::Editor as _;
use sapwood_repos::seen_revision_props;
use sapwood_wire_svn::data::write_props;
use sapwood_wire_svn::editor::WireEditor;
use sapwood_wire_svn::{Encode as _, Sink as _, Tuple};

use crate::common::operation_log::Operation;
use crate::svn::auth::trivial_auth;
use crate::svn::session::{CommandResult, Fail, Session};

/// `replay`
pub(super) fn replay(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let rev = params.rev()?;
    let low_water_mark = params.rev()?;
    let send_deltas = params.bool()?;
    trivial_auth(&mut session.conn);
    replay_one(session, rev, low_water_mark, send_deltas)?;
    session.conn.success();
    Ok(())
}

/// `replay-range`
pub(super) fn replay_range(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let start = params.rev()?;
    let end = params.rev()?;
    let low_water_mark = params.rev()?;
    let send_deltas = params.bool()?;
    trivial_auth(&mut session.conn);
    session.repository.fs().youngest()?;
    for rev in (start.0..=end.0).map(Revnum) {
        let props = seen_revision_props(&session.repository, rev, &session.access)?;
        let out = session.conn.out();
        out.raw(b"( revprops ( ");
        write_props(out, props.iter());
        out.raw(b") ) ");
        session.conn.flush_if_large()?;
        replay_one(session, rev, low_water_mark, send_deltas)?;
    }
    session.conn.success();
    Ok(())
}

fn replay_one(
    session: &mut Session<'_>,
    rev: Revnum,
    low_water_mark: Revnum,
    send_deltas: bool,
) -> CommandResult {
    session.log_command(&Operation::Replay { path: &session.fs_path, revision: rev });
    let Session { conn, access, repository, options, fs_path, cancel, .. } = session;
    let mut editor = WireEditor::new(conn, *options);
    let base = fs_path.to_relpath();
    let request = ReplayRequest { low_water_mark, send_deltas };
    let result = repository.fs().revision_root(rev).map_err(SvnError::from).and_then(|root| {
        Ok(sapwood_repos::replay(&root, base, request, &*access, cancel, &mut editor)?)
    });
    if let Err(error) = result {
        // The client's answer to the abort must be read; its content does not matter.
        let _ = editor.abort_edit();
        return Err(Fail::Command(error));
    }
    session.conn.out().raw(b"( finish-replay ( ) ) ");
    Ok(session.conn.flush_if_large()?)
}
