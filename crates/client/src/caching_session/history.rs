//! What became of nodes: mergeinfo, logs and locations are asked once, and a line of locations says what its parts are.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Exact as _, Revnum, RevpropSelection, Segment, SvnResult};
use sapwood_ra::session::{
    FileRevReceiver, FileRevsRequest, History, LogReceiver, LogRequest, MergeinfoRequest,
};

use super::SessionWithCache;
use super::answers::{LIMIT, Past, clipped, line_key, replay_entries, to_entry};

impl SessionWithCache {
    /// Keeps that what is in a segment now was on this line.
    fn know_parts(&self, oldest: u64, segments: &[Segment]) {
        for segment in segments {
            let Some(path) = &segment.path else { continue };
            let youngest = segment.end.0;
            let part = clipped(segments, youngest, oldest);
            if youngest >= oldest && self.history.takes(part.len()) {
                let key = line_key(path, segment.end);
                let line = Past { youngest, oldest, segments: part };
                self.history.answers.borrow_mut().lines.entry(key).or_default().push(line);
            }
        }
    }
}

/// Paths, as they are seen from further up.
fn joined(above: &RelPath, paths: &[&RelPath]) -> Vec<RelPathBuf> {
    paths.iter().map(|at| above.join(at)).collect()
}

impl History for SessionWithCache {
    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        let (Some(base), Some(revision)) = (self.whole(RelPath::ROOT), request.revision) else {
            return self.there()?.mergeinfo(request);
        };
        let &MergeinfoRequest { paths, inherit, include_descendants, .. } = request;
        self.history.once(
            |answers| &mut answers.mergeinfo,
            // What comes back are paths below the session's.
            format!("{base} {paths:?}@{revision} {inherit:?} {include_descendants}"),
            || {
                let (near, above) = self.near(RelPath::ROOT)?;
                let paths = joined(&above, paths);
                let paths: Vec<&RelPath> = paths.iter().map(RelPathBuf::as_path).collect();
                let found = near.mergeinfo(&MergeinfoRequest { paths: &paths, ..*request })?;
                let own = |(at, value): (RelPathBuf, Mergeinfo)| {
                    at.below(&above).map(|below| (below.to_owned(), value))
                };
                Ok(found.into_iter().filter_map(own).collect())
            },
            |found| found.iter().map(|(_, mergeinfo)| mergeinfo.0.len()).sum(),
        )
    }

    fn log(&self, request: &LogRequest<'_>, receiver: LogReceiver<'_>) -> SvnResult<()> {
        let author_only = |names: &[&str]| names.iter().all(|name| *name == names::AUTHOR);
        let plain = matches!(request.revprops, RevpropSelection::Names(list) if author_only(list))
            && !request.include_merged_revisions;
        let (Some(base), Some(start), Some(end), true) =
            (self.whole(RelPath::ROOT), request.start, request.end, plain)
        else {
            return self.there()?.log(request, receiver);
        };
        let LogRequest { paths, limit, changed_paths, strict_node_history, .. } = request;
        let paths = joined(&base, paths);
        let with = request.revprops;
        let key = format!(
            "{paths:?} {start}:{end} {limit} {changed_paths} {strict_node_history} {with:?}"
        );
        let known = self.history.answers.borrow().logs.get(&key).cloned();
        if let Some(known) = known {
            return replay_entries(&known, receiver);
        }
        let (mut entries, mut count) = (Some(Vec::new()), 0usize);
        let mut enough = None;
        let (near, above) = self.near(RelPath::ROOT)?;
        let below = joined(&above, request.paths);
        let below: Vec<&RelPath> = below.iter().map(RelPathBuf::as_path).collect();
        let asked = LogRequest { paths: &below, ..*request };
        near.log(&asked, &mut |entry| {
            count = count.plus(entry.changes.len()).plus(1);
            match &mut entries {
                Some(all) if count <= LIMIT => all.push(to_entry(entry)),
                all => *all = None,
            }
            if enough.is_some() {
                return Ok(());
            }
            match receiver(entry) {
                // The rest comes anyhow, and another question may be about it.
                Err(error) if error.is_ceased() => {
                    enough = Some(error);
                    Ok(())
                }
                other => other,
            }
        })?;
        if let Some(entries) = entries.filter(|_| self.history.takes(count)) {
            self.history.answers.borrow_mut().logs.insert(key, entries);
        }
        enough.map_or(Ok(()), Err)
    }

    fn locations(
        &self,
        at: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        let Some(whole) = self.whole(at) else {
            return self.there()?.locations(at, peg, revisions);
        };
        self.history.once(
            |answers| &mut answers.places,
            format!("{whole}@{peg} {revisions:?}"),
            || self.near(at).and_then(|(near, at)| near.locations(&at, peg, revisions)),
            Vec::len,
        )
    }

    fn location_segments(
        &self,
        at: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let (Some(whole), Some(Revnum(youngest)), Some(Revnum(oldest))) =
            (self.whole(at), start, end)
        else {
            return self.there()?.location_segments(at, peg, start, end, receiver);
        };
        let key = peg.map(|peg| line_key(&whole, peg));
        if let Some(key) = &key {
            let known = self.history.answers.borrow().lines.get(key).and_then(|lines| {
                let line =
                    lines.iter().find(|line| line.oldest <= oldest && youngest <= line.youngest)?;
                Some(clipped(&line.segments, youngest, oldest))
            });
            if let Some(known) = known {
                return known.iter().try_for_each(receiver);
            }
        }
        let mut segments = Vec::new();
        let (near, at) = self.near(at)?;
        near.location_segments(&at, peg, start, end, &mut |segment| {
            segments.push(segment.clone());
            receiver(segment)
        })?;
        drop(near);
        self.know_parts(oldest, &segments);
        if let Some(key) = key.filter(|_| self.history.takes(segments.len())) {
            let line = Past { youngest, oldest, segments };
            self.history.answers.borrow_mut().lines.entry(key).or_default().push(line);
        }
        Ok(())
    }

    fn deleted_rev(&self, at: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>> {
        let Some(whole) = self.whole(at) else { return self.there()?.deleted_rev(at, peg, end) };
        self.history.once(
            |answers| &mut answers.deletions,
            format!("{whole}@{peg} {end}"),
            || self.near(at).and_then(|(near, at)| near.deleted_rev(&at, peg, end)),
            |_| 1,
        )
    }

    fn file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
        self.there()?.file_revs(request, receiver)
    }
}
