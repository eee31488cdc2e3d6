//! What is written of properties, logs, entries and locks is read back.

use proptest::prelude::*;

use super::*;
use crate::decode::{Decoder, Limits, Progress};

fn with_list<T>(bytes: &[u8], look: impl FnOnce(List<'_>) -> T) -> T {
    let mut decoder = Decoder::new(Limits::default());
    assert_eq!(decoder.advance(bytes).unwrap(), Progress::Complete(bytes.len()));
    look(decoder.item(bytes).unwrap().list().unwrap())
}

proptest! {
    #[test]
    fn log_entries_survive(
        path in "/[a-zé ]{0,20}",
        copy in proptest::option::of(("/[a-z]{0,9}", 0u64..1 << 62)),
        revision in 0u64..1 << 62,
        flags in any::<[bool; 4]>(),
        kind in 0..3,
        texts in proptest::collection::vec(
            proptest::option::of(proptest::collection::vec(any::<u8>(), 0..50)), 3..4),
    ) {
        let change = ChangedPath {
            path: FsPath::new(&path).unwrap(),
            action: b'R',
            copy_from: copy.as_ref().map(|(p, r)| (FsPath::new(p).unwrap(), Revnum(*r))),
            kind: [None, Some(NodeKind::File), Some(NodeKind::Dir)][usize::try_from(kind).unwrap()],
            text_mod: flags[0],
            prop_mod: flags[1],
        };
        let head = LogHead {
            revision: Revnum(revision),
            author: texts[0].as_deref(),
            date: texts[1].as_deref(),
            message: texts[2].as_deref(),
            has_children: flags[2],
            invalid_revision: flags[3],
        };
        let props: PropList = [("a".to_owned(), b"1".to_vec()), ("b".to_owned(), vec![])]
            .into_iter()
            .collect();
        let mut out = Vec::new();
        out.raw(b"( ( ");
        write_changed_path(&mut out, &change);
        out.close();
        write_log_head(&mut out, &head);
        out.number(2);
        out.open();
        write_props(&mut out, props.iter());
        out.raw(b") true ) ");
        with_list(&out, |list| {
            let mut entry = read_log_entry(list).unwrap();
            assert_eq!(entry.head, head);
            assert!(entry.subtractive_merge);
            let read = entry.changes.next().unwrap().list().unwrap();
            assert_eq!(read_changed_path(read).unwrap().as_change(), change);
            assert_eq!(read_props(entry.revprops.unwrap()).unwrap(), props);
        });
    }
}

#[test]
fn entries_of_old_servers() {
    let bytes = b"( ( ( 2:/a A ( ) ) ) 3 ( ) ( ) ( ) ) ";
    with_list(bytes, |list| {
        let mut entry = read_log_entry(list).unwrap();
        assert!(entry.revprops.is_none());
        let change = entry.changes.next().unwrap().list().unwrap();
        assert_eq!(read_changed_path(change).unwrap().kind, None);
    });
}

#[test]
fn paths_of_a_log_are_made_canonical() {
    with_list(b"( 3:a// A ( 5://b/c 2 ) ) ", |list| {
        let read = read_changed_path(list).unwrap();
        let change = read.as_change();
        assert_eq!((change.path.as_str(), change.action), ("/a", b'A'));
        assert_eq!(change.copy_from, Some((FsPath::new("/b/c").unwrap(), Revnum(2))));
    });
}

#[test]
fn locks_and_changes_survive() {
    let lock = LockDesc {
        path: "/a",
        token: "opaquelocktoken:1",
        owner: "ada",
        comment: None,
        created: "2024-01-01T00:00:00.000000Z",
        expires: Some("2025-01-01T00:00:00.000000Z"),
    };
    let mut out = Vec::new();
    write_lock(&mut out, &lock);
    with_list(&out, |list| assert_eq!(read_lock(list).unwrap(), lock));
    let changes = vec![("x".to_owned(), None), ("y".to_owned(), Some(vec![0, 255]))];
    let mut out = b"( ".to_vec();
    write_prop_changes(&mut out, &changes);
    out.close();
    with_list(&out, |list| assert_eq!(read_prop_changes(list).unwrap(), changes));
}

#[test]
fn list_entries_as_the_reference_sends_them() {
    let dirent = DirentWords {
        kind: Some(NodeKind::Dir),
        size: u64::MAX,
        has_props: false,
        created_rev: Revnum(2),
        date: Some("D"),
        author: Some(b"root"),
    };
    let mut out = Vec::new();
    write_list_entry(&mut out, "/", &dirent, DirentFields::ALL);
    let want: &[u8] = b"( 1:/ dir ( 18446744073709551615 ) ( false ) ( 2 ) ( 1:D ) ( 4:root ) ) ";
    assert_eq!(out, want);
    out.clear();
    let kind = DirentFields { kind: true, ..DirentFields::default() };
    write_list_entry(&mut out, "/", &dirent, kind);
    assert_eq!(out, b"( 1:/ dir ) ");
    let fields = b"( size word later-field ) ";
    with_list(fields, |list| {
        let fields = read_dirent_fields(Some(list)).unwrap();
        assert!(fields.size && !fields.kind && !fields.kind_only() && !fields.committed());
    });
}
