//! The commands of the protocol.
//!
//! Each is a function of the session and the command's parameters that appends its whole reply,
//! including the challenge before it. An error that the client should get becomes a failure reply.

mod commit;
mod history;
mod locks;
mod nodes;
mod replay;
mod report;
mod revisions;
mod writes;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_wire_svn::{Error as WireError, Item, List, Tuple};

use crate::common::ending::WriteInProgress;
use crate::svn::session::{CommandResult, Fail, Session};

/// The commands, as they are counted.
pub(crate) const NAMES: &[&str] = &[
    "reparent",
    "get-latest-rev",
    "get-dated-rev",
    "rev-proplist",
    "rev-prop",
    "get-file",
    "get-dir",
    "check-path",
    "stat",
    "list",
    "get-iprops",
    "get-mergeinfo",
    "get-lock",
    "get-locks",
    "log",
    "get-locations",
    "get-location-segments",
    "get-file-revs",
    "get-deleted-rev",
    "update",
    "switch",
    "status",
    "diff",
    "replay",
    "replay-range",
    "commit",
    "change-rev-prop",
    "change-rev-prop2",
    "lock",
    "lock-many",
    "unlock",
    "unlock-many",
];

/// Those that change something, which the server waits for before it ends.
const WRITES: [&str; 7] =
    ["commit", "change-rev-prop", "change-rev-prop2", "lock", "lock-many", "unlock", "unlock-many"];

/// Begins a command that changes something: the server does not end before the result is dropped.
///
/// # Errors
/// E210002 when the server is to end.
pub(crate) fn begin_write(
    session: &Session<'_>,
    name: &str,
) -> Result<Option<WriteInProgress>, Fail> {
    if !WRITES.contains(&name) {
        return Ok(None);
    }
    let refused = || {
        let message = "The server is shutting down; try again later";
        Fail::Command(SvnError::new(ErrorCode::RA_SVN_CONNECTION_CLOSED, message))
    };
    session.shared.ending.begin_write().map(Some).ok_or_else(refused)
}

/// Runs the command `name`.
///
/// # Errors
/// The error that stopped the command.
pub(crate) fn run(session: &mut Session<'_>, name: &str, params: Tuple<'_>) -> CommandResult {
    // Changes that other protocols have acknowledged must be visible here.
    session.shared.commit_pending(session.repository.path());
    match name {
        "reparent" => revisions::reparent(session, params),
        "get-latest-rev" => revisions::get_latest_rev(session),
        "get-dated-rev" => revisions::get_dated_rev(session, params),
        "rev-proplist" => revisions::rev_proplist(session, params),
        "rev-prop" => revisions::rev_prop(session, params),
        "get-file" => nodes::get_file(session, params),
        "get-dir" => nodes::get_dir(session, params),
        "check-path" => nodes::check_path(session, params),
        "stat" => nodes::stat(session, params),
        "list" => nodes::list(session, params),
        "get-iprops" => nodes::get_iprops(session, params),
        "get-mergeinfo" => nodes::get_mergeinfo(session, params),
        "get-lock" => locks::get_lock(session, params),
        "get-locks" => locks::get_locks(session, params),
        "log" => history::log(session, params),
        "get-locations" => history::get_locations(session, params),
        "get-location-segments" => history::get_location_segments(session, params),
        "get-file-revs" => history::get_file_revs(session, params),
        "get-deleted-rev" => history::get_deleted_rev(session, params),
        "update" => report::update(session, params),
        "switch" => report::switch(session, params),
        "status" => report::status(session, params),
        "diff" => report::diff(session, params),
        "replay" => replay::replay(session, params),
        "replay-range" => replay::replay_range(session, params),
        "commit" => commit::commit(session, params),
        "change-rev-prop" => writes::change_rev_prop(session, params),
        "change-rev-prop2" => writes::change_rev_prop2(session, params),
        "lock" => locks::lock(session, params),
        "lock-many" => locks::lock_many(session, params),
        "unlock" => locks::unlock(session, params),
        "unlock-many" => locks::unlock_many(session, params),
        _ => Err(unknown(name)),
    }
}

/// The error for an unknown command. (The reference has the same message for commands of every
/// kind.)
fn unknown(name: &str) -> Fail {
    Fail::Command(SvnError::new(
        ErrorCode::RA_SVN_UNKNOWN_CMD,
        format!("Unknown editor command '{name}'"),
    ))
}

/// The requested revision, or the youngest.
fn or_youngest(session: &Session<'_>, rev: Option<Revnum>) -> Result<Revnum, Fail> {
    Ok(match rev {
        Some(rev) => rev,
        None => session.repository.fs().youngest()?,
    })
}

/// The fspath of a decoded URL within the repository. As in the reference, the part after the
/// repository's URL is not changed.
fn path_of_url(session: &Session<'_>, url: &str) -> Result<FsPathBuf, Fail> {
    let decoded = sapwood_core::uri::decode_utf8(url).unwrap_or_else(|| url.to_owned());
    path_below(&decoded, &session.decoded_url).map_err(Fail::Command)
}

/// The fspath that a decoded URL has below that of the repository. `/r.other` is not below `/r`.
fn path_below(decoded: &str, repository_url: &str) -> SvnResult<FsPathBuf> {
    match decoded.strip_prefix(repository_url) {
        Some(path) if path.is_empty() || path.starts_with('/') => Ok(FsPathBuf::canonicalize(path)),
        _ => Err(SvnError::new(
            ErrorCode::RA_ILLEGAL_URL,
            format!("'{decoded}' is not the same repository as '{repository_url}'"),
        )),
    }
}

/// The canonical form of a URL that the client sent.
fn canonical_url(url: &str) -> Result<String, Fail> {
    sapwood_core::uri::canonicalize(url)
        .map_err(|e| Fail::Fatal(SvnError::new(ErrorCode::BAD_URL, e.to_string())))
}

/// Strings of a list, with the error for anything else.
fn strings<'a>(
    list: List<'a>,
    otherwise: &'static str,
) -> impl Iterator<Item = Result<&'a str, WireError>> {
    list.map(move |item| match item {
        Item::Text(text) => sapwood_wire_svn::decode::as_text(text),
        _ => Err(WireError::Part(otherwise)),
    })
}

/// The paths in the repository that a list names, with the error for what is no string.
fn full_paths(
    session: &mut Session<'_>,
    list: List<'_>,
    otherwise: &'static str,
) -> Result<Vec<FsPathBuf>, Fail> {
    session.make_room_for(list)?;
    let full = |path| session.full_path(&sapwood_core::path::canonical_relpath(path));
    Ok(strings(list, otherwise).map(|path| path.map(full)).collect::<Result<_, _>>()?)
}
