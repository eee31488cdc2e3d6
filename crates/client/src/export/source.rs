//! Where the text of a file of a working copy is that is exported.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use sapwood_core::{SvnError, SvnResult};
use sapwood_wc::pristine::PristineFile;
use sapwood_wc::translate::special;

/// Where the text of an exported file is.
pub(super) enum Source {
    /// The working file, or symbolic link.
    Working(PathBuf),
    /// A text of the store.
    Pristine(PristineFile),
}

impl Source {
    /// Opens it, in normal form.
    pub(super) fn open(&self) -> SvnResult<Box<dyn Read>> {
        match self {
            Self::Pristine(text) => Ok(Box::new(text.open()?)),
            Self::Working(from) => special::read_normal(from).map_err(|e| {
                // The reference looks before it opens, and says so of what is missing.
                let missing = fs::symlink_metadata(from).is_err();
                let what = if missing { "Can't stat" } else { "Can't open file" };
                SvnError::io(&e, format!("{what} '{}'", from.display()))
            }),
        }
    }
}
