//! The graph of a project: when its branches and tags were copied off each other, and what was merged between them.
//!
//! Invariants: it names no path that the user may not read, be it a branch, the source of a copy or that of a merge; a page follows a bounded
//! number of branches for a bounded number of changes, and shows the newest events of them.

mod page;
mod picture;

pub(crate) use page::page;

use sapwood_core::exact::{Exact as _, len64};
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, NodeKind, Revnum};
use sapwood_fs::Node;

use crate::Request;
use crate::branches::below;
use crate::budget::{self, Budget};
use crate::fault::{Fault, Result};
use crate::view::{Change, FoundNode, mergeinfo};

/// Revisions of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) path: FsPathBuf,
    pub(crate) first: Revnum,
    pub(crate) last: Revnum,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The branch was made: a copy of something that may be read, or of something else.
    Copied(Option<Source>),
    /// These revisions were merged into it.
    Merged(Vec<Source>),
    /// Its last change, if that is none of the others.
    Changed,
}

/// One event of a branch.
#[derive(Debug)]
pub(crate) struct Event {
    /// Which one, of [`Graph::lanes`].
    pub(crate) lane: usize,
    pub(crate) change: Change,
    pub(crate) what: What,
}

/// The events of some branches.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) found: FoundNode,
    /// The trunk, if there is one, and some of the branches and tags: those that were changed last.
    pub(crate) lanes: Vec<FsPathBuf>,
    /// Youngest first.
    pub(crate) events: Vec<Event>,
    /// The revision from which on older ones are shown.
    pub(crate) older: Option<Revnum>,
    /// Which branches these are.
    pub(crate) page: u64,
    pub(crate) pages: u64,
    /// Whether every branch was followed to its beginning.
    pub(crate) is_whole: bool,
}

impl Graph {
    pub(crate) fn read(request: &Request<'_>) -> Result<Self> {
        let found = request.view.at(request.address)?;
        if found.node.kind() != NodeKind::Dir {
            return Err(Fault::Missing);
        }
        let trunk = below(request, &found, "trunk")?;
        let others = others(request, &found)?;
        let pages = len64(others.len().div_ceil(budget::LANES)).max(1);
        let page = request.address.query.page.unwrap_or(1);
        if page == 0 || page > pages {
            return Err(Fault::Missing);
        }
        let passed =
            others.len().min(sapwood_core::exact::clamped(page.minus(1)).times(budget::LANES));
        let of_page = others.into_iter().skip(passed).take(budget::LANES);
        let lanes: Vec<FoundNode> = trunk.into_iter().chain(of_page).collect();
        let mut walk = Walk { request, budget: Budget::new(), events: Vec::new(), is_whole: true };
        for (at, lane) in lanes.iter().enumerate() {
            walk.lane(at, lane)?;
        }
        let Walk { mut events, is_whole, .. } = walk;
        events.sort_by_key(|(revision, lane, _)| (std::cmp::Reverse(*revision), *lane));
        let older = events.get(budget::EVENTS).map(|(revision, ..)| *revision);
        events.truncate(budget::EVENTS);
        let event = |(revision, lane, what)| -> Result<Event> {
            Ok(Event { lane, change: request.view.change_in(revision)?, what })
        };
        let events = events.into_iter().map(event).collect::<Result<_>>()?;
        let lanes = lanes.into_iter().map(|lane| lane.path).collect();
        Ok(Self { found, lanes, events, older, page, pages, is_whole })
    }

    /// The lane of a path.
    pub(crate) fn lane(&self, path: &FsPath) -> Option<usize> {
        self.lanes.iter().position(|lane| **lane == *path)
    }
}

/// The branches and tags of a project, those that were changed last first.
fn others(request: &Request<'_>, found: &FoundNode) -> Result<Vec<FoundNode>> {
    let mut all = Vec::new();
    for name in ["branches", "tags"] {
        let Some(folder) = below(request, found, name)? else { continue };
        let names = request.view.entries(&folder)?;
        for name in names.iter().filter(|name| name.is_dir).take(budget::BRANCHES) {
            all.extend(below(request, &folder, &name.name)?);
        }
    }
    all.sort_by_cached_key(|lane| (std::cmp::Reverse(lane.node.created_rev()), lane.path.clone()));
    Ok(all)
}

/// The events of lanes, as they are collected.
struct Walk<'a> {
    request: &'a Request<'a>,
    budget: Budget,
    events: Vec<(Revnum, usize, What)>,
    is_whole: bool,
}

impl Walk<'_> {
    /// Collects those of a branch.
    fn lane(&mut self, lane: usize, found: &FoundNode) -> Result<()> {
        let view = self.request.view;
        let made = view.born(&found.path, found.revision)?;
        let mut seen = Vec::new();
        self.merges(found, made, &mut seen)?;
        if let Some(made) = made {
            let copy = view.copy_of(&found.path, found.revision)?;
            let source = copy.map(|copy| copy.source);
            let source = source.map(|(path, at)| Source { path, first: at, last: at });
            seen.push((made, What::Copied(source)));
        }
        let last = found.node.created_rev();
        if let Some(last) = last.filter(|last| seen.iter().all(|(revision, _)| revision < last)) {
            seen.push((last, What::Changed));
        }
        self.events.extend(seen.into_iter().map(|(revision, what)| (revision, lane, what)));
        Ok(())
    }

    /// Collects the changes of its mergeinfo that added something, down to the copy that made it.
    fn merges(
        &mut self,
        found: &FoundNode,
        made: Option<Revnum>,
        seen: &mut Vec<(Revnum, What)>,
    ) -> Result<()> {
        let mut node = found.node.clone();
        for step in 0.. {
            let is_older =
                |node: &Node| node.created_rev().zip(made).is_some_and(|(of, made)| of <= made);
            if is_older(&node) {
                return Ok(());
            }
            if step == budget::LANE_STEPS || self.budget.is_over() {
                self.is_whole = false;
                return Ok(());
            }
            let Some(before) = node.predecessor()? else { return Ok(()) };
            if let Some(revision) = node.created_rev().filter(|_| !node.same_props_rep(&before)) {
                let merged = self.merged(found, &before, &node)?;
                if !merged.is_empty() {
                    seen.push((revision, What::Merged(merged)));
                }
            }
            node = before;
        }
        Ok(())
    }

    /// What a change of a branch's properties has merged, as far as that may be read.
    fn merged(&self, found: &FoundNode, before: &Node, after: &Node) -> Result<Vec<Source>> {
        let (before, after) = (mergeinfo(before)?, mergeinfo(after)?);
        let (_, added) = Mergeinfo::diff_options(before.as_ref(), after.as_ref(), false);
        let mut sources = Vec::new();
        for (path, ranges) in &added.0 {
            let Some(((first, last), path)) = ranges.bounds().zip(FsPath::new(path).ok()) else {
                continue;
            };
            // What a branch has of itself is from before it was copied.
            if *path == *found.path || !self.request.view.may_read(path)? {
                continue;
            }
            if sources.len() == budget::SOURCES {
                break;
            }
            sources.push(Source {
                path: path.to_owned(),
                first: Revnum(first).next(),
                last: Revnum(last),
            });
        }
        Ok(sources)
    }
}
