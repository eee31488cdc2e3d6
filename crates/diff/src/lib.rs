//! Line diffs: the hunks that Subversion would choose, in the words it would print them in.
//!
//! Two texts are cut into lines ([`lines`]), equal lines at both ends are set aside ([`scan`]), the
//! rest is aligned ([`lcs`]), and what results ([`Diff`]) is printed as a unified diff
//! ([`mod@unified`]) or a property diff ([`props`]). Three texts are compared by [`mod@diff3`], and
//! [`merged`] writes them as one, with marks around conflicts. Where several alignments are equally short the
//! reference's choice is made, so that output is equal byte for byte. [`mod@patch`] reads what diffs are printed as.

mod binary;
mod compare;
mod diff3;
mod large;
mod large3;
mod lcs;
mod lines;
mod merged;
mod normalize;
mod options;
pub mod patch;
pub mod props;
mod reduce;
mod scan;
mod unified;
mod window;

pub use binary::write_binary;
pub use compare::{Diff, Range, compare, compare_whole};
pub use diff3::{Diff3, Hunk, HunkKind, Span, diff3, diff3_whole};
pub use large::{LargeDiff, LargeText};
pub use large3::{FileText, diff3_large};
pub use merged::{ConflictStyle, Labels, write_merged, write_merged_large};
pub use options::{IgnoreSpace, Options};
pub use unified::{Style, unified, write_header};

/// The line of equal signs between a file's name and its diff, without newline.
pub const EQUAL_LINE: &str = "===================================================================";
/// The line above property diffs, without newline.
pub(crate) const UNDER_LINE: &str =
    "___________________________________________________________________";
