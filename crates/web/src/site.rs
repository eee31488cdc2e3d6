//! Pages of the server as a whole, which belong to no repository: signing in and out, and where its status is.
//!
//! Invariant: nothing here depends on what a repository has.

use maud::{DOCTYPE, Markup, html};

use crate::reply::Reply;
use crate::{style, text, words};

/// Where a browser begins to sign in; `to` in its query is where it goes afterwards.
pub const SIGN_IN: &str = "/-/sign-in";
/// Where the provider sends it back.
pub const SIGNED_IN: &str = "/-/signed-in";
/// Where a user signs out.
pub const SIGN_OUT: &str = "/-/sign-out";
/// Where the provider sends browsers after signing out there.
pub const SIGNED_OUT: &str = "/-/signed-out";
/// Where the tokens of a user are.
pub const TOKENS: &str = "/-/tokens";
/// Where members see how the server is.
pub const STATUS: &str = "/-/status";
/// Where browsers look for the icon of what names none.
pub const FAVICON: &str = "/favicon.ico";
/// Where the style sheet and the icon of these pages are.
const STYLE: &str = "/-/style/";

/// Who looks at a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Visitor {
    /// The name, of one who has signed in.
    pub user: Option<String>,
    /// The link by which the visitor can sign in.
    pub sign_in: Option<String>,
    /// Whether the visitor can sign out: a browser does not forget a password on our word.
    pub can_sign_out: bool,
    /// Whether there is a page of the visitor's tokens.
    pub has_tokens: bool,
    /// Whether the visitor may see how the server is.
    pub has_status: bool,
}

impl Visitor {
    /// The line of a page that says who looks at it.
    pub(crate) fn line(&self) -> Markup {
        html! {
            @if self.user.is_some() || self.sign_in.is_some() {
                nav.me aria-label=(words::YOU) {
                    @if let Some(user) = &self.user { bdi { (text::shown(user)) } }
                    @if self.has_tokens { a href=(TOKENS) rel="nofollow" { (words::TOKENS) } }
                    @if self.has_status { a href=(STATUS) rel="nofollow" { (words::STATUS) } }
                    @if self.can_sign_out { a href=(SIGN_OUT) rel="nofollow" { (words::SIGN_OUT) } }
                    @if let Some(link) = self.sign_in.as_ref().filter(|_| self.user.is_none()) {
                        a href=(link) rel="nofollow" { (words::SIGN_IN) }
                    }
                }
            }
        }
    }
}

/// A page of the server.
pub(crate) fn page(status: u16, title: &str, visitor: &Visitor, body: &Markup) -> Reply {
    let page = Reply::page(document(title, visitor, body, (None, false)));
    Reply { status, ..page.with("cache-control", "no-store") }
}

/// A page with our script. `is_index`: crawlers may find it, and go on from it.
pub(crate) fn page_with_script(
    title: &str,
    visitor: &Visitor,
    body: &Markup,
    is_index: bool,
) -> Reply {
    let script = format!("{STYLE}{}", style::script_name());
    Reply::page(document(title, visitor, body, (Some(&script), is_index))).with_script()
}

fn document(
    title: &str,
    visitor: &Visitor,
    body: &Markup,
    (script, is_index): (Option<&str>, bool),
) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(words::LANGUAGE) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if !is_index { meta name="robots" content="noindex,nofollow"; }
                title { (title) " · " (words::MADE_BY) }
                link rel="stylesheet" href={ (STYLE) (style::name()) };
                link rel="icon" type="image/svg+xml" href=(icon());
                @if let Some(script) = script { script src=(script) defer data-words=(words::of_script()) {} }
            }
            body {
                a.skip href="#main" { (words::SKIP) }
                header { (visitor.line()) nav.crumbs.site aria-label=(words::NAME) { span.repo { (words::MADE_BY) } } }
                main id="main" { h1 { (title) } (body) }
                footer { span { (words::MADE_BY) } }
            }
        }
    }
}

/// A page that only says something. `again` is a link to sign in.
#[must_use]
pub fn notice(status: u16, title: &str, sentence: &str, again: Option<&str>) -> Reply {
    let body = html! {
        p { (sentence) }
        @if let Some(link) = again { p { a.button href=(link) { (words::SIGN_IN) } } }
    };
    page(status, title, &Visitor::default(), &body)
}

/// The page that asks whether a user wants to sign out. `code` proves that the form is ours.
#[must_use]
pub fn sign_out(visitor: &Visitor, code: &str) -> Reply {
    let body = html! {
        p { (words::SIGN_OUT_SURE) }
        form method="post" action=(SIGN_OUT) {
            input type="hidden" name="code" value=(code);
            button { (words::SIGN_OUT) }
        }
    };
    page(200, words::SIGN_OUT, visitor, &body)
}

/// The page of one who has signed out of this server. `there` is where to sign out at the provider, too, and `again` a link to
/// sign in.
#[must_use]
pub fn signed_out(there: Option<&str>, again: &str) -> Reply {
    let body = html! {
        p { (words::SIGNED_OUT_MORE) }
        @if let Some(link) = there { p { a.button href=(link) { (words::SIGN_OUT_THERE) } } }
        p { a.button href=(again) { (words::SIGN_IN) } }
    };
    page(200, words::SIGNED_OUT, &Visitor::default(), &body)
}

/// The style sheet or the icon, if a path is its address.
#[must_use]
pub fn style_at(path: &str) -> Option<Reply> {
    style::named(path.strip_prefix(STYLE)?)
}

/// The address of the icon.
#[must_use]
pub fn icon() -> String {
    format!("{STYLE}{}", style::icon_name())
}

/// The icon for browsers that ask for it by [`FAVICON`].
#[must_use]
pub fn favicon() -> Reply {
    style::icon()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_server_escape_and_are_not_kept() {
        let visitor = Visitor {
            user: Some("<b>\u{202e}".to_owned()),
            can_sign_out: true,
            ..Visitor::default()
        };
        let reply = sign_out(&visitor, "a\"b");
        assert!(
            reply.body.contains("&lt;b&gt;⟨U+202E⟩") && reply.body.contains("value=\"a&quot;b\"")
        );
        assert!(reply.headers.contains(&("cache-control", "no-store".to_owned())));
        let reply = notice(403, "No", "why & how", Some("/x?a=1&b"));
        assert_eq!(reply.status, 403);
        assert!(
            reply.body.contains("why &amp; how") && reply.body.contains("href=\"/x?a=1&amp;b\"")
        );
        assert!(style_at(&format!("/-/style/{}", style::name())).is_some());
        assert!(style_at("/-/style/x.css").is_none() && style_at("/style").is_none());
        assert!(style_at(&icon()).is_some() && reply.body.contains(&icon()));
    }
}
