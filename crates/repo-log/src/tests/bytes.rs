//! The form of entries.

use std::borrow::Cow;

use proptest::prelude::*;
use sapwood_core::Sha1;
use sapwood_objects::Token;

use super::{file, object, revision};
use crate::digest::Digest;
use crate::entry::{Data, Head, Item, Rep, is_path, parse, write};
use crate::state::State;
use crate::table::Form;

fn head() -> Head {
    Head { slot: 7, repository: Token::from_bytes([5; 16]), before: Digest::of(b"before") }
}

/// One item of each kind.
fn all() -> Vec<Item<'static>> {
    let big = object(1, b"big");
    vec![
        file("db/fsfs.conf", "[caches]\n"),
        file("hooks/post commit", "#!/bin/sh\n"),
        Item::Gone { path: "conf/a b".into() },
        revision(0, ""),
        Item::Revision { revision: 1, data: Data::Big(big), props: Cow::Borrowed(b"END\n") },
        Item::Props { revision: 0, before: Digest::of(b"x"), bytes: Cow::Borrowed(b"\n\n\0") },
        Item::Pack { first: 0, count: 2, data: big, props: object(2, b"") },
        Item::Reps(vec![rep(0), rep(1)]),
        Item::Reps(Vec::new()),
        Item::Segment { first: 3, lens: vec![1, 2], data: big },
        Item::Table { first: 3, end: 9, form: Form::new(7).unwrap(), data: big },
    ]
}

fn rep(revision: u64) -> Rep {
    Rep { sha1: Sha1::of(b"text"), revision, item: 3, size: u64::MAX, expanded: 4 }
}

#[test]
fn what_is_written_is_read() {
    let items = all();
    let body = write(&head(), &items);
    let (read, found) = parse(&body, 16).unwrap();
    assert_eq!(read, head());
    for (found, item) in found.iter().zip(&items) {
        assert_eq!(found.item, *item);
        let first: &[u8] = match item {
            Item::File { bytes, .. } | Item::Props { bytes, .. } => bytes,
            Item::Revision { data: Data::Inline(data), .. } => data,
            Item::Revision { props, .. } => props,
            _ => b"",
        };
        assert!(body[found.at - 16..].starts_with(first), "the offset is that of the bytes");
    }
    assert_eq!(found.len(), items.len());
}

#[test]
fn what_is_not_whole_is_refused() {
    let body = write(&head(), &all());
    for at in 0..body.len() {
        assert!(parse(&body[..at], 0).is_err(), "cut at {at}");
        let mut changed = body.clone();
        changed[at] ^= 1;
        assert!(parse(&changed, 0).is_err(), "changed at {at}");
    }
    let text = String::from_utf8(write(&head(), &[])).unwrap();
    let with = |from: &str, to: &str| {
        let content = text.split("sum ").next().unwrap().replace(from, to);
        let sum = Digest::of(content.as_bytes());
        parse(format!("{content}sum {sum}\n").as_bytes(), 0).map(drop)
    };
    with("nothing", "").unwrap();
    for (from, to) in [
        ("sapwood-log 1", "sapwood-log 2"),
        ("slot 7", "slot 07"),
        ("slot 7", "slot -7"),
        ("slot 7", "slot 18446744073709551615"),
        ("slot 7\n", ""),
        ("repository 05", "repository 0G"),
        ("before ", "before  "),
    ] {
        with(from, to).unwrap_err();
    }
    let last = format!("before {}\n", head().before);
    for more in [
        "file 1 x\nab\n",
        "file 1 x\na",
        "file 9 x\na\n",
        "file 1 ../x\na\n",
        "file 1 /x\na\n",
        "revision 1 1\na\n",
        "pack 0 1\n",
        "pack\n",
        "seg 3 01 3 02\n1 2\n",
        "reps 1\n\n",
        "reps 0\n",
        "reps 354745078340568301\n\n",
        "reps x\n\n",
        "table 0 1 2 01 3 02\n",
        "table 0 1 9223372036854775807 01010101010101010101010101010101 3 \
         e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n",
        "other 1 2\n",
        "gone a//b\n",
    ] {
        with(&last, &format!("{last}{more}")).unwrap_err();
    }
    with(&last, &format!("{last}file 1 x\na\n")).unwrap();
}

#[test]
fn paths_lead_nowhere_else() {
    assert!(is_path("hooks/post-commit") && is_path("db/locks/a b") && is_path("..x"));
    let long = "x".repeat(5000);
    for bad in ["", "/x", "x/", "a//b", ".", "a/./b", "..", "a/../b", "a\nb", "a\0", &long] {
        assert!(!is_path(bad), "{bad}");
    }
}

#[test]
fn what_does_not_follow_is_refused_and_changes_nothing() {
    let mut state = State::new(Token::from_bytes([5; 16]));
    let apply = |state: &mut State, items: &[Item<'_>]| {
        let body = write(&head(), items);
        state.apply(3, &parse(&body, 16).unwrap().1)
    };
    apply(&mut state, &[revision(0, "zero"), revision(1, "one"), revision(2, "two")]).unwrap();
    let other = |revision| Item::Props { revision, before: Digest::of(b"?"), bytes: b"".into() };
    let pack =
        |first, count| Item::Pack { first, count, data: object(1, b"d"), props: object(2, b"p") };
    let before = state.clone();
    let reps = Item::Reps(vec![rep(2), rep(3)]);
    let bads = [revision(2, ""), revision(4, ""), other(1), other(3), pack(4, 1), pack(0, 0), reps];
    for bad in bads {
        apply(&mut state, &[file("x", "y"), bad.clone()]).unwrap_err();
        assert_eq!(state, before, "{bad:?}");
    }
    apply(&mut state, &[pack(0, 2), pack(3, 2)]).unwrap();
    assert_eq!((state.revisions, state.data.len(), state.packs.len()), (5, 1, 2));
    apply(&mut state, &[pack(1, 2)]).unwrap_err();
    apply(&mut state, &[pack(2, 2)]).unwrap_err();
    apply(&mut state, &[pack(0, 2)]).unwrap();
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..900) {
        let _ = parse(&bytes, 16);
        // A right sum over wrong lines.
        let mut content = write(&head(), &all());
        content.truncate(content.len() - 69);
        let at = at % content.len();
        content.splice(at.., bytes);
        let sum = Digest::of(&content);
        content.extend_from_slice(format!("sum {sum}\n").as_bytes());
        if let Ok((head, found)) = parse(&content, 0) {
            let items: Vec<_> = found.iter().map(|found| found.item.clone()).collect();
            prop_assert_eq!(&write(&head, &items), &content, "there is one form of each entry");
            let _ = State::new(head.repository).apply(head.slot, &found);
        }
    }

    #[test]
    fn files_and_revisions_come_back(
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..8),
    ) {
        let items: Vec<_> = (0..).zip(&texts).map(|(revision, text)| Item::Revision {
            revision,
            data: Data::Inline(Cow::Borrowed(text)),
            props: Cow::Borrowed(text),
        }).collect();
        let body = write(&head(), &items);
        let (_, found) = parse(&body, 0).unwrap();
        let read: Vec<_> = found.into_iter().map(|found| found.item).collect();
        prop_assert_eq!(read, items);
    }
}
