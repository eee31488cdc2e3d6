//! Search in a repository: which paths, log messages and texts of the newest revision have some words in them.
//!
//! * [`Index`]: the database (`docs/formats/search-index.md`); [`Index::advance`] brings it nearer to the newest revision;
//! * [`Query`]: a question as a user typed it;
//! * [`Candidates`]: what the index finds for it.
//!
//! The index knows which groups of three characters are where. What it finds may have the words, and everything else has
//! not: the caller reads the text itself. So an index that is old or wrong hides hits, and makes none.
//!
//! Invariants: an index can be deleted at any moment; it answers nothing by itself, so that rights are checked where texts are
//! read; building holds one text at a time, of at most [`LARGEST_TEXT`].

mod advance;
mod apply;
mod candidates;
mod error;
mod grams;
mod index;
mod pattern;
mod query;
mod scope;
mod text;
mod walk;

pub use advance::Progress;
pub use candidates::{Candidates, PathCandidate};
pub use error::{Error, Result};
pub use index::Index;
pub use query::Query;
pub use scope::Scope;
pub use text::{LARGEST_TEXT, of_file};

#[cfg(test)]
mod tests;
