//! A version of a shelf in store `v2`: a folder that has for each shelved node the files `PATH.meta` (its states),
//! `PATH.base` and `PATH.work` (texts), `PATH.base-props` and `PATH.work-props`.
//!
//! The base text is in normal form, the working text as the file was, with its mode. For a symbolic link the
//! working text is its normal form: the reference copies the link's target, which cannot be restored.

use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, hashdump, path};

use super::{LINE_LIMIT, PROPS_LIMIT, Shelf, Version, no_directory, parse_props, read, read_file};
use crate::error::{Error, Result};
use crate::files::{move_into_place, remove_tree};
use crate::layout;
use crate::local::install::install_special;
use crate::root::{Disk, WorkingCopy, disk_kind};
use crate::status::{State, Status};
use crate::translate::{Translation, special};

/// The suffix of the file that marks a node as shelved.
const META: &str = ".meta";

/// What a node was like when it was shelved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// File or directory; a link is a file. `None` of a kind that is not known.
    pub kind: Option<NodeKind>,
    /// The node in whole.
    pub node: State,
    /// Its text.
    pub text: State,
    /// Its properties.
    pub props: State,
    /// The revision that it is based on.
    pub revision: Option<Revnum>,
}

/// The letter of a state: those of `svn status`, and others where that has none.
#[must_use]
pub const fn letter(state: State) -> char {
    match state {
        State::None => '.',
        State::Missing => '!',
        State::Incomplete => ':',
        other => other.letter(),
    }
}

fn state(letter: Option<&u8>) -> State {
    match letter {
        Some(b' ') => State::Normal,
        Some(b'A') => State::Added,
        Some(b'D') => State::Deleted,
        Some(b'R') => State::Replaced,
        Some(b'M') => State::Modified,
        // A shelved node has no other state.
        _ => State::None,
    }
}

impl Meta {
    /// That of a node with a status.
    #[must_use]
    pub fn of(status: &Status) -> Self {
        let comes_or_goes = matches!(status.node, State::Added | State::Deleted | State::Replaced);
        Self {
            kind: status.kind,
            node: status.node,
            text: status.text,
            props: status.props,
            revision: status.revision.filter(|_| !comes_or_goes),
        }
    }

    fn line(&self) -> String {
        let kind = match self.kind {
            Some(NodeKind::Dir) => 'd',
            Some(NodeKind::File) => 'f',
            None => '?',
        };
        let [node, text, props] = [self.node, self.text, self.props].map(letter);
        let revision = self.revision.map_or("-1".to_owned(), |revision| revision.to_string());
        format!("{kind} {node}{text}{props} {revision}")
    }

    fn parse(line: &[u8]) -> Self {
        let number = line.get(6..).and_then(|rest| std::str::from_utf8(rest).ok());
        let number = number.and_then(|text| text.trim_ascii().parse::<u64>().ok());
        Self {
            kind: match line.first() {
                Some(b'd') => Some(NodeKind::Dir),
                Some(b'f') => Some(NodeKind::File),
                _ => None,
            },
            node: state(line.get(2)),
            text: state(line.get(3)),
            props: state(line.get(4)),
            revision: number.map(Revnum),
        }
    }
}

/// Both lists of properties of a shelved node, as far as there are such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Props {
    /// Before the change; empty for an added node.
    pub base: PropList,
    /// After it; empty for a deleted one.
    pub work: PropList,
}

/// A version that is being written, in a directory of `.svn/tmp`. It is removed when it is dropped.
#[derive(Debug)]
pub struct NewVersion {
    wc: WorkingCopy,
    dir: PathBuf,
    /// Whether anything was put into it.
    filled: bool,
}

impl Drop for NewVersion {
    fn drop(&mut self) {
        // What stays here is for cleanup.
        let _removed = remove_tree(&self.dir);
    }
}

impl NewVersion {
    /// An empty one.
    ///
    /// # Errors
    /// That the folder cannot be made.
    pub fn begin(wc: &WorkingCopy) -> Result<Self> {
        let dir = wc.temporary();
        fs::create_dir(&dir).map_err(|e| Error::io(e, "Can't create directory", &dir))?;
        Ok(Self { wc: wc.clone(), dir, filled: false })
    }

    /// Puts a changed node into it.
    ///
    /// # Errors
    /// That files cannot be read or written; SQLite's.
    pub fn add(&mut self, status: &Status) -> Result<()> {
        let relpath = status.relpath.as_path();
        let meta = Meta::of(status);
        let meta_file = stored(&self.dir, relpath, META);
        if let Some(parent) = meta_file.parent() {
            fs::create_dir_all(parent)
                .map_err(|e| Error::io(e, "Can't create directory", parent))?;
        }
        write_new(&meta_file, meta.line().as_bytes())?;
        self.filled = true;
        let view = self.wc.require_view(relpath)?;
        let props = view.props()?;
        if meta.node != State::Added {
            self.write_props(relpath, ".base-props", &view.pristine_props()?)?;
        }
        if meta.node != State::Deleted {
            self.write_props(relpath, ".work-props", &props)?;
        }
        if meta.kind != Some(NodeKind::File) {
            return Ok(());
        }
        let base = if meta.node == State::Deleted {
            view.layers().find(|row| row.presence.is_there())
        } else {
            Some(view.top())
        };
        if let Some(sha1) = base.and_then(|row| row.checksum) {
            let base = self.wc.text_base_file(relpath, &sha1)?;
            copy(base.path(), &stored(&self.dir, relpath, ".base"), 0o666)?;
        }
        let file = self.wc.abspath(relpath);
        let to = stored(&self.dir, relpath, ".work");
        match disk_kind(&file)? {
            Some(kind) if kind.is_file() => {
                let found = fs::metadata(&file).map_err(|e| Error::io(e, "Can't stat", &file))?;
                copy(&file, &to, found.permissions().mode())?;
            }
            Some(kind) if kind.is_symlink() => {
                let failed = |e| Error::io(e, "Can't read symbolic link", &file);
                write_new(&to, &special::link_normal_form(&file).map_err(failed)?)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn write_props(&self, relpath: &RelPath, end: &str, props: &PropList) -> Result<()> {
        let mut bytes = Vec::new();
        hashdump::write(&mut bytes, props, None);
        write_new(&stored(&self.dir, relpath, end), &bytes)
    }

    /// Makes it the newest version of a shelf; `None` when there is nothing in it.
    ///
    /// # Errors
    /// As [`Shelf::add_version`].
    pub fn finish(self, shelf: &mut Shelf) -> Result<Option<Version>> {
        if !self.filled {
            return Ok(None);
        }
        // Its time is when it was made whole, not when it was begun.
        let failed = |e| Error::io(e, "Can't set access time of", &self.dir);
        fs::File::open(&self.dir)
            .and_then(|dir| dir.set_modified(std::time::SystemTime::now()))
            .map_err(failed)?;
        shelf.add_version(&self.dir).map(Some)
    }
}

fn stored(dir: &Path, relpath: &RelPath, end: &str) -> PathBuf {
    dir.join(format!("{relpath}{end}"))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = fs::OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| io::Write::write_all(&mut file, bytes))
        .map_err(|e| Error::io(e, "Can't write to file", path))
}

/// Copies a plain file to a free path; only the permission bits that users set are copied.
fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let failed = |e| Error::Io {
        what: format!("Can't copy '{}' to '{}'", from.display(), to.display()),
        error: e,
    };
    let mut source = fs::File::open(from).map_err(failed)?;
    let mut target = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode & 0o777)
        .open(to)
        .map_err(failed)?;
    io::copy(&mut source, &mut target).map(drop).map_err(failed)?;
    if mode == 0o666 {
        return Ok(());
    }
    target.set_permissions(fs::Permissions::from_mode(mode & 0o777)).map_err(failed)
}

/// A version that is there.
#[derive(Clone, Debug)]
pub struct StoredVersion {
    dir: PathBuf,
}

/// A node of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its path below the root of the working copy.
    pub relpath: RelPathBuf,
    /// What it was like.
    pub meta: Meta,
}

impl StoredVersion {
    /// That of a shelf.
    #[must_use]
    pub fn of(version: &Version) -> Self {
        Self { dir: version.path.clone() }
    }

    /// The nodes at and below a path, in the order of paths.
    ///
    /// # Errors
    /// That files cannot be read; E155000 for a name that no node can have.
    pub fn nodes(&self, below: &RelPath) -> Result<Vec<Node>> {
        let mut found = Vec::new();
        let mut open = vec![RelPathBuf::default()];
        while let Some(relpath) = open.pop() {
            let dir =
                if relpath.is_empty() { self.dir.clone() } else { self.dir.join(relpath.as_str()) };
            let failed = |e| Error::io(e, "Can't read directory", &dir);
            for entry in fs::read_dir(&dir).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else { return Err(outside(&entry.path())) };
                let at = relpath.child(name);
                let kind = entry.file_type().map_err(failed)?;
                if kind.is_dir() {
                    open.push(at);
                    continue;
                }
                let Some(node) = at.strip_suffix(META).filter(|_| kind.is_file()) else { continue };
                // Of the root the name is the ending alone; of no other node.
                let Ok(node) = RelPath::new(node) else { return Err(outside(&entry.path())) };
                if !node.is_at_or_below(below) {
                    continue;
                }
                let Some(line) = read_file(&entry.path(), LINE_LIMIT)? else { continue };
                found.push(Node { relpath: node.to_owned(), meta: Meta::parse(&line) });
            }
        }
        for node in &found {
            if node.relpath.names().any(|name| name == layout::ADM) {
                return Err(outside(Path::new(node.relpath.as_str())));
            }
        }
        found.sort_by(|a, b| path::compare(&a.relpath, &b.relpath));
        Ok(found)
    }

    /// The properties of a node before and after its change.
    ///
    /// # Errors
    /// E000002 when a list that should be there is not.
    pub fn props(&self, node: &Node) -> Result<Props> {
        let list = |end: &str| -> Result<PropList> {
            let file = stored(&self.dir, &node.relpath, end);
            let missing = || Error::io(io::ErrorKind::NotFound.into(), "Can't open file", &file);
            parse_props(&read(&file, PROPS_LIMIT)?.ok_or_else(missing)?, None)
        };
        let mut props = Props::default();
        if node.meta.node != State::Added {
            props.base = list(".base-props")?;
        }
        if node.meta.node != State::Deleted {
            props.work = list(".work-props")?;
        }
        Ok(props)
    }

    /// The text before the change, in normal form; `None` when there is none.
    ///
    /// # Errors
    /// That it is no plain file.
    pub fn base(&self, node: &Node) -> Result<Option<PathBuf>> {
        plain(stored(&self.dir, &node.relpath, ".base"))
    }

    /// The text after the change, as the working file was.
    ///
    /// # Errors
    /// E000002 when it is not there; that it is no plain file.
    pub fn work(&self, node: &Node) -> Result<PathBuf> {
        let file = stored(&self.dir, &node.relpath, ".work");
        let found = plain(file.clone())?;
        found.ok_or_else(|| Error::io(io::ErrorKind::NotFound.into(), "Can't open file", &file))
    }

    /// Writes the text after the change in normal form.
    ///
    /// # Errors
    /// As [`StoredVersion::work`]; that it cannot be written.
    pub fn normal_work(&self, node: &Node, props: &PropList, to: &mut dyn io::Write) -> Result<()> {
        let file = self.work(node)?;
        // A link is in normal form already.
        let translation = Translation { special: false, ..Translation::of(props, None) };
        let translation = match props.get(names::SPECIAL) {
            Some(_) => Translation::default(),
            None => translation,
        };
        let mut text = translation.normal_form(&file, true)?;
        io::copy(&mut text, to)
            .map(drop)
            .map_err(|e| Error::Svn(sapwood_core::SvnError::from_stream(e)))
    }
}

fn outside(path: &Path) -> Error {
    let message = format!("Path '{}' is not in the working copy", path.display());
    Error::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message)
}

/// A path that is a plain file.
fn plain(file: PathBuf) -> Result<Option<PathBuf>> {
    match disk_kind(&file)? {
        None => Ok(None),
        Some(kind) if kind.is_file() => Ok(Some(file)),
        Some(_) => {
            let message = format!("'{}' is not a file", file.display());
            Err(Error::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message))
        }
    }
}

/// As [`WorkingCopy::check_inside`].
pub(crate) fn check_inside(disk: &Disk, relpath: &RelPath) -> Result<()> {
    let mut at = RelPathBuf::default();
    for name in relpath.parent().names() {
        at = at.child(name);
        let dir = disk.abspath(&at);
        match disk_kind(&dir)? {
            None => return Ok(()),
            Some(kind) if kind.is_dir() => {}
            Some(_) => return Err(no_directory(&dir)),
        }
    }
    Ok(())
}

/// As [`WorkingCopy::install_shelved`].
pub(crate) fn install_shelved(
    disk: &Disk,
    relpath: &RelPath,
    text: &Path,
    props: &PropList,
) -> Result<()> {
    check_inside(disk, relpath)?;
    let path = disk.abspath(relpath);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|e| Error::io(e, "Can't create directory", dir))?;
    }
    if props.get(names::SPECIAL).is_some() {
        let failed = |e| Error::io(e, "Can't read file", text);
        return install_special(disk, relpath, &mut fs::File::open(text).map_err(failed)?);
    }
    let temporary = disk.temporary();
    let found = fs::metadata(text).map_err(|e| Error::io(e, "Can't stat", text))?;
    copy(text, &temporary, found.permissions().mode())?;
    move_into_place(&temporary, &path).inspect_err(|_| {
        // What stays here is for cleanup.
        let _removed = fs::remove_file(&temporary);
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn lines_of_states() {
        let meta = |node, text, props, revision: Option<u64>| Meta {
            kind: Some(NodeKind::File),
            node,
            text,
            props,
            revision: revision.map(Revnum),
        };
        // As the reference writes them.
        for (line, meta) in [
            ("f MM  12", meta(State::Modified, State::Modified, State::Normal, Some(12))),
            ("f D . -1", meta(State::Deleted, State::Normal, State::None, None)),
            ("f RMM -1", meta(State::Replaced, State::Modified, State::Modified, None)),
        ] {
            assert_eq!(meta.line(), line);
            assert_eq!(Meta::parse(line.as_bytes()), meta);
        }
        let dir = Meta {
            kind: Some(NodeKind::Dir),
            ..meta(State::Modified, State::None, State::Modified, Some(0))
        };
        assert_eq!(dir.line(), "d M.M 0");
        for odd in ["", "f", "x ???", "f ZZZ nonsense", "l AAA 18446744073709551616"] {
            let found = Meta::parse(odd.as_bytes());
            assert!(found.revision.is_none() && found.props != State::Modified, "{odd}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let stored = StoredVersion { dir: folder.path().join("v") };
        fs::create_dir_all(stored.dir.join("a/.svn")).unwrap();
        fs::write(stored.dir.join(".meta"), "d M M 1").unwrap();
        fs::write(stored.dir.join("a/f.meta"), "f A . -1").unwrap();
        std::os::unix::fs::symlink("/", stored.dir.join("out")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", stored.dir.join("a/f.work")).unwrap();
        let nodes = stored.nodes(RelPath::ROOT).unwrap();
        let paths: Vec<&str> = nodes.iter().map(|node| node.relpath.as_str()).collect();
        assert_eq!(paths, ["", "a/f"]);
        assert!(stored.work(nodes.last().unwrap()).is_err());
        assert_eq!(stored.nodes(RelPath::trusted("a")).unwrap().len(), 1);
        fs::write(stored.dir.join("a/.svn/wc.db.meta"), "f A . -1").unwrap();
        assert!(stored.nodes(RelPath::ROOT).is_err());
    }
}
