//! Turns the notifications of operations into the lines that people and scripts know.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action, Hunk, LockState, Notify, State};
use sapwood_core::path::skip_ancestor;
use sapwood_core::props::names::is_binary_type as is_binary;
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult};

use super::out::Out;
use crate::report;

/// Which kind of operation the lines are about: some read differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Manner {
    #[default]
    Usual,
    Checkout,
    Export,
    /// A commit that copies a working copy to a URL.
    CopyToUrl,
}

/// Kinds of conflict that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictKind {
    Text,
    Property,
    Tree,
}

/// Conflicts and skipped paths of one run.
#[derive(Debug, Default)]
pub(crate) struct ConflictStats {
    /// Paths in conflict, as shown: texts, properties, trees.
    open: [HashSet<String>; 3],
    resolved: [u64; 3],
    skipped: u64,
}

const KINDS: [(ConflictKind, &str); 3] = [
    (ConflictKind::Text, "Text"),
    (ConflictKind::Property, "Property"),
    (ConflictKind::Tree, "Tree"),
];

impl ConflictStats {
    fn place(kind: ConflictKind) -> usize {
        match kind {
            ConflictKind::Text => 0,
            ConflictKind::Property => 1,
            ConflictKind::Tree => 2,
        }
    }

    fn store(&mut self, kind: ConflictKind, path: &str) {
        if let Some(paths) = self.open.get_mut(Self::place(kind)) {
            paths.insert(path.to_owned());
        }
    }

    /// A reported conflict is resolved.
    pub(crate) fn resolve(&mut self, kind: ConflictKind, path: &str) {
        let at = Self::place(kind);
        if let (Some(paths), Some(count)) = (self.open.get_mut(at), self.resolved.get_mut(at))
            && paths.remove(path)
        {
            count.tally(1);
        }
    }

    /// All paths in conflict, in order, each once.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut all: Vec<String> = self.open.iter().flatten().cloned().collect();
        all.sort_by(|a, b| sapwood_core::path::compare(a, b));
        all.dedup();
        all
    }

    /// The summary at the end of an update or merge; empty when there is nothing to say.
    pub(crate) fn summary(&self) -> String {
        let any_resolved = self.resolved.iter().any(|n| *n > 0);
        let mut text = String::new();
        for (kind, word) in KINDS {
            let at = Self::place(kind);
            let open = self.open.get(at).map_or(0, HashSet::len);
            let resolved = self.resolved.get(at).copied().unwrap_or(0);
            if open == 0 && resolved == 0 {
                continue;
            }
            text.push_str(&if any_resolved {
                format!("  {word} conflicts: {open} remaining (and {resolved} already resolved)\n")
            } else {
                format!("  {word} conflicts: {open}\n")
            });
        }
        if self.skipped > 0 {
            text.push_str(&format!("  Skipped paths: {}\n", self.skipped));
        }
        if text.is_empty() { text } else { format!("Summary of conflicts:\n{text}") }
    }
}

/// Prints the notifications of operations.
pub(crate) struct Notifier {
    out: Out,
    /// Absolute path of the current folder, which paths are shown relative to.
    prefix: String,
    manner: Cell<Manner>,
    received_change: Cell<bool>,
    sent_text: Cell<bool>,
    externals: Cell<u32>,
    externals_failed: Cell<bool>,
    progress: Cell<u64>,
    print_failed: Cell<bool>,
    stats: RefCell<ConflictStats>,
}

impl Notifier {
    pub(crate) fn new(out: Out) -> Self {
        let prefix = std::env::current_dir().map(|dir| dir.display().to_string());
        Self {
            out,
            // Where the directory is missing no path is below it.
            prefix: prefix.unwrap_or_default(),
            manner: Cell::default(),
            received_change: Cell::default(),
            sent_text: Cell::default(),
            externals: Cell::default(),
            externals_failed: Cell::default(),
            progress: Cell::default(),
            print_failed: Cell::default(),
            stats: RefCell::default(),
        }
    }

    /// Says what the lines are about.
    pub(crate) fn set_manner(&self, manner: Manner) {
        self.manner.set(manner);
    }

    /// Whether an external could not be fetched.
    pub(crate) fn externals_failed(&self) -> bool {
        self.externals_failed.get()
    }

    /// Conflicts so far.
    pub(crate) fn stats(&self) -> &RefCell<ConflictStats> {
        &self.stats
    }

    /// Keeps count without printing, for `--quiet`.
    pub(crate) fn count_only(&self, value: &Notify<'_>) {
        if value.action == Action::FailedExternal {
            self.externals_failed.set(true);
        }
    }

    /// Prints one value. Only the first write error is reported.
    pub(crate) fn print(&self, value: &Notify<'_>) {
        self.count_only(value);
        if let Err(error) = self.write(value).and_then(|()| self.out.show())
            && !self.print_failed.replace(true)
        {
            report::exit_error(&error, "svn: ");
        }
    }

    fn display_path(&self, value: &Notify<'_>) -> String {
        if let Some(url) = value.url {
            return url.to_owned();
        }
        display_below(value.path_prefix.unwrap_or(&self.prefix), value.path)
    }

    fn conflict(&self, kind: ConflictKind, path: &str) {
        self.stats.borrow_mut().store(kind, path);
    }

    fn skipped(&self) {
        let mut stats = self.stats.borrow_mut();
        stats.skipped.tally(1);
    }

    /// The letters for text and properties of an update or patch.
    fn letters(&self, value: &Notify<'_>, path: &str) -> (char, char) {
        let text = match value.content {
            State::Conflicted => {
                self.conflict(ConflictKind::Text, path);
                'C'
            }
            State::Merged if value.kind == Some(NodeKind::File) => 'G',
            State::Changed if value.kind == Some(NodeKind::File) => 'U',
            _ => ' ',
        };
        let props = match value.props {
            State::Conflicted => {
                self.conflict(ConflictKind::Property, path);
                'C'
            }
            State::Merged => 'G',
            State::Changed => 'U',
            _ => ' ',
        };
        (text, props)
    }

    fn write(&self, value: &Notify<'_>) -> SvnResult<()> {
        let path = self.display_path(value);
        let out = &self.out;
        match value.action {
            Action::Skip
            | Action::SkipConflicted
            | Action::UpdateSkipObstruction
            | Action::UpdateSkipWorkingOnly
            | Action::UpdateSkipAccessDenied => {
                self.skipped();
                out.text(&skipped_line(value, &path))
            }
            Action::UpdateDelete | Action::Exclude => self.changed(&format!("D    {path}\n")),
            Action::UpdateBrokenLock => out.text(&format!("B    {path}\n")),
            Action::UpdateReplace => self.changed(&format!("R    {path}\n")),
            Action::UpdateAdd if value.content == State::Conflicted => {
                self.conflict(ConflictKind::Text, &path);
                self.changed(&format!("C    {path}\n"))
            }
            Action::UpdateAdd => self.changed(&format!("A    {path}\n")),
            Action::UpdateShadowedAdd => self.changed(&format!("   A {path}\n")),
            Action::UpdateShadowedUpdate => self.changed(&format!("   U {path}\n")),
            Action::UpdateShadowedDelete => self.changed(&format!("   D {path}\n")),
            Action::TreeConflict => {
                self.conflict(ConflictKind::Tree, &path);
                out.text(&format!("   C {path}\n"))
            }
            Action::Exists => {
                let (text, props) = self.letters(value, &path);
                let text = if text == 'C' { 'C' } else { 'E' };
                let props = if props == 'U' { ' ' } else { props };
                self.changed(&format!("{text}{props}   {path}\n"))
            }
            Action::UpdateUpdate | Action::MergeRecordInfo => self.update_line(value, &path),
            Action::UpdateStarted
            | Action::UpdateCompleted
            | Action::UpdateExternal
            | Action::UpdateExternalRemoved
            | Action::FailedExternal => self.update_step(value, &path),
            Action::CommitModified
            | Action::CommitAdded
            | Action::CommitCopied
            | Action::CommitDeleted
            | Action::CommitReplaced
            | Action::CommitCopiedReplaced
            | Action::CommitPostfixTxdelta
            | Action::CommitFinalizing => self.commit_step(value, &path),
            Action::FailedLock | Action::FailedUnlock | Action::MergeWarning => {
                if let Some(error) = value.error {
                    out.warn(error);
                }
                Ok(())
            }
            Action::MergeBegin
            | Action::ForeignMergeBegin
            | Action::MergeRecordInfoBegin
            | Action::MergeElideInfo
            | Action::MergeGoesOn
            | Action::ForeignCopyBegin => out.text(&merge_line(value, &path)),
            Action::Patch => {
                self.received_change.set(true);
                match self.letters(value, &path) {
                    (' ', ' ') => Ok(()),
                    (text, props) => out.text(&format!("{text}{props}        {path}\n")),
                }
            }
            Action::PatchAppliedHunk
            | Action::PatchRejectedHunk
            | Action::PatchHunkAlreadyApplied => {
                self.received_change.set(true);
                out.text(&hunk_line(value.action, &value.hunk, value.prop_name))
            }
            Action::TreeConflictDetailsProgress => {
                let revision = value.revision.unwrap_or(Revnum::ZERO).0;
                if revision < self.progress.get() / 1000 {
                    out.text("\rChecking r             ")?;
                }
                self.progress.set(revision);
                out.text(&format!("\rChecking r{revision}..."))?;
                out.flush()
            }
            Action::ResolvedText => self.resolved(ConflictKind::Text, value, &path),
            Action::Resolved | Action::ResolvedProp => {
                self.resolved(ConflictKind::Property, value, &path)
            }
            Action::ResolvedTree => self.resolved(ConflictKind::Tree, value, &path),
            Action::Delete => self.changed(&format!("D         {path}\n")),
            _ => out.text(&plain_line(value, &path)),
        }
    }

    fn resolved(&self, kind: ConflictKind, value: &Notify<'_>, path: &str) -> SvnResult<()> {
        self.stats.borrow_mut().resolve(kind, path);
        self.out.text(&plain_line(value, path))
    }

    fn changed(&self, line: &str) -> SvnResult<()> {
        self.received_change.set(true);
        self.out.text(line)
    }

    fn update_line(&self, value: &Notify<'_>, path: &str) -> SvnResult<()> {
        let (text, props) = self.letters(value, path);
        let lock = if value.lock == LockState::Unlocked { 'B' } else { ' ' };
        if (text, props) != (' ', ' ') {
            self.received_change.set(true);
        }
        if (text, props, lock) == (' ', ' ', ' ') {
            return Ok(());
        }
        self.out.text(&format!("{text}{props}{lock}  {path}\n"))
    }

    fn update_step(&self, value: &Notify<'_>, path: &str) -> SvnResult<()> {
        let out = &self.out;
        let inside = self.externals.get();
        match value.action {
            Action::UpdateStarted => {
                if inside > 0 || matches!(self.manner.get(), Manner::Checkout | Manner::Export) {
                    return Ok(());
                }
                out.text(&format!("Updating '{path}':\n"))
            }
            Action::UpdateExternal => {
                self.externals.set(inside.plus(1));
                out.text(&format!("\nFetching external item into '{path}':\n"))
            }
            Action::UpdateExternalRemoved => {
                let why = value.error.map(SvnError::message).filter(|text| !text.is_empty());
                self.changed(&match why {
                    Some(why) => format!("Removed external '{path}': {why}\n"),
                    None => format!("Removed external '{path}'\n"),
                })
            }
            Action::FailedExternal => {
                let generic;
                let error = match value.error {
                    Some(error) => error,
                    None => {
                        generic = SvnError::new(ErrorCode::CL_ERROR_PROCESSING_EXTERNALS, "");
                        &generic
                    }
                };
                if inside > 0 {
                    out.warn(error);
                    self.externals.set(inside.minus(1));
                    return out.text("\n");
                }
                out.warn(&SvnError::new(
                    ErrorCode::CL_ERROR_PROCESSING_EXTERNALS,
                    format!("Error handling externals definition for '{path}':"),
                ));
                out.warn(error);
                Ok(())
            }
            _ => {
                out.text(&self.completed_line(value.revision))?;
                if inside > 0 {
                    self.externals.set(inside.minus(1));
                    out.text("\n")?;
                }
                Ok(())
            }
        }
    }

    fn completed_line(&self, revision: Option<Revnum>) -> String {
        let external = self.externals.get() > 0;
        let Some(revision) = revision else {
            return match (self.manner.get(), external) {
                (Manner::Export, true) => "External export complete.\n",
                (Manner::Export, false) => "Export complete.\n",
                (Manner::Checkout, true) => "External checkout complete.\n",
                (Manner::Checkout, false) => "Checkout complete.\n",
                (_, true) => "External update complete.\n",
                (_, false) => "Update complete.\n",
            }
            .to_owned();
        };
        let words = match self.manner.get() {
            Manner::Export if external => "Exported external at revision",
            Manner::Export => "Exported revision",
            Manner::Checkout if external => "Checked out external at revision",
            Manner::Checkout => "Checked out revision",
            _ if self.received_change.replace(false) => {
                if external {
                    "Updated external to revision"
                } else {
                    "Updated to revision"
                }
            }
            _ if external => "External at revision",
            _ => "At revision",
        };
        format!("{words} {revision}.\n")
    }

    fn commit_step(&self, value: &Notify<'_>, path: &str) -> SvnResult<()> {
        let copying = self.manner.get() == Manner::CopyToUrl;
        let binary = value.mime_type.is_some_and(is_binary);
        let words = match (value.action, copying) {
            (Action::CommitModified, false) => "Sending        ",
            (Action::CommitModified, true) => "Sending copy of       ",
            (Action::CommitAdded | Action::CommitCopied, false) if binary => "Adding  (bin)  ",
            (Action::CommitAdded | Action::CommitCopied, true) if binary => {
                "Adding copy of (bin)  "
            }
            (Action::CommitAdded | Action::CommitCopied, false) => "Adding         ",
            (Action::CommitAdded | Action::CommitCopied, true) => "Adding copy of        ",
            (Action::CommitDeleted, false) => "Deleting       ",
            (Action::CommitDeleted, true) => "Deleting copy of      ",
            (Action::CommitReplaced | Action::CommitCopiedReplaced, false) => "Replacing      ",
            (Action::CommitReplaced | Action::CommitCopiedReplaced, true) => {
                "Replacing copy of     "
            }
            (Action::CommitPostfixTxdelta, _) => {
                if !self.sent_text.replace(true) {
                    self.out.text("Transmitting file data ")?;
                }
                return self.out.text(".");
            }
            _ => {
                if self.sent_text.get() {
                    self.out.text("done\n")?;
                }
                return self.out.text("Committing transaction...\n");
            }
        };
        self.out.text(&format!("{words}{path}\n"))
    }
}

/// A path as it is shown: relative to a folder if it is below it.
pub(crate) fn display_below(prefix: &str, path: &str) -> String {
    let rest = if prefix.is_empty() { None } else { skip_ancestor(prefix, path) };
    match rest.unwrap_or(path) {
        "" => ".".to_owned(),
        rest => rest.strip_prefix('/').filter(|_| prefix == "/").unwrap_or(rest).to_owned(),
    }
}

fn skipped_line(value: &Notify<'_>, path: &str) -> String {
    let why = match value.action {
        Action::UpdateSkipObstruction => "An obstructing working copy was found",
        Action::UpdateSkipWorkingOnly => "Has no versioned parent",
        Action::UpdateSkipAccessDenied => "Access denied",
        Action::SkipConflicted => "Node remains in conflict",
        _ => match value.content {
            State::Missing => return format!("Skipped missing target: '{path}'\n"),
            State::SourceMissing => {
                return format!("Skipped target: '{path}' -- copy-source is missing\n");
            }
            State::Obstructed => "obstructed by unversioned node",
            _ => return format!("Skipped '{path}'\n"),
        },
    };
    format!("Skipped '{path}' -- {why}\n")
}

/// The lines that need nothing but the value; empty for actions that are not shown.
fn plain_line(value: &Notify<'_>, path: &str) -> String {
    let prop = value.prop_name.unwrap_or("");
    let changelist = value.changelist.unwrap_or("");
    let revision = value.revision.unwrap_or(Revnum::ZERO);
    match value.action {
        Action::Add if value.mime_type.is_some_and(is_binary) => format!("A  (bin)  {path}\n"),
        Action::Add | Action::Copy => format!("A         {path}\n"),
        Action::LeftLocalModifications => format!("Left local modifications as '{path}'\n"),
        Action::Restore => format!("Restored '{path}'\n"),
        Action::Revert => format!("Reverted '{path}'\n"),
        Action::FailedRevert => {
            format!("Failed to revert '{path}' -- try updating instead.\n")
        }
        Action::Resolved => format!("Resolved conflicted state of '{path}'\n"),
        Action::ResolvedText => format!("Merge conflicts in '{path}' marked as resolved.\n"),
        Action::ResolvedProp => {
            format!("Conflict in property '{prop}' at '{path}' marked as resolved.\n")
        }
        Action::ResolvedTree => format!("Tree conflict at '{path}' marked as resolved.\n"),
        Action::BeginSearchTreeConflictDetails => {
            format!("Searching tree conflict details for '{path}' in repository:\n")
        }
        Action::EndSearchTreeConflictDetails => " done\n".to_owned(),
        Action::StatusExternal => {
            format!("\nPerforming status on external item at '{path}':\n")
        }
        Action::InfoExternal => format!("\nPerforming info on external item at '{path}':\n"),
        Action::StatusCompleted => match value.revision {
            Some(revision) => format!("Status against revision: {:>6}\n", revision.0),
            None => String::new(),
        },
        Action::Locked => {
            let owner = value.owner.unwrap_or("");
            format!("'{path}' locked by user '{owner}'.\n")
        }
        Action::Unlocked => format!("'{path}' unlocked.\n"),
        Action::ChangelistSet => format!("A [{changelist}] {path}\n"),
        Action::ChangelistClear | Action::ChangelistMoved => format!("D [{changelist}] {path}\n"),
        Action::PropertyModified | Action::PropertyAdded => {
            format!("property '{prop}' set on '{path}'\n")
        }
        Action::PropertyDeleted => format!("property '{prop}' deleted from '{path}'.\n"),
        Action::PropertyDeletedNonexistent => {
            format!("Attempting to delete nonexistent property '{prop}' on '{path}'\n")
        }
        Action::RevpropSet => {
            format!("property '{prop}' set on repository revision {revision}\n")
        }
        Action::RevpropDeleted => {
            format!("property '{prop}' deleted from repository revision {revision}\n")
        }
        // Only a terminal shows why it takes so long.
        Action::FetchingTextBases if is_watched() => "Fetching text bases ".to_owned(),
        Action::FetchedTextBase if is_watched() => ".".to_owned(),
        Action::FetchedTextBases if is_watched() => "done\n".to_owned(),
        Action::UpgradedPath => format!("Upgraded '{path}'\n"),
        Action::UrlRedirect => format!("Redirecting to URL '{path}':\n"),
        Action::PathNonexistent => format!("'{path}' is not under version control\n"),
        Action::MoveBroken => format!("Breaking move with source path '{path}'\n"),
        Action::CleanupExternal => {
            format!("Performing cleanup on external item at '{path}'.\n")
        }
        _ => String::new(),
    }
}

fn is_watched() -> bool {
    crate::terminal::stdout_is_one()
}

fn merge_line(value: &Notify<'_>, path: &str) -> String {
    let range = value.range.map(|(start, end)| (start.0, end.0));
    match value.action {
        Action::MergeElideInfo => return format!("--- Eliding mergeinfo from '{path}':\n"),
        Action::MergeGoesOn => {
            return format!("--- Going on with the merge into '{path}' that was stopped:\n");
        }
        Action::ForeignCopyBegin => {
            return match range {
                None => format!("--- Copying from foreign repository URL '{path}':\n"),
                Some(_) => String::new(),
            };
        }
        _ => {}
    }
    let Some((start, end)) = range else {
        return match value.action {
            Action::MergeRecordInfoBegin => format!(
                "--- Recording mergeinfo for merge between repository URLs into '{path}':\n"
            ),
            Action::ForeignMergeBegin => {
                format!("--- Merging differences between foreign repository URLs into '{path}':\n")
            }
            _ => format!("--- Merging differences between repository URLs into '{path}':\n"),
        };
    };
    let one_forward = start == end || start.checked_add(1) == Some(end);
    let one_back = end.checked_add(1) == Some(start);
    let revisions = if one_forward {
        format!("r{end}")
    } else if one_back {
        format!("r{start}")
    } else if start < end {
        format!("r{} through r{end}", start.plus(1))
    } else {
        format!("r{start} through r{}", end.plus(1))
    };
    let back = !one_forward && start > end;
    let words = match (value.action, back) {
        (Action::MergeRecordInfoBegin, false) => "Recording mergeinfo for merge of",
        (Action::MergeRecordInfoBegin, true) => "Recording mergeinfo for reverse merge of",
        (Action::ForeignMergeBegin, false) => "Merging (from foreign repository)",
        (Action::ForeignMergeBegin, true) => "Reverse-merging (from foreign repository)",
        (_, false) => "Merging",
        (_, true) => "Reverse-merging",
    };
    format!("--- {words} {revisions} into '{path}':\n")
}

fn hunk_line(action: Action, hunk: &Hunk, prop: Option<&str>) -> String {
    let mark = if prop.is_some() { "##" } else { "@@" };
    let place = format!(
        "{mark} -{},{} +{},{} {mark}",
        hunk.original.0, hunk.original.1, hunk.modified.0, hunk.modified.1
    );
    let prop = prop.map_or(String::new(), |name| format!(" ({name})"));
    match action {
        Action::PatchRejectedHunk => return format!(">         rejected hunk {place}{prop}\n"),
        Action::PatchHunkAlreadyApplied => {
            return format!(">         hunk {place} already applied{prop}\n");
        }
        _ => {}
    }
    let start = hunk.original.0;
    let offset = if hunk.matched_line == start {
        None
    } else if hunk.matched_line < start {
        Some(format!("-{}", start.abs_diff(hunk.matched_line)))
    } else if start == 0 && hunk.matched_line == 1 {
        // At the start of an empty file there is nothing to be off from.
        Some("0".to_owned())
    } else {
        Some(hunk.matched_line.abs_diff(start).to_string())
    };
    match (offset, hunk.fuzz) {
        (None, 0) => String::new(),
        (None, fuzz) => format!(">         applied hunk {place} with fuzz {fuzz}{prop}\n"),
        (Some(offset), 0) => {
            format!(">         applied hunk {place} with offset {offset}{prop}\n")
        }
        (Some(offset), fuzz) => {
            format!(">         applied hunk {place} with offset {offset} and fuzz {fuzz}{prop}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_current_folder() {
        for (prefix, path, want) in [
            ("/wc", "/wc/a", "a"),
            ("/wc", "/wc", "."),
            ("/wc", "/other", "/other"),
            ("/", "/a", "a"),
            ("", "a", "a"),
        ] {
            assert_eq!(display_below(prefix, path), want);
        }
    }

    #[test]
    fn ranges_of_merges() {
        let line = |start, end| {
            let mut value = Notify::new(Action::MergeBegin, "/x");
            value.range = Some((Revnum(start), Revnum(end)));
            merge_line(&value, "x")
        };
        assert_eq!(line(4, 5), "--- Merging r5 into 'x':\n");
        assert_eq!(line(2, 5), "--- Merging r3 through r5 into 'x':\n");
        assert_eq!(line(5, 4), "--- Reverse-merging r5 into 'x':\n");
        assert_eq!(line(5, 2), "--- Reverse-merging r5 through r3 into 'x':\n");
    }

    #[test]
    fn summaries() {
        let mut stats = ConflictStats::default();
        assert_eq!(stats.summary(), "");
        stats.store(ConflictKind::Text, "a");
        stats.store(ConflictKind::Tree, "b");
        assert_eq!(
            stats.summary(),
            "Summary of conflicts:\n  Text conflicts: 1\n  Tree conflicts: 1\n"
        );
        stats.resolve(ConflictKind::Text, "a");
        assert_eq!(
            stats.summary(),
            "Summary of conflicts:\n  Text conflicts: 0 remaining (and 1 already resolved)\n  \
             Tree conflicts: 1 remaining (and 0 already resolved)\n"
        );
        assert_eq!(stats.paths(), ["b"]);
    }
}
