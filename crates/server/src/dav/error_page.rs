//! Failures as pages, for people who follow a link in a browser. Other programs get what they know: a word, or the
//! XML of an error.

use hyper::StatusCode;
use maud::html;

use super::browse;
use super::exchange::Exchange;
use super::head::Head;

/// Whether a request comes from a browser, which shows what it gets.
pub(super) fn is_wanted(head: &Head) -> bool {
    let is_svn = head.header("user-agent").is_some_and(|agent| agent.starts_with("SVN/"));
    head.looks() && !is_svn && head.has_word("accept", "text/html")
}

/// Writes the page in place of what the reply has until now.
pub(super) fn write(
    exchange: &mut Exchange,
    status: u16,
    headers: &[(&'static str, &str)],
    words: &str,
) {
    exchange.reset();
    exchange.status(status);
    headers.iter().for_each(|(name, value)| exchange.header(name, value));
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let title = reason.unwrap_or("Error");
    let body = html! {
        h1 { (title) }
        p { (words.trim()) }
        p { a href="./" { "This folder" } " · " a href="../" { "The folder above" } }
    };
    browse::send(exchange, browse::page(title, &body));
    exchange.finish();
}
