//! Revisions of the source, read ahead by several threads while others are committed: what changed, the nodes that came of it,
//! and short texts with their checksums.
//!
//! A text that is not here is read when its turn comes; so are all that cannot be read, and their errors are met then.

use std::io::Read as _;
use std::sync::Arc;

use sapwood_core::exact::clamped;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Exact as _, Md5, NodeKind, PropList, Revnum, Sha1, SvnResult, len64};
use sapwood_fs::txn::KnownText;
use sapwood_fs::{ChangeKind, ChangedPath, Filesystem, Node};

use super::summary::{self, SummaryHasher};

/// Bytes of texts that are read ahead of one revision, at most.
const TEXTS: u64 = 512 << 10;

/// What a revision of the source is made of.
#[derive(Debug)]
pub(super) struct ReadRevision {
    pub(super) revision: Revnum,
    pub(super) props: Arc<PropList>,
    pub(super) changes: Vec<ReadChange>,
    /// What the target must have too.
    pub(super) summary: Sha1,
}

/// One changed path.
#[derive(Debug)]
pub(super) struct ReadChange {
    pub(super) path: FsPathBuf,
    pub(super) kind: ChangeKind,
    pub(super) text_mod: bool,
    pub(super) prop_mod: bool,
    pub(super) mergeinfo_mod: bool,
    pub(super) copy_from: Option<(Revnum, FsPathBuf)>,
    /// What is there after the change; `None` after a deletion.
    pub(super) node: Option<ReadNode>,
}

/// A node after its change.
#[derive(Debug)]
pub(super) struct ReadNode {
    pub(super) kind: NodeKind,
    pub(super) props: Arc<PropList>,
    /// The recorded checksum of a file's text; `None` of directories.
    pub(super) md5: Option<Md5>,
    /// Whether the source counts the text as changed: a text that was written again is, in FSFS, even if it is the same.
    pub(super) has_new_text: bool,
    /// The same of the properties.
    pub(super) has_new_props: bool,
    /// Whether the properties are known to be those of the node before.
    pub(super) has_old_props: bool,
    /// The text, if it counts as changed and there was room for it.
    pub(super) text: Option<(Vec<u8>, KnownText)>,
}

/// Reads a revision.
///
/// # Errors
/// Those of reading, but for texts.
pub(super) fn read(source: &Filesystem, revision: Revnum) -> SvnResult<ReadRevision> {
    let root = source.revision_root(revision)?;
    let mut room = TEXTS;
    let mut sum = SummaryHasher::default();
    let read_change = |change: ChangedPath<'_>| {
        let node = match change.kind {
            ChangeKind::Delete => None,
            _ => Some(read_node(&root.node(change.path)?, &change, &mut room)?),
        };
        sum.add(&change, node.as_ref().map(|node| (node.kind, &*node.props, node.md5)));
        Ok(ReadChange {
            path: change.path.to_owned(),
            kind: change.kind,
            text_mod: change.text_mod,
            prop_mod: change.prop_mod,
            mergeinfo_mod: change.mergeinfo_mod == Some(true),
            copy_from: change.copy_from.map(|(from, path)| (from, path.to_owned())),
            node,
        })
    };
    let changes = root.changed_paths()?.iter().map(read_change).collect::<SvnResult<_>>()?;
    Ok(ReadRevision { revision, props: source.revprops(revision)?, changes, summary: sum.finish() })
}

fn read_node(node: &Node, change: &ChangedPath<'_>, room: &mut u64) -> SvnResult<ReadNode> {
    let kind = node.kind();
    let md5 = summary::md5_of(node)?;
    let is_new = change.kind != ChangeKind::Modify && change.copy_from.is_none();
    let before = if is_new || !(change.text_mod || change.prop_mod) {
        None
    } else {
        node.predecessor()?.filter(|before| before.kind() == kind)
    };
    let before = before.as_ref();
    let has_new_text = change.text_mod && !before.is_some_and(|old| old.same_contents_rep(node));
    let has_old_props = before.is_some_and(|old| old.same_props_rep(node));
    let has_new_props = change.prop_mod && !has_old_props;
    let text = md5.filter(|_| has_new_text || is_new).and_then(|md5| read_text(node, md5, room));
    let props = node.props()?;
    Ok(ReadNode { kind, props, md5, has_new_text, has_new_props, has_old_props, text })
}

/// A text that there is room for and that has its checksum.
fn read_text(node: &Node, md5: Md5, room: &mut u64) -> Option<(Vec<u8>, KnownText)> {
    let left = *room;
    let len = node.length().ok().filter(|len| *len <= left)?;
    // One byte more shows that the length is wrong.
    let mut text = Vec::with_capacity(clamped(len.plus(1)));
    node.contents().ok()?.take(left.plus(1)).read_to_end(&mut text).ok()?;
    if len64(text.len()) != len || Md5::of(&text) != md5 {
        return None;
    }
    *room = left.minus(len);
    let known = KnownText { md5, sha1: Sha1::of(&text), delta: None };
    Some((text, known))
}
