//! Kept credentials: `auth/svn.simple/MD5-OF-REALM` and kin below the configuration folder, each
//! a hash dump, in the form that the reference's programs read and write.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use sapwood_core::{Md5, PropList, hashdump};

/// The key of the user name.
pub(super) const USERNAME: &str = "username";
/// The key of the password.
pub(super) const PASSWORD: &str = "password";
/// The key of how the password is kept.
pub(super) const PASSTYPE: &str = "passtype";
/// The key of the realm, which must match the realm of the request.
const REALM: &str = "svn:realmstring";
/// No file of credentials is as long as this, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The kinds of credentials that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// User name and password.
    Simple,
    /// User name only.
    Username,
    /// A server's certificate that is trusted although something is wrong with it.
    ServerTrust,
    /// The passphrase of a file with a certificate of the user's; its realm is the file's name.
    ClientPassphrase,
}

/// The file for a realm.
#[must_use]
pub fn file_of(config_dir: &Path, kind: CredentialKind, realm: &str) -> PathBuf {
    let folder = match kind {
        CredentialKind::Simple => "svn.simple",
        CredentialKind::Username => "svn.username",
        CredentialKind::ServerTrust => "svn.ssl.server",
        CredentialKind::ClientPassphrase => "svn.ssl.client-passphrase",
    };
    config_dir.join("auth").join(folder).join(Md5::of(realm.as_bytes()).to_hex())
}

/// What is kept for a realm. Files that cannot be read or make no sense count as absent.
#[must_use]
pub fn read(config_dir: &Path, kind: CredentialKind, realm: &str) -> Option<PropList> {
    let path = file_of(config_dir, kind, realm);
    let mut bytes = Vec::new();
    File::open(&path).ok()?.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > MAX_FILE) {
        return None;
    }
    let kept = hashdump::parse(&bytes, Some(hashdump::END)).ok()?;
    (kept.get_str(REALM) == Some(realm)).then_some(kept)
}

/// Keeps `credentials` for a realm, readable for their owner only, in a folder that must be there:
/// a user who removes it wants nothing stored.
///
/// # Errors
/// What writing the file meets.
pub fn write(
    config_dir: &Path,
    kind: CredentialKind,
    realm: &str,
    credentials: &mut PropList,
) -> std::io::Result<()> {
    credentials.set(REALM, realm);
    let path = file_of(config_dir, kind, realm);
    let folder = path.parent().unwrap_or(config_dir);
    let mut bytes = Vec::new();
    hashdump::write(&mut bytes, credentials, Some(hashdump::END));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Kept credentials of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCredential {
    /// `svn.simple` and the like.
    pub kind: &'static str,
    /// What they are for.
    pub realm: String,
    /// All that is kept.
    pub values: PropList,
    /// The file.
    pub file: PathBuf,
}

/// The kinds of credentials that programs keep, in the order in which they are listed.
const KINDS: [&str; 5] = [
    "svn.simple",
    "svn.username",
    "svn.ssl.client-cert",
    "svn.ssl.client-passphrase",
    "svn.ssl.server",
];

/// All kept credentials, by kind and by name of their files. What cannot be read is left out.
#[must_use]
pub fn all(config_dir: &Path) -> Vec<StoredCredential> {
    let mut found = Vec::new();
    for kind in KINDS {
        let Ok(entries) = std::fs::read_dir(config_dir.join("auth").join(kind)) else { continue };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        found.extend(files.into_iter().filter_map(|file| {
            let mut bytes = Vec::new();
            File::open(&file).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
            let values = hashdump::parse(&bytes, Some(hashdump::END)).ok()?;
            let realm = values.get_str(REALM)?.to_owned();
            Some(StoredCredential { kind, realm, values, file })
        }));
    }
    found
}
