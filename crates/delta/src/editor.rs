//! The tree-delta editor: the calls that turn one tree into another.
//!
//! The driver makes the calls in the order that the reference defines: one [`Editor::open_root`],
//! then depth first, every opened or added directory and file closed, files opened and closed
//! before anything else of another directory happens, at last [`Editor::close_edit`] or
//! [`Editor::abort_edit`]. Paths are relpaths below the edit's root.

use sapwood_core::paths::RelPath;
use sapwood_core::{FsPath, Md5, Revnum, Sha1, SvnResult};

use crate::stream::TextDelta;

/// An open directory or file of an edit: a number of the editor's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u64);

impl Handle {
    /// What is returned where no node is opened, and by editors that need no handles.
    pub const NONE: Self = Self(0);
}

/// What a node is in the tree that an edit leads to.
#[derive(Clone, Copy, Debug)]
pub struct EditTarget<'t> {
    /// Its path there, which is not the edit's where a working copy is switched.
    pub path: &'t FsPath,
    /// A revision in which the node is at this path: best the one of its last change.
    pub revision: Revnum,
    /// A file's SHA-1, when it is known without reading the file.
    pub sha1: Option<Sha1>,
}

/// Receiver of a tree delta. Every method may fail with whatever the receiver meets.
#[allow(clippy::missing_errors_doc, reason = "all: errors of the stream, and of what is no delta")]
pub trait Editor {
    /// The revision that the edit leads to. Comes first, at most once.
    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        let _ = revision;
        Ok(())
    }

    /// Announces the node that the next call opens or adds. Drivers that answer reports call it, because their
    /// receivers may send more of a node than the edit does. Most editors ignore it.
    fn leads_to(&mut self, target: &EditTarget<'_>) {
        let _ = target;
    }

    /// Opens the root directory; `base` is the revision the receiver is believed to have.
    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle>;

    /// Removes `path` of `parent`.
    fn delete_entry(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()>;

    /// Adds a directory, as a copy of (fspath or URL, revision) or empty.
    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle>;

    /// Opens a directory that the receiver has.
    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle>;

    /// Sets or (with `None`) deletes a property of a directory.
    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()>;

    /// Ends a directory.
    fn close_directory(&mut self, dir: Handle) -> SvnResult<()>;

    /// There is a directory, but this user may not see it.
    fn absent_directory(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()>;

    /// Adds a file, as a copy of (fspath or URL, revision) or empty.
    fn add_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle>;

    /// Opens a file that the receiver has.
    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle>;

    /// Changes a file's contents. `base` is the checksum of the text that `delta` applies to. The
    /// editor pulls all of `delta`, or none of it when it does not care for the text.
    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()>;

    /// Sets or (with `None`) deletes a property of a file.
    fn change_file_prop(&mut self, file: Handle, name: &str, value: Option<&[u8]>)
    -> SvnResult<()>;

    /// Ends a file; `text` is the checksum its contents must now have.
    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()>;

    /// There is a file, but this user may not see it.
    fn absent_file(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()>;

    /// The edit is complete.
    fn close_edit(&mut self) -> SvnResult<()>;

    /// The edit is given up.
    fn abort_edit(&mut self) -> SvnResult<()>;
}
