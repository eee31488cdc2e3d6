//! What [`WireEditor`] writes, [`drive`] reads: any edit comes out as it went in.

use proptest::prelude::*;
use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, Revnum};

use super::*;
use crate::editor::{EditSink, WireEditor, WireOptions};
use crate::encode::Sink;

const OPTIONS: WireOptions =
    WireOptions { svndiff: Version::V1, compression: 5, absent_entries: true };

/// A sink that keeps everything, and whose other side always agrees.
#[derive(Default)]
struct Memory(Vec<u8>);

impl Sink for Memory {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
    fn flush_if_large(&mut self) -> SvnResult<()> {
        Ok(())
    }
}

impl EditSink for Memory {
    fn peer_spoke(&mut self) -> SvnResult<bool> {
        Ok(false)
    }
    fn read_reply(&mut self) -> SvnResult<()> {
        Ok(())
    }
}

/// An editor that records its calls.
#[derive(Default)]
struct Notes {
    lines: Vec<String>,
    next: u64,
    /// Take the text as it is stored.
    raw: bool,
    /// Ignore texts.
    lazy: bool,
}

impl Notes {
    fn note(&mut self, line: String) -> SvnResult<()> {
        self.lines.push(line);
        Ok(())
    }
    fn open(&mut self, line: String) -> SvnResult<Handle> {
        self.next += 1;
        self.lines.push(format!("{line} -> {}", self.next));
        Ok(Handle(self.next))
    }
}

impl Editor for Notes {
    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        self.note(format!("target {revision}"))
    }
    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        self.open(format!("root {base:?}"))
    }
    fn delete_entry(
        &mut self,
        path: &RelPath,
        rev: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        self.note(format!("delete {path} {rev:?} {parent:?}"))
    }
    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.open(format!("add dir {path} {parent:?} {copy_from:?}"))
    }
    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.open(format!("open dir {path} {parent:?} {base:?}"))
    }
    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.note(format!("dir prop {dir:?} {name} {value:?}"))
    }
    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        self.note(format!("close dir {dir:?}"))
    }
    fn absent_directory(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        self.note(format!("absent dir {path} {parent:?}"))
    }
    fn add_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.open(format!("add file {path} {parent:?} {copy_from:?}"))
    }
    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.open(format!("open file {path} {parent:?} {base:?}"))
    }
    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let mut text = Vec::new();
        if self.raw
            && let Some(encoded) = delta.encoded(Version::V2)
        {
            let mut bytes = Vec::new();
            while let Some(piece) = encoded.next_bytes()? {
                assert!(!piece.is_empty());
                bytes.extend_from_slice(piece);
            }
            let mut decoder = Decoder::new();
            decoder.push(&bytes);
            while let Some(window) = decoder.next_window()? {
                text.extend_from_slice(&window.new_data);
            }
            decoder.finish()?;
        } else if !self.lazy {
            // A look at an encoding that is too new must not lose anything.
            assert!(delta.encoded(Version::V0).is_none());
            while let Some(window) = delta.next_window()? {
                text.extend_from_slice(&window.new_data);
            }
        }
        self.note(format!("text {file:?} {base:?} {}", Md5::of(&text)))
    }
    fn change_file_prop(
        &mut self,
        file: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        self.note(format!("file prop {file:?} {name} {value:?}"))
    }
    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        self.note(format!("close file {file:?} {text:?}"))
    }
    fn absent_file(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        self.note(format!("absent file {path} {parent:?}"))
    }
    fn close_edit(&mut self) -> SvnResult<()> {
        self.note("close".to_owned())
    }
    fn abort_edit(&mut self) -> SvnResult<()> {
        self.note("abort".to_owned())
    }
}

/// Windows of new data only.
struct Texts(std::vec::IntoIter<Vec<u8>>);

impl TextDelta for Texts {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        Ok(self.0.next().map(Window::full_text))
    }
}

/// What a made-up file has.
#[derive(Clone, Debug)]
struct File {
    path: String,
    copied: Option<(String, u64)>,
    base: Option<u64>,
    add: bool,
    props: Vec<(String, Option<Vec<u8>>)>,
    text: Option<Vec<Vec<u8>>>,
}

fn files() -> impl Strategy<Value = Vec<File>> {
    let prop =
        ("[a-z:]{1,10}", proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)));
    let texts = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40_000), 0..3);
    let file = (
        "[a-zé ]{1,12}",
        proptest::option::of(("/[a-z]{1,9}", 0u64..1 << 40)),
        proptest::option::of(0u64..1 << 40),
        any::<bool>(),
        proptest::collection::vec(prop, 0..3),
        proptest::option::of(texts),
    )
        .prop_map(|(path, copied, base, add, props, text)| File {
            path,
            copied,
            base,
            add,
            props,
            text,
        });
    proptest::collection::vec(file, 0..6)
}

fn play(files: &[File], editor: &mut dyn Editor) -> SvnResult<()> {
    editor.set_target_revision(Revnum(7))?;
    let root = editor.open_root(Some(Revnum(6)))?;
    editor.delete_entry(RelPath::trusted("gone"), None, root)?;
    editor.absent_directory(RelPath::trusted("hidden"), root)?;
    for (n, f) in files.iter().enumerate() {
        let dir =
            editor.open_directory(RelPath::trusted(&format!("d{n}")), root, f.base.map(Revnum))?;
        let copied = f.copied.as_ref().map(|(p, r)| (p.as_str(), Revnum(*r)));
        let added = editor.add_directory(RelPath::trusted(&format!("d{n}/new")), dir, copied)?;
        editor.change_dir_prop(added, "name", Some(b"value"))?;
        editor.close_directory(added)?;
        let file = if f.add {
            editor.add_file(RelPath::trusted(&f.path), dir, copied)?
        } else {
            editor.open_file(RelPath::trusted(&f.path), dir, f.base.map(Revnum))?
        };
        for (name, value) in &f.props {
            editor.change_file_prop(file, name, value.as_deref())?;
        }
        if let Some(text) = &f.text {
            let base = f.add.then(|| Md5::of(b"base"));
            editor.apply_textdelta(file, base, &mut Texts(text.clone().into_iter()))?;
        }
        editor.close_file(file, f.add.then(|| Md5::of(b"x")))?;
        editor.absent_file(RelPath::trusted("secret"), dir)?;
        editor.change_dir_prop(dir, "gone", None)?;
        editor.close_directory(dir)?;
    }
    editor.close_directory(root)?;
    editor.close_edit()
}

/// What the editor would have noted without a wire in between. It must not look at the encoding.
fn direct(files: &[File]) -> Vec<String> {
    let mut notes = Notes::default();
    play(files, &mut notes).unwrap();
    notes.lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn edits_survive_the_wire(files in files(), raw in any::<bool>()) {
        let mut wire = Memory::default();
        play(&files, &mut WireEditor::new(&mut wire, OPTIONS)).unwrap();
        let mut notes = Notes { raw, ..Notes::default() };
        let outcome = drive(&mut MemorySource::new(&wire.0), &mut notes, false).unwrap();
        prop_assert_eq!(outcome, Outcome::Closed);
        prop_assert_eq!(notes.lines, direct(&files));
    }

    #[test]
    fn cut_edits_end_in_an_error(files in files(), cut in any::<usize>()) {
        let mut wire = Memory::default();
        play(&files, &mut WireEditor::new(&mut wire, OPTIONS)).unwrap();
        let cut = cut % wire.0.len();
        let mut notes = Notes::default();
        let result = drive(&mut MemorySource::new(&wire.0[..cut]), &mut notes, false);
        prop_assert!(matches!(result, Err(DriveError::Source(_))));
    }
}

fn run(bytes: &[u8], lazy: bool) -> Result<Outcome, DriveError> {
    drive(&mut MemorySource::new(bytes), &mut Notes { lazy, ..Notes::default() }, false)
}

#[test]
fn texts_may_be_ignored() {
    let bytes = b"( open-root ( ( ) 2:d0 ) ) ( add-file ( 1:a 2:d0 2:c1 ( ) ) ) \
        ( apply-textdelta ( 2:c1 ( ) ) ) ( textdelta-chunk ( 2:c1 4:SVN\0 ) ) \
        ( textdelta-chunk ( 2:c1 0: ) ) ( textdelta-end ( 2:c1 ) ) ( close-edit ( ) ) ";
    assert_eq!(run(bytes, true).unwrap(), Outcome::Closed);
}

#[test]
fn what_makes_no_sense() {
    for bytes in [
        &b"( close-dir ( 2:d9 ) ) "[..],
        b"( open-root ( ( ) 2:d0 ) ) ( close-file ( 2:d0 ( ) ) ) ",
        b"( textdelta-chunk ( 2:c1 1:x ) ) ",
        b"( open-root ( ( ) 2:d0 ) ) ( add-file ( 1:a 2:d0 2:c1 ( ) ) ) \
          ( apply-textdelta ( 2:c1 ( ) ) ) ( close-edit ( ) ) ",
        b"( finish-replay ( ) ) ",
        b"( open-root ( ) ) ",
    ] {
        let result = run(bytes, true);
        assert!(matches!(result, Err(DriveError::Source(_))), "{}", bytes.escape_ascii());
    }
    let outcome = run(b"( failure ( ( 160013 4:gone 0: 0 ) ) ) ", false);
    assert!(matches!(outcome, Err(DriveError::Failure(e)) if e.code().0 == 160_013));
    let outcome = run(b"( dance ( ) ) ", false);
    assert!(matches!(outcome, Err(DriveError::Editor(e)) if e.code().0 == 210_001));
}

/// What is said in the right form is answered, and the driver may go on.
#[test]
fn values_that_cannot_be() {
    let root = "( open-root ( ( ) 2:d0 ) ) ";
    for (command, code) in [
        ("( add-file ( 2:\u{e9} 2:d0 2:c1 ( 1:x 18446744073709551615 ) ) ) ", 160_006),
        ("( add-file ( 1:\0 2:d0 2:c1 ( ) ) ) ", 210_004),
        ("( add-file ( 1:a 2:d0 2:c1 ( ) ) ) ( close-file ( 2:c1 ( 2:zz ) ) ) ", 125_012),
    ] {
        let outcome = run([root, command].concat().as_bytes(), false);
        assert!(
            matches!(&outcome, Err(DriveError::Editor(e)) if e.code().0 == code),
            "{outcome:?}"
        );
    }
    // Zeros are no checksum, and a number that is no revision is none where there may be none.
    let zeros = "0".repeat(32);
    let rest = format!(
        "( add-file ( 1:a 2:d0 2:c1 ( ) ) ) ( close-file ( 2:c1 ( 32:{zeros} ) ) ) \
         ( open-dir ( 1:b 2:d0 2:d1 ( 18446744073709551615 ) ) ) ( close-edit ( ) ) "
    );
    let bytes = [root, &rest].concat();
    let mut notes = Notes::default();
    let mut source = MemorySource::new(bytes.as_bytes());
    assert_eq!(drive(&mut source, &mut notes, false).unwrap(), Outcome::Closed);
}

/// A sink whose other side has had enough after a while.
#[derive(Default)]
struct Impatient {
    out: Vec<u8>,
    patience: u32,
}

impl Sink for Impatient {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
    fn flush_if_large(&mut self) -> SvnResult<()> {
        Ok(())
    }
}

impl EditSink for Impatient {
    fn peer_spoke(&mut self) -> SvnResult<bool> {
        self.patience = self.patience.saturating_sub(1);
        Ok(self.patience == 0)
    }
    fn read_reply(&mut self) -> SvnResult<()> {
        Err(SvnError::new(ErrorCode::FS_NOT_FOUND, "enough"))
    }
}

#[test]
fn an_early_answer_ends_the_edit() {
    let mut sink = Impatient { patience: 4, ..Impatient::default() };
    let mut editor = WireEditor::new(&mut sink, OPTIONS);
    let error = play(&[], &mut editor).unwrap_err();
    assert_eq!(error.message(), "enough");
    // Aborting says nothing more: the other side has its `abort-edit`.
    editor.abort_edit().unwrap();
    assert!(sink.out.ends_with(b"( abort-edit ( ) ) "));
    assert_eq!(sink.out.windows(10).filter(|w| w == b"abort-edit").count(), 1);
}
