//! Whether a working file differs from its pristine text, in two steps.
//!
//! Invariant: the first step, [`TextCheck::of`], asks wc.db and looks at the file; only the second one, [`TextCheck::run`],
//! reads texts. A caller that holds a lock of wc.db releases it between them: a comparison may take long, and other
//! programs must be able to change the working copy meanwhile. Of many files the times that turned out right are recorded
//! in one transaction ([`record_times`]).

use std::path::PathBuf;

use sapwood_core::Sha1;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;

use crate::db::{Db, Kind, PristineRow, parent_of};
use crate::error::Result;
use crate::locks::owns_lock;
use crate::pristine::stored_pristine;
use crate::root::WorkingCopy;
use crate::translate::{Translation, has_sum, same_as_pristine};
use crate::view::{FileStat, View, may_record, stat_file};

/// What is known of a working file before its text is read.
pub(crate) enum TextCheck {
    /// Whether it differs.
    Known(bool),
    /// Only a comparison shows it.
    Compare(Box<Comparison>),
}

/// A comparison of a working file with its pristine text.
pub(crate) struct Comparison {
    relpath: RelPathBuf,
    path: PathBuf,
    stat: FileStat,
    checksum: Sha1,
    pristine: PristineRow,
    translation: Translation,
}

/// The size and time of a file whose text was found equal.
pub(crate) struct FileTime {
    relpath: RelPathBuf,
    size: i64,
    mtime: i64,
}

/// Records sizes and times, all in one transaction.
///
/// # Errors
/// SQLite's.
pub(crate) fn record_times(db: &Db, times: &[FileTime]) -> Result<()> {
    let record = |one: &FileTime| db.record_fileinfo(&one.relpath, one.size, one.mtime);
    match times {
        [] => Ok(()),
        // A statement alone is a transaction, also where one began.
        [one] => record(one),
        many => db.write(|_| many.iter().try_for_each(record)),
    }
}

impl TextCheck {
    /// What wc.db and the file's recorded size and time say. A file that is not there does not differ.
    ///
    /// # Errors
    /// That the file cannot be looked at; SQLite's.
    pub(crate) fn of(wc: &WorkingCopy, view: &View) -> Result<Self> {
        let row = view.top();
        let path = wc.abspath(&row.relpath);
        let Some(stat) = stat_file(&path)? else { return Ok(Self::Known(false)) };
        let (Some(checksum), Kind::File) = (row.checksum, row.kind) else {
            return Ok(Self::Known(true));
        };
        let props = view.props()?;
        let special = props.get(names::SPECIAL).is_some();
        if special != stat.link && (stat.link || !stat.file) {
            return Ok(Self::Known(true));
        }
        if !stat.link && stat.is_recorded_in(row) {
            return Ok(Self::Known(false));
        }
        let Some(pristine) = wc.db().pristine(&checksum)? else { return Ok(Self::Known(true)) };
        Ok(Self::Compare(Box::new(Comparison {
            relpath: row.relpath.clone(),
            path,
            stat,
            checksum,
            pristine,
            translation: Translation::of(&props, None),
        })))
    }

    /// As [`TextCheck::of`], by the path; `None` for one that wc.db does not have.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn of_path(wc: &WorkingCopy, relpath: &RelPath) -> Result<Option<Self>> {
        let view = wc.view(relpath)?;
        view.map(|view| Self::of(wc, &view)).transpose()
    }

    /// Whether the file differs.
    ///
    /// # Errors
    /// That files cannot be read; SQLite's, when size and time are recorded.
    pub(crate) fn run(self, wc: &WorkingCopy) -> Result<bool> {
        let mut times = Vec::new();
        let differs = self.run_among(wc, &mut times)?;
        record_times(wc.db(), &times)?;
        Ok(differs)
    }

    /// As [`TextCheck::run`], but adds the size and time that are to be recorded to a list.
    ///
    /// # Errors
    /// That files cannot be read; SQLite's.
    pub(crate) fn run_among(self, wc: &WorkingCopy, times: &mut Vec<FileTime>) -> Result<bool> {
        match self {
            Self::Known(differs) => Ok(differs),
            Self::Compare(comparison) => comparison.run(wc, times),
        }
    }
}

impl Comparison {
    fn run(self, wc: &WorkingCopy, times: &mut Vec<FileTime>) -> Result<bool> {
        let Self { relpath, path, stat, checksum, pristine, translation } = self;
        let same = match stored_pristine(wc.db(), wc.disk(), &checksum, pristine.hydrated)? {
            Some(text) => same_as_pristine(&path, &translation, pristine.size, || Ok(text))?,
            None => has_sum(&path, &translation, pristine.size, &checksum)?,
        };
        let locked = || owns_lock(wc, parent_of(&relpath).unwrap_or(RelPath::ROOT));
        if same && stat.file && locked() && may_record(wc, &stat) {
            times.push(FileTime { relpath, size: stat.size, mtime: stat.mtime });
        }
        Ok(!same)
    }
}

/// As [`WorkingCopy::file_modified`].
pub(crate) fn file_modified(wc: &WorkingCopy, view: &View) -> Result<bool> {
    TextCheck::of(wc, view)?.run(wc)
}
