//! What became of nodes: mergeinfo, logs, locations, revisions of files.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Revnum, Segment, SvnResult};
use sapwood_wire_svn::data::read_log_entry;
use sapwood_wire_svn::{Encode as _, Error as WireError};

use super::file_revs::{Chunks, file_rev};
use super::log::{WantedRevprops, changed_paths, log_entry, write_log};
use super::session::SvnSession;
use super::streams::{ReceiverEnd, in_step, next};
use crate::log_limit::LogLimit;
use crate::session::{
    FileRevReceiver, FileRevsRequest, History, LogReceiver, LogRequest, MergeinfoRequest,
    once_a_path, require_mergeinfo,
};

impl History for SvnSession {
    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        require_mergeinfo(self, true)?;
        let paths = self.all_at(request.paths);
        self.exchange(
            |out| {
                out.raw(b"( get-mergeinfo ( ( ");
                for path in &paths {
                    out.text(path);
                }
                out.close();
                out.bracketed_rev(request.revision);
                out.word(request.inherit.word());
                out.bool(request.include_descendants);
                out.raw(b") ) ");
            },
            |mut reply| {
                let mut catalog = Vec::new();
                for item in reply.list()? {
                    let entry = item
                        .list()
                        .map_err(|_| WireError::Part("Mergeinfo element is not a list"))?;
                    let mut entry = entry.tuple();
                    let path = self.client_path(entry.text()?);
                    catalog.push((path, Mergeinfo::parse(entry.bytes()?)?));
                }
                Ok(catalog)
            },
        )
    }

    fn log(&self, request: &LogRequest<'_>, receiver: LogReceiver<'_>) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        if request.paths.is_empty() {
            self.sync_server_url()?;
        }
        let paths = self.all_at(request.paths);
        let wanted = WantedRevprops::of(request.revprops);
        let mut conn = self.conn()?;
        write_log(conn.out(), request, &paths);
        self.authenticate_reader(&mut conn)?;
        let (mut ceased, mut limit) = (ReceiverEnd::default(), LogLimit::new(request.limit));
        let result = loop {
            let more = next(&mut conn, "Log entry not a list", |tuple| {
                let words = read_log_entry(tuple.rest())?;
                let changes = changed_paths(&words)?;
                let mut entry = log_entry(&words, &changes, &wanted)?;
                if request.include_merged_revisions {
                    once_a_path(&mut entry.changes);
                }
                let admitted = limit.admits(entry.has_children, entry.revision.is_none());
                if !admitted.ok_or(WireError::Malformed)? {
                    return Ok(());
                }
                if ceased.0.is_some() { Ok(()) } else { ceased.note(receiver(&entry)) }
            });
            match more {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        in_step(&mut conn, result)?;
        ceased.finish(&mut conn)
    }

    fn locations(
        &self,
        path: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-locations ( ");
        out.text(&path);
        out.rev(peg);
        out.open();
        for revision in revisions {
            out.rev(*revision);
        }
        out.raw(b") ) ) ");
        self.authenticate_new(&mut conn, "'get-locations' not implemented")?;
        let mut found = Vec::new();
        while next(&mut conn, "Location entry not a list", |mut tuple| {
            let revision = tuple.rev()?;
            found.push((revision, tuple.fspath()?.into_owned()));
            Ok(())
        })? {}
        conn.reply(|_| Ok(()))?;
        Ok(found)
    }

    fn location_segments(
        &self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-location-segments ( ");
        out.text(&path);
        for revision in [peg, start, end] {
            out.bracketed_rev(revision);
        }
        out.raw(b") ) ");
        self.authenticate_new(&mut conn, "'get-location-segments' not implemented")?;
        let mut ceased = ReceiverEnd::default();
        loop {
            let more = next(&mut conn, "Location segment entry not a list", |mut tuple| {
                let (start, end) = (tuple.rev()?, tuple.rev()?);
                let mut path = tuple.tuple()?;
                let path = if path.is_empty() { None } else { Some(path.relpath()?.into_owned()) };
                if ceased.0.is_some() {
                    return Ok(());
                }
                ceased.note(receiver(&Segment { start, end, path }))
            });
            if !in_step(&mut conn, more)? {
                return ceased.finish(&mut conn);
            }
        }
    }

    fn deleted_rev(&self, path: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-deleted-rev ( ");
        out.text(&path);
        out.rev(peg);
        out.rev(end);
        out.raw(b") ) ");
        self.authenticate_new(&mut conn, "'get-deleted-rev' not implemented")?;
        match conn.reply(|mut reply| Ok(reply.rev()?)) {
            Ok(revision) => Ok(Some(revision)),
            // The protocol has no other word for "not deleted".
            Err(e) if e.code() == ErrorCode::ENTRY_MISSING_REVISION => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        let path = self.at(request.path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-file-revs ( ");
        out.text(&path);
        out.bracketed_rev(request.start);
        out.bracketed_rev(request.end);
        out.bool(request.include_merged_revisions);
        out.raw(b") ) ");
        self.authenticate_new(&mut conn, "'get-file-revs' not implemented")?;
        let mut chunks = Chunks::default();
        let mut any = false;
        loop {
            let result = file_rev(&mut conn, &mut chunks, receiver);
            if !in_step(&mut conn, result)? {
                break;
            }
            any = true;
        }
        conn.reply(|_| Ok(()))?;
        if any {
            return Ok(());
        }
        Err(WireError::Part("The get-file-revs command didn't return any revisions").into())
    }
}
