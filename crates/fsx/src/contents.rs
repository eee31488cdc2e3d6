//! Texts: of files of any length, of directories and of property lists.
//!
//! A representation is a delta against another one, and so on: the chain is read from all of its files at once, one
//! window of each, so that memory does not depend on the length of the text. At the end length and MD5 are compared with those
//! that the node-revision has.

use std::collections::HashSet;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::{Cut, Exact, Md5, SvnError, SvnResult, len64};
use sapwood_delta::{ApplyReader, Decoder, TextDelta, Window};
use sapwood_fsx_format::p2l::ItemType;
use sapwood_fsx_format::{ChangeSet, Error as FormatError, Id, RepHeader, Representation, rep};
use sapwood_store::StoredFile;

use crate::cached::KeptText;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::items::{CHAIN, HEADER, txn_of};
use crate::revfile::{RevFile, read_at};
use crate::short::Text;

/// Bytes of svndiff that are read at once.
const PIECE: u64 = 64 << 10;
/// Bytes of a text that are handed out at once, but one.
const LARGEST_PIECE: usize = 64 << 10;
/// Reads a text. Reading fails at the end when it is not the text that the node-revision means.
pub struct Contents {
    inner: Inner,
    rep: Option<Representation>,
    len: u64,
    /// What [`Contents::next_piece`] returned last.
    piece: Vec<u8>,
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contents").field("rep", &self.rep).finish_non_exhaustive()
    }
}

enum Inner {
    /// A short text, whose checksum was compared, and how much of it was read.
    Kept(Arc<KeptText>, usize),
    /// A long one.
    Stream(Box<dyn Read + Send + Sync>, Option<Md5Hasher>),
}

impl Read for Contents {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let (inner, hasher) = match &mut self.inner {
            Inner::Kept(kept, at) => {
                let read = kept.text.tail(*at).read(buf)?;
                *at = at.plus(read);
                return Ok(read);
            }
            Inner::Stream(inner, hasher) => (inner, hasher),
        };
        let read = inner.read(buf)?;
        self.len = self.len.plus(len64(read));
        if let Some(hasher) = hasher {
            hasher.update(buf.get(..read).unwrap_or_default());
        }
        if read == 0
            && !buf.is_empty()
            && let Some(hasher) = hasher.take()
        {
            let actual = hasher.finish();
            self.check(actual).map_err(|error| io::Error::other(SvnError::from(error)))?;
        }
        Ok(read)
    }
}

impl Contents {
    /// Fills some of `buf`; 0 at the end.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn read_some(&mut self, buf: &mut [u8]) -> Result<usize> {
        self.read(buf).map_err(|error| Error::Svn(SvnError::from_stream(error)))
    }

    /// The next part of the contents, never empty, of at most 64 KiB and a byte; `None` at the end.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn next_piece(&mut self) -> Result<Option<&[u8]>> {
        if matches!(self.inner, Inner::Stream(..)) {
            return self.next_of_stream();
        }
        let Inner::Kept(kept, at) = &mut self.inner else { return Ok(None) };
        let rest = kept.text.tail(*at);
        let piece = rest.get(..LARGEST_PIECE).unwrap_or(rest);
        *at = at.plus(piece.len());
        Ok((!piece.is_empty()).then_some(piece))
    }

    fn next_of_stream(&mut self) -> Result<Option<&[u8]>> {
        let mut piece = std::mem::take(&mut self.piece);
        // One byte more than is expected, so that the end is found, and with it the checksum is compared.
        let left = self.rep.map_or(0, |rep| rep.expanded_size).saturating_sub(self.len);
        let len = usize::try_from(left).map_or(LARGEST_PIECE, |left| left.min(LARGEST_PIECE));
        piece.resize(len.plus(1), 0);
        let read = self.read_some(&mut piece)?;
        piece.truncate(read);
        self.piece = piece;
        Ok((read > 0).then_some(&self.piece))
    }

    fn check(&self, actual: Md5) -> Result<()> {
        match &self.rep {
            Some(rep) if rep.md5 != actual || rep.expanded_size != self.len => {
                Err(Error::mismatch(rep, actual, self.len))
            }
            _ => Ok(()),
        }
    }
}

/// The svndiff of a representation.
pub(crate) struct StoredWindows {
    pub(crate) file: Arc<dyn StoredFile>,
    pub(crate) path: PathBuf,
    /// Where the rest of it begins, and how many bytes that has.
    pub(crate) at: u64,
    pub(crate) left: u64,
    decoder: Decoder,
}

impl TextDelta for StoredWindows {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        loop {
            if let Some(window) = self.decoder.next_window()? {
                return Ok(Some(window));
            }
            if self.left == 0 {
                self.decoder.finish()?;
                return Ok(None);
            }
            let len = self.left.min(PIECE);
            self.decoder.push(&read_at(&*self.file, &self.path, self.at, len)?);
            self.at = self.at.plus(len);
            self.left = self.left.minus(len);
        }
    }
}

/// A text that is kept in the caches, whose checksum its writer made.
struct KeptTextRead(Arc<KeptText>);

impl AsRef<[u8]> for KeptTextRead {
    fn as_ref(&self) -> &[u8] {
        &self.0.text
    }
}

/// One step of a chain.
pub(crate) enum Link {
    Text(Vec<u8>),
    Delta(Box<StoredWindows>, Option<(Id, u64)>),
}

impl Filesystem {
    /// A text by its representation; `None` is the empty one.
    pub(crate) fn contents(&self, rep: Option<Representation>) -> Result<Contents> {
        let inner = match &rep {
            None => Inner::Stream(Box::new(io::empty()), None),
            Some(found) => match self.short_text(found)? {
                Some(kept) => Inner::Kept(kept, 0),
                None => {
                    let chain = self.0.while_packed(|| self.chain(found))?;
                    Inner::Stream(chain, Some(Md5Hasher::new()))
                }
            },
        };
        Ok(Contents { inner, rep, len: 0, piece: Vec::new() })
    }

    /// A whole text of at most `limit` bytes.
    pub(crate) fn whole(&self, rep: Option<Representation>, limit: u64) -> Result<Text> {
        let size = rep.map_or(0, |rep| rep.expanded_size);
        if size > limit {
            let error = FormatError::TooLarge { what: "representation", size, limit };
            return Err(Error::Svn(error.into()));
        }
        let mut contents = self.contents(rep)?;
        if let Inner::Kept(kept, _) = contents.inner {
            return Ok(Text::Kept(kept));
        }
        let mut text = Vec::new();
        let read = contents.read_to_end(&mut text);
        read.map_err(|error| Error::Svn(SvnError::from_stream(error)))?;
        Ok(Text::Owned(text))
    }

    /// The same without a comparison at its end.
    pub(crate) fn chain(&self, rep: &Representation) -> Result<Box<dyn Read + Send + Sync>> {
        let mut deltas = Vec::new();
        let mut seen = HashSet::new();
        let mut next = Some((rep.id, rep.size));
        let mut source: Box<dyn Read + Send + Sync> = Box::new(io::empty());
        while let Some((id, size)) = next {
            if !seen.insert(id) || deltas.len() >= CHAIN {
                return Err(Error::Corrupt(format!("The deltas of '{}' form a circle", rep.id)));
            }
            if let Some(text) = self.0.cached.text(id) {
                source = Box::new(Cursor::new(KeptTextRead(text)));
                break;
            }
            match self.link(id, size, rep.expanded_size)? {
                Link::Text(text) => {
                    source = Box::new(Cursor::new(text));
                    next = None;
                }
                Link::Delta(windows, base) => {
                    deltas.push(windows);
                    next = base;
                }
            }
        }
        while let Some(delta) = deltas.pop() {
            source = Box::new(ApplyReader::new(*delta, source));
        }
        Ok(source)
    }

    /// The first line of a representation; `None` for a text in a container.
    pub(crate) fn rep_header(&self, id: Id) -> Result<Option<RepHeader>> {
        let Some(revision) = id.change_set.revision() else {
            return Err(Error::Corrupt(format!("Representation '{id}' is not in a revision")));
        };
        let (_, file) = self.0.revision_file(revision)?;
        let item = file.find(revision, id.number)?;
        if item.kind == ItemType::RepsContainer {
            return Ok(None);
        }
        let head = read_at(&*file.file, &file.path, item.offset, item.size.min(HEADER))?;
        let parsed = RepHeader::parse(&head).map_err(|error| file.wrong(item.offset, error))?;
        Ok(Some(parsed.0))
    }

    pub(crate) fn link(&self, id: Id, size: u64, expanded: u64) -> Result<Link> {
        if let Some(txn) = txn_of(id) {
            return self.txn_link(txn, id, size);
        }
        let Some(revision) = id.change_set.revision() else {
            return Err(Error::Corrupt(format!("Representation '{id}' is not in a revision")));
        };
        let (key, file) = self.0.revision_file(revision)?;
        let item = file.find(revision, id.number)?;
        // A base may be longer than the text that is made of it.
        let limit = expanded.max(1 << 24);
        if let Some(text) = self.0.contained_text(key, &file, &item, limit)? {
            return Ok(Link::Text(text));
        }
        self.stored(&file, item.offset, item.size, size)
    }

    fn stored(&self, file: &Arc<RevFile>, offset: u64, len: u64, size: u64) -> Result<Link> {
        let wrong = |error| file.wrong(offset, error);
        let head = read_at(&*file.file, &file.path, offset, len.min(HEADER))?;
        let (header, line) = RepHeader::parse(&head).map_err(wrong)?;
        let end = len64(line.plus(rep::END.len()));
        if end.checked_add(size) != Some(len) {
            let error = FormatError::corrupt(
                "Representation of another length than its node-revision says",
            );
            return Err(wrong(error));
        }
        let place = (Arc::clone(&file.file), file.path.clone());
        Ok(delta_of(place, offset.plus(len64(line)), size, &header))
    }

    /// A delta in the prototype of a transaction, at an offset, whose svndiff has `size` bytes; `head` is what is there.
    pub(crate) fn txn_delta(
        &self,
        place: (Arc<dyn StoredFile>, PathBuf),
        (offset, size): (u64, u64),
        head: &[u8],
    ) -> Result<Link> {
        let (header, line) = RepHeader::parse(head).map_err(|error| {
            let path = place.1.clone();
            Error::Item { path, offset, error }
        })?;
        Ok(delta_of(place, offset.plus(len64(line)), size, &header))
    }
}

/// The svndiff at an offset of a file.
fn delta_of(
    (file, path): (Arc<dyn StoredFile>, PathBuf),
    at: u64,
    size: u64,
    header: &RepHeader,
) -> Link {
    let windows = StoredWindows { file, path, at, left: size, decoder: Decoder::new() };
    let base = header.base.map(|(revision, number, size)| {
        (Id { change_set: ChangeSet::Revision(revision), number }, size)
    });
    Link::Delta(Box::new(windows), base)
}
