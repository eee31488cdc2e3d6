//! Entries files there and not there, and small old working copies that are killed on their way.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sapwood_core::checksum::Md5Hasher;
use sapwood_core::date::Timestamp;
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, Depth, ErrorCode, Revnum, SvnError};

use super::entry::{Entries, Schedule};
use super::{Caller, UpgradeNotice, parse_entries, read, upgrade, walk, workshop};
use crate::Error;
use crate::clock::RecordedTimes;
use crate::db::{Access, Db, Kind, Presence};
use crate::layout;
use crate::root::{Options, WorkingCopy};

/// An entry as lines: the fields that come first, and those with a number.
fn lines(first: &[&str], others: &[(usize, &str)]) -> String {
    let last = others.iter().map(|(at, _)| at + 1).max().unwrap_or_default().max(first.len());
    let mut fields = vec![""; last];
    fields[..first.len()].copy_from_slice(first);
    for (at, text) in others {
        fields[*at] = text;
    }
    format!("{}\n\x0c\n", fields.join("\n"))
}

const TIME: &str = "2010-01-02T03:04:05.000006Z";
const UUID: &str = "11111111-1111-4111-8111-111111111111";

fn this_dir(url: &str) -> String {
    let first = ["", "dir", "7", url, "file:///repo", "", "", "", TIME, "5", "me"];
    lines(&first, &[(25, UUID)])
}

fn code(error: Error) -> ErrorCode {
    SvnError::from(error).code()
}

#[test]
fn lines_are_read() {
    let mut text = format!("10\n{}", this_dir("file:///repo/trunk"));
    let others =
        [(7, "d3b07384d113edec49eaa6238ad5ff00"), (28, "why\\x0anot"), (30, "list"), (32, "4")];
    text += &lines(&["f", "file", "", "", "", "delete", TIME], &others);
    text += &lines(&["sub", "dir"], &[(33, "exclude"), (40, "of a later version")]);
    let Entries { this, children } = parse_entries(text.as_bytes(), "/wc").unwrap();
    assert_eq!(this.revision, Some(Revnum(7)));
    assert_eq!(this.url.as_deref(), Some("file:///repo/trunk"));
    assert_eq!((this.changed_revision, this.uuid.as_deref()), (Some(Revnum(5)), Some(UUID)));
    let [file, sub] = children.as_slice() else { panic!("two children: {children:?}") };
    assert_eq!((file.name.as_str(), file.kind, file.schedule), ("f", Kind::File, Schedule::Delete));
    assert_eq!(file.text_time, Timestamp::parse(TIME.as_bytes()).unwrap());
    assert_eq!(file.url.as_deref(), Some("file:///repo/trunk/f"), "from the directory");
    assert_eq!((file.revision, file.working_size), (Some(Revnum(7)), Some(4)));
    assert_eq!(file.lock_comment.as_deref(), Some("why\nnot"));
    assert_eq!((sub.depth, sub.is_hidden().unwrap()), (Depth::Exclude, true));
}

#[test]
fn xml_is_read() {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<wc-entries xmlns=\"svn:\">\n<entry name=\"\" \
         kind=\"dir\" revision=\"3\" url=\"file:///r/a%20b\" committed-date=\"{TIME}\"/>\n<entry \
         name=\"a&amp;b\" kind=\"file\" copied=\"true\" absent=\"\" schedule=\"add\"/>\n\
         </wc-entries>\n"
    );
    let entries = parse_entries(text.as_bytes(), "/wc").unwrap();
    assert_eq!(entries.this.url.as_deref(), Some("file:///r/a%20b"));
    let child = entries.child("a&b").unwrap();
    assert!(child.copied && !child.absent);
    assert_eq!(child.url.as_deref(), Some("file:///r/a%20b/a&b"));
    let cut = text.strip_suffix("</wc-entries>\n").unwrap();
    assert_eq!(code(parse_entries(cut.as_bytes(), "/wc").unwrap_err()), ErrorCode::XML_MALFORMED);
}

#[test]
fn what_is_refused() {
    let this = this_dir("file:///repo");
    for (entry, wanted) in [
        (lines(&["../x", "dir"], &[]), ErrorCode::WC_CORRUPT),
        (lines(&["..", "dir"], &[]), ErrorCode::WC_CORRUPT),
        (lines(&["a/b", "dir"], &[]), ErrorCode::WC_CORRUPT),
        (lines(&["a", "link"], &[]), ErrorCode::NODE_UNKNOWN_KIND),
        (lines(&["a", "file", "", "", "", "later"], &[]), ErrorCode::ENTRY_ATTRIBUTE_INVALID),
        (lines(&["a", "file"], &[(16, "../../x")]), ErrorCode::WC_CORRUPT),
        (lines(&["a", "file"], &[(19, "true")]), ErrorCode::WC_CORRUPT),
        (lines(&["a", "dir"], &[(33, "files")]), ErrorCode::ENTRY_ATTRIBUTE_INVALID),
        (lines(&["a", "file", "", "svn://x", "svn://y"], &[]), ErrorCode::WC_CORRUPT),
        (lines(&["a\\x00", "file"], &[]), ErrorCode::WC_CORRUPT),
        (lines(&["a\\x", "file"], &[]), ErrorCode::WC_CORRUPT),
        ("a\nfile\n".to_owned(), ErrorCode::WC_CORRUPT),
        ("a\nfile\n\x0c".to_owned(), ErrorCode::WC_CORRUPT),
    ] {
        let found = parse_entries(format!("10\n{this}{entry}").as_bytes(), "/wc").unwrap_err();
        assert_eq!(code(found), wanted, "{entry:?}");
    }
    assert_eq!(code(parse_entries(b"10\n", "/wc").unwrap_err()), ErrorCode::ENTRY_NOT_FOUND);
    assert_eq!(code(parse_entries(b"", "/wc").unwrap_err()), ErrorCode::WC_CORRUPT);
}

proptest! {
    #[test]
    fn any_lines(fields in proptest::collection::vec("[a-z0-9:/. \\\\x]{0,6}|file|dir|add|copied", 0..80)) {
        let _result = parse_entries(format!("10\n{}", fields.join("\n")).as_bytes(), "/wc");
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _result = parse_entries(&bytes, "/wc");
    }

    #[test]
    fn any_attributes(text in "(<entry |<e>|</e>|name=|kind=|\"dir\"|\"\"|'x'|/>|&amp;|&x;|<!DOCTYPE a>){0,20}") {
        let _result = parse_entries(text.as_bytes(), "/wc");
    }

    #[test]
    fn text_is_escaped(text in "[a-zé\n\\\\ ]{1,12}") {
        let mut escaped = String::new();
        for c in text.chars() {
            match c {
                '\n' | '\\' => escaped += &format!("\\x{:02x}", u32::from(c)),
                c => escaped.push(c),
            }
        }
        let entry = lines(&["f", "file"], &[(30, &escaped)]);
        let file = format!("10\n{}{entry}", this_dir("file:///repo"));
        let entries = parse_entries(file.as_bytes(), "/wc").unwrap();
        prop_assert_eq!(entries.children[0].changelist.as_deref(), Some(text.as_str()));
    }
}

/// A working copy of format 10 with one directory in another and a file in each.
fn old_working_copy(root: &Path) {
    for (dir, url, child) in [("", "file:///repo", "sub"), ("sub", "file:///repo/sub", "")] {
        let dir = root.join(dir);
        let adm = dir.join(".svn");
        for folder in ["text-base", "props", "prop-base", "tmp/text-base"] {
            fs::create_dir_all(adm.join(folder)).unwrap();
        }
        let mut md5 = Md5Hasher::new();
        md5.update(b"text\n");
        let sum = md5.finish().to_hex();
        let mut entries = format!("10\n{}", this_dir(url));
        entries += &lines(&["f", "file", "", "", "", "", TIME, &sum, TIME, "5", "me"], &[]);
        if !child.is_empty() {
            entries += &lines(&[child, "dir"], &[]);
        }
        fs::write(adm.join("entries"), entries).unwrap();
        fs::write(adm.join("text-base/f.svn-base"), "text\n").unwrap();
        fs::write(adm.join("prop-base/f.svn-base"), "K 1\np\nV 1\nv\nEND\n").unwrap();
        fs::write(dir.join("f"), "text\n").unwrap();
    }
}

/// Runs a function with a callback; returns the directories that the callback got.
fn notices<T>(run: impl FnOnce(&mut Caller<'_>) -> T) -> (T, Vec<(PathBuf, UpgradeNotice)>) {
    let reported = RefCell::new(Vec::new());
    let result = run(&mut Caller {
        access: Access::default(),
        recorded: RecordedTimes::default(),
        cancel: &CancelToken::default(),
        ask: &mut |url| panic!("nobody has to ask for {url}"),
        notify: &mut |path, what| reported.borrow_mut().push((path.to_owned(), what)),
    });
    (result, reported.into_inner())
}

fn triggers(db: &Db) -> Vec<String> {
    db.all("SELECT name FROM sqlite_schema WHERE type = 'trigger'", [], |row| row.get(0)).unwrap()
}

fn assert_upgraded(root: &Path) {
    let wc = WorkingCopy::open_root(root, Options::default()).unwrap();
    assert!(!wc.db().has_work().unwrap());
    let rows = wc.db().subtree(RelPath::ROOT).unwrap();
    let paths: Vec<_> = rows.iter().map(|row| (row.relpath.as_str(), row.presence)).collect();
    assert_eq!(paths, ["", "f", "sub", "sub/f"].map(|path| (path, Presence::Normal)));
    let text = rows[1].checksum.unwrap();
    assert_eq!(wc.db().pristine(&text).unwrap().unwrap().refcount, 2, "both files refer to it");
    assert_eq!(triggers(wc.db()).len(), 3, "what counts references from now on");
    for row in rows.iter().filter(|row| row.kind == Kind::File) {
        let text = wc.open_pristine(&row.checksum.unwrap()).unwrap();
        assert_eq!(std::io::read_to_string(text).unwrap(), "text\n", "{}", row.relpath);
        assert_eq!(row.props().unwrap().get("p"), Some(&b"v"[..]), "{}", row.relpath);
    }
    assert!(!root.join("sub/.svn").exists(), "the folder of the directory below");
    let mut left = read::names(&root.join(".svn")).unwrap().unwrap();
    left.retain(|name| name != "wc.db-journal");
    assert_eq!(left, ["entries", "format", "pristine", "tmp", "wc.db"]);
    assert!(!workshop(root).exists());
}

#[test]
fn a_small_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    old_working_copy(root);
    let (done, notified) = notices(|caller| upgrade(root, caller));
    done.unwrap();
    let wanted = [root.to_owned(), root.join("sub")].map(|path| (path, UpgradeNotice::Upgraded));
    assert_eq!(notified, wanted);
    assert_upgraded(root);
    let (again, nothing) = notices(|caller| upgrade(root, caller));
    again.unwrap();
    assert!(nothing.is_empty());
}

#[test]
fn killed_before_and_after_the_new_database() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    old_working_copy(root);
    let prepare = || {
        let entries = read::entries(root).unwrap();
        notices(|caller| walk::prepare(root, &entries, caller)).0.unwrap();
    };
    // Twice: what the first one left is no hindrance.
    prepare();
    prepare();
    assert!(root.join("sub/.svn/lock").exists() && read::entries(root).is_ok());
    fs::rename(layout::db(&workshop(root)), layout::db(root)).unwrap();
    // As after a kill between the directories.
    fs::remove_file(root.join("sub/.svn/lock")).unwrap();
    notices(|caller| upgrade(root, caller)).0.unwrap();
    assert_upgraded(root);
}

#[test]
fn a_failure_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    old_working_copy(root);
    fs::write(root.join("sub/.svn/text-base/f.svn-base"), "other\n").unwrap();
    let error = notices(|caller| upgrade(root, caller)).0.unwrap_err();
    let error = SvnError::from(error);
    assert!(error.cause().unwrap().message().starts_with("Bad base MD5 checksum"), "{error:?}");
    assert!(!root.join(".svn/lock").exists() && !workshop(root).exists());
    fs::write(root.join("sub/.svn/text-base/f.svn-base"), "text\n").unwrap();
    notices(|caller| upgrade(root, caller)).0.unwrap();
    assert_upgraded(root);
}

#[test]
fn nothing_outside_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let (root, other) = (folder.path().join("wc"), folder.path().join("other"));
    for place in [&root, &other] {
        fs::create_dir(place).unwrap();
        old_working_copy(place);
    }
    fs::remove_dir_all(root.join("sub")).unwrap();
    std::os::unix::fs::symlink(other.join("sub"), root.join("sub")).unwrap();
    let (done, notified) = notices(|caller| upgrade(&root, caller));
    done.unwrap();
    assert_eq!(notified[1], (root.join("sub"), UpgradeNotice::Skipped));
    assert!(other.join("sub/.svn/entries").exists() && !other.join("sub/.svn/lock").exists());
}
