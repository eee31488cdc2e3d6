//! The `fs-type` of a folder whose repository is in a store of objects:
//!
//! ```text
//! sapwood-store
//! s3://bucket/prefix
//! 5bd9d3a6f0b3a1c4d2e87f6655443322
//! ```
//!
//! The second line is the store's address, the third the repository in it. Programs that do not know such a folder refuse it, because
//! they do not know the first line.

use std::path::Path;

use sapwood_core::{ErrorCode, SvnError};
use sapwood_objects::Token;

use crate::error::{Error, Result};

/// The first line.
pub(crate) const KIND: &str = "sapwood-store";

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// Where the store is.
    pub(crate) address: String,
    /// The repository in it.
    pub(crate) repository: Token,
}

impl Marker {
    /// Reads what follows the first line of the file at `path`.
    pub(crate) fn parse(rest: &str, path: &Path) -> Result<Self> {
        let mut lines = rest.lines();
        let marker = (|| {
            let address = lines.next().filter(|line| !line.is_empty())?.to_owned();
            Some(Self { address, repository: Token::parse(lines.next()?)? })
        })();
        marker.filter(|_| lines.next().is_none()).ok_or_else(|| {
            let message = format!("'{}' does not say where the store is", path.display());
            Error::Svn(SvnError::new(ErrorCode::FS_CORRUPT, message))
        })
    }

    /// The file.
    pub(crate) fn text(&self) -> String {
        format!("{KIND}\n{}\n{}\n", self.address, self.repository)
    }

    /// Whether the store has the repository that is meant.
    pub(super) fn check(&self, there: &Token, db: &Path) -> Result<()> {
        if self.repository == *there {
            return Ok(());
        }
        let message = format!(
            "'{}' belongs to another repository than the one that is at '{}' now",
            db.display(),
            self.address
        );
        Err(Error::new(ErrorCode::FS_GENERAL, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_shows_one() {
        let page = include_str!("../../../../../docs/formats/store-folder.md");
        let (_, example) = page.split_once("```\nsapwood-store\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let marker = Marker::parse(example, Path::new("x")).unwrap();
        assert_eq!(marker.text(), format!("{KIND}\n{example}"));
    }

    #[test]
    fn what_is_written_is_read() {
        let repository = Token::from_bytes([7; 16]);
        let marker = Marker { address: "s3://bucket/a".to_owned(), repository };
        let text = marker.text();
        let rest = text.strip_prefix(KIND).and_then(|rest| rest.strip_prefix('\n')).unwrap();
        assert_eq!(Marker::parse(rest, Path::new("x")).unwrap(), marker);
        for bad in ["", "s3://bucket/a", "s3://bucket/a\nx\n", &format!("{rest}more\n"), "\n\n"] {
            assert!(Marker::parse(bad, Path::new("x")).is_err(), "{bad:?}");
        }
        assert!(marker.check(&Token::from_bytes([8; 16]), Path::new("db")).is_err());
    }
}
