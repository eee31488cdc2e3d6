//! After a commit: the committed nodes become BASE.
//!
//! One transaction a working copy puts the new texts into the store, moves the committed layers down
//! to BASE, forgets local properties, changelists and locks, and writes down the work on files,
//! which follows: keywords are expanded anew, flags set, size and time recorded. Of a file that
//! has no such property and is still as it was read, size and time are recorded at once.

use std::collections::HashMap;

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, ErrorCode, Revnum, Sha1, path};

use super::{Changes, SentText};
use crate::db::{Kind, NodeRow, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::locks::owns_lock;
use crate::root::WorkingCopy;
use crate::view::{FileStat, Status, View, stat_file};
use crate::work_item::WorkItem;

/// A node that was committed.
#[derive(Debug)]
pub struct CommittedNode {
    /// The path below the working copy's root.
    pub relpath: RelPathBuf,
    /// What happened to it.
    pub changes: Changes,
    /// Whether everything below it was committed with it, as part of a copy.
    pub recurse: bool,
    /// The text that was sent.
    pub text: Option<SentText>,
}

/// The revision that was made.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its number.
    pub number: Revnum,
    /// Its date.
    pub date: Option<Timestamp>,
    /// Its author.
    pub author: Option<String>,
    /// Whether locks stay.
    pub keep_locks: bool,
    /// Whether changelists stay.
    pub keep_changelists: bool,
}

/// As [`WorkingCopy::process_committed`].
pub(crate) fn process_committed(
    wc: &WorkingCopy,
    mut committed: Vec<CommittedNode>,
    revision: &Revision,
    cancel: &CancelToken,
) -> Result<()> {
    committed.sort_by(|a, b| path::compare(&a.relpath, &b.relpath));
    let has_work = wc.db().write(|db| {
        let mut texts = HashMap::new();
        for node in &mut committed {
            if let Some(SentText { pristine, as_read }) = node.text.take() {
                texts.insert(node.relpath.clone(), SentFile { sha1: pristine.sha1, as_read });
                wc.install_pristine(pristine)?;
            }
        }
        let process = Process { wc, revision, texts };
        let mut recursive: Option<&RelPath> = None;
        for node in &committed {
            if recursive.is_some_and(|root| node.relpath.is_at_or_below(root)) {
                continue;
            }
            if node.recurse {
                recursive = Some(&node.relpath);
            }
            process.node(node)?;
        }
        db.has_work()
    })?;
    if has_work { wc.run_queue(cancel) } else { Ok(()) }
}

struct Process<'a> {
    wc: &'a WorkingCopy,
    revision: &'a Revision,
    texts: HashMap<RelPathBuf, SentFile>,
}

/// What was sent of a file.
struct SentFile {
    sha1: Sha1,
    /// As [`SentText`] has it.
    as_read: Option<FileStat>,
}

/// What is removed with the commit of one node.
#[derive(Clone, Copy)]
struct Ends {
    lock: bool,
    changelist: bool,
}

impl Process<'_> {
    fn node(&self, node: &CommittedNode) -> Result<()> {
        let changes = node.changes;
        let unlocks = changes.lock_token || changes.add || changes.delete;
        let ends = Ends {
            // Locks of deleted nodes are removed in any case.
            lock: changes.delete || (!self.revision.keep_locks && unlocks),
            changelist: !self.revision.keep_changelists,
        };
        if changes.changes_node() {
            return self.committed(&node.relpath, node.recurse, true, ends);
        }
        if ends.lock {
            let (repos_id, repos_path) = self.wc.repos_location(&node.relpath)?;
            self.wc.db().remove_lock(repos_id, &repos_path)?;
            self.wc.db().add_work(&WorkItem::SyncFileFlags { relpath: node.relpath.clone() })?;
        }
        if ends.changelist
            && let Some(mut actual) = self.wc.db().actual(&node.relpath)?
        {
            actual.changelist = None;
            self.wc.db().put_actual(&actual)?;
        }
        Ok(())
    }

    fn committed(&self, relpath: &RelPath, recurse: bool, is_root: bool, ends: Ends) -> Result<()> {
        let not_found = || Error::NodeNotFound(self.wc.abspath(relpath));
        let view = self.wc.view(relpath)?.ok_or_else(not_found)?;
        self.leaf(&view, is_root, ends)?;
        let is_left = view.top().kind == Kind::Dir
            && matches!(view.status(), Status::Normal | Status::Incomplete | Status::Added);
        if !recurse || !is_left {
            return Ok(());
        }
        for child in self.wc.db().children_of_any_layer(relpath)? {
            self.committed(&child, true, false, Ends { lock: false, ..ends })?;
        }
        Ok(())
    }

    fn leaf(&self, view: &View, is_root: bool, ends: Ends) -> Result<()> {
        let top = view.top();
        let relpath = top.relpath.as_path();
        let dir = if top.kind == Kind::Dir { Some(relpath) } else { parent_of(relpath) };
        if !owns_lock(self.wc, dir.unwrap_or(RelPath::ROOT)) {
            let shown = self.wc.abspath(relpath);
            return Err(Error::new(
                ErrorCode::WC_NOT_LOCKED,
                format!("No write-lock in '{}'", shown.display()),
            ));
        }
        let status = view.status();
        if !matches!(status, Status::Normal | Status::Incomplete | Status::Added | Status::Deleted)
        {
            // A child that a copy does not have: its row stays until the next update.
            return Ok(());
        }
        let mut changed = LastChangeAndText {
            revision: Some(self.revision.number),
            date: self.revision.date,
            author: self.revision.author.clone(),
            checksum: None,
        };
        let is_file = top.kind != Kind::Dir && status != Status::Deleted;
        let mut as_read = None;
        if is_file {
            let sent = self.texts.get(relpath);
            as_read = sent.and_then(|sent| sent.as_read);
            changed.checksum = sent.map(|sent| sent.sha1).or(top.checksum);
            if sent.is_none() && !is_root && !view.props_modified() {
                // It was included in a copy without changes: it did not change in this revision.
                changed.revision = top.changed_revision;
                changed.date = top.changed_date;
                changed.author.clone_from(&top.changed_author);
            }
        }
        self.rows(view, changed, ends)?;
        if !is_file {
            return Ok(());
        }
        // If no work on the file is needed, its times are written in this transaction, and no work item is
        // added.
        match as_read {
            Some(as_read) if stat_file(&self.wc.abspath(relpath))? == Some(as_read) => {
                self.wc.db().record_fileinfo(relpath, as_read.size, as_read.mtime)
            }
            _ => {
                self.wc.db().add_work(&WorkItem::FileCommit { relpath: relpath.to_owned() })?;
                Ok(())
            }
        }
    }

    /// Where a node is in the repository from now on.
    fn place(&self, view: &View) -> Result<(i64, RelPathBuf)> {
        let corrupt = || Error::Corrupt {
            path: self.wc.abspath(&view.top().relpath),
            what: "a committed node has no place in the repository".to_owned(),
        };
        let place = |row: &NodeRow| row.repos_id.zip(row.repos_path.clone());
        if view.top().op_depth == 0 || view.top().presence == Presence::BaseDeleted {
            let row = view.layers().find(|row| row.presence != Presence::BaseDeleted);
            return row.filter(|row| row.op_depth == 0).and_then(place).ok_or_else(corrupt);
        }
        // The parent was committed before, so it has only a BASE row by now.
        let (parent, name) = view.top().relpath.parent_and_name();
        let (id, at) = self.wc.db().base(parent)?.as_ref().and_then(place).ok_or_else(corrupt)?;
        Ok((id, at.child(name)))
    }

    fn rows(&self, view: &View, changed: LastChangeAndText, ends: Ends) -> Result<()> {
        let db = self.wc.db();
        let top = view.top();
        let relpath = top.relpath.as_path();
        let (repos_id, repos_path) = self.place(view)?;
        let number = self.revision.number;
        let is_deleted = top.presence == Presence::BaseDeleted;
        let is_operation = top.op_depth > 0;
        if is_operation {
            for moved in db.moves_out_of(relpath, 0)? {
                db.forget_moved_here(&moved.target)?;
            }
            if db.remove_layers(relpath)? > 1 {
                db.remove_shadowed(relpath, top.op_depth)?;
            }
            if !is_deleted {
                db.commit_below(relpath, top.op_depth, repos_id, &repos_path, number)?;
                let moves = db.moves_out_of(relpath, 0)?;
                db.moves_come_from(relpath, repos_id, &repos_path, number, &moves)?;
            }
            if top.moved_here {
                db.forget_moved_to(relpath)?;
            }
        }
        let mut row = NodeRow::new(relpath, 0, Presence::NotPresent, top.kind);
        row.repos_id = Some(repos_id);
        row.repos_path = Some(repos_path.clone());
        row.revision = Some(number);
        if !is_deleted {
            row.presence = match top.presence {
                Presence::Incomplete => Presence::Incomplete,
                _ => Presence::Normal,
            };
            let local = view.actual.as_ref().and_then(|actual| actual.properties.clone());
            row.properties = local.or_else(|| top.properties.clone());
            row.depth = top.depth.filter(|_| top.kind == Kind::Dir);
            row.checksum = changed.checksum;
            row.changed_revision = changed.revision;
            row.changed_date = changed.date;
            row.changed_author = changed.author;
            row.file_external = !is_operation && top.file_external;
            row.inherited_props.clone_from(&top.inherited_props);
        }
        db.put_node(&row)?;
        if let Some(actual) = &view.actual {
            let changelist = actual.changelist.clone().filter(|_| !ends.changelist && !is_deleted);
            let mut kept = crate::db::ActualRow::default();
            kept.relpath.clone_from(&actual.relpath);
            kept.changelist = changelist;
            db.put_actual(&kept)?;
        }
        if ends.lock {
            if is_operation && depth_of(relpath) == top.op_depth {
                db.remove_locks_below(repos_id, &repos_path)?;
            } else {
                db.remove_lock(repos_id, &repos_path)?;
            }
        }
        Ok(())
    }
}

/// The last change of a node, and its text.
struct LastChangeAndText {
    revision: Option<Revnum>,
    date: Option<Timestamp>,
    author: Option<String>,
    checksum: Option<Sha1>,
}
