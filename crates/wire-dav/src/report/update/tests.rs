//! The update report: a request is read, and edits are written.

use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, FsPath, Md5, Revnum};

use sapwood_delta::{EditTarget, Editor, Version};

use super::*;
use crate::xml::{Document, Limits};

/// Announces the next node to an editor.
fn drive(editor: &mut dyn Editor, path: &str, revision: u64) {
    let path = FsPath::new(path).unwrap();
    editor.leads_to(&EditTarget { path, revision: Revnum(revision), sha1: None });
}

fn style(send_all: bool) -> Style {
    Style {
        send_all,
        include_props: send_all,
        svndiff: Version::V0,
        compression: 5,
        v2: true,
        root: "/r".to_owned(),
        special: "!svn".to_owned(),
    }
}

fn reply(send_all: bool, drive: impl FnOnce(&mut UpdateEditor<&mut Vec<u8>>)) -> String {
    let mut out = Vec::new();
    let mut editor = UpdateEditor::new(&mut out, style(send_all));
    drive(&mut editor);
    editor.close_edit().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_request() {
    let text = "<S:update-report xmlns:S=\"svn:\" send-all=\"true\"><S:src-path>/r/a</S:src-path>\
        <S:target-revision>5</S:target-revision><S:depth>unknown</S:depth>\
        <S:entry rev=\"4\" start-empty=\"true\" depth=\"infinity\"></S:entry>\
        <S:entry rev=\"3\" linkpath=\"/b/x\" lock-token=\"t\">c d/e</S:entry>\
        <S:missing>f</S:missing></S:update-report>";
    let mut document = Document::open(text.as_bytes(), Limits::default()).unwrap();
    let mut reading = ReportReader::new(document.root());
    let mut items = Vec::new();
    while let Some(child) = document.next_child().unwrap() {
        items.extend(reading.child(&child).unwrap());
    }
    let wanted = reading.wanted().unwrap();
    assert!(wanted.send_all && wanted.text_deltas);
    assert_eq!((wanted.revision, wanted.depth), (Some(Revnum(5)), Depth::Unknown));
    assert_eq!(items.len(), 3);
    assert_eq!(items.last(), Some(&Item::Missing("f".to_owned())));
    assert!(matches!(&items[1], Item::Entry { link: Some(l), .. } if l == "/b/x"));
}

#[test]
fn addresses_are_those_that_the_driver_names() {
    let text = reply(false, |editor| {
        editor.set_target_revision(Revnum(9)).unwrap();
        drive(editor, "/b", 3);
        let root = editor.open_root(Some(Revnum(1))).unwrap();
        drive(editor, "/b/x y", 7);
        let file = editor.open_file(RelPath::trusted("x y"), root, Some(Revnum(1))).unwrap();
        editor.change_file_prop(file, "p", Some(b"v")).unwrap();
        editor.close_file(file, None).unwrap();
        editor.delete_entry(RelPath::trusted("y"), Some(Revnum(2)), root).unwrap();
        editor.close_directory(root).unwrap();
    });
    assert!(text.contains("<D:href>/r/!svn/rvr/3/b</D:href>"), "{text}");
    assert!(text.contains("<D:href>/r/!svn/rvr/7/b/x%20y</D:href>"), "{text}");
    assert!(text.contains("<S:set-prop name=\"p\">v</S:set-prop>"), "{text}");
    assert!(text.contains("<S:delete-entry name=\"y\" rev=\"2\"/>"), "{text}");
}

#[test]
fn additions_and_copies() {
    let text = reply(true, |editor| {
        drive(editor, "/", 9);
        let root = editor.open_root(Some(Revnum(1))).unwrap();
        drive(editor, "/d", 3);
        let dir = editor.open_directory(RelPath::trusted("d"), root, Some(Revnum(1))).unwrap();
        drive(editor, "/b/x", 7);
        let file = editor.add_file(RelPath::trusted("d/x"), dir, None).unwrap();
        editor.close_file(file, Some(Md5::of(b""))).unwrap();
        editor.close_directory(dir).unwrap();
        drive(editor, "/a/e", 3);
        let other =
            editor.add_directory(RelPath::trusted("e"), root, Some(("/z", Revnum(2)))).unwrap();
        editor.close_directory(other).unwrap();
        editor.close_directory(root).unwrap();
    });
    assert!(text.contains("<D:href>/r/!svn/rvr/9</D:href>"), "{text}");
    assert!(text.contains("<D:href>/r/!svn/rvr/7/b/x</D:href>"), "{text}");
    assert!(text.contains("bc-url=\"/r/!svn/bc/3/a/e\""), "{text}");
    assert!(text.contains("copyfrom-path=\"/z\" copyfrom-rev=\"2\""), "{text}");
    assert!(Document::open(text.as_bytes(), Limits::default()).unwrap().into_root().is_ok());
}

#[test]
fn an_unannounced_root_has_no_address_and_each_announcement_counts_once() {
    let text = reply(true, |editor| {
        let root = editor.open_root(Some(Revnum(1))).unwrap();
        assert!(editor.add_file(RelPath::trusted("f"), root, None).is_err());
        drive(editor, "/f", 3);
        let file = editor.add_file(RelPath::trusted("f"), root, None).unwrap();
        editor.close_file(file, None).unwrap();
        assert!(editor.open_file(RelPath::trusted("f"), root, None).is_err());
    });
    assert_eq!(text.matches("<D:href>").count(), 1, "{text}");
}

#[test]
fn paths_of_addresses() {
    assert_eq!(path_of("http://h:1/r/a%20b?p=1"), "/r/a%20b");
    assert_eq!(path_of("http://h"), "/");
    assert_eq!(path_of("/r/a"), "/r/a");
}
