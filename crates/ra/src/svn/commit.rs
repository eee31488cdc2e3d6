//! `commit`: an editor whose calls become commands.

use std::cell::RefMut;

use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};
use sapwood_delta::{EditStep, Editor as _, Handle, StepEditor};
use sapwood_wire_svn::data::write_props;
use sapwood_wire_svn::editor::{EditSink, WireEditor};
use sapwood_wire_svn::{Encode as _, Sink};

use super::connection::Connection;
use super::session::SvnSession;
use crate::session::{
    COMPATIBLE_VERSION, CommitEditor, CommitInfo, CommitRequest, Commits, TXN_CLIENT_VERSION,
    TXN_USER_AGENT,
};

/// The session's connection, for as long as the commit takes.
struct CommitConnection<'s>(RefMut<'s, Connection>);

impl Sink for CommitConnection<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.0.buffer()
    }

    fn flush_if_large(&mut self) -> SvnResult<()> {
        self.0.flush_if_large()
    }

    fn write_through(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.0.write_through(bytes)
    }
}

impl EditSink for CommitConnection<'_> {
    fn peer_spoke(&mut self) -> SvnResult<bool> {
        self.0.peer_spoke()
    }

    fn read_reply(&mut self) -> SvnResult<()> {
        self.0.read_reply()
    }
}

/// The editor of a commit.
struct SvnCommit<'s> {
    session: &'s SvnSession,
    editor: WireEditor<CommitConnection<'s>>,
    info: Option<CommitInfo>,
    ended: bool,
}

impl Drop for SvnCommit<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // The caller has gone: what the server says is dropped.
            let _ = self.editor.abort_edit();
        }
    }
}

impl CommitEditor for SvnCommit<'_> {
    fn committed(&self) -> Option<&CommitInfo> {
        self.info.as_ref()
    }
}

impl StepEditor for SvnCommit<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        let closes = matches!(step, EditStep::CloseEdit);
        self.ended |= closes || matches!(step, EditStep::AbortEdit);
        let opened = step.apply(&mut self.editor)?;
        if closes {
            self.read_outcome()?;
        }
        Ok(opened)
    }
}

impl SvnCommit<'_> {
    /// Reads what the server says of a commit, which follows its edit.
    fn read_outcome(&mut self) -> SvnResult<()> {
        let conn = &mut self.editor.sink().0;
        self.session.authenticate(conn)?;
        let info = conn.receive_tuple(|mut tuple| {
            let revision = tuple.rev()?;
            let date = tuple.bracketed_text()?.map(str::to_owned);
            let author = tuple.bracketed_text()?.map(str::to_owned);
            let post_commit_error = match tuple.opt_list()? {
                Some(list) => list.tuple().opt_text()?.map(str::to_owned),
                None => None,
            };
            Ok(CommitInfo { revision, date, author, post_commit_error })
        })?;
        self.info = Some(info);
        Ok(())
    }
}

impl Commits for SvnSession {
    fn commit<'s>(&'s self, request: &CommitRequest<'_>) -> SvnResult<Box<dyn CommitEditor + 's>> {
        let any_revprops = self.knows("commit-revprops");
        let message = request.revprops.get(names::LOG);
        if !any_revprops && message.is_none() {
            return Err(SvnError::new(
                ErrorCode::BAD_PROPERTY_VALUE,
                "ra_svn does not support not specifying a log message with pre-1.5 servers; \
                 consider passing an empty one, or upgrading the server",
            ));
        }
        if !any_revprops && request.revprops.len() > 1 {
            return Err(SvnError::new(
                ErrorCode::RA_NOT_IMPLEMENTED,
                "Server doesn't support setting arbitrary revision properties during commit",
            ));
        }
        let mut revprops: PropList = request.revprops.clone();
        if any_revprops && self.knows("ephemeral-txnprops") {
            revprops.set(TXN_CLIENT_VERSION, COMPATIBLE_VERSION);
            revprops.set(TXN_USER_AGENT, &self.repository.user_agent);
        }
        self.sync_server_url()?;
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( commit ( ");
        out.string(message.unwrap_or(b""));
        out.open();
        for (path, token) in request.lock_tokens {
            out.open();
            out.text(path);
            out.text(token);
            out.close();
        }
        out.close();
        out.bool(request.keep_locks);
        out.open();
        write_props(out, revprops.iter());
        out.raw(b") ) ) ");
        self.authenticate(&mut conn)?;
        conn.reply(|_| Ok(()))?;
        Ok(Box::new(SvnCommit {
            session: self,
            editor: WireEditor::new(CommitConnection(conn), self.wire_options()),
            info: None,
            ended: false,
        }))
    }
}
