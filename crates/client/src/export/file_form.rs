//! Files of an export, in the form that their properties ask for.
//!
//! Invariant: a file whose text cannot be written whole is removed.

use std::fs;
use std::io::{self, Read, Write as _};
use std::path::Path;

use sapwood_core::date::Timestamp;
use sapwood_core::paths::UrlBuf;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult};
use sapwood_wc::translate::{EolStyle, KeywordSource, TranslatedReader, Translation, special};

use super::Export;
use super::text::{self, Text};
use crate::context::Context;

/// What is known of a file's form.
pub(super) struct FileForm {
    pub(super) props: PropList,
    pub(super) revision: Option<Revnum>,
    /// Whether it has local changes.
    pub(super) modified: bool,
    /// Whether the text is that of a working file, with keywords expanded.
    pub(super) is_working: bool,
    /// The time of files whose last change has none.
    pub(super) otherwise: Option<Timestamp>,
    pub(super) date: Option<Timestamp>,
    pub(super) author: Option<String>,
    pub(super) url: UrlBuf,
    pub(super) root: UrlBuf,
}

impl FileForm {
    pub(super) fn new(url: UrlBuf, root: UrlBuf) -> Self {
        let props = PropList::new();
        Self {
            props,
            revision: None,
            modified: false,
            is_working: false,
            otherwise: None,
            date: None,
            author: None,
            url,
            root,
        }
    }

    /// Takes a property of the file, or of its last change.
    pub(super) fn take(&mut self, name: &str, value: Option<&[u8]>) {
        let Some(value) = value else { return };
        match name {
            names::ENTRY_COMMITTED_REV => self.revision = Revnum::parse(value),
            names::ENTRY_COMMITTED_DATE => self.date = Timestamp::parse(value).ok(),
            names::ENTRY_LAST_AUTHOR => {
                self.author = Some(sapwood_core::ascii::readable(value).into_owned());
            }
            name if name.starts_with(names::ENTRY_PREFIX) => {}
            name => drop(self.props.set(name, value)),
        }
    }

    pub(super) fn translation(&self, ctx: &Context, how: &Export) -> Translation {
        let source = KeywordSource {
            revision: self.revision,
            modified: self.modified,
            date: self.date,
            author: self.author.as_deref(),
            url: &self.url,
            root: &self.root,
            zone: &ctx.wc.zone,
        };
        let mut translation = Translation::of(&self.props, Some(&source));
        if how.ignore_keywords && !self.is_working {
            translation.keywords = None;
        }
        if let (EolStyle::Native, Some(eol)) = (translation.eol, how.native_eol) {
            translation.eol = EolStyle::Fixed(eol);
        }
        translation
    }

    /// Writes a file that came in normal form.
    pub(super) fn write(
        &self,
        ctx: &Context,
        to: &Path,
        text: Text,
        how: &Export,
    ) -> SvnResult<()> {
        let failed = |e| cannot_write(to, &e);
        let translation = self.translation(ctx, how);
        let mut kept = match text {
            Text::Memory(text) => return self.write_bytes(to, text, &translation),
            Text::Kept(kept) => kept,
        };
        if !translation.changes_normal_form() {
            remove_old(to)?;
            let file = text::place(kept, to, self.is_executable()).map_err(failed)?;
            return self.set_time(&file).map_err(failed);
        }
        io::Seek::rewind(kept.as_file_mut()).map_err(failed)?;
        self.write_from(to, kept.as_file_mut(), &translation, how)
    }

    /// Writes a small file, with one call.
    pub(super) fn write_bytes(
        &self,
        to: &Path,
        text: Vec<u8>,
        translation: &Translation,
    ) -> SvnResult<()> {
        let failed = |e| cannot_write(to, &e);
        if translation.special {
            remove_old(to)?;
            return special::create_working(to, &mut text.as_slice()).map_err(failed);
        }
        let text = match translation.changes_normal_form() {
            true => translation.exporter(true, true).whole(&text)?,
            false => text,
        };
        let mut file = self.create(to).map_err(failed)?;
        file.write_all(&text).map_err(failed)?;
        self.set_time(&file).map_err(failed)
    }

    /// Makes the file, in place of an existing one. Most often there is none.
    fn create(&self, to: &Path) -> io::Result<fs::File> {
        let mut options = fs::OpenOptions::new();
        let mode = if self.is_executable() { 0o777 } else { 0o666 };
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        options.write(true).create_new(true);
        match options.open(to) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(to).and_then(|()| options.open(to))
            }
            other => other,
        }
    }

    /// Writes a file whose text a reader gives.
    pub(super) fn write_from(
        &self,
        to: &Path,
        from: &mut dyn Read,
        translation: &Translation,
        how: &Export,
    ) -> SvnResult<()> {
        let failed = |e: io::Error| match SvnError::from_stream(e) {
            error if error.code() == ErrorCode::IO_INCONSISTENT_EOL => error,
            error => error.context(format!("Can't write to file '{}'", to.display())),
        };
        if translation.special {
            remove_old(to)?;
            return special::create_working(to, from).map_err(failed);
        }
        let mut file = self.create(to).map_err(failed)?;
        let expand = !(self.is_working && how.ignore_keywords);
        // Working files must not have mixed line ends.
        let translator = translation.exporter(!self.is_working, expand);
        let copied = match translator.is_identity() {
            true => io::copy(from, &mut file),
            false => io::copy(&mut TranslatedReader::new(from, translator), &mut file),
        };
        if let Err(error) = copied {
            let _ = fs::remove_file(to);
            return Err(failed(error));
        }
        self.set_time(&file).map_err(failed)
    }

    pub(super) fn is_executable(&self) -> bool {
        self.props.get(names::EXECUTABLE).is_some()
    }

    fn set_time(&self, file: &fs::File) -> io::Result<()> {
        let Some(time) = self.date.or(self.otherwise) else { return Ok(()) };
        let since = std::time::Duration::from_micros(time.0.unsigned_abs());
        match std::time::UNIX_EPOCH.checked_add(since) {
            Some(at) => file.set_times(fs::FileTimes::new().set_accessed(at).set_modified(at)),
            None => Ok(()),
        }
    }
}

pub(super) fn cannot_write(to: &Path, error: &io::Error) -> SvnError {
    SvnError::io(error, format!("Can't write to file '{}'", to.display()))
}

fn remove_old(to: &Path) -> SvnResult<()> {
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_write(to, &error)),
        _ => Ok(()),
    }
}
