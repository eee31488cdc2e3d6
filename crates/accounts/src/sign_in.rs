//! Users whom a provider of identities knows. They have an account as soon as they make a token, and no password.
//!
//! Invariant: the tokens of such a user count until some time after the last sign-in, with the groups of that; and a name that
//! the provider gives to another person gives that person no token.

use sapwood_core::date::Timestamp;

use crate::accounts::{Accounts, User};
use crate::error::{Error, Result};
use crate::names;
use crate::provider_identity::ProviderIdentity;

impl User {
    /// Whether tokens count no longer, because the user has not signed in for too long.
    pub(crate) fn is_away(&self, now: Timestamp) -> bool {
        self.known.as_ref().is_some_and(|known| known.until <= now)
    }

    /// A user has signed in. Nothing changes for one who has an account without the provider.
    fn renew(&mut self, name: &str, known: &ProviderIdentity, groups: &[String]) -> Result<()> {
        let Some(before) = &self.known else { return Ok(()) };
        if !before.is_same_person(known) {
            return Err(Error::AnotherPerson(name.to_owned()));
        }
        self.known = Some(known.clone());
        self.groups = groups.iter().filter(|group| names::can_be_named(group)).cloned().collect();
        Ok(())
    }
}

impl Accounts {
    /// Notes that a user has signed in, with these groups. A user without an account gets none.
    ///
    /// # Errors
    /// [`Error::AnotherPerson`] where the account of this name is that of another person.
    pub fn signed_in(
        &mut self,
        name: &str,
        known: &ProviderIdentity,
        groups: &[String],
    ) -> Result<()> {
        match self.users_mut().get_mut(name) {
            Some(user) => user.renew(name, known, groups),
            None => Ok(()),
        }
    }

    /// The same; a user without an account gets one.
    ///
    /// # Errors
    /// As of [`Accounts::signed_in`], and for names that cannot be.
    pub fn add_from_provider(
        &mut self,
        name: &str,
        known: &ProviderIdentity,
        groups: &[String],
    ) -> Result<()> {
        names::check("user", name)?;
        let new = || User { known: Some(known.clone()), ..User::default() };
        let user = self.users_mut().entry(name.to_owned()).or_insert_with(new);
        user.renew(name, known, groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{Token, TokenScope};

    fn known(subject: &str, until: i64) -> ProviderIdentity {
        let (issuer, subject) = ("https://h".to_owned(), subject.to_owned());
        ProviderIdentity { issuer, subject, until: Timestamp(until) }
    }

    #[test]
    fn tokens_end_when_their_user_does_not_sign_in_any_more() {
        let mut accounts = Accounts::default();
        let devs = ["devs".to_owned(), "a:b".to_owned()];
        accounts.signed_in("ada@h", &known("1", 100), &devs).unwrap();
        assert!(accounts.users().is_empty(), "only who makes a token has an account");
        accounts.add_from_provider("ada@h", &known("1", 100), &devs).unwrap();
        let (token, text) = Token::make(TokenScope::default(), Timestamp(0), None).unwrap();
        accounts.add_token("ada@h", "t", token).unwrap();
        let groups = |accounts: &Accounts, now| {
            accounts.identity_by_token("ada@h", &text, Timestamp(now)).map(|found| found.groups)
        };
        assert_eq!(groups(&accounts, 99), Some(vec!["group:devs".to_owned()]));
        assert_eq!(groups(&accounts, 100), None);
        // A sign-in brings other groups, and more time; the tokens stay.
        accounts.signed_in("ada@h", &known("1", 200), &["qa".to_owned()]).unwrap();
        assert_eq!(groups(&accounts, 199), Some(vec!["group:qa".to_owned()]));
        accounts.add_from_provider("ada@h", &known("1", 300), &[]).unwrap();
        assert_eq!(groups(&accounts, 299), Some(Vec::new()));
        assert_eq!(accounts.password_hash("ada@h"), None);
    }

    #[test]
    fn a_name_that_another_person_has_now_gives_no_token() {
        let mut accounts = Accounts::default();
        accounts.add_from_provider("ada@h", &known("1", 100), &[]).unwrap();
        let before = accounts.clone();
        let other = ProviderIdentity { issuer: "https://other".to_owned(), ..known("1", 900) };
        for other in [known("2", 900), other] {
            assert!(matches!(
                accounts.signed_in("ada@h", &other, &[]),
                Err(Error::AnotherPerson(_))
            ));
            assert!(matches!(
                accounts.add_from_provider("ada@h", &other, &[]),
                Err(Error::AnotherPerson(_))
            ));
        }
        assert_eq!(accounts, before);
        // An account of the server's own stays as it is.
        accounts.add("bob", Some("secret"), &["qa".to_owned()]).unwrap();
        let before = accounts.clone();
        accounts.add_from_provider("bob", &known("3", 100), &["devs".to_owned()]).unwrap();
        assert_eq!(accounts, before);
        assert!(accounts.add_from_provider("group:devs", &known("4", 100), &[]).is_err());
    }
}
