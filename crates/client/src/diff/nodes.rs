//! Comparing what is on disk at two paths, whether it is under version control or not.
//!
//! What is listed is what the disk has. Nodes under version control have their properties; a file without a media type gets
//! the one that its name or its contents say, so that binary files are not shown as text. Texts are in normal form.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, PropList, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::translate::Translation;
use sapwood_wc::view::{Status, View};
use sapwood_wc::{autoprops, layout};

use super::sides::{Difference, DirSide, FileSide, Processor, Text};
use super::writer::LabelParts;
use super::{Request, Sink};
use crate::add::media_types;
use crate::context::Context;

/// How many bytes of a file say whether it is text.
const LOOKED_AT: u64 = 1024;

pub(super) fn run(ctx: &Context, request: &Request<'_>, sink: Sink<'_>) -> SvnResult<()> {
    let [left, right] = [request.old, request.new].map(|path| ctx.absolute(path));
    let kinds = [resolved(&left)?, resolved(&right)?];
    let dirs = kinds == [Some(NodeKind::Dir); 2];
    let name = || left.file_name().map(|name| name.to_string_lossy().into_owned());
    let places = LabelParts {
        anchor: Some(if dirs { String::new() } else { name().unwrap_or_default() }),
        originals: [request.old.to_owned(), request.new.to_owned()],
        session_relpath: None,
    };
    let media_types = media_types(ctx)?;
    let tree = |root: &Path| Tree {
        ctx,
        root: root.to_owned(),
        media_types: &media_types,
        files: RefCell::new(None),
    };
    sink.with(ctx, places, &mut |processor, _| {
        let mut walk = Walk { ctx, left: tree(&left), right: tree(&right), processor };
        if kinds == [None; 2] {
            let message = format!("'{}' is not a file or directory", left.display());
            return Err(SvnError::new(ErrorCode::NODE_UNEXPECTED_KIND, message));
        }
        walk.pair(RelPath::ROOT, kinds, request.depth)
    })
}

/// The kind of what is at a path, through symbolic links.
fn resolved(path: &Path) -> SvnResult<Option<NodeKind>> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(Some(NodeKind::Dir)),
        Ok(found) => Ok(found.is_file().then_some(NodeKind::File)),
        Err(e) if is_missing(&e) => Ok(None),
        Err(e) => Err(SvnError::io(&e, format!("Can't check path '{}'", path.display()))),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// One side.
struct Tree<'a> {
    ctx: &'a Context,
    root: PathBuf,
    media_types: &'a BTreeMap<String, String>,
    /// The directory whose files were asked for last: wc.db is asked once a directory.
    files: RefCell<Option<DirFiles>>,
}

/// The properties of what is in one directory, by name; only of those that have some.
struct DirFiles {
    dir: RelPathBuf,
    props: HashMap<String, PropList>,
}

impl Tree<'_> {
    fn path(&self, at: &RelPath) -> PathBuf {
        if at.is_empty() { self.root.clone() } else { self.root.join(at.as_str()) }
    }

    /// What is in a directory; nothing where there is none.
    fn children(&self, at: &RelPath) -> SvnResult<BTreeMap<String, NodeKind>> {
        let path = self.path(at);
        let failed =
            |e: &io::Error| SvnError::io(e, format!("Can't read directory '{}'", path.display()));
        let entries = match fs::read_dir(&path) {
            Err(e) if is_missing(&e) => return Ok(BTreeMap::new()),
            other => other.map_err(|e| failed(&e))?,
        };
        let mut found = BTreeMap::new();
        for entry in entries {
            let entry = entry.map_err(|e| failed(&e))?;
            let kind = entry.file_type().map_err(|e| failed(&e))?;
            let kind = match (kind.is_dir(), kind.is_file() || kind.is_symlink()) {
                (true, _) => NodeKind::Dir,
                (false, true) => NodeKind::File,
                (false, false) => continue,
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != layout::ADM {
                found.insert(name, kind);
            }
        }
        Ok(found)
    }

    /// The properties of a node under version control; none of others.
    fn props(&self, at: &RelPath) -> SvnResult<PropList> {
        let Some((wc, relpath)) = self.working_copy(at)? else { return Ok(PropList::new()) };
        match wc.view(&relpath)?.filter(is_there) {
            Some(view) => Ok(view.props()?),
            None => Ok(PropList::new()),
        }
    }

    /// The working copy that a path is in, if any, and the path there.
    fn working_copy(&self, at: &RelPath) -> SvnResult<Option<(WorkingCopy, RelPathBuf)>> {
        match self.ctx.working_copy(&self.path(at)) {
            Err(error) if error.is_not_versioned() => Ok(None),
            other => other.map(Some),
        }
    }

    /// The same of a file.
    fn file_props(&self, at: &RelPath) -> SvnResult<PropList> {
        if at.is_empty() {
            return self.props(at);
        }
        let dir = at.parent();
        let mut files = self.files.borrow_mut();
        let known = match files.take().filter(|known| known.dir.as_path() == dir) {
            Some(known) => known,
            None => DirFiles { dir: dir.to_owned(), props: self.props_in(dir)? },
        };
        let props = known.props.get(at.name()).map_or_else(PropList::new, PropList::clone);
        *files = Some(known);
        Ok(props)
    }

    fn props_in(&self, dir: &RelPath) -> SvnResult<HashMap<String, PropList>> {
        let Some((wc, relpath)) = self.working_copy(dir)? else { return Ok(HashMap::new()) };
        let mut found = HashMap::new();
        for view in wc.children(&relpath)?.iter().filter(|view| is_there(view)) {
            let props = view.props()?;
            if !props.is_empty() {
                found.insert(view.relpath().name().to_owned(), props);
            }
        }
        Ok(found)
    }

    fn dir(&self, at: &RelPath) -> SvnResult<DirSide> {
        Ok(DirSide { revision: None, props: self.props(at)? })
    }

    fn file(&self, at: &RelPath) -> SvnResult<FileSide> {
        let path = self.path(at);
        let failed =
            |e: &io::Error| SvnError::io(e, format!("Can't open file '{}'", path.display()));
        let mut props = self.file_props(at)?;
        if props.get(names::MIME_TYPE).is_none() {
            let mut start = Vec::new();
            let file = File::open(&path).map_err(|e| failed(&e))?;
            file.take(LOOKED_AT).read_to_end(&mut start).map_err(|e| failed(&e))?;
            let name = path.file_name().map_or("".into(), |name| name.to_string_lossy());
            if let Some(media) = autoprops::media_type(&name, self.media_types, &start) {
                props.set(names::MIME_TYPE, media.as_bytes());
            }
        }
        // What a link leads to is compared.
        let translation = Translation { special: false, ..Translation::of(&props, None) };
        let text = match translation.is_needed() {
            true => Text::keep(&mut translation.normal_form(&path, true)?)?,
            false => Text::File(path),
        };
        Ok(FileSide { revision: None, text, props })
    }
}

/// Whether a node is there, so that its properties count.
fn is_there(view: &View) -> bool {
    matches!(view.status(), Status::Normal | Status::Incomplete | Status::Added)
}

struct Walk<'a> {
    ctx: &'a Context,
    left: Tree<'a>,
    right: Tree<'a>,
    processor: &'a mut dyn Processor,
}

impl Walk<'_> {
    /// Compares what both sides have at a path.
    fn pair(&mut self, at: &RelPath, kinds: [Option<NodeKind>; 2], depth: Depth) -> SvnResult<()> {
        self.ctx.check_cancel()?;
        match kinds {
            [Some(NodeKind::File), Some(NodeKind::File)] => self.files(at),
            [Some(NodeKind::Dir), Some(NodeKind::Dir)] => {
                self.children(at, [true; 2], depth)?;
                let (old, new) = (self.left.dir(at)?, self.right.dir(at)?);
                if old.props != new.props {
                    self.processor.take(at, Difference::DirChanged(&old, &new))?;
                }
                Ok(())
            }
            [left, right] => {
                if let Some(kind) = left {
                    self.only(at, kind, true, depth)?;
                }
                right.map_or(Ok(()), |kind| self.only(at, kind, false, depth))
            }
        }
    }

    fn files(&mut self, at: &RelPath) -> SvnResult<()> {
        let (old, new) = (self.left.file(at)?, self.right.file(at)?);
        let text = !old.text.is_same(&new.text)?;
        if text || old.props != new.props {
            self.processor.take(at, Difference::FileChanged { left: &old, right: &new, text })?;
        }
        Ok(())
    }

    /// Compares what is in a directory, of those sides that have it.
    fn children(&mut self, at: &RelPath, there: [bool; 2], depth: Depth) -> SvnResult<()> {
        let deep = matches!(depth, Depth::Infinity | Depth::Unknown);
        if depth == Depth::Empty {
            return Ok(());
        }
        let of = |tree: &Tree<'_>, there: bool| match there {
            true => tree.children(at),
            false => Ok(BTreeMap::new()),
        };
        let [is_left, is_right] = there;
        let (left, right) = (of(&self.left, is_left)?, of(&self.right, is_right)?);
        let all: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        for name in all {
            let shown = |kind: &NodeKind| *kind == NodeKind::File || depth != Depth::Files;
            let kinds = [&left, &right].map(|side| side.get(name).copied().filter(shown));
            let below = if deep { depth } else { Depth::Empty };
            self.pair(&at.child(name), kinds, below)?;
        }
        Ok(())
    }

    /// What one side has, with all below it.
    fn only(&mut self, at: &RelPath, kind: NodeKind, is_left: bool, depth: Depth) -> SvnResult<()> {
        if kind == NodeKind::Dir {
            self.children(at, [is_left, !is_left], depth)?;
        }
        let tree = if is_left { &self.left } else { &self.right };
        match (kind, is_left) {
            (NodeKind::File, true) => {
                self.processor.take(at, Difference::FileDeleted(&tree.file(at)?))
            }
            (NodeKind::File, false) => {
                self.processor.take(at, Difference::FileAdded(None, &tree.file(at)?))
            }
            (NodeKind::Dir, true) => {
                self.processor.take(at, Difference::DirDeleted(&tree.dir(at)?))
            }
            (NodeKind::Dir, false) => {
                self.processor.take(at, Difference::DirAdded(None, &tree.dir(at)?))
            }
        }
    }
}
