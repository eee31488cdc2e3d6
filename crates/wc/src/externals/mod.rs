//! Externals: what `svn:externals` defines.

pub(crate) mod definitions;
pub mod parse;
