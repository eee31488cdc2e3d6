//! Replies to short reports, read as servers write them.

use super::super::{log, reply, request::ListFields};
use super::*;
use crate::xml::{Document, Limits};

fn root(body: &[u8]) -> Element {
    Document::open(body, Limits::default()).unwrap().into_root().unwrap()
}

fn reply_with(write: impl FnOnce(&mut Vec<u8>)) -> Element {
    let mut out = Vec::new();
    reply::begin(&mut out, "x");
    write(&mut out);
    reply::end(&mut out, "x");
    root(&out)
}

#[test]
fn log_entries() {
    let mut out = Vec::new();
    log::begin(&mut out);
    log::begin_entry(&mut out);
    let change = log::Change {
        path: "/a&b",
        action: b'R',
        copy_from: Some((Revnum(3), "/c d")),
        kind: Some(NodeKind::Dir),
        text_mod: false,
        prop_mod: true,
    };
    log::change(&mut out, &change);
    log::revision(&mut out, Some(Revnum(4)));
    log::revprop(&mut out, "svn:log", b" \x01<", true);
    log::revprop(&mut out, "svn:author", b"me", true);
    log::revprop(&mut out, "mine", b"x", true);
    log::end_entry(&mut out, true, true);
    log::begin_entry(&mut out);
    log::revision(&mut out, None);
    log::end_entry(&mut out, false, false);
    log::end(&mut out);
    let root = root(&out);
    let item = log_item(&root.children[0]).unwrap().unwrap();
    assert_eq!((item.revision, item.has_children), (Some(Revnum(4)), true));
    assert!(item.subtractive_merge);
    let expected = Change {
        path: fspath("/a&b").unwrap(),
        action: b'R',
        copy_from: Some((fspath("/c d").unwrap(), Revnum(3))),
        kind: Some(NodeKind::Dir),
        text_mod: false,
        prop_mod: true,
    };
    assert_eq!(item.changes, [expected]);
    let props: Vec<(&str, &[u8])> =
        item.revprops.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    assert_eq!(props, [("svn:log", &b" \x01<"[..]), ("svn:author", b"me"), ("mine", b"x")]);
    assert_eq!(log_item(&root.children[1]).unwrap().unwrap(), LogItem::default());
    assert_eq!(log_item(&root).unwrap(), None);
}

#[test]
fn short_replies() {
    let reply = reply_with(|out| {
        reply::location(out, Revnum(2), "/a b");
        reply::segment(out, Some("a/b"), Revnum(1), Revnum(2));
        reply::segment(out, None, Revnum(3), Revnum(4));
        reply::mergeinfo(out, "a", "/b:1-2");
    });
    let [a, b, c, d] = reply.children.as_slice() else { panic!("{reply:?}") };
    assert_eq!(location(a).unwrap(), Some((Revnum(2), fspath("/a b").unwrap())));
    let parsed = segment(b).unwrap().unwrap();
    assert_eq!(parsed, (Some(relpath("a/b").unwrap()), Revnum(1), Revnum(2)));
    assert_eq!(segment(c).unwrap().unwrap(), (None, Revnum(3), Revnum(4)));
    assert_eq!(mergeinfo(d).unwrap(), Some(("a".to_owned(), "/b:1-2".to_owned())));
    let mut out = Vec::new();
    reply::one_revision(&mut out, "x", Some(Revnum(8)));
    assert_eq!(one_revision(&root(&out)).unwrap(), Some(Revnum(8)));
    let mut out = Vec::new();
    reply::one_revision(&mut out, "x", None);
    assert_eq!(one_revision(&root(&out)).unwrap(), None);
}

#[test]
fn properties_locks_and_listings() {
    let mut props = PropList::new();
    props.set("a", b"\xff");
    props.set("svn:ignore", b"x\n");
    let time = Timestamp(1_000_000);
    let reply = reply_with(|out| {
        reply::inherited(out, "a/b", &props);
        reply::lock(
            out,
            &reply::Lock {
                path: "/f",
                token: "t:1",
                created: &time.to_string(),
                expires: None,
                owner: "me",
                comment: Some("wh\u{1}y"),
            },
        );
        let fields = ListFields {
            kind: true,
            size: true,
            has_props: true,
            created_rev: true,
            date: true,
            author: true,
        };
        let item = reply::ListItem {
            path: "/d/f",
            kind: NodeKind::File,
            size: Some(5),
            has_props: true,
            created_rev: Revnum(6),
            date: &time.to_string(),
            author: Some("me & you"),
        };
        reply::list_item(out, &item, fields);
    });
    let [a, b, c] = reply.children.as_slice() else { panic!("{reply:?}") };
    assert_eq!(inherited(a).unwrap(), Some((relpath("a/b").unwrap(), props)));
    let lock = lock(b).unwrap().unwrap();
    assert_eq!((lock.path.as_str(), lock.created), ("/f", time));
    assert_eq!(lock.comment.as_deref(), Some("wh\u{1}y"));
    let item = list_item(c).unwrap().unwrap();
    assert_eq!((item.path.as_str(), item.size), ("/d/f", Some(5)));
    assert_eq!((item.date, item.author.as_deref()), (Some(time), Some("me & you")));
    assert_eq!((item.created_rev, item.kind), (Some(Revnum(6)), Some(NodeKind::File)));
}

#[test]
fn paths_that_climb() {
    let reply = root(b"<x xmlns='svn:'><location rev='1' path='/a/../b'/><item>/../x</item></x>");
    assert!(location(&reply.children[0]).is_err());
    assert!(list_item(&reply.children[1]).is_err());
}
