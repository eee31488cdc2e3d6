//! Commands about history: log, locations, blame.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, FileRev, Revnum, RevpropSelection, SvnError, SvnResult};
use sapwood_delta::TextDelta;
use sapwood_delta::write_svndiff;
use sapwood_repos::{
    FileRevReceiver, FileRevsRequest, LogEncoder, LogReceiver, LogRequest, LogRevision, Protocol,
    SegmentsRequest,
};
use sapwood_wire_svn::data::{
    LogHead, write_changed_path, write_log_head, write_prop_changes, write_props,
};
use sapwood_wire_svn::decode::as_revision;
use sapwood_wire_svn::editor::WireOptions;
use sapwood_wire_svn::{Encode as _, Error as WireError, Item, List, Sink as _, Tuple};

use super::revisions::reply_rev;
use super::{full_paths, strings};
use crate::common::operation_log::Operation;
use crate::svn::auth::trivial_auth;
use crate::svn::connection::Connection;
use crate::svn::session::{CommandResult, Fail, Session};

/// The properties with fields of their own in a log entry, which clients before 1.5 ask for.
const STANDARD: [&str; 3] = [names::AUTHOR, names::DATE, names::LOG];

/// Whether a log entry has a property outside the list of properties.
fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name)
}

/// The parameters of a `log` command.
struct LogParams<'a> {
    paths: List<'a>,
    start: Option<Revnum>,
    end: Option<Revnum>,
    changed_paths: bool,
    strict: bool,
    limit: u64,
    merged: bool,
    revprops: Option<Vec<&'a str>>,
}

fn read_log<'a>(mut params: Tuple<'a>) -> Result<LogParams<'a>, WireError> {
    let paths = params.list()?;
    let start = params.bracketed_rev()?;
    let end = params.bracketed_rev()?;
    let changed_paths = params.bool()?;
    let strict = params.bool()?;
    // No client asks for so many entries; a larger number means all.
    let limit = params.opt_number()?.filter(|n| i32::try_from(*n).is_ok()).unwrap_or(0);
    let mut merged = false;
    let mut revprops = Some(STANDARD.to_vec());
    if let Some(flag) = params.opt_bool()? {
        merged = flag;
        match params.word()? {
            "all-revprops" => revprops = None,
            "revprops" => {
                let names = strings(params.list()?, "Log revprop entry not a string");
                revprops = Some(names.collect::<Result<_, _>>()?);
            }
            _ => return Err(WireError::Part("Unknown revprop word in log command")),
        }
    }
    Ok(LogParams { paths, start, end, changed_paths, strict, limit, merged, revprops })
}

/// `log`
pub(super) fn log(session: &mut Session<'_>, params: Tuple<'_>) -> CommandResult {
    let params = read_log(params)?;
    let paths = full_paths(session, params.paths, "Log path entry not a string")?;
    let paths: Vec<&FsPath> = paths.iter().map(FsPathBuf::as_path).collect();
    trivial_auth(&mut session.conn);
    log_line(session, &params, &paths);
    let request = LogRequest {
        paths: &paths,
        start: params.start,
        end: params.end,
        limit: params.limit,
        changed_paths: params.changed_paths,
        strict_node_history: params.strict,
        include_merged_revisions: params.merged,
        revprops: match &params.revprops {
            None => RevpropSelection::All,
            Some(names) => RevpropSelection::Names(names),
        },
    };
    let Session { conn, access, repository, cancel, .. } = session;
    let mut sender = LogSender { conn, depth: 0 };
    let result = sapwood_repos::log_to(repository, &request, access, cancel, &mut sender);
    session.conn.out().word("done");
    result?;
    session.conn.success();
    Ok(())
}

/// Sends log entries as they come.
struct LogSender<'c> {
    conn: &'c mut Connection,
    /// How many lists of merged revisions are open.
    depth: u64,
}

impl LogReceiver for LogSender<'_> {
    fn entry(&mut self, entry: &LogRevision<'_>) -> SvnResult<()> {
        write_entry(self.conn.out(), entry, &mut self.depth);
        self.conn.flush_if_large()
    }

    fn encoder(&self) -> Option<LogEncoder> {
        // Nothing that is sent for a single revision depends on the client.
        Some(LogEncoder {
            protocol: Protocol::Svn,
            encode: |entry, out| write_entry(out, entry, &mut 0),
        })
    }

    fn encoded(&mut self, entries: &[u8]) -> SvnResult<()> {
        self.conn.out().raw(entries);
        self.conn.flush_if_large()
    }
}

fn log_line(session: &Session<'_>, params: &LogParams<'_>, paths: &[&FsPath]) {
    session.log_command(&Operation::Log {
        paths,
        start: params.start,
        end: params.end,
        limit: params.limit,
        changed_paths: params.changed_paths,
        strict: params.strict,
        merged: params.merged,
        revprops: params.revprops.as_deref(),
    });
}

/// Appends a log entry; `depth` is how many lists of merged revisions are open.
fn write_entry(out: &mut Vec<u8>, entry: &LogRevision<'_>, depth: &mut u64) {
    if entry.revision.is_none() {
        // The end of the whole log is sent in another way.
        if *depth == 0 {
            return;
        }
        *depth = depth.minus(1);
    }
    out.raw(b"( ( ");
    for change in entry.changes() {
        write_changed_path(out, &change);
    }
    out.close();
    let (mut author, mut date, mut message, mut others) = (None, None, None, 0u64);
    for (name, value) in entry.revprops() {
        match name {
            names::AUTHOR => author = Some(value),
            names::DATE => date = Some(value),
            names::LOG => message = Some(value),
            _ => others = others.plus(1),
        }
    }
    write_log_head(
        out,
        &LogHead {
            revision: entry.revision.unwrap_or(Revnum::ZERO),
            author,
            date,
            message,
            has_children: entry.has_children,
            invalid_revision: entry.revision.is_none(),
        },
    );
    out.number(others);
    out.open();
    if others > 0 {
        write_props(out, entry.revprops().filter(|(name, _)| !is_standard(name)));
    }
    out.close();
    out.bool(entry.subtractive_merge);
    out.close();
    if entry.has_children {
        *depth += 1;
    }
}

/// `get-locations`
pub(super) fn get_locations(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let peg = params.rev()?;
    let revisions = params.list()?.map(|item| match item {
        Item::Number(n) => as_revision(n),
        _ => Err(WireError::Part("Get-locations location revisions entry not a revision number")),
    });
    let revisions = revisions.collect::<Result<Vec<Revnum>, _>>()?;
    let path = session.full_path(&relative);
    trivial_auth(&mut session.conn);
    session.log_command(&Operation::GetLocations { path: &path, peg, revisions: &revisions });
    let Session { access, repository, cancel, .. } = &*session;
    let result = sapwood_repos::locations(repository, &path, peg, &revisions, access, cancel);
    let out = session.conn.out();
    if let Ok(locations) = &result {
        for (rev, path) in locations {
            out.open();
            out.rev(*rev);
            out.text(path);
            out.close();
        }
    }
    out.word("done");
    result?;
    session.conn.success();
    Ok(())
}

/// `get-location-segments`
pub(super) fn get_location_segments(
    session: &mut Session<'_>,
    mut params: Tuple<'_>,
) -> CommandResult {
    let relative = params.relpath()?;
    let peg = params.bracketed_rev()?;
    let start = params.bracketed_rev()?;
    let end = params.bracketed_rev()?;
    let path = session.full_path(&relative);
    trivial_auth(&mut session.conn);
    session.log_command(&Operation::GetLocationSegments { path: &path, peg, start, end });
    let result = location_segments(session, &path, peg, start, end);
    session.conn.out().word("done");
    result?;
    session.conn.success();
    Ok(())
}

fn location_segments(
    session: &mut Session<'_>,
    path: &FsPath,
    peg: Option<Revnum>,
    start: Option<Revnum>,
    end: Option<Revnum>,
) -> CommandResult {
    let youngest = session.repository.fs().youngest()?;
    let start = start.unwrap_or(youngest);
    let peg = peg.unwrap_or(youngest);
    let end = end.unwrap_or(Revnum::ZERO);
    let complaint = if end > start {
        "Get-location-segments end revision must not be younger than start revision"
    } else if start > peg {
        "Get-location-segments start revision must not be younger than peg revision"
    } else {
        ""
    };
    if !complaint.is_empty() {
        let error = SvnError::new(ErrorCode::FS_NO_SUCH_REVISION, complaint);
        session.log_error(&error);
        return Err(Fail::Command(error));
    }
    let Session { conn, access, repository, cancel, .. } = session;
    sapwood_repos::location_segments(
        repository,
        &SegmentsRequest { path, peg: Some(peg), start: Some(start), end: Some(end) },
        access,
        cancel,
        &mut |segment| {
            let out = conn.out();
            out.open();
            out.rev(segment.start);
            out.rev(segment.end);
            out.bracketed_text(segment.path.as_ref().map(|path| path.as_str()));
            out.close();
            conn.flush_if_large()
        },
    )?;
    Ok(())
}

/// Sends the revisions of a file as they come.
struct FileRevSender<'c> {
    conn: &'c mut Connection,
    options: WireOptions,
}

impl FileRevReceiver for FileRevSender<'_> {
    fn file_rev(&mut self, rev: &FileRev<'_>, delta: Option<&mut dyn TextDelta>) -> SvnResult<()> {
        let out = self.conn.out();
        out.open();
        out.text(rev.path);
        out.rev(rev.revision);
        out.open();
        write_props(out, rev.revprops.iter());
        out.raw(b") ( ");
        write_prop_changes(out, rev.prop_changes);
        out.close();
        out.bool(rev.merged_revision);
        out.close();
        if let Some(delta) = delta {
            let WireOptions { svndiff, compression, .. } = self.options;
            write_svndiff(delta, svndiff, compression, &mut |chunk| self.conn.put_string(chunk))?;
        }
        self.conn.out().string(b"");
        self.conn.flush_if_large()
    }
}

/// `get-file-revs`
pub(super) fn get_file_revs(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let start = params.bracketed_rev()?;
    let end = params.bracketed_rev()?;
    let merged = params.opt_bool()?.unwrap_or(false);
    let path = session.full_path(&relative);
    trivial_auth(&mut session.conn);
    session.log_command(&Operation::GetFileRevs { path: &path, start, end, merged });
    let request = FileRevsRequest { path: &path, start, end, include_merged_revisions: merged };
    let Session { conn, access, repository, cancel, options, .. } = session;
    let mut sender = FileRevSender { conn, options: *options };
    let result = sapwood_repos::file_revs(repository, &request, access, cancel, &mut sender);
    session.conn.out().word("done");
    result?;
    session.conn.success();
    Ok(())
}

/// `get-deleted-rev`
pub(super) fn get_deleted_rev(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let peg = params.rev()?;
    let end = params.rev()?;
    let path = session.full_path(&relative);
    session.log_command(&Operation::GetDeletedRev);
    trivial_auth(&mut session.conn);
    match sapwood_repos::deleted_rev(&session.repository, &path, peg, end, &session.cancel)? {
        Some(rev) => {
            reply_rev(session, rev);
            Ok(())
        }
        // The protocol has no reply for "not deleted"; clients know this error instead.
        None => Err(Fail::Command(SvnError::new(
            ErrorCode::ENTRY_MISSING_REVISION,
            format!(
                "svn protocol command 'get-deleted-rev': path '{path}' was not deleted in \
                 r{peg}-{end}; NOTE: newer clients handle this case and do not report it as an \
                 error"
            ),
        ))),
    }
}
