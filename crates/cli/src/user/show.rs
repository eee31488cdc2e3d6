//! What `sapwood user list` and `show` print.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use sapwood_accounts::{Accounts, AccountsFile, Token, TokenUses, User};
use sapwood_core::SvnResult;
use sapwood_core::date::Timestamp;

/// Names with commas between them.
pub(super) fn list<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn state(user: &User) -> &'static str {
    match (user.disabled, user.has_password()) {
        (true, _) => "disabled",
        (false, true) => "password",
        (false, false) => "tokens only",
    }
}

/// A line for each user.
pub(super) fn all(accounts: &Accounts) -> String {
    let lines = accounts.users().iter().map(|(name, user)| {
        let (state, tokens) = (state(user), user.tokens.len());
        format!("{name:<20} {state:<11} {tokens:>3} tokens  groups: {}\n", list(&user.groups))
    });
    lines.collect()
}

/// A user, with the tokens.
pub(super) fn one(file: &AccountsFile, name: &str) -> SvnResult<String> {
    let accounts = file.read()?;
    let user = accounts.user(name)?;
    let uses = TokenUses::of(file).read();
    let mut text =
        format!("User: {name}\nLogs in by: {}\nGroups: {}\n", state(user), list(&user.groups));
    for (name, token) in &user.tokens {
        let used = uses.get(token.id()).copied();
        text.push_str(&of_token(name, token, used, Timestamp::now(), &TimeZone::system()));
    }
    Ok(text)
}

fn of_token(
    name: &str,
    token: &Token,
    used: Option<Timestamp>,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let end = match token.expires {
        None => "never".to_owned(),
        Some(end) if token.has_expired(now) => format!("{} (it has ended)", end.human(zone)),
        Some(end) => end.human(zone),
    };
    let rights = if token.scope.read_only { "read" } else { "read and write" };
    let repositories = match token.scope.repositories.as_slice() {
        [] => "all repositories".to_owned(),
        some => list(some),
    };
    let used = used.map_or("never".to_owned(), |at| at.human(zone));
    let mut text = format!("\nToken: {name}\n");
    for (what, value) in [
        ("Made", token.created.human(zone)),
        ("Ends", end),
        ("May", format!("{rights}: {repositories}")),
        ("Last used", used),
    ] {
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {what}: {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use sapwood_accounts::TokenScope;

    use super::*;

    #[test]
    fn a_token_is_shown_with_its_limits() {
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        let scope = TokenScope { read_only: true, repositories: vec!["game".to_owned()] };
        let (token, text) = Token::make(scope, at(0), Some(at(86_400))).unwrap();
        let shown = of_token("laptop", &token, Some(at(60)), at(100), &TimeZone::UTC);
        assert_eq!(
            shown,
            "\nToken: laptop\n  Made: 1970-01-01 00:00:00 +0000 (Thu, 01 Jan 1970)\n  Ends: \
             1970-01-02 00:00:00 +0000 (Fri, 02 Jan 1970)\n  May: read: game\n  Last used: \
             1970-01-01 00:01:00 +0000 (Thu, 01 Jan 1970)\n"
        );
        assert!(!shown.contains(&text));
        let ended = of_token("laptop", &token, None, at(86_400), &TimeZone::UTC);
        assert!(ended.contains("(it has ended)") && ended.contains("Last used: never"));
    }
}
