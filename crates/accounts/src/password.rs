//! Passwords: argon2id with the parameters that OWASP names (19 MiB, two passes, one lane), which a stored hash
//! carries, so that they can be raised later.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};

use crate::error::{Error, Result};

/// The hash of a password, in the PHC string format, with a salt of its own.
///
/// # Errors
/// [`Error::EmptyPassword`], and when the system has no random bytes.
pub fn hash_password(password: &str) -> Result<String> {
    if password.is_empty() {
        return Err(Error::EmptyPassword);
    }
    let failed = |error: &dyn std::fmt::Display| Error::Secret(error.to_string());
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(|e| failed(&e))?;
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    Ok(hash.map_err(|e| failed(&e))?.to_string())
}

/// Whether a password has this hash. A hash of another kind has no password.
#[must_use]
pub fn verify_password(hash: &str, password: &str) -> bool {
    let Ok(hash) = argon2::password_hash::phc::PasswordHash::new(hash) else { return false };
    !password.is_empty() && Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
}

/// A hash to check the passwords of unknown users against, so that the time of a reply does not show which users exist.
#[must_use]
pub fn decoy() -> &'static str {
    // Where there are no random bytes, no hash: then no user can log in either.
    static DECOY: LazyLock<String> = LazyLock::new(|| hash_password("decoy").unwrap_or_default());
    &DECOY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_one_password() {
        let hash = hash_password("secret pass").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(verify_password(&hash, "secret pass"));
        assert!(!verify_password(&hash, "secret pas") && !verify_password(&hash, ""));
        assert_ne!(hash, hash_password("secret pass").unwrap());
        assert!(matches!(hash_password(""), Err(Error::EmptyPassword)));
        for other in ["", "secret pass", "{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=", "$argon2id$v=19$x"] {
            assert!(!verify_password(other, "secret pass"), "{other}");
        }
    }
}
