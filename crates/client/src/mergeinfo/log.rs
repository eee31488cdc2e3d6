//! Which revisions of one branch were merged into another, and which could be.

use sapwood_core::paths::{RelPath, RelPathBuf, Url};
use sapwood_core::{Depth, ErrorCode, Inherit, SvnError, SvnResult, path};
use sapwood_ra::{LogEntry, LogRequest, RevpropSelection, Session};

use super::filter::Filter;
use super::local::{Invalid, Lookup, catalog_anywhere};
use super::place::{History, RepoLocation};
use super::{Catalog, Mergeinfo, RangeList, remote};
use crate::context::Context;
use crate::open::number_of;
use crate::revision::{Range, Revision};
use crate::target::{Target, is_url};
use crate::working::Node;

/// The options of a mergeinfo log.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Whether merged revisions are wanted, or those that could be merged.
    pub merged: bool,
    /// Into what: a URL or local path.
    pub target: &'a Target,
    /// From what.
    pub source: &'a Target,
    /// Only revisions of this range, if one is given.
    pub range: Range,
    /// Nothing but the target, or all that is below it.
    pub depth: Depth,
    /// Which revision properties are wanted.
    pub revprops: RevpropSelection<'a>,
}

/// Takes one revision, and whether only a part of it was or can be merged.
pub type Receiver<'a> = &'a mut dyn FnMut(&LogEntry<'_>, bool) -> SvnResult<()>;

/// Calls `receiver` with the revisions.
///
/// # Errors
/// E200007 for depths other than these two, E195002 for revisions that make no sense of a source;
/// those of sessions and of `receiver`.
pub fn log(ctx: &Context, request: &Request<'_>, receiver: Receiver<'_>) -> SvnResult<()> {
    check(request)?;
    let Target { text, peg } = request.target;
    let (session, target) = RepoLocation::open(ctx, text, *peg)?;
    let session = session.as_ref();
    let descendants = request.depth == Depth::Infinity;
    let (catalog, target_relpath) = target_catalog(ctx, session, text, &target, descendants)?;
    if catalog.is_empty() && request.merged {
        return Ok(());
    }
    let mut other = None;
    let near = if is_url(&request.source.text) { Some(request.source.url()?) } else { None };
    let near = near.filter(|url| url.below(&session.root_url()).is_some());
    let source = if let Some(near) = near {
        session.reparent(near)?;
        let peg = number_of(session, request.source.peg)?;
        RepoLocation::of(session, peg)?
    } else {
        let (opened, source) = RepoLocation::open(ctx, &request.source.text, request.source.peg)?;
        other = Some(opened);
        source
    };
    let source_session = other.as_deref().unwrap_or(session);
    let number = |revision: Revision| match revision {
        Revision::Unspecified => Ok(None),
        revision => number_of(source_session, revision).map(|number| Some(number.0)),
    };
    let range = number(request.range.start)?.zip(number(request.range.end)?);
    let branches = Branches {
        session,
        source_session,
        target: &target,
        target_relpath: &target_relpath,
        source: &source,
    };
    branches.log(request.merged, catalog, range, request.revprops, &mut |entry, partly| {
        ctx.check_cancel()?;
        receiver(entry, partly)
    })
}

fn check(request: &Request<'_>) -> SvnResult<()> {
    if !matches!(request.depth, Depth::Infinity | Depth::Empty) {
        return Err(SvnError::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            "Only depths 'infinity' and 'empty' are currently supported",
        ));
    }
    let Range { start, end } = request.range;
    let local = start.needs_working_copy() || end.needs_working_copy();
    if local || start.is_given() != end.is_given() {
        return Err(SvnError::new(ErrorCode::CLIENT_BAD_REVISION, ""));
    }
    Ok(())
}

/// The mergeinfo of the target's tree, and the target's path in the repository. A working copy is
/// asked where it shows the revision that is wanted.
fn target_catalog(
    ctx: &Context,
    session: &dyn Session,
    text: &str,
    target: &RepoLocation,
    descendants: bool,
) -> SvnResult<(Catalog, RelPathBuf)> {
    if is_url(text) {
        let relpath = Url::new(text)?.relpath(&target.root)?;
        return Ok((remote::catalog(session, target, Inherit::Inherited, descendants)?, relpath));
    }
    let node = Node::find(ctx, text)?;
    let (_, relpath) = node.wc.repos_location(&node.relpath)?;
    let origin = RepoLocation::origin(&node)?;
    if origin.as_ref().is_none_or(|origin| origin != target) {
        return Ok((remote::catalog(session, target, Inherit::Inherited, descendants)?, relpath));
    }
    let lookup = Lookup {
        repository_only: false,
        inherit: Inherit::Inherited,
        descendants,
        invalid: Invalid::Ignore,
    };
    Ok((catalog_anywhere(&node, session, &lookup)?.0, relpath))
}

/// Two branches of a repository, and sessions to ask about them.
#[derive(Clone, Copy)]
pub(super) struct Branches<'a> {
    pub(super) session: &'a dyn Session,
    pub(super) source_session: &'a dyn Session,
    pub(super) target: &'a RepoLocation,
    pub(super) target_relpath: &'a RelPath,
    pub(super) source: &'a RepoLocation,
}

/// The mergeinfo of a tree about a source.
#[derive(Default)]
struct RecordedMergeinfo {
    /// Merged into parts of nodes.
    partly: RangeList,
    /// Merged into some node as a whole.
    fully: RangeList,
    /// The same, a list for each node.
    by_node: Vec<RangeList>,
}

impl Branches<'_> {
    /// Reports the revisions of the source, within a range (whose order is that of the log).
    pub(super) fn log(
        &self,
        merged: bool,
        mut catalog: Catalog,
        range: Option<(u64, u64)>,
        revprops: RevpropSelection<'_>,
        receiver: Receiver<'_>,
    ) -> SvnResult<()> {
        if catalog.is_empty() {
            catalog.insert(self.target_relpath.to_string(), Mergeinfo::new());
        }
        let (first, last) = range.unwrap_or((0, self.source.revision));
        let (oldest, youngest) = (first.min(last), first.max(last));
        let own = match merged {
            true => None,
            false => Some(History::of(self.session, self.target)?.mergeinfo),
        };
        let source =
            History::between(self.source_session, self.source, youngest, oldest)?.mergeinfo;
        let known = self.recorded(&mut catalog, own.as_ref(), &source);
        let ranges = known.wanted(merged, &source);
        let Some((from, to)) = ranges.bounds() else { return Ok(()) };
        let Some(place) = source.0.iter().find(|(_, ranges)| ranges.contains_revision(to)) else {
            return Ok(());
        };
        let filter = Filter {
            merged,
            sources: source.0.keys().map(String::as_str).collect(),
            target: self.target_relpath,
            catalog: &catalog,
            ranges: &ranges,
        };
        let url = self.session.root_url().join(RelPath::trusted(path::to_relpath(place.0)));
        self.session.reparent(&url)?;
        let bounds = if first > last { (to, from) } else { (from, to) };
        let whole = LogRequest::whole(&[RelPath::ROOT], bounds, revprops);
        let request = LogRequest { changed_paths: true, ..whole };
        self.session.log(&request, &mut |entry| match filter.look(entry) {
            Some(partly) => receiver(entry, partly),
            None => Ok(()),
        })
    }

    /// Takes the mergeinfo of the target's tree apart. With `own`, the target's history, what both
    /// branches have in common counts as merged, and is added to the catalog.
    fn recorded(
        &self,
        catalog: &mut Catalog,
        own: Option<&Mergeinfo>,
        source: &Mergeinfo,
    ) -> RecordedMergeinfo {
        let mut known = RecordedMergeinfo::default();
        for (relpath, mergeinfo) in catalog {
            let below = path::skip_ancestor(self.target_relpath, relpath).unwrap_or_default();
            let source = source.with_suffix(below);
            if let Some(own) = own {
                mergeinfo.merge(&own.with_suffix(below).intersect(&source, true));
            }
            let partly = mergeinfo.only(false).intersect(&source, false).all_ranges();
            known.partly.merge(&partly.as_inheritable(false));
            let fully = mergeinfo.only(true).intersect(&source, false).all_ranges();
            known.fully.merge(&fully);
            known.by_node.push(fully);
        }
        known
    }
}

impl RecordedMergeinfo {
    /// The revisions that may be wanted; what was not merged everywhere is not inheritable.
    fn wanted(self, merged: bool, source: &Mergeinfo) -> RangeList {
        let Self { mut partly, mut fully, by_node } = self;
        if !fully.is_empty() {
            for node in by_node {
                let missing = RangeList::remove(&node, &fully, true).as_inheritable(false);
                if !missing.is_empty() {
                    partly.merge(&missing);
                    fully = RangeList::remove(&missing, &fully, false);
                }
            }
        }
        if merged {
            fully.merge(&partly);
            return fully;
        }
        let mut all = RangeList::remove(&partly, &source.all_ranges(), false);
        all.merge(&partly);
        RangeList::remove(&fully, &all, true)
    }
}
