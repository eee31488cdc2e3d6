//! One repository folder: `format`, `conf`, `hooks`, `locks`, `db`.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::revnum::parse_u64;
use sapwood_core::{ErrorCode, SvnError};
use sapwood_fs::{Caches, Filesystem, OpenOptions};

use crate::error::Result;

/// One opened repository. Clones share everything.
#[derive(Clone, Debug)]
pub struct Repository {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    format: u32,
    fs: Filesystem,
}

impl Repository {
    /// The same repository, to be stored for later; see [`Filesystem::at_rest`].
    #[must_use]
    pub fn at_rest(&self) -> Self {
        self.with(self.inner.fs.at_rest())
    }

    /// A new handle of the same repository, without reading the disk.
    #[must_use]
    pub fn opened_again(&self) -> Self {
        self.with(self.inner.fs.opened_again())
    }

    fn with(&self, fs: Filesystem) -> Self {
        let Inner { path, format, .. } = &*self.inner;
        Self { inner: Arc::new(Inner { path: path.clone(), format: *format, fs }) }
    }

    /// Opens the repository whose folder is `path`. Other folders and unknown formats
    /// are refused in the reference's words (E165005 and others).
    ///
    /// # Errors
    /// As above, and errors of opening the filesystem.
    pub fn open(path: &Path, caches: &Arc<Caches>, options: &OpenOptions) -> Result<Self> {
        let format = read_format(&path.join("format"))?;
        if format != FORMAT && format != FORMAT_LEGACY {
            return Err(SvnError::new(
                ErrorCode::REPOS_UNSUPPORTED_VERSION,
                format!(
                    "Expected repository format '{FORMAT_LEGACY}' or '{FORMAT}'; found format \
                     '{format}'"
                ),
            )
            .into());
        }
        let fs = Filesystem::open(&path.join("db"), caches, options)?;
        Ok(Self { inner: Arc::new(Inner { path: path.to_owned(), format, fs }) })
    }

    /// The repository in the folder `path` of a filesystem that is opened already. The folder need not be there: then it has
    /// neither hooks nor configuration.
    #[must_use]
    pub fn of_filesystem(path: &Path, fs: Filesystem) -> Self {
        Self { inner: Arc::new(Inner { path: path.to_owned(), format: FORMAT, fs }) }
    }

    /// The folder of the repository that `path` is in or at: the nearest folder upwards that
    /// looks like a repository. `path` itself need not exist. A folder that cannot be looked into
    /// counts as one, so that opening it reports why.
    #[must_use]
    pub fn find_root(path: &Path) -> Option<PathBuf> {
        path.ancestors()
            .filter(|candidate| !candidate.as_os_str().is_empty())
            .find(|candidate| looks_like_repository(candidate))
            .map(Path::to_owned)
    }

    /// Whether `path` itself looks like a repository: then it is what [`Repository::find_root`] finds.
    #[must_use]
    pub fn is_root(path: &Path) -> bool {
        looks_like_repository(path)
    }

    /// The folder, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The number in the repository's own `format` file (3 or 5), not the filesystem's.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.inner.format
    }

    /// Whether the filesystem keeps track of mergeinfo. Servers announce this to their clients.
    #[must_use]
    pub fn has_mergeinfo(&self) -> bool {
        self.inner.fs.records_mergeinfo()
    }

    /// The filesystem.
    #[must_use]
    pub fn fs(&self) -> &Filesystem {
        &self.inner.fs
    }

    /// The `conf` folder.
    #[must_use]
    pub fn conf_dir(&self) -> PathBuf {
        self.inner.path.join("conf")
    }

    /// The `hooks` folder.
    #[must_use]
    pub(crate) fn hooks_dir(&self) -> PathBuf {
        self.inner.path.join("hooks")
    }
}

/// The number in `format` files since Subversion 1.4.
pub(crate) const FORMAT: u32 = 5;
/// The number in `format` files before.
const FORMAT_LEGACY: u32 = 3;
/// More than a `format` file ever holds.
const MAX_FORMAT_FILE: u64 = 80;

fn read_format(file: &Path) -> Result<u32> {
    let shown = file.display();
    let opened = sapwood_store::handles::with_room(|| std::fs::File::open(file))
        .map_err(|e| SvnError::io(&e, format_args!("Can't open file '{shown}'")))?;
    let mut text = Vec::new();
    opened
        .take(MAX_FORMAT_FILE)
        .read_to_end(&mut text)
        .map_err(|e| SvnError::io(&e, format_args!("Can't read file '{shown}'")))?;
    if text.is_empty() {
        // The number of APR's "end of file".
        let message = format!("Can't read file '{shown}': End of file found");
        return Err(SvnError::new(ErrorCode(70014), message).into());
    }
    let line = text.split(|b| matches!(b, b'\r' | b'\n')).next().unwrap_or(&[]);
    if line.is_empty() || !line.iter().all(u8::is_ascii_digit) {
        return Err(SvnError::new(
            ErrorCode::BAD_VERSION_FILE_FORMAT,
            format!("First line of '{shown}' contains non-digit"),
        )
        .into());
    }
    let number = parse_u64(line).and_then(|n| u32::try_from(n).ok());
    number.ok_or_else(|| {
        let digits = String::from_utf8_lossy(line);
        SvnError::new(
            ErrorCode::INCORRECT_PARAMS,
            format!("Number '{digits}' is out of range '[-2147483648, 2147483647]'"),
        )
        .into()
    })
}

fn looks_like_repository(folder: &Path) -> bool {
    // A missing file is an answer; other errors are reported when the repository is opened.
    let is = |path: PathBuf, follow: bool, wanted: fn(&std::fs::Metadata) -> bool| {
        let found = if follow { std::fs::metadata(path) } else { std::fs::symlink_metadata(path) };
        match found {
            Ok(data) => wanted(&data),
            Err(e) => !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        }
    };
    is(folder.join("format"), false, std::fs::Metadata::is_file)
        && is(folder.join("db"), true, std::fs::Metadata::is_dir)
}
