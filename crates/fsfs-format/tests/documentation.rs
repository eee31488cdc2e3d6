//! Tables and examples of `docs/formats/fsfs-*.md` are those of the code.

use sapwood_core::{NodeKind, Revnum};
use sapwood_fsfs_format::changes::Changes;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{
    FormatFile, ItemType, Layout, NodeRev, NodeRevId, RepHeader, TxnId, limits, packed_number,
};

const LAYOUT: &str = include_str!("../../../docs/formats/fsfs-layout.md");
const FORMATS: &str = include_str!("../../../docs/formats/fsfs-formats.md");
const REVISIONS: &str = include_str!("../../../docs/formats/fsfs-revisions.md");
const INDEXES: &str = include_str!("../../../docs/formats/fsfs-indexes.md");

fn has(page: &str, row: &str) {
    assert!(page.contains(row), "the page lacks: {row}");
}

/// The first cells of the rows below the heading `below`, without back-ticks.
fn first_cells<'a>(page: &'a str, below: &str) -> Vec<&'a str> {
    let (_, page) = page.split_once(below).unwrap();
    let rows = page.lines().skip_while(|l| !l.starts_with("|---")).skip(1);
    let rows = rows.take_while(|l| l.starts_with('|'));
    rows.map(|l| l.split('|').nth(1).unwrap().trim().trim_matches('`')).collect()
}

#[test]
fn names_of_files() {
    let formats = |format: u32| format!("| {format} |");
    for (name, format) in [
        (names::FORMAT, 1),
        (names::FS_TYPE, 1),
        (names::UUID, 1),
        (names::CURRENT, 1),
        (names::REVS, 1),
        (names::REVPROPS, 1),
        (names::TRANSACTIONS, 1),
        (names::TXN_PROTOREVS, since::LAYOUT),
        (names::TXN_CURRENT, since::LAYOUT),
        (names::TXN_CURRENT_LOCK, since::LAYOUT),
        (names::LOCKS, 1),
        (names::NODE_ORIGINS, since::LAYOUT),
        (names::WRITE_LOCK, 1),
        (names::PACK_LOCK, since::LOGICAL),
        (names::MIN_UNPACKED_REV, since::PACKING),
        (names::CONFIG, since::PACKING),
        (names::REP_CACHE, since::PACKING),
        (names::REVPROP_GENERATION, since::REVPROP_PACKING),
    ] {
        let row = LAYOUT.lines().find(|l| l.starts_with(&format!("| `{name}` |"))).unwrap();
        assert!(row.ends_with(&formats(format)), "{row}");
    }
    let in_txn = first_cells(LAYOUT, "## Transactions");
    for name in [
        names::TXN_PROPS,
        names::TXN_PROPS_FINAL,
        names::TXN_CHANGES,
        names::TXN_NEXT_IDS,
        names::TXN_ITEM_INDEX,
        names::TXN_L2P,
        names::TXN_P2L,
    ] {
        assert!(in_txn.contains(&name), "{name}");
    }
    let layout = Layout::new(FormatFile::parse(b"3\nlayout sharded 1000\n", "").unwrap());
    let txn = TxnId::parse(b"1-1").unwrap();
    let name = layout.proto_rev_file(&txn).replace("1-1", "NAME");
    has(LAYOUT, &format!("`{name}`"));
    assert_eq!(layout.rev_file(Revnum(1234)), "revs/1/1234");
}

#[test]
fn refusals() {
    for (text, code) in [("9\n", "E160043"), ("5\n", "E160043"), ("x\n", "E125006")] {
        let error = FormatFile::parse(text.as_bytes(), "format").unwrap_err();
        assert_eq!(error.code().to_string(), code);
        has(LAYOUT, &format!("| {code} |"));
    }
}

#[test]
fn formats() {
    for (name, value) in [
        ("LAYOUT", since::LAYOUT),
        ("PACKING", since::PACKING),
        ("REVPROP_PACKING", since::REVPROP_PACKING),
        ("LOGICAL", since::LOGICAL),
        ("SVNDIFF2", since::SVNDIFF2),
        ("YOUNGEST", since::YOUNGEST),
    ] {
        has(FORMATS, &format!("| `{name}` | {value} |"));
    }
    let all = first_cells(FORMATS, "# FSFS formats");
    assert_eq!(all, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    for number in all {
        let parsed = FormatFile::parse(format!("{number}\n").as_bytes(), "format");
        assert_eq!(parsed.is_err(), number == since::REFUSED.to_string());
    }
}

#[test]
fn ids() {
    let ids = first_cells(REVISIONS, "## Ids");
    assert_eq!(ids.len(), 4);
    for id in ids {
        assert_eq!(NodeRevId::parse(id.as_bytes()).unwrap().to_string(), id);
    }
}

#[test]
fn headers_of_node_revisions() {
    let rep = "1 3 4 5 28ef320a82e7bd11eebdf3502d69e608 - -";
    let id = "1-1.0.r1/4";
    let mut text = String::new();
    for name in first_cells(REVISIONS, "## Node-revisions") {
        let value = match name {
            "id" | "pred" => id,
            "type" => NodeKind::Dir.word(),
            "count" => "7",
            "text" | "props" => rep,
            "cpath" => "/a",
            "copyfrom" | "copyroot" => "1 /b",
            "minfo-cnt" => "3",
            "is-fresh-txn-root" | "minfo-here" => "y",
            other => panic!("{other} is no header"),
        };
        text += &format!("{name}: {value}\n");
    }
    text.push('\n');
    // Every one of them is read, or it would not be written again.
    let (noderev, _) = NodeRev::parse(text.as_bytes()).unwrap();
    let mut out = Vec::new();
    noderev.write(8, &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), text);
}

#[test]
fn representations() {
    for line in first_cells(REVISIONS, "## Representations") {
        let line = line.replace("REV", "1").replace("ITEM", "2").replace("SIZE", "3");
        RepHeader::parse(format!("{line}\n").as_bytes()).unwrap();
    }
    for action in ["add", "delete", "modify", "replace", "reset"] {
        has(REVISIONS, &format!("`{action}`"));
        let line = format!("1-1.0.r1/4 {action}-file true false false /a\n\n");
        Changes::new(line.as_bytes()).next().unwrap().unwrap();
    }
}

#[test]
fn limits_of_ours() {
    for (value, name) in [
        (limits::NODEREV_LEN, "NODEREV_LEN"),
        (limits::REP_HEADER_LEN, "REP_HEADER_LEN"),
        (limits::TRAILER_LEN, "TRAILER_LEN"),
        (limits::FOOTER_LEN, "FOOTER_LEN"),
        (limits::PATH_LEN, "PATH_LEN"),
        (usize::try_from(limits::REVPROP_PACK_LEN).unwrap(), "REVPROP_PACK_LEN"),
    ] {
        has(REVISIONS, &format!("| {value} | `{name}` |"));
    }
}

#[test]
fn numbers_and_types() {
    for number in [127, 128, 16383, 1 << 32] {
        let mut out = Vec::new();
        packed_number::write_unsigned(number, &mut out);
        let bytes: Vec<_> = out.iter().map(|b| format!("{b:02x}")).collect();
        has(INDEXES, &format!("| {number} | `{}` |", bytes.join(" ")));
    }
    for (kind, what) in [
        (ItemType::Unused, "nothing"),
        (ItemType::FileRep, "contents of a file"),
        (ItemType::DirRep, "contents of a directory"),
        (ItemType::FileProps, "properties of a file"),
        (ItemType::DirProps, "properties of a directory"),
        (ItemType::NodeRev, "a node-revision"),
        (ItemType::Changes, "changed paths"),
    ] {
        has(INDEXES, &format!("| {} | {what} |", kind.number()));
    }
}
