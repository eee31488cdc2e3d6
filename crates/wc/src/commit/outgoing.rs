//! Sends the text of a changed file to the repository: it is read once, in normal form, and stored
//! as the new pristine text at the same time.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;

use sapwood_core::checksum::Md5Reader;
use sapwood_core::exact::Cut;
use sapwood_core::{ErrorCode, Md5, Meter, SvnError, SvnResult};
use sapwood_delta::{ComputedDelta, FullText, TextDelta};

use super::Item;
use crate::db::{Db, NodeRow};
use crate::error::{Error, Result};
use crate::pristine::{NewPristine, PristineWriter, stored_pristine};
use crate::props::rules::sets_flags;
use crate::translate::{Direction, TranslatedReader, Translation, special};
use crate::view::FileStat;

/// A text that is to be sent.
pub struct OutgoingText {
    local: TeeReader,
    base: Option<Base>,
    as_read: Option<FileStat>,
}

/// A text that was sent.
#[derive(Debug)]
pub struct SentText {
    /// It, ready to become the pristine text.
    pub pristine: NewPristine,
    /// The file as it was when it was read, if no work on it will be needed after the commit: it has this text
    /// byte by byte and the permission bits of a file without properties. If it has still this size and time, it
    /// has still this text: the clock had moved on from its time when it was read.
    pub(super) as_read: Option<FileStat>,
}

impl std::fmt::Debug for OutgoingText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutgoingText").finish_non_exhaustive()
    }
}

/// The pristine text that the delta is against.
struct Base {
    file: Md5Reader<BufReader<File>>,
    md5: Md5,
    shown: String,
}

/// Writes the text that is read into the pristine store, too.
struct TeeReader {
    inner: Box<dyn Read>,
    pristine: PristineWriter,
    meter: Meter,
}

impl Read for TeeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.pristine.write_all(buffer.head(len))?;
        self.meter.add_bytes(len);
        Ok(len)
    }
}

impl OutgoingText {
    /// Opens the working file of an item, and the text that it is compared with.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    pub fn open(item: &Item) -> Result<Self> {
        item.wc.db().questions(|| Self::open_it(item))
    }

    fn open_it(item: &Item) -> Result<Self> {
        let wc = &item.wc;
        let path = item.abspath();
        let view = wc.view(&item.relpath)?.ok_or_else(|| Error::NodeNotFound(path.clone()))?;
        let props = view.props()?;
        let translation = Translation::of(&props, None);
        let failed = |e| Error::io(e, "Can't open file", &path);
        let mut as_read = None;
        let inner: Box<dyn Read> = if translation.special {
            special::read_normal(&path).map_err(failed)?
        } else {
            let file = File::open(&path).map_err(failed)?;
            if !translation.is_needed() && !sets_flags(&props) {
                as_read = past_stat(wc.db(), &file).map_err(failed)?;
            }
            if translation.is_needed() {
                let translator = translation.translator(Direction::ToNormal, false)?;
                Box::new(TranslatedReader::new(file, translator))
            } else {
                Box::new(file)
            }
        };
        let has_history = !item.changes.add || item.changes.copy;
        let row = view.layers().find(|row| row.presence.is_there());
        let checksum = row.and_then(|row: &NodeRow| row.checksum).filter(|_| has_history);
        let base = match checksum {
            None => None,
            Some(sha1) => {
                let known = wc.db().pristine(&sha1)?.ok_or_else(|| Error::Corrupt {
                    path: path.clone(),
                    what: format!("pristine text {sha1} has no row"),
                })?;
                // A missing text base is not fetched: the whole text is sent.
                stored_pristine(wc.db(), wc.disk(), &sha1, known.hydrated)?.map(|file| Base {
                    file: Md5Reader::new(BufReader::new(file)),
                    md5: known.md5,
                    shown: path.display().to_string(),
                })
            }
        };
        let meter = wc.options().meter.clone();
        let local = TeeReader { inner, pristine: wc.write_pristine()?, meter };
        Ok(Self { local, base, as_read })
    }

    /// The checksum of the text that the delta is against.
    #[must_use]
    pub fn base_md5(&self) -> Option<Md5> {
        self.base.as_ref().map(|base| base.md5)
    }

    /// Gives the delta to `apply`, which need not take all of it, and ends the text.
    ///
    /// # Errors
    /// Those of `apply` and of reading; `E155017` for a pristine text that is damaged.
    pub fn send(
        mut self,
        apply: impl FnOnce(&mut dyn TextDelta) -> SvnResult<()>,
    ) -> SvnResult<SentText> {
        let sent = match &mut self.base {
            None => apply(&mut FullText::new(&mut self.local)),
            Some(base) => apply(&mut ComputedDelta::new(&mut base.file, &mut self.local)),
        };
        if let Some(base) = self.base {
            let found = base.file.finish_whole().map_err(SvnError::from_stream)?;
            if found != base.md5 {
                let shown = base.shown;
                let mismatch = format!(
                    "Checksum mismatch for text base of '{shown}':\n   expected:  {}\n     \
                     actual:  {found}\n",
                    base.md5
                );
                let error = SvnError::new(ErrorCode::CHECKSUM_MISMATCH, mismatch);
                return Err(error.wrap(ErrorCode::WC_CORRUPT_TEXT_BASE, ""));
            }
        }
        sent?;
        io::copy(&mut self.local, &mut io::sink()).map_err(SvnError::from_stream)?;
        self.local.meter.add_file();
        Ok(SentText { pristine: self.local.pristine.finish(), as_read: self.as_read })
    }
}

/// Size and time of an open file that may be written and not executed, if files that are changed from now on get
/// a later time.
fn past_stat(db: &Db, file: &File) -> io::Result<Option<FileStat>> {
    let found = file.metadata()?;
    let mode = found.permissions().mode();
    let stat = FileStat::of(&found);
    let as_made = mode & 0o111 == 0 && mode & 0o200 != 0;
    Ok((stat.file && as_made && db.clock().is_past(stat.mtime)).then_some(stat))
}
