//! Externals: what `svn:externals` defines.

mod definitions;
pub mod parse;
