//! Comparing two locations of a repository.

use sapwood_core::paths::{RelPath, Url, UrlBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_delta::ReportEntry;
use sapwood_ra::{ReportKind, ReportRequest, Session};

use super::remote::DiffEditor;
use super::sides::{Below, Processor, ReverseProcessor};
use super::writer::LabelParts;
use super::{Request, Sink};
use crate::context::Context;
use crate::open::{number_at, session_at, url_of};
use crate::revision::Revision;
use crate::target::is_url;

/// One side: a URL in a revision.
#[derive(Clone, Debug)]
struct DiffSide {
    url: UrlBuf,
    revision: Revnum,
    kind: Option<NodeKind>,
}

/// Errors that mean that a node is not there at all.
fn is_absent(error: &SvnError) -> bool {
    error.is_not_there_then()
}

fn resolve(
    ctx: &Context,
    path: &str,
    peg: Revision,
    revision: Revision,
) -> SvnResult<Option<(UrlBuf, Revnum)>> {
    match session_at(ctx, path, peg, revision) {
        Ok(found) => Ok(Some((found.session.url(), found.revision))),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where both sides are. A side that is not there has the other one's URL, if history was requested.
fn places(ctx: &Context, request: &Request<'_>, session: &dyn Session) -> SvnResult<[DiffSide; 2]> {
    let same = request.peg.is_given();
    let find = |path: &str, revision| -> SvnResult<Option<(UrlBuf, Revnum)>> {
        if same || !is_url(path) {
            return resolve(ctx, path, request.peg, revision);
        }
        Ok(None)
    };
    let second = find(request.new, request.new_revision)?;
    let first = find(request.old, request.old_revision)?;
    let place =
        |own: Option<(UrlBuf, Revnum)>, other: &Option<(UrlBuf, Revnum)>, path: &str, revision| {
            let (url, revision) = match (own, other) {
                (Some(found), _) => found,
                (None, Some((url, _))) if same => {
                    (url.clone(), number_at(ctx, session, path, revision)?)
                }
                (None, _) => (url_of(ctx, path)?, number_at(ctx, session, path, revision)?),
            };
            session.reparent(&url)?;
            let kind = session.check_path(RelPath::ROOT, Some(revision))?;
            Ok::<_, SvnError>(DiffSide { url, revision, kind })
        };
    let new = place(second.clone(), &first, request.new, request.new_revision)?;
    let old = place(first, &second, request.old, request.old_revision)?;
    Ok([old, new])
}

fn check(session: &dyn Session, [old, new]: &[DiffSide; 2]) -> SvnResult<()> {
    let not_found = |words: String| Err(SvnError::new(ErrorCode::FS_NOT_FOUND, words));
    match (old.kind, new.kind) {
        (None, None) if old.url == new.url => not_found(format!(
            "Diff target '{}' was not found in the repository at revisions '{}' and '{}'",
            old.url, old.revision, new.revision
        )),
        (None, None) => not_found(format!(
            "Diff targets '{}' and '{}' were not found in the repository at revisions '{}' and '{}'",
            old.url, new.url, old.revision, new.revision
        )),
        (Some(_), Some(_)) => Ok(()),
        (left, _) => {
            let (gone, other) = if left.is_none() { (old, new) } else { (new, old) };
            session.reparent(&gone.url)?;
            if session.check_path(RelPath::ROOT, Some(other.revision))?.is_some() {
                return Ok(());
            }
            let at = if gone.revision == other.revision {
                format!("'{}'", other.revision)
            } else {
                format!("'{}' or '{}'", other.revision, gone.revision)
            };
            not_found(format!(
                "Diff target '{}' was not found in the repository at revision {at}",
                gone.url
            ))
        }
    }
}

/// For each side where the difference is requested, and the name of the side there, if it is not itself that place.
fn anchors(
    session: &dyn Session,
    old: &DiffSide,
    new: &DiffSide,
) -> SvnResult<[(UrlBuf, String); 2]> {
    let themselves = || [(old.url.clone(), String::new()), (new.url.clone(), String::new())];
    let root = session.root_url();
    if old.url == root || new.url == root {
        return Ok(themselves());
    }
    let anchors = [split(&old.url), split(&new.url)];
    session.reparent(&anchors[0].0)?;
    match session.check_path(RelPath::ROOT, Some(old.revision)) {
        // A user that may not read the parent still sees what is below the targets.
        Err(e) if e.is_unreadable() => Ok(themselves()),
        other => other.map(|_| anchors),
    }
}

pub(super) fn run(ctx: &Context, request: &Request<'_>, sink: Sink<'_>) -> SvnResult<()> {
    let session = sapwood_ra::open(&url_of(ctx, request.new)?, &ctx.ra)?;
    let [old, new] = places(ctx, request, session.as_ref())?;
    let both = [old, new];
    check(session.as_ref(), &both)?;
    let [old, new] = both;
    let root = session.root_url();
    let [(anchor, target), (other_anchor, other_target)] = anchors(session.as_ref(), &old, &new)?;
    session.reparent(&anchor)?;
    let both_dirs = old.kind == Some(NodeKind::Dir) && new.kind == Some(NodeKind::Dir);
    let local = [request.new, request.old].into_iter().find(|path| !is_url(path));
    let places = LabelParts {
        anchor: local.map(|path| {
            if target.is_empty() || both_dirs {
                path.to_owned()
            } else {
                sapwood_core::path::dirname(path).to_owned()
            }
        }),
        originals: [old.url.to_string(), new.url.to_string()],
        session_relpath: anchor.below(&root),
    };
    let files = old.kind == Some(NodeKind::File) || new.kind == Some(NodeKind::File);
    let below = sink.is_summary() || (!files && !target.is_empty());
    sink.with(ctx, places, &mut |processor, text_deltas| {
        let mut reversed;
        let mut edit = Edit {
            ctx,
            session: session.as_ref(),
            from: (&anchor, old.revision),
            to: (&new.url, new.revision),
            target: &target,
            depth: request.depth,
            ignore_ancestry: request.ignore_ancestry,
            text_deltas,
        };
        let mut processor: &mut dyn Processor = processor;
        if new.kind.is_none() {
            // A server cannot send a deletion of the root, but it can send its addition.
            edit.from = (&other_anchor, new.revision);
            edit.to = (&old.url, old.revision);
            edit.target = &other_target;
            edit.session.reparent(&other_anchor)?;
            reversed = ReverseProcessor(processor);
            processor = &mut reversed;
        }
        if below {
            let mut below = Below { root: RelPath::new(edit.target)?.to_owned(), inner: processor };
            return edit.run(&mut below);
        }
        edit.run(processor)
    })
}

fn split(url: &Url) -> (UrlBuf, String) {
    url.parent_and_name()
        .map_or((url.to_owned(), String::new()), |(parent, name)| (parent.to_owned(), name))
}

/// Compares a URL in two revisions, one of which may lack it. `processor` gets only what is at and
/// below it.
pub(crate) fn compare_below(
    ctx: &Context,
    (from, from_revision): &(UrlBuf, Revnum),
    (to, to_revision): &(UrlBuf, Revnum),
    processor: &mut dyn Processor,
) -> SvnResult<()> {
    let (anchor, _) = split(to);
    let (_, target) = split(from);
    let session = sapwood_ra::open(&anchor, &ctx.ra)?;
    let edit = Edit {
        ctx,
        session: session.as_ref(),
        from: (&anchor, *from_revision),
        to: (to, *to_revision),
        target: &target,
        depth: Depth::Infinity,
        ignore_ancestry: true,
        text_deltas: true,
    };
    edit.run(&mut Below { root: RelPath::new(&target)?.to_owned(), inner: processor })
}

/// One edit that is requested from the server.
struct Edit<'a> {
    ctx: &'a Context,
    session: &'a dyn Session,
    /// The directory that the edit starts from.
    from: (&'a Url, Revnum),
    /// The target of the edit.
    to: (&'a Url, Revnum),
    target: &'a str,
    depth: Depth,
    ignore_ancestry: bool,
    text_deltas: bool,
}

impl Edit<'_> {
    fn run(&self, processor: &mut dyn Processor) -> SvnResult<()> {
        let extra = sapwood_ra::open(self.from.0, &self.ctx.ra)?;
        let mut editor = DiffEditor::new(extra.as_ref(), self.from.1, self.text_deltas, processor);
        let request = ReportRequest {
            revision: Some(self.to.1),
            target: self.target,
            depth: self.depth,
            kind: ReportKind::Diff {
                versus_url: self.to.0,
                ignore_ancestry: self.ignore_ancestry,
                text_deltas: self.text_deltas,
            },
        };
        let mut report = self.session.report(&request, &mut editor)?;
        report.entry(&ReportEntry::new(RelPath::ROOT, self.from.1, Depth::Infinity))?;
        report.finish()
    }
}
