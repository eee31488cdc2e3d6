//! What only FSFS has, for `svnfsfs`, which is a program for this one engine.

pub use sapwood_fsfs::{ItemType, P2lEntry, dump_index, load_index, stats};
