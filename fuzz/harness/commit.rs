//! Commands of an edit, sent to a commit: each byte says what comes next. However wild the edit, a
//! commit that is accepted leaves a whole repository, and one that is refused changes nothing.

use sapwood_core::paths::{FsPathBuf, RelPathBuf};
use sapwood_core::{FsPath, Md5, PropList, Revnum, SvnResult};
use sapwood_delta::{Editor, FullText, Handle, StoredDelta};
use sapwood_repos::commit::{CommitAuthorizer, CommitEditor, CommitSetup};
use sapwood_repos::{Access, Hooks};

#[path = "fixture.rs"]
mod fixture;

const URL: &str = "svn://localhost/repo";
const PATHS: [&str; 24] = [
    "trunk",
    "trunk/f",
    "trunk/d",
    "trunk/d/g",
    "branches",
    "branches/b",
    "branches/b/f",
    "branches/b/d",
    "branches/b/d/g",
    "new",
    "new/x",
    "new/x/y",
    "trunk/new",
    "trunk/f/below",
    "",
    "trunk/d/new",
    "h",
    "../up",
    "trunk//f",
    "trunk/\u{e9}",
    "trunk/a\nb",
    "/trunk",
    "trunk/.",
    "branches/b/new",
];
const NAMES: [&str; 8] =
    ["p", "svn:mergeinfo", "svn:eol-style", "svn:executable", "svn:ignore", "svn:odd", "", "a\nb"];
const VALUES: [&[u8]; 6] = [b"", b"v", b"/trunk:1-2", b"native", b"\xff\x00", b"/trunk:2-1,,\r\n"];

/// Lets all users do everything.
struct All;

impl CommitAuthorizer for All {
    fn allows(&self, _: &FsPath, _: Access, _: bool) -> bool {
        true
    }
}

/// The rest of the input.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn next(&mut self) -> Option<usize> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(usize::from(*first))
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let at = self.next()?;
        from.get(at % from.len().max(1)).copied()
    }

    /// As the other side of a connection makes it of what was sent.
    fn path(&mut self) -> Option<RelPathBuf> {
        self.pick(&PATHS).map(RelPathBuf::canonicalize)
    }

    fn revision(&mut self) -> Option<Option<Revnum>> {
        Some(match self.next()? % 6 {
            5 => None,
            n => u64::try_from(n).ok().map(Revnum),
        })
    }

    fn source(&mut self) -> Option<Option<(String, Revnum)>> {
        let Some(revision) = self.revision()? else { return Some(None) };
        let path = self.pick(&PATHS)?;
        Some(Some((format!("{URL}/{path}"), revision)))
    }

    fn piece(&mut self) -> Option<&'a [u8]> {
        let len = self.next()?.min(self.0.len());
        let (piece, rest) = self.0.split_at(len);
        self.0 = rest;
        Some(piece)
    }
}

/// Sends one command; `None` at the end of the input, `Some(true)` when the edit is closed.
fn step(
    editor: &mut CommitEditor<'_>,
    bytes: &mut Bytes<'_>,
    open: &mut Vec<Handle>,
) -> Option<SvnResult<bool>> {
    let command = bytes.next()? % 14;
    let on = bytes.next()?;
    // Mostly one of the handles that were given out, seldom one that never was.
    let handle = if on == 255 {
        Handle(u64::MAX)
    } else {
        let back = on % open.len().clamp(1, 8);
        open.iter().rev().nth(back).copied().unwrap_or(Handle(0))
    };
    let mut opened = |made: SvnResult<Handle>| made.map(|handle| open.push(handle));
    let done = match command {
        0 => opened(editor.open_root(bytes.revision()?)),
        1 => editor.delete_entry(&bytes.path()?, bytes.revision()?, handle),
        2 | 3 => {
            let (path, from) = (bytes.path()?, bytes.source()?);
            let from = from.as_ref().map(|(url, revision)| (url.as_str(), *revision));
            opened(if command == 2 {
                editor.add_directory(&path, handle, from)
            } else {
                editor.add_file(&path, handle, from)
            })
        }
        4 => opened(editor.open_directory(&bytes.path()?, handle, bytes.revision()?)),
        5 => opened(editor.open_file(&bytes.path()?, handle, bytes.revision()?)),
        6 | 7 => {
            let (name, gone) = (bytes.pick(&NAMES)?, bytes.next()? % 3 == 0);
            let value = bytes.pick(&VALUES)?;
            let value = if gone { None } else { Some(value) };
            if command == 6 {
                editor.change_dir_prop(handle, name, value)
            } else {
                editor.change_file_prop(handle, name, value)
            }
        }
        8 => {
            let text = bytes.piece()?.repeat(1 + bytes.next()? * 8);
            editor.apply_textdelta(handle, None, &mut FullText::new(text.as_slice()))
        }
        9 => {
            let svndiff = bytes.piece()?;
            let base = (bytes.next()? % 4 == 0).then(|| Md5::of(b"one\ntwo\n"));
            editor.apply_textdelta(handle, base, &mut StoredDelta::new(svndiff))
        }
        10 => editor.close_directory(handle),
        11 => {
            let right = bytes.next()? % 4;
            let md5 = (right == 0).then(|| Md5::of(b"one\ntwo\n"));
            editor.close_file(handle, md5)
        }
        12 => editor.absent_file(&bytes.path()?, handle),
        _ => return Some(editor.close_edit().map(|()| true)),
    };
    Some(done.map(|()| false))
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((&[kind, flags], rest)) = data.split_first_chunk() else { return };
    let fixture = fixture::Fixture::new(kind, true);
    let repository = fixture.open();
    let before = repository.fs().youngest().expect("the youngest revision");
    let mut revprops = PropList::new();
    revprops.set("svn:log", "fuzzed");
    let mut editor = CommitEditor::new(CommitSetup {
        repository: &repository,
        hooks: Hooks::without_environment(&repository),
        url: URL,
        base_path: FsPathBuf::canonicalize(if flags & 1 == 0 { "/" } else { "/trunk" }),
        revprops,
        user: Some("fuzz"),
        lock_tokens: Vec::new(),
        capabilities: &[],
        authorizer: &All,
    });
    let mut bytes = Bytes(rest);
    let mut open = Vec::new();
    if flags & 2 == 0 {
        open.extend(editor.open_root(Some(before)).ok());
    }
    let closed = loop {
        match step(&mut editor, &mut bytes, &mut open) {
            None => break editor.close_edit().is_ok(),
            Some(Ok(false)) => {}
            Some(Ok(true)) => break true,
            Some(Err(_)) => {
                let _ = editor.abort_edit();
                break false;
            }
        }
    };
    let committed = editor.committed();
    assert_eq!(closed, committed.is_some());
    let after = fixture.open().fs().youngest().expect("the youngest revision");
    assert_eq!(after.0 - before.0, u64::from(closed));
    if closed {
        fixture.assert_whole(false);
    }
}
