//! Merging a change of a file or of properties into a node.

use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, ErrorCode, PropList};
use sapwood_diff::Options;

use crate::conflict::{
    Conflict, ExternalMerge, Location, Operation, PropChange, PropState, TextMerge, TextOutcome,
    merge_props, merge_text, names, try_text,
};
use crate::db::Kind;
use crate::error::{Error, Result};
use crate::local_mods::{is_magic, is_still_conflicted};
use crate::props::store_props;
use crate::root::{Disk, WorkingCopy};
use crate::view::{Status, View};
use crate::work_item::WorkItem;

/// A change of properties.
#[derive(Clone, Debug)]
pub struct PropsMerge<'a> {
    /// The node, below the working copy's root.
    pub relpath: &'a RelPath,
    /// What the two sides are, for the record of a conflict.
    pub locations: Option<[Location; 2]>,
    /// The properties that the change was made to.
    pub left: &'a PropList,
    /// The change.
    pub changes: &'a [PropChange],
    /// Only finds out what would happen.
    pub dry_run: bool,
}

/// A change of a file.
#[derive(Clone)]
pub struct FileMerge<'a> {
    /// The file, below the working copy's root.
    pub relpath: &'a RelPath,
    /// The old text in normal form; `None` when it is empty.
    pub left: Option<&'a Path>,
    /// The new text.
    pub right: Option<&'a Path>,
    /// What the old, the new and the local text are called in marks and file names.
    pub labels: [&'a str; 3],
    /// How the files that a conflict leaves end, if not with these.
    pub suffix: Option<&'a str>,
    /// What the two sides are, for the record of a conflict.
    pub locations: Option<[Location; 2]>,
    /// The properties that the change was made to.
    pub left_props: &'a PropList,
    /// The change of properties.
    pub changes: &'a [PropChange],
    /// What counts as a difference.
    pub options: Options,
    /// `diff3-cmd`.
    pub external: Option<ExternalMerge<'a>>,
    /// Only finds out what would happen.
    pub dry_run: bool,
}

impl std::fmt::Debug for FileMerge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileMerge").field("relpath", &self.relpath).finish_non_exhaustive()
    }
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMerged {
    /// Its text; `None` when there was no file to merge into.
    pub text: Option<TextOutcome>,
    /// Its properties.
    pub props: PropState,
}

/// A text that may be missing.
struct TextFile {
    path: PathBuf,
    made: bool,
}

impl TextFile {
    fn of(wc: &WorkingCopy, path: Option<&Path>) -> Result<Self> {
        if let Some(path) = path {
            return Ok(Self { path: path.to_owned(), made: false });
        }
        let path = wc.temporary();
        fs::write(&path, b"").map_err(|e| Error::io(e, "Can't write to file", &path))?;
        Ok(Self { path, made: true })
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        if self.made {
            // What stays here is for cleanup.
            let _removed = fs::remove_file(&self.path);
        }
    }
}

/// A merge into a node stops before it begins, or not at all.
fn check_cancel(cancel: &CancelToken) -> Result<()> {
    if cancel.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
}

/// E155035 when a node is in conflict already.
fn check_unconflicted(disk: &Disk, view: &View) -> Result<()> {
    let Some(record) = view.conflict_data() else { return Ok(()) };
    let conflict = Conflict::parse(record)?;
    if conflict.tree.is_none() && !is_still_conflicted(disk, &conflict) {
        return Ok(());
    }
    let shown = disk.abspath(view.relpath());
    Err(Error::new(
        ErrorCode::WC_PATH_UNEXPECTED_STATUS,
        format!("Can't merge into conflicted node '{}'", shown.display()),
    ))
}

/// As [`WorkingCopy::merge_node_props`].
pub(crate) fn merge_node_props(
    wc: &WorkingCopy,
    merge: &PropsMerge<'_>,
    cancel: &CancelToken,
) -> Result<PropState> {
    check_cancel(cancel)?;
    let view = wc.require_view(merge.relpath)?;
    match view.status() {
        Status::Excluded | Status::ServerExcluded | Status::NotPresent => {
            return Err(Error::NodeNotFound(wc.abspath(merge.relpath)));
        }
        Status::Deleted => {
            let shown = wc.abspath(merge.relpath);
            return Err(Error::new(
                ErrorCode::WC_PATH_UNEXPECTED_STATUS,
                format!("The node '{}' does not have properties in this state.", shown.display()),
            ));
        }
        Status::Normal | Status::Incomplete | Status::Added => {}
    }
    check_unconflicted(wc.disk(), &view)?;
    let merged = merge_props(merge.left, &view.pristine_props()?, &view.props()?, merge.changes);
    if merge.dry_run {
        return Ok(merged.state);
    }
    let conflict = merged.conflict.map(|prop| {
        let mut conflict = conflict_of(merge.locations.clone());
        conflict.prop = Some(prop);
        conflict
    });
    finish(wc, &view, merged.actual, merge.changes, conflict, Vec::new())?;
    Ok(merged.state)
}

fn conflict_of(locations: Option<[Location; 2]>) -> Conflict {
    let [left, right] = locations.map_or([None, None], |both| both.map(Some));
    Conflict::new(Operation::Merge, left, right)
}

/// As [`WorkingCopy::merge_file`].
pub(crate) fn merge_file(
    wc: &WorkingCopy,
    merge: &FileMerge<'_>,
    cancel: &CancelToken,
) -> Result<FileMerged> {
    check_cancel(cancel)?;
    let view = wc.require_view(merge.relpath)?;
    let there = matches!(view.status(), Status::Normal | Status::Added);
    if view.top().kind == Kind::Dir || !there {
        return Ok(FileMerged { text: None, props: PropState::Unchanged });
    }
    check_unconflicted(wc.disk(), &view)?;
    let actual = view.props()?;
    let props = merge_props(merge.left_props, &view.pristine_props()?, &actual, merge.changes);
    let left = TextFile::of(wc, merge.left)?;
    let right = TextFile::of(wc, merge.right)?;
    let [left_label, right_label, target_label] = merge.labels;
    let text = TextMerge {
        relpath: merge.relpath,
        left: &left.path,
        right: &right.path,
        left_label,
        right_label,
        target_label,
        actual: &actual,
        changes: merge.changes,
        options: merge.options,
        external: merge.external,
        suffix: merge.suffix,
    };
    if merge.dry_run {
        let text = Some(try_text(wc, &text)?);
        return Ok(FileMerged { text, props: props.state });
    }
    let text = merge_text(wc, &text)?;
    let conflict = (text.conflict.is_some() || props.conflict.is_some()).then(|| {
        let mut conflict = conflict_of(merge.locations.clone());
        conflict.text = text.conflict;
        conflict.prop = props.conflict;
        conflict
    });
    finish(wc, &view, props.actual, merge.changes, conflict, text.work)?;
    Ok(FileMerged { text: Some(text.outcome), props: props.state })
}

/// Writes properties and the conflict, and runs all work items: they name texts that belong to the
/// caller and are removed when it returns, so cleanup could not run them later.
fn finish(
    wc: &WorkingCopy,
    view: &View,
    props: PropList,
    changes: &[PropChange],
    mut conflict: Option<Conflict>,
    mut work: Vec<WorkItem>,
) -> Result<()> {
    let relpath = view.relpath();
    if let Some(prop) = conflict.as_mut().and_then(|c| c.prop.as_mut()) {
        prop.marker = Some(names::reserve_prej(wc, relpath)?);
        work.push(WorkItem::PrejInstall { relpath: relpath.to_owned(), old_skel: None });
    }
    let magic = changes.iter().any(|(name, _)| is_magic(name));
    wc.db().write(|db| {
        store_props(wc.db(), view, &props)?;
        if magic {
            db.record_fileinfo(relpath, -1, 0)?;
        }
        if let Some(conflict) = &conflict {
            db.mark_conflict(relpath, &conflict.write())?;
        }
        work.iter().try_for_each(|item| db.add_work(item).map(|_| ()))
    })?;
    if work.is_empty() { Ok(()) } else { wc.run_queue(&CancelToken::new()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::Options as WcOptions;
    use crate::db::{NodeRow, Presence};

    /// Merges into a file with a local change; whether `cancel` stops it, the text afterwards, and
    /// whether something is left in the queue.
    fn merged(cancel: &CancelToken, stops_within: bool) -> (bool, String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let wc = WorkingCopy::create(folder.path(), WcOptions::default()).unwrap();
        let repos = wc.db().repository_id("file:///r", "uuid").unwrap();
        for (path, kind) in [("", Kind::Dir), ("f", Kind::File)] {
            let mut row = NodeRow::new(RelPath::trusted(path), 0, Presence::Normal, kind);
            row.repos_id = Some(repos);
            row.repos_path = Some(RelPath::trusted(path).to_owned());
            row.properties = Some(b"()".to_vec());
            wc.db().put_node(&row).unwrap();
        }
        let [file, left, right] = ["f", "left", "right"].map(|name| folder.path().join(name));
        for (path, text) in [(&file, "ours"), (&left, "old"), (&right, "new")] {
            fs::write(path, text).unwrap();
        }
        let lock = wc.lock(RelPath::ROOT, -1).unwrap();
        let external = |_: [&Path; 3], _: [&str; 3], result: &mut fs::File| {
            if stops_within {
                cancel.cancel();
            }
            result.write_all(b"both").unwrap();
            Ok(false)
        };
        let merge = FileMerge {
            relpath: RelPath::trusted("f"),
            left: Some(&left),
            right: Some(&right),
            labels: ["left", "right", "ours"],
            suffix: None,
            locations: None,
            left_props: &PropList::new(),
            changes: &[],
            options: Options::default(),
            external: Some(&external),
            dry_run: false,
        };
        let stopped = match wc.merge_file(&merge, cancel) {
            Ok(_) => false,
            Err(Error::Cancelled) => true,
            Err(other) => panic!("{other}"),
        };
        let waits = wc.db().has_work().unwrap();
        lock.release().unwrap();
        (stopped, fs::read_to_string(&file).unwrap(), waits)
    }

    #[test]
    fn a_stop_leaves_nothing_in_the_queue() {
        let stopped = CancelToken::new();
        stopped.cancel();
        assert_eq!(merged(&stopped, false), (true, "ours".to_owned(), false));
        assert_eq!(merged(&CancelToken::new(), true), (false, "both".to_owned(), false));
    }
}
