//! Repeats the changes of one working copy in another: the changes that a commit would send are applied to the other,
//! without a server except for the sources of copies.
//!
//! The other working copy is either known to have the same base ([`How::Exact`]: its content is simply replaced)
//! or may differ ([`How::Merge`]). Paths may come from a database that a stranger made: none leads outside, and
//! no file is read or written through a link.

use std::collections::HashSet;
use std::path::PathBuf;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::commit::{Harvest, HarvestOptions, Item};
use sapwood_wc::conflict::{PropState, TextOutcome};
use sapwood_wc::local::NewText;
use sapwood_wc::merge::{FileMerge, PropsMerge};
use sapwood_wc::node::Origin;
use sapwood_wc::root::disk_kind;
use sapwood_wc::text_base::TextBaseFile;
use sapwood_wc::translate::Translation;
use sapwood_wc::view::View;
use tempfile::NamedTempFile;

use super::{check_free, delete};
use crate::commit::{Drive, Extra, KindCheck, condense};
use crate::context::Context;
use crate::copy_in::copy_dir;
use crate::copy_local::set;
use crate::shelved::{check_name, outside};

/// The action for a changed node of the other working copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It gets the text and the properties.
    Exact,
    /// The change is merged into what it has.
    Merge,
}

/// The changes of a working copy, as a commit would have them, in the order of paths.
///
/// # Errors
/// Those of a commit: E155015 for a conflict and the like.
pub(super) fn harvest(
    ctx: &Context,
    wc: &WorkingCopy,
    places: &[RelPathBuf],
    depth: Depth,
    changelists: &[String],
) -> SvnResult<Vec<Item>> {
    let mut harvest = Harvest::default();
    for place in places {
        ctx.check_cancel()?;
        let how = HarvestOptions {
            depth,
            just_locked: false,
            changelists: changelists.iter().cloned().collect(),
            cancel: ctx.cancel().clone(),
        };
        harvest.target(wc, place, &how)?;
    }
    let check = KindCheck::new(ctx);
    harvest.finish(&|url, revision| Ok(check.kind(url, revision)?))?;
    let mut items = harvest.items;
    items.retain(|item| item.changes.changes_node());
    // Sorts them; there may be none.
    if !items.is_empty() {
        condense(&mut items, &[])?;
    }
    Ok(items)
}

/// Does in `to`, at and below `to_root`, what was done in `from` at and below `from_root`.
pub(super) struct Replay<'a> {
    pub(super) ctx: &'a Context,
    pub(super) from_root: &'a RelPath,
    pub(super) to: &'a WorkingCopy,
    pub(super) to_root: &'a RelPath,
    pub(super) how: How,
    /// Whether changes are only reported.
    pub(super) dry_run: bool,
}

impl Replay<'_> {
    /// Where an item is done.
    fn place(&self, item: &Item) -> SvnResult<RelPathBuf> {
        check_name(&item.relpath)?;
        let below = item.relpath.below(self.from_root);
        Ok(self.to_root.join(below.ok_or_else(|| outside(&item.relpath))?))
    }

    /// Does all items; whether that left conflicts. Needs a lock of `to`.
    pub(super) fn run(&self, items: &[Item]) -> SvnResult<bool> {
        for item in items {
            let at = self.place(item)?;
            self.to.check_inside(&at)?;
            let new = item.changes.add && !item.changes.delete && self.how == How::Merge;
            if new && item.kind == Some(NodeKind::File) {
                check_free(self.to, &at)?;
            }
        }
        let extra = Extra::default();
        let drive = Drive { ctx: self.ctx, prefix: None, extra: &extra };
        let mut conflicts = false;
        for item in items {
            self.ctx.check_cancel()?;
            drive.announce(item)?;
            if !self.dry_run {
                conflicts |= self.item(item)?;
            }
        }
        for item in items.iter().filter(|item| item.changes.text) {
            let shown = item.abspath().to_string_lossy().into_owned();
            let kind = Some(NodeKind::File);
            let action = Action::CommitPostfixTxdelta;
            self.ctx.notify(&Notify { kind, ..Notify::new(action, &shown) });
        }
        if let Some(item) = items.first() {
            self.ctx.notify(&Notify::of_url(Action::CommitFinalizing, &item.root));
        }
        Ok(conflicts)
    }

    fn item(&self, item: &Item) -> SvnResult<bool> {
        let at = self.place(item)?;
        // A link that was made just now may be in the way.
        self.to.check_inside(&at)?;
        item.wc.check_inside(&item.relpath)?;
        let changes = item.changes;
        if changes.delete {
            delete(self.ctx, self.to, &at)?;
        }
        let Some(kind) = item.kind.filter(|_| changes.add || changes.text || changes.props) else {
            return Ok(false);
        };
        let view = item.wc.require_view(&item.relpath)?;
        let copied = item.copy_from.as_ref();
        if let Some((from, revision)) = copied.filter(|_| changes.add) {
            self.copy(&at, kind, from, *revision)?;
        } else if changes.add {
            self.add(item, &view, &at, kind)?;
            return Ok(false);
        }
        if !changes.text && !changes.props {
            return Ok(false);
        }
        let exact = self.how == How::Exact || changes.add;
        match (exact, kind) {
            (true, _) => self.replace(item, &view, &at, kind).map(|()| false),
            (false, NodeKind::Dir) => self.merge_dir(&view, &at),
            (false, NodeKind::File) => self.merge_file(item, &view, &at),
        }
    }

    /// Copies a node of the repository to a location.
    fn copy(
        &self,
        at: &RelPath,
        kind: NodeKind,
        from: &RelPath,
        revision: Revnum,
    ) -> SvnResult<()> {
        let (repos_id, _) = self.to.repos_location(at.parent())?;
        let root = self.to.db().repository(repos_id)?.root;
        let url = root.join(from);
        if kind == NodeKind::Dir {
            return copy_dir(self.ctx, &url, revision, self.to, at);
        }
        let session = sapwood_ra::open(&url, &self.ctx.ra)?;
        let mut text = self.to.write_pristine()?;
        let fetched = session.get_file(RelPath::ROOT, Some(revision), Some(&mut text), true)?;
        let origin = Origin { repos_id, repos_path: from.to_owned(), revision };
        let cancel = self.ctx.cancel();
        self.to.add_repos_file(at, text, &fetched.props, Some(&origin), cancel)?;
        let place = self.to.abspath(at);
        let shown = Notify::new(Action::Add, &place.to_string_lossy()).path.to_owned();
        self.ctx.notify(&Notify { kind: Some(kind), ..Notify::new(Action::Add, &shown) });
        Ok(())
    }

    /// Adds a new node.
    fn add(&self, item: &Item, view: &View, at: &RelPath, kind: NodeKind) -> SvnResult<()> {
        let props = view.props()?;
        if kind == NodeKind::Dir {
            let dir = self.to.abspath(at);
            if !disk_kind(&dir)?.is_some_and(|kind| kind.is_dir()) {
                self.to.make_dir(at)?;
            }
        } else {
            self.install(item, at, &props)?;
        }
        Ok(self.to.add_one(at, &props, &|_| {})?)
    }

    /// Gives a node the properties and the text.
    fn replace(&self, item: &Item, view: &View, at: &RelPath, kind: NodeKind) -> SvnResult<()> {
        let props = view.props()?;
        if item.changes.props {
            let known = self.to.require_view(at)?.props()?;
            for (name, value) in known.diff_to(&props) {
                set(self.ctx, self.to, at, &name, value.as_deref())?;
            }
        }
        if kind == NodeKind::File && item.changes.text {
            self.install(item, at, &props)?;
        }
        Ok(())
    }

    /// Writes the working file of an item to its place, in the working form that belongs there.
    fn install(&self, item: &Item, at: &RelPath, props: &PropList) -> SvnResult<()> {
        let normal = normal_text(item, props)?;
        if props.get(names::SPECIAL).is_some() {
            let mut text = std::fs::File::open(normal.path())
                .map_err(|e| SvnError::io(&e, "Can't read a temporary file"))?;
            return Ok(self.to.install_special(at, &mut text)?);
        }
        let translation = match self.to.view(at)? {
            Some(_) => self.to.translation(at, props)?,
            None => Translation::of(props, None),
        };
        let executable = props.get(names::EXECUTABLE).is_some();
        Ok(self.to.install_text(at, NewText::File(normal.path()), &translation, executable)?)
    }

    fn merge_dir(&self, view: &View, at: &RelPath) -> SvnResult<bool> {
        let base = view.pristine_props()?;
        let merge = PropsMerge {
            relpath: at,
            locations: None,
            left: &base,
            changes: &base.diff_to(&view.props()?),
            dry_run: false,
        };
        Ok(self.to.merge_node_props(&merge, self.ctx.cancel())? == PropState::Conflicted)
    }

    fn merge_file(&self, item: &Item, view: &View, at: &RelPath) -> SvnResult<bool> {
        let (base, props) = (view.pristine_props()?, view.props()?);
        let left = self.base_text(item, view)?;
        let right = if item.changes.text { Some(normal_text(item, &props)?) } else { None };
        let left_path = left.as_ref().map(TextBaseFile::path);
        let merge = FileMerge {
            relpath: at,
            left: left_path,
            right: right.as_ref().map(NamedTempFile::path).or(left_path),
            labels: [".merge-left", ".merge-right", ".working"],
            suffix: None,
            locations: None,
            left_props: &base,
            changes: &base.diff_to(&props),
            options: sapwood_diff::Options::default(),
            external: self.ctx.merge_text.as_deref(),
            dry_run: false,
        };
        let merged = self.to.merge_file(&merge, self.ctx.cancel())?;
        let conflict = merged.text == Some(TextOutcome::Conflict);
        Ok(conflict || merged.props == PropState::Conflicted)
    }

    fn base_text(&self, item: &Item, view: &View) -> SvnResult<Option<TextBaseFile>> {
        let Some(sha1) = view.top().checksum else { return Ok(None) };
        let base = item.wc.text_base_file(&item.relpath, &sha1)?;
        if disk_kind(base.path())?.is_some_and(|kind| kind.is_file()) {
            return Ok(Some(base));
        }
        Err(no_file(base.path().to_owned()))
    }
}

fn no_file(path: PathBuf) -> SvnError {
    let message = format!("'{}' is not a file", path.display());
    SvnError::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message)
}

/// The working file of an item in normal form.
fn normal_text(item: &Item, props: &PropList) -> SvnResult<NamedTempFile> {
    let path = item.abspath();
    let kind = disk_kind(&path)?;
    let special = props.get(names::SPECIAL).is_some();
    let plain = kind.is_some_and(|kind| kind.is_file());
    let link = kind.is_some_and(|kind| kind.is_symlink());
    if !(plain || special && link) {
        return Err(no_file(path));
    }
    let failed = |e| SvnError::io(&e, "Can't create temporary file");
    let to = NamedTempFile::new().map_err(failed)?;
    let mut text = Translation::of(props, None).normal_form(&path, true)?;
    std::io::copy(&mut text, &mut to.as_file()).map_err(SvnError::from_stream)?;
    Ok(to)
}

/// Local changes at and below a path that a shelf does not have: what a revert of the whole would lose.
pub(super) fn not_among(
    ctx: &Context,
    wc: &WorkingCopy,
    root: &RelPath,
    shelved: &HashSet<RelPathBuf>,
) -> SvnResult<Option<RelPathBuf>> {
    use sapwood_wc::status::{Options, State};
    let mut found = None;
    let options = Options {
        unversioned: false,
        ignores: ctx.ignores(),
        cancel: ctx.cancel().clone(),
        ..Options::default()
    };
    wc.status(root, &options, &mut |status| {
        let changed = !matches!(status.node, State::Normal | State::None);
        if changed && !shelved.contains(&status.relpath) {
            found.get_or_insert(status.relpath);
        }
        Ok(())
    })?;
    Ok(found)
}
