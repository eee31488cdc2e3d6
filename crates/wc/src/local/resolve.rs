//! Resolving conflicts: the chosen text or properties are put in place, then the conflict's files and
//! its record are removed.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_core::{CancelToken, ErrorCode, PropList};
use sapwood_diff::{ConflictStyle, Labels, Options};

use super::Notifier;
use super::choice::{Choice, Part, forget_conflict, inapplicable};
use crate::conflict::{Conflict, PropConflict, Temporary, TextConflict, ThreeFiles};
use crate::db::Db;
use crate::error::{Error, Result};
use crate::local::resolve_tree::resolve_tree;
use crate::props::store_props;
use crate::root::{Disk, WorkingCopy};
use crate::translate::special;
use crate::view::View;
use crate::work_item::WorkItem;

/// A file with a text in normal form: a link's is in a file that goes with this value.
enum NormalFile {
    Itself(PathBuf),
    OfLink(Temporary),
}

impl NormalFile {
    fn of(wc: &WorkingCopy, path: PathBuf) -> Result<Self> {
        if !path.is_symlink() {
            return Ok(Self::Itself(path));
        }
        let text = special::read_normal(&path);
        let text = text.map_err(|e| Error::io(e, "Can't open file", &path))?;
        Temporary::filled(wc, text, &path).map(Self::OfLink)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Itself(path) => path,
            Self::OfLink(copy) => copy.path(),
        }
    }
}

/// As [`WorkingCopy::has_conflicts`].
pub(crate) fn has_conflicts(db: &Db, relpath: &RelPath) -> Result<bool> {
    let (above, end) = super::subtree(relpath);
    let found = db.first(
        "SELECT 1 FROM actual_node WHERE wc_id = ?1 AND local_relpath > ?3 AND local_relpath < ?4 \
         AND conflict_data IS NOT NULL UNION ALL SELECT 1 FROM actual_node WHERE wc_id = ?1 AND \
         local_relpath = ?2 AND conflict_data IS NOT NULL LIMIT 1",
        rusqlite::params![db.wc_id(), relpath.as_str(), above, end],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// As [`WorkingCopy::resolve`].
pub(crate) fn resolve(
    wc: &WorkingCopy,
    relpath: &RelPath,
    choice: Choice,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<bool> {
    wc.resolve_part(relpath, Part::All, choice, cancel, notify)
}

/// As [`WorkingCopy::resolve_part`].
pub(crate) fn resolve_part(
    wc: &WorkingCopy,
    relpath: &RelPath,
    part: Part<'_>,
    choice: Choice,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<bool> {
    let Some(record) = wc.db().actual(relpath)?.and_then(|a| a.conflict_data) else {
        return Ok(false);
    };
    let open = wc.conflicted(&record)?;
    let lock = wc.lock_to_resolve(relpath)?;
    let view = wc.view(relpath)?;
    let conflict = Conflict::parse(&record)?;
    let mut settled = false;
    if let (Some(text), Some(view), true) = (&conflict.text, &view, open.text && part.has_text()) {
        resolve_text(wc, view, text, choice, cancel)?;
        super::notify_path(wc.disk(), notify, Action::ResolvedText, relpath);
        settled = true;
    }
    if let (Some(props), Some(view), true) = (&conflict.prop, &view, open.props && part.has_props())
    {
        resolve_props(wc, view, props, part, choice, cancel)?;
        if let Part::Prop(name, _) = part {
            let path = wc.abspath(relpath);
            let shown = path.to_string_lossy();
            let value = Notify::new(Action::ResolvedProp, &shown);
            notify(&Notify { prop_name: Some(name), ..value });
        } else {
            super::notify_path(wc.disk(), notify, Action::Resolved, relpath);
        }
        settled = true;
    }
    if let Some(tree) = conflict.tree.as_ref().filter(|_| part.has_tree()) {
        resolve_tree(wc, relpath, &conflict, tree, choice, cancel, notify)?;
        super::notify_path(wc.disk(), notify, Action::ResolvedTree, relpath);
        settled = true;
    }
    let gone = (conflict.text.is_some() && !open.text, conflict.prop.is_some() && !open.props);
    if gone.0 || gone.1 {
        // The files are gone: only the record is left.
        wc.db().write(|_| {
            forget_conflict(wc.db(), relpath, |left| {
                if gone.0 {
                    left.text = None;
                }
                if gone.1 {
                    left.prop = None;
                }
            })
        })?;
    }
    lock.release()?;
    Ok(settled)
}

fn is_file(disk: &Disk, relpath: &RelPath) -> bool {
    crate::files::is_leftover(&disk.abspath(relpath))
}

fn resolve_text(
    wc: &WorkingCopy,
    view: &View,
    text: &TextConflict,
    choice: Choice,
    cancel: &CancelToken,
) -> Result<()> {
    let relpath = view.relpath();
    let props = view.props()?;
    let binary = props.get(names::MIME_TYPE).is_some_and(is_binary_mime_type);
    let mut work = Vec::new();
    let mut merged = None;
    let chosen = match choice {
        Choice::Base => text.old.clone(),
        Choice::TheirsFull => text.theirs.clone(),
        Choice::MineFull => Some(text.mine.clone().unwrap_or_else(|| relpath.to_owned())),
        Choice::Working if binary => Some(text.mine.clone().unwrap_or_else(|| relpath.to_owned())),
        Choice::Working => Some(relpath.to_owned()),
        Choice::MineConflict | Choice::TheirsConflict if binary => {
            return Err(inapplicable(wc.disk(), relpath));
        }
        Choice::MineConflict => {
            merged = Some(merge_one_side(wc, text, ConflictStyle::Modified, relpath)?);
            merged.clone()
        }
        Choice::TheirsConflict => {
            merged = Some(merge_one_side(wc, text, ConflictStyle::Latest, relpath)?);
            merged.clone()
        }
    };
    let source = chosen.ok_or_else(|| no_such_version(wc.disk(), relpath))?;
    if source != relpath {
        work.push(WorkItem::FileInstall {
            relpath: relpath.to_owned(),
            use_commit_times: false,
            record_fileinfo: false,
            source: Some(source),
        });
    }
    work.extend(merged.map(|relpath| WorkItem::FileRemove { relpath }));
    for file in [&text.old, &text.theirs, &text.mine].into_iter().flatten() {
        if is_file(wc.disk(), file) {
            work.push(WorkItem::FileRemove { relpath: file.clone() });
        }
    }
    wc.db().write(|db| {
        work.iter().try_for_each(|item| db.add_work(item).map(|_| ()))?;
        forget_conflict(wc.db(), relpath, |conflict| conflict.text = None)
    })?;
    wc.run_queue(cancel)
}

fn no_such_version(disk: &Disk, relpath: &RelPath) -> Error {
    let shown = disk.abspath(relpath);
    Error::new(
        ErrorCode::WC_CONFLICT_RESOLVER_FAILURE,
        format!(
            "Conflict on '{}' could not be resolved because the chosen version of the file is \
             not available.",
            shown.display()
        ),
    )
}

/// Merges the three texts, with one side only where both differ; the path of the result.
fn merge_one_side(
    wc: &WorkingCopy,
    text: &TextConflict,
    style: ConflictStyle,
    relpath: &RelPath,
) -> Result<RelPathBuf> {
    let file = |file: &Option<RelPathBuf>| -> Result<NormalFile> {
        let file = file.as_deref().ok_or_else(|| {
            let shown = wc.abspath(relpath);
            Error::new(
                ErrorCode::WC_CONFLICT_RESOLVER_FAILURE,
                format!(
                    "Conflict on '{}' cannot be resolved to 'theirs-conflict' or \
                     'mine-conflict' because a merged version of the file cannot be created.",
                    shown.display()
                ),
            )
        })?;
        NormalFile::of(wc, wc.abspath(file))
    };
    let (mine, old, theirs) = (file(&text.mine)?, file(&text.old)?, file(&text.theirs)?);
    let labels = Labels { modified: "", original: "", separator: "", latest: "" };
    let path = wc.temporary();
    let out = fs::File::create(&path).map_err(|e| Error::io(e, "Can't write file", &path))?;
    let mut out = BufWriter::new(out);
    let files = ThreeFiles([old.path(), mine.path(), theirs.path()]);
    files.merge(&Options::default(), &labels, style, &mut out)?;
    out.flush().map_err(|e| Error::io(e, "Can't write file", &path))?;
    wc.relpath(&path)
}

fn resolve_props(
    wc: &WorkingCopy,
    view: &View,
    conflict: &PropConflict,
    part: Part<'_>,
    choice: Choice,
    cancel: &CancelToken,
) -> Result<()> {
    let relpath = view.relpath();
    let nothing = PropList::new();
    let from = match choice {
        Choice::Working => None,
        Choice::Base => Some(conflict.old.as_ref()),
        Choice::MineConflict | Choice::MineFull => Some(conflict.mine.as_ref()),
        Choice::TheirsConflict | Choice::TheirsFull => Some(conflict.theirs.as_ref()),
    };
    let meant = |name: &str| match part {
        Part::Prop(only, _) => name == only,
        _ => true,
    };
    let mut props = view.props()?;
    for name in conflict.names.iter().filter(|name| meant(name)) {
        let value = match (part, from) {
            (Part::Prop(_, Some(merged)), _) => Some(merged),
            (_, Some(from)) => from.unwrap_or(&nothing).get(name),
            (_, None) => continue,
        };
        match value {
            Some(value) => drop(props.set(name, value)),
            None => drop(props.remove(name)),
        }
    }
    let left: Vec<String> = conflict.names.iter().filter(|name| !meant(name)).cloned().collect();
    let reject = conflict.marker.clone().filter(|file| is_file(wc.disk(), file));
    wc.db().write(|db| {
        store_props(wc.db(), view, &props)?;
        if !left.is_empty() {
            db.add_work(&WorkItem::PrejInstall { relpath: relpath.to_owned(), old_skel: None })?;
        } else if let Some(relpath) = reject {
            db.add_work(&WorkItem::FileRemove { relpath })?;
        }
        forget_conflict(wc.db(), relpath, |conflict| {
            conflict.prop = conflict
                .prop
                .take()
                .filter(|_| !left.is_empty())
                .map(|prop| PropConflict { names: left, ..prop });
        })
    })?;
    wc.run_queue(cancel)
}
