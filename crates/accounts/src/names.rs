//! Which names users, groups and tokens can have.
//!
//! Invariant: no user has the name under which a group is known in authz files.

use crate::error::{Error, Result};

/// In an authz file, `group:devs` as a member of a group stands for the users in the group `devs` of the accounts.
pub const GROUP_PREFIX: &str = "group:";

/// The longest name, in bytes.
const LONGEST: usize = 128;

/// Checks the name of a user, group or token.
///
/// # Errors
/// [`Error::Name`] with the reason.
pub(crate) fn check(what: &'static str, name: &str) -> Result<()> {
    let wrong = |why| Err(Error::Name { what, name: name.to_owned(), why });
    if name.is_empty() {
        return wrong("it is empty");
    }
    if name.len() > LONGEST {
        return wrong("it is longer than 128 bytes");
    }
    if name.trim() != name || name.chars().any(char::is_control) {
        return wrong("it has control characters, or white space at an end");
    }
    // Basic authentication ends the name at a colon; lists in authz files, at a comma.
    if name.contains([':', ',', '=']) {
        return wrong("it has one of the characters ':', ',' and '='");
    }
    // What begins so has a meaning of its own in authz files.
    if name.starts_with(['@', '&', '$', '~', '*', '#', '[']) {
        return wrong("its first character has a meaning in authz files");
    }
    Ok(())
}

/// Whether an authz file can name a user or group so.
#[must_use]
pub fn can_be_named(name: &str) -> bool {
    check("group", name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_name_can_be() {
        for good in ["ada", "Ada Lovelace", "ada@example.com", "é", "a.b-c_d", "0"] {
            assert!(check("user", good).is_ok(), "{good}");
        }
        let long = "x".repeat(129);
        for bad in ["", " ada", "ada ", "a:b", "a,b", "a=b", "a\nb", "@x", "&x", "$x", "~x", "*"] {
            assert!(check("user", bad).is_err(), "{bad:?}");
        }
        assert!(check("user", &long).is_err());
        assert!(check("user", &format!("{GROUP_PREFIX}devs")).is_err());
    }
}
