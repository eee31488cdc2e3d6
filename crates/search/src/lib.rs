//! Search in a repository: which paths, log messages, texts and properties of the newest revision, and which lines that were ever there,
//! have some words in them.
//!
//! * [`Index`]: the database (`docs/formats/search-index.md`); [`Index::advance`] brings it nearer to the newest revision, and
//!   [`Index::older`] adds the lines of older ones;
//! * [`Query`]: a question as a user typed it;
//! * [`Candidates`]: what the index finds for it.
//!
//! The index knows which groups of three characters are where. What it finds may have the words, and everything else has
//! not: the caller reads the text itself. So an index that is old or wrong hides hits, and makes none.
//!
//! Invariants: an index can be deleted at any moment; it answers nothing by itself, so that rights are checked where texts are
//! read; building holds one text at a time, or two that are compared, of at most [`LARGEST_TEXT`].

mod advance;
mod apply;
mod candidates;
mod changes;
mod error;
mod grams;
mod history;
mod index;
mod pattern;
mod properties;
mod query;
mod scope;
mod text;
mod walk;

pub use advance::Progress;
pub use candidates::{Candidates, PathCandidate};
pub use changes::{ChangedFile, ChangedLines, MOST_FILES, changed_files};
pub use error::{Error, Result};
pub use history::{positions, row_of};
pub use index::Index;
pub use properties::of_properties;
pub use query::Query;
pub use scope::Scope;
pub use text::{LARGEST_TEXT, of_file};

#[cfg(test)]
mod tests;
