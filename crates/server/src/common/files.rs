//! Configuration files, parsed once and kept with what `stat` says about them; a changed file is
//! seen by the next connection. (The reference reads them once a connection too.)

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_accounts::{AccountsFile, TokenUses};
use sapwood_core::config::{Case, Config};
use sapwood_core::exact::signed;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::common::accounts::OpenAccounts;
use crate::common::htdigest::Htdigest;
use crate::common::htpasswd::Htpasswd;

/// Largest configuration file that is read, in bytes.
const MAX_FILE: u64 = 64 << 20;
/// The limit of files that are kept parsed.
const MAX_KEPT: usize = 4096;

/// What `stat` says about a file: as long as it stays the same, so do the contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// Something other than a regular file can be read only once.
    plain: bool,
}

impl Stamp {
    /// The stamp of a file; `None` when it cannot be had.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            plain: meta.is_file(),
        })
    }

    /// Whether the file was changed so recently that another change might leave the stamp as it is.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        if !self.plain {
            return false;
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(i64::MAX, |elapsed| signed(elapsed.as_secs()));
        now.saturating_sub(self.changed.0) < 2
    }
}

/// Parsed files by path.
#[derive(Debug)]
pub struct FileCache<T> {
    kept: Mutex<HashMap<PathBuf, (Stamp, T)>>,
}

impl<T> Default for FileCache<T> {
    fn default() -> Self {
        Self { kept: Mutex::new(HashMap::new()) }
    }
}

impl<T: Clone> FileCache<T> {
    /// The result of `make` for the file at `path`, cached until the file changes.
    ///
    /// # Errors
    /// What `make` returns.
    pub fn get(&self, path: &Path, make: impl FnOnce() -> SvnResult<T>) -> SvnResult<T> {
        let Some(stamp) = Stamp::of(path) else {
            self.kept.lock().remove(path);
            return make();
        };
        if let Some((kept, value)) = self.kept.lock().get(path)
            && (*kept == stamp || (!kept.plain && !stamp.plain))
        {
            return Ok(value.clone());
        }
        let value = make()?;
        let mut kept = self.kept.lock();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        // A file that was written a moment ago may be written again within the same tick.
        if stamp.is_fresh() {
            kept.remove(path);
        } else {
            kept.insert(path.to_owned(), (stamp, value.clone()));
        }
        Ok(value)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.kept.lock().clear();
    }
}

/// The configuration files that have been read.
#[derive(Debug, Default)]
pub struct ConfigFiles {
    servers: FileCache<Arc<Config>>,
    passwords: FileCache<Arc<Config>>,
    htpasswd: FileCache<Arc<Htpasswd>>,
    htdigest: FileCache<Arc<Htdigest>>,
    accounts: FileCache<Arc<OpenAccounts>>,
    token_uses: Mutex<HashMap<PathBuf, Arc<TokenUses>>>,
}

impl ConfigFiles {
    /// A `svnserve.conf`. When it does not exist and need not, it is empty.
    ///
    /// # Errors
    /// E200002 for a malformed file, system errors.
    pub fn server(&self, path: &Path, must_exist: bool) -> SvnResult<Arc<Config>> {
        self.servers.get(path, || {
            let bytes = match read_limited(path) {
                Err((e, _)) if e.kind() == std::io::ErrorKind::NotFound && !must_exist => {
                    Vec::new()
                }
                Err((_, error)) => return Err(error),
                Ok(bytes) => bytes,
            };
            Ok(Arc::new(Config::parse_file(&path.to_string_lossy(), &bytes, Case::INSENSITIVE)?))
        })
    }

    /// A password file; `None` when it may not be read, as then passwords are simply not offered.
    ///
    /// # Errors
    /// E215004 with the reason below for anything else.
    pub fn passwords(&self, path: &Path) -> SvnResult<Option<Arc<Config>>> {
        let result = self.passwords.get(path, || {
            let bytes = read_limited(path).map_err(|(_, error)| error)?;
            // User names that differ only in case are one name, as in the reference since 1.9.
            Ok(Arc::new(Config::parse_file(&path.to_string_lossy(), &bytes, Case::INSENSITIVE)?))
        });
        const EACCES: u32 = 13;
        match result {
            Ok(config) => Ok(Some(config)),
            Err(e) if e.code() == ErrorCode::BAD_FILENAME || e.code().0 == EACCES => Ok(None),
            Err(e) => Err(e.wrap(ErrorCode::AUTHN_FAILED, "")),
        }
    }

    /// A password file of httpd.
    ///
    /// # Errors
    /// E215004 with the reason below.
    pub fn htpasswd(&self, path: &Path) -> SvnResult<Arc<Htpasswd>> {
        self.htpasswd
            .get(path, || {
                let bytes = read_limited(path).map_err(|(_, error)| error)?;
                Ok(Arc::new(Htpasswd::parse(&String::from_utf8_lossy(&bytes))))
            })
            .map_err(|e| e.wrap(ErrorCode::AUTHN_FAILED, ""))
    }

    /// The same for Digest.
    ///
    /// # Errors
    /// E215004 with the reason below.
    pub fn htdigest(&self, path: &Path) -> SvnResult<Arc<Htdigest>> {
        self.htdigest
            .get(path, || {
                let bytes = read_limited(path).map_err(|(_, error)| error)?;
                Ok(Arc::new(Htdigest::parse(&String::from_utf8_lossy(&bytes))))
            })
            .map_err(|e| e.wrap(ErrorCode::AUTHN_FAILED, ""))
    }

    /// A file of accounts.
    ///
    /// # Errors
    /// E215004 with the reason below.
    pub fn accounts(&self, path: &Path) -> SvnResult<Arc<OpenAccounts>> {
        self.accounts
            .get(path, || {
                let file = AccountsFile::at(path);
                let bytes = read_limited(path).map_err(|(_, error)| error)?;
                let accounts = file.parse(&bytes)?;
                // What was noted of tokens outlives a change of the file.
                let mut all = self.token_uses.lock();
                let uses =
                    all.entry(path.to_owned()).or_insert_with(|| Arc::new(TokenUses::of(&file)));
                Ok(Arc::new(OpenAccounts { accounts, uses: Arc::clone(uses) }))
            })
            .map_err(|e| e.wrap(ErrorCode::AUTHN_FAILED, ""))
    }

    /// Forgets everything, so that every file is read again.
    pub fn clear(&self) {
        self.servers.clear();
        self.passwords.clear();
        self.htpasswd.clear();
        self.htdigest.clear();
        self.accounts.clear();
    }
}

/// Reads a small file whole.
fn read_limited(path: &Path) -> Result<Vec<u8>, (std::io::Error, SvnError)> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let result = sapwood_store::handles::with_room(|| std::fs::File::open(path))
        .and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes).map(|_| ()));
    match result {
        Ok(()) => Ok(bytes),
        Err(e) => {
            let shown = path.display();
            // A folder can be opened, but not read: the parser of the reference finds that.
            let error = if e.kind() == std::io::ErrorKind::IsADirectory {
                SvnError::io(&e, format_args!("Can't read file '{shown}'"))
                    .context(format!("Error while parsing config file: {shown}:"))
            } else {
                SvnError::io(&e, format_args!("Can't open file '{shown}'"))
            };
            Err((e, error))
        }
    }
}
