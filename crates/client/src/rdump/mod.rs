//! `svnrdump`: dump streams out of, and into, repositories that are only reached by URL.

mod dump;
mod editor;
mod load;
mod records;

pub use self::dump::{DumpSink, dump};
pub use self::load::{Load, LoadEvent};
