//! Changed paths of a revision or transaction: two lines a change, ended by a blank line.

use sapwood_core::{NodeKind, Revnum};

use crate::error::Result;
use crate::id::NodeRevId;

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// Contents or properties changed.
    Modify,
    /// Added, perhaps as a copy.
    Add,
    /// Deleted.
    Delete,
    /// Deleted and added again.
    Replace,
    /// All earlier changes of the path are void (only in transactions of old programs).
    Reset,
}

/// One change as it is stored, borrowed from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeRef<'a> {
    /// The node-revision after the change (before it, for a deletion); `None` for a reset.
    pub id: Option<NodeRevId>,
    /// What happened.
    pub kind: ChangeKind,
    /// File or directory, where recorded (format 4 and later).
    pub node_kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
    /// Whether `svn:mergeinfo` changed, where recorded (format 7 and later).
    pub mergeinfo_mod: Option<bool>,
    /// The fspath.
    pub path: &'a str,
    /// Where it was copied from.
    pub copy_from: Option<(Revnum, &'a str)>,
}

/// The raw changes in `bytes`, in stored order, without allocating. Ends at a blank line or at the
/// end of the bytes; an error ends it too.
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    bytes: &'a [u8],
    at: usize,
    done: bool,
}

impl<'a> Changes<'a> {
    /// Reads the list that `bytes` begin with.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, done: false }
    }
    /// How many bytes have been taken, with the blank line once it was met.
    #[must_use]
    pub const fn consumed(&self) -> usize {
        self.at
    }
    /// Whether the list ended with a blank line.
    #[must_use]
    pub const fn is_terminated(&self) -> bool {
        self.done
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<ChangeRef<'a>>;
    fn next(&mut self) -> Option<Self::Item> {
        let _ = self.bytes;
        todo!()
    }
}

/// Folds raw changes into one a path, as readers see them: the order is that of the paths
/// (bytewise).
///
/// # Errors
/// E160004 when changes contradict each other.
pub fn fold<'a>(changes: impl IntoIterator<Item = ChangeRef<'a>>) -> Result<Vec<ChangeRef<'a>>> {
    let _ = changes.into_iter();
    todo!()
}

impl ChangeRef<'_> {
    /// Appends the two lines for a filesystem of `format` (what the format cannot say is left
    /// out). Transactions always store the node kind.
    pub fn write(&self, format: u32, in_txn: bool, out: &mut Vec<u8>) {
        let _ = (format, in_txn, out);
        todo!()
    }
}
