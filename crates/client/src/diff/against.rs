//! Comparing a location of a repository with a working copy.
//!
//! The other side describes the edit from BASE to the location; that is recorded, and then both
//! trees are walked where the record or local changes say that they may differ: on one side BASE with
//! the record, on the other the working version (or BASE as it is).

use std::collections::{BTreeSet, HashMap};

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, NodeKind, PropList, Revnum, SvnResult, path};
use sapwood_delta::ReportEntry;
use sapwood_ra::{Report, ReportKind, ReportRequest};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, Presence};
use sapwood_wc::report::Crawl;
use sapwood_wc::status::{self, State};
use sapwood_wc::view::{self, Status};

use super::base_changes::Recorder;
use super::local::{pristine_text, working_text};
use super::regular::patched;
use super::sides::{
    Below, CopySource, Difference, DirSide, FileSide, Processor, ReverseProcessor, Text,
};
use super::writer::LabelParts;
use super::{Request, Sink, changelists};
use crate::context::Context;
use crate::open::{LocatedSession, session_at};
use crate::revision::Revision;
use crate::working::Node;

pub(super) fn run(
    ctx: &Context,
    request: &Request<'_>,
    reverse: bool,
    sink: Sink<'_>,
) -> SvnResult<()> {
    let (remote, revision, local, local_revision) = match reverse {
        false => (request.old, request.old_revision, request.new, request.new_revision),
        true => (request.new, request.new_revision, request.old, request.old_revision),
    };
    let node = Node::find(ctx, local)?;
    let peg = if request.peg.is_given() { request.peg } else { revision };
    let located = session_at(ctx, remote, peg, revision)?;
    let url = located.session.url();
    let is_base = local_revision == Revision::Base;
    let anchor = Anchor::find(&node, &located, is_base)?;
    located.session.reparent(&anchor.url)?;
    let mut recorder = record(&node, request, &located, &url, &anchor)?;
    if anchor.is_node && !is_own_anchor(&node, local)? {
        recorder.pass_over_unchanged_root();
    }
    let is_summary = sink.is_summary();
    let mut interesting = DifferingNames::of(&recorder, is_summary);
    if !is_base {
        local_changes(ctx, &node, request.depth, &mut interesting)?;
    }
    let listed = changelists(request);
    let moves_below = anchor.moves_below(&node)?;
    sink.with(ctx, anchor.labels(local, url, reverse), &mut |processor, _| {
        let mut reversed;
        let mut processor: &mut dyn Processor = processor;
        if reverse {
            reversed = ReverseProcessor(processor);
            processor = &mut reversed;
        }
        let mut only_target;
        if is_summary {
            only_target = Below { root: RelPath::new(anchor.target)?.to_owned(), inner: processor };
            processor = &mut only_target;
        }
        let mut walk = Walk {
            ctx,
            wc: &node.wc,
            start: anchor.start,
            moves_below: moves_below.to_owned(),
            record: &recorder,
            interesting: &interesting,
            is_base,
            ignore_ancestry: request.ignore_ancestry,
            revision: located.revision,
            changelists: &listed,
            is_summary,
            processor,
        };
        walk.compare(&node.relpath)
    })
}

/// Where the report of a working copy's node begins.
struct Anchor<'n> {
    /// The directory, below the working copy's root.
    start: &'n RelPath,
    /// The name of the node in it; empty for the directory itself.
    target: &'n str,
    /// Whether the node is the directory.
    is_node: bool,
    /// Its URL, and that of its repository.
    url: UrlBuf,
    root: UrlBuf,
    /// What the node was copied from, if it is a copy.
    copied_from: Option<UrlBuf>,
}

impl<'n> Anchor<'n> {
    fn find(node: &'n Node, located: &LocatedSession, is_base: bool) -> SvnResult<Self> {
        let view = node.wc.require_view(&node.relpath)?;
        // A copied node is reported with its copy source.
        let source = match view.status() {
            Status::Added if !is_base => node.wc.origin(&view)?,
            _ => None,
        };
        let is_node = starts_here(node, source.is_some(), located)?;
        let (start, target) = match is_node {
            true => (node.relpath.as_path(), ""),
            false => node.relpath.parent_and_name(),
        };
        let (id, mut place) = node.wc.repos_location(start)?;
        if let Some(source) = &source {
            place = source.repos_path.parent().to_owned();
        }
        let root = node.wc.db().repository(id)?.root;
        let url = root.join(&place);
        let copied_from = source.as_ref().map(|source| root.join(&source.repos_path));
        Ok(Self { start, target, is_node, url, root, copied_from })
    }

    /// The directory that paths of move sources are shown relative to.
    fn moves_below(&self, node: &Node) -> SvnResult<&'n RelPath> {
        let start = self.start;
        let is_own = start.is_empty() || !self.target.is_empty() || node.wc.is_switched(start)?;
        Ok(if is_own { start } else { start.parent() })
    }

    /// What labels are made of. `local` is the node's path as it was typed, `url` the location in the repository.
    fn labels(&self, local: &str, url: UrlBuf, reverse: bool) -> LabelParts {
        let mut originals = [url, self.url.join(RelPath::trusted(self.target))];
        if reverse {
            originals.reverse();
        }
        let anchor = if self.is_node { local.to_owned() } else { path::dirname(local).to_owned() };
        LabelParts {
            anchor: Some(anchor),
            originals: originals.map(UrlBuf::into_string),
            session_relpath: self.url.below(&self.root),
        }
    }
}

/// Whether a report begins at the node. A directory is the start itself; any other node is reported below its parent, and
/// so is a directory that is compared with a file, for an edit cannot replace its own root.
fn starts_here(node: &Node, is_copied: bool, located: &LocatedSession) -> SvnResult<bool> {
    let is_own_dir = node.top.kind == Kind::Dir && !is_copied;
    Ok(node.relpath.is_empty() || (is_own_dir && !is_other_file(node, located)?))
}

/// Whether the reference would ask for the changes of this very directory, and not of its parent's entry: the root of a
/// working copy, a switched directory, the current one.
fn is_own_anchor(node: &Node, path: &str) -> SvnResult<bool> {
    Ok(path.is_empty() || node.relpath.is_empty() || node.wc.is_switched(&node.relpath)?)
}

/// Asks for the changes that lead from a working copy to `url`, and records them.
fn record<'n>(
    node: &'n Node,
    request: &Request<'_>,
    located: &LocatedSession,
    url: &Url,
    anchor: &Anchor<'n>,
) -> SvnResult<Recorder<'n>> {
    let target = anchor.target;
    let mut recorder = Recorder::new(&node.wc, anchor.start);
    let depth = if request.depth == Depth::Infinity { Depth::Unknown } else { request.depth };
    let versus = ReportKind::Diff {
        versus_url: url,
        ignore_ancestry: request.ignore_ancestry,
        text_deltas: true,
    };
    let wanted = ReportRequest { revision: Some(located.revision), target, depth, kind: versus };
    let mut report = located.session.report(&wanted, &mut recorder)?;
    if let Err(error) =
        describe(node, (request.depth, target), anchor.copied_from.as_deref(), report.as_mut())
    {
        let _aborted = report.abort();
        return Err(error);
    }
    report.finish()?;
    Ok(recorder)
}

/// Reports what the working copy has; of a copied node what it was copied from, as of revision 0, when there is nothing,
/// so that all of it comes as new: BASE has nothing that changes could apply to.
fn describe(
    node: &Node,
    (depth, target): (Depth, &str),
    copied_from: Option<&Url>,
    report: &mut dyn Report,
) -> SvnResult<()> {
    if let Some(url) = copied_from {
        let root = ReportEntry::new(RelPath::ROOT, Revnum::ZERO, Depth::Infinity);
        report.entry(&root)?;
        let path = RelPath::trusted(target);
        return report.entry(&ReportEntry { path, link: Some(url), ..root });
    }
    let crawl = Crawl {
        target: &node.relpath,
        depth,
        honor_depth_exclude: true,
        restore: false,
        notify: None,
    };
    Ok(node.wc.report(&crawl, report)?)
}

/// Whether the location is a file elsewhere than the node. (At the node's own place nothing is asked.)
fn is_other_file(node: &Node, located: &LocatedSession) -> SvnResult<bool> {
    let (id, place) = node.wc.repos_location(&node.relpath)?;
    let own = node.wc.db().repository(id)?.root.join(&place);
    if own == located.session.url() {
        return Ok(false);
    }
    let kind = located.session.check_path(RelPath::ROOT, Some(located.revision))?;
    Ok(kind == Some(NodeKind::File))
}

/// Adds what differs locally from BASE.
fn local_changes(
    ctx: &Context,
    node: &Node,
    depth: Depth,
    interesting: &mut DifferingNames,
) -> SvnResult<()> {
    let options = status::Options {
        depth,
        no_ignore: true,
        unversioned: false,
        cancel: ctx.cancel().clone(),
        ..status::Options::default()
    };
    node.wc.status(&node.relpath, &options, &mut |status| {
        if status.versioned && status.node != State::Normal {
            interesting.add(&status.relpath);
        }
        Ok(())
    })?;
    Ok(())
}

/// Where trees may differ: names by directory.
#[derive(Default)]
struct DifferingNames {
    children: HashMap<RelPathBuf, BTreeSet<String>>,
}

impl DifferingNames {
    /// What the repository changed. A list has the directories that the edit goes through, too.
    fn of(recorder: &Recorder<'_>, is_summary: bool) -> Self {
        let mut interesting = Self::default();
        recorder.changes.keys().for_each(|relpath| interesting.add(relpath));
        if is_summary {
            recorder.opened_dirs.iter().for_each(|relpath| interesting.add(relpath));
        }
        interesting
    }

    fn add(&mut self, relpath: &RelPath) {
        let mut at = relpath;
        while !at.is_empty() {
            let (parent, name) = at.parent_and_name();
            if !self.children.entry(parent.to_owned()).or_default().insert(name.to_owned()) {
                return;
            }
            at = parent;
        }
    }
}

/// A node on one side.
struct Side {
    kind: NodeKind,
    revision: Option<Revnum>,
    props: PropList,
    text: Text,
}

impl Side {
    fn file(self) -> FileSide {
        FileSide { revision: self.revision, text: self.text, props: self.props }
    }

    fn dir(self) -> DirSide {
        DirSide { revision: self.revision, props: self.props }
    }
}

struct Walk<'a> {
    ctx: &'a Context,
    wc: &'a WorkingCopy,
    start: &'a RelPath,
    /// Paths of move sources are shown relative to this: the parent, even of a directory.
    moves_below: RelPathBuf,
    record: &'a Recorder<'a>,
    interesting: &'a DifferingNames,
    is_base: bool,
    ignore_ancestry: bool,
    /// The revision of the location in the repository.
    revision: Revnum,
    changelists: &'a std::collections::HashSet<String>,
    /// Whether what differs is only listed.
    is_summary: bool,
    processor: &'a mut dyn Processor,
}

impl Walk<'_> {
    fn at<'p>(&self, relpath: &'p RelPath) -> SvnResult<&'p RelPath> {
        relpath.rest_below(self.start)
    }

    fn is_listed(&self, relpath: &RelPath) -> SvnResult<bool> {
        if self.changelists.is_empty() {
            return Ok(true);
        }
        let actual = self.wc.db().actual(relpath)?;
        Ok(actual.and_then(|a| a.changelist).is_some_and(|name| self.changelists.contains(&name)))
    }

    /// The repository's side: BASE with the recorded changes.
    fn left(&self, relpath: &RelPath) -> SvnResult<Option<Side>> {
        let revision = Some(self.revision);
        let change = self.record.changes.get(relpath);
        if let Some(change) = change
            && let Some(kind) = change.added
        {
            let props = patched(&PropList::new(), &change.props);
            let text = change.text.clone().unwrap_or(Text::Empty);
            return Ok(Some(Side { kind, revision, props, text }));
        }
        if change.is_some_and(|change| change.deleted) || self.record.is_below_new(relpath) {
            return Ok(None);
        }
        let base = self.wc.db().base(relpath)?.filter(|row| row.presence.is_there());
        let Some(base) = base else { return Ok(None) };
        let Some(kind) = base.kind.node_kind() else { return Ok(None) };
        // An incomplete directory gets all its properties.
        let props = match base.presence {
            Presence::Incomplete => PropList::new(),
            _ => base.props()?,
        };
        Ok(Some(Side {
            kind,
            revision,
            props: change.map_or_else(|| props.clone(), |change| patched(&props, &change.props)),
            text: match change.and_then(|change| change.text.clone()) {
                Some(text) => text,
                None => pristine_text(self.wc, &base)?,
            },
        }))
    }

    /// The working copy's side.
    fn right(&self, relpath: &RelPath) -> SvnResult<Option<Side>> {
        if self.is_base {
            let base = self.wc.db().base(relpath)?.filter(|row| row.presence.is_there());
            let Some(base) = base else { return Ok(None) };
            let Some(kind) = base.kind.node_kind() else { return Ok(None) };
            let text = pristine_text(self.wc, &base)?;
            return Ok(Some(Side { kind, revision: None, props: base.props()?, text }));
        }
        let Some(view) = self.wc.view(relpath)? else { return Ok(None) };
        if !matches!(view.status(), Status::Normal | Status::Incomplete | Status::Added) {
            return Ok(None);
        }
        let Some(kind) = view.top().kind.node_kind() else { return Ok(None) };
        let props = view.props()?;
        let mut text = Text::Empty;
        if kind == NodeKind::File {
            let there = view::stat_file(&self.wc.abspath(relpath))?
                .is_some_and(|stat| stat.file || stat.link);
            let changed = there && self.wc.file_modified(&view)?;
            text = match changed {
                true => working_text(self.wc, relpath, &props)?,
                false => pristine_text(self.wc, view.top())?,
            };
        }
        Ok(Some(Side { kind, revision: None, props, text }))
    }

    fn left_children(&self, relpath: &RelPath) -> SvnResult<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for row in self.wc.db().children_at(relpath, 0)? {
            if row.presence.is_there() && self.left(&row.relpath)?.is_some() {
                names.insert(row.name().to_owned());
            }
        }
        if let Some(more) = self.interesting.children.get(relpath) {
            for name in more {
                if self.left(&relpath.child(name))?.is_some() {
                    names.insert(name.clone());
                }
            }
        }
        Ok(names)
    }

    fn right_children(&self, relpath: &RelPath) -> SvnResult<BTreeSet<String>> {
        let rows = match self.is_base {
            true => self.wc.db().children_at(relpath, 0)?,
            false => self.wc.db().children_top(relpath)?,
        };
        Ok(rows.iter().filter(|r| r.presence.is_there()).map(|r| r.name().to_owned()).collect())
    }

    fn compare(&mut self, relpath: &RelPath) -> SvnResult<()> {
        self.ctx.check_cancel()?;
        let (left, mut right) = (self.left(relpath)?, self.right(relpath)?);
        // A file that both have and that is to be deleted counts as missing, in BASE too.
        let file = right.as_ref().is_some_and(|right| right.kind == NodeKind::File);
        if self.is_base && left.is_some() && file {
            let view = self.wc.view(relpath)?;
            if view.is_some_and(|view| view.status() == Status::Deleted) {
                right = None;
            }
        }
        match (left, right) {
            (Some(left), Some(right))
                if left.kind == right.kind && self.are_related(relpath)? =>
            {
                if left.kind == NodeKind::Dir {
                    let names = self.interesting.children.get(relpath).cloned();
                    for name in names.unwrap_or_default() {
                        self.compare(&relpath.child(&name))?;
                    }
                }
                self.both(relpath, left, right)
            }
            (left, right) => {
                if let Some(left) = left {
                    self.only(relpath, left, true)?;
                }
                match right {
                    Some(right) => self.only(relpath, right, false),
                    None => Ok(()),
                }
            }
        }
    }

    /// Whether the nodes of both sides are one that changed.
    fn are_related(&self, relpath: &RelPath) -> SvnResult<bool> {
        if self.ignore_ancestry {
            return Ok(true);
        }
        // What BASE has is not what the repository adds, and what is added here is neither.
        let change = self.record.changes.get(relpath);
        let other_there = change.is_some_and(|c| c.added.is_some());
        let other_here = !self.is_base
            && self.wc.view(relpath)?.is_some_and(|view| view.status() == Status::Added);
        Ok(!other_there && !other_here)
    }

    /// What a file that only the working copy has is shown as: unchanged ones have a revision; copies
    /// have a source.
    fn own_file(&self, relpath: &RelPath, side: Side) -> SvnResult<(Option<CopySource>, FileSide)> {
        let mut file = side.file();
        let Some(view) = self.wc.view(relpath)? else { return Ok((None, file)) };
        let top = view.top();
        let is_plain = top.op_depth == 0 && !view.props_modified();
        if is_plain && (self.is_base || !self.wc.file_modified(&view)?) {
            file.revision = top.revision;
        }
        Ok((self.own_source(relpath)?, file))
    }

    /// What a node that only the working copy has was copied from.
    fn own_source(&self, relpath: &RelPath) -> SvnResult<Option<CopySource>> {
        if self.is_base {
            return Ok(None);
        }
        let Some(view) = self.wc.view(relpath)? else { return Ok(None) };
        let top = view.top();
        if top.op_depth == 0 {
            return Ok(None);
        }
        let props = view.pristine_props()?;
        // Only the root of a move is shown as one.
        let moved_from = self.wc.moved_from(&view)?.filter(|(own, root)| own == root);
        let moved_from =
            moved_from.and_then(|(own, _)| own.below(&self.moves_below).map(RelPath::to_owned));
        let Some(from) = &top.repos_path else { return Ok(None) };
        Ok(Some(CopySource {
            revision: top.revision,
            repos_relpath: from.clone(),
            moved_from,
            text: pristine_text(self.wc, top)?,
            props,
        }))
    }

    fn both(&mut self, relpath: &RelPath, left: Side, right: Side) -> SvnResult<()> {
        if !self.is_listed(relpath)? {
            return Ok(());
        }
        if left.kind == NodeKind::Dir {
            // The reference lists each directory that the edit goes through, for its revision is a property of the entry.
            let was_sent = self.is_summary && self.record.opened_dirs.contains(relpath);
            if left.props == right.props && !was_sent {
                return Ok(());
            }
            return self
                .processor
                .take(self.at(relpath)?, Difference::DirChanged(&left.dir(), &right.dir()));
        }
        // The reference lists each file that the repository sends as modified, whether its text differs or not.
        let sent = self.is_summary && self.record.changes.contains_key(relpath);
        let text = sent || !left.text.is_same(&right.text)?;
        if !text && left.props == right.props {
            return Ok(());
        }
        self.processor.take(
            self.at(relpath)?,
            Difference::FileChanged { left: &left.file(), right: &right.file(), text },
        )
    }

    /// A node that one side has, with all below it.
    fn only(&mut self, relpath: &RelPath, side: Side, is_left: bool) -> SvnResult<()> {
        self.ctx.check_cancel()?;
        if side.kind == NodeKind::Dir {
            let names =
                if is_left { self.left_children(relpath)? } else { self.right_children(relpath)? };
            for name in names {
                let child = relpath.child(&name);
                let found = if is_left { self.left(&child)? } else { self.right(&child)? };
                if let Some(found) = found {
                    self.only(&child, found, is_left)?;
                }
            }
        }
        if !self.is_listed(relpath)? {
            return Ok(());
        }
        let at = self.at(relpath)?;
        match (side.kind, is_left) {
            (NodeKind::File, true) => {
                self.processor.take(at, Difference::FileDeleted(&side.file()))
            }
            (NodeKind::File, false) => {
                let (source, file) = self.own_file(relpath, side)?;
                self.processor.take(at, Difference::FileAdded(source.as_ref(), &file))
            }
            (NodeKind::Dir, true) => self.processor.take(at, Difference::DirDeleted(&side.dir())),
            (NodeKind::Dir, false) => {
                let source = self.own_source(relpath)?;
                self.processor.take(at, Difference::DirAdded(source.as_ref(), &side.dir()))
            }
        }
    }
}
