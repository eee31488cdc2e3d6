//! The page of a user's personal access tokens: what there is, a form for a new one, and a new one's text, once.

use maud::{Markup, html};

use crate::reply::Reply;
use crate::site::{self, TOKENS, Visitor};
use crate::{text, times, words};

/// The days that the form offers.
const DAYS: [u16; 4] = [30, 90, 180, 365];

/// A token, as its row has it. Times are as `svn:date` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The name.
    pub name: String,
    /// Whether it only reads.
    pub read_only: bool,
    /// The only repositories that it may use; all, if there are none.
    pub repositories: Vec<String>,
    /// When it was made.
    pub made: String,
    /// When it ends, if it does.
    pub ends: Option<String>,
    /// Whether it has ended.
    pub has_ended: bool,
    /// When it was used last.
    pub used: Option<String>,
}

/// What is on the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Those that there are.
    pub rows: Vec<Row>,
    /// The name and the text of one that was just made.
    pub fresh: Option<(String, String)>,
    /// Why nothing was made or revoked.
    pub problem: Option<String>,
    /// What proves that a form is ours.
    pub code: String,
    /// Until when tokens count, whatever their own end is, for users who sign in at a provider.
    pub until: Option<String>,
}

/// The page.
#[must_use]
pub fn page(visitor: &Visitor, tokens: &Tokens, now: i64) -> Reply {
    let status = if tokens.problem.is_some() { 400 } else { 200 };
    let body = html! {
        p { (words::TOKENS_MORE) }
        @if let Some(problem) = &tokens.problem { p.note role="alert" { (text::shown(problem)) } }
        @if let Some((name, secret)) = &tokens.fresh {
            div.change role="status" {
                p { b { bdi { (text::shown(name)) } } ": " (words::TOKEN_ONCE) }
                p { code.secret { (secret) } }
            }
        }
        (table(tokens, now))
        h2 { (words::NEW_TOKEN) }
        (form(tokens))
        @if let Some(until) = &tokens.until {
            p.note { (words::TOKENS_UNTIL) " " (times::full(until)) ". " (words::TOKENS_SIGN_IN) }
        }
    };
    site::page(status, words::TOKENS, visitor, &body)
}

fn table(tokens: &Tokens, now: i64) -> Markup {
    html! {
        @if tokens.rows.is_empty() { p.dim { (words::NO_TOKENS) } } @else {
            div.wide { table.list {
                thead { tr {
                    th { (words::NAME) } th { (words::TOKEN_MAY) } th { (words::TOKEN_MADE) } th { (words::TOKEN_ENDS) }
                    th { (words::TOKEN_USED) } th { span.skip { (words::REVOKE) } }
                } }
                tbody { @for row in &tokens.rows { tr {
                    td.name { bdi { (text::shown(&row.name)) } }
                    td {
                        (if row.read_only { words::READ_ONLY } else { words::READ_AND_WRITE })
                        @if !row.repositories.is_empty() { ": " (text::shown(&row.repositories.join(", "))) }
                    }
                    td { (times::ago(Some(&row.made), now)) }
                    td {
                        @match &row.ends {
                            Some(end) => { (times::full(end)) @if row.has_ended { " " (words::TOKEN_ENDED) } },
                            None => { (words::NEVER) },
                        }
                    }
                    td { @match &row.used { Some(at) => { (times::ago(Some(at), now)) }, None => { (words::NEVER) } } }
                    td { form method="post" action=(TOKENS) {
                        input type="hidden" name="code" value=(tokens.code);
                        input type="hidden" name="revoke" value=(row.name);
                        button { (words::REVOKE) }
                    } }
                } } }
            } }
        }
    }
}

fn form(tokens: &Tokens) -> Markup {
    html! {
        form.fields method="post" action=(TOKENS) {
            input type="hidden" name="code" value=(tokens.code);
            label { span { (words::TOKEN_NAME) } input name="name" required maxlength="100" autocomplete="off"; }
            label { span { (words::TOKEN_DAYS) } select name="days" {
                @for days in DAYS { option value=(days) selected[days == 90] { (days) } }
            } }
            label { span { (words::TOKEN_REPOSITORIES) } input name="repositories" maxlength="1000" autocomplete="off"; }
            label.check { input type="checkbox" name="read-only" value="yes" checked; " " (words::TOKEN_READ_ONLY) }
            button { (words::MAKE_TOKEN) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_shown_escaped_and_the_text_of_a_new_one_once() {
        let row = Row {
            name: "<b>\"x\"".to_owned(),
            read_only: true,
            repositories: vec!["game".to_owned(), "<i>".to_owned()],
            made: "2026-11-27T05:00:00.000000Z".to_owned(),
            ends: Some("2026-12-27T05:00:00.000000Z".to_owned()),
            ..Row::default()
        };
        let tokens = Tokens { rows: vec![row], code: "c".to_owned(), ..Tokens::default() };
        let now = times::seconds("2026-11-27T07:00:00.000000Z").unwrap();
        let reply = page(&Visitor::default(), &tokens, now);
        for part in [
            "&lt;b&gt;",
            "value=\"&lt;b&gt;&quot;x&quot;\"",
            "game, &lt;i&gt;",
            "2 hours ago",
            "2026-12-27 05:00 UTC",
        ] {
            assert!(reply.body.contains(part), "{part}: {}", reply.body);
        }
        assert!(!reply.body.contains("secret") && reply.status == 200);
        assert!(reply.headers.contains(&("cache-control", "no-store".to_owned())));
        let fresh = Some(("ci".to_owned(), "sapwood_00".to_owned()));
        let tokens = Tokens { fresh, problem: Some("no & no".to_owned()), ..Tokens::default() };
        let reply = page(&Visitor::default(), &tokens, now);
        assert!(reply.body.contains("sapwood_00") && reply.body.contains("no &amp; no"));
        assert_eq!(reply.status, 400);
    }
}
