//! Externals: what `svn:externals` defines.

pub(crate) mod definitions;
pub use definitions::Dismantled;
pub mod parse;
