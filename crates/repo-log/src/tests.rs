//! Entries that are written and read, logs that writers race for, and every way in which a store can fail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure is a failed test"
)]

mod bytes;
mod chain;
mod checkpoints;
mod crashes;
mod segments;
mod sweep;
mod tables;

use std::borrow::Cow;

use sapwood_objects::Token;

use crate::digest::Digest;
use crate::entry::{Data, Item, Object};

/// A revision with some data.
fn revision(revision: u64, data: &str) -> Item<'static> {
    Item::Revision {
        revision,
        data: Data::Inline(Cow::Owned(data.as_bytes().to_vec())),
        props: Cow::Owned(format!("props of {revision}").into_bytes()),
    }
}

fn file(path: &str, bytes: &str) -> Item<'static> {
    Item::File {
        path: Cow::Owned(path.to_owned()),
        executable: path.starts_with("hooks/"),
        bytes: Cow::Owned(bytes.as_bytes().to_vec()),
    }
}

fn object(name: u8, bytes: &[u8]) -> Object {
    let digest = Digest::of(bytes);
    Object { token: Token::from_bytes([name; 16]), len: sapwood_core::len64(bytes.len()), digest }
}
