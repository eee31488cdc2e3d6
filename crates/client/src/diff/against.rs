//! Comparing a location of a repository with a working copy.
//!
//! The other side describes the edit from BASE to the location; that is recorded, and then both
//! trees are walked where the record or local changes say that they may differ: on one side BASE with
//! the record, on the other the working version (or BASE as it is).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, NodeKind, PropList, Revnum, SvnResult, path};
use sapwood_delta::{EditStep, Handle, ReportEntry, StepEditor, TextDelta};
use sapwood_ra::{Report, ReportKind, ReportRequest};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::PropChange;
use sapwood_wc::db::{Kind, Presence};
use sapwood_wc::report::Crawl;
use sapwood_wc::status::{self, State};
use sapwood_wc::view::{self, Status};

use super::local::{pristine_text, working_text};
use super::regular::{is_regular, patched, wrong_handle};
use super::remote::apply;
use super::sides::{Below, CopySource, DirSide, FileSide, Processor, ReverseProcessor, Text};
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
    let view = node.wc.require_view(&node.relpath)?;
    // A copied node is reported with its copy source.
    let source = match view.status() {
        Status::Added if !is_base => node.wc.origin(&view)?,
        _ => None,
    };
    let start_here = starts_here(&node, source.is_some(), &located)?;
    let (start, target) = match start_here {
        true => (node.relpath.as_path(), ""),
        false => node.relpath.parent_and_name(),
    };
    let (id, mut place) = node.wc.repos_location(start)?;
    if let Some(source) = &source {
        place = source.repos_path.parent().to_owned();
    }
    let root = node.wc.db().repository(id)?.root;
    let start_url = root.join(&place);
    located.session.reparent(&start_url)?;
    let copied_from = source.as_ref().map(|source| root.join(&source.repos_path));
    let recorder = record(&node, request, &located, &url, (start, target), copied_from.as_deref())?;
    let own_url = start_url.join(RelPath::trusted(target));
    let mut originals = [url, own_url];
    if reverse {
        originals.reverse();
    }
    let anchor = if start_here { local.to_owned() } else { path::dirname(local).to_owned() };
    let places = LabelParts {
        anchor: Some(anchor),
        originals: originals.map(UrlBuf::into_string),
        session_relpath: start_url.below(&root),
    };
    let mut interesting = Interesting::default();
    recorder.changes.keys().for_each(|relpath| interesting.add(relpath));
    if !is_base {
        local_changes(ctx, &node, request.depth, &mut interesting)?;
    }
    let listed = changelists(request);
    let own_anchor = start.is_empty() || !target.is_empty() || node.wc.is_switched(start)?;
    let moves_below = if own_anchor { start } else { start.parent() };
    let below = sink.is_summary();
    sink.with(ctx, places, &mut |processor, _| {
        let mut reversed;
        let mut processor: &mut dyn Processor = processor;
        if reverse {
            reversed = ReverseProcessor(processor);
            processor = &mut reversed;
        }
        let mut only_target;
        if below {
            only_target = Below { root: RelPath::new(target)?.to_owned(), inner: processor };
            processor = &mut only_target;
        }
        let mut walk = Walk {
            ctx,
            wc: &node.wc,
            start,
            moves_below: moves_below.to_owned(),
            record: &recorder,
            interesting: &interesting,
            is_base,
            ignore_ancestry: request.ignore_ancestry,
            revision: located.revision,
            changelists: &listed,
            is_summary: below,
            processor,
        };
        walk.compare(&node.relpath)
    })
}

/// Whether a report begins at the node. A directory is the start itself; any other node is reported below its parent, and
/// so is a directory that is compared with a file, for an edit cannot replace its own root.
fn starts_here(node: &Node, is_copied: bool, located: &LocatedSession) -> SvnResult<bool> {
    let is_own_dir = node.top.kind == Kind::Dir && !is_copied;
    Ok(node.relpath.is_empty() || (is_own_dir && !is_other_file(node, located)?))
}

/// Asks for the changes that lead from a working copy to `url`, and records them.
fn record<'n>(
    node: &'n Node,
    request: &Request<'_>,
    located: &LocatedSession,
    url: &Url,
    (start, target): (&'n RelPath, &str),
    copied_from: Option<&Url>,
) -> SvnResult<Recorder<'n>> {
    let mut recorder = Recorder::new(&node.wc, start);
    let depth = if request.depth == Depth::Infinity { Depth::Unknown } else { request.depth };
    let versus = ReportKind::Diff {
        versus_url: url,
        ignore_ancestry: request.ignore_ancestry,
        text_deltas: true,
    };
    let wanted = ReportRequest { revision: Some(located.revision), target, depth, kind: versus };
    let mut report = located.session.report(&wanted, &mut recorder)?;
    if let Err(error) = describe(node, (request.depth, target), copied_from, report.as_mut()) {
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
    interesting: &mut Interesting,
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
struct Interesting {
    children: HashMap<RelPathBuf, BTreeSet<String>>,
}

impl Interesting {
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

/// The repository's change of a node of BASE.
#[derive(Clone, Debug, Default)]
struct Change {
    deleted: bool,
    added: Option<NodeKind>,
    props: Vec<PropChange>,
    text: Option<Text>,
}

/// Records an edit of BASE.
struct Recorder<'a> {
    wc: &'a WorkingCopy,
    /// Where the edit starts, below the working copy's root.
    start: &'a RelPath,
    changes: BTreeMap<RelPathBuf, Change>,
    open: HashMap<u64, RelPathBuf>,
    next: u64,
}

impl<'a> Recorder<'a> {
    fn new(wc: &'a WorkingCopy, start: &'a RelPath) -> Self {
        Self { wc, start, changes: BTreeMap::new(), open: HashMap::new(), next: 0 }
    }

    fn handle(&mut self, at: &RelPath) -> Handle {
        self.next = self.next.wrapping_add(1);
        self.open.insert(self.next, self.start.join(at));
        Handle(self.next)
    }

    fn change(&mut self, handle: Handle) -> SvnResult<&mut Change> {
        let relpath = self.open.get(&handle.0).ok_or_else(wrong_handle)?;
        Ok(self.changes.entry(relpath.clone()).or_default())
    }

    fn added(&mut self, at: &RelPath, kind: NodeKind) -> Handle {
        let handle = self.handle(at);
        let relpath = self.start.join(at);
        self.changes.entry(relpath).or_default().added = Some(kind);
        handle
    }

    fn set_prop(&mut self, handle: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if is_regular(name) {
            self.change(handle)?.props.push((name.to_owned(), value.map(<[u8]>::to_vec)));
        }
        Ok(())
    }

    fn set_text(&mut self, file: Handle, delta: &mut dyn TextDelta) -> SvnResult<()> {
        let relpath = self.open.get(&file.0).cloned().ok_or_else(wrong_handle)?;
        let is_new = self.changes.get(&relpath).is_some_and(|c| c.added.is_some());
        let base = match is_new {
            true => None,
            false => self.wc.db().base(&relpath)?,
        };
        let base = base.map_or(Ok(Text::Empty), |row| pristine_text(self.wc, &row))?;
        let text = apply(&base, delta)?;
        self.change(file)?.text = Some(text);
        Ok(())
    }

    /// Whether a node above this one is new, so that BASE says nothing of it.
    fn is_below_new(&self, relpath: &RelPath) -> bool {
        let mut at = relpath;
        while !at.is_empty() && at != self.start {
            at = at.parent();
            if self.changes.get(at).is_some_and(|c| c.added.is_some() || c.deleted) {
                return true;
            }
        }
        false
    }
}

impl StepEditor for Recorder<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::OpenRoot(_) => return Ok(self.handle(RelPath::ROOT)),
            EditStep::Open { path, .. } => return Ok(self.handle(path)),
            EditStep::Add { kind, path, .. } => return Ok(self.added(path, kind)),
            EditStep::Delete { path, .. } => {
                self.changes.entry(self.start.join(path)).or_default().deleted = true;
            }
            EditStep::Prop { node, name, value, .. } => self.set_prop(node, name, value)?,
            EditStep::Text { file, delta, .. } => self.set_text(file, delta)?,
            EditStep::CloseDirectory(node) | EditStep::CloseFile { file: node, .. } => {
                self.open.remove(&node.0).ok_or_else(wrong_handle)?;
            }
            EditStep::TargetRevision(_)
            | EditStep::Absent { .. }
            | EditStep::CloseEdit
            | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
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
    interesting: &'a Interesting,
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
            if left.props == right.props {
                return Ok(());
            }
            return self.processor.dir_changed(self.at(relpath)?, &left.dir(), &right.dir());
        }
        // The reference lists each file that the repository sends as modified, whether its text differs or not.
        let sent = self.is_summary && self.record.changes.contains_key(relpath);
        let text = sent || !left.text.is_same(&right.text)?;
        if !text && left.props == right.props {
            return Ok(());
        }
        self.processor.file_changed(self.at(relpath)?, &left.file(), &right.file(), text)
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
            (NodeKind::File, true) => self.processor.file_deleted(at, &side.file()),
            (NodeKind::File, false) => {
                let (source, file) = self.own_file(relpath, side)?;
                self.processor.file_added(at, source.as_ref(), &file)
            }
            (NodeKind::Dir, true) => self.processor.dir_deleted(at, &side.dir()),
            (NodeKind::Dir, false) => {
                let source = self.own_source(relpath)?;
                self.processor.dir_added(at, source.as_ref(), &side.dir())
            }
        }
    }
}
