//! Text bases of working copies that do not keep all of them (format 32, `store-pristine=no`).
//!
//! There the store holds the texts of files that are modified, or that lie below local additions,
//! deletions and copies: rows of TEXTBASE_REFS say for which nodes. The text base of any other file is
//! the file itself, in normal form. Before an operation that may need text bases, what is missing is
//! fetched ([`WorkingCopy::missing_text_bases`]); after it, what is not needed goes
//! ([`WorkingCopy::drop_text_bases`]).
//!
//! Invariant: a text goes only within a transaction that has the database's write lock and finds no
//! node that needs it. A kill between the file's end and the transaction's leaves a mark without a
//! file: such a text counts as missing everywhere.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rusqlite::params;
use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::{CancelToken, ErrorCode, Revnum, Sha1};

use crate::db::{Db, Paths, Sha1Column, below};
use crate::error::{Error, Result};
use crate::layout;
use crate::pristine::{at_hand, install_pristine, remove_file, stored_pristine, write_pristine};
use crate::root::{Disk, WorkingCopy};
use crate::translate::Translation;
use crate::view::{Status, stat_file};
use crate::work_item::WorkItem;

/// The text of a node as the repository has it.
pub enum TextBase {
    /// From the store.
    Kept(File),
    /// The working file, which is not modified, in normal form.
    Working(Box<dyn Read>),
}

impl std::fmt::Debug for TextBase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextBase").finish_non_exhaustive()
    }
}

impl Read for TextBase {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Kept(file) => file.read(buffer),
            Self::Working(text) => text.read(buffer),
        }
    }
}

/// A text base as a file: the store's, or a temporary one that goes with this value.
#[derive(Debug)]
pub struct TextBaseFile {
    path: PathBuf,
    temporary: bool,
}

impl TextBaseFile {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file for work items that name it; one of them removes it.
    pub(crate) fn leave(mut self, wc: &WorkingCopy, work: &mut Vec<WorkItem>) -> Result<()> {
        if std::mem::take(&mut self.temporary) {
            work.push(WorkItem::FileRemove { relpath: wc.relpath(&self.path)? });
        }
        Ok(())
    }
}

impl Drop for TextBaseFile {
    fn drop(&mut self) {
        if self.temporary {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A text that is needed and not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingText {
    /// Its name.
    pub sha1: Sha1,
    /// The repository's root.
    pub root: UrlBuf,
    /// A path in it that has the text.
    pub repos_path: RelPathBuf,
    /// The revision in which it has it.
    pub revision: Revnum,
}

/// A file's layer as the walk finds it.
struct Layer {
    relpath: RelPathBuf,
    op_depth: i64,
    sha1: Sha1,
    needed: bool,
    is_top: bool,
    place: (Option<i64>, Option<RelPathBuf>, Option<i64>),
    /// Size and time of the working file when it was not modified.
    recorded: (Option<i64>, Option<i64>),
}

const LAYERS: &str = "SELECT n.local_relpath, n.op_depth, n.checksum, r.wc_id IS NOT NULL, \
    n.op_depth = (SELECT MAX(w.op_depth) FROM nodes w WHERE w.wc_id = ?1 AND w.local_relpath = \
    n.local_relpath), n.repos_id, n.repos_path, n.revision, n.translated_size, n.last_mod_time FROM nodes n LEFT OUTER JOIN textbase_refs r \
    ON r.wc_id = n.wc_id AND r.local_relpath = n.local_relpath AND r.op_depth = n.op_depth \
    WHERE n.wc_id = ?1 AND n.local_relpath >= ?2 AND n.local_relpath < ?3 AND n.checksum IS NOT NULL";
const KEPT: &str = "SELECT DISTINCT n.checksum FROM nodes n JOIN pristine p ON p.checksum = n.checksum \
    WHERE n.wc_id = ?1 AND n.local_relpath >= ?2 AND n.local_relpath < ?3 AND p.hydrated != 0";
const UNUSED: &str = "SELECT checksum FROM pristine WHERE refcount = 0 AND hydrated != 0";
const NEEDED: &str = "SELECT n.checksum FROM textbase_refs r JOIN nodes n ON n.wc_id = r.wc_id AND \
    n.local_relpath = r.local_relpath AND n.op_depth = r.op_depth WHERE n.checksum IS NOT NULL";

/// As [`WorkingCopy::open_text_base`].
pub(crate) fn open_text_base(wc: &WorkingCopy, relpath: &RelPath, sha1: &Sha1) -> Result<TextBase> {
    if let Some(kept) = at_hand(wc.db(), wc.disk(), sha1)? {
        return Ok(TextBase::Kept(kept));
    }
    let path = wc.abspath(relpath);
    let view = wc
        .view(relpath)?
        .filter(|view| view.top().checksum == Some(*sha1) && view.status() != Status::Deleted);
    if let Some(view) = view
        && stat_file(&path)?.is_some()
        && !wc.file_modified(&view)?
    {
        let translation = Translation::of(&view.props()?, None);
        return Ok(TextBase::Working(translation.normal_form(&path, true)?));
    }
    let message = format!("No local pristine contents for file '{}'", path.display());
    Err(Error::NoText(message))
}

/// As [`WorkingCopy::text_base_file`].
pub(crate) fn text_base_file(
    wc: &WorkingCopy,
    relpath: &RelPath,
    sha1: &Sha1,
) -> Result<TextBaseFile> {
    if wc.stores_pristines() {
        let path = layout::pristine(wc.root(), sha1);
        return Ok(TextBaseFile { path, temporary: false });
    }
    if is_own_text_base(wc, relpath, sha1)? {
        return Ok(TextBaseFile { path: wc.abspath(relpath), temporary: false });
    }
    match wc.open_text_base(relpath, sha1)? {
        TextBase::Kept(_) => {
            let path = layout::pristine(wc.root(), sha1);
            Ok(TextBaseFile { path, temporary: false })
        }
        TextBase::Working(mut text) => {
            let made = TextBaseFile { path: wc.temporary(), temporary: true };
            let failed = |e| Error::io(e, "Can't write to file", &made.path);
            let mut file = File::create_new(&made.path).map_err(failed)?;
            io::copy(&mut text, &mut file).map_err(failed)?;
            Ok(made)
        }
    }
}

/// Keeps a text in a temporary file, below the root, that work items are to read and to remove.
pub(crate) fn set_aside(disk: &Disk, text: &mut dyn Read) -> Result<RelPathBuf> {
    let path = disk.temporary();
    let failed = |e| Error::io(e, "Can't write to file", &path);
    let mut file = File::create_new(&path).map_err(failed)?;
    io::copy(text, &mut file).map_err(failed)?;
    disk.relpath(&path)
}

/// Whether a file, as it is, is its own text base, and the store does not have it.
fn is_own_text_base(wc: &WorkingCopy, relpath: &RelPath, sha1: &Sha1) -> Result<bool> {
    if wc.db().pristine(sha1)?.is_some_and(|row| row.hydrated) {
        return Ok(false);
    }
    let Some(view) = wc.view(relpath)? else { return Ok(false) };
    Ok(view.top().checksum == Some(*sha1)
        && !Translation::of(&view.props()?, None).is_needed()
        && stat_file(&wc.abspath(relpath))?.is_some_and(|stat| stat.file)
        && !wc.file_modified(&view)?)
}

/// As [`WorkingCopy::missing_text_bases`].
pub(crate) fn missing_text_bases(
    wc: &WorkingCopy,
    relpath: &RelPath,
    cancel: &CancelToken,
) -> Result<Vec<MissingText>> {
    if wc.stores_pristines() {
        return Ok(Vec::new());
    }
    mark_needed(wc, relpath, cancel)?;
    let mut missing = Vec::new();
    let mut seen = HashSet::new();
    for layer in layers_below(wc.db(), relpath)?.into_iter().filter(|layer| layer.needed) {
        if !seen.insert(layer.sha1) {
            continue;
        }
        let marked = wc.db().pristine(&layer.sha1)?.is_some_and(|row| row.hydrated);
        if stored_pristine(wc.db(), wc.disk(), &layer.sha1, marked)?.is_some() {
            continue;
        }
        if marked {
            wc.db().mark_dehydrated(&layer.sha1)?;
        }
        let revision = layer.place.2.and_then(|number| u64::try_from(number).ok());
        let (Some(id), Some(repos_path), Some(revision)) = (layer.place.0, layer.place.1, revision)
        else {
            return Err(Error::Corrupt {
                path: wc.abspath(&layer.relpath),
                what: format!("pristine text {} has no place in the repository", layer.sha1),
            });
        };
        let root = wc.db().repository(id)?.root;
        missing.push(MissingText {
            sha1: layer.sha1,
            root,
            repos_path,
            revision: Revnum(revision),
        });
    }
    Ok(missing)
}

/// As [`WorkingCopy::hydrate`].
pub(crate) fn hydrate(
    db: &Db,
    disk: &Disk,
    missing: &MissingText,
    fetch: impl FnOnce(&mut dyn io::Write) -> Result<()>,
) -> Result<()> {
    let mut writer = write_pristine(disk)?;
    fetch(&mut writer)?;
    let text = writer.finish();
    if text.sha1 != missing.sha1 {
        let message = format!(
            "Checksum mismatch while fetching text base:\n   expected:  {}\n     actual:  {}\n",
            missing.sha1, text.sha1
        );
        return Err(Error::new(ErrorCode::CHECKSUM_MISMATCH, message));
    }
    install_pristine(db, disk, text)
}

/// As [`WorkingCopy::drop_text_bases`].
pub(crate) fn drop_text_bases(
    wc: &WorkingCopy,
    relpath: &RelPath,
    cancel: &CancelToken,
) -> Result<()> {
    if wc.stores_pristines() {
        return Ok(());
    }
    let mut kept: Vec<Sha1> = Vec::new();
    for (from, to) in ranges(relpath) {
        kept.extend(wc.db().all(KEPT, params![wc.db().wc_id(), from, to], |row| {
            Ok(row.get::<_, Sha1Column>(0)?.0)
        })?);
    }
    if !kept.is_empty() {
        mark_needed(wc, relpath, cancel)?;
        drop_unneeded(wc.db(), wc.disk(), &kept)?;
    }
    let unused = wc.db().all(UNUSED, [], |row| Ok(row.get::<_, Sha1Column>(0)?.0))?;
    drop_unneeded(wc.db(), wc.disk(), &unused)
}

/// Removes those of these texts that no node needs.
pub(crate) fn drop_unneeded(db: &Db, disk: &Disk, texts: &[Sha1]) -> Result<()> {
    if texts.is_empty() {
        return Ok(());
    }
    db.write(|db| {
        let needed: HashSet<Sha1> =
            db.all(NEEDED, [], |row| Ok(row.get::<_, Sha1Column>(0)?.0))?.into_iter().collect();
        for sha1 in texts.iter().filter(|sha1| !needed.contains(sha1)) {
            db.mark_dehydrated(sha1)?;
            remove_file(&layout::pristine(disk.root(), sha1))?;
        }
        Ok(())
    })
}

/// Writes down which layers of files need their text base.
fn mark_needed(wc: &WorkingCopy, relpath: &RelPath, cancel: &CancelToken) -> Result<()> {
    let mut changes: Vec<(Layer, bool)> = Vec::new();
    for layer in layers_below(wc.db(), relpath)? {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let needed = !layer.is_top || is_changed(wc, &layer)?;
        if needed != layer.needed {
            changes.push((layer, needed));
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    wc.db().write(|db| {
        for (layer, needed) in changes {
            let key = params![db.wc_id(), layer.relpath.as_str(), layer.op_depth];
            let sql = if needed {
                "INSERT OR IGNORE INTO textbase_refs (wc_id, local_relpath, op_depth) \
                 VALUES (?1, ?2, ?3)"
            } else {
                "DELETE FROM textbase_refs WHERE wc_id = ?1 AND local_relpath = ?2 AND \
                 op_depth = ?3"
            };
            db.execute(sql, key)?;
        }
        Ok(())
    })
}

/// Whether the working file of a top layer is not what its text base would give.
fn is_changed(wc: &WorkingCopy, layer: &Layer) -> Result<bool> {
    let Some(stat) = stat_file(&wc.abspath(&layer.relpath))? else { return Ok(true) };
    if stat.file && layer.recorded == (Some(stat.size), Some(stat.mtime)) {
        return Ok(false);
    }
    wc.view(&layer.relpath)?.map_or(Ok(false), |view| wc.file_modified(&view))
}

fn layers_below(db: &Db, relpath: &RelPath) -> Result<Vec<Layer>> {
    let id = db.wc_id();
    let mut found = Vec::new();
    for (from, to) in ranges(relpath) {
        found.extend(db.all(LAYERS, params![id, from, to], |row| {
            Ok(Layer {
                relpath: row.relpath(0)?,
                op_depth: row.get(1)?,
                sha1: row.get::<_, Sha1Column>(2)?.0,
                needed: row.get(3)?,
                is_top: row.get(4)?,
                place: (row.get(5)?, row.relpath_if_any(6)?, row.get(7)?),
                recorded: (row.get(8)?, row.get(9)?),
            })
        })?);
    }
    Ok(found)
}

/// The bounds of a path and of what is below it: names that only begin alike lie between.
fn ranges(relpath: &RelPath) -> [(String, String); 2] {
    [(relpath.to_string(), format!("{relpath}\0")), below(relpath)]
}
