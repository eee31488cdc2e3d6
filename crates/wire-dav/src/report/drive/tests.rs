//! What the server's editors write drives an editor to the same calls.

use sapwood_core::FsPath;
use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, PropList, Revnum, SvnResult};
use sapwood_delta::{EditTarget, Editor, FullText, Handle, TextDelta, Version};

use super::*;
use crate::report::replay::ReplayEditor;
use crate::report::update::{Style, UpdateEditor};
use crate::xml::{Document, Limits};

/// Writes down each call.
#[derive(Default)]
struct Recorder {
    calls: Vec<String>,
    next: u64,
}

impl Recorder {
    fn note(&mut self, call: String) -> SvnResult<()> {
        self.calls.push(call);
        Ok(())
    }

    fn open(&mut self, call: String) -> SvnResult<Handle> {
        self.calls.push(call);
        self.next += 1;
        Ok(Handle(self.next))
    }
}

impl Editor for Recorder {
    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        self.note(format!("target {revision}"))
    }
    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        self.open(format!("root {base:?}"))
    }
    fn delete_entry(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        _: Handle,
    ) -> SvnResult<()> {
        self.note(format!("delete {path} {revision:?}"))
    }
    fn add_directory(
        &mut self,
        path: &RelPath,
        _: Handle,
        from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.open(format!("add dir {path} {from:?}"))
    }
    fn open_directory(
        &mut self,
        path: &RelPath,
        _: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.open(format!("open dir {path} {base:?}"))
    }
    fn change_dir_prop(&mut self, _: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.note(format!("dir prop {name} {value:?}"))
    }
    fn close_directory(&mut self, _: Handle) -> SvnResult<()> {
        self.note("close dir".to_owned())
    }
    fn absent_directory(&mut self, path: &RelPath, _: Handle) -> SvnResult<()> {
        self.note(format!("absent dir {path}"))
    }
    fn add_file(
        &mut self,
        path: &RelPath,
        _: Handle,
        from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.open(format!("add file {path} {from:?}"))
    }
    fn open_file(&mut self, path: &RelPath, _: Handle, base: Option<Revnum>) -> SvnResult<Handle> {
        self.open(format!("open file {path} {base:?}"))
    }
    fn apply_textdelta(
        &mut self,
        _: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let mut text = Vec::new();
        while let Some(window) = delta.next_window()? {
            window.apply(b"", &mut text)?;
        }
        self.note(format!("text {base:?} {}", String::from_utf8_lossy(&text)))
    }
    fn change_file_prop(&mut self, _: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.note(format!("file prop {name} {value:?}"))
    }
    fn close_file(&mut self, _: Handle, text: Option<Md5>) -> SvnResult<()> {
        self.note(format!("close file {text:?}"))
    }
    fn absent_file(&mut self, path: &RelPath, _: Handle) -> SvnResult<()> {
        self.note(format!("absent file {path}"))
    }
    fn close_edit(&mut self) -> SvnResult<()> {
        self.note("close".to_owned())
    }
    fn abort_edit(&mut self) -> SvnResult<()> {
        self.note("abort".to_owned())
    }
}

/// Says what an editor opens next.
fn drive(editor: &mut dyn Editor, path: &str) {
    let path = FsPath::new(path).unwrap();
    editor.leads_to(&EditTarget { path, revision: Revnum(5), sha1: None });
}

/// An edit with every call in it.
fn edit(editor: &mut dyn Editor, with_absent: bool) -> SvnResult<()> {
    let sum = Some(Md5::of(b"text"));
    editor.set_target_revision(Revnum(5))?;
    drive(editor, "/");
    let root = editor.open_root(Some(Revnum(3)))?;
    editor.change_dir_prop(root, "svn:ignore", Some(b"a<b\n"))?;
    editor.delete_entry(RelPath::trusted("gone & lost"), Some(Revnum(2)), root)?;
    drive(editor, "/d");
    let dir = editor.add_directory(RelPath::trusted("d"), root, Some(("/from/here", Revnum(1))))?;
    editor.change_dir_prop(dir, "x", None)?;
    drive(editor, "/d/f");
    let file = editor.add_file(RelPath::trusted("d/f"), dir, None)?;
    editor.change_file_prop(file, "bin", Some(b"\xff\x01"))?;
    editor.apply_textdelta(file, None, &mut FullText::new(&b"text"[..]))?;
    editor.close_file(file, sum)?;
    drive(editor, "/d/e");
    let deep = editor.open_directory(RelPath::trusted("d/e"), dir, Some(Revnum(4)))?;
    editor.close_directory(deep)?;
    editor.close_directory(dir)?;
    drive(editor, "/g");
    let file = editor.open_file(RelPath::trusted("g"), root, Some(Revnum(3)))?;
    editor.apply_textdelta(file, sum, &mut FullText::new(&b"long ".repeat(9000)[..]))?;
    editor.close_file(file, sum)?;
    if with_absent {
        editor.absent_directory(RelPath::trusted("secret"), root)?;
        editor.absent_file(RelPath::trusted("hidden"), root)?;
    }
    editor.close_directory(root)?;
    editor.close_edit()
}

/// Gives every file the same text and property.
struct Same(Vec<String>);

impl Fetch for Same {
    fn props(&mut self, address: &str) -> SvnResult<PropList> {
        self.0.push(format!("props {address}"));
        let mut props = PropList::new();
        props.set("p", b"v");
        Ok(props)
    }

    fn text(
        &mut self,
        address: &str,
        _: Option<&str>,
        take: &mut dyn FnMut(&mut dyn TextDelta) -> SvnResult<()>,
    ) -> SvnResult<()> {
        self.0.push(format!("text {address}"));
        take(&mut FullText::new(&b"fetched"[..]))
    }
}

fn written(send_all: bool) -> Vec<u8> {
    let style = Style {
        send_all,
        include_props: send_all,
        svndiff: Version::V2,
        compression: 5,
        v2: true,
        root: "/r".to_owned(),
        special: "!svn".to_owned(),
    };
    let mut out = Vec::new();
    edit(&mut UpdateEditor::new(&mut out, style), true).unwrap();
    out
}

fn expected(with_absent: bool) -> Vec<String> {
    let mut recorder = Recorder::default();
    edit(&mut recorder, with_absent).unwrap();
    recorder.calls
}

#[test]
fn an_update_with_everything_in_it() {
    let body = written(true);
    let mut recorder = Recorder::default();
    let mut fetch = Same(Vec::new());
    let document = Document::open(&body[..], Limits::default()).unwrap();
    update::drive(document, true, &mut recorder, &mut fetch).unwrap();
    assert_eq!(recorder.calls, expected(true));
    assert_eq!(fetch.0, [""; 0]);
}

#[test]
fn an_update_that_names_texts() {
    let body = written(false);
    let mut recorder = Recorder::default();
    let mut fetch = Same(Vec::new());
    let document = Document::open(&body[..], Limits::default()).unwrap();
    update::drive(document, true, &mut recorder, &mut fetch).unwrap();
    let version = |path: &str| format!("/r/!svn/rvr/5/{path}");
    let fetched = [
        format!("props {}", version("d/f")),
        format!("text {}", version("d/f")),
        format!("props {}", version("d")),
        format!("text {}", version("g")),
    ];
    assert_eq!(fetch.0, fetched);
    assert_eq!(recorder.calls.iter().filter(|call| call.contains("text None fetched")).count(), 1);
    assert_eq!(recorder.calls.iter().filter(|call| call.contains("fetched")).count(), 2);
    assert_eq!(recorder.calls.last().unwrap(), "close");
}

/// Knows where the client's own texts are.
#[derive(Default)]
struct LocalTexts(Vec<String>);

impl Fetch for LocalTexts {
    fn props(&mut self, _: &str) -> SvnResult<PropList> {
        Ok(PropList::new())
    }

    fn has_room(&self) -> bool {
        true
    }

    fn base(&self, address: &str, revision: Revnum) -> Option<String> {
        Some(format!("{address}@{revision}"))
    }

    fn announce(&mut self, address: &str, base: Option<&str>) {
        self.0.push(format!("announce {address} {}", base.unwrap_or("-")));
    }

    fn text(
        &mut self,
        address: &str,
        base: Option<&str>,
        take: &mut dyn FnMut(&mut dyn TextDelta) -> SvnResult<()>,
    ) -> SvnResult<()> {
        self.0.push(format!("text {address} {}", base.unwrap_or("-")));
        take(&mut FullText::new(&b"fetched"[..]))
    }
}

#[test]
fn only_what_the_client_has_at_the_same_place_is_a_base() {
    let checked_in = |name: &str| {
        format!("<D:checked-in><D:href>/r/{name}</D:href></D:checked-in><S:fetch-file/>")
    };
    let body = format!(
        "<S:update-report xmlns:S='svn:' xmlns:D='DAV:' inline-props='true'><S:open-directory rev='3'>\
         <S:open-file name='f' rev='3'>{}</S:open-file><S:add-file name='g'>{}</S:add-file>\
         <S:add-directory name='copy' copyfrom-path='/d' copyfrom-rev='2'><S:open-file name='h' rev='2'>{}\
         </S:open-file></S:add-directory></S:open-directory></S:update-report>",
        checked_in("f"),
        checked_in("g"),
        checked_in("h"),
    );
    let document = Document::open(body.as_bytes(), Limits::default()).unwrap();
    let mut fetch = LocalTexts::default();
    update::drive(document, true, &mut Recorder::default(), &mut fetch).unwrap();
    let expected: Vec<String> = ["announce", "text"]
        .into_iter()
        .flat_map(|what| ["/r/f /r/f@3", "/r/g -", "/r/h -"].map(|rest| format!("{what} {rest}")))
        .collect();
    assert_eq!(fetch.0, expected);
}

#[test]
fn a_replay() {
    let mut body = Vec::new();
    let mut writer = ReplayEditor::new(&mut body, Version::V1, 5);
    edit(&mut writer, false).unwrap();
    writer.finish().unwrap();
    let mut recorder = Recorder::default();
    let document = Document::open(&body[..], Limits::default()).unwrap();
    replay::drive(document, &mut recorder).unwrap();
    let mut expected = expected(false);
    expected.pop();
    assert_eq!(recorder.calls, expected);
}

#[test]
fn names_that_lead_elsewhere() {
    for name in ["..", ".", "", "a/b", "a/../../b", "/etc"] {
        let body = format!(
            "<S:update-report xmlns:S='svn:' send-all='true'><S:open-directory rev='1'>\
             <S:add-file name='{name}'/></S:open-directory></S:update-report>"
        );
        let document = Document::open(body.as_bytes(), Limits::default()).unwrap();
        let mut recorder = Recorder::default();
        let mut fetch = Same(Vec::new());
        assert!(update::drive(document, true, &mut recorder, &mut fetch).is_err(), "{name}");
        let body = format!(
            "<S:editor-report xmlns:S='svn:'><S:open-root rev='1'/>\
             <S:add-file name='{name}'/></S:editor-report>"
        );
        let document = Document::open(body.as_bytes(), Limits::default()).unwrap();
        let outcome = replay::drive(document, &mut Recorder::default());
        assert_eq!(outcome.is_err(), name != "a/b", "{name}");
    }
}

#[test]
fn replies_that_end_too_soon() {
    let body = written(true);
    for len in (0..body.len() - 20).step_by(7) {
        let outcome = Document::open(&body[..len], Limits::default()).map_err(Into::into).and_then(
            |document| {
                update::drive(document, true, &mut Recorder::default(), &mut Same(Vec::new()))
            },
        );
        assert!(outcome.is_err(), "{len}");
    }
}

#[test]
fn revisions_of_a_file() {
    use crate::report::reply;
    let mut body = Vec::new();
    reply::begin(&mut body, "file-revs-report");
    body.extend_from_slice(b"<S:file-rev path=\"/f\" rev=\"3\">");
    reply::prop(&mut body, "S:rev-prop", "svn:log", Some(b"why"));
    reply::prop(&mut body, "S:set-prop", "a", Some(b"\xff"));
    reply::prop(&mut body, "S:set-prop", "b", None);
    body.extend_from_slice(b"<S:txdelta>");
    reply::text_delta(&mut body, &mut FullText::new(&b"text"[..]), Version::V1, 5).unwrap();
    body.extend_from_slice(b"</S:txdelta></S:file-rev><S:file-rev path=\"/f\" rev=\"4\">");
    body.extend_from_slice(b"<S:merged-revision/></S:file-rev>");
    reply::end(&mut body, "file-revs-report");
    let document = Document::open(&body[..], Limits::default()).unwrap();
    let mut received = Vec::new();
    let count = file_revs::drive(document, &mut |head, delta| {
        let mut text = Vec::new();
        if let Some(delta) = delta {
            while let Some(window) = delta.next_window()? {
                window.apply(b"", &mut text)?;
            }
        }
        received.push((head.revision.0, head.merged, head.prop_changes.clone(), text));
        Ok(())
    });
    assert_eq!(count.unwrap(), 2);
    let changes = vec![("a".to_owned(), Some(b"\xff".to_vec())), ("b".to_owned(), None)];
    assert_eq!(
        received,
        [(3, false, changes, b"text".to_vec()), (4, true, Vec::new(), Vec::new())]
    );
}
