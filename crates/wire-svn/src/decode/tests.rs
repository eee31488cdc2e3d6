//! Tests of the item codec: round trips of arbitrary items cut anywhere, and hostile bytes.

use proptest::prelude::*;
use sapwood_core::Revnum;

use super::*;
use crate::encode::Encode as _;

/// An item that owns what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tree {
    Number(u64),
    Word(String),
    Text(Vec<u8>),
    List(Vec<Tree>),
}

impl Tree {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(n) => out.number(*n),
            Self::Word(word) => out.word(word),
            Self::Text(bytes) => out.string(bytes),
            Self::List(items) => {
                out.open();
                for item in items {
                    item.write(out);
                }
                out.close();
            }
        }
    }

    fn of(item: Item<'_>) -> Self {
        match item {
            Item::Number(n) => Self::Number(n),
            Item::Word(word) => Self::Word(word.to_owned()),
            Item::Text(bytes) => Self::Text(bytes.to_vec()),
            Item::List(list) => Self::List(list.map(Self::of).collect()),
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        any::<u64>().prop_map(Tree::Number),
        "[a-zA-Z][a-zA-Z0-9-]{0,23}".prop_map(Tree::Word),
        proptest::collection::vec(any::<u8>(), 0..300).prop_map(Tree::Text),
    ];
    leaf.prop_recursive(8, 200, 8, |inner| {
        proptest::collection::vec(inner, 0..8).prop_map(Tree::List)
    })
}

/// Feeds `bytes` in pieces that end at `cuts`, as a network would.
fn decode(bytes: &[u8], cuts: &[usize], limits: Limits) -> Result<Option<(Tree, usize)>> {
    let mut decoder = Decoder::new(limits);
    let mut ends: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    for end in ends {
        let seen = &bytes[..end];
        match decoder.advance(seen)? {
            Progress::Complete(len) => {
                return Ok(Some((Tree::of(decoder.item(&seen[..len])?), len)));
            }
            Progress::NeedMore(n) => assert!(n > 0),
        }
    }
    Ok(None)
}

proptest! {
    #[test]
    fn items_survive_however_they_arrive(
        tree in trees(),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
        more in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = Vec::new();
        tree.write(&mut bytes);
        let len = bytes.len();
        bytes.extend_from_slice(&more);
        prop_assert_eq!(decode(&bytes, &cuts, Limits::default()).unwrap(), Some((tree, len)));
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(
        bytes in proptest::collection::vec(
            prop_oneof![Just(b'('), Just(b')'), Just(b' '), Just(b':'), b'0'..=b'9', any::<u8>()],
            0..200,
        ),
        cut in any::<usize>(),
    ) {
        // However the bytes are cut, the verdict is the same.
        let limits = Limits { bytes: 1000, tokens: 50 };
        let whole = decode(&bytes, &[], limits);
        let parts = decode(&bytes, &[cut, cut / 3], limits);
        prop_assert_eq!(whole, parts);
    }
}

fn verdict(bytes: &[u8]) -> Result<Option<usize>> {
    decode(bytes, &[], Limits::default()).map(|found| found.map(|(_, len)| len))
}

#[test]
fn malformed_items() {
    for bytes in [&b") "[..], b"$ ", b"-1 ", b"1x ", b"3:abcd ", b"a_b ", b"(1 ) x", b"( )x"] {
        let result = verdict(bytes);
        // `(1 )` is fine: only an opening parenthesis need not be followed by white space.
        if bytes == b"(1 ) x" {
            assert_eq!(result, Ok(Some(5)));
        } else {
            assert_eq!(result, Err(Error::Malformed), "{}", bytes.escape_ascii());
        }
    }
    assert_eq!(verdict(b"18446744073709551616 "), Err(Error::NumberTooLarge));
    assert_eq!(verdict(&[b'0'; 100]), Err(Error::NumberTooLarge));
    assert_eq!(verdict(b"18446744073709551615 "), Ok(Some(21)));
    assert_eq!(verdict(b"abcdefghijklmnopqrstuvwxy "), Err(Error::WordTooLong));
    assert_eq!(verdict(b"abcdefghijklmnopqrstuvwx "), Ok(Some(25)));
}

#[test]
fn announced_giants_are_refused_before_they_arrive() {
    assert_eq!(verdict(b"18446744073709551615:"), Err(Error::RequestTooLarge));
    assert_eq!(verdict(b"16777217:"), Err(Error::RequestTooLarge));
    assert_eq!(verdict(b"16777216:"), Ok(None));
    // Many small strings count together.
    let limits = Limits { bytes: 100, tokens: 1000 };
    let bytes = b"( ".iter().copied().chain(b"8:12345678 ".iter().copied().cycle().take(200));
    let bytes: Vec<u8> = bytes.collect();
    assert_eq!(decode(&bytes, &[50, 99], limits), Err(Error::RequestTooLarge));
}

#[test]
fn nesting_ends_where_the_reference_ends_it() {
    let nested =
        |depth: usize, inner: &str| format!("{}{inner}{}", "( ".repeat(depth), ") ".repeat(depth));
    assert!(verdict(nested(62, "1 ").as_bytes()).is_ok_and(|found| found.is_some()));
    assert!(verdict(nested(63, "").as_bytes()).is_ok_and(|found| found.is_some()));
    assert_eq!(verdict(nested(63, "1 ").as_bytes()), Err(Error::NestedTooDeeply));
    assert_eq!(verdict(nested(64, "").as_bytes()), Err(Error::NestedTooDeeply));
}

#[test]
fn the_number_of_parts_is_limited() {
    let bytes = format!("( {}) ", "1 ".repeat(60));
    let limits = Limits { bytes: 1000, tokens: 50 };
    assert_eq!(decode(bytes.as_bytes(), &[], limits), Err(Error::TooManyItems));
}

#[test]
fn tuples_tolerate_more_but_not_other_parts() {
    let bytes = b"( word 7 3:abc ( 9 ) ( ) true 1 2 3 ) ";
    let mut decoder = Decoder::new(Limits::default());
    assert_eq!(decoder.advance(bytes).unwrap(), Progress::Complete(bytes.len()));
    let mut tuple = decoder.tuple(bytes).unwrap();
    assert_eq!(tuple.remaining(), 9);
    assert_eq!(tuple.word().unwrap(), "word");
    assert_eq!(tuple.rev().unwrap(), Revnum(7));
    assert_eq!(tuple.text().unwrap(), "abc");
    assert_eq!(tuple.bracketed_rev().unwrap(), Some(Revnum(9)));
    assert_eq!(tuple.bracketed_rev().unwrap(), None);
    assert_eq!(tuple.opt_bool().unwrap(), Some(true));
    assert_eq!(tuple.opt_word(), Err(Error::Malformed));
    assert_eq!(as_text(b"a\0b"), Err(Error::NoText));
    assert_eq!(as_text(b"\xff"), Err(Error::NoText));
}
