//! Converts an entry to rows of NODES: which layers there are, and what is in them.
//!
//! | entry | parent | rows |
//! | --- | --- | --- |
//! | normal | any | BASE; within a copy the copy's layer |
//! | added, or copied | any | a layer of its own; of a copy within a copy with the same place and revision the copy's |
//! | deleted | in BASE | BASE, and a layer that deletes it |
//! | deleted | copied or replaced | the copy's layer, guessed from the parent, and a layer that deletes it |
//! | replaced | in BASE | BASE, and a layer of its own |
//! | replaced | copied | the copy's layer, guessed from the parent, and a layer of its own |
//!
//! Entries have only one layer, so what was below a copy or a replacement is guessed from the
//! parent, as 1.14 guesses it. Subdirectories begin incomplete: their own file completes them.

use std::collections::HashMap;
use std::path::Path;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, Md5, Sha1, path, uri};

use super::entry::{Entry, Schedule, corrupt};
use crate::db::{Kind, NodeRow, Presence, depth_of, write_inherited};
use crate::error::{Error, Result};

/// A base text: its names.
pub(super) type Text = (Sha1, Md5);

/// The base texts of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    /// The pristine one (of what was copied, where something was).
    pub(super) normal: Option<Text>,
    /// The one from before a replacement.
    pub(super) revert: Option<Text>,
}

/// The layers that the rows of a directory's children depend on, before anything was left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    base: Option<NodeRow>,
    work: Option<NodeRow>,
    below: Option<NodeRow>,
}

/// What all entries of one directory have in common.
#[derive(Debug)]
pub(super) struct DirEntryContext<'a> {
    /// The root of the working copy, for messages.
    pub(super) root: &'a Path,
    /// The repository's number.
    pub(super) repos_id: i64,
    /// The directory's own entry, with repository and UUID.
    pub(super) this: &'a Entry,
}

/// An entry that is being converted to rows.
struct EntryRows<'a> {
    shared: &'a DirEntryContext<'a>,
    entry: &'a Entry,
    relpath: &'a RelPath,
    parent: Option<&'a Layers>,
    texts: Texts,
    layers: Layers,
    rows: Vec<NodeRow>,
}

/// The layers of an entry, and its rows: by layer each once, in no order.
///
/// # Errors
/// E155016 for a file without or with the wrong base text, E150004 for a copy from nowhere, E235000
/// for what could not have come to be.
pub(super) fn make(
    shared: &DirEntryContext<'_>,
    entry: &Entry,
    relpath: &RelPath,
    parent: Option<&Layers>,
    texts: Texts,
) -> Result<(Layers, Vec<NodeRow>)> {
    let mut making = EntryRows {
        shared,
        entry,
        relpath,
        parent,
        texts,
        layers: Layers::default(),
        rows: Vec::new(),
    };
    making.choose()?;
    making.mark_missing()?;
    if entry.copied {
        making.copied()?;
    }
    if entry.file_external && making.layers.base.is_none() {
        making.layers.base = Some(making.new_row());
    }
    making.finish_base()?;
    making.finish_below()?;
    making.finish_work()?;
    Ok((making.layers, making.rows))
}

impl<'a> EntryRows<'a> {
    /// What cannot be: the entries contradict each other.
    fn impossible(&self, what: &str) -> Error {
        let shown = self.shared.root.join(self.relpath.as_str());
        let text = format!("Unable to upgrade '{}': {what}", shown.display());
        Error::new(ErrorCode::ASSERTION_FAIL, text)
    }

    fn parent(&self) -> Result<&'a Layers> {
        self.parent.ok_or_else(|| self.impossible("the root is scheduled"))
    }

    fn new_row(&self) -> NodeRow {
        NodeRow::new(self.relpath, 0, Presence::Normal, Kind::Unknown)
    }

    /// Which layers there are.
    fn choose(&mut self) -> Result<()> {
        let (base, work) = match self.parent {
            Some(parent) if parent.is_empty() => {
                return Err(self.impossible("its parent has no layer"));
            }
            Some(parent) => (parent.base.is_some(), parent.work.is_some()),
            None if self.entry.schedule == Schedule::Normal => (true, false),
            None => return Err(self.impossible("the root is scheduled")),
        };
        let (has_base, has_below, has_work) = match self.entry.schedule {
            Schedule::Normal => {
                let excluded = self.entry.depth == Depth::Exclude;
                let above = self.entry.copied || (excluded && !base && work);
                (!above, false, above)
            }
            Schedule::Add if self.entry.deleted => (base, !base, true),
            Schedule::Add => (false, false, true),
            Schedule::Delete => (base, work, true),
            Schedule::Replace => (base, !base, true),
        };
        self.layers = Layers {
            base: has_base.then(|| self.new_row()),
            work: has_work.then(|| self.new_row()),
            below: has_below.then(|| self.new_row()),
        };
        Ok(())
    }

    /// Nodes that are known to be there, and are not here.
    fn mark_missing(&mut self) -> Result<()> {
        if (self.entry.deleted || self.entry.absent) && self.entry.incomplete {
            return Err(self.impossible("what is not there is incomplete"));
        }
        if self.entry.deleted {
            // What is guessed below a replacement becomes normal again later.
            match (&mut self.layers.base, &self.layers.below) {
                (Some(base), _) => base.presence = Presence::NotPresent,
                (None, Some(_)) => {}
                (None, None) => return Err(self.impossible("it has no layer to be missing in")),
            }
        } else if self.entry.absent {
            match (&mut self.layers, self.entry.schedule) {
                (Layers { base: Some(base), work: None, below: None }, _) => {
                    base.presence = Presence::ServerExcluded;
                }
                _ => return Err(self.impossible("it is scheduled, and not to be seen")),
            }
        }
        Ok(())
    }

    /// Where a copy comes from, and to which layer it belongs.
    fn copied(&mut self) -> Result<()> {
        let parent = self.parent()?;
        let name = path::basename(self.relpath);
        let above = parent.work.as_ref().or(parent.below.as_ref());
        let repos_id = self.shared.repos_id;
        let (place, revision, op_depth) = if let Some(url) = &self.entry.copyfrom_url {
            let root = self.shared.this.repos.as_deref().unwrap_or("");
            let place = uri::skip_ancestor(root, url)
                .ok_or_else(|| self.impossible("it was copied from another repository"))?;
            let place = RelPathBuf::new(place)?;
            let continues = above.filter(|work| {
                work.repos_id == Some(repos_id)
                    && work.revision == self.entry.copyfrom_revision
                    && work.repos_path.as_deref().is_some_and(|p| p.child(name) == place)
            });
            let depth = continues.map_or_else(|| depth_of(self.relpath), |work| work.op_depth);
            (place, self.entry.copyfrom_revision, depth)
        } else if let Some((work, at)) = placed(above).or_else(|| placed(parent.below.as_ref())) {
            (at.child(name), work.revision, work.op_depth)
        } else {
            let text = format!("No copyfrom URL for '{}'", self.relpath);
            return Err(Error::new(ErrorCode::ENTRY_MISSING_URL, text));
        };
        let splits = above.filter(|work| {
            work.op_depth != op_depth
                && work.repos_path.is_some()
                && work.repos_id == Some(repos_id)
                && work.presence == Presence::Normal
        });
        if let Some(work) = splits.filter(|_| self.layers.below.is_none()) {
            // In the copy around it, it is not there.
            let kind = Kind::Unknown;
            let row = NodeRow::new(self.relpath, work.op_depth, Presence::NotPresent, kind);
            self.put(&row)?;
        }
        let Some(mine) = self.layers.work.as_mut() else {
            return Err(self.impossible("a copy has no layer"));
        };
        mine.repos_id = Some(repos_id);
        mine.repos_path = Some(place);
        mine.revision = revision;
        mine.op_depth = op_depth;
        Ok(())
    }

    /// The last change, as the entry has it.
    fn changed(&self, row: &mut NodeRow) {
        row.changed_revision = self.entry.changed_revision;
        row.changed_date = Some(self.entry.changed_date);
        row.changed_author.clone_from(&self.entry.changed_author);
    }

    fn finish_base(&mut self) -> Result<()> {
        let Some(mut row) = self.layers.base.take() else { return Ok(()) };
        let entry = self.entry;
        row.revision = entry.revision;
        row.last_mod_time = Some(entry.text_time.0);
        row.translated_size = entry.working_size;
        row.kind = entry.kind;
        self.set_depth(&mut row);
        let parents = self.parent.and_then(|parent| parent.base.as_ref()).and_then(|p| p.revision);
        if entry.deleted && row.presence != Presence::NotPresent {
            return Err(self.impossible("it is missing and excluded"));
        } else if entry.absent && row.presence != Presence::ServerExcluded {
            return Err(self.impossible("it is hidden and excluded"));
        } else if entry.absent {
            row.revision = row.revision.or(parents);
        } else if !entry.deleted && row.presence != Presence::Excluded {
            if self.is_stub() {
                row.presence = Presence::Incomplete;
                if self.parent.is_some_and(|parent| parent.base.is_some()) {
                    row.revision = parents;
                }
            } else if entry.incomplete {
                row.presence = Presence::Incomplete;
            }
        }
        if entry.kind != Kind::Dir {
            row.checksum = self.base_text()?;
        }
        self.place_base(&mut row)?;
        self.changed(&mut row);
        row.file_external = entry.file_external;
        if let Some(base) = self.parent.and_then(|parent| parent.base.as_ref())
            && is_switched(base, &row)
        {
            row.inherited_props = Some(write_inherited(&[]));
        }
        self.put(&row)?;
        self.layers.base = Some(row);
        Ok(())
    }

    /// Whether this is what a directory's file says of a subdirectory.
    fn is_stub(&self) -> bool {
        self.entry.kind == Kind::Dir && !self.entry.name.is_empty()
    }

    fn set_depth(&self, row: &mut NodeRow) {
        row.depth = Some(self.entry.depth);
        if self.entry.depth == Depth::Exclude {
            row.presence = Presence::Excluded;
            row.depth = Some(Depth::Infinity);
        }
    }

    /// Where a node of BASE is in the repository.
    fn place_base(&self, row: &mut NodeRow) -> Result<()> {
        let this = self.shared.this;
        let root = this.repos.as_deref().unwrap_or("");
        let outside = || self.impossible("it is not in the repository of its directory");
        let place = match (&self.entry.url, &this.url) {
            (Some(url), _) => RelPathBuf::new(uri::skip_ancestor(root, url).ok_or_else(outside)?)?,
            (None, Some(url)) => {
                let dir = uri::skip_ancestor(root, url).ok_or_else(outside)?;
                RelPathBuf::new(path::join(&dir, &self.entry.name))?
            }
            (None, None) => return Err(outside()),
        };
        row.repos_id = Some(self.shared.repos_id);
        row.repos_path = Some(place);
        Ok(())
    }

    /// The text of a file in BASE, which must be the one that the entry names.
    fn base_text(&self) -> Result<Option<Sha1>> {
        let found = self.texts.revert.or(self.texts.normal);
        let of_copy = self.layers.work.is_some() && self.entry.copied;
        if let (Some(wanted), false) = (&self.entry.checksum, of_copy) {
            let wanted = Md5::parse(wanted.as_bytes()).ok_or_else(|| {
                let text = "Invalid character in hex checksum";
                Error::new(ErrorCode::BAD_CHECKSUM_PARSE, text)
            })?;
            if let Some((_, md5)) = found
                && md5 != wanted
                && wanted.to_hex().bytes().any(|digit| digit != b'0')
            {
                let shown = self.shared.root.join(self.relpath.as_str());
                return Err(corrupt(format!(
                    "Bad base MD5 checksum for '{}'; expected: '{wanted}'; found '{md5}'; ",
                    shown.display()
                )));
            }
        }
        Ok(found.map(|(sha1, _)| sha1))
    }

    /// What a copy had here before.
    fn finish_below(&mut self) -> Result<()> {
        let Some(mut row) = self.layers.below.take() else { return Ok(()) };
        let parent = self.parent()?;
        let Some(above) = parent.below.as_ref().or(parent.work.as_ref()) else {
            return Err(self.impossible("its parent has no copy"));
        };
        let deletes = self.entry.schedule == Schedule::Delete;
        row.op_depth = above.op_depth;
        row.presence = Presence::Normal;
        row.kind = self.entry.kind;
        row.repos_id = above.repos_id;
        row.revision = above.revision;
        let name = path::basename(self.relpath);
        row.repos_path = above.repos_path.as_deref().map(|at| at.child(name));
        let text = if deletes { self.texts.normal } else { self.texts.revert };
        row.checksum = text.map(|(sha1, _)| sha1);
        row.translated_size = Some(0);
        row.last_mod_time = Some(0);
        row.changed_date = Some(sapwood_core::date::Timestamp(0));
        row.depth = Some(Depth::Infinity);
        let knows = |work: &&mut NodeRow| deletes && work.repos_path.is_some();
        if let Some(work) = self.layers.work.as_mut().filter(knows) {
            // Nothing to guess: the deleted row has it. From now on it is read from the lower layer.
            row.repos_id = work.repos_id.take();
            row.repos_path = work.repos_path.take();
            row.revision = work.revision.take();
            row.changed_revision = self.entry.changed_revision;
            row.changed_date = Some(self.entry.changed_date);
            row.changed_author.clone_from(&self.entry.changed_author);
        }
        self.put(&row)?;
        self.layers.below = Some(row);
        Ok(())
    }

    fn finish_work(&mut self) -> Result<()> {
        let Some(mut row) = self.layers.work.take() else { return Ok(()) };
        let entry = self.entry;
        let parent = self.parent()?.work.as_ref();
        row.last_mod_time = Some(entry.text_time.0);
        row.translated_size = entry.working_size;
        row.kind = entry.kind;
        self.set_depth(&mut row);
        if entry.kind != Kind::Dir {
            row.checksum = self.texts.normal.map(|(sha1, _)| sha1);
        }
        if row.presence != Presence::Excluded {
            if self.is_stub() {
                row.presence = Presence::Incomplete;
            } else if entry.schedule == Schedule::Delete {
                row.presence = Presence::BaseDeleted;
            } else if entry.incomplete {
                row.presence = Presence::Incomplete;
            }
        }
        if row.presence != Presence::BaseDeleted {
            self.changed(&mut row);
        }
        let deleted_with = parent.filter(|work| {
            entry.schedule == Schedule::Delete && work.presence == Presence::BaseDeleted
        });
        let excluded_from = parent.filter(|_| row.presence == Presence::Excluded);
        if let Some(work) = deleted_with.or(excluded_from) {
            row.op_depth = work.op_depth;
        } else if !entry.copied {
            row.op_depth = depth_of(self.relpath);
        }
        self.put(&row)?;
        self.layers.work = Some(row);
        Ok(())
    }

    /// Writes a row, without what its presence leaves no room for.
    fn put(&mut self, row: &NodeRow) -> Result<()> {
        let mut made = row.clone();
        let there = row.presence.is_there();
        let placed = row.repos_path.is_some();
        if row.op_depth == 0 && !placed {
            return Err(self.impossible("it has no place in the repository"));
        }
        if !placed || row.presence == Presence::BaseDeleted {
            (made.repos_id, made.repos_path, made.revision) = (None, None, None);
        }
        if !there || !placed {
            made.changed_revision = None;
            made.changed_date = None;
            made.changed_author = None;
        }
        if !there || row.kind != Kind::Dir {
            made.depth = None;
        }
        let is_file = there && row.kind == Kind::File;
        if is_file && row.op_depth == 0 && row.checksum.is_none() {
            return Err(corrupt(format!("The file '{}' has no checksum", self.relpath)));
        }
        if !is_file {
            made.checksum = None;
        }
        if !is_file || !placed {
            (made.translated_size, made.last_mod_time) = (None, None);
        }
        if !there {
            made.inherited_props = None;
        }
        self.rows.retain(|other| other.op_depth != made.op_depth);
        self.rows.push(made);
        Ok(())
    }
}

impl Layers {
    const fn is_empty(&self) -> bool {
        self.base.is_none() && self.work.is_none() && self.below.is_none()
    }
}

/// A layer with its place in the repository.
fn placed(row: Option<&NodeRow>) -> Option<(&NodeRow, &RelPath)> {
    row.and_then(|row| Some((row, row.repos_path.as_deref()?)))
}

/// Whether a node is not where its parent is.
fn is_switched(parent: &NodeRow, child: &NodeRow) -> bool {
    if parent.repos_id != child.repos_id {
        return true;
    }
    match (&parent.repos_path, &child.repos_path) {
        (Some(at), Some(place)) => at.child(child.name()) != *place,
        _ => false,
    }
}

/// The base texts of the files of a directory, by name.
pub(super) type TextsByName = HashMap<String, Texts>;
