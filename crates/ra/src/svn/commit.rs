//! `commit`: an editor whose calls become commands.

use std::cell::RefMut;

use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, Md5, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta};
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

    fn relieve(&mut self) -> SvnResult<()> {
        self.0.relieve()
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

impl Editor for SvnCommit<'_> {
    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        self.editor.set_target_revision(revision)
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        self.editor.open_root(base)
    }

    fn delete_entry(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        self.editor.delete_entry(path, revision, parent)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.editor.add_directory(path, parent, copy_from)
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.editor.open_directory(path, parent, base)
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.editor.change_dir_prop(dir, name, value)
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        self.editor.close_directory(dir)
    }

    fn absent_directory(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        self.editor.absent_directory(path, parent)
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.editor.add_file(path, parent, copy_from)
    }

    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.editor.open_file(path, parent, base)
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        self.editor.apply_textdelta(file, base, delta)
    }

    fn change_file_prop(
        &mut self,
        file: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        self.editor.change_file_prop(file, name, value)
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        self.editor.close_file(file, text)
    }

    fn absent_file(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        self.editor.absent_file(path, parent)
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        self.ended = true;
        self.editor.close_edit()?;
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

    fn abort_edit(&mut self) -> SvnResult<()> {
        self.ended = true;
        self.editor.abort_edit()
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
