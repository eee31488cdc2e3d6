//! Files of the queue of webhooks: what is read is a revision.

use std::path::Path;

use sapwood_notify::Position;

pub fn run(data: &[u8]) {
    let Ok(position) = Position::parse(Path::new("x.toml"), data) else { return };
    assert!(i64::try_from(position.next().0).is_ok(), "{position:?}");
}
