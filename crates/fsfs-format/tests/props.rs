//! Whatever values an item has, it is read back as it was written; whatever bytes a parser gets,
//! it does not panic.

use proptest::prelude::*;
use sapwood_core::FsPath;
use sapwood_core::{Md5, NodeKind, Revnum, Sha1};
use sapwood_fsfs_format::ChangeKind;
use sapwood_fsfs_format::changes::{ChangeRef, Changes};
use sapwood_fsfs_format::{
    DirEntries, Directory, IdPart, Location, NodeRev, NodeRevId, RepHeader, RepLocation,
    Representation, TxnId, Uniquifier,
};

/// Revisions and numbers as far as the reference's signed 64 bits reach.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10, 0u64..100_000, 0..=i64::MAX.unsigned_abs()]
}

fn revision() -> impl Strategy<Value = Revnum> {
    number().prop_map(Revnum)
}

fn part() -> impl Strategy<Value = IdPart> {
    prop_oneof![
        (revision(), any::<u64>()).prop_map(|(r, n)| IdPart::new(r, n)),
        any::<u64>().prop_map(IdPart::in_txn),
    ]
}

fn txn() -> impl Strategy<Value = TxnId> {
    (revision(), any::<u64>()).prop_map(|(base, number)| TxnId { base, number })
}

fn id() -> impl Strategy<Value = NodeRevId> {
    let location = prop_oneof![
        (revision(), number()).prop_map(|(revision, item)| Location::Rev { revision, item }),
        txn().prop_map(Location::Txn),
    ];
    (part(), part(), location).prop_map(|(node, copy, location)| NodeRevId { node, copy, location })
}

fn kind() -> impl Strategy<Value = NodeKind> {
    prop_oneof![Just(NodeKind::File), Just(NodeKind::Dir)]
}

/// One path component.
fn name() -> impl Strategy<Value = String> {
    "[^/\0\n]{1,12}".prop_filter("a dot leads nowhere", |name| name != ".")
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 0..5).prop_map(|names| format!("/{}", names.join("/")))
}

fn rep() -> impl Strategy<Value = Representation> {
    let location = prop_oneof![
        (revision(), number()).prop_map(|(revision, item)| RepLocation::Rev { revision, item }),
        number().prop_map(|item| RepLocation::ProtoRev { item }),
    ];
    let unique = (txn(), 1..u64::MAX).prop_map(|(txn, number)| Uniquifier { txn, number });
    let sha1 = "[a-z]{0,3}".prop_map(|text| Sha1::of(text.as_bytes()));
    (location, number(), number(), prop::option::of(sha1), prop::option::of(unique)).prop_map(
        |(location, size, expanded_size, sha1, uniquifier)| Representation {
            location,
            size,
            expanded_size,
            md5: Md5::of(&size.to_le_bytes()),
            sha1,
            uniquifier,
        },
    )
}

fn noderev() -> impl Strategy<Value = NodeRev> {
    let rep =
        || prop::option::of(prop_oneof![3 => rep(), 1 => Just(Representation::in_txn_file())]);
    let boxed = || path().prop_map(String::into_boxed_str);
    (
        (id(), kind(), prop::option::of(id()), number(), rep(), rep(), boxed()),
        (
            prop::option::of((revision(), boxed())),
            prop::option::of((prop::option::of(revision()), boxed())),
            any::<bool>(),
            0..i64::MAX,
            any::<bool>(),
        ),
    )
        .prop_map(
            |((id, kind, predecessor, predecessor_count, text, props, created_path), rest)| {
                let (copy_from, copy_root, is_fresh_txn_root, mergeinfo_count, has_mergeinfo) =
                    rest;
                NodeRev {
                    id,
                    kind,
                    predecessor,
                    predecessor_count,
                    text,
                    props,
                    created_path,
                    copy_from,
                    copy_root,
                    is_fresh_txn_root,
                    mergeinfo_count,
                    has_mergeinfo,
                }
            },
        )
}

/// A change without its paths, which it borrows.
type Change = (NodeRevId, usize, Option<NodeKind>, bool, bool, Option<bool>, Option<Revnum>);

fn change() -> impl Strategy<Value = Change> {
    (
        id(),
        0usize..4,
        prop::option::of(kind()),
        any::<bool>(),
        any::<bool>(),
        any::<Option<bool>>(),
        prop::option::of(revision()),
    )
}

proptest! {
    #[test]
    fn ids(id in id()) {
        prop_assert_eq!(NodeRevId::parse(id.to_string().as_bytes()), Ok(id));
    }

    #[test]
    fn noderevs(noderev in noderev(), behind in any::<Vec<u8>>()) {
        let mut out = Vec::new();
        noderev.write(8, &mut out);
        let len = out.len();
        out.extend(behind);
        prop_assert_eq!(NodeRev::parse(&out), Ok((noderev, len)));
    }

    #[test]
    fn rep_headers(revision in revision(), item in number(), length in number()) {
        let header = RepHeader::Delta { revision, item, length };
        let mut out = Vec::new();
        header.write(&mut out);
        prop_assert_eq!(RepHeader::parse(&out), Ok((header, out.len())));
    }

    #[test]
    fn directories(entries in prop::collection::btree_map(name(), (kind(), id()), 0..30)) {
        let mut bytes = b"END\n".to_vec();
        for (name, entry) in entries.iter().rev() {
            sapwood_fsfs_format::directory::write_increment(name, Some(*entry), &mut bytes);
        }
        let dir = Directory::parse_incremental(&bytes).unwrap();
        let found: Vec<_> = dir.iter().map(|e| (e.name.to_owned(), (e.kind, e.id))).collect();
        let wanted: Vec<_> = entries.into_iter().collect();
        prop_assert_eq!(found, wanted);
        let mut out = Vec::new();
        dir.write(&mut out);
        prop_assert_eq!(DirEntries::new(&out).count(), dir.len());
        prop_assert_eq!(Directory::parse(&out), Ok(dir));
    }

    #[test]
    fn changed_paths(changes in prop::collection::vec((change(), path(), path()), 0..20)) {
        use ChangeKind::{Add, Delete, Modify, Replace};
        let all: Vec<ChangeRef<'_>> = changes
            .iter()
            .map(|((id, kind, node_kind, text_mod, prop_mod, mergeinfo_mod, copied), path, from)| {
                ChangeRef {
                    id: Some(*id),
                    kind: [Modify, Add, Delete, Replace][*kind],
                    node_kind: *node_kind,
                    text_mod: *text_mod,
                    prop_mod: *prop_mod,
                    mergeinfo_mod: *mergeinfo_mod,
                    path: FsPath::new(path).unwrap(),
                    copy_from: copied.map(|revision| (revision, FsPath::new(from).unwrap())),
                }
            })
            .collect();
        let mut out = Vec::new();
        all.iter().for_each(|change| change.write(8, false, &mut out));
        out.push(b'\n');
        prop_assert!(Changes::may_be_whole(&out));
        for cut in (0..out.len()).step_by(5) {
            prop_assert!(!Changes::may_be_whole(&out[..cut]), "{} of {}", cut, out.len());
        }
        let mut list = Changes::new(&out);
        prop_assert_eq!(list.by_ref().collect::<Result<Vec<_>, _>>(), Ok(all));
        prop_assert!(list.is_terminated());
        prop_assert_eq!(list.consumed(), out.len());
    }

    #[test]
    fn a_changed_byte_never_panics(noderev in noderev(), at in any::<usize>(), byte in any::<u8>()) {
        let mut out = Vec::new();
        noderev.write(8, &mut out);
        let at = at % out.len();
        out[at] = byte;
        let _ = NodeRev::parse(&out);
    }
}
