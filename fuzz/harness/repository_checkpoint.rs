//! Checkpoints of repositories in stores, and hints: there is one form of each.

use sapwood_repo_log::checkpoint::{Checkpoint, parse, parse_hint, write, write_hint};

pub fn run(data: &[u8]) {
    if let Ok(Checkpoint { slot, last, state }) = parse(data) {
        assert_eq!(write(slot, last, &state), data);
        let _ = (state.contents(), state.bytes());
    }
    if let Some(slot) = parse_hint(data) {
        assert_eq!(write_hint(slot), data);
    }
}
