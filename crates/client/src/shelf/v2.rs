//! Shelves of store `v2`: changed nodes one by one, each with its old and its new text and properties. Bringing
//! one back is a merge of what changed. Copies, moves and directories that come or go cannot be put aside.

use std::collections::HashSet;
use std::rc::Rc;

use sapwood_core::exact::Exact as _;
use sapwood_core::notify::{Action, Notify, State as Became};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, NodeKind, PropList, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::{PropState, TextOutcome};
use sapwood_wc::gather::GatheredChanges;
use sapwood_wc::local::RevertOptions;
use sapwood_wc::merge::{FileMerge, PropsMerge};
use sapwood_wc::shelf::v2::{NewVersion, Node, StoredVersion};
use sapwood_wc::shelf::{Shelf, Version};
use sapwood_wc::status::{self, State, Status};
use sapwood_wc::translate::Translation;
use tempfile::NamedTempFile;

use super::{Save, SaveResult, ShelveReceiver, check_free, delete, display_path};
use crate::context::Context;
use crate::diff::sides::Text;
use crate::diff::{Difference, DirSide, FileSide, Processor};
use crate::revert::revert;
use crate::text_base::{TextNotices, with_text_bases};

/// The outcome for a local change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Shelved,
    Refused,
    Passed,
}

fn fate(status: &Status) -> Fate {
    if status.conflicted {
        return Fate::Refused;
    }
    let changed = |state| !matches!(state, State::Normal | State::None);
    match status.node {
        State::Modified => Fate::Shelved,
        State::Deleted | State::Added | State::Replaced => {
            let plain = status.kind == Some(NodeKind::File) && !status.copied;
            if plain { Fate::Shelved } else { Fate::Refused }
        }
        State::Conflicted | State::Missing | State::Obstructed => Fate::Refused,
        State::Incomplete if changed(status.text) || changed(status.props) => Fate::Refused,
        _ => Fate::Passed,
    }
}

/// Puts changes aside.
pub(super) fn save(
    ctx: &Context,
    shelf: &mut Shelf,
    places: &[RelPathBuf],
    what: &Save<'_>,
    receiver: &mut ShelveReceiver<'_>,
) -> SvnResult<SaveResult> {
    let wc = shelf.wc().clone();
    let lists: HashSet<&String> = what.changelists.iter().collect();
    let mut saved = SaveResult::default();
    let mut new = if what.dry_run { None } else { Some(NewVersion::begin(&wc)?) };
    let mut seen: HashSet<RelPathBuf> = HashSet::new();
    for place in places {
        let options = status::Options {
            depth: what.depth,
            ignores: ctx.ignores(),
            cancel: ctx.cancel().clone(),
            ..status::Options::default()
        };
        let mut found = Vec::new();
        wc.status(place, &options, &mut |status| {
            let listed = || status.changelist.as_ref().is_some_and(|name| lists.contains(name));
            if fate(&status) != Fate::Passed && (lists.is_empty() || listed()) {
                found.push(status);
            }
            Ok(())
        })?;
        with_text_bases(ctx, (&wc, place), TextNotices::Yes, || {
            for status in found {
                ctx.check_cancel()?;
                let shelved = fate(&status) == Fate::Shelved;
                // Targets may overlap.
                if !seen.insert(status.relpath.clone()) {
                    continue;
                }
                if !shelved {
                    saved.refused.tally(1);
                } else {
                    if let Some(new) = &mut new {
                        new.add(&status)?;
                    }
                    saved.shelved.tally(1);
                }
                receiver(&status, shelved)?;
            }
            Ok(())
        })?;
    }
    if saved.refused == 0
        && let Some(new) = new
    {
        saved.version = new.finish(shelf)?;
    }
    Ok(saved)
}

/// The paths of a version.
pub(super) fn paths(version: &Version) -> SvnResult<Vec<RelPathBuf>> {
    Ok(StoredVersion::of(version)
        .nodes(RelPath::ROOT)?
        .into_iter()
        .map(|node| node.relpath)
        .collect())
}

/// Sees that a version has all that bringing it back needs of properties.
pub(super) fn check_whole(version: &Version) -> SvnResult<()> {
    let stored = StoredVersion::of(version);
    for node in stored.nodes(RelPath::ROOT)? {
        stored.props(&node)?;
    }
    Ok(())
}

/// Reverts what was put aside.
pub(super) fn take_out(ctx: &Context, shelf: &Shelf, version: &Version) -> SvnResult<()> {
    let targets: Vec<String> =
        paths(version)?.iter().map(|relpath| display_path(shelf.wc(), relpath)).collect();
    let options = RevertOptions {
        remove_added: true,
        cancel: ctx.cancel().clone(),
        ..RevertOptions::default()
    };
    revert(ctx, &targets, Depth::Empty, &options)
}

/// Brings changes back.
pub(super) fn bring_back(
    ctx: &Context,
    shelf: &Shelf,
    version: &Version,
    dry_run: bool,
) -> SvnResult<bool> {
    let wc = shelf.wc();
    let stored = StoredVersion::of(version);
    let nodes = stored.nodes(RelPath::ROOT)?;
    for node in &nodes {
        wc.check_inside(&node.relpath)?;
        if node.meta.node == State::Added {
            check_free(wc, &node.relpath)?;
            wc.require_view(node.relpath.parent())?;
        }
    }
    let lock = if dry_run { None } else { Some(wc.lock(RelPath::ROOT, -1)?) };
    let conflicts = wc.gather(ctx.cancel(), &|value| ctx.notify(value), |gathered| {
        let mut back = Back { ctx, wc, gathered, stored, dry_run, conflicts: false };
        for node in &nodes {
            ctx.check_cancel()?;
            back.node(node)?;
            gathered.step()?;
        }
        Ok::<_, SvnError>(back.conflicts)
    })?;
    if let Some(lock) = lock {
        lock.release()?;
    }
    Ok(conflicts)
}

/// Changes that are unshelved.
struct Back<'a> {
    ctx: &'a Context,
    wc: &'a WorkingCopy,
    gathered: &'a GatheredChanges<'a>,
    stored: StoredVersion,
    dry_run: bool,
    conflicts: bool,
}

impl Back<'_> {
    fn node(&mut self, node: &Node) -> SvnResult<()> {
        // A link that was unshelved just now may be in the way.
        self.wc.check_inside(&node.relpath)?;
        let props = self.stored.props(node)?;
        let replaced = node.meta.node == State::Replaced;
        let notify = |action, content, became| {
            let path = display_path(self.wc, &node.relpath);
            let notice = Notify {
                kind: node.meta.kind,
                content,
                props: became,
                ..Notify::new(action, &path)
            };
            self.gathered.notify(&notice);
        };
        // What comes or goes finds the files of the nodes before it as they will be.
        if node.meta.node != State::Modified {
            self.gathered.let_go()?;
        }
        match node.meta.node {
            State::Deleted => {
                self.delete(node)?;
                notify(Action::UpdateDelete, Became::Inapplicable, Became::Inapplicable);
            }
            State::Added | State::Replaced => {
                if replaced {
                    self.delete(node)?;
                }
                self.add(node, &props.work)?;
                let action = if replaced { Action::UpdateReplace } else { Action::UpdateAdd };
                notify(action, Became::Inapplicable, Became::Inapplicable);
            }
            State::Modified => match node.meta.kind {
                Some(NodeKind::Dir) => {
                    self.conflicts |= self.merge_dir(node, &props.base, &props.work)?;
                    notify(Action::UpdateUpdate, Became::Inapplicable, Became::Merged);
                }
                Some(NodeKind::File) => {
                    self.conflicts |= self.merge_file(node, &props.base, &props.work)?;
                    notify(Action::UpdateUpdate, Became::Merged, Became::Unknown);
                }
                None => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn delete(&self, node: &Node) -> SvnResult<()> {
        if self.dry_run {
            return Ok(());
        }
        delete(self.ctx, self.wc, &node.relpath)?;
        // The file goes before another one comes in its place.
        Ok(self.gathered.let_go()?)
    }

    fn add(&self, node: &Node, props: &PropList) -> SvnResult<()> {
        if self.dry_run {
            return Ok(());
        }
        match node.meta.kind {
            Some(NodeKind::Dir) => {
                let dir = self.wc.abspath(&node.relpath);
                std::fs::create_dir_all(&dir).map_err(|e| {
                    SvnError::io(&e, format!("Can't create directory '{}'", dir.display()))
                })?;
            }
            Some(NodeKind::File) => {
                self.wc.install_shelved(&node.relpath, &self.stored.work(node)?, props)?;
            }
            None => return Ok(()),
        }
        Ok(self.wc.add_one(&node.relpath, props, &|_| {})?)
    }

    /// Merges a change of properties; whether it left a conflict.
    fn merge_dir(&self, node: &Node, base: &PropList, work: &PropList) -> SvnResult<bool> {
        let merge = PropsMerge {
            relpath: &node.relpath,
            locations: None,
            left: base,
            changes: &base.diff_to(work),
            dry_run: self.dry_run,
        };
        Ok(self.wc.merge_node_props(&merge, self.ctx.cancel())? == PropState::Conflicted)
    }

    /// Merges a change of a file; whether it left a conflict.
    fn merge_file(&self, node: &Node, base: &PropList, work: &PropList) -> SvnResult<bool> {
        let right = temporary()?;
        self.stored.normal_work(node, work, &mut right.as_file())?;
        let left = self.stored.base(node)?;
        let merge = FileMerge {
            relpath: &node.relpath,
            left: left.as_deref(),
            right: Some(right.path()),
            labels: [".merge-left", ".merge-right", ".working"],
            suffix: None,
            locations: None,
            left_props: base,
            changes: &base.diff_to(work),
            options: sapwood_diff::Options::default(),
            external: self.ctx.merge_text.as_deref(),
            dry_run: self.dry_run,
        };
        let merged = self.wc.merge_file(&merge, self.ctx.cancel())?;
        let conflict = merged.text == Some(TextOutcome::Conflict);
        Ok(conflict || merged.props == PropState::Conflicted)
    }
}

fn temporary() -> SvnResult<NamedTempFile> {
    NamedTempFile::new().map_err(|e| SvnError::io(&e, "Can't create temporary file"))
}

/// Compares before and after.
pub(super) fn diff(
    version: &Version,
    processor: &mut dyn Processor,
    summary: bool,
) -> SvnResult<()> {
    let stored = StoredVersion::of(version);
    for node in stored.nodes(RelPath::ROOT)? {
        let props = stored.props(&node)?;
        let path = node.relpath.as_path();
        let file = node.meta.kind == Some(NodeKind::File);
        let (comes, goes) = match node.meta.node {
            State::Added => (true, false),
            State::Deleted => (false, true),
            State::Replaced => (true, true),
            _ => (false, false),
        };
        let revision = node.meta.revision;
        if node.meta.node == State::Modified && !file && !summary {
            let left = DirSide { revision, props: props.base };
            processor.take(
                path,
                Difference::DirChanged(&left, &DirSide { revision: None, props: props.work }),
            )?;
            continue;
        }
        let left_text = stored.base(&node)?.map_or(Text::Empty, Text::File);
        let left = FileSide { revision, text: left_text, props: props.base };
        if goes {
            processor.take(path, Difference::FileDeleted(&left))?;
        }
        let changed = node.meta.node == State::Modified;
        if !comes && !changed {
            continue;
        }
        let text = if file { right_text(&stored, &node, &props.work)? } else { Text::Empty };
        let right = FileSide { revision: None, text, props: props.work };
        if comes {
            processor.take(path, Difference::FileAdded(None, &right))?;
        } else {
            // The reference says of each changed node that its text is, too, where it lists them.
            processor
                .take(path, Difference::FileChanged { left: &left, right: &right, text: true })?;
        }
    }
    Ok(())
}

/// The new text in normal form.
fn right_text(stored: &StoredVersion, node: &Node, props: &PropList) -> SvnResult<Text> {
    if !Translation::of(props, None).is_needed() {
        return Ok(Text::File(stored.work(node)?));
    }
    let to = temporary()?;
    stored.normal_work(node, props, &mut to.as_file())?;
    Ok(Text::Temporary(Rc::new(to.into_temp_path())))
}
