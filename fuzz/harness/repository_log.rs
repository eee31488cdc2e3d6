//! Entries of the logs of repositories in stores: there is one form of each, and what they add up to never panics.

use sapwood_repo_log::State;
use sapwood_repo_log::entry::{parse, write};

pub fn run(data: &[u8]) {
    let Ok((head, found)) = parse(data, 16) else { return };
    let items: Vec<_> = found.iter().map(|found| found.item.clone()).collect();
    assert_eq!(write(&head, &items), data);
    let mut state = State::new(head.repository);
    let before = state.clone();
    if state.apply(head.slot, &found).is_err() {
        assert_eq!(state, before, "an entry that does not fit changes nothing");
    }
    let _ = state.contents();
}
