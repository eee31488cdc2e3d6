//! Texts in UTF-16: they are shown, compared and blamed as the texts that they are.

use super::*;
use crate::encoding::tests::utf16;

fn bytes(txn: &mut sapwood_fs::txn::Txn, path: &str, contents: &[u8]) {
    txn.set_text(FsPath::trusted(path), &mut &*contents, None).unwrap();
}

fn media(txn: &mut sapwood_fs::txn::Txn, path: &str, media: &str) {
    txn.change_prop(FsPath::trusted(path), "svn:mime-type", Some(media.as_bytes())).unwrap();
}

#[test]
fn texts_in_utf16_are_texts() {
    let place = Place::new();
    place.commit("a text of Windows", |txn| {
        txn.make_file(FsPath::trusted("/w.txt")).unwrap();
        bytes(txn, "/w.txt", &utf16("eins\r\nzw\u{f6}lf <b>\r\ndrei\r\n", true));
        // As `svn add` does.
        media(txn, "/w.txt", "application/octet-stream");
    });
    let file = place.body(&Everything, "/tree/w.txt");
    assert!(file.contains("zw\u{f6}lf &lt;b&gt;") && !file.contains("U+FEFF"), "{file}");
    assert!(
        !file.contains(words::BINARY) && file.contains("id=\"L3\"") && !file.contains("id=\"L4\"")
    );
    place.commit("another line, the other way round", |txn| {
        bytes(txn, "/w.txt", &utf16("eins\r\nzwei\r\ndrei\r\n", false));
    });
    let revision = plain(&place.body(&Everything, "/rev/5"));
    assert!(revision.contains(">zwei<") && revision.contains("zw\u{f6}lf"), "{revision}");
    assert_eq!(revision.matches("<tr class=\"del\">").count(), 1, "{revision}");
    let value: Value =
        serde_json::from_str(&place.body(&Everything, "/api/v1/blame/w.txt")).unwrap();
    let lines = value["lines"].as_array().unwrap();
    let revisions: Vec<_> = lines.iter().map(|line| &line["revision"]).collect();
    assert_eq!(revisions, [4, 5, 4]);
    let value: Value = serde_json::from_str(&place.body(&Everything, "/api/v1/diff/5")).unwrap();
    assert_eq!(value["files"][0]["text"]["hunks"][0][2]["text"], "zwei");
    place.commit("as UTF-8", |txn| bytes(txn, "/w.txt", b"eins\r\nzwei\r\ndrei\r\n"));
    let revision = place.body(&Everything, "/rev/6");
    assert!(
        revision.contains(words::BINARY_DELTA) || revision.contains(words::ONLY_ENCODING),
        "{revision}"
    );
}

/// What a property says counts where there is no mark, and other bytes stay what they are.
#[test]
fn the_charset_of_a_property_counts() {
    let place = Place::new();
    place.commit("without a mark", |txn| {
        for (name, charset) in [("/a", "utf-16le"), ("/b", "utf-8")] {
            txn.make_file(FsPath::trusted(name)).unwrap();
            bytes(txn, name, b"o\0n\0e\0\n\0");
            media(txn, name, &format!("text/plain; charset={charset}"));
        }
        txn.make_file(FsPath::trusted("/c")).unwrap();
        bytes(txn, "/c", &utf16("a\u{0}b", true));
    });
    assert!(place.body(&Everything, "/tree/a").contains(">one<"));
    assert!(place.body(&Everything, "/tree/b").contains(words::BINARY));
    // Zeros in what is decoded are of no text.
    assert!(place.body(&Everything, "/tree/c").contains(words::BINARY));
    place.commit("to UTF-8", |txn| {
        bytes(txn, "/a", b"one\n");
        media(txn, "/a", "text/plain");
    });
    assert!(place.body(&Everything, "/rev/5").contains(words::ONLY_ENCODING));
}

/// A long text comes in pieces, and a README is read too.
#[test]
fn long_texts_in_utf16_come_in_pieces() {
    let place = Place::new();
    let long: String = (1..=2_500).map(|n| format!("line {n}\n")).collect();
    place.commit("long", |txn| {
        txn.make_dir(FsPath::trusted("/d")).unwrap();
        txn.make_file(FsPath::trusted("/d/README")).unwrap();
        bytes(txn, "/d/README", &utf16(&long, true));
    });
    let last = place.body(&Everything, "/tree/d/README?page=2001");
    assert!(last.contains(">line 2001<") && last.contains(">line 2500<"), "{last}");
    assert!(!last.contains(">line 2000<") && !last.contains(words::LATER_LINES), "{last}");
    assert!(place.body(&Everything, "/tree/d").contains("line 7\n"));
}
