//! Commands that begin with a report of what the working copy has and end in an edit: update,
//! switch, status, diff.

use sapwood_core::Exact;
use sapwood_core::{Depth, Revnum, SvnError, SvnResult, uri};
use sapwood_repos::{ReportWalk, Reporter};
use sapwood_wire_svn::Tuple;
use sapwood_wire_svn::editor::WireEditor;

use super::{canonical_url, or_youngest, path_below, path_of_url, unknown};
use crate::common::access::Action;
use crate::common::operation_log::Operation;
use crate::svn::auth::{must_have_access, trivial_auth};
use crate::svn::connection::Wait;
use crate::svn::session::{CommandResult, Fail, Session};

/// What the log line of a report has besides the command's own parameters.
#[derive(Default)]
struct Summary {
    entries: u64,
    /// Whether any reported entry does not start empty.
    any_filled: bool,
    /// The revision of the report's root.
    from: Option<Revnum>,
}

/// The requested depth, as a word, or as an old client's flag.
fn depth_of(word: Option<&str>, recurse: bool, flat: Depth) -> Depth {
    match word {
        Some(word) => Depth::from_word(word.as_bytes()),
        None if recurse => Depth::Infinity,
        None => flat,
    }
}

/// `update`
pub(super) fn update(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let rev = params.bracketed_rev()?;
    let target = params.relpath()?;
    let recurse = params.bool()?;
    let word = params.opt_word()?;
    let copyfrom = if word.is_some() { params.bool()? } else { false };
    let ignore_ancestry = params.opt_bool()?.unwrap_or(false);
    let depth = depth_of(word, recurse, Depth::Files);
    let path = session.full_path(&target);
    must_have_access(session, Action::Read, Some(&path), false)?;
    let rev = or_youngest(session, rev)?;
    let anchor = session.fs_path.clone();
    let request = ReportWalk {
        revision: rev,
        anchor: &anchor,
        target: &target,
        switch_to: None,
        text_deltas: true,
        depth,
        ignore_ancestry,
        send_copyfrom_args: copyfrom,
    };
    let summary = accept_report(session, &request)?;
    let (path, revision) = (path.as_path(), rev);
    session.log_command(&if summary.entries == 1 && !summary.any_filled {
        Operation::CheckoutOrExport { path, revision, depth }
    } else {
        Operation::Update { path, revision, depth, copyfrom }
    });
    Ok(())
}

/// `switch`
pub(super) fn switch(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let rev = params.bracketed_rev()?;
    let target = params.relpath()?;
    let recurse = params.bool()?;
    let url = canonical_url(params.text()?)?;
    let word = params.opt_word()?;
    let copyfrom = params.opt_bool()?;
    let ignore_ancestry = if copyfrom.is_some() { params.bool()? } else { true };
    let depth = depth_of(word, recurse, Depth::Files);
    trivial_auth(&mut session.conn);
    let rev = or_youngest(session, rev)?;
    let switch_to = path_of_url(session, &url)?;
    let path = session.full_path(&target);
    session.log_command(&Operation::Switch { path: &path, to: &switch_to, revision: rev, depth });
    let anchor = session.fs_path.clone();
    let request = ReportWalk {
        revision: rev,
        anchor: &anchor,
        target: &target,
        switch_to: Some(&switch_to),
        text_deltas: true,
        depth,
        ignore_ancestry,
        send_copyfrom_args: copyfrom.unwrap_or(false),
    };
    accept_report(session, &request).map(|_| ())
}

/// `status`
pub(super) fn status(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let target = params.relpath()?;
    let recurse = params.bool()?;
    let rev = match params.opt_list()? {
        Some(list) if !list.is_empty() => Some(list.tuple().rev()?),
        _ => None,
    };
    let depth = depth_of(params.opt_word()?, recurse, Depth::Empty);
    trivial_auth(&mut session.conn);
    let rev = or_youngest(session, rev)?;
    let path = session.full_path(&target);
    session.log_command(&Operation::Status { path: &path, revision: rev, depth });
    let anchor = session.fs_path.clone();
    let request = ReportWalk {
        revision: rev,
        anchor: &anchor,
        target: &target,
        switch_to: None,
        text_deltas: false,
        depth,
        ignore_ancestry: false,
        send_copyfrom_args: false,
    };
    accept_report(session, &request).map(|_| ())
}

/// `diff`
pub(super) fn diff(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let rev = params.bracketed_rev()?;
    let target = params.relpath()?;
    let recurse = params.bool()?;
    let ignore_ancestry = params.bool()?;
    let url = canonical_url(params.text()?)?;
    // Clients before 1.4 send neither this nor a depth.
    let text_deltas = params.opt_bool()?.unwrap_or(true);
    let depth = depth_of(params.opt_word()?, recurse, Depth::Files);
    trivial_auth(&mut session.conn);
    let rev = or_youngest(session, rev)?;
    let versus = path_of_url(session, &url)?;
    let path = session.full_path(&target);
    let anchor = session.fs_path.clone();
    let request = ReportWalk {
        revision: rev,
        anchor: &anchor,
        target: &target,
        switch_to: Some(&versus),
        text_deltas,
        depth,
        ignore_ancestry,
        send_copyfrom_args: false,
    };
    let summary = accept_report(session, &request)?;
    session.log_command(&Operation::Diff {
        path: &path,
        from: summary.from,
        versus: &versus,
        revision: rev,
        depth,
        ignore_ancestry,
    });
    Ok(())
}

/// Receives the report, drives the client's editor with the result, and sends success.
fn accept_report(session: &mut Session<'_>, request: &ReportWalk<'_>) -> Result<Summary, Fail> {
    let url = session.decoded_url.clone();
    let Session { conn, access, repository, cancel, options, .. } = session;
    let mut reporter = Some(Reporter::new(repository, request, &*access, cancel)?);
    let mut summary = Summary::default();
    // Report commands have no replies: the first error waits for the end.
    let mut error: Option<SvnError> = None;
    let mut incoming = conn.new_request();
    loop {
        conn.begin_request();
        conn.receive(Wait::Exchange, &mut incoming)?;
        let (name, params) = incoming.command()?;
        match name {
            "set-path" | "link-path" | "delete-path" => {
                let result = match &mut reporter {
                    Some(reporter) => take_entry(reporter, name, params, &url, &mut summary)?,
                    None => Ok(()),
                };
                if let Err(e) = result {
                    error.get_or_insert(e);
                    reporter = None;
                }
            }
            "finish-report" => {
                trivial_auth(conn);
                break;
            }
            "abort-report" => return finish(session, None).map(|()| summary),
            _ => {
                // The error is sent at once, and the report goes on.
                if let Fail::Command(e) = unknown(name) {
                    conn.failure(&e);
                }
            }
        }
    }
    if let Some(reporter) = reporter {
        let mut editor = WireEditor::new(conn, *options);
        if let Err(e) = reporter.finish(&mut editor) {
            error.get_or_insert(SvnError::from(e));
        }
    }
    finish(session, error).map(|()| summary)
}

fn finish(session: &mut Session<'_>, error: Option<SvnError>) -> CommandResult {
    match error {
        Some(error) => Err(Fail::Command(error)),
        None => {
            session.conn.success();
            Ok(())
        }
    }
}

/// Passes one command of a report to the reporter. The outer error is for malformed input, the
/// inner one for a report with invalid contents.
fn take_entry(
    reporter: &mut Reporter<'_>,
    name: &str,
    mut params: Tuple<'_>,
    repository_url: &str,
    summary: &mut Summary,
) -> Result<SvnResult<()>, Fail> {
    let path = params.relpath()?;
    if name == "delete-path" {
        return Ok(reporter.delete_path(&path).map_err(SvnError::from));
    }
    let url = if name == "link-path" { Some(canonical_url(params.text()?)?) } else { None };
    let rev = params.rev()?;
    let start_empty = params.bool()?;
    let token = match params.opt_list()? {
        Some(list) => list.tuple().opt_text()?,
        None => None,
    };
    let depth =
        params.opt_word()?.map_or(Depth::Infinity, |word| Depth::from_word(word.as_bytes()));
    summary.entries.tally(1);
    let Some(url) = url else {
        if path.is_empty() {
            summary.from = Some(rev);
        }
        summary.any_filled |= !start_empty;
        return Ok(reporter
            .set_path(&path, Some(rev), depth, start_empty, token)
            .map_err(SvnError::from));
    };
    let decoded = uri::decode_utf8(&url).unwrap_or(url);
    let link = match path_below(&decoded, repository_url) {
        Ok(link) => link,
        Err(error) => return Ok(Err(error)),
    };
    Ok(reporter.link_path(&path, &link, rev, depth, start_empty, token).map_err(SvnError::from))
}
