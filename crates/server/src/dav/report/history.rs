//! Reports about history: log, locations, blame, dates.

use std::sync::Arc;

use bytes::Bytes;
use sapwood_core::FsPath;
use sapwood_core::date::Timestamp;
use sapwood_core::exact::Exact;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, FileRev, Revnum, RevpropSelection, SvnError, SvnResult};
use sapwood_delta::{TextDelta, Version};
use sapwood_fs::EncodedEntries;
use sapwood_repos::{
    FileRevReceiver, FileRevsRequest, LogEncoder, LogReceiver, LogRequest, LogRevision, Protocol,
    SegmentsRequest,
};
use sapwood_wire_dav::report::{Sink as _, log as wire, reply, request};
use sapwood_wire_dav::xml::{Element, Xml as _};

use super::super::exchange::Exchange;
use super::super::fail::{DavResult, Fail};
use super::super::session::Session;
use super::{full_path, readable_path};
use crate::common::operation_log::Operation;

/// All entries of a span, which live as long as a client has not got them.
struct SharedEntries(Arc<EncodedEntries>);

impl AsRef<[u8]> for SharedEntries {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// Sends log entries as they come.
struct LogSender<'e> {
    exchange: &'e mut Exchange,
    encode_binary: bool,
    /// How many lists of merged revisions are open.
    depth: u64,
}

impl LogReceiver for LogSender<'_> {
    fn entry(&mut self, entry: &LogRevision<'_>) -> SvnResult<()> {
        if entry.revision.is_none() {
            // The end of the whole log is sent in another way.
            if self.depth == 0 {
                return Ok(());
            }
            self.depth = self.depth.minus(1);
        }
        if entry.has_children {
            self.depth = self.depth.plus(1);
        }
        write_entry(entry, self.exchange.out(), self.encode_binary);
        self.exchange.flush_if_large()
    }

    fn encoder(&self) -> Option<LogEncoder> {
        Some(if self.encode_binary {
            LogEncoder {
                protocol: Protocol::DavEncoded,
                encode: |entry, out| write_entry(entry, out, true),
            }
        } else {
            LogEncoder {
                protocol: Protocol::Dav,
                encode: |entry, out| write_entry(entry, out, false),
            }
        })
    }

    fn encoded(&mut self, entries: &[u8]) -> SvnResult<()> {
        self.exchange.out().extend_from_slice(entries);
        self.exchange.flush_if_large()
    }

    fn encoded_entries(
        &mut self,
        entries: &Arc<EncodedEntries>,
        youngest_first: bool,
    ) -> SvnResult<()> {
        match entries.whole(youngest_first) {
            Some(_) => {
                self.exchange.write_kept(Bytes::from_owner(SharedEntries(Arc::clone(entries))))
            }
            None => entries.pieces(youngest_first).try_for_each(|piece| self.encoded(piece)),
        }
    }
}

fn write_entry(entry: &LogRevision<'_>, out: &mut Vec<u8>, encode_binary: bool) {
    wire::begin_entry(out);
    for change in entry.changes() {
        wire::change(
            out,
            &wire::Change {
                path: change.path,
                action: change.action,
                copy_from: change.copy_from.map(|(path, rev)| (rev, path.as_str())),
                kind: change.kind,
                text_mod: change.text_mod,
                prop_mod: change.prop_mod,
            },
        );
    }
    wire::revision(out, entry.revision);
    for (name, value) in entry.revprops() {
        wire::revprop(out, name, value, encode_binary);
    }
    wire::end_entry(out, entry.has_children, entry.subtractive_merge);
}

pub(super) fn log(session: &Session<'_>, root: &Element, exchange: &mut Exchange) -> DavResult {
    let asked = request::Log::read(root)?;
    let paths = asked.paths.iter().map(|p| full_path(session, p)).collect::<Result<Vec<_>, _>>()?;
    let paths: Vec<&FsPath> = paths.iter().map(FsPathBuf::as_path).collect();
    let names: Option<Vec<&str>> =
        asked.revprops.as_ref().map(|names| names.iter().map(String::as_str).collect());
    session.log_command(&Operation::Log {
        paths: &paths,
        start: asked.start,
        end: asked.end,
        limit: asked.limit,
        changed_paths: asked.changed_paths,
        strict: asked.strict,
        merged: asked.merged,
        revprops: names.as_deref(),
    });
    let request = LogRequest {
        paths: &paths,
        start: asked.start,
        end: asked.end,
        limit: asked.limit,
        changed_paths: asked.changed_paths,
        strict_node_history: asked.strict,
        include_merged_revisions: asked.merged,
        revprops: names.as_deref().map_or(RevpropSelection::All, RevpropSelection::Names),
    };
    wire::begin(exchange.out());
    let mut sender = LogSender { exchange, encode_binary: asked.encode_binary, depth: 0 };
    sapwood_repos::log_to(
        &session.repository,
        &request,
        &session.access,
        &session.shared.server.cancel,
        &mut sender,
    )?;
    wire::end(exchange.out());
    Ok(())
}

pub(super) fn dated_rev(
    session: &Session<'_>,
    root: &Element,
    exchange: &mut Exchange,
) -> DavResult {
    let date = request::dated_rev(root)?;
    session.log_command(&Operation::GetDatedRev { date });
    let time = Timestamp::parse(date.as_bytes()).map_err(SvnError::from)?;
    let rev = session.repository.fs().dated_revision(time.0)?;
    reply::one_revision(exchange.out(), "dated-rev-report", Some(rev));
    Ok(())
}

pub(super) fn locations(
    session: &Session<'_>,
    root: &Element,
    exchange: &mut Exchange,
) -> DavResult {
    let asked = request::Locations::read(root)?;
    let path = full_path(session, &asked.path)?;
    session.log_command(&Operation::GetLocations {
        path: &path,
        peg: asked.peg,
        revisions: &asked.revisions,
    });
    let found = sapwood_repos::locations(
        &session.repository,
        &path,
        asked.peg,
        &asked.revisions,
        &session.access,
        &session.shared.server.cancel,
    )?;
    let out = exchange.out();
    reply::begin(out, "get-locations-report");
    for (rev, path) in &found {
        reply::location(out, *rev, path);
    }
    reply::end(out, "get-locations-report");
    Ok(())
}

pub(super) fn location_segments(
    session: &Session<'_>,
    root: &Element,
    exchange: &mut Exchange,
) -> DavResult {
    let asked = request::LocationSegments::read(root)?;
    let path = full_path(session, &asked.path)?;
    session.log_command(&Operation::GetLocationSegments {
        path: &path,
        peg: asked.peg,
        start: asked.start,
        end: asked.end,
    });
    let youngest = session.youngest()?;
    let peg = asked.peg.unwrap_or(youngest);
    let start = asked.start.unwrap_or(peg);
    let end = asked.end.unwrap_or(Revnum::ZERO);
    let complaint = if end > start {
        "End revision must not be younger than start revision"
    } else if start > peg {
        "Start revision must not be younger than peg revision"
    } else {
        ""
    };
    if !complaint.is_empty() {
        let error = SvnError::new(ErrorCode::FS_NO_SUCH_REVISION, complaint);
        return Err(Fail::with(error, 400));
    }
    reply::begin(exchange.out(), "get-location-segments-report");
    sapwood_repos::location_segments(
        &session.repository,
        &SegmentsRequest { path: &path, peg: Some(peg), start: Some(start), end: Some(end) },
        &session.access,
        &session.shared.server.cancel,
        &mut |segment| {
            reply::segment(
                exchange.out(),
                segment.path.as_ref().map(|path| path.as_str()),
                segment.start,
                segment.end,
            );
            exchange.flush_if_large()
        },
    )?;
    reply::end(exchange.out(), "get-location-segments-report");
    Ok(())
}

/// Sends the revisions of a file as they come.
struct FileRevSender<'e> {
    exchange: &'e mut Exchange,
    version: Version,
    level: u8,
}

impl FileRevReceiver for FileRevSender<'_> {
    fn file_rev(&mut self, rev: &FileRev<'_>, delta: Option<&mut dyn TextDelta>) -> SvnResult<()> {
        let out = self.exchange.out();
        out.raw("<S:file-rev");
        out.attribute("path", rev.path);
        out.raw(" rev=\"");
        out.number(rev.revision.0);
        out.raw("\">\n");
        for (name, value) in rev.revprops.iter() {
            reply::prop(out, "S:rev-prop", name, Some(value));
        }
        for (name, value) in rev.prop_changes {
            reply::prop(out, "S:set-prop", name, value.as_deref());
        }
        if rev.merged_revision {
            out.raw("<S:merged-revision/>");
        }
        if let Some(delta) = delta {
            out.raw("<S:txdelta>");
            reply::text_delta(self.exchange, delta, self.version, self.level)?;
            self.exchange.out().raw("</S:txdelta>");
        }
        self.exchange.out().raw("</S:file-rev>\n");
        self.exchange.flush_if_large()
    }
}

pub(super) fn file_revs(
    session: &Session<'_>,
    root: &Element,
    exchange: &mut Exchange,
) -> DavResult {
    let asked = request::FileRevs::read(root)?;
    let path = full_path(session, &asked.path)?;
    session.log_command(&Operation::GetFileRevs {
        path: &path,
        start: asked.start,
        end: asked.end,
        merged: asked.merged,
    });
    let request = FileRevsRequest {
        path: &path,
        start: asked.start,
        end: asked.end,
        include_merged_revisions: asked.merged,
    };
    reply::begin(exchange.out(), "file-revs-report");
    let mut sender = FileRevSender {
        exchange,
        version: session.svndiff().unwrap_or(Version::V0),
        level: session.shared.server.settings.compression,
    };
    let sent = sapwood_repos::file_revs(
        &session.repository,
        &request,
        &session.access,
        &session.shared.server.cancel,
        &mut sender,
    );
    sent.map_err(|error| match Fail::from(error) {
        Fail::Error(error, _) if error.is_no_path() => Fail::Missing,
        fail => fail,
    })?;
    reply::end(exchange.out(), "file-revs-report");
    Ok(())
}

pub(super) fn deleted_rev(
    session: &Session<'_>,
    root: &Element,
    exchange: &mut Exchange,
) -> DavResult {
    let asked = request::DeletedRev::read(root)?;
    let path = readable_path(session, &asked.path)?;
    session.log_command(&Operation::GetDeletedRev);
    let rev = sapwood_repos::deleted_rev(
        &session.repository,
        &path,
        asked.peg,
        asked.end,
        &session.shared.server.cancel,
    )?;
    reply::one_revision(exchange.out(), "get-deleted-rev-report", rev);
    Ok(())
}
