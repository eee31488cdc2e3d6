//! A filesystem of any engine, to be read revision by revision: what a conversion needs of one.
//!
//! Which engine a `db` folder needs is asked here ([`Engine::of`]).

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, FsPath, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_fsx as fsx;
use sapwood_store::Caches;

use crate::{ChangeKind, Contents, Filesystem, Node, OpenOptions};

/// The kinds of filesystem that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// FSFS.
    Fsfs,
    /// FSX.
    Fsx,
}

impl Engine {
    /// The engine that a `db` folder needs.
    ///
    /// # Errors
    /// E160033 for others; errors of the system.
    pub fn of(db: &Path) -> SvnResult<Self> {
        let path = db.join("fs-type");
        let kind = std::fs::read(&path);
        let kind = kind.map_err(|error| {
            SvnError::io(&error, format_args!("Can't open file '{}'", path.display()))
        })?;
        match kind.trim_ascii() {
            b"fsfs" => Ok(Self::Fsfs),
            b"fsx" => Ok(Self::Fsx),
            other => {
                let message = format!("Unknown FS type '{}'", other.escape_ascii());
                Err(SvnError::new(ErrorCode::FS_UNKNOWN_FS_TYPE, message))
            }
        }
    }
}

/// An opened filesystem of any engine.
#[derive(Clone, Debug)]
pub enum Source {
    /// Of FSFS.
    Fsfs(Filesystem),
    /// Of FSX.
    Fsx(fsx::Filesystem),
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceChange {
    /// The path.
    pub path: FsPathBuf,
    /// What was done.
    pub kind: ChangeKind,
    /// File or directory, where the revision says it.
    pub node_kind: Option<NodeKind>,
    /// Whether the text was written.
    pub text: bool,
    /// Whether properties were written.
    pub props: bool,
    /// The source of a copy.
    pub copy_from: Option<(Revnum, FsPathBuf)>,
}

/// A file or directory of a revision.
#[derive(Clone, Debug)]
pub enum SourceNode {
    /// Of FSFS.
    Fsfs(Node),
    /// Of FSX.
    Fsx(fsx::Node),
}

#[allow(clippy::missing_errors_doc)]
impl Source {
    /// Opens the `db` folder of a repository.
    pub fn open(db: &Path, caches: &Arc<Caches>, options: &OpenOptions) -> SvnResult<Self> {
        Ok(match Engine::of(db)? {
            Engine::Fsfs => Self::Fsfs(Filesystem::open(db, caches, options)?),
            Engine::Fsx => Self::Fsx(fsx::Filesystem::open(db)?),
        })
    }

    /// The repository's UUID.
    pub fn uuid(&self) -> SvnResult<String> {
        match self {
            Self::Fsfs(fs) => Ok(fs.uuid()?),
            Self::Fsx(fs) => Ok(fs.uuid().to_owned()),
        }
    }

    /// The youngest revision now.
    pub fn youngest(&self) -> SvnResult<Revnum> {
        match self {
            Self::Fsfs(fs) => Ok(fs.youngest()?),
            Self::Fsx(fs) => Ok(fs.youngest()?),
        }
    }

    /// The properties of a revision now.
    pub fn revprops(&self, revision: Revnum) -> SvnResult<PropList> {
        match self {
            Self::Fsfs(fs) => Ok((*fs.revprops(revision)?).clone()),
            Self::Fsx(fs) => Ok(fs.revprops(revision)?),
        }
    }

    /// The changed paths of a revision, in the order of paths.
    pub fn changes(&self, revision: Revnum) -> SvnResult<Vec<SourceChange>> {
        let mut changes: Vec<SourceChange> = match self {
            Self::Fsfs(fs) => fs.changed_paths(revision)?.iter().map(of_fsfs).collect(),
            Self::Fsx(fs) => fs.changes(revision)?.into_iter().map(of_fsx).collect(),
        };
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    /// The node at a path of a revision; E160013 when there is none.
    pub fn node(&self, revision: Revnum, path: &FsPath) -> SvnResult<SourceNode> {
        Ok(match self {
            Self::Fsfs(fs) => SourceNode::Fsfs(fs.revision_root(revision)?.node(path)?),
            Self::Fsx(fs) => SourceNode::Fsx(fs.lookup(revision, path)?),
        })
    }
}

fn of_fsfs(change: crate::ChangedPath<'_>) -> SourceChange {
    SourceChange {
        path: change.path.to_owned(),
        kind: change.kind,
        node_kind: change.node_kind,
        text: change.text_mod,
        props: change.prop_mod,
        copy_from: change.copy_from.map(|(revision, path)| (revision, path.to_owned())),
    }
}

fn of_fsx(change: fsx::Change) -> SourceChange {
    // Paths of a change list were found canonical when it was read.
    let path = |path: &str| FsPath::trusted(path).to_owned();
    SourceChange {
        path: path(&change.path),
        kind: match change.kind {
            fsx::ChangeKind::Modify => ChangeKind::Modify,
            fsx::ChangeKind::Add => ChangeKind::Add,
            fsx::ChangeKind::Delete => ChangeKind::Delete,
            fsx::ChangeKind::Replace => ChangeKind::Replace,
        },
        node_kind: Some(change.node_kind),
        text: change.text,
        props: change.props,
        copy_from: change.copy_from.map(|(revision, source)| (revision, path(&source))),
    }
}

#[allow(clippy::missing_errors_doc)]
impl SourceNode {
    /// File or directory.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        match self {
            Self::Fsfs(node) => node.kind(),
            Self::Fsx(node) => node.kind(),
        }
    }

    /// The properties.
    pub fn props(&self) -> SvnResult<PropList> {
        match self {
            Self::Fsfs(node) => Ok((*node.props()?).clone()),
            Self::Fsx(node) => Ok(node.props()?),
        }
    }

    /// The MD5 of a file's text.
    pub fn md5(&self) -> SvnResult<Md5> {
        match self {
            Self::Fsfs(node) => Ok(node.md5()?),
            Self::Fsx(node) => Ok(node.md5()),
        }
    }

    /// A file's text. Reading it fails when it is not what was committed.
    pub fn text(&self) -> SvnResult<Box<dyn Read>> {
        Ok(match self {
            Self::Fsfs(node) => Box::new(Text(node.contents()?)),
            Self::Fsx(node) => Box::new(node.contents()?),
        })
    }

    /// The names in a directory, in their order, with the nodes.
    pub fn children(&self) -> SvnResult<Vec<(String, Self)>> {
        match self {
            Self::Fsfs(node) => {
                let entries = node.entries()?;
                let child = |entry: crate::DirEntry<'_>| {
                    Ok((entry.name.to_owned(), Self::Fsfs(node.child_of(&entry)?)))
                };
                entries.iter().map(child).collect()
            }
            Self::Fsx(node) => {
                let child = |entry: &_| -> SvnResult<Self> { Ok(Self::Fsx(node.child_of(entry)?)) };
                let entries = node.entries()?;
                entries.iter().map(|entry| Ok((entry.name.to_string(), child(entry)?))).collect()
            }
        }
    }
}

/// A text of FSFS as a reader.
struct Text(Contents);

impl Read for Text {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_some(buf).map_err(|error| io::Error::other(SvnError::from(error)))
    }
}
