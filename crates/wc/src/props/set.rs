//! Setting and deleting properties.

use std::collections::HashSet;
use std::io::Read;

use sapwood_core::exact::Cut;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, PropList, SvnError, SvnResult};

use super::rules::{self, FileForCheck, NEEDS_LOCK, Newlines};
use crate::db::Db;
use crate::error::{Error, Result};
use crate::gather::{GatheredChanges, Notifier};
use crate::node::require_view;
use crate::root::{Disk, WorkingCopy};
use crate::translate::Translation;
use crate::view::{Status, View};
use crate::work_item::WorkItem;

/// A property to set, or to delete.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    /// Its name.
    pub name: &'c str,
    /// Its value; `None` deletes it.
    pub value: Option<&'c [u8]>,
    /// Leaves out the checks that `--force` leaves out.
    pub force: bool,
}

/// A file of the working copy, for the checks of a property.
pub(crate) struct WorkingFile<'w> {
    pub(crate) path: std::path::PathBuf,
    pub(crate) props: &'w PropList,
}

impl FileForCheck for WorkingFile<'_> {
    fn mime_type(&mut self) -> SvnResult<Option<Vec<u8>>> {
        Ok(self.props.get(names::MIME_TYPE).map(<[u8]>::to_vec))
    }

    fn has_consistent_newlines(&mut self) -> SvnResult<bool> {
        let failed = |e: std::io::Error| {
            SvnError::io(&e, format!("Can't open file '{}'", self.path.display()))
        };
        let mut file = std::fs::File::open(&self.path).map_err(failed)?;
        let mut newlines = Newlines::default();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer).map_err(failed)? {
                0 => return Ok(newlines.consistent()),
                n => newlines.update(buffer.head(n)),
            }
        }
    }
}

/// As [`WorkingCopy::set_prop`].
pub(crate) fn set_prop(
    wc: &WorkingCopy,
    relpath: &RelPath,
    change: Change<'_>,
    depth: Depth,
    changelists: &HashSet<String>,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    wc.gather(cancel, notify, |gathered| {
        wc.set_prop_among(relpath, change, depth, changelists, gathered)
    })
}

/// As [`WorkingCopy::set_prop_among`].
pub(crate) fn set_prop_among(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    change: Change<'_>,
    depth: Depth,
    changelists: &HashSet<String>,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    if rules::kind_of(change.name) == rules::PropKind::Entry {
        return Err(Error::new(
            ErrorCode::BAD_PROP_KIND,
            format!("Property '{}' is an entry property", change.name),
        ));
    }
    let view = require_view(db, disk, relpath)?;
    if !matches!(view.status(), Status::Normal | Status::Added | Status::Incomplete) {
        let shown = disk.abspath(relpath);
        return Err(Error::new(
            ErrorCode::WC_INVALID_SCHEDULE,
            format!(
                "Can't set properties on '{}': invalid status for updating properties.",
                shown.display()
            ),
        ));
    }
    if depth == Depth::Empty || !view.is_dir() {
        if matches_changelist(&view, changelists) {
            set_one(db, disk, &view, change, gathered)?;
        }
        return Ok(());
    }
    walk_nodes(db, disk, relpath, depth, &mut |view| {
        gathered.step()?;
        if !matches_changelist(view, changelists) {
            return Ok(());
        }
        match set_one(db, disk, view, change, gathered) {
            Err(Error::Svn(e)) if skipped_below(e.code()) => Ok(()),
            other => other,
        }
    })
}

fn set_one(
    db: &Db,
    disk: &Disk,
    view: &View,
    change: Change<'_>,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    let relpath = view.relpath();
    let path = disk.abspath(relpath);
    let shown = path.to_string_lossy();
    let kind = if view.is_dir() { NodeKind::Dir } else { NodeKind::File };
    let mut props = view.props()?;
    let value = match change.value {
        Some(value) if change.name.starts_with(names::PREFIX) => {
            let mut file = WorkingFile { path: path.clone(), props: &props };
            let force = change.force;
            Some(rules::canonicalize(change.name, value, &shown, kind, force, &mut file)?)
        }
        value => value.map(<[u8]>::to_vec),
    };
    let old = props.get(change.name).map(<[u8]>::to_vec);
    let sync = kind == NodeKind::File && [names::EXECUTABLE, NEEDS_LOCK].contains(&change.name);
    let forget =
        kind == NodeKind::File && changes_form(change.name, old.as_deref(), value.as_deref());
    let action = match (&old, &value) {
        (None, None) => Action::PropertyDeletedNonexistent,
        (None, Some(_)) => Action::PropertyAdded,
        (Some(_), None) => Action::PropertyDeleted,
        (Some(_), Some(_)) => Action::PropertyModified,
    };
    match &value {
        Some(value) => {
            props.set(change.name, value);
        }
        None => {
            props.remove(change.name);
        }
    }
    db.write(|db| {
        store_props(db, view, &props)?;
        if forget {
            db.record_fileinfo(relpath, -1, 0)?;
        }
        if sync {
            db.add_work(&WorkItem::SyncFileFlags { relpath: relpath.to_owned() })?;
        }
        Ok(())
    })?;
    gathered.notify(&Notify {
        prop_name: Some(change.name),
        kind: Some(kind),
        ..Notify::new(action, &shown)
    });
    Ok(())
}

/// As [`WorkingCopy::walk_nodes`].
pub(crate) fn walk_nodes(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    depth: Depth,
    visit: &mut dyn FnMut(&View) -> Result<()>,
) -> Result<()> {
    let view = require_view(db, disk, relpath)?;
    visit(&view)?;
    if view.is_dir() {
        walk_below(db, relpath, depth, visit)?;
    }
    Ok(())
}

fn walk_below(
    db: &Db,
    relpath: &RelPath,
    depth: Depth,
    visit: &mut dyn FnMut(&View) -> Result<()>,
) -> Result<()> {
    if !matches!(depth, Depth::Files | Depth::Immediates | Depth::Infinity) {
        return Ok(());
    }
    for child in db.children(relpath)? {
        let there = matches!(child.status(), Status::Normal | Status::Incomplete | Status::Added);
        if !there || (child.is_dir() && depth == Depth::Files) {
            continue;
        }
        visit(&child)?;
        if child.is_dir() && depth == Depth::Infinity {
            walk_below(db, child.relpath(), depth, visit)?;
        }
    }
    Ok(())
}

/// Records properties of a node, inside a transaction; those of its layer are not kept twice.
pub(crate) fn store_props(db: &Db, view: &View, props: &PropList) -> Result<()> {
    let same = view.pristine_props()? == *props;
    db.set_actual_props(view.relpath(), (!same).then_some(props))
}

/// Whether a node is on one of the changelists, or there is nothing to be on.
#[must_use]
pub(crate) fn matches_changelist(view: &View, changelists: &HashSet<String>) -> bool {
    changelists.is_empty() || view.changelist().is_some_and(|name| changelists.contains(name))
}

/// Whether a walk may continue after an error: the property is for another kind, or the node was
/// removed.
fn skipped_below(code: ErrorCode) -> bool {
    code == ErrorCode::ILLEGAL_TARGET || code == ErrorCode::WC_INVALID_SCHEDULE
}

/// Whether a change of a property means that the working form of the text is another.
fn changes_form(name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> bool {
    let of = |value: Option<&[u8]>| {
        let props: PropList = value.into_iter().map(|v| (name, v)).collect();
        Translation::of(&props, None)
    };
    match name {
        names::KEYWORDS => match (of(old).keywords, of(new).keywords) {
            (Some(a), Some(b)) => !a.same_names(&b),
            (None, None) => false,
            _ => true,
        },
        names::EOL_STYLE => old != new,
        _ => false,
    }
}
