//! The file of accounts: read whole, changed under a lock, written by a rename.
//!
//! Invariant: a reader sees the accounts before a change or after it, and two changes at the same time are both made. What
//! is not understood, a key too many, a newer format, is an error: then no user is let in.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::accounts::{Accounts, FORMAT};
use crate::error::{Error, Result};

/// The largest file that is read, in bytes: some 100,000 users.
pub const MAX_FILE: u64 = 64 << 20;

/// A file of accounts.
#[derive(Clone, Debug)]
pub struct AccountsFile {
    path: PathBuf,
}

impl AccountsFile {
    /// The file at a path, which need not exist.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, what: &'static str) -> impl Fn(std::io::Error) -> Error + use<'_> {
        move |source| Error::Io { what, path: self.path.clone(), source }
    }

    /// Parses the contents of the file.
    ///
    /// # Errors
    /// [`Error::Newer`] and [`Error::Malformed`] with the line.
    pub fn parse(&self, bytes: &[u8]) -> Result<Accounts> {
        let malformed = |why: String| Error::Malformed { path: self.path.clone(), why };
        let text = str::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
        // A newer format may have keys that are unknown here: its number comes first.
        let format = toml::from_str::<Format>(text).map_err(|e| malformed(described(text, &e)))?;
        if format.format > FORMAT {
            let path = self.path.clone();
            return Err(Error::Newer { path, format: format.format, known: FORMAT });
        }
        let accounts: Accounts =
            toml::from_str(text).map_err(|e| malformed(described(text, &e)))?;
        accounts.check_names().map_err(|e| malformed(e.to_string()))?;
        Ok(accounts)
    }

    /// Reads the accounts.
    ///
    /// # Errors
    /// When there is no file, it cannot be read, or it is not understood.
    pub fn read(&self) -> Result<Accounts> {
        let mut bytes = Vec::new();
        let file = File::open(&self.path).map_err(self.failed("open"))?;
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(self.failed("read"))?;
        if u64::try_from(bytes.len()).is_ok_and(|len| len <= MAX_FILE) {
            return self.parse(&bytes);
        }
        Err(Error::Malformed {
            path: self.path.clone(),
            why: "it is larger than 64 MiB".to_owned(),
        })
    }

    /// Changes the accounts; a file that is not there counts as one without users. Waits while another change is made.
    ///
    /// # Errors
    /// What `change` returns: then the file stays as it is. And when the file cannot be read or written.
    pub fn change<T>(&self, change: impl FnOnce(&mut Accounts) -> Result<T>) -> Result<T> {
        let lock = File::options().create(true).append(true).open(self.beside("lock"));
        let lock = lock.map_err(self.failed("lock"))?;
        give_to_owner_of_folder(&self.beside("lock"), &self.path).map_err(self.failed("lock"))?;
        lock.lock().map_err(self.failed("lock"))?;
        let mut accounts = match self.read() {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Accounts::default()
            }
            other => other?,
        };
        let before = accounts.clone();
        let value = change(&mut accounts)?;
        if accounts != before || !self.path.exists() {
            self.write(&accounts)?;
        }
        drop(lock);
        Ok(value)
    }

    /// A file beside it, whose name has something added.
    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    }

    fn write(&self, accounts: &Accounts) -> Result<()> {
        let text = toml::to_string(&accounts.in_its_format())
            .map_err(|e| Error::Malformed { path: self.path.clone(), why: e.to_string() })?;
        replace(&self.path, text.as_bytes()).map_err(self.failed("write"))
    }
}

/// Replaces a file, which keeps its owner and its mode; a new one belongs to the owner of its folder, who alone may read it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = folder_of(path);
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    match fs::metadata(path) {
        Ok(old) => {
            let mode = fs::Permissions::from_mode(old.mode() & 0o777);
            file.as_file().set_permissions(mode)?;
            give_to(file.path(), &old)?;
        }
        Err(_) => give_to_owner_of_folder(file.path(), path)?,
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    File::open(folder)?.sync_all()
}

/// Gives a file to the owner of another one or of a folder: an administrator changes the file of the user that the server
/// runs as.
fn give_to(path: &Path, other: &fs::Metadata) -> std::io::Result<()> {
    let own = fs::metadata(path)?;
    if (own.uid(), own.gid()) == (other.uid(), other.gid()) {
        return Ok(());
    }
    match std::os::unix::fs::chown(path, Some(other.uid()), Some(other.gid())) {
        // Who may not give it away is no administrator, and keeps it.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(()),
        given => given,
    }
}

/// Gives a file to the owner of the folder that another path is in.
fn give_to_owner_of_folder(path: &Path, inside: &Path) -> std::io::Result<()> {
    give_to(path, &fs::metadata(folder_of(inside))?)
}

/// The folder that a path is in.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The number of the format alone.
#[derive(serde::Deserialize)]
struct Format {
    format: u32,
}

/// What is wrong, with its line. The file's own text is not repeated: it has hashes in it.
fn described(text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count();
    format!("line {}: {}", line.saturating_add(1), error.message())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sapwood_core::date::Timestamp;

    use super::*;
    use crate::token::{Token, TokenScope};

    #[test]
    fn what_is_changed_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = AccountsFile::at(&folder.path().join("accounts.toml"));
        assert!(matches!(file.read(), Err(Error::Io { .. })));
        let now = Timestamp(1_764_000_000_000_000);
        let scope = TokenScope { read_only: true, repositories: vec!["game".to_owned()] };
        let (token, text) = Token::make(scope, now, Some(Timestamp(now.0 + 1_000_000))).unwrap();
        file.change(|accounts| {
            accounts.add("ada \"x\"", Some("secret"), &["devs".to_owned()])?;
            accounts.add_token("ada \"x\"", "my laptop", token)
        })
        .unwrap();
        let read = file.read().unwrap();
        assert!(read.identity_by_token("ada \"x\"", &text, now).is_some());
        assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o777, 0o600);
        let stored = fs::read_to_string(file.path()).unwrap();
        assert!(!stored.contains("secret") && !stored.contains(&text));
        // A change that fails changes nothing; the mode stays what it was made.
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(file.change(|accounts| accounts.remove("bob")).is_err());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), stored);
        file.change(|accounts| accounts.set_disabled("ada \"x\"", true)).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o777, 0o640);
    }

    #[test]
    fn changes_at_the_same_time_are_all_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = AccountsFile::at(&folder.path().join("accounts.toml"));
        std::thread::scope(|scope| {
            for n in 0..8 {
                let file = &file;
                scope.spawn(move || {
                    file.change(|accounts| accounts.add(&format!("user{n}"), None, &[])).unwrap();
                });
            }
        });
        assert_eq!(file.read().unwrap().users().len(), 8);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let file = AccountsFile::at(Path::new("/etc/accounts.toml"));
        let why = |text: &str| file.parse(text.as_bytes()).unwrap_err().to_string();
        assert!(file.parse(b"format = 1\n").unwrap().users().is_empty());
        for (text, wanted) in [
            ("", "line 1"),
            ("format = 3\nnew = true\n", "format 3"),
            ("format = 1\nuser = 1\n", "line 2: unknown field"),
            ("format = 1\n[users.ada]\nadmin = true\n", "line 3: unknown field"),
            ("format = 1\n[users.ada]\ndisabled = 'no'\n", "line 3"),
            ("format = 1\n[users.'a:b']\n", "'a:b'"),
            ("format = 1\n[users.ada]\ngroups = ['x,y']\n", "'x,y'"),
            ("format = 1\n[users.ada.tokens.t]\nsha256 = 'x'\n", "line 2: missing field"),
            ("format = 1\n[users.ada.tokens.t]\nsha256 = 'x'\ncreated = 'soon'\n", "line 4"),
            ("format = 2\n[users.ada.provider]\nissuer = 'x'\n", "line 2: missing field"),
        ] {
            assert!(why(text).contains(wanted), "{text:?}: {}", why(text));
        }
        assert!(file.parse(b"format = 1\n\xff").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), tail in "[a-z0-9='\\[\\]\\.\n]{0,60}") {
            let file = AccountsFile::at(Path::new("x"));
            let _ = file.parse(&bytes);
            if let Ok(accounts) = file.parse(format!("format = 1\n{tail}").as_bytes()) {
                prop_assert!(accounts.users().values().all(|user| !user.has_password() || user.password.is_some()));
            }
        }
    }
}
