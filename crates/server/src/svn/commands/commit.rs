//! `commit`: the client drives an editor, and gets the new revision.

use sapwood_core::props::names as prop_names;
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};
use sapwood_fs::UnlockTarget;
use sapwood_repos::commit::{CommitEditor, CommitResult, CommitSetup};
use sapwood_wire_svn::data::read_props;
use sapwood_wire_svn::editor::{CommandSource, DriveError, Outcome, drive};
use sapwood_wire_svn::{Encode as _, Error as WireError, Item, List, Tuple};

use super::locks::unlock_all;
use crate::common::access::Action;
use crate::svn::auth::{must_have_access, trivial_auth};
use crate::svn::connection::{Connection, Wait};
use crate::svn::session::{CommandResult, Fail, Session};

impl CommandSource for Connection {
    fn next_command<T>(
        &mut self,
        look: impl FnOnce(&str, List<'_>) -> Result<T, DriveError>,
    ) -> Result<T, DriveError> {
        // Limits apply to each command of an edit, not to all of it.
        self.begin_request();
        let looked = self.receive_with(Wait::Exchange, |mut command| {
            let name = command.word()?;
            let params = command.list()?;
            Ok(look(name, params))
        });
        looked.map_err(DriveError::Source)?
    }
}

/// `commit`
pub(super) fn commit(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let message = params.bytes()?;
    // Clients before 1.2 send nothing more, those before 1.5 no properties. Both lists may be long:
    // they are read only when it is clear that the client may commit.
    let (mut tokens, mut keep_locks, mut revprops) = (None, true, None);
    if let Some(list) = params.opt_list()? {
        tokens = Some(list);
        keep_locks = params.bool()?;
        revprops = params.opt_list()?;
    }
    let has_tokens = tokens.is_some_and(|list| !list.is_empty());
    must_have_access(session, Action::Write, None, has_tokens)?;
    let tokens = match tokens {
        Some(list) => lock_tokens(session, list)?,
        None => Vec::new(),
    };
    let revprops = match revprops {
        Some(list) => read_props(list)?,
        None => [(prop_names::LOG, message)].into_iter().collect(),
    };
    session.conn.success();
    let shown = tokens.clone();
    let Some(committed) = take_edit(session, revprops, shown)? else { return Ok(()) };
    session.access.committed(&session.repository, committed.revision);
    trivial_auth(&mut session.conn);
    if !keep_locks {
        release_locks(session, tokens);
    }
    let out = session.conn.out();
    out.open();
    out.rev(committed.revision);
    out.bracketed(committed.date.as_deref());
    out.bracketed(committed.author.as_deref());
    out.bracketed_text(committed.post_commit_error.as_deref());
    out.close();
    Ok(())
}

/// Paths, relative to the session's URL, and the tokens of their locks. Ends at the first path
/// that the user may not write.
fn lock_tokens(session: &mut Session<'_>, list: List<'_>) -> Result<Vec<(String, String)>, Fail> {
    session.make_room_for(list)?;
    let mut tokens = Vec::new();
    for item in list {
        let Item::List(pair) = item else {
            return Err(WireError::Part("Lock tokens aren't a list of lists").into());
        };
        let mut pair = pair.tuple();
        let path = pair.relpath().map_err(|_| WireError::Part("Lock path isn't a string"))?;
        let token = pair.text().map_err(|_| WireError::Part("Lock token isn't a string"))?;
        let full = session.full_path(&path);
        let anonymous = session.access.user().is_none();
        if !anonymous && !session.access.may(Action::Write, Some(&full), true) {
            let error = SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, "");
            session.log_error(&error);
            return Err(Fail::Command(error));
        }
        tokens.push((path.into_owned().into_string(), token.to_owned()));
    }
    Ok(tokens)
}

/// Unlocks what was committed. Errors are only logged, since the commit is already made.
fn release_locks(session: &Session<'_>, tokens: Vec<(String, String)>) {
    let unlock =
        |(path, token): (String, String)| UnlockTarget { path: session.full_path(&path), token };
    let done = unlock_all(session, false, tokens.into_iter().map(unlock).collect());
    for error in done.each.into_iter().filter_map(|(_, result)| result.err()).chain(done.failure) {
        session.log_error(&error);
    }
}

/// Receives the edit: returns what was committed, `None` when the edit was aborted.
fn take_edit(
    session: &mut Session<'_>,
    revprops: PropList,
    lock_tokens: Vec<(String, String)>,
) -> Result<Option<CommitResult>, Fail> {
    let Session { conn, access, repository, decoded_url, fs_path, client_mergeinfo, .. } = session;
    let capabilities: &[&str] = if *client_mergeinfo { &["mergeinfo"] } else { &[] };
    let mut editor = CommitEditor::new(CommitSetup {
        repository,
        hooks: access.hooks(repository),
        url: decoded_url,
        base_path: fs_path.clone(),
        revprops,
        user: access.user(),
        lock_tokens,
        capabilities,
        authorizer: &*access,
    });
    match drive(conn, &mut editor, false) {
        Ok(Outcome::Closed) => {
            conn.success();
            Ok(editor.committed())
        }
        Ok(Outcome::Aborted | Outcome::ReplayFinished) => {
            conn.success();
            Ok(None)
        }
        Err(DriveError::Editor(error)) => {
            // Everything that the edit has written is removed before the client gets the error.
            drop(editor);
            conn.failure(&error);
            conn.flush()?;
            skip_edit(conn)?;
            Ok(None)
        }
        Err(DriveError::Failure(error) | DriveError::Source(error)) => Err(Fail::Fatal(error)),
    }
}

/// Ignores what the client sends until it has read the error. That it leaves then is no error.
fn skip_edit(conn: &mut Connection) -> SvnResult<()> {
    loop {
        conn.begin_request();
        let ended = conn.receive_with(Wait::Exchange, |mut command| {
            Ok(command.word().is_ok_and(|name| matches!(name, "abort-edit" | "success")))
        });
        match ended {
            Ok(false) => {}
            Ok(true) => return Ok(()),
            Err(error) if error.is_hang_up() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
