//! What was merged where: the mergeinfo that nodes of working copies and repositories have, inherit
//! or have by their history, and what follows from it for two branches.
//!
//! A [`Catalog`] holds the mergeinfo of a tree: the root's, which may be inherited, and that of each
//! node below that has its own. Its names are paths in the repository.

mod filter;
pub(crate) mod lines;
pub mod local;
pub mod log;
pub mod place;
pub mod remote;
pub mod summary;
pub mod tidy;

use std::collections::BTreeMap;

pub use sapwood_core::mergeinfo::{MergeRange, Mergeinfo, RangeList};

/// Mergeinfo by the path in the repository (a relpath).
pub(crate) type Catalog = BTreeMap<String, Mergeinfo>;

/// Adds what another catalog has.
pub(crate) fn merge_catalogs(into: &mut Catalog, other: Catalog) {
    for (path, mergeinfo) in other {
        into.entry(path).or_default().merge(&mergeinfo);
    }
}
