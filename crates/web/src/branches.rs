//! Branches and tags, and how far a branch is from the trunk by mergeinfo: the revisions that the trunk lacks (ahead), and those
//! that the branch lacks (behind), as `svn mergeinfo --show-revs eligible` counts them, but for the copy that made the branch.
//!
//! Invariants: revisions are those of histories that the user may see; no history is walked further than its limit, and none
//! after the page's time: then a number is missing, or the least.

use maud::{Markup, html};
use sapwood_core::exact::len64;
use sapwood_core::mergeinfo::RangeList;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, NodeKind, Revnum};

use crate::Request;
use crate::budget::{self, Budget};
use crate::fault::{Fault, Result};
use crate::layout::{self, Subject, Tab};
use crate::reply::Reply;
use crate::view::{Change, FoundNode};
use crate::{text, times, words};

/// A number of revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) revisions: u64,
    /// Whether there are more.
    pub(crate) is_least: bool,
}

/// A branch or a tag.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) path: FsPathBuf,
    pub(crate) change: Change,
    /// What it was copied from.
    pub(crate) from: Option<(FsPathBuf, Revnum)>,
    pub(crate) ahead: Option<Count>,
    pub(crate) behind: Option<Count>,
}

/// Those of a project.
#[derive(Debug)]
pub(crate) struct Branches {
    pub(crate) found: FoundNode,
    pub(crate) branches: Vec<Branch>,
    pub(crate) tags: Vec<Branch>,
    /// Whether there are more.
    pub(crate) are_more: bool,
}

/// The trunk, beside which branches are seen.
struct Trunk {
    found: FoundNode,
    /// Its own revisions, youngest first, as far as they are known.
    revisions: Vec<Revnum>,
    is_whole: bool,
}

impl Branches {
    pub(crate) fn read(request: &Request<'_>) -> Result<Self> {
        let found = request.view.at(request.address)?;
        if found.node.kind() != NodeKind::Dir {
            return Err(Fault::Missing);
        }
        let budget = Budget::new();
        let trunk = Trunk::read(request, &found)?;
        let mut are_more = false;
        let mut list = |name: &str, trunk: Option<&Trunk>| -> Result<Vec<Branch>> {
            let Some(folder) = below(request, &found, name)? else { return Ok(Vec::new()) };
            let mut names = request.view.entries(&folder)?;
            names.retain(|name| name.is_dir);
            are_more |= names.len() > budget::BRANCHES;
            names.truncate(budget::BRANCHES);
            let one = |name: &crate::view::Name| {
                Branch::read(request, &folder, &name.name, trunk, &budget)
            };
            names.iter().map(one).collect()
        };
        let branches = list("branches", trunk.as_ref())?;
        let tags = list("tags", None)?;
        Ok(Self { found, branches, tags, are_more })
    }
}

/// What is called so in a folder, if it is a directory that may be read.
pub(crate) fn below(
    request: &Request<'_>,
    found: &FoundNode,
    name: &str,
) -> Result<Option<FoundNode>> {
    match request.view.find(&found.path.child(name), Some(found.revision), None) {
        Ok(child) if child.node.kind() == NodeKind::Dir => Ok(Some(child)),
        Ok(_) | Err(Fault::Missing) => Ok(None),
        Err(fault) => Err(fault),
    }
}

impl Trunk {
    fn read(request: &Request<'_>, found: &FoundNode) -> Result<Option<Self>> {
        let Some(found) = below(request, found, "trunk")? else { return Ok(None) };
        let most = budget::LACKING;
        let changes = request.view.log(&found.path, found.revision, most)?;
        let is_whole = len64(changes.len()) < most;
        let revisions = changes.into_iter().map(|change| change.revision).collect();
        Ok(Some(Self { found, revisions, is_whole }))
    }
}

impl Branch {
    fn read(
        request: &Request<'_>,
        folder: &FoundNode,
        name: &str,
        trunk: Option<&Trunk>,
        budget: &Budget,
    ) -> Result<Self> {
        let view = request.view;
        let found = view.find(&folder.path.child(name), Some(folder.revision), None)?;
        let change = view.change_of(&found.node)?;
        let copy = view.copy_of(&found.path, found.revision)?;
        let from = copy.map(|copy| copy.source);
        let (mut ahead, mut behind) = (None, None);
        if let Some(trunk) = trunk.filter(|_| !budget.is_over())
            && let Some((made, base)) = fork(request, &found, &trunk.found.path)?
        {
            let (own, is_whole) = view.revisions_since(&found, made, budget::LACKING)?;
            let merged = view.merged_into(&trunk.found, &found.path)?;
            ahead = Some(count(&own, is_whole, &merged));
            let since: Vec<Revnum> =
                trunk.revisions.iter().copied().take_while(|revision| *revision > base).collect();
            let is_whole = trunk.is_whole || since.len() < trunk.revisions.len();
            let merged = view.merged_into(&found, &trunk.found.path)?;
            behind = Some(count(&since, is_whole, &merged));
        }
        Ok(Self { path: found.path, change, from, ahead, behind })
    }
}

/// Copies between a branch and the trunk that are followed: a branch may have been renamed.
const COPIES: usize = 16;

/// The revision that copied a branch off the trunk, and the one of the trunk that it copied.
fn fork(
    request: &Request<'_>,
    branch: &FoundNode,
    trunk: &FsPath,
) -> Result<Option<(Revnum, Revnum)>> {
    let (mut path, mut revision) = (branch.path.clone(), branch.revision);
    for _ in 0..COPIES {
        let Some(copy) = request.view.copy_of(&path, revision)? else { return Ok(None) };
        let (source, of) = copy.source;
        if *source == *trunk {
            return Ok(Some((copy.made, of)));
        }
        (path, revision) = (source, of);
    }
    Ok(None)
}

/// How many revisions were not merged.
fn count(revisions: &[Revnum], is_whole: bool, merged: &RangeList) -> Count {
    let lacking = revisions.iter().filter(|revision| !merged.contains_revision(revision.0));
    Count { revisions: len64(lacking.count()), is_least: !is_whole }
}

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let read = Branches::read(request)?;
    let body = html! {
        h1 { (words::BRANCHES) }
        @if !read.branches.is_empty() || !read.tags.is_empty() {
            p.actions {
                span {}
                a.button rel="nofollow" href=(request.links.page("graph", &read.found.path, read.found.sticky)) { (words::GRAPH) }
            }
        }
        @if read.branches.is_empty() && read.tags.is_empty() { (layout::note(words::NO_BRANCHES)) }
        @if !read.branches.is_empty() { (table(request, &read.found, &read.branches, true)) }
        @if !read.tags.is_empty() {
            h2 { (words::TAGS) }
            (table(request, &read.found, &read.tags, false))
        }
        @if read.are_more { (layout::note(words::MORE_BRANCHES)) }
    };
    Ok(layout::reply(request, words::BRANCHES, Tab::Branches, &Subject::of(&read.found), &body))
}

fn table(request: &Request<'_>, found: &FoundNode, rows: &[Branch], has_counts: bool) -> Markup {
    html! {
        div.wide { table.list {
            thead { tr {
                th { (words::NAME) } th { (words::LAST_CHANGE) } th.author { (words::AUTHOR) } th.age { (words::AGE) }
                @if has_counts { th.count { (words::AHEAD) } th.count { (words::BEHIND) } }
            } }
            tbody { @for row in rows {
                tr {
                    td.name { (name(request, found, row)) }
                    td.msg {
                        a href=(request.links.revision(row.change.revision)) rel="nofollow" {
                            (layout::first_line(row.change.message.as_deref()))
                        }
                    }
                    td.author { (layout::author(row.change.author.as_deref())) }
                    td.age { (times::ago(row.change.date.as_deref(), request.now)) }
                    @if has_counts {
                        td.count title=(words::AHEAD_MORE) { (number(row.ahead)) }
                        td.count title=(words::BEHIND_MORE) { (number(row.behind)) }
                    }
                }
            } }
        } }
    }
}

fn name(request: &Request<'_>, found: &FoundNode, row: &Branch) -> Markup {
    html! {
        a href=(request.links.tree(&row.path, found.sticky)) { bdi { (text::shown(row.path.name())) } }
        @if let Some((path, revision)) = &row.from {
            " " span.dim {
                (words::COPIED_FROM) " "
                a href=(request.links.tree(path, Some(*revision))) rel="nofollow" {
                    bdi { (text::shown(path)) } "@" (revision)
                }
            }
        }
    }
}

fn number(count: Option<Count>) -> Markup {
    html! {
        @match count {
            Some(count) => { (count.revisions) @if count.is_least { "+" } },
            None => span.dim { "\u{2013}" },
        }
    }
}
