//! A node as the user sees it: its layers, its local properties, and what follows from them.

use std::path::Path;

use sapwood_core::exact::signed;
use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::{PropList, uri};

use crate::db::{ActualRow, Db, LockRow, NodeRow, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::root::{Disk, WorkingCopy};
use crate::translate::{KeywordSource, Translation};

/// What the highest layer of a node says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In BASE, and as it was.
    Normal,
    /// In BASE, not complete.
    Incomplete,
    /// Excluded by the user.
    Excluded,
    /// Not shown by the server.
    ServerExcluded,
    /// Not there, although the repository has it in the parent's revision.
    NotPresent,
    /// Added, copied or moved here locally ([`WorkingCopy::addition`] says which).
    Added,
    /// Deleted or moved away locally.
    Deleted,
}

impl Status {
    /// Whether the node is there for the user: not hidden for one of the four reasons. (A node that
    /// is deleted locally counts as there.)
    #[must_use]
    pub const fn is_present(self) -> bool {
        !matches!(self, Self::Excluded | Self::ServerExcluded | Self::NotPresent)
    }
}

/// How a node came to be locally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// Without history.
    Added,
    /// As a copy.
    Copied,
    /// By a move.
    MovedHere,
}

/// All layers of one path.
#[derive(Clone, Debug)]
pub struct View {
    /// The highest layer.
    top: NodeRow,
    /// The others, the highest first.
    below: Vec<NodeRow>,
    /// What is recorded of it beside the layers.
    pub actual: Option<ActualRow>,
}

impl View {
    /// A view of these rows, the highest first; `None` when there is none.
    #[must_use]
    pub fn of(mut layers: Vec<NodeRow>, actual: Option<ActualRow>) -> Option<Self> {
        if layers.is_empty() {
            return None;
        }
        let top = layers.remove(0);
        Some(Self { top, below: layers, actual })
    }

    /// The highest layer.
    #[must_use]
    pub const fn top(&self) -> &NodeRow {
        &self.top
    }

    /// The BASE row.
    #[must_use]
    pub fn base(&self) -> Option<&NodeRow> {
        self.layers().last().filter(|row| row.op_depth == 0)
    }

    /// All layers, the highest first.
    pub fn layers(&self) -> impl Iterator<Item = &NodeRow> {
        std::iter::once(&self.top).chain(&self.below)
    }

    /// Whether there is a layer above BASE.
    #[must_use]
    pub(crate) fn has_work(&self) -> bool {
        self.top().op_depth > 0
    }

    /// What the highest layer says.
    #[must_use]
    pub fn status(&self) -> Status {
        status_of(self.top())
    }

    /// Whether a conflict is recorded.
    #[must_use]
    pub fn is_conflicted(&self) -> bool {
        self.actual.as_ref().is_some_and(|a| a.conflict_data.is_some())
    }

    /// Whether local properties differ from the pristine ones.
    #[must_use]
    pub fn props_modified(&self) -> bool {
        self.actual.as_ref().is_some_and(|a| a.properties.is_some())
    }

    /// The properties that the user sees.
    ///
    /// # Errors
    /// When a column is no property list.
    pub fn props(&self) -> Result<PropList> {
        if let Some(props) = self.actual.as_ref().map(ActualRow::props).transpose()?.flatten() {
            return Ok(props);
        }
        self.pristine_props()
    }

    /// The properties of the highest layer that has some; a deletion shows those of what it deletes.
    ///
    /// # Errors
    /// When a column is no property list.
    pub fn pristine_props(&self) -> Result<PropList> {
        let row = self.layers().find(|row| row.presence != Presence::BaseDeleted);
        row.map_or_else(|| Ok(PropList::new()), NodeRow::props)
    }
}

/// What one row says, if it is the highest.
#[must_use]
pub fn status_of(row: &NodeRow) -> Status {
    match (row.op_depth, row.presence) {
        (0, Presence::Normal) => Status::Normal,
        (0, Presence::Incomplete) => Status::Incomplete,
        (_, Presence::Excluded) => Status::Excluded,
        (_, Presence::ServerExcluded) => Status::ServerExcluded,
        (0, Presence::NotPresent | Presence::BaseDeleted) => Status::NotPresent,
        (_, Presence::NotPresent | Presence::BaseDeleted) => Status::Deleted,
        (_, Presence::Normal | Presence::Incomplete) => Status::Added,
    }
}

/// The root of the operation that made a row of a layer above BASE.
#[must_use]
pub fn operation_root(relpath: &RelPath, op_depth: i64) -> &RelPath {
    let mut at = relpath;
    while depth_of(at) > op_depth {
        let Some(above) = parent_of(at) else { break };
        at = above;
    }
    at
}

impl Db {
    /// The layers of a path; `None` when the database has none.
    ///
    /// # Errors
    /// SQLite's.
    pub fn view(&self, relpath: &RelPath) -> Result<Option<View>> {
        self.questions(|| {
            let layers = self.layers(relpath)?;
            let actual = if layers.is_empty() { None } else { self.actual(relpath)? };
            Ok(View::of(layers, actual))
        })
    }
}

/// As [`WorkingCopy::addition`].
pub(crate) fn addition(db: &Db, disk: &Disk, row: &NodeRow) -> Result<Addition> {
    let root = operation_root(&row.relpath, row.op_depth);
    let root =
        db.node(root, row.op_depth)?.ok_or_else(|| Error::NodeNotFound(disk.abspath(root)))?;
    Ok(match (root.repos_path.is_some(), root.moved_here) {
        (true, true) => Addition::MovedHere,
        (true, false) => Addition::Copied,
        (false, _) => Addition::Added,
    })
}

/// As [`WorkingCopy::repos_location`].
pub(crate) fn repos_location(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<(i64, RelPathBuf)> {
    let mut at = relpath;
    let mut rest = RelPathBuf::default();
    loop {
        let layers = db.layers(at)?;
        let row = layers.iter().find(|row| row.presence != Presence::BaseDeleted);
        let row = row.ok_or_else(|| Error::NodeNotFound(disk.abspath(at)))?;
        if row.op_depth == 0 {
            let place = row.repos_id.zip(row.repos_path.as_deref());
            let (id, path) = place.ok_or_else(|| Error::Corrupt {
                path: disk.abspath(at),
                what: "a BASE node has no repository".to_owned(),
            })?;
            return Ok((id, path.join(&rest)));
        }
        let root = operation_root(at, row.op_depth);
        let above = parent_of(root).ok_or_else(|| Error::Corrupt {
            path: disk.root().to_owned(),
            what: "its root was added".to_owned(),
        })?;
        let below = at.rest_below(above)?;
        rest = below.join(&rest);
        at = above;
    }
}

/// As [`WorkingCopy::url`].
pub(crate) fn url(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<UrlBuf> {
    let (id, path) = repos_location(db, disk, relpath)?;
    Ok(db.repository(id)?.root.join(&path))
}

/// As [`WorkingCopy::translation`].
pub(crate) fn translation(
    wc: &WorkingCopy,
    relpath: &RelPath,
    props: &PropList,
) -> Result<Translation> {
    let plain = Translation::of(props, None);
    if plain.keywords.is_none() {
        return Ok(plain);
    }
    let (id, path) = wc.repos_location(relpath)?;
    let root = wc.db().repository(id)?.root;
    let url = uri::join(&root, &path);
    let row = wc.db().layers(relpath)?.into_iter().find(|r| r.presence.is_there());
    let source = KeywordSource {
        modified: false,
        revision: row.as_ref().and_then(|r| r.changed_revision),
        date: row.as_ref().and_then(|r| r.changed_date),
        author: row.as_ref().and_then(|r| r.changed_author.as_deref()),
        url: &url,
        root: &root,
        zone: &wc.options().zone,
    };
    Ok(Translation::of(props, Some(&source)))
}

impl Db {
    /// The repository's lock on a BASE node whose token this working copy holds.
    ///
    /// # Errors
    /// SQLite's.
    pub fn lock_of(&self, base: &NodeRow) -> Result<Option<LockRow>> {
        match (base.repos_id, &base.repos_path) {
            (Some(id), Some(path)) => self.lock(id, path),
            _ => Ok(None),
        }
    }
}

/// Whether size and time of a file may be recorded that is only read after this call: it must not be possible
/// to change it afterwards within the same tick of the clock.
pub(crate) fn may_record(wc: &WorkingCopy, stat: &FileStat) -> bool {
    !wc.options().wait_for_tick || wc.db().clock().is_past(stat.mtime)
}

/// As [`may_record`], after a wait if that makes it true.
pub(crate) fn may_record_after_wait(wc: &WorkingCopy, stat: &FileStat) -> bool {
    if !may_record(wc, stat) {
        wc.db().clock().note(stat.mtime);
        wc.db().clock().wait();
    }
    may_record(wc, stat)
}

/// What the file system says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Length in bytes.
    pub size: i64,
    /// Time of the last change, in microseconds since 1970.
    pub mtime: i64,
    /// Whether it is a plain file.
    pub file: bool,
    /// Whether it is a symbolic link.
    pub link: bool,
}

impl FileStat {
    pub(crate) fn of(found: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            size: signed(found.len()),
            mtime: found
                .mtime()
                .saturating_mul(1_000_000)
                .saturating_add(found.mtime_nsec() / 1000),
            file: found.file_type().is_file(),
            link: found.file_type().is_symlink(),
        }
    }

    /// Whether size and time are those that a row of the file has.
    pub(crate) fn is_recorded_in(&self, row: &NodeRow) -> bool {
        row.translated_size == Some(self.size) && row.last_mod_time == Some(self.mtime)
    }
}

/// Looks at a file, a link counting as itself; `None` when there is nothing.
///
/// # Errors
/// Errors of the file system.
pub fn stat_file(path: &Path) -> Result<Option<FileStat>> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(FileStat::of(&found))),
        Err(e) if matches!(e.kind(), NotFound | NotADirectory) => Ok(None),
        Err(e) => Err(Error::io(e, "Can't stat", path)),
    }
}
