//! Archives of a directory as it was in a revision: `.tar.gz` and `.zip`, made piece by piece while they are sent.
//!
//! Invariants: no more of the tree is in memory than its path to the file that is being written (and of a `.zip` the list of
//! names at its end, which its limits bound); what may not be read is left out; the same address gives the same bytes.

mod names;
mod tar;
mod zip;

use std::fmt;

use sapwood_core::exact::{Exact as _, len64};
use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::names as props;
use sapwood_core::{ErrorCode, FsPath, NodeKind, SvnError, SvnResult};
use sapwood_fs::{Contents, Filesystem, Node};
use sapwood_repos::{SharedAuthorizer, TreeWalk, committed_info};

use crate::Request;
use crate::address::Kind;
use crate::archive_form::ArchiveForm;
use crate::fault::{Fault, Result};
use crate::{budget, times, words};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    Dir,
    File { is_executable: bool },
    Link,
}

impl EntryKind {
    /// The permissions.
    const fn mode(self) -> u32 {
        match self {
            Self::Dir | Self::File { is_executable: true } => 0o755,
            Self::File { is_executable: false } => 0o644,
            Self::Link => 0o777,
        }
    }
}

/// One entry of an archive.
#[derive(Debug)]
struct Entry<'a> {
    /// Its safe name.
    name: &'a str,
    kind: EntryKind,
    /// Bytes of a file's text.
    size: u64,
    /// Where a symbolic link leads; empty for others.
    target: &'a str,
    /// When it was changed last, as Subversion writes dates.
    date: &'a str,
}

impl Entry<'_> {
    /// Seconds since 1970; 0 for a time that archives do not have.
    fn seconds(&self) -> u64 {
        times::seconds(self.date).and_then(|time| u64::try_from(time).ok()).unwrap_or(0)
    }
}

/// What writes the bytes of one form.
enum Packer {
    TarGz(tar::Tar),
    Zip(zip::Zip),
}

impl Packer {
    fn begin(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) -> SvnResult<()> {
        match self {
            Self::TarGz(tar) => tar.begin(entry, out),
            Self::Zip(zip) => zip.begin(entry, out),
        }
    }

    fn text(&mut self, piece: &[u8], out: &mut Vec<u8>) -> SvnResult<()> {
        match self {
            Self::TarGz(tar) => tar.text(piece, out),
            Self::Zip(zip) => zip.text(piece, out),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        match self {
            Self::TarGz(tar) => tar.end(out),
            Self::Zip(zip) => zip.end(out),
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        match self {
            Self::TarGz(tar) => tar.finish(out),
            Self::Zip(zip) => zip.finish(out),
        }
    }
}

/// The file whose text is being written.
struct Open {
    contents: Contents,
    path: FsPathBuf,
    /// Bytes that are still to come.
    left: u64,
}

/// An archive that is being made.
pub struct Archive {
    form: ArchiveForm,
    /// The name of the folder in it, and of its file.
    name: String,
    top: FsPathBuf,
    fs: Filesystem,
    walk: TreeWalk,
    packer: Packer,
    open: Option<Open>,
    /// The date of the directory itself, until that was written.
    first: Option<String>,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The archive that an address is about; `None` for addresses of pages. `access` has the rules of the request's view: the
/// archive is made after the request has ended.
///
/// # Errors
/// [`Fault::Missing`] where there is no such directory for this user, [`Fault::TooMuch`] where it is too large; corruption
/// and system errors.
pub fn archive(request: &Request<'_>, access: &SharedAuthorizer) -> Result<Option<Archive>> {
    let Kind::Archive(form) = request.address.kind() else { return Ok(None) };
    let found = request.view.at(request.address)?;
    if found.node.kind() != NodeKind::Dir {
        return Err(Fault::Missing);
    }
    measure(request.view.walk(&found, access)?)?;
    let own = if found.path.is_root() { request.name } else { found.path.name() };
    let date = date_of(found.root.fs(), &found.node)?;
    Ok(Some(Archive {
        form,
        name: format!("{}-r{}", names::safe(own, form), found.revision),
        top: found.path.clone(),
        fs: found.root.fs().clone(),
        walk: request.view.long_walk(&found, access)?,
        packer: match form {
            ArchiveForm::TarGz => Packer::TarGz(tar::Tar::new()),
            ArchiveForm::Zip => Packer::Zip(zip::Zip::new()),
        },
        open: None,
        first: Some(date),
    }))
}

/// Whether a tree is small enough: known before the first byte is sent, for a part could be taken for the whole.
fn measure(mut walk: TreeWalk) -> Result<()> {
    const TOO_LARGE: Fault = Fault::TooMuch(words::ARCHIVE_TOO_LARGE);
    let (mut entries, mut bytes, mut names) = (0usize, 0u64, 0usize);
    while let Some((path, node)) = walk.next_node()? {
        entries = entries.plus(1);
        names = names.plus(path.as_str().len());
        if path.as_str().len() > budget::ARCHIVE_NAME || names > budget::ARCHIVE_NAMES {
            return Err(TOO_LARGE);
        }
        if node.kind() == NodeKind::File {
            bytes = bytes.checked_add(node.length()?).ok_or(TOO_LARGE)?;
        }
        if entries > budget::ARCHIVE_ENTRIES || bytes > budget::ARCHIVE_BYTES {
            return Err(TOO_LARGE);
        }
    }
    Ok(())
}

fn date_of(fs: &Filesystem, node: &Node) -> SvnResult<String> {
    let info = committed_info(&mut fs.revprops_snapshot(), node)?;
    Ok(info.date().unwrap_or("").to_owned())
}

impl Archive {
    /// The headers of its reply.
    #[must_use]
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let end = self.form.as_str();
        let ascii = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let plain: String = self.name.chars().map(ascii).collect();
        let full = crate::links::field(&self.name);
        let disposition =
            format!("attachment; filename=\"{plain}.{end}\"; filename*=UTF-8''{full}.{end}");
        vec![
            ("content-type", self.form.media_type().to_owned()),
            ("content-disposition", disposition),
            ("cache-control", "private, no-cache".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("x-robots-tag", "noindex, nofollow".to_owned()),
        ]
    }

    /// Appends the next piece; `false` after the last one.
    ///
    /// # Errors
    /// Cancellation, corruption and system errors: what was made is not whole then.
    pub fn make(&mut self, out: &mut Vec<u8>) -> SvnResult<bool> {
        if let Some(date) = self.first.take() {
            let name = format!("{}/", self.name);
            let entry =
                Entry { name: &name, kind: EntryKind::Dir, size: 0, target: "", date: &date };
            self.packer.begin(&entry, out)?;
            self.packer.end(out)?;
            return Ok(true);
        }
        if self.open.is_some() {
            self.go_on(out)?;
            return Ok(true);
        }
        match self.walk.next_node()? {
            Some((path, node)) => self.enter(path, &node, out)?,
            None => {
                self.packer.finish(out)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Begins with the next node.
    fn enter(&mut self, path: FsPathBuf, node: &Node, out: &mut Vec<u8>) -> SvnResult<()> {
        let date = date_of(&self.fs, node)?;
        let levels = depth(&path).minus(depth(&self.top));
        let mut name = self.name_of(&path);
        if node.kind() == NodeKind::Dir {
            name.push('/');
            let entry =
                Entry { name: &name, kind: EntryKind::Dir, size: 0, target: "", date: &date };
            self.packer.begin(&entry, out)?;
            return self.packer.end(out);
        }
        if let Some(target) = link_target(node, levels)? {
            let entry =
                Entry { name: &name, kind: EntryKind::Link, size: 0, target: &target, date: &date };
            self.packer.begin(&entry, out)?;
            return self.packer.end(out);
        }
        let is_executable = node.props()?.get(props::EXECUTABLE).is_some();
        let (kind, size) = (EntryKind::File { is_executable }, node.length()?);
        self.packer.begin(&Entry { name: &name, kind, size, target: "", date: &date }, out)?;
        self.open = Some(Open { contents: node.contents()?, path, left: size });
        Ok(())
    }

    /// The name of a node in the archive.
    fn name_of(&self, path: &FsPath) -> String {
        let mut name = self.name.clone();
        for part in path.names().filter(|name| !name.is_empty()).skip(depth(&self.top)) {
            name.push('/');
            name.push_str(&names::safe(part, self.form));
        }
        name
    }

    /// Writes a piece of the open file.
    fn go_on(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let Some(piece) = open.contents.next_piece()? else {
            if open.left > 0 {
                let message = format!("the text of '{}' is shorter than its length", open.path);
                return Err(SvnError::new(ErrorCode::FS_CORRUPT, message));
            }
            return self.packer.end(out);
        };
        let length = len64(piece.len());
        if length > open.left {
            let message = format!("the text of '{}' is longer than its length", open.path);
            return Err(SvnError::new(ErrorCode::FS_CORRUPT, message));
        }
        open.left = open.left.minus(length);
        self.packer.text(piece, out)?;
        self.open = Some(open);
        Ok(())
    }
}

/// How many names a path has.
fn depth(path: &FsPath) -> usize {
    path.names().filter(|name| !name.is_empty()).count()
}

/// The longest text that can be that of a symbolic link.
const LINK: u64 = 4096;

/// Where a symbolic link leads that is so many levels below the archive's folder; `None` for what is none, and for one that
/// leads out of it: that is written as Subversion writes it where there are no links.
fn link_target(node: &Node, levels: usize) -> SvnResult<Option<String>> {
    if node.props()?.get(props::SPECIAL).is_none() || node.length()? > LINK {
        return Ok(None);
    }
    let mut contents = node.contents()?;
    let mut text = Vec::new();
    while let Some(piece) = contents.next_piece()? {
        text.extend_from_slice(piece);
    }
    let text = String::from_utf8(text).ok();
    let target = text.as_deref().and_then(|text| text.strip_prefix("link "));
    Ok(target.filter(|target| names::stays_inside(target, levels)).map(str::to_owned))
}
