//! What a revision changed, as a checksum: that of the source is taken when the revision is read to be converted, so that the
//! comparison at the end reads the target only.
//!
//! It covers all that the comparison of two revisions looks at: changed paths with their flags and copy sources; of each
//! node its kind, its properties, and the recorded MD5 of its text.

use sapwood_core::checksum::Sha1Hasher;
use sapwood_core::{Md5, NodeKind, PropList, Revnum, Sha1, SvnResult, len64};
use sapwood_fs::{ChangeKind, ChangedPath, Filesystem, Node};

/// A checksum in the making.
#[derive(Debug, Default)]
pub(super) struct SummaryHasher(Sha1Hasher);

impl SummaryHasher {
    /// Adds a changed path, and the node there; `None` after a deletion.
    pub(super) fn add(
        &mut self,
        change: &ChangedPath<'_>,
        node: Option<(NodeKind, &PropList, Option<Md5>)>,
    ) {
        self.bytes(change.path.as_bytes());
        let flags = [change.kind.letter(), change.text_mod.into(), change.prop_mod.into()];
        self.0.update(&flags);
        if let Some((revision, path)) = change.copy_from {
            self.0.update(&revision.0.to_be_bytes());
            self.bytes(path.as_bytes());
        }
        // Each part has a length or a mark, so that different revisions have different bytes.
        self.0.update(&[u8::from(change.copy_from.is_some()), u8::from(node.is_some())]);
        if let Some((kind, props, md5)) = node {
            self.0.update(&[u8::from(kind == NodeKind::Dir)]);
            self.0.update(&md5.map_or([0; 16], |md5| md5.0));
            self.0.update(&len64(props.len()).to_be_bytes());
            for (name, value) in props.iter() {
                self.bytes(name.as_bytes());
                self.bytes(value);
            }
        }
    }

    /// Bytes after their length.
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&len64(bytes.len()).to_be_bytes());
        self.0.update(bytes);
    }

    /// The checksum of all that was added.
    pub(super) fn finish(self) -> Sha1 {
        self.0.finish()
    }
}

/// The checksums of the revisions that were converted in this run.
#[derive(Debug)]
pub(super) struct Summaries {
    first: Revnum,
    sums: Vec<Sha1>,
}

impl Summaries {
    /// None yet; the next is that of the revision `first`.
    pub(super) const fn new(first: Revnum) -> Self {
        Self { first, sums: Vec::new() }
    }

    /// Adds that of the next revision.
    pub(super) fn push(&mut self, sum: Sha1) {
        self.sums.push(sum);
    }

    /// That of a revision, if it was converted in this run.
    pub(super) fn get(&self, revision: Revnum) -> Option<Sha1> {
        let at = revision.0.checked_sub(self.first.0)?;
        self.sums.get(usize::try_from(at).ok()?).copied()
    }
}

/// The checksum of a revision.
///
/// # Errors
/// Those of reading.
pub(super) fn of(fs: &Filesystem, revision: Revnum) -> SvnResult<Sha1> {
    let root = fs.revision_root(revision)?;
    let mut sum = SummaryHasher::default();
    for change in root.changed_paths()?.iter() {
        if change.kind == ChangeKind::Delete {
            sum.add(&change, None);
            continue;
        }
        let node = root.node(change.path)?;
        sum.add(&change, Some((node.kind(), &*node.props()?, md5_of(&node)?)));
    }
    Ok(sum.finish())
}

/// The recorded checksum of a file's text; `None` of directories.
pub(super) fn md5_of(node: &Node) -> SvnResult<Option<Md5>> {
    if node.kind() == NodeKind::File { Ok(Some(node.md5()?)) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use sapwood_core::FsPath;

    use super::*;

    #[test]
    fn each_part_counts() {
        let path = FsPath::trusted("/a");
        let change = ChangedPath {
            path,
            kind: ChangeKind::Modify,
            node_kind: None,
            text_mod: true,
            prop_mod: false,
            mergeinfo_mod: None,
            copy_from: None,
        };
        let empty = PropList::new();
        let mut one = PropList::new();
        one.set("p", "v");
        let (file, md5) = (NodeKind::File, Some(Md5([1; 16])));
        let copied = |revision| Some((Revnum(revision), path));
        let cases = [
            (change, Some((file, &empty, md5))),
            (change, Some((file, &one, md5))),
            (change, Some((file, &empty, Some(Md5([2; 16]))))),
            (change, Some((NodeKind::Dir, &empty, None))),
            (change, None),
            (ChangedPath { path: FsPath::trusted("/b"), ..change }, Some((file, &empty, md5))),
            (ChangedPath { kind: ChangeKind::Add, ..change }, Some((file, &empty, md5))),
            (ChangedPath { text_mod: false, ..change }, Some((file, &empty, md5))),
            (ChangedPath { prop_mod: true, ..change }, Some((file, &empty, md5))),
            (ChangedPath { copy_from: copied(1), ..change }, Some((file, &empty, md5))),
            (ChangedPath { copy_from: copied(2), ..change }, Some((file, &empty, md5))),
        ];
        let sums = cases.map(|(change, node)| {
            let mut sum = SummaryHasher::default();
            sum.add(&change, node);
            sum.finish()
        });
        for (at, sum) in sums.iter().enumerate() {
            assert!(!sums[..at].contains(sum), "case {at}");
        }
    }

    #[test]
    fn only_those_of_this_run_are_known() {
        let mut known = Summaries::new(Revnum(3));
        known.push(Sha1([3; 20]));
        known.push(Sha1([4; 20]));
        let get = |revision| known.get(Revnum(revision));
        assert_eq!(
            (get(2), get(3), get(4), get(5)),
            (None, Some(Sha1([3; 20])), Some(Sha1([4; 20])), None)
        );
    }
}
