//! Short texts, made whole in memory: the svndiff of each step of the chain is applied to the text before it, without the
//! readers that long texts need. They stay in the caches, for deltas to them and for the next reader.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::Arc;

use sapwood_core::exact::clamped;
use sapwood_core::{Cut, Exact, Md5, SvnError, len64};
use sapwood_delta::svndiff::{Scratch, WindowHeader, decode_window};
use sapwood_delta::{Version, Window};
use sapwood_fsx_format::{ChangeSet, Error as FormatError, Id, RepHeader, Representation, rep};

use crate::cached::KeptText;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::items::{CHAIN, HEADER, KEPT_TEXT, txn_of};
use crate::revfile::RevFile;

/// Bytes of svndiff that a chain may have.
const CHAIN_LEN: u64 = 4 << 20;
/// Bytes of a text on the way.
const STEP_LEN: usize = 1 << 20;

thread_local! {
    /// Decompressors are large: one a thread is enough.
    static WORK: RefCell<(Scratch, Window)> = RefCell::default();
}

/// A whole text.
pub(crate) enum Text {
    Kept(Arc<KeptText>),
    Owned(Vec<u8>),
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Kept(kept) => &kept.text,
            Self::Owned(text) => text,
        }
    }
}

/// One step of a chain: the file, and where its svndiff is.
struct Step {
    file: Arc<RevFile>,
    /// Where the representation begins.
    offset: u64,
    /// Its svndiff, in the representation.
    svndiff: Range<usize>,
    /// Bytes of the representation.
    len: u64,
}

impl Step {
    fn bytes(&self) -> Result<Cow<'_, [u8]>> {
        self.file.slice(self.offset, self.len)
    }
}

impl Filesystem {
    /// A short text of a revision; `None` for a long one, or one whose chain is long.
    pub(crate) fn short_text(&self, rep: &Representation) -> Result<Option<Arc<KeptText>>> {
        let kept = self.0.cached.text(rep.id).filter(|kept| kept.md5 == rep.md5);
        if kept.is_some() {
            return Ok(kept);
        }
        if rep.expanded_size > len64(KEPT_TEXT) || txn_of(rep.id).is_some() {
            return Ok(None);
        }
        let known = |id| self.0.cached.text(id);
        let made = self.0.while_packed(|| self.resolve(rep, &known, false))?;
        let Some(text) = made else { return Ok(None) };
        let md5 = Md5::of(&text);
        if md5 != rep.md5 || len64(text.len()) != rep.expanded_size {
            return Err(Error::mismatch(rep, md5, len64(text.len())));
        }
        Ok(Some(self.0.cached.keep_text(rep.id, KeptText { md5, text })))
    }

    /// A short text of a revision, to be written elsewhere: the checksums of all that it is made of are compared, which takes less
    /// than its own one; a reader compares that. `known` are texts that were made so before.
    pub(crate) fn copied_text(
        &self,
        rep: &Representation,
        known: &HashMap<Id, Arc<KeptText>>,
    ) -> Result<Option<Arc<KeptText>>> {
        let Some(text) = self.resolve(rep, &|id| known.get(&id).cloned(), true)? else {
            return Ok(None);
        };
        if len64(text.len()) != rep.expanded_size {
            return Err(Error::mismatch(rep, rep.md5, len64(text.len())));
        }
        Ok(Some(Arc::new(KeptText { md5: rep.md5, text })))
    }

    /// Makes a text; `None` when its chain is long. With `check` the checksums of all items are compared.
    fn resolve(
        &self,
        rep: &Representation,
        known: &dyn Fn(Id) -> Option<Arc<KeptText>>,
        check: bool,
    ) -> Result<Option<Vec<u8>>> {
        let mut steps = Vec::new();
        let mut left = CHAIN_LEN;
        let mut base = Text::Owned(Vec::new());
        let mut next = Some((rep.id, rep.size));
        while let Some((id, size)) = next {
            if steps.len() >= CHAIN {
                return Err(Error::Corrupt(format!("The deltas of '{}' form a circle", rep.id)));
            }
            if let Some(kept) = known(id).filter(|_| !steps.is_empty()) {
                base = Text::Kept(kept);
                break;
            }
            let revision = id.change_set.revision().ok_or_else(|| {
                Error::Corrupt(format!("Representation '{id}' is not in a revision"))
            })?;
            let (key, file) = self.0.revision_file(revision)?;
            let item = file.find(revision, id.number)?;
            // A base may be longer than the text that is made of it.
            let limit = rep.expanded_size.max(1 << 24);
            if let Some(text) = self.0.contained_text(key, &file, &item, limit)? {
                base = Text::Owned(text);
                break;
            }
            let Some(rest) = left.checked_sub(item.size) else { return Ok(None) };
            left = rest;
            if check {
                file.bytes(&item, item.kind)?;
            }
            let (step, header) = step(file, item.offset, item.size, size)?;
            steps.push(step);
            next = header.base.map(|(revision, number, size)| {
                (Id { change_set: ChangeSet::Revision(revision), number }, size)
            });
        }
        let mut text = match base {
            Text::Owned(text) if steps.is_empty() => return Ok(Some(text)),
            base => base,
        };
        while let Some(step) = steps.pop() {
            let mut made = Vec::with_capacity(clamped(rep.expanded_size));
            let bytes = step.bytes()?;
            let svndiff = bytes.piece(step.svndiff.clone());
            apply(svndiff, &text, &mut made).map_err(|error| Error::Svn(SvnError::from(error)))?;
            if made.len() > STEP_LEN {
                return Ok(None);
            }
            text = Text::Owned(made);
        }
        Ok(Some(match text {
            Text::Owned(text) => text,
            Text::Kept(kept) => kept.text.clone(),
        }))
    }
}

/// The representation at an offset of a file, whose node-revision says that it has `size` bytes of svndiff.
fn step(file: Arc<RevFile>, offset: u64, len: u64, size: u64) -> Result<(Step, RepHeader)> {
    let wrong = |error| file.wrong(offset, error);
    let (header, line) = RepHeader::parse(&file.slice(offset, len.min(HEADER))?).map_err(wrong)?;
    if len64(line.plus(rep::END.len())).checked_add(size) != Some(len) {
        let error =
            FormatError::corrupt("Representation of another length than its node-revision says");
        return Err(wrong(error));
    }
    let svndiff = line..line.plus(clamped(size));
    Ok((Step { file, offset, svndiff, len }, header))
}

/// Appends what svndiff makes of a text, as far as [`STEP_LEN`] and a window.
fn apply(
    svndiff: &[u8],
    source: &[u8],
    made: &mut Vec<u8>,
) -> std::result::Result<(), sapwood_delta::Error> {
    use sapwood_delta::Error as Delta;
    let (head, mut rest) = svndiff.split_first_chunk().ok_or(Delta::UnexpectedEnd)?;
    let version = Version::of_header(*head)?;
    WORK.with_borrow_mut(|(scratch, window)| {
        while !rest.is_empty() && made.len() <= STEP_LEN {
            let (header, len) = WindowHeader::parse(rest)?.ok_or(Delta::UnexpectedEnd)?;
            let body = rest.tail(len);
            let (body, after) =
                body.split_at_checked(header.body_len()).ok_or(Delta::UnexpectedEnd)?;
            decode_window(version, &header, body, scratch, window)?;
            let view = source.get(clamped(header.source_offset)..).unwrap_or(&[]);
            window.apply(view, made)?;
            rest = after;
        }
        Ok(())
    })
}
