//! Externals: what `svn:externals` defines.

pub(crate) mod definitions;
pub use definitions::Dismantling;
pub mod parse;
