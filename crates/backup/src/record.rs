//! What a copy has, and what of it was verified. `docs/formats/backup.md` has the format.
//!
//! Invariant: a record is written whole or not at all; what is not understood is an error, never a record without a
//! verified revision.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use sapwood_core::Revnum;
use sapwood_core::date::Timestamp;
use sapwood_store::write::WriteStorage;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The format that is written.
const FORMAT: u32 = 1;
/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// What the files' names end with.
const SUFFIX: &str = ".backup.toml";

/// What the copy of a repository has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The folder of the repository that was copied.
    pub source: PathBuf,
    /// The youngest revision of the copy.
    pub revision: Revnum,
    /// When it was copied.
    pub copied: Timestamp,
    /// What was verified in the copy.
    pub verified: Option<LastVerification>,
}

/// What was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastVerification {
    /// All revisions from 0 to this one.
    pub revision: Revnum,
    /// The first revision that was not packed then.
    pub min_unpacked: Revnum,
    /// When the last of them was verified.
    pub time: Timestamp,
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Text {
    format: u32,
    source: PathBuf,
    revision: u64,
    copied: String,
    verified: Option<VerifiedText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct VerifiedText {
    revision: u64,
    min_unpacked: u64,
    time: String,
}

impl Record {
    /// The record's file beside the copy of a name in a folder of backups.
    #[must_use]
    pub fn file(folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("{name}{SUFFIX}"))
    }

    /// Reads the record of a copy; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Malformed`], and those of the disk.
    pub fn read(folder: &Path, name: &str) -> Result<Option<Self>> {
        let path = Self::file(folder, name);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes));
        match read {
            Ok(_) => Self::parse(&path, &bytes).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Io { what: "read", path, source }),
        }
    }

    /// Parses a record; `path` is for errors.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let malformed = |why: String| Error::Malformed { path: path.to_owned(), why };
        let text = str::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
        let text: Text = toml::from_str(text).map_err(|e| malformed(e.message().to_owned()))?;
        if text.format != FORMAT {
            return Err(malformed(format!("format {} is not known", text.format)));
        }
        let revision = |number: u64| match i64::try_from(number) {
            Ok(_) => Ok(Revnum(number)),
            Err(_) => Err(malformed(format!("{number} is no revision"))),
        };
        let time = |text: &str| {
            let parsed = Timestamp::parse(text.as_bytes());
            parsed.map_err(|_| malformed(format!("'{text}' is no time")))
        };
        let verified = match text.verified {
            None => None,
            Some(verified) => Some(LastVerification {
                revision: revision(verified.revision)?,
                min_unpacked: revision(verified.min_unpacked)?,
                time: time(&verified.time)?,
            }),
        };
        let (revision, copied) = (revision(text.revision)?, time(&text.copied)?);
        if verified.is_some_and(|verified| verified.revision > revision) {
            return Err(malformed("more was verified than copied".to_owned()));
        }
        Ok(Self { source: text.source, revision, copied, verified })
    }

    /// Writes it, in place of the one that is there.
    pub(crate) fn write(
        &self,
        storage: &dyn WriteStorage,
        folder: &Path,
        name: &str,
    ) -> Result<()> {
        let path = Self::file(folder, name);
        let text = Text {
            format: FORMAT,
            source: self.source.clone(),
            revision: self.revision.0,
            copied: self.copied.to_string(),
            verified: self.verified.map(|verified| VerifiedText {
                revision: verified.revision.0,
                min_unpacked: verified.min_unpacked.0,
                time: verified.time.to_string(),
            }),
        };
        let text = toml::to_string(&text)
            .map_err(|e| Error::Malformed { path: path.clone(), why: e.to_string() })?;
        let written = storage.replace(&path, text.as_bytes(), None, true);
        written.map_err(|source| Error::Io { what: "write", path, source })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sapwood_store::storage::LocalStorage;

    use super::*;

    fn parsed(text: &str) -> Result<Record> {
        Record::parse(Path::new("/b/x.backup.toml"), text.as_bytes())
    }

    const GOOD: &str = "format = 1\nsource = \"/srv/svn/game\"\nrevision = 12\n\
                        copied = \"2026-11-27T09:02:14.000000Z\"\n";
    const VERIFIED: &str =
        "[verified]\nrevision = 12\nmin-unpacked = 10\ntime = \"2026-11-27T09:03:00.000000Z\"\n";

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Record::read(folder.path(), "game").unwrap(), None);
        for text in [GOOD.to_owned(), GOOD.to_owned() + VERIFIED] {
            let record = parsed(&text).unwrap();
            assert_eq!(record.verified.is_some(), text.contains("[verified]"));
            record.write(&LocalStorage, folder.path(), "game").unwrap();
            assert_eq!(Record::read(folder.path(), "game").unwrap(), Some(record));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        let all = GOOD.to_owned() + VERIFIED;
        for (from, to) in [
            ("format = 1", "format = 2"),
            ("format = 1\n", ""),
            ("revision = 12\nc", "revision = 11\nc"),
            ("revision = 12\nc", "revision = -1\nc"),
            ("revision = 12\nc", "revision = 12\nowner = 1\nc"),
            ("2026-11-27T09:02", "2026-13-27T09:02"),
            ("2026-11-27T09:03", "yesterday"),
            ("[verified]", "[verify]"),
            ("min-unpacked = 10\n", ""),
        ] {
            let text = all.replacen(from, to, 1);
            assert_ne!(text, all);
            assert!(matches!(parsed(&text), Err(Error::Malformed { .. })), "{text}");
        }
        assert!(Record::parse(Path::new("x"), b"\xff").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let _ = Record::parse(Path::new("x"), &bytes);
            let mut damaged = (GOOD.to_owned() + VERIFIED).into_bytes();
            let at = at % damaged.len();
            damaged[at] = bytes.first().copied().unwrap_or(0);
            let _ = Record::parse(Path::new("x"), &damaged);
        }
    }
}
