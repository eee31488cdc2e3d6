//! What became of nodes: mergeinfo, logs, locations, revisions of files. Each is a report with a series of small elements.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_wire_dav::report::answer;
use sapwood_wire_dav::report::drive::file_revs;
use sapwood_wire_dav::report::request;
use sapwood_wire_dav::xml::Document;

use super::client::{Call, LIMITS};
use super::log::log_entry;
use super::session::HttpSession;
use crate::log_limit::LogLimit;
use crate::session::{
    FileRev, FileRevReceiver, FileRevsRequest, History, LogReceiver, LogRequest, MergeinfoRequest,
    require_mergeinfo,
};
use crate::{RevpropSelection, Segment};

fn malformed(message: &str) -> SvnError {
    SvnError::new(ErrorCode::RA_DAV_MALFORMED_DATA, message)
}

impl History for HttpSession {
    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        require_mergeinfo(self, true)?;
        let (target, revision) = self.stable(RelPath::ROOT, request.revision)?;
        let body = request::Mergeinfo {
            revision: Some(revision),
            inherit: Some(request.inherit.word().to_owned()),
            paths: request.paths.iter().map(ToString::to_string).collect(),
            descendants: request.include_descendants,
        };
        let call = Call::new("REPORT", &target).xml(body.write());
        let mut catalog = Vec::new();
        self.client.children(&call, &[200], |child| {
            if let Some((path, info)) = answer::mergeinfo(&child)? {
                let path = RelPathBuf::canonicalize(&path);
                catalog.push((path, Mergeinfo::parse(info.as_bytes())?));
            }
            Ok(())
        })?;
        Ok(catalog)
    }

    fn log(&self, request: &LogRequest<'_>, receiver: LogReceiver<'_>) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        // The paths are those of the younger end.
        let peg = match (request.start, request.end) {
            (Some(start), Some(end)) => Some(start.max(end)),
            _ => None,
        };
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (target, peg) = self.stable(RelPath::ROOT, peg)?;
        let names = match request.revprops {
            RevpropSelection::All => None,
            RevpropSelection::Names(names) => Some(owned(names)),
        };
        let body = request::Log {
            start: Some(request.start.unwrap_or(peg)),
            end: Some(request.end.unwrap_or(peg)),
            limit: request.limit,
            changed_paths: request.changed_paths,
            strict: request.strict_node_history,
            merged: request.include_merged_revisions,
            encode_binary: true,
            revprops: names,
            paths: request.paths.iter().map(ToString::to_string).collect(),
        };
        let call = Call::new("REPORT", &target)
            .with("accept-encoding", self.client.packings())
            .xml(body.write());
        let mut limit = LogLimit::new(request.limit);
        let mut reply = self.client.run_expecting(&call, &[200])?;
        let mut document = Document::open(&mut reply, LIMITS)?;
        while let Some(child) = document.next_child()? {
            let Some(item) = answer::log_item(&child)? else { continue };
            let entry = log_entry(&item, request.revprops, request.include_merged_revisions);
            let admitted = limit.admits(item.has_children, item.revision.is_none());
            if !admitted.ok_or_else(|| malformed("log-item"))? {
                return Ok(());
            }
            // Whatever the receiver says ends the request: the connection is closed.
            entry.drive_report(&item, receiver)?;
        }
        reply.finish()
    }

    fn locations(
        &self,
        path: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        let (target, _) = self.stable(RelPath::ROOT, Some(peg))?;
        let body =
            request::Locations { path: path.to_string(), peg, revisions: revisions.to_vec() };
        let call = Call::new("REPORT", &target).xml(body.write());
        let mut found = Vec::new();
        self.client.children(&call, &[200], |child| {
            found.extend(answer::location(&child)?);
            Ok(())
        })?;
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
        let (target, _) = self.stable(RelPath::ROOT, peg)?;
        let body = request::LocationSegments { path: path.to_string(), peg, start, end };
        let call = Call::new("REPORT", &target).xml(body.write());
        self.client
            .children(&call, &[200], |child| match answer::segment(&child)? {
                Some((path, start, end)) => receiver(&Segment { start, end, path }),
                None => Ok(()),
            })
            .map(drop)
    }

    fn deleted_rev(&self, path: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>> {
        let (target, _) = self.stable(RelPath::ROOT, Some(peg))?;
        let body = request::DeletedRev { path: path.to_string(), peg, end };
        let call = Call::new("REPORT", &target).xml(body.write());
        match self.client.element(&call, &[200]) {
            Ok(root) => Ok(answer::one_revision(&root)?),
            Err(error) if error.is_unsupported() => Err(error
                .wrap(ErrorCode::RA_NOT_IMPLEMENTED, "'get-deleted-rev' REPORT not implemented")),
            Err(error) => Err(error),
        }
    }

    fn file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        let peg = match (request.start, request.end) {
            (Some(start), Some(end)) => Some(start.max(end)),
            _ => None,
        };
        let (target, _) = self.stable(RelPath::ROOT, peg)?;
        let body = request::FileRevs {
            path: request.path.to_string(),
            start: request.start,
            end: request.end,
            merged: request.include_merged_revisions,
        };
        let call = Call::new("REPORT", &target)
            .with("accept-encoding", self.client.delta_packings())
            .xml(body.write());
        let mut reply = self.client.run_expecting(&call, &[200])?;
        let document = Document::open(&mut reply, LIMITS)?;
        let count = file_revs::drive(document, &mut |head, delta| {
            let path = FsPath::new(&head.path)
                .map_err(|_| malformed("The server told a path that is not canonical"))?;
            let rev = FileRev {
                path,
                revision: head.revision,
                revprops: &head.revprops,
                merged_revision: head.merged,
                prop_changes: &head.prop_changes,
            };
            receiver.file_rev(&rev, delta)
        })?;
        reply.finish()?;
        if count == 0 {
            return Err(malformed("The file-revs report didn't return any revisions"));
        }
        Ok(())
    }
}
