//! What an operation reports while it runs: one value for each path or step.
//!
//! The working copy and the client's operations make these values; the `svn` program turns them into
//! the lines that people know. Only the fields that an action needs are filled.

use crate::{NodeKind, Revnum, SvnError};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A node was scheduled for addition.
    Add,
    /// A node was copied.
    Copy,
    /// A node was scheduled for deletion.
    Delete,
    /// A missing file was written again.
    Restore,
    /// Local changes were undone.
    Revert,
    /// Local changes could not be undone.
    FailedRevert,
    /// A conflict is no more.
    Resolved,
    /// A conflict of texts is no more.
    ResolvedText,
    /// A conflict of the property `prop_name` is no more.
    ResolvedProp,
    /// A tree conflict is no more.
    ResolvedTree,
    /// A path was left out; `content` says why.
    Skip,
    /// A path was left out because it is in conflict.
    SkipConflicted,
    /// A path was left out because another working copy is in its place.
    UpdateSkipObstruction,
    /// A path was left out because it has no parent under version control.
    UpdateSkipWorkingOnly,
    /// A path was left out because this user may not see it.
    UpdateSkipAccessDenied,
    /// An update deletes a node.
    UpdateDelete,
    /// An update adds a node.
    UpdateAdd,
    /// An update changes a node.
    UpdateUpdate,
    /// An update replaces a node.
    UpdateReplace,
    /// An update found a lock broken.
    UpdateBrokenLock,
    /// An update adds a node below one that was deleted or moved here.
    UpdateShadowedAdd,
    /// The same, for a change.
    UpdateShadowedUpdate,
    /// The same, for a deletion.
    UpdateShadowedDelete,
    /// An update begins with a path.
    UpdateStarted,
    /// An update has come to `revision`.
    UpdateCompleted,
    /// An external is being brought.
    UpdateExternal,
    /// An external was removed; `error` says what was left.
    UpdateExternalRemoved,
    /// An external could not be brought.
    FailedExternal,
    /// A node was excluded from the working copy.
    Exclude,
    /// A node was already there.
    Exists,
    /// Local changes were left as unversioned files.
    LeftLocalModifications,
    /// The status was compared with `revision`.
    StatusCompleted,
    /// The status of an external follows.
    StatusExternal,
    /// What is known of an external follows.
    InfoExternal,
    /// A changed node is being committed.
    CommitModified,
    /// A new node is being committed.
    CommitAdded,
    /// A copied node is being committed.
    CommitCopied,
    /// A deletion is being committed.
    CommitDeleted,
    /// A replacement is being committed.
    CommitReplaced,
    /// A replacement by a copy is being committed.
    CommitCopiedReplaced,
    /// The text of a file is being sent.
    CommitPostfixTxdelta,
    /// The other side is asked to make the revision.
    CommitFinalizing,
    /// Text bases that are not kept begin to be fetched.
    FetchingTextBases,
    /// One of them came.
    FetchedTextBase,
    /// All of them came.
    FetchedTextBases,
    /// A path was locked.
    Locked,
    /// A path was unlocked.
    Unlocked,
    /// A path could not be locked.
    FailedLock,
    /// A path could not be unlocked.
    FailedUnlock,
    /// A path was put into a changelist.
    ChangelistSet,
    /// A path was taken out of a changelist.
    ChangelistClear,
    /// A path went from one changelist to another.
    ChangelistMoved,
    /// A merge of `range` begins.
    MergeBegin,
    /// A merge of `range` from another repository begins.
    ForeignMergeBegin,
    /// Mergeinfo is being recorded.
    MergeRecordInfo,
    /// Recording the mergeinfo of a merge of `range` begins.
    MergeRecordInfoBegin,
    /// Mergeinfo that a parent says too was removed.
    MergeElideInfo,
    /// A merge is complete.
    MergeCompleted,
    /// A merge that was stopped goes on.
    MergeGoesOn,
    /// Something of a merge is not as a user may think: `error` says what.
    MergeWarning,
    /// A copy from another repository begins.
    ForeignCopyBegin,
    /// There is a tree conflict.
    TreeConflict,
    /// A property was set that was there.
    PropertyModified,
    /// A property was set that was not there.
    PropertyAdded,
    /// A property was deleted.
    PropertyDeleted,
    /// A property that was to be deleted was not there.
    PropertyDeletedNonexistent,
    /// A revision property was set.
    RevpropSet,
    /// A revision property was deleted.
    RevpropDeleted,
    /// A working copy has a new format.
    UpgradedPath,
    /// The server has moved to `url`.
    UrlRedirect,
    /// A path is not under version control.
    PathNonexistent,
    /// A move was made a copy and a deletion.
    MoveBroken,
    /// An external is being cleaned up.
    CleanupExternal,
    /// A patch was applied to a file.
    Patch,
    /// A hunk was applied.
    PatchAppliedHunk,
    /// A hunk could not be applied.
    PatchRejectedHunk,
    /// A hunk was there already.
    PatchHunkAlreadyApplied,
    /// The history of a tree conflict is being looked for.
    BeginSearchTreeConflictDetails,
    /// It was looked for as far as `revision`.
    TreeConflictDetailsProgress,
    /// It was found, or not.
    EndSearchTreeConflictDetails,
}

/// What became of a text or of properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// There is nothing to say.
    #[default]
    Inapplicable,
    /// Not known.
    Unknown,
    /// As it was.
    Unchanged,
    /// It was not there.
    Missing,
    /// Something unversioned was in its place.
    Obstructed,
    /// Changed.
    Changed,
    /// Changed, on top of local changes.
    Merged,
    /// Changed in the same place as locally.
    Conflicted,
    /// What was to be copied is not there.
    SourceMissing,
}

/// What became of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockState {
    /// There is nothing to say.
    #[default]
    Inapplicable,
    /// As it was.
    Unchanged,
    /// Locked.
    Locked,
    /// Gone.
    Unlocked,
}

/// The place of a hunk of a patch, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// First line and number of lines before.
    pub original: (u64, u64),
    /// First line and number of lines after.
    pub modified: (u64, u64),
    /// The line where it fits.
    pub matched_line: u64,
    /// How many lines of context did not fit.
    pub fuzz: u64,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Notify<'a> {
    /// What.
    pub action: Action,
    /// To which path: absolute and local.
    pub path: &'a str,
    /// To which URL, if it was not a local path.
    pub url: Option<&'a str>,
    /// What is cut off from the path when it is shown; the current folder when there is none.
    pub path_prefix: Option<&'a str>,
    /// File or directory.
    pub kind: Option<NodeKind>,
    /// What became of the text.
    pub content: State,
    /// What became of the properties.
    pub props: State,
    /// What became of the lock.
    pub lock: LockState,
    /// The media type of an added file.
    pub mime_type: Option<&'a str>,
    /// The revision that was reached.
    pub revision: Option<Revnum>,
    /// Why something failed.
    pub error: Option<&'a SvnError>,
    /// The owner of a lock.
    pub owner: Option<&'a str>,
    /// The name of a changelist.
    pub changelist: Option<&'a str>,
    /// The name of a property.
    pub prop_name: Option<&'a str>,
    /// A range of merged revisions, as `-r START:END` has it.
    pub range: Option<(Revnum, Revnum)>,
    /// A hunk of a patch.
    pub hunk: Hunk,
}

impl<'a> Notify<'a> {
    /// A value with nothing but an action and a local path.
    #[must_use]
    pub fn new(action: Action, path: &'a str) -> Self {
        Self {
            action,
            path,
            url: None,
            path_prefix: None,
            kind: None,
            content: State::default(),
            props: State::default(),
            lock: LockState::default(),
            mime_type: None,
            revision: None,
            error: None,
            owner: None,
            changelist: None,
            prop_name: None,
            range: None,
            hunk: Hunk::default(),
        }
    }

    /// The same about a URL.
    #[must_use]
    pub fn of_url(action: Action, url: &'a str) -> Self {
        Self { url: Some(url), ..Self::new(action, "") }
    }
}

/// A [`Notify`] that is reported later, with its own copies of the texts.
#[derive(Clone, Debug)]
pub struct KeptNotify {
    value: Notify<'static>,
    path: String,
    url: Option<String>,
    path_prefix: Option<String>,
    mime_type: Option<String>,
    error: Option<SvnError>,
    owner: Option<String>,
    changelist: Option<String>,
    prop_name: Option<String>,
}

impl From<&Notify<'_>> for KeptNotify {
    fn from(value: &Notify<'_>) -> Self {
        let &Notify { action, kind, content, props, lock, revision, range, hunk, .. } = value;
        let own = |text: Option<&str>| text.map(str::to_owned);
        let plain = Notify::new(action, "");
        Self {
            value: Notify { kind, content, props, lock, revision, range, hunk, ..plain },
            path: value.path.to_owned(),
            url: own(value.url),
            path_prefix: own(value.path_prefix),
            mime_type: own(value.mime_type),
            error: value.error.cloned(),
            owner: own(value.owner),
            changelist: own(value.changelist),
            prop_name: own(value.prop_name),
        }
    }
}

impl KeptNotify {
    /// The value that was kept.
    #[must_use]
    pub fn notify(&self) -> Notify<'_> {
        Notify {
            path: &self.path,
            url: self.url.as_deref(),
            path_prefix: self.path_prefix.as_deref(),
            mime_type: self.mime_type.as_deref(),
            error: self.error.as_ref(),
            owner: self.owner.as_deref(),
            changelist: self.changelist.as_deref(),
            prop_name: self.prop_name.as_deref(),
            ..self.value
        }
    }
}
