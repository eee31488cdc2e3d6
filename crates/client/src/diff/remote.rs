//! Comparing two trees of a repository: the other side tells how one becomes the other.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::apply::ApplyReader;
use sapwood_delta::{Editor, Handle, TextDelta, ignore_absent, nothing_to_abort};
use sapwood_ra::{DirentFields, Session};
use sapwood_wc::conflict::PropChange;

use super::local::temporary;
use super::sides::{DirSide, FileSide, Processor, Text};

/// An open directory or file.
enum Open {
    Dir { path: RelPathBuf, added: bool, changes: Vec<PropChange> },
    File(OpenFile),
}

struct OpenFile {
    path: RelPathBuf,
    added: bool,
    changes: Vec<PropChange>,
    /// The old and the new text, and the old properties.
    texts: Option<(Text, Text, PropList)>,
    changed: bool,
}

/// Takes an edit from one tree to another and tells a processor.
pub(super) struct DiffEditor<'a> {
    /// Fetches what the edit does not bring: at the start of the edit.
    pub(super) session: &'a dyn Session,
    /// The revision of the left side.
    pub(super) revision: Revnum,
    /// The revision of the right side.
    pub(super) target: Option<Revnum>,
    /// Whether texts are wanted.
    pub(super) text_deltas: bool,
    pub(super) processor: &'a mut dyn Processor,
    open: HashMap<u64, Open>,
    next: u64,
}

/// Properties that people set.
pub(super) fn is_regular(name: &str) -> bool {
    !name.starts_with("svn:entry:") && !name.starts_with("svn:wc:")
}

pub(super) fn regular(props: &PropList) -> PropList {
    props.iter().filter(|(name, _)| is_regular(name)).collect()
}

pub(super) fn patched(props: &PropList, changes: &[PropChange]) -> PropList {
    let mut patched = props.clone();
    for (name, value) in changes.iter().filter(|(name, _)| is_regular(name)) {
        match value {
            Some(value) => patched.set(name, value),
            None => patched.remove(name),
        };
    }
    patched
}

/// Applies a delta to a text.
pub(super) fn apply(base: &Text, delta: &mut dyn TextDelta) -> SvnResult<Text> {
    let source: Box<dyn Read> =
        match base.path() {
            None => Box::new(io::empty()),
            Some(path) => Box::new(File::open(path).map_err(|e| {
                SvnError::io(&e, format_args!("Can't open file '{}'", path.display()))
            })?),
        };
    temporary(&mut ApplyReader::new(delta, source))
}

impl<'a> DiffEditor<'a> {
    pub(super) fn new(
        session: &'a dyn Session,
        revision: Revnum,
        text_deltas: bool,
        processor: &'a mut dyn Processor,
    ) -> Self {
        let (open, next) = (HashMap::new(), 0);
        Self { session, revision, target: None, text_deltas, processor, open, next }
    }

    fn add(&mut self, node: Open) -> Handle {
        self.next = self.next.wrapping_add(1);
        self.open.insert(self.next, node);
        Handle(self.next)
    }

    /// A file of the left side.
    fn fetch(&self, at: &RelPath, text: bool) -> SvnResult<(Text, PropList)> {
        if !text {
            let found = self.session.get_file(at, Some(self.revision), None, true)?;
            return Ok((Text::Empty, regular(&found.props)));
        }
        let failed = |e: io::Error| SvnError::io(&e, "Can't create temporary file");
        let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
        let found = self.session.get_file(at, Some(self.revision), Some(&mut file), true)?;
        file.flush().map_err(failed)?;
        Ok((Text::Temporary(Rc::new(file.into_temp_path())), regular(&found.props)))
    }

    fn deleted_file(&mut self, at: &RelPath) -> SvnResult<()> {
        let (text, props) = self.fetch(at, self.text_deltas)?;
        let left = FileSide { revision: Some(self.revision), text, props };
        self.processor.file_deleted(at, &left)
    }

    fn deleted_dir(&mut self, at: &RelPath) -> SvnResult<()> {
        let fields = DirentFields { kind: true, ..DirentFields::default() };
        let mut found = self.session.get_dir(at, Some(self.revision), Some(fields), true)?;
        found.entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, entry) in &found.entries {
            let child = at.child(name);
            match entry.kind {
                Some(NodeKind::File) => self.deleted_file(&child)?,
                Some(NodeKind::Dir) => self.deleted_dir(&child)?,
                None => {}
            }
        }
        let left = DirSide { revision: Some(self.revision), props: regular(&found.props) };
        self.processor.dir_deleted(at, &left)
    }

    fn close(&mut self, handle: Handle) -> SvnResult<Open> {
        self.open.remove(&handle.0).ok_or_else(wrong_handle)
    }

    fn end_file(&mut self, file: OpenFile) -> SvnResult<()> {
        let has_props = file.changes.iter().any(|(name, _)| is_regular(name));
        if !file.added && !file.changed && !has_props {
            return Ok(());
        }
        let at = file.path.as_path();
        let (old, new, props) = match file.texts {
            Some(texts) => texts,
            None if file.added => (Text::Empty, Text::Empty, PropList::new()),
            None => (Text::Empty, Text::Empty, self.fetch(at, false)?.1),
        };
        let right_props = patched(&props, &file.changes);
        let right = FileSide { revision: self.target, text: new, props: right_props };
        if file.added {
            return self.processor.file_added(at, None, &right);
        }
        let left = FileSide { revision: Some(self.revision), text: old, props };
        if file.changed || left.props != right.props {
            self.processor.file_changed(at, &left, &right, file.changed)?;
        }
        Ok(())
    }
}

pub(super) fn wrong_handle() -> SvnError {
    SvnError::new(
        sapwood_core::ErrorCode::INCORRECT_PARAMS,
        "Internal error: an edit uses a node that is not open",
    )
}

impl Editor for DiffEditor<'_> {
    ignore_absent!();
    nothing_to_abort!();

    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        self.target = Some(revision);
        Ok(())
    }

    fn open_root(&mut self, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(self.add(Open::Dir { path: RelPathBuf::default(), added: false, changes: Vec::new() }))
    }

    fn delete_entry(&mut self, at: &str, _: Option<Revnum>, _: Handle) -> SvnResult<()> {
        let at = RelPath::new(at)?;
        match self.session.check_path(at, Some(self.revision))? {
            Some(NodeKind::File) => self.deleted_file(at),
            Some(NodeKind::Dir) => self.deleted_dir(at),
            None => Ok(()),
        }
    }

    fn add_directory(
        &mut self,
        at: &str,
        _: Handle,
        _: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        Ok(self.add(Open::Dir {
            path: RelPath::new(at)?.to_owned(),
            added: true,
            changes: Vec::new(),
        }))
    }

    fn open_directory(&mut self, at: &str, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(self.add(Open::Dir {
            path: RelPath::new(at)?.to_owned(),
            added: false,
            changes: Vec::new(),
        }))
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if let Some(Open::Dir { changes, .. }) = self.open.get_mut(&dir.0) {
            changes.push((name.to_owned(), value.map(<[u8]>::to_vec)));
        }
        Ok(())
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        let Open::Dir { path: at, added, changes } = self.close(dir)? else {
            return Err(wrong_handle());
        };
        if !added && !changes.iter().any(|(name, _)| is_regular(name)) {
            return Ok(());
        }
        let props = match added {
            true => PropList::new(),
            false => regular(&self.session.get_dir(&at, Some(self.revision), None, true)?.props),
        };
        let right = DirSide { revision: self.target, props: patched(&props, &changes) };
        if added {
            return self.processor.dir_added(&at, None, &right);
        }
        let left = DirSide { revision: Some(self.revision), props };
        if left.props == right.props {
            return Ok(());
        }
        self.processor.dir_changed(&at, &left, &right)
    }

    fn add_file(&mut self, at: &str, _: Handle, _: Option<(&str, Revnum)>) -> SvnResult<Handle> {
        Ok(self.add(Open::File(OpenFile {
            path: RelPath::new(at)?.to_owned(),
            added: true,
            changes: Vec::new(),
            texts: None,
            changed: false,
        })))
    }

    fn open_file(&mut self, at: &str, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(self.add(Open::File(OpenFile {
            path: RelPath::new(at)?.to_owned(),
            added: false,
            changes: Vec::new(),
            texts: None,
            changed: false,
        })))
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        _: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let Some(Open::File(open)) = self.open.get(&file.0) else { return Err(wrong_handle()) };
        let texts = match (self.text_deltas, open.added) {
            (false, _) => None,
            (true, true) => Some((Text::Empty, apply(&Text::Empty, delta)?, PropList::new())),
            (true, false) => {
                let (old, props) = self.fetch(&open.path, true)?;
                let new = apply(&old, delta)?;
                Some((old, new, props))
            }
        };
        if let Some(Open::File(open)) = self.open.get_mut(&file.0) {
            open.texts = texts;
            open.changed = true;
        }
        Ok(())
    }

    fn change_file_prop(
        &mut self,
        file: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        if let Some(Open::File(open)) = self.open.get_mut(&file.0) {
            open.changes.push((name.to_owned(), value.map(<[u8]>::to_vec)));
        }
        Ok(())
    }

    fn close_file(&mut self, file: Handle, _: Option<Md5>) -> SvnResult<()> {
        match self.close(file)? {
            Open::File(open) => self.end_file(open),
            Open::Dir { .. } => Err(wrong_handle()),
        }
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
