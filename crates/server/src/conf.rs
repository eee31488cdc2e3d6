//! `svnserve.conf` and the files it names: who may do what, and how they prove who they are.
//!
//! Files are parsed once and kept with what `stat` says about them; a changed file is seen by the
//! next connection. (The reference reads them once a connection too.)

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sapwood_core::config::{Case, Config};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// Largest configuration file that is read, in bytes.
const MAX_FILE: u64 = 64 << 20;
/// Most files that are kept parsed.
const MAX_KEPT: usize = 4096;

/// What somebody may do, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blanket {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

impl Blanket {
    fn parse(value: Option<&str>, default: Self, read_only: bool) -> Self {
        let access = match value {
            None => default,
            Some("write") => Self::Write,
            Some("read") => Self::Read,
            Some(_) => Self::None,
        };
        if read_only { access.min(Self::Read) } else { access }
    }
}

/// What is done to the case of user names before authz rules are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsernameCase {
    /// Nothing.
    #[default]
    AsIs,
    /// Made upper case.
    Upper,
    /// Made lower case.
    Lower,
}

impl UsernameCase {
    /// The name that authz rules are asked about.
    #[must_use]
    pub fn apply(self, user: &str) -> String {
        match self {
            Self::AsIs => user.to_owned(),
            Self::Upper => user.to_ascii_uppercase(),
            Self::Lower => user.to_ascii_lowercase(),
        }
    }
}

/// What one `svnserve.conf` says.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What unauthenticated users may do.
    pub anon_access: Blanket,
    /// What authenticated users may do.
    pub auth_access: Blanket,
    /// The password file.
    pub password_db: Option<PathBuf>,
    /// The authz file: a path, a URL or a path within the repository (`^/...`).
    pub authz_db: Option<String>,
    /// The global groups file, likewise.
    pub groups_db: Option<String>,
    /// The realm of authentication; the repository's UUID when there is none.
    pub realm: Option<String>,
    /// What is done to the case of user names before authz rules are asked.
    pub username_case: UsernameCase,
    /// Where the environment of hooks is set, relative to the repository's `conf` folder.
    pub hooks_env: Option<PathBuf>,
    /// Set when users authenticate by SASL.
    pub sasl: Option<SaslStrength>,
    /// How long a hook may run; for ever when there is none.
    pub hook_time_limit: Option<Duration>,
    /// How late the first wrong password that is not free is answered; zero for no delays.
    pub password_delay: Duration,
    /// The folder that relative names in the file are relative to.
    pub base: PathBuf,
}

const GENERAL: &str = "general";

/// How strong the encryption of a connection must and may be, in bits of the key: 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaslStrength {
    /// `min-encryption`
    pub min: u32,
    /// `max-encryption`
    pub max: u32,
}

impl SaslStrength {
    fn from_config(config: &Config) -> SvnResult<Option<Self>> {
        if !config.get_bool(SASL, "use-sasl", false)? {
            return Ok(None);
        }
        let number = |option: &str, default: u32| match config.get(SASL, option) {
            None => Ok(default),
            Some(text) => text.trim().parse().map_err(|_| {
                SvnError::new(
                    ErrorCode::INCORRECT_PARAMS,
                    format!("Could not convert '{text}' into a number"),
                )
            }),
        };
        let (min, max) = (number("min-encryption", 0)?, number("max-encryption", 256)?);
        Ok(Some(Self { min, max }))
    }
}

const SASL: &str = "sasl";

impl ServerConfig {
    /// Takes what is needed out of a parsed file in the folder `base`.
    ///
    /// # Errors
    /// E125009 and kin for options that make no sense.
    pub fn from_config(config: &Config, base: &Path, read_only: bool) -> SvnResult<Self> {
        let get = |option: &str| config.get(GENERAL, option);
        let authz_db = get("authz-db").map(std::borrow::Cow::into_owned);
        let username_case = match get("force-username-case").as_deref() {
            _ if authz_db.is_none() => UsernameCase::AsIs,
            Some("upper") => UsernameCase::Upper,
            Some("lower") => UsernameCase::Lower,
            _ => UsernameCase::AsIs,
        };
        Ok(Self {
            anon_access: Blanket::parse(get("anon-access").as_deref(), Blanket::Read, read_only),
            auth_access: Blanket::parse(get("auth-access").as_deref(), Blanket::Write, read_only),
            password_db: get("password-db").map(|p| base.join(&*p)),
            authz_db,
            groups_db: get("groups-db").map(std::borrow::Cow::into_owned),
            realm: get("realm").map(std::borrow::Cow::into_owned),
            username_case,
            hooks_env: get("hooks-env").map(|p| PathBuf::from(&*p)),
            sasl: SaslStrength::from_config(config)?,
            hook_time_limit: match config.get_i64(GENERAL, "hook-timeout", 0)? {
                seconds @ 1.. => u64::try_from(seconds).ok().map(Duration::from_secs),
                _ => None,
            },
            password_delay: match config.get_i64(GENERAL, "password-delay", 1)? {
                seconds @ 1.. => Duration::from_secs(u64::try_from(seconds).unwrap_or(1).min(60)),
                _ => Duration::ZERO,
            },
            base: base.to_owned(),
        })
    }
}

/// What `stat` says about a file: as long as it stays the same, so do the contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// What is no plain file can be read once only.
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

    /// Whether the file was changed so lately that another change might leave the stamp as it is.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        if !self.plain {
            return false;
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.ok().and_then(|d| i64::try_from(d.as_secs()).ok()).unwrap_or(i64::MAX);
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
    /// What `make` makes of the file at `path`, kept until the file changes.
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

/// The configuration files that connections have read.
#[derive(Debug, Default)]
pub struct ConfigFiles {
    servers: FileCache<Arc<Config>>,
    passwords: FileCache<Arc<Config>>,
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

    /// Forgets everything, so that every file is read again.
    pub fn clear(&self) {
        self.servers.clear();
        self.passwords.clear();
    }
}

/// Reads a small file whole.
fn read_limited(path: &Path) -> Result<Vec<u8>, (std::io::Error, SvnError)> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let result = sapwood_fsfs::handles::with_room(|| std::fs::File::open(path))
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
