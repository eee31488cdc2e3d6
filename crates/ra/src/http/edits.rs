//! Reports that the server answers with an edit: update, switch, status, diff, replay.

use std::io::{Read, Seek as _, SeekFrom, Write as _};

use sapwood_core::exact::Exact;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf, Url};
use sapwood_core::{PropList, Revnum, SvnError, SvnResult, len64};
use sapwood_delta::{Editor, FullText, ReportEntry, StoredDelta, TextDelta};
use sapwood_wire_dav::report::drive::{Fetch, replay, update};
use sapwood_wire_dav::report::update::{Item, UpdateRequest};
use sapwood_wire_dav::report::{ask, request};
use sapwood_wire_dav::xml::Document;
use tempfile::SpooledTempFile;

use super::client::{Call, LIMITS};
use super::endpoints::{Bulk, path_of};
use super::pipeline::Pipeline;
use super::session::HttpSession;
use super::text_request::{is_delta, text_call};
use super::transport::Payload;
use crate::session::{Edits, ReplayRequest, Report, ReportKind, ReportRequest, SessionInfo as _};

/// Bytes of a request that are kept in memory; larger ones wait in a file.
const IN_MEMORY: usize = 256 << 10;

/// What is written before it is sent: the reports of large working copies, texts of commits.
#[derive(Debug)]
pub(super) struct Spool {
    file: SpooledTempFile,
    len: u64,
}

fn spool_error(error: std::io::Error) -> SvnError {
    SvnError::io(&error, "Can't write request body")
}

impl Spool {
    pub(super) fn new() -> Self {
        Self { file: SpooledTempFile::new(IN_MEMORY), len: 0 }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.file.write_all(bytes).map_err(spool_error)?;
        self.len = self.len.plus(len64(bytes.len()));
        Ok(())
    }

    pub(super) fn into_payload(mut self) -> SvnResult<Payload> {
        self.file.seek(SeekFrom::Start(0)).map_err(spool_error)?;
        Ok(match self.file.into_inner() {
            tempfile::SpooledData::InMemory(bytes) => Payload::Bytes(bytes.into_inner().into()),
            tempfile::SpooledData::OnDisk(file) => Payload::File(file, self.len),
        })
    }
}

/// Fetches over the same session what a report only names.
struct Fetcher<'s> {
    session: &'s HttpSession,
    ahead: Pipeline,
    /// Where the trees of revisions are, if what is at a path was there before, too: in an update.
    trees: Option<&'s str>,
}

impl Fetch for Fetcher<'_> {
    fn props(&mut self, address: &str) -> SvnResult<PropList> {
        Ok(self.session.props_at(&path_of(address))?.1)
    }

    fn has_room(&self) -> bool {
        self.ahead.has_room()
    }

    fn base(&self, address: &str, revision: Revnum) -> Option<String> {
        let path = path_of(address);
        let (now, below) = path.strip_prefix(self.trees?)?.strip_prefix('/')?.split_once('/')?;
        Revnum::parse(now.as_bytes())?;
        Some(format!("{}/{revision}/{below}", self.trees?))
    }

    fn announce(&mut self, address: &str, base: Option<&str>) {
        self.ahead.ask(&self.session.client, &path_of(address), base);
    }

    fn text(
        &mut self,
        address: &str,
        base: Option<&str>,
        take: &mut dyn FnMut(&mut dyn TextDelta) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let target = path_of(address);
        let client = &self.session.client;
        let mut give = |text: &mut dyn Read, is_delta: bool| {
            if is_delta {
                take(&mut StoredDelta::new(text))
            } else {
                take(&mut FullText::new(text))
            }
        };
        if self.ahead.text(client, &target, &mut give)? {
            return Ok(());
        }
        let mut reply = client.run_expecting(&text_call(client, &target, base), &[200])?;
        let is_delta = reply.header("content-type").is_some_and(is_delta);
        give(&mut reply, is_delta)?;
        reply.finish()
    }
}

impl HttpSession {
    /// The repository path of a URL.
    fn fspath_of(&self, url: &Url) -> SvnResult<FsPathBuf> {
        let root = self.root_url();
        url.below(&root).map(|path| path.to_fspath()).ok_or_else(|| {
            SvnError::new(
                sapwood_core::ErrorCode::RA_ILLEGAL_URL,
                format!("URL '{url}' is not in the repository '{root}'"),
            )
        })
    }

    fn replay_target(&self, revision: Revnum) -> SvnResult<(String, Option<RelPathBuf>)> {
        let by_revision = self.places.knows("replay-rev-resource");
        match &self.places.stubs {
            Some(stubs) if by_revision => {
                Ok((format!("{}/{revision}", stubs.rev), Some(self.in_repository(RelPath::ROOT))))
            }
            _ => Ok((self.public(RelPath::ROOT), None)),
        }
    }
}

impl Edits for HttpSession {
    fn report<'s>(
        &'s self,
        request: &ReportRequest<'_>,
        editor: &'s mut dyn Editor,
    ) -> SvnResult<Box<dyn Report + 's>> {
        let (destination, copyfrom, ignore_ancestry, text_deltas) = match request.kind {
            ReportKind::Update { send_copyfrom, ignore_ancestry } => {
                (None, send_copyfrom, ignore_ancestry, true)
            }
            ReportKind::Switch { url, send_copyfrom, ignore_ancestry } => {
                (Some(url), send_copyfrom, ignore_ancestry, true)
            }
            ReportKind::Status => (None, false, false, false),
            ReportKind::Diff { versus_url, ignore_ancestry, text_deltas } => {
                (Some(versus_url), false, ignore_ancestry, text_deltas)
            }
        };
        let send_all = self.places.bulk == Bulk::Allowed;
        let wanted = UpdateRequest {
            revision: request.revision,
            source: self.url().into_string(),
            destination: destination.map(ToString::to_string),
            target: request.target.to_owned(),
            depth: request.depth,
            ignore_ancestry,
            copyfrom,
            text_deltas,
            send_all,
            include_props: true,
        };
        let mut spool = Spool::new();
        spool.write(&wanted.begin())?;
        let is_update = matches!(request.kind, ReportKind::Update { .. });
        let piece = Vec::new();
        Ok(Box::new(HttpReport { session: self, editor, spool, text_deltas, is_update, piece }))
    }

    fn replay(
        &self,
        revision: Revnum,
        request: &ReplayRequest,
        editor: &mut dyn Editor,
    ) -> SvnResult<()> {
        let (target, include_path) = self.replay_target(revision)?;
        let body = request::Replay {
            // The address says it already, and twice is an error.
            revision: include_path.is_none().then_some(revision),
            low_water_mark: request.low_water_mark,
            send_deltas: request.send_deltas,
            include_path: include_path.filter(|path| !path.is_root()).map(RelPathBuf::into_string),
        };
        let call = Call::new("REPORT", &target)
            .with("accept-encoding", self.client.delta_packings())
            .xml(body.write());
        let mut reply = self.client.run_expecting(&call, &[200])?;
        let driven = Document::open(&mut reply, LIMITS)
            .map_err(SvnError::from)
            .and_then(|document| replay::drive(document, editor));
        if let Err(error) = driven {
            let _ = editor.abort_edit();
            return Err(error);
        }
        reply.finish()
    }
}

/// A report to the server: it is sent when it is complete.
struct HttpReport<'s> {
    session: &'s HttpSession,
    editor: &'s mut dyn Editor,
    spool: Spool,
    text_deltas: bool,
    is_update: bool,
    piece: Vec<u8>,
}

impl HttpReport<'_> {
    fn say(&mut self, item: &Item) -> SvnResult<()> {
        self.piece.clear();
        item.write(&mut self.piece);
        self.spool.write(&self.piece)
    }
}

impl Report for HttpReport<'_> {
    fn entry(&mut self, entry: &ReportEntry<'_>) -> SvnResult<()> {
        let &ReportEntry { path, link, revision, depth, start_empty, lock_token } = entry;
        let link = link.map(|url| self.session.fspath_of(url)).transpose()?;
        self.say(&Item::Entry {
            path: path.to_string(),
            link: link.map(FsPathBuf::into_string),
            revision,
            depth,
            start_empty,
            lock_token: lock_token.map(str::to_owned),
        })
    }

    fn delete_path(&mut self, path: &RelPath) -> SvnResult<()> {
        self.say(&Item::Missing(path.to_string()))
    }

    fn finish(self: Box<Self>) -> SvnResult<()> {
        let Self { session, editor, mut spool, text_deltas, is_update, .. } = *self;
        let trees = session.places.stubs.as_ref().filter(|_| is_update);
        let trees = trees.map(|stubs| stubs.rev_root.as_str());
        spool.write(&ask::end_update(Vec::new()))?;
        let call = Call::new("REPORT", session.places.report_target())
            .with("accept-encoding", session.client.delta_packings())
            .carrying("text/xml", spool.into_payload()?);
        let driven = session.client.run_expecting(&call, &[200]).and_then(|mut reply| {
            let document = Document::open(&mut reply, LIMITS)?;
            let ahead = Pipeline::new(session.client.options.connections);
            update::drive(document, text_deltas, editor, &mut Fetcher { session, ahead, trees })?;
            reply.finish()
        });
        if driven.is_err() {
            let _ = editor.abort_edit();
        }
        driven
    }

    fn abort(self: Box<Self>) -> SvnResult<()> {
        // Nothing was sent.
        Ok(())
    }
}
