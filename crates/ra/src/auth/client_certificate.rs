//! The client certificate for a server that requests one: in which file it is, and the passphrase
//! that opens the file.
//!
//! The order is the reference's. The file: the one of `servers`, then, if `config` allows the question, what a
//! person answers, three times. The passphrase: none, what worked before in this process, that of
//! `servers`, else the kept one, then what a person answers, three times. Files have no passphrases of
//! one server: they are kept by the file's name.

use std::path::Path;

use sapwood_core::exact::Exact as _;
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};

use super::store::{self, CredentialKind};
use super::{Authenticator, RETRIES, server_group, server_setting};

/// The key of the passphrase.
const PASSPHRASE: &str = "passphrase";
/// No file with a certificate and its key is as long as this, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// What came of opening a file with a passphrase.
#[derive(Debug)]
pub enum KeyFile<T> {
    /// What is in it.
    Open(T),
    /// Another passphrase is needed.
    WrongPassphrase,
    /// It is no such file, or there is nothing of use in it.
    Unusable(String),
}

/// A passphrase that opened a file. It is kept when the server has taken the certificate.
#[derive(Clone)]
pub struct Passphrase {
    file: String,
    text: String,
    may_save: bool,
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passphrase").field("file", &self.file).finish_non_exhaustive()
    }
}

/// What was found to show to a server.
#[derive(Debug)]
pub struct ClientIdentity<T> {
    /// The certificate with its key, if there is one.
    pub identity: Option<T>,
    /// What opened it, if it was locked.
    pub passphrase: Option<Passphrase>,
    /// Why a file that was named could not be used.
    pub problem: Option<SvnError>,
}

/// What the configuration says about keeping passphrases for one host.
#[derive(Clone, Copy, Debug)]
struct PassphrasePolicy {
    any: bool,
    /// Whether they are kept unencrypted; `None` when that is to be asked.
    plaintext: Option<bool>,
}

fn unusable(file: &str, why: impl std::fmt::Display) -> SvnError {
    let text = format!("Can't use client certificate '{file}': {why}");
    SvnError::new(ErrorCode::BAD_CONFIG_VALUE, text)
}

/// Where files come from, one after the other.
enum Source {
    Memory,
    Configured,
    /// So many questions were asked.
    Asked(u32),
}

impl Authenticator {
    /// The certificate to show to the server that `realm` names. `unlock` takes the bytes of a file and a
    /// passphrase, if there is one to try.
    ///
    /// # Errors
    /// What asking the person meets; E120171 when no passphrase opens a file; E125009 for words in the
    /// configuration that mean nothing.
    pub fn client_certificate<T>(
        &self,
        realm: &str,
        host: &str,
        unlock: impl Fn(&[u8], Option<&str>) -> KeyFile<T>,
    ) -> SvnResult<ClientIdentity<T>> {
        let group = server_group(&self.servers, host);
        let setting = |option: &str| server_setting(&self.servers, group.as_deref(), option);
        let mut found = ClientIdentity { identity: None, passphrase: None, problem: None };
        let mut source = Source::Memory;
        loop {
            let file = match source {
                Source::Memory => {
                    source = Source::Configured;
                    self.certificates.lock().get(realm).cloned()
                }
                Source::Configured => {
                    source = Source::Asked(0);
                    setting("ssl-client-cert-file").filter(|file| !file.is_empty())
                }
                Source::Asked(times) => {
                    let asks = self.options.asks_for_certificate && times <= RETRIES;
                    let Some(prompter) = self.prompter.as_deref().filter(|_| asks) else {
                        return Ok(found);
                    };
                    source = Source::Asked(times.plus(1));
                    Some(prompter.client_certificate(realm)?)
                }
            };
            let Some(file) = file else { continue };
            let bytes = match read(Path::new(&file)) {
                Ok(bytes) => bytes,
                Err(error) => {
                    found.problem = Some(unusable(&file, error));
                    continue;
                }
            };
            match self.unlocked(&file, host, setting("ssl-client-cert-password"), |passphrase| {
                unlock(&bytes, passphrase)
            })? {
                (KeyFile::Open(identity), passphrase) => {
                    self.certificates.lock().insert(realm.to_owned(), file);
                    return Ok(ClientIdentity {
                        identity: Some(identity),
                        passphrase,
                        problem: None,
                    });
                }
                (KeyFile::WrongPassphrase, _) => {
                    // As with the reference, this ends the connection.
                    let text = "Error running context: An error occurred during SSL communication";
                    let error = SvnError::new(ErrorCode(120_171), text);
                    return Err(error.with_cause(unusable(&file, "the passphrase is wrong")));
                }
                (KeyFile::Unusable(why), _) => found.problem = Some(unusable(&file, why)),
            }
        }
    }

    /// Opens a file with one passphrase after the other.
    fn unlocked<T>(
        &self,
        file: &str,
        host: &str,
        configured: Option<String>,
        unlock: impl Fn(Option<&str>) -> KeyFile<T>,
    ) -> SvnResult<(KeyFile<T>, Option<Passphrase>)> {
        let opened = unlock(None);
        if !matches!(opened, KeyFile::WrongPassphrase) {
            return Ok((opened, None));
        }
        let dir = self.options.config_dir.as_deref();
        let kept = || {
            let kept = store::read(dir?, CredentialKind::ClientPassphrase, file)?;
            kept.get_str(PASSPHRASE).map(str::to_owned)
        };
        let known = self.passphrases.lock().get(file).cloned();
        for text in [known, configured.or_else(kept)].into_iter().flatten() {
            let opened = unlock(Some(&text));
            if !matches!(opened, KeyFile::WrongPassphrase) {
                let passphrase = Passphrase { file: file.to_owned(), text, may_save: false };
                return Ok((opened, Some(passphrase)));
            }
        }
        let Some(prompter) = &self.prompter else { return Ok((KeyFile::WrongPassphrase, None)) };
        let may_save = self.policy(host)?.keep;
        for _ in 0..=RETRIES {
            let text = prompter.passphrase(file)?;
            let opened = unlock(Some(&text));
            if !matches!(opened, KeyFile::WrongPassphrase) {
                let passphrase = Passphrase { file: file.to_owned(), text, may_save };
                return Ok((opened, Some(passphrase)));
            }
        }
        Ok((KeyFile::WrongPassphrase, None))
    }

    fn keeping(&self, host: &str) -> SvnResult<PassphrasePolicy> {
        let group = server_group(&self.servers, host);
        let mut keeping = PassphrasePolicy { any: true, plaintext: None };
        for section in [Some("global"), group.as_deref()].into_iter().flatten() {
            let servers = &self.servers;
            keeping.any = servers.get_bool(section, "store-ssl-client-cert-pp", keeping.any)?;
            keeping.plaintext = servers.get_tristate(
                section,
                "store-ssl-client-cert-pp-plaintext",
                "ask",
                keeping.plaintext,
            )?;
        }
        Ok(keeping)
    }

    /// The passphrase has opened the file, and the server of `host` has answered: keeps it, as far as the
    /// configuration and the person allow.
    ///
    /// # Errors
    /// What asking the person meets. That a file cannot be written is no error.
    pub(crate) fn keep_passphrase(&self, host: &str, passphrase: &Passphrase) -> SvnResult<()> {
        let Passphrase { file, text, may_save } = passphrase;
        self.passphrases.lock().insert(file.clone(), text.clone());
        let Some(dir) = self.options.config_dir.as_deref().filter(|_| *may_save) else {
            return Ok(());
        };
        let keeping = self.keeping(host)?;
        if !keeping.any || !self.may_keep_passphrase(keeping, file, dir)? {
            return Ok(());
        }
        let mut kept = PropList::new();
        kept.set(PASSPHRASE, text);
        kept.set(store::PASSTYPE, super::PLAINTEXT);
        // A folder that cannot be written only means that there will be a question next time.
        let _ = store::write(dir, CredentialKind::ClientPassphrase, file, &mut kept);
        Ok(())
    }

    /// Whether a passphrase may be kept unencrypted.
    fn may_keep_passphrase(
        &self,
        keeping: PassphrasePolicy,
        file: &str,
        dir: &Path,
    ) -> SvnResult<bool> {
        if let Some(answer) = keeping.plaintext {
            return Ok(answer);
        }
        let Some(prompter) = &self.prompter else { return Ok(false) };
        if let Some(answer) = self.answers.lock().get(file) {
            return Ok(*answer);
        }
        let answer = prompter.store_plaintext_passphrase(file, &dir.join("servers"))?;
        self.answers.lock().insert(file.to_owned(), answer);
        Ok(answer)
    }
}

/// The bytes of a file, of a size that makes sense.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}
