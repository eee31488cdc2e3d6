//! Turns the notifications of operations into the lines that people and scripts know.

mod conflict_stats;
mod lines;

use std::cell::{Cell, RefCell};

use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action, LockState, Notify, State};
use sapwood_core::props::names::is_binary_type as is_binary;
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult};

pub(crate) use self::conflict_stats::{ConflictKind, ConflictStats};
pub(crate) use self::lines::display_below;
use self::lines::{hunk_line, merge_line, plain_line, skipped_line};
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
