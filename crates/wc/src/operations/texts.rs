//! Operations on pristine texts, text bases and the texts of working files. The functions: `pristine`, `text_base`,
//! `local::install`.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, PropList, Sha1};

use crate::error::Result;
use crate::local::install;
use crate::local::install::NewText;
use crate::pristine::{NewPristine, PristineFile, PristineWriter};
use crate::root::WorkingCopy;
use crate::shelf::v2;
use crate::text_base::{MissingText, TextBase, TextBaseFile};
use crate::translate::Translation;
use crate::{pristine, text_base};

impl WorkingCopy {
    /// Writes a working file from a text in normal form, over what may be there. Its directory must be there.
    ///
    /// # Errors
    /// That the text cannot be read or the file not be written.
    pub fn install_text(
        &self,
        relpath: &RelPath,
        text: NewText<'_>,
        translation: &Translation,
        executable: bool,
    ) -> Result<()> {
        install::install_text(self.disk(), relpath, text, translation, executable)
    }

    /// Writes a special file from its normal form, over what may be there.
    ///
    /// # Errors
    /// That it cannot be made.
    pub fn install_special(&self, relpath: &RelPath, normal: &mut dyn Read) -> Result<()> {
        install::install_special(self.disk(), relpath, normal)
    }

    /// Whether all pristine texts are kept.
    #[must_use]
    pub fn stores_pristines(&self) -> bool {
        pristine::stores_pristines(self.db())
    }

    /// Begins a text.
    ///
    /// # Errors
    /// That the file cannot be made.
    pub fn write_pristine(&self) -> Result<PristineWriter> {
        pristine::write_pristine(self.disk())
    }

    /// Gives a text its row and its place. Must run within [`Db::write`](crate::Db::write), which
    /// it opens when none is.
    ///
    /// # Errors
    /// That the file cannot be renamed; SQLite's.
    pub fn install_pristine(&self, text: NewPristine) -> Result<()> {
        pristine::install_pristine(self.db(), self.disk(), text)
    }

    /// Opens a text.
    ///
    /// # Errors
    /// E155010 when the store does not have it.
    pub fn open_pristine(&self, sha1: &Sha1) -> Result<File> {
        pristine::open_pristine(self.disk(), sha1)
    }

    /// A text that is opened later, perhaps by another thread.
    #[must_use]
    pub fn pristine_file(&self, sha1: &Sha1) -> PristineFile {
        pristine::pristine_file(self.disk(), sha1)
    }

    /// Removes the texts that nothing refers to.
    ///
    /// # Errors
    /// SQLite's; that a file cannot be removed.
    pub fn vacuum_pristines(&self) -> Result<()> {
        pristine::vacuum_pristines(self.db(), self.disk())
    }

    /// Checks that a path is really below the root on disk: that all its parents are directories, and none of
    /// them a symbolic link.
    ///
    /// # Errors
    /// E155000 when one is not.
    pub fn check_inside(&self, relpath: &RelPath) -> Result<()> {
        v2::check_inside(self.disk(), relpath)
    }

    /// Puts a shelved file in its place, with its mode. Missing parent directories are made.
    ///
    /// # Errors
    /// As [`WorkingCopy::check_inside`]; that it cannot be written.
    pub fn install_shelved(&self, relpath: &RelPath, text: &Path, props: &PropList) -> Result<()> {
        v2::install_shelved(self.disk(), relpath, text, props)
    }

    /// Opens the text base `sha1` of the node at `relpath`.
    ///
    /// # Errors
    /// E155010 when the store should have it; E155044 when the file is modified and its text base not
    /// at hand; that files cannot be read.
    pub fn open_text_base(&self, relpath: &RelPath, sha1: &Sha1) -> Result<TextBase> {
        text_base::open_text_base(self, relpath, sha1)
    }

    /// A file with the text base `sha1` of the node at `relpath`.
    ///
    /// # Errors
    /// As [`WorkingCopy::open_text_base`]; that a temporary file cannot be written.
    pub fn text_base_file(&self, relpath: &RelPath, sha1: &Sha1) -> Result<TextBaseFile> {
        text_base::text_base_file(self, relpath, sha1)
    }

    /// Looks which text bases at and below a path are needed, writes it down, and returns those that
    /// are not there. Nothing, where all are kept.
    ///
    /// # Errors
    /// SQLite's; those of files; `Cancelled`.
    pub fn missing_text_bases(
        &self,
        relpath: &RelPath,
        cancel: &CancelToken,
    ) -> Result<Vec<MissingText>> {
        text_base::missing_text_bases(self, relpath, cancel)
    }

    /// Puts a text that was fetched into the store.
    ///
    /// # Errors
    /// E200014 when it is not that text; SQLite's; those of files.
    pub fn hydrate(
        &self,
        missing: &MissingText,
        fetch: impl FnOnce(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        text_base::hydrate(self.db(), self.disk(), missing, fetch)
    }

    /// Removes the texts at and below a path that nothing needs any more.
    ///
    /// # Errors
    /// SQLite's; those of files; `Cancelled`.
    pub fn drop_text_bases(&self, relpath: &RelPath, cancel: &CancelToken) -> Result<()> {
        text_base::drop_text_bases(self, relpath, cancel)
    }
}
