//! Requests that the server answers by driving an editor: update, switch, status, diff, replay.

use std::cell::RefMut;

use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, PropList, Revnum, SvnResult};
use sapwood_delta::{Editor, ReportEntry};
use sapwood_wire_svn::data::read_props;
use sapwood_wire_svn::editor::{DriveError, Outcome, drive};
use sapwood_wire_svn::failure::read_failure;
use sapwood_wire_svn::{Encode as _, Error as WireError, Tuple};

use super::connection::Connection;
use super::session::SvnSession;
use crate::session::{
    Edits, ReplayReceiver, ReplayRequest, ReplayedEdit, Report, ReportKind, ReportRequest,
};

/// Old servers know only "all" and "not all".
fn recurses(depth: Depth) -> bool {
    matches!(depth, Depth::Unknown | Depth::Immediates | Depth::Infinity)
}

fn write_request(out: &mut Vec<u8>, request: &ReportRequest<'_>) {
    let ReportRequest { revision, target, depth, kind } = *request;
    let recurse = recurses(depth);
    match kind {
        ReportKind::Update { send_copyfrom, ignore_ancestry }
        | ReportKind::Switch { send_copyfrom, ignore_ancestry, .. } => {
            let switched_to = match kind {
                ReportKind::Switch { url, .. } => Some(url),
                _ => None,
            };
            out.raw(if switched_to.is_some() { b"( switch ( " } else { b"( update ( " });
            out.bracketed_rev(revision);
            out.text(target);
            out.bool(recurse);
            if let Some(url) = switched_to {
                out.text(url);
            }
            out.depth(depth);
            out.bool(send_copyfrom);
            out.bool(ignore_ancestry);
        }
        ReportKind::Status => {
            out.raw(b"( status ( ");
            out.text(target);
            out.bool(recurse);
            out.bracketed_rev(revision);
            out.depth(depth);
        }
        ReportKind::Diff { versus_url, ignore_ancestry, text_deltas } => {
            out.raw(b"( diff ( ");
            out.bracketed_rev(revision);
            out.text(target);
            out.bool(recurse);
            out.bool(ignore_ancestry);
            out.text(versus_url);
            out.bool(text_deltas);
            out.depth(depth);
        }
    }
    out.raw(b") ) ");
}

fn read_revprops(mut tuple: Tuple<'_>) -> SvnResult<PropList> {
    let word = tuple.word()?;
    let list = tuple.list()?;
    match word {
        "revprops" => Ok(read_props(list)?),
        "failure" => Err(read_failure(list)),
        _ => Err(WireError::Part("Expected 'revprops' in the reply to 'replay-range'").into()),
    }
}

/// Drives `editor` with one revision. An error leaves the connection in the middle of it.
fn drive_replay(conn: &mut Connection, editor: &mut dyn Editor) -> SvnResult<()> {
    match drive(conn, editor, true) {
        Ok(Outcome::ReplayFinished) => Ok(()),
        Ok(Outcome::Closed | Outcome::Aborted) => {
            // The revision could not be sent completely: the failure follows.
            conn.success();
            conn.reply(|_| Ok(()))?;
            Err(WireError::Part("The server gave up the edit of a replay").into())
        }
        Err(error) => {
            let sent_by_server = matches!(error, DriveError::Failure(_));
            let _ = editor.abort_edit();
            if !sent_by_server {
                conn.give_up();
            }
            Err(error.into_inner())
        }
    }
}

/// One revision of a replayed range.
struct IncomingRevision<'c> {
    conn: &'c mut Connection,
    driven: bool,
}

impl ReplayedEdit for IncomingRevision<'_> {
    fn drive(&mut self, editor: &mut dyn Editor) -> SvnResult<()> {
        self.driven = true;
        drive_replay(self.conn, editor)
    }
}

/// A report goes out with the command that it belongs to, as far as it is shorter than this, in bytes: a server that
/// refuses the command answers each part of the report, and must be able to do so while the client does not read.
const MAX_PIPELINED: usize = 32 << 10;

/// A report to the server. One that is dropped before its end leaves the connection in the middle of it, which is given up.
struct SvnReport<'s> {
    session: &'s SvnSession,
    conn: RefMut<'s, Connection>,
    editor: &'s mut dyn Editor,
    /// Whether the server has accepted the command.
    is_accepted: bool,
    has_ended: bool,
}

impl SvnReport<'_> {
    /// Waits until the server has accepted the command. Where it does not, it will not understand the report either, which
    /// has gone out.
    fn await_acceptance(&mut self) -> SvnResult<()> {
        if self.is_accepted {
            return Ok(());
        }
        self.is_accepted = true;
        let accepted = self.session.authenticate_reader(&mut self.conn);
        if accepted.is_err() {
            self.conn.give_up();
        }
        accepted
    }
}

impl Drop for SvnReport<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.conn.give_up();
        }
    }
}

impl Report for SvnReport<'_> {
    fn entry(&mut self, entry: &ReportEntry<'_>) -> SvnResult<()> {
        use sapwood_wire_svn::Sink as _;
        let out = self.conn.out();
        out.raw(if entry.link.is_some() { b"( link-path ( " } else { b"( set-path ( " });
        out.text(entry.path);
        if let Some(url) = entry.link {
            out.text(url);
        }
        out.rev(entry.revision);
        out.bool(entry.start_empty);
        out.bracketed_text(entry.lock_token);
        out.depth(entry.depth);
        out.raw(b") ) ");
        if out.len() >= MAX_PIPELINED {
            self.await_acceptance()?;
        }
        self.conn.flush_if_large()
    }

    fn delete_path(&mut self, path: &RelPath) -> SvnResult<()> {
        let out = self.conn.out();
        out.raw(b"( delete-path ( ");
        out.text(path);
        out.raw(b") ) ");
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> SvnResult<()> {
        self.conn.out().raw(b"( finish-report ( ) ) ");
        self.has_ended = true;
        self.await_acceptance()?;
        let Self { session, conn, editor, .. } = &mut *self;
        session.authenticate(conn)?;
        let error = match drive(&mut **conn, *editor, false) {
            Ok(Outcome::Closed | Outcome::Aborted | Outcome::ReplayFinished) => {
                conn.success();
                return conn.reply(|_| Ok(()));
            }
            Err(error) => error,
        };
        let _ = editor.abort_edit();
        if let DriveError::Editor(error) = &error {
            // The server is notified, and sends until it has read that.
            conn.failure(error);
            if skip_edit(conn).is_err() {
                conn.give_up();
            }
        }
        Err(error.into_inner())
    }

    fn abort(mut self: Box<Self>) -> SvnResult<()> {
        self.conn.out().raw(b"( abort-report ( ) ) ");
        self.has_ended = true;
        self.await_acceptance()?;
        self.conn.reply(|_| Ok(()))
    }
}

/// Passes over the rest of an edit, and the reply that ends the command.
fn skip_edit(conn: &mut Connection) -> SvnResult<()> {
    loop {
        let ended = conn.receive_tuple(|mut command| Ok(command.word()? == "abort-edit"))?;
        if ended {
            // What the server has to say about it is our own error.
            let _ = conn.reply(|_| Ok(()));
            return Ok(());
        }
    }
}

impl Edits for SvnSession {
    fn report<'s>(
        &'s self,
        request: &ReportRequest<'_>,
        editor: &'s mut dyn Editor,
    ) -> SvnResult<Box<dyn Report + 's>> {
        // Editors get paths relative to the session's URL.
        self.sync_server_url()?;
        let mut conn = self.conn()?;
        write_request(conn.out(), request);
        let is_accepted = !self.pipelines();
        if is_accepted {
            self.authenticate_reader(&mut conn)?;
        }
        Ok(Box::new(SvnReport { session: self, conn, editor, is_accepted, has_ended: false }))
    }

    fn replay(
        &self,
        revision: Revnum,
        request: &ReplayRequest,
        editor: &mut dyn Editor,
    ) -> SvnResult<()> {
        self.sync_server_url()?;
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( replay ( ");
        out.rev(revision);
        out.rev(request.low_water_mark);
        out.bool(request.send_deltas);
        out.raw(b") ) ");
        self.authenticate_new(&mut conn, "Server doesn't support the replay command")?;
        drive_replay(&mut conn, editor)?;
        conn.reply(|_| Ok(()))
    }

    fn replay_range(
        &self,
        start: Revnum,
        end: Revnum,
        request: &ReplayRequest,
        receiver: &mut dyn ReplayReceiver,
    ) -> SvnResult<()> {
        self.sync_server_url()?;
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( replay-range ( ");
        out.rev(start);
        out.rev(end);
        out.rev(request.low_water_mark);
        out.bool(request.send_deltas);
        out.raw(b") ) ");
        self.authenticate_new(&mut conn, "Server doesn't support the replay-range command")?;
        for revision in (start.0..=end.0).map(Revnum) {
            let props = conn.receive_tuple(read_revprops)?;
            let mut edit = IncomingRevision { conn: &mut conn, driven: false };
            let result = receiver.revision(revision, &props, &mut edit);
            let driven = edit.driven;
            if result.is_err() || !driven {
                // The server goes on with what is of no use any more.
                conn.give_up();
                return result;
            }
        }
        conn.reply(|_| Ok(()))
    }
}
