//! The form of a block's file.

use proptest::prelude::*;

use super::key;
use crate::block::{BlockId, parse, write};

fn id() -> BlockId {
    BlockId::new("memory:", &key("x"), 7)
}

#[test]
fn a_file_is_one_block_and_no_other() {
    let file = write(&id(), b"data");
    assert_eq!(parse(&id(), &file), Some(b"data".as_slice()));
    let others = [
        BlockId::new("memory:", &key("x"), 8),
        BlockId::new("memory:", &key("y"), 7),
        BlockId::new("other:", &key("x"), 7),
    ];
    for other in others {
        assert_eq!(parse(&other, &file), None, "{other:?}");
    }
    for at in 0..file.len() {
        assert_eq!(parse(&id(), &file[..at]), None, "cut at {at}");
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert_eq!(parse(&id(), &changed), None, "changed at {at}");
    }
    assert_eq!(parse(&id(), &[file.as_slice(), b"x"].concat()), None);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100), at in 0usize..60) {
        prop_assert_eq!(parse(&id(), &bytes), None);
        let mut file = write(&id(), b"data");
        let at = at % file.len();
        file.splice(at.., bytes);
        if let Some(data) = parse(&id(), &file) {
            prop_assert_eq!(write(&id(), data), file, "there is one form of each");
        }
    }
}
