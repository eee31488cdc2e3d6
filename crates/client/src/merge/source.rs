//! The sources of a merge: two locations of a repository, or the parts of the way between them.

use sapwood_core::Revnum;
use sapwood_core::mergeinfo::{MergeRange, RangeList};

use crate::mergeinfo::place::RepoLocation;

/// The two sides of a difference that is merged.
///
/// When one side is the other's ancestor (`ancestral`), both have the same URL, or the older one
/// is the last location before a copy made the younger one's URL: each revision between belongs to the
/// younger URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeSource {
    /// Where the difference begins.
    pub left: RepoLocation,
    /// Where it leads.
    pub right: RepoLocation,
    /// Whether one side is an ancestor of the other.
    pub ancestral: bool,
}

impl MergeSource {
    /// The revisions, from left to right.
    #[must_use]
    pub const fn range(&self) -> MergeRange {
        MergeRange { start: self.left.revision, end: self.right.revision, inheritable: true }
    }

    /// The revisions as a list of one range.
    #[must_use]
    pub fn ranges(&self) -> RangeList {
        RangeList(vec![self.range()])
    }

    /// Whether changes are taken back.
    #[must_use]
    pub(crate) const fn is_reverse(&self) -> bool {
        self.left.revision > self.right.revision
    }

    /// The younger side, whose path mergeinfo names.
    #[must_use]
    pub const fn primary(&self) -> &RepoLocation {
        if self.is_reverse() { &self.left } else { &self.right }
    }

    /// A part of the way of an ancestral source.
    #[must_use]
    pub fn part(&self, start: u64, end: u64) -> Self {
        let mut part = self.clone();
        if self.is_reverse() {
            if end != self.right.revision {
                part.right.relpath.clone_from(&self.left.relpath);
            }
        } else if start != self.left.revision {
            part.left.relpath.clone_from(&self.right.relpath);
        }
        part.left.revision = start;
        part.right.revision = end;
        part
    }

    /// The revision of the left side.
    #[must_use]
    pub const fn left_revision(&self) -> Revnum {
        Revnum(self.left.revision)
    }

    /// The revision of the right side.
    #[must_use]
    pub const fn right_revision(&self) -> Revnum {
        Revnum(self.right.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::paths::RelPath;

    #[test]
    fn parts_belong_to_the_younger_url() {
        let place = |relpath: &RelPath, revision| RepoLocation {
            root: sapwood_core::Url::new("file:///r").unwrap().to_owned(),
            uuid: "u".to_owned(),
            relpath: relpath.to_owned(),
            revision,
        };
        let source = MergeSource {
            left: place(RelPath::trusted("old"), 3),
            right: place(RelPath::trusted("new"), 9),
            ancestral: true,
        };
        let first = source.part(3, 5);
        assert_eq!((first.left.relpath.as_str(), first.right.relpath.as_str()), ("old", "new"));
        assert_eq!(source.part(5, 9).left, place(RelPath::trusted("new"), 5));
        let back = MergeSource {
            left: place(RelPath::trusted("new"), 9),
            right: place(RelPath::trusted("old"), 3),
            ancestral: true,
        };
        assert_eq!(back.part(9, 5).right, place(RelPath::trusted("new"), 5));
        assert_eq!(back.part(5, 3).right, place(RelPath::trusted("old"), 3));
        assert_eq!(back.primary(), &place(RelPath::trusted("new"), 9));
    }
}
