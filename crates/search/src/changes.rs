//! The files that a revision changed, and the lines that it added to them and removed.
//!
//! A line was added when the text has it more often than the text before, and removed when less often: lines that only moved do not
//! count. Invariants: both sides of one file are in memory at a time, each of at most [`crate::LARGEST_TEXT`]; a revision has at most
//! [`MOST_FILES`] files, and the files of one revision are always in the same order.

use std::collections::{HashMap, HashSet};

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{CancelToken, FsPath, NodeKind, Revnum};
use sapwood_fs::{ChangeKind, Node, Root};
use sapwood_repos::Repository;

use crate::error::Result;
use crate::scope::Scope;
use crate::text;
use crate::walk::Walk;

/// Files of one revision whose lines can be found.
pub const MOST_FILES: usize = 20_000;

/// A file that a revision changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path.
    pub path: FsPathBuf,
    /// Whether the revision deleted it: it is to be read in the revision before.
    pub is_deleted: bool,
}

/// The lines of a file that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedLines {
    /// Lines that the text before had.
    pub removed: Vec<String>,
    /// Lines that it had not.
    pub added: Vec<String>,
}

impl ChangedLines {
    /// The lines that differ between two files; nothing is an empty text, and so is what is no text or too large.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn of(old: Option<&Node>, new: Option<&Node>) -> Result<Self> {
        let text = |node: Option<&Node>| -> Result<String> {
            let file = node.filter(|node| node.kind() == NodeKind::File);
            Ok(file.map(text::of_file).transpose()?.flatten().unwrap_or_else(String::new))
        };
        if let (Some(old), Some(new)) = (old, new)
            && old.same_contents_rep(new)
        {
            return Ok(Self::default());
        }
        Ok(Self::between(&text(old)?, &text(new)?))
    }

    fn between(old: &str, new: &str) -> Self {
        // How often the old text has each line, and the new one has not had it yet.
        let mut left: HashMap<&str, usize> = HashMap::new();
        for line in old.lines() {
            left.entry(line).and_modify(|count| *count = count.plus(1)).or_insert(1);
        }
        let mut take = |line: &str| {
            let count = left.get_mut(line).filter(|count| **count > 0);
            count.map(|count| *count = count.minus(1)).is_some()
        };
        let mut lines = Self::default();
        for line in new.lines() {
            if !take(line) {
                lines.added.push(line.to_owned());
            }
        }
        // What is left over is not in the new text: the last ones of several that are alike.
        for line in old.lines().rev() {
            if take(line) {
                lines.removed.push(line.to_owned());
            }
        }
        lines.removed.reverse();
        lines
    }

    /// All of them as one text.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = self.removed.iter().chain(&self.added);
        lines.fold(String::new(), |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        })
    }
}

/// The files that a revision changed, without those that were only copied or moved.
///
/// # Errors
/// Corruption and system errors; cancellation.
pub fn changed_files(
    repository: &Repository,
    scope: &Scope,
    revision: Revnum,
    cancel: &CancelToken,
) -> Result<Vec<ChangedFile>> {
    let (fs, Some(before)) = (repository.fs(), revision.prev()) else { return Ok(Vec::new()) };
    let (old, new, changed) =
        (fs.revision_root(before)?, fs.revision_root(revision)?, fs.changed_paths(revision)?);
    let sources = changed.iter().filter_map(|change| Some(change.copy_from?.1.to_owned()));
    let moved: HashSet<FsPathBuf> = sources.collect();
    let mut list = List { scope, cancel, files: Vec::new() };
    for change in changed.iter() {
        cancel.check()?;
        if list.files.len() >= MOST_FILES || !scope.has(change.path) {
            continue;
        }
        if change.kind != ChangeKind::Delete && change.text_mod {
            list.file(&new, change.path)?;
        }
        let is_gone = matches!(change.kind, ChangeKind::Delete | ChangeKind::Replace);
        if is_gone && !moved.contains(change.path) {
            list.deleted(&old, change.path)?;
        }
    }
    list.files.truncate(MOST_FILES);
    Ok(list.files)
}

/// Files, as they are found.
struct List<'a> {
    scope: &'a Scope,
    cancel: &'a CancelToken,
    files: Vec<ChangedFile>,
}

impl List<'_> {
    fn file(&mut self, root: &Root, path: &FsPath) -> Result<()> {
        if root.kind(path)? == Some(NodeKind::File) {
            self.files.push(ChangedFile { path: path.to_owned(), is_deleted: false });
        }
        Ok(())
    }

    /// Adds what was at a path, and all files below it.
    fn deleted(&mut self, root: &Root, path: &FsPath) -> Result<()> {
        let Some(node) = root.find(path)? else { return Ok(()) };
        if node.kind() == NodeKind::File {
            self.files.push(ChangedFile { path: path.to_owned(), is_deleted: true });
            return Ok(());
        }
        let mut walk = Walk::below(node, path, self.scope)?;
        while let Some((path, node)) = walk.next()? {
            self.cancel.check()?;
            if self.files.len() >= MOST_FILES {
                break;
            }
            if node.kind() == NodeKind::File {
                self.files.push(ChangedFile { path, is_deleted: true });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_that_moved_do_not_count() {
        let lines = |old: &str, new: &str| {
            let lines = ChangedLines::between(old, new);
            (lines.removed.join(","), lines.added.join(","))
        };
        assert_eq!(lines("a\nb\nc\n", "c\nb\nd\n"), ("a".to_owned(), "d".to_owned()));
        assert_eq!(lines("a\n", "a\na\n"), (String::new(), "a".to_owned()));
        assert_eq!(lines("a\nb\na\n", "a\n"), ("b,a".to_owned(), String::new()));
        assert_eq!(lines("", "x"), (String::new(), "x".to_owned()));
        assert_eq!(ChangedLines::between("x\n", "y\n").text(), "x\ny\n");
    }

    proptest! {
        /// The old lines without those that were removed, with those that were added, are the new lines in some order.
        #[test]
        fn both_sides_are_accounted_for(old in "([abc]\n){0,12}", new in "([abc]\n){0,12}") {
            let lines = ChangedLines::between(&old, &new);
            let mut all: Vec<&str> = old.lines().chain(lines.added.iter().map(String::as_str)).collect();
            let mut others: Vec<&str> = new.lines().chain(lines.removed.iter().map(String::as_str)).collect();
            all.sort_unstable();
            others.sort_unstable();
            prop_assert_eq!(all, others);
            prop_assert!(lines.removed.iter().all(|line| !lines.added.contains(line)));
        }
    }
}
