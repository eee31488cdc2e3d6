//! Externals: what `svn:externals` asks for.

pub mod parse;
