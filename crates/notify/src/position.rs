//! The queue on disk: for each target and repository, the next revision. `docs/formats/queue.md` has the format.
//!
//! Invariant: a position is written whole or not at all; what is not understood is an error, and never revision 0.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use sapwood_core::Revnum;
use serde::{Deserialize, Serialize};
use sha1::{Digest as _, Sha1};

use crate::error::{Error, Result};

/// The format that is written.
const FORMAT: u32 = 1;
/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// What the files end with.
const SUFFIX: &str = ".toml";

/// How far the messages of a repository have gone to a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    format: u32,
    /// The repository's folder.
    pub repository: PathBuf,
    /// The repository's name.
    pub name: String,
    next: u64,
}

impl Position {
    /// Before this revision.
    #[must_use]
    pub const fn before(repository: PathBuf, name: String, next: Revnum) -> Self {
        Self { format: FORMAT, repository, name, next: next.0 }
    }

    /// The next revision whose message is to be sent.
    #[must_use]
    pub const fn next(&self) -> Revnum {
        Revnum(self.next)
    }

    /// Goes on to this revision.
    pub(crate) const fn go_on_to(&mut self, next: Revnum) {
        self.next = next.0;
    }

    /// Parses a file of the queue.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let malformed = |why: String| Error::Malformed { path: path.to_owned(), why };
        let text = str::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
        let position: Self = toml::from_str(text).map_err(|e| malformed(e.message().to_owned()))?;
        match position {
            Self { format: FORMAT, .. } if i64::try_from(position.next).is_ok() => Ok(position),
            Self { format: FORMAT, .. } => Err(malformed("'next' is no revision".to_owned())),
            Self { format, .. } => Err(malformed(format!("format {format} is not known"))),
        }
    }

    /// Its file in a target's folder.
    fn file(&self, folder: &Path) -> PathBuf {
        let sum = Sha1::digest(self.repository.as_os_str().as_encoded_bytes());
        let name = sum.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        folder.join(name + SUFFIX)
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of the disk.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let path = self.file(folder);
        let new = path.with_extension("new");
        let failed = |what: &'static str| {
            let path = path.clone();
            move |source| Error::Io { what, path, source }
        };
        let text = toml::to_string(self)
            .map_err(|e| Error::Malformed { path: path.clone(), why: e.to_string() })?;
        fs::create_dir_all(folder).map_err(failed("make the folder of"))?;
        let mut file = File::create(&new).map_err(failed("write"))?;
        file.write_all(text.as_bytes()).map_err(failed("write"))?;
        file.sync_all().map_err(failed("write"))?;
        fs::rename(&new, &path).map_err(failed("write"))
    }

    /// The positions in a target's folder, and what is wrong with files in it.
    pub(crate) fn read_all(folder: &Path) -> (Vec<Self>, Vec<Error>) {
        let failed = |what, path: &Path, source| Error::Io { what, path: path.to_owned(), source };
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return (Vec::new(), Vec::new()),
            Err(e) => return (Vec::new(), vec![failed("read", folder, e)]),
        };
        let (mut positions, mut errors) = (Vec::new(), Vec::new());
        for entry in entries.flatten().map(|entry| entry.path()) {
            if !entry.to_string_lossy().ends_with(SUFFIX) {
                continue;
            }
            let mut bytes = Vec::new();
            let read = File::open(&entry).and_then(|f| f.take(MAX_FILE).read_to_end(&mut bytes));
            let parsed = read
                .map_err(|e| failed("read", &entry, e))
                .and_then(|_| Self::parse(&entry, &bytes));
            match parsed {
                Ok(position) => positions.push(position),
                Err(error) => errors.push(error),
            }
        }
        positions.sort_by(|a, b| a.repository.cmp(&b.repository));
        (positions, errors)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn there_and_back(path in "[/ -~äß\\n]{0,40}", name in ".{0,20}", next in 0..i64::MAX.cast_unsigned()) {
            let folder = tempfile::tempdir().unwrap();
            let position = Position::before(PathBuf::from(path), name, Revnum(next));
            position.write(folder.path()).unwrap();
            let (found, errors) = Position::read_all(folder.path());
            prop_assert!(errors.is_empty(), "{errors:?}");
            prop_assert_eq!(found, [position]);
        }

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Position::parse(Path::new("x"), &bytes);
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        let sound = "format = 1\nrepository = '/r'\nname = 'r'\nnext = 7\n";
        let parse = |text: &str| Position::parse(Path::new("x"), text.as_bytes());
        assert_eq!(parse(sound).unwrap().next(), Revnum(7));
        for wrong in [
            sound.replace("format = 1", "format = 2"),
            sound.replace("next = 7", "next = -7"),
            sound.replace("next = 7\n", ""),
            format!("{sound}more = 1\n"),
            String::new(),
        ] {
            assert!(parse(&wrong).is_err(), "{wrong}");
        }
    }
}
