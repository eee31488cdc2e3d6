//! Which certificates of servers are trusted although something is wrong with them: by option, by what
//! is kept (`auth/svn.ssl.server`), or by the answer of a person.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

use sapwood_core::{PropList, SvnResult, base64};

use super::Authenticator;
use super::store::{self, CredentialKind};

/// The key of the certificate, in base64 without line ends.
const ASCII_CERT: &str = "ascii_cert";
/// The key of what was wrong with it, as a number.
const FAILURES: &str = "failures";

/// What is wrong with a certificate, or what may be: a set. The numbers are those of the files in
/// which decisions are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures(u32);

impl Failures {
    /// It is not valid yet.
    pub const NOT_YET_VALID: Self = Self(0x1);
    /// It has ended.
    pub const EXPIRED: Self = Self(0x2);
    /// It is for another host.
    pub const NAME: Self = Self(0x4);
    /// No known authority has issued it.
    pub const UNKNOWN_CA: Self = Self(0x8);
    /// Anything else.
    pub const OTHER: Self = Self(0x4000_0000);

    /// The words of `--trust-server-cert-failures`.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("unknown-ca", Self::UNKNOWN_CA),
        ("cn-mismatch", Self::NAME),
        ("expired", Self::EXPIRED),
        ("not-yet-valid", Self::NOT_YET_VALID),
        ("other", Self::OTHER),
    ];

    /// Whether there is nothing in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has something of the other.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        !(self & other).is_empty()
    }
}

impl BitOr for Failures {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Failures {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Failures {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Failures {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// A certificate as it is shown to a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate itself.
    pub der: Vec<u8>,
    /// The name that it is for.
    pub hostname: String,
    /// From when.
    pub valid_from: String,
    /// Until when.
    pub valid_until: String,
    /// By whom.
    pub issuer: String,
    /// SHA-1, in pairs of digits.
    pub fingerprint: String,
}

/// A person's decision about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// No.
    Reject,
    /// For this process.
    Temporarily,
    /// For ever.
    Permanently,
}

impl Authenticator {
    /// What is left to be wrong with a server's certificate after everything that is trusted.
    ///
    /// # Errors
    /// What asking the person meets; E125009 for words in the configuration that mean nothing.
    pub fn judge(
        &self,
        realm: &str,
        host: &str,
        failures: Failures,
        certificate: &Certificate,
    ) -> SvnResult<Failures> {
        let left = failures & !self.options.trust;
        if left.is_empty() {
            return Ok(left);
        }
        let ascii = base64::encode(&certificate.der);
        let dir = self.options.config_dir.as_deref();
        let kept = dir.and_then(|dir| store::read(dir, CredentialKind::ServerTrust, realm));
        if let Some(kept) = &kept
            && kept.get_str(ASCII_CERT).map(str::trim) == Some(&ascii)
        {
            let number = kept.get_str(FAILURES).and_then(|text| text.trim().parse().ok());
            let left = left & !Failures(number.unwrap_or(0));
            if left.is_empty() {
                return Ok(left);
            }
        }
        if self.trusted.lock().get(realm).is_some_and(|known| *known == certificate.der) {
            return Ok(Failures::default());
        }
        let Some(prompter) = &self.prompter else { return Ok(left) };
        let may_save = self.policy(host)?.keep;
        match prompter.server_trust(realm, left, certificate, may_save)? {
            Decision::Reject => return Ok(left),
            Decision::Permanently if may_save => {
                let mut kept = PropList::new();
                kept.set(ASCII_CERT, &ascii);
                kept.set(FAILURES, failures.0.to_string());
                if let Some(dir) = dir {
                    // A folder that cannot be written only means another question.
                    let _ = store::write(dir, CredentialKind::ServerTrust, realm, &mut kept);
                }
            }
            Decision::Permanently | Decision::Temporarily => {}
        }
        self.trusted.lock().insert(realm.to_owned(), certificate.der.clone());
        Ok(Failures::default())
    }
}
