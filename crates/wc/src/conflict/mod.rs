//! Conflicts: how they are recorded, and how they arise.
//!
//! A conflict is stored in ACTUAL_NODE.conflict_data as a skel ([`Conflict`]): the operation that
//! caused it, what it was merging, and the details of each kind (text, properties, tree). Text
//! conflicts have three files beside the node, property conflicts one (`.prej`); their names are in
//! the skel ([`names`]). [`merge_text`] and [`merge_props`] make the conflicts of texts and
//! properties; [`prej_text`] makes the contents of a `.prej` file.

pub mod names;
mod props;
mod reject;
mod skel;
mod text;

pub use props::{PropChange, PropMerge, PropState, merge_props};
pub(crate) use reject::{prej_text, prej_text_of_skel};
pub use skel::{
    Action, Conflict, Location, Operation, PropConflict, Reason, TextConflict, TreeConflict,
};
pub use text::{
    ExternalMerge, TextMerge, TextMerged, TextOutcome, merge_text, preserved_extension,
};
pub(crate) use text::{Temporary, ThreeFiles};
pub(crate) use text::{try_text, update_labels};
