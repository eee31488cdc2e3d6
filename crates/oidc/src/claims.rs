//! Who a user is, by what the provider says: a name and groups, and whether such a user may sign in.
//!
//! Invariant: a mail address counts only where the provider says that it is verified.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::token::Claims;

/// The most groups of a user that are looked at.
const MOST_GROUPS: usize = 2_000;

/// Who has signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// What the provider calls the user: it is never that of another one.
    pub subject: String,
    /// The name, with the suffix.
    pub name: String,
    /// The groups, by their names in the settings, or in the claim.
    pub groups: Vec<String>,
}

/// Whether the claims lack what a user is known by.
pub(crate) fn are_short(claims: &Claims, settings: &Settings) -> bool {
    let lacks = |name: &str| !claims.contains_key(name);
    lacks(&settings.name_claim)
        || settings.groups_claim.as_deref().is_some_and(lacks)
        || (!settings.allowed_domains.is_empty() && lacks("email"))
}

/// Adds what the provider says of the user besides: only what the ID token does not say itself.
pub(crate) fn add(claims: &mut Claims, more: Claims) {
    let has_mail = claims.contains_key("email");
    for (name, value) in more {
        // That an address is verified is said of the address in the same answer.
        if !(has_mail && name == "email_verified") {
            claims.entry(name).or_insert(value);
        }
    }
}

/// Who the claims of a proved token are about.
///
/// # Errors
/// [`Error::NotAllowed`] where such a user may not sign in, or has no name.
pub(crate) fn person(claims: &Claims, settings: &Settings) -> Result<Person> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let subject = text("sub").ok_or(Error::Token("it names no user"))?;
    let not_allowed = |why: String| Error::NotAllowed { subject: subject.to_owned(), why };
    let claim = &*settings.name_claim;
    let name = text(claim).map(str::trim).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| not_allowed(format!("there is no text in '{claim}'")))?;
    if claim == "email" && !has_verified_mail(claims) {
        return Err(not_allowed("the mail address is not verified".to_owned()));
    }
    let groups = groups(claims, settings);
    if !settings.allowed_groups.is_empty()
        && !groups.iter().any(|group| settings.allowed_groups.contains(group))
    {
        return Err(not_allowed("no group is one of 'allowed-groups'".to_owned()));
    }
    let domain = text("email").filter(|_| has_verified_mail(claims));
    let domain = domain.and_then(|mail| mail.rsplit_once('@')).map(|(_, domain)| domain);
    let is_allowed = |domain: &str| {
        settings.allowed_domains.iter().any(|allowed| allowed.eq_ignore_ascii_case(domain))
    };
    if !settings.allowed_domains.is_empty() && !domain.is_some_and(is_allowed) {
        return Err(not_allowed("the mail address is at none of 'allowed-domains'".to_owned()));
    }
    let name = format!("{name}{}", settings.suffix());
    Ok(Person { subject: subject.to_owned(), name, groups })
}

fn has_verified_mail(claims: &Claims) -> bool {
    // Some providers write it as a text.
    match claims.get("email_verified") {
        Some(Value::Bool(is_verified)) => *is_verified,
        Some(Value::String(text)) => text == "true",
        _ => false,
    }
}

/// The groups of the claim, which is a list or one text.
fn groups(claims: &Claims, settings: &Settings) -> Vec<String> {
    let named: Vec<&str> = match settings.groups_claim.as_ref().and_then(|name| claims.get(name)) {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).take(MOST_GROUPS).collect(),
        Some(Value::String(one)) => vec![one],
        _ => Vec::new(),
    };
    if settings.groups.is_empty() {
        return named.into_iter().map(str::to_owned).collect();
    }
    let is_in = |(_, theirs): &(&String, &String)| named.contains(&theirs.as_str());
    settings.groups.iter().filter(is_in).map(|(own, _)| own.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            issuer: "https://login.example.com".to_owned(),
            name_claim: "preferred_username".to_owned(),
            groups_claim: Some("groups".to_owned()),
            ..Settings::default()
        }
    }

    fn claims(text: &str) -> Claims {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn names_end_with_the_provider_unless_the_administrator_says_otherwise() {
        let ada = claims(r#"{"sub":"1","preferred_username":"ada","groups":["devs","qa",7]}"#);
        let person = person(&ada, &settings()).unwrap();
        assert_eq!((&*person.name, &*person.subject), ("ada@login.example.com", "1"));
        assert_eq!(person.groups, ["devs", "qa"]);
        let same = Settings { name_suffix: Some(String::new()), ..settings() };
        assert_eq!(super::person(&ada, &same).unwrap().name, "ada");
        let groups = [("developers".to_owned(), "devs".to_owned())].into();
        let mapped = Settings { groups, ..settings() };
        assert_eq!(super::person(&ada, &mapped).unwrap().groups, ["developers"]);
        for nameless in [
            r#"{"sub":"1"}"#,
            r#"{"sub":"1","preferred_username":" "}"#,
            r#"{"sub":"1","preferred_username":["ada"]}"#,
        ] {
            assert!(super::person(&claims(nameless), &settings()).is_err(), "{nameless}");
        }
        let one = claims(r#"{"sub":"1","preferred_username":"a","groups":"devs"}"#);
        assert_eq!(super::person(&one, &settings()).unwrap().groups, ["devs"]);
    }

    #[test]
    fn only_who_is_allowed_signs_in() {
        let groups = Settings { allowed_groups: vec!["devs".to_owned()], ..settings() };
        let domains = Settings { allowed_domains: vec!["example.com".to_owned()], ..settings() };
        let mail = Settings { name_claim: "email".to_owned(), ..settings() };
        let base = r#""sub":"1","preferred_username":"ada""#;
        for (text, of_groups, of_domains, of_mail) in [
            (r#","groups":["devs"]"#, true, false, false),
            (
                r#","groups":["dev"],"email":"a@example.com","email_verified":true"#,
                false,
                true,
                true,
            ),
            (r#","email":"a@Example.com","email_verified":"true""#, false, true, true),
            (r#","email":"a@example.com""#, false, false, false),
            (r#","email":"a@example.com","email_verified":false"#, false, false, false),
            (r#","email":"a@example.com@evil.com","email_verified":true"#, false, false, true),
            (r#","email":"example.com","email_verified":true"#, false, false, true),
        ] {
            let all = claims(&format!("{{{base}{text}}}"));
            let may = |settings: &Settings| person(&all, settings).is_ok();
            assert_eq!(
                (may(&groups), may(&domains), may(&mail)),
                (of_groups, of_domains, of_mail),
                "{text}"
            );
        }
    }

    #[test]
    fn what_the_id_token_says_is_not_replaced() {
        let mut said = claims(r#"{"sub":"1","email":"eve@evil.com"}"#);
        assert!(are_short(&said, &settings()));
        add(
            &mut said,
            claims(
                r#"{"sub":"2","email":"ada@h","email_verified":true,"preferred_username":"x","groups":[]}"#,
            ),
        );
        assert_eq!(said["sub"], "1");
        assert_eq!(said["email"], "eve@evil.com");
        assert!(!has_verified_mail(&said) && said["preferred_username"] == "x");
        assert!(!are_short(&said, &settings()));
    }
}
