//! Merging a change of a text into the working file.
//!
//! Texts are compared in normal form. Changes of files are returned as work items, so that they
//! happen after the database has been updated; the files that they need are in `.svn/tmp` until
//! then.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_core::{PropList, Revnum, glob};
use sapwood_diff::{
    ConflictStyle, FileText, Labels, LargeText, Options, diff3, diff3_large, write_merged,
    write_merged_large,
};

use super::names::reserve;
use super::props::PropChange;
use super::skel::TextConflict;
use crate::error::{Error, Result};
use crate::root::WorkingCopy;
use crate::translate::{
    Direction, EolStyle, PROP_EOL_STYLE, TranslatedReader, Translation, Translator, same_bytes,
    special,
};
use crate::work_item::WorkItem;

/// Merges with another program: gets the local, old and new file in normal form, their three labels
/// in that order, and the file for the merged text; returns whether there are conflicts.
pub type ExternalMerge<'a> = &'a dyn Fn([&Path; 3], [&str; 3], &mut File) -> Result<bool>;

/// A change of a text that is to be merged into a working file.
#[derive(Clone, Copy)]
pub struct TextMerge<'a> {
    /// The working file, below the working copy's root.
    pub relpath: &'a RelPath,
    /// The old incoming text in normal form (for an update, the pristine text).
    pub left: &'a Path,
    /// The new incoming text in normal form.
    pub right: &'a Path,
    /// What the old text is called in marks and file names: `.r4`.
    pub left_label: &'a str,
    /// What the new text is called: `.r5`.
    pub right_label: &'a str,
    /// What the local text is called: `.mine`.
    pub target_label: &'a str,
    /// The local properties before the change.
    pub actual: &'a PropList,
    /// The change of properties that comes with it.
    pub changes: &'a [PropChange],
    /// What counts as a difference.
    pub options: Options,
    /// `diff3-cmd`.
    pub external: Option<ExternalMerge<'a>>,
    /// How the files that a conflict leaves end, if not with the labels.
    pub suffix: Option<&'a str>,
}

/// What became of the working file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOutcome {
    /// It has the change already, or the change is empty.
    Unchanged,
    /// It will take the change.
    Merged,
    /// It will have marks, or is a binary file that cannot be merged.
    Conflict,
}

/// The result of a merge of texts.
#[derive(Clone, Debug)]
pub struct TextMerged {
    /// What became of it.
    pub outcome: TextOutcome,
    /// What is to be done, in this order, after the new properties are in the database.
    pub work: Vec<WorkItem>,
    /// The record of the conflict.
    pub conflict: Option<TextConflict>,
}

/// Merges a change into a working file.
///
/// # Errors
/// When a file cannot be read or written; `E135001` for an unknown `svn:eol-style`.
pub fn merge_text(wc: &WorkingCopy, merge: &TextMerge<'_>) -> Result<TextMerged> {
    let mut merged = merge_or_try(wc, merge, false)?;
    merged.work.push(WorkItem::SyncFileFlags { relpath: merge.relpath.to_owned() });
    Ok(merged)
}

/// What would become of the working file, which is left as it is.
///
/// # Errors
/// As [`merge_text`].
pub(crate) fn try_text(wc: &WorkingCopy, merge: &TextMerge<'_>) -> Result<TextOutcome> {
    Ok(merge_or_try(wc, merge, true)?.outcome)
}

fn merge_or_try(wc: &WorkingCopy, merge: &TextMerge<'_>, dry: bool) -> Result<TextMerged> {
    let target = wc.abspath(merge.relpath);
    let binary = merge.is_binary();
    let how = merge.detranslation();
    let local = if how.is_needed() || (merge.external.is_some() && !binary) {
        Local::Copy(Temporary::detranslated(wc, &target, &how)?)
    } else {
        Local::Itself(target.clone())
    };
    // Line endings that the change sets count for both incoming texts.
    let repaired = merge.repaired_left(wc)?;
    let left = repaired.as_ref().map_or(merge.left, |file| &file.path);
    match merge.trivial(wc, left, local.path(), &target, dry)? {
        Some(merged) => Ok(merged),
        None if binary && dry => Ok(TextMerged::only(TextOutcome::Conflict)),
        None if binary => merge.binary(wc, left, local),
        None => merge.lines(wc, left, local.path(), &target, dry),
    }
}

impl TextMerged {
    /// A result without any work.
    const fn only(outcome: TextOutcome) -> Self {
        Self { outcome, work: Vec::new(), conflict: None }
    }
}

/// A file below `.svn/tmp` that is removed with this value, unless it is kept for a work item.
pub(crate) struct Temporary {
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    fn new(wc: &WorkingCopy) -> Self {
        Self { path: wc.temporary(), kept: false }
    }

    fn create(&self) -> Result<BufWriter<File>> {
        let file = File::create_new(&self.path)
            .map_err(|e| Error::io(e, "Can't create temporary file", &self.path))?;
        Ok(BufWriter::new(file))
    }

    /// A copy of `source` in normal form.
    fn detranslated(wc: &WorkingCopy, source: &Path, how: &Translation) -> Result<Self> {
        let open = |e| Error::io(e, "Can't open file", source);
        let is_link = fs::symlink_metadata(source).map_err(open)?.is_symlink();
        if how.special || is_link {
            return Self::filled(wc, special::read_normal(source).map_err(open)?, source);
        }
        let translator = how.translator(Direction::ToNormal, true)?;
        let file = File::open(source).map_err(open)?;
        Self::filled(wc, TranslatedReader::new(file, translator), source)
    }

    /// A file with what is read; `source` is what errors are about.
    pub(crate) fn filled(wc: &WorkingCopy, mut from: impl Read, source: &Path) -> Result<Self> {
        let this = Self::new(wc);
        let mut file = this.create()?;
        std::io::copy(&mut from, &mut file)
            .and_then(|_| file.flush())
            .map_err(|e| Error::io(e, "Can't copy file", source))?;
        Ok(this)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file for a work item; its path below the working copy's root.
    fn keep(mut self, wc: &WorkingCopy) -> Result<RelPathBuf> {
        self.kept = true;
        wc.relpath(&self.path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // What stays here is for cleanup.
            let _removed = fs::remove_file(&self.path);
        }
    }
}

/// The local text in normal form.
enum Local {
    Itself(PathBuf),
    Copy(Temporary),
}

impl Local {
    fn path(&self) -> &Path {
        match self {
            Self::Itself(path) => path,
            Self::Copy(file) => &file.path,
        }
    }
}

fn same_files(a: &Path, b: &Path) -> Result<bool> {
    let open = |path| File::open(path).map_err(|e| Error::io(e, "Can't open file", path));
    let (left, right) = (open(a)?, open(b)?);
    if let (Ok(x), Ok(y)) = (left.metadata(), right.metadata())
        && x.len() != y.len()
    {
        return Ok(false);
    }
    same_bytes(left, right).map_err(|e| Error::io(e, "Can't read file", a))
}

/// Merges three files as long as these are not held in memory, in bytes all together.
const IN_MEMORY: u64 = 4 << 20;

/// Three texts in files: the original, the modified one and the latest.
pub(crate) struct ThreeFiles<'a>(pub(crate) [&'a Path; 3]);

impl ThreeFiles<'_> {
    /// Writes them as one; returns whether there are conflicts. Long ones are not read whole.
    ///
    /// # Errors
    /// When a file cannot be read, or `out` not be written.
    pub(crate) fn merge(
        &self,
        options: &Options,
        labels: &Labels<'_>,
        style: ConflictStyle,
        out: &mut dyn Write,
    ) -> Result<bool> {
        let failed = |path| move |e| Error::io(e, "Can't read file", path);
        let [original, modified, latest] = self.0;
        let file = original;
        let open = |path| FileText::new(path).map_err(failed(path));
        let texts = [open(original)?, open(modified)?, open(latest)?];
        let written = |e| Error::io(e, "Can't write file", original);
        if texts.iter().map(LargeText::len).sum::<u64>() > IN_MEMORY {
            let [original, modified, latest] = &texts;
            let texts: [&dyn LargeText; 3] = [original, modified, latest];
            let diff = diff3_large(options, texts).map_err(failed(file))?;
            write_merged_large(out, &diff, texts, labels, style).map_err(written)?;
            return Ok(diff.has_conflicts());
        }
        let read = |path: &Path| fs::read(path).map_err(|e| Error::io(e, "Can't read file", path));
        let (old, mine, new) = (read(original)?, read(modified)?, read(latest)?);
        let diff = diff3(options, &old, &mine, &new);
        let texts = (old.as_slice(), mine.as_slice(), new.as_slice());
        write_merged(out, &diff, texts, labels, style).map_err(written)?;
        Ok(diff.has_conflicts())
    }
}

impl TextMerge<'_> {
    /// The value that the change gives a property, if it changes it.
    fn change(&self, name: &str) -> Option<Option<&[u8]>> {
        let found = self.changes.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_deref())
    }

    fn was_binary(&self) -> bool {
        self.actual.get(names::MIME_TYPE).is_some_and(is_binary_mime_type)
    }

    fn is_binary(&self) -> bool {
        match self.change(names::MIME_TYPE) {
            Some(Some(value)) => is_binary_mime_type(value),
            _ => self.was_binary(),
        }
    }

    /// How the working file is translated to be comparable with the incoming texts: by its old
    /// properties, but with the line endings that the change sets, and not at all for binary files.
    fn detranslation(&self) -> Translation {
        let mut how = Translation::of(self.actual, None);
        let was = self.was_binary();
        let will_be = match self.change(names::MIME_TYPE) {
            Some(value) => value.is_some_and(is_binary_mime_type),
            None => was,
        };
        match (was, will_be) {
            (true, true) => {
                how.special = false;
                how.eol = EolStyle::None;
            }
            (false, true) => {}
            (_, false) if how.special => {
                how.keywords = None;
                how.eol = EolStyle::None;
            }
            (_, false) => {
                if let Some(Some(value)) = self.change(PROP_EOL_STYLE) {
                    how.eol = EolStyle::parse(Some(value));
                } else if was {
                    how.eol = EolStyle::None;
                }
            }
        }
        how
    }

    /// The old text with the line endings that the change sets.
    fn repaired_left(&self, wc: &WorkingCopy) -> Result<Option<Temporary>> {
        let Some(Some(value)) = self.change(PROP_EOL_STYLE) else { return Ok(None) };
        let eol = EolStyle::parse(Some(value)).working();
        let open = |e| Error::io(e, "Can't open file", self.left);
        let file = File::open(self.left).map_err(open)?;
        let reader = TranslatedReader::new(file, Translator::new(eol, true, None, false));
        Temporary::filled(wc, reader, self.left).map(Some)
    }

    /// A path for a work item: one below the root as it is, another one copied to `.svn/tmp`
    /// first. Also whether it was copied, and has to be removed afterwards.
    fn inside(&self, wc: &WorkingCopy, file: &Path) -> Result<(RelPathBuf, bool)> {
        if let Ok(relpath) = wc.relpath(file) {
            return Ok((relpath, false));
        }
        let open = |e| Error::io(e, "Can't open file", file);
        let from = File::open(file).map_err(open)?;
        Ok((Temporary::filled(wc, from, file)?.keep(wc)?, true))
    }

    fn install(&self, source: RelPathBuf) -> WorkItem {
        WorkItem::FileInstall {
            relpath: self.relpath.to_owned(),
            use_commit_times: false,
            record_fileinfo: false,
            source: Some(source),
        }
    }

    /// The cases in which one of the texts is the result.
    fn trivial(
        &self,
        wc: &WorkingCopy,
        left: &Path,
        local: &Path,
        target: &Path,
        dry: bool,
    ) -> Result<Option<TextMerged>> {
        let kind = fs::symlink_metadata(target).map(|m| m.is_file()).unwrap_or(false);
        if !kind {
            return Ok(None);
        }
        let unchanged = TextMerged::only(TextOutcome::Unchanged);
        if !same_files(left, local)? {
            return Ok(same_files(self.right, local)?.then_some(unchanged));
        }
        if same_files(left, self.right)? {
            return Ok(Some(unchanged));
        }
        if dry {
            return Ok(Some(TextMerged::only(TextOutcome::Merged)));
        }
        let (source, copied) = self.inside(wc, self.right)?;
        let mut work = vec![self.install(source.clone())];
        if copied {
            work.push(WorkItem::FileRemove { relpath: source });
        }
        Ok(Some(TextMerged { outcome: TextOutcome::Merged, work, conflict: None }))
    }

    /// Merges line by line.
    fn lines(
        &self,
        wc: &WorkingCopy,
        left: &Path,
        local: &Path,
        target: &Path,
        dry: bool,
    ) -> Result<TextMerged> {
        let result = Temporary::new(wc);
        let mut file = result.create()?;
        let conflicts = match self.external {
            Some(merge) => {
                let labels = [self.target_label, self.left_label, self.right_label];
                merge([local, left, self.right], labels, file.get_mut())?
            }
            None => self.write_lines(left, local, &mut file).map_err(|error| match error {
                Error::Io { error, .. } => Error::io(error, "Can't write file", &result.path),
                other => other,
            })?,
        };
        file.flush().map_err(|e| Error::io(e, "Can't write file", &result.path))?;
        drop(file);
        let mut merged = TextMerged::only(TextOutcome::Conflict);
        if conflicts && dry {
            return Ok(merged);
        }
        if conflicts {
            merged.conflict = Some(self.preserve(wc, left, target, &mut merged.work)?);
        } else {
            let special = self.actual.get(names::SPECIAL).is_some();
            let same = same_files(&result.path, if special { local } else { target })?;
            merged.outcome = if same { TextOutcome::Unchanged } else { TextOutcome::Merged };
        }
        if dry {
            return Ok(merged);
        }
        let result = result.keep(wc)?;
        if merged.outcome != TextOutcome::Unchanged {
            merged.work.push(self.install(result.clone()));
        }
        merged.work.push(WorkItem::FileRemove { relpath: result });
        Ok(merged)
    }

    fn write_lines(&self, left: &Path, local: &Path, out: &mut dyn Write) -> Result<bool> {
        let labels = Labels {
            modified: &format!("<<<<<<< {}", self.target_label),
            original: &format!("||||||| {}", self.left_label),
            separator: "=======",
            latest: &format!(">>>>>>> {}", self.right_label),
        };
        let style = ConflictStyle::ModifiedOriginalLatest;
        ThreeFiles([left, local, self.right]).merge(&self.options, &labels, style, out)
    }

    /// Reserves the names of the three files beside the node and plans to fill them: with
    /// keywords and line endings as the new properties say.
    fn preserve(
        &self,
        wc: &WorkingCopy,
        left: &Path,
        target: &Path,
        work: &mut Vec<WorkItem>,
    ) -> Result<TextConflict> {
        let (dir, name) = self.relpath.parent_and_name();
        let left_copy = reserve(wc.disk(), dir, name, self.suffix.unwrap_or(self.left_label))?;
        let right_copy = reserve(wc.disk(), dir, name, self.suffix.unwrap_or(self.right_label))?;
        let target_copy = reserve(wc.disk(), dir, name, self.suffix.unwrap_or(self.target_label))?;
        let translate = |from: &RelPath, to: &RelPath| WorkItem::FileTranslate {
            relpath: self.relpath.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        };
        let mut remove = Vec::new();
        for (from, to) in [(left, &left_copy), (self.right, &right_copy)] {
            // A repaired text is removed after this call, so it is copied too.
            let passing = from == left && left != self.left;
            let (source, copied) = if passing {
                let file = File::open(from).map_err(|e| Error::io(e, "Can't open file", from))?;
                (Temporary::filled(wc, file, from)?.keep(wc)?, true)
            } else {
                self.inside(wc, from)?
            };
            work.push(translate(&source, to));
            if copied {
                remove.push(WorkItem::FileRemove { relpath: source });
            }
        }
        let mine = Temporary::detranslated(wc, target, &self.detranslation())?.keep(wc)?;
        work.push(translate(&mine, &target_copy));
        work.push(WorkItem::FileRemove { relpath: mine });
        work.append(&mut remove);
        Ok(TextConflict { old: Some(left_copy), mine: Some(target_copy), theirs: Some(right_copy) })
    }

    /// Binary files are not merged: the incoming texts are written beside the local file.
    fn binary(&self, wc: &WorkingCopy, left: &Path, local: Local) -> Result<TextMerged> {
        let (dir, name) = self.relpath.parent_and_name();
        let left_copy = reserve(wc.disk(), dir, name, self.suffix.unwrap_or(self.left_label))?;
        let right_copy = reserve(wc.disk(), dir, name, self.suffix.unwrap_or(self.right_label))?;
        for (from, to) in [(left, &left_copy), (self.right, &right_copy)] {
            let failed = |e| Error::io(e, "Can't copy file", from);
            let mut source = File::open(from).map_err(failed)?;
            let mut target = File::create(wc.abspath(to)).map_err(failed)?;
            std::io::copy(&mut source, &mut target).map_err(failed)?;
        }
        let mut work = Vec::new();
        let mine = match local {
            Local::Itself(_) => None,
            Local::Copy(file) => {
                let to = reserve(wc.disk(), dir, name, self.suffix.unwrap_or(self.target_label))?;
                work.push(WorkItem::FileMove { from: file.keep(wc)?, to: to.clone() });
                Some(to)
            }
        };
        let conflict = TextConflict { old: Some(left_copy), mine, theirs: Some(right_copy) };
        Ok(TextMerged { outcome: TextOutcome::Conflict, work, conflict: Some(conflict) })
    }
}

/// The extension of a file name, with the dot, if it matches one of `preserved`; else nothing.
#[must_use]
pub fn preserved_extension(name: &str, preserved: &[String]) -> String {
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    extension
        .map(|(_, extension)| extension)
        .filter(|e| preserved.iter().any(|pattern| glob::matches(pattern.as_bytes(), e.as_bytes())))
        .map_or(String::new(), |e| format!(".{e}"))
}

/// The labels of an update: of the old and the new text and of the local one. The extension of
/// files that match one of `preserved` (patterns of `preserved-conflict-file-exts`) stays at the
/// end, so that programs still know what they are.
#[must_use]
pub(crate) fn update_labels(
    name: &str,
    old: Option<Revnum>,
    new: Revnum,
    preserved: &[String],
) -> (String, String, String) {
    let kept = preserved_extension(name, preserved);
    let old = old.unwrap_or(Revnum::ZERO);
    (format!(".r{old}{kept}"), format!(".r{new}{kept}"), format!(".mine{kept}"))
}

impl std::fmt::Debug for TextMerge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextMerge").field("relpath", &self.relpath).finish_non_exhaustive()
    }
}
