//! Logs of paths, with the revisions that were merged into them.
//!
//! A revision that changes mergeinfo has children: the revisions that it merged, searched for in
//! the merge sources, which may have children again. Searches nest on a stack of our own.

use sapwood_core::exact::clamped;
use sapwood_core::len64;
use std::collections::{HashSet, VecDeque};

use sapwood_core::FsPath;
use sapwood_core::Revnum;
use sapwood_core::mergeinfo::{Mergeinfo, RangeList};
use sapwood_core::path;
use sapwood_core::paths::FsPathBuf;
use sapwood_fs::read_ahead::{BATCH as AHEAD_BATCH, ColdReads};

use super::entry_maker::EntryMaker;
use super::search::Search;
use super::{LogRun, Origin, ReadableChanges, readable};
use crate::error::Result;
use crate::locations::{SegmentsRequest, location_segments};
use crate::mergeinfo::changes::{MergeinfoChange, merged_in};

/// A range of revisions (both ends in it) and the paths they were merged from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MergedRange {
    first: u64,
    last: u64,
    paths: Vec<FsPathBuf>,
    reverse: bool,
}

/// The state of a request with merged revisions.
struct MergeState {
    /// The natural history of the requested paths: merged revisions in it are not sent again.
    target_history: Mergeinfo,
    /// Merged revisions that were sent.
    sent: HashSet<Revnum>,
    /// Which revisions of which paths were searched; `None` when that is not recorded (oldest
    /// first, as in the reference).
    processed: Option<Mergeinfo>,
}

/// A level of the stack.
enum Frame {
    /// A search for merged revisions, and its key for detecting cycles.
    Search(Search, MergedRange),
    /// Ranges still to be searched, the next one last.
    Ranges(Vec<MergedRange>),
}

impl LogRun<'_> {
    /// The log of `self.request.paths`.
    pub(super) fn paths(
        &mut self,
        oldest: Revnum,
        youngest: Revnum,
        descending: bool,
    ) -> Result<()> {
        let mut state = MergeState {
            target_history: Mergeinfo::new(),
            sent: HashSet::new(),
            processed: descending.then(Mergeinfo::new),
        };
        if self.request.include_merged_revisions {
            state.target_history = self.natural_history(oldest, youngest)?;
        }
        let paths = self.request.paths;
        if paths.is_empty() {
            return Ok(());
        }
        let mut search = Search::new(self, paths, oldest, youngest, false)?;
        if descending && !self.request.include_merged_revisions {
            return self.youngest_first(&mut search, &mut state);
        }
        if descending {
            let mut sent = 0u64;
            while let Some(revision) = search.next(self.authorizer, self.cancel)? {
                let change = self.children(&search, revision)?;
                self.one(revision, &change, &mut state)?;
                sent = sent.saturating_add(1);
                if self.request.limit > 0 && sent >= self.request.limit {
                    break;
                }
            }
            return Ok(());
        }
        let mut found = Vec::new();
        while let Some(revision) = search.next(self.authorizer, self.cancel)? {
            found.push((revision, self.children(&search, revision)?));
        }
        let limit = match self.request.limit {
            0 => usize::MAX,
            n => clamped(n),
        };
        for (revision, change) in found.iter().rev().take(limit) {
            self.one(*revision, change, &mut state)?;
        }
        Ok(())
    }

    /// A log without merged revisions, youngest first. While it has to read, some revisions are
    /// searched ahead of what is sent, so that what they need is being read meanwhile.
    fn youngest_first(&mut self, search: &mut Search, state: &mut MergeState) -> Result<()> {
        let no_change = MergeinfoChange::default();
        let wanted = self.wanted();
        let mut left = if self.request.limit > 0 { self.request.limit } else { u64::MAX };
        let mut ahead = ColdReads::new(self.fs);
        let mut maker: Option<EntryMaker> = None;
        // What is to be sent now, known to the other thread if there is one, and what that thread
        // works on meanwhile.
        let (mut now, mut next) = (VecDeque::new(), VecDeque::new());
        let mut ended = Ok(false);
        while left > 0 {
            let pending = len64(now.len());
            if matches!(ended, Ok(false)) && pending < left {
                let is_cold = ahead.is_cold();
                let most = if is_cold || maker.is_some() { AHEAD_BATCH } else { 1 };
                let most = u64::try_from(most).unwrap_or(1).min(left.saturating_sub(pending));
                ended = self.search_some(search, most, &mut next);
                if is_cold && maker.is_none() {
                    for revision in next.iter().skip(1) {
                        self.fs.will_need_revision(*revision, wanted, &mut self.revprops);
                    }
                }
                if let Some(maker) = &maker {
                    maker.give(next.iter().copied());
                }
            }
            if maker.is_none() {
                now.append(&mut next);
            }
            while let Some(revision) = now.pop_front() {
                if let Some(maker) = &mut maker {
                    maker.next();
                }
                self.one(revision, &no_change, state)?;
                left = left.saturating_sub(1);
            }
            if next.is_empty() {
                match ended {
                    Ok(false) => {}
                    Ok(true) => break,
                    Err(error) => return Err(error),
                }
            }
            if maker.is_none() && ahead.was_cold() && left > 1 {
                let start = |encoder| EntryMaker::start(self.fs, wanted, encoder);
                maker = self.span_encoder().and_then(start);
            }
            std::mem::swap(&mut now, &mut next);
        }
        Ok(())
    }

    /// Searches for so many more revisions. Returns whether the search is complete.
    fn search_some(
        &self,
        search: &mut Search,
        most: u64,
        found: &mut VecDeque<Revnum>,
    ) -> Result<bool> {
        for _ in 0..most {
            match search.next(self.authorizer, self.cancel)? {
                Some(revision) => found.push_back(revision),
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// What the mergeinfo of the searched paths gained and lost in `revision`.
    fn children(&self, search: &Search, revision: Revnum) -> Result<MergeinfoChange> {
        if self.request.include_merged_revisions {
            merged_in(self.fs, &search.paths(), revision)
        } else {
            Ok(MergeinfoChange::default())
        }
    }

    /// Sends a revision of the requested paths and what was merged in it.
    fn one(
        &mut self,
        revision: Revnum,
        change: &MergeinfoChange,
        state: &mut MergeState,
    ) -> Result<()> {
        let has_children = !change.is_empty();
        self.send(revision, Origin { has_children, subtractive: false })?;
        if has_children { self.merged_revisions(change, state) } else { Ok(()) }
    }

    /// Sends the revisions that a change of mergeinfo names, and those merged into them.
    fn merged_revisions(&mut self, change: &MergeinfoChange, state: &mut MergeState) -> Result<()> {
        let mut stack = vec![Frame::Ranges(ranges_of(change))];
        while let Some(top) = stack.last_mut() {
            match top {
                Frame::Ranges(ranges) => match ranges.pop() {
                    None => {
                        stack.pop();
                        self.send_end()?;
                    }
                    Some(range) => {
                        if let Some(frame) = self.open(range, state, &stack)? {
                            stack.push(frame);
                        }
                    }
                },
                Frame::Search(search, _) => match search.next(self.authorizer, self.cancel)? {
                    None => {
                        stack.pop();
                    }
                    Some(revision) => {
                        let subtractive = search.subtractive;
                        let change = merged_in(self.fs, &search.paths(), revision)?;
                        let has_children = !change.is_empty();
                        self.send_merged(revision, Origin { has_children, subtractive }, state)?;
                        if has_children {
                            stack.push(Frame::Ranges(ranges_of(&change)));
                        }
                    }
                },
            }
        }
        Ok(())
    }

    /// Starts the search of a range, unless it was searched before.
    fn open(
        &self,
        mut range: MergedRange,
        state: &mut MergeState,
        stack: &[Frame],
    ) -> Result<Option<Frame>> {
        if let Some(processed) = &mut state.processed {
            reduce(&mut range, processed);
            if !range.paths.is_empty() {
                mark_processed(&range, processed);
            }
        }
        // The same search inside itself would nest for ever: it happens with mergeinfo that names its own
        // revision, which the reference does not survive when it goes oldest first.
        let inside_itself =
            stack.iter().any(|f| matches!(f, Frame::Search(_, outer) if *outer == range));
        if range.paths.is_empty() || inside_itself {
            return Ok(None);
        }
        let paths: Vec<&FsPath> = range.paths.iter().map(FsPathBuf::as_path).collect();
        let (oldest, youngest) = (Revnum(range.first), Revnum(range.last));
        let mut search = Search::new(self, &paths, oldest, youngest, true)?;
        search.subtractive = range.reverse;
        Ok(Some(Frame::Search(search, range)))
    }

    /// Sends a merged revision, unless it is part of the requested paths' own history or was sent.
    fn send_merged(
        &mut self,
        revision: Revnum,
        origin: Origin,
        state: &mut MergeState,
    ) -> Result<()> {
        self.marks.clear();
        if state.target_history.is_empty() {
            if state.sent.insert(revision) {
                return self.send(revision, origin);
            }
            if self.request.changed_paths && revision > Revnum::ZERO {
                let (list, _) = self.look(revision)?;
                self.carry(list);
            }
            return Ok(());
        }
        if revision == Revnum::ZERO {
            return Ok(());
        }
        let (list, access) = self.look(revision)?;
        let history = &state.target_history;
        let interesting = readable(&list, &self.marks).any(|change| {
            !history.0.iter().any(|(source, ranges)| {
                path::is_ancestor(source, change.path) && ranges.contains_revision(revision.0)
            })
        });
        if interesting && state.sent.insert(revision) {
            return self.send_entry(revision, Some(&list), access, origin);
        }
        if self.request.changed_paths {
            self.carry(list);
        }
        Ok(())
    }

    fn carry(&mut self, changes: std::sync::Arc<sapwood_fs::ChangedPaths>) {
        self.carried.push(ReadableChanges { changes, marks: std::mem::take(&mut self.marks) });
    }

    /// The locations of the requested paths between two revisions, in the form of mergeinfo.
    fn natural_history(&self, oldest: Revnum, youngest: Revnum) -> Result<Mergeinfo> {
        let mut all = Mergeinfo::new();
        for path in self.request.paths {
            let mut one = Mergeinfo::new();
            let (start, end) = (Some(youngest), Some(oldest));
            location_segments(
                self.repository,
                &SegmentsRequest { path, peg: start, start, end },
                self.authorizer,
                self.cancel,
                &mut |segment| {
                    // Mergeinfo cannot express revision 0 alone.
                    if let Some(relpath) = segment.path.as_ref().filter(|_| segment.end.0 > 0) {
                        let start = segment.start.0.saturating_sub(1);
                        let ranges = RangeList::one(start, segment.end.0, true);
                        one.0.entry(format!("/{relpath}")).or_default().merge(&ranges);
                    }
                    Ok(())
                },
            )?;
            all.merge(&one);
        }
        Ok(all)
    }
}

/// The ranges that a change names, in ascending order (they are searched from the last).
fn ranges_of(change: &MergeinfoChange) -> Vec<MergedRange> {
    let mut out = Vec::new();
    cut(&change.added, false, &mut out);
    cut(&change.deleted, true, &mut out);
    out.sort_by_key(|r| (r.first, r.last));
    out
}

/// Cuts the ranges of all sources at each other's ends, so that each piece has one set of sources.
fn cut(info: &Mergeinfo, reverse: bool, out: &mut Vec<MergedRange>) {
    // For each source its inclusive ranges, the next one last.
    let mut sources: Vec<(Vec<(u64, u64)>, &str)> = info
        .0
        .iter()
        .map(|(source, ranges)| {
            let mut list: Vec<(u64, u64)> =
                ranges.0.iter().map(|r| (r.start.saturating_add(1), r.end)).collect();
            list.reverse();
            (list, source.as_str())
        })
        .filter(|(list, _)| !list.is_empty())
        .collect();
    loop {
        sources.sort_by_key(|(list, _)| list.last().copied());
        let heads: Vec<(u64, u64)> =
            sources.iter().filter_map(|(list, _)| list.last().copied()).collect();
        let Some((first, first_end)) = heads.first().copied() else { return };
        let count = heads.iter().take_while(|(start, _)| *start == first).count();
        let last = match heads.get(count) {
            Some((next, _)) if first_end >= *next => next.saturating_sub(1),
            _ => first_end,
        };
        out.push(MergedRange {
            first,
            last,
            paths: sources.iter().take(count).map(|(_, s)| FsPathBuf::canonicalize(s)).collect(),
            reverse,
        });
        for (list, _) in sources.iter_mut().take(count) {
            if let Some(head) = list.last_mut() {
                head.0 = last.saturating_add(1);
                if head.0 > head.1 {
                    list.pop();
                }
            }
        }
        sources.retain(|(list, _)| !list.is_empty());
    }
}

/// Removes from `range` what was searched before: whole paths, or, of a single path, one end.
fn reduce(range: &mut MergedRange, processed: &Mergeinfo) {
    let (start, end) = (range.first, range.last.saturating_add(1));
    let mut at = 0;
    while let Some(source) = range.paths.get(at) {
        let mut drop_it = false;
        if let Some(ranges) = processed.0.get(source.as_str()) {
            let single = range.paths.len() == 1;
            for seen in &ranges.0 {
                if seen.start <= start && seen.end >= end {
                    drop_it = true;
                    break;
                }
                if single {
                    if seen.start <= start && seen.end > start {
                        range.first = seen.end.saturating_sub(1);
                        break;
                    }
                    if seen.start < end && seen.end >= end {
                        range.last = seen.start;
                        break;
                    }
                }
            }
        }
        if drop_it {
            range.paths.remove(at);
        } else {
            at = at.saturating_add(1);
        }
    }
}

/// Notes that `range` is being searched. Stored half-open with the end one further, so that single
/// revisions count too.
fn mark_processed(range: &MergedRange, processed: &mut Mergeinfo) {
    let (first, last) = (range.first.min(range.last), range.first.max(range.last));
    let ranges = RangeList::one(first, last.saturating_add(1), true);
    for source in &range.paths {
        processed.0.entry(source.as_str().to_owned()).or_default().merge(&ranges);
    }
}
