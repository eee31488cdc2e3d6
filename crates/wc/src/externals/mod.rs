//! Externals: what `svn:externals` asks for.

mod definitions;
pub mod parse;
