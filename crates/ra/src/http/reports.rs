//! Requests that are answered with a series of small elements.

use sapwood_core::exact::Exact;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_wire_dav::report::answer;
use sapwood_wire_dav::report::drive::file_revs;
use sapwood_wire_dav::report::request::{self, ListFields};
use sapwood_wire_dav::xml::Document;

use super::client::{Call, LIMITS};
use super::session::HttpSession;
use crate::session::{
    Dirent, FileRev, FileRevReceiver, FileRevsRequest, InheritedProps, ListRequest, LogChange,
    LogEntry, LogRequest, MergeinfoRequest, once_a_path,
};
use crate::{RevpropSelection, Segment};

fn malformed(message: &str) -> SvnError {
    SvnError::new(ErrorCode::RA_DAV_MALFORMED_DATA, message)
}

/// An entry of a log as receivers want it, borrowed from what was read.
fn log_entry(item: &answer::LogItem, wanted: RevpropSelection<'_>, merged: bool) -> Entry {
    let is_wanted = |name: &str| match wanted {
        RevpropSelection::All => true,
        RevpropSelection::Names(names) => names.contains(&name),
    };
    Entry {
        revprops: (0..item.revprops.len())
            .filter(|at| item.revprops.get(*at).is_some_and(|(name, _)| is_wanted(name)))
            .collect(),
        merged,
    }
}

/// Which properties of an item are sent.
struct Entry {
    revprops: Vec<usize>,
    merged: bool,
}

impl Entry {
    fn drive_report(
        &self,
        item: &answer::LogItem,
        receiver: &mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let mut changes: Vec<LogChange<'_>> = item
            .changes
            .iter()
            .map(|change| LogChange {
                path: &change.path,
                action: change.action,
                copy_from: change.copy_from.as_ref().map(|(path, rev)| (path.as_path(), *rev)),
                kind: change.kind,
                text_mod: change.text_mod,
                prop_mod: change.prop_mod,
            })
            .collect();
        if self.merged {
            once_a_path(&mut changes);
        }
        let revprops = self.revprops.iter().filter_map(|at| item.revprops.get(*at));
        receiver(&LogEntry {
            revision: item.revision,
            has_children: item.has_children,
            subtractive_merge: item.subtractive_merge,
            changes,
            revprops: revprops.map(|(name, value)| (name.as_str(), value.as_slice())).collect(),
        })
    }
}

impl HttpSession {
    pub(super) fn stream_log(
        &self,
        request: &LogRequest<'_>,
        receiver: &mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
    ) -> SvnResult<()> {
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
        let (mut nesting, mut count) = (0u64, 0u64);
        let mut reply = self.client.run_expecting(&call, &[200])?;
        let mut document = Document::open(&mut reply, LIMITS)?;
        while let Some(child) = document.next_child()? {
            let Some(item) = answer::log_item(&child)? else { continue };
            let entry = log_entry(&item, request.revprops, request.include_merged_revisions);
            if nesting == 0 {
                count = count.plus(1);
            }
            // Old servers know no limit.
            if request.limit > 0 && nesting == 0 && count > request.limit {
                return Ok(());
            }
            if item.has_children {
                nesting = nesting.plus(1);
            }
            if item.revision.is_none() {
                nesting = nesting.checked_sub(1).ok_or_else(|| malformed("log-item"))?;
            }
            // Whatever the receiver says ends the request: the connection is closed.
            entry.drive_report(&item, receiver)?;
        }
        reply.finish()
    }

    pub(super) fn list_below(
        &self,
        request: &ListRequest<'_>,
        receiver: &mut dyn FnMut(&FsPath, &Dirent) -> SvnResult<()>,
    ) -> SvnResult<()> {
        if !self.places.knows("list") {
            return Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, ""));
        }
        let (target, revision) = self.stable(RelPath::ROOT, request.revision)?;
        let fields = request.fields;
        let patterns = request.patterns;
        let body = request::List {
            path: request.path.to_string(),
            revision: Some(revision),
            depth: request.depth,
            patterns: patterns.map(|p| p.iter().map(|pattern| (*pattern).to_owned()).collect()),
            fields: ListFields {
                kind: fields.kind,
                size: fields.size,
                has_props: fields.has_props,
                created_rev: fields.created_rev,
                date: fields.time,
                author: fields.last_author,
            },
        };
        let call = Call::new("REPORT", &target)
            .with("accept-encoding", self.client.packings())
            .xml(body.write());
        self.client
            .children(&call, &[200], |child| {
                let Some(item) = answer::list_item(&child)? else { return Ok(()) };
                let is_dir = item.kind == Some(sapwood_core::NodeKind::Dir);
                let dirent = Dirent {
                    kind: item.kind,
                    size: item.size.filter(|_| !is_dir),
                    has_props: item.has_props,
                    created_rev: item.created_rev.unwrap_or(Revnum::ZERO),
                    time: item.date,
                    last_author: item.author,
                };
                receiver(&item.path, &dirent)
            })
            .map(drop)
    }

    pub(super) fn fetch_inherited(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<InheritedProps> {
        if !self.places.knows("inherited-props") {
            return Err(SvnError::new(ErrorCode::RA_NOT_IMPLEMENTED, ""));
        }
        let (target, revision) = self.stable(RelPath::ROOT, revision)?;
        let body = request::InheritedProps { path: path.to_string(), revision: Some(revision) };
        let call = Call::new("REPORT", &target).xml(body.write());
        let mut found = InheritedProps::new();
        self.client.children(&call, &[200], |child| {
            found.extend(answer::inherited(&child)?);
            Ok(())
        })?;
        Ok(found)
    }

    pub(super) fn fetch_mergeinfo(
        &self,
        request: &MergeinfoRequest<'_>,
    ) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
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

    pub(super) fn fetch_locations(
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

    pub(super) fn stream_segments(
        &self,
        path: &RelPath,
        (peg, start, end): (Option<Revnum>, Option<Revnum>, Option<Revnum>),
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

    pub(super) fn fetch_deleted_rev(
        &self,
        path: &RelPath,
        peg: Revnum,
        end: Revnum,
    ) -> SvnResult<Option<Revnum>> {
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

    pub(super) fn stream_file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
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
