//! A page as a value.

use maud::Markup;

/// What browsers may do with a reply: use our style and show pictures of this server; nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// The same with our script, which asks this server for pages and cannot make a page of a text (`require-trusted-types-for`).
/// The server refuses stored files as scripts.
const POLICY_WITH_SCRIPT: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; \
     img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";
/// The header of policies.
const POLICY_NAME: &str = "content-security-policy";

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Its headers, beside the tag.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: String,
}

impl Reply {
    /// A page.
    pub(crate) fn page(page: Markup) -> Self {
        Self::of("text/html; charset=utf-8", page.into_string())
    }

    /// A body of another media type.
    pub(crate) fn of(media: &str, body: String) -> Self {
        let headers = vec![
            ("content-type", media.to_owned()),
            // The page depends on the user, and is asked about again each time.
            ("cache-control", "private, no-cache".to_owned()),
            (POLICY_NAME, POLICY.to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("referrer-policy", "same-origin".to_owned()),
        ];
        Self { status: 200, headers, body }
    }

    /// Leads to another address.
    pub(crate) fn moved(to: String) -> Self {
        Self { status: 302, headers: vec![("location", to)], body: String::new() }
    }

    /// The reply for a page that the browser has. What it may do with it, it knows too: pages differ in that.
    #[must_use]
    pub fn unchanged() -> Self {
        let page = Self { status: 304, ..Self::of("", String::new()) };
        page.without(POLICY_NAME).without("content-type")
    }

    /// The reply for one who has what never changes.
    #[must_use]
    pub fn emptied(self) -> Self {
        Self { status: 304, body: String::new(), ..self }
    }

    /// A page that has our script.
    pub(crate) fn with_script(self) -> Self {
        self.with(POLICY_NAME, POLICY_WITH_SCRIPT)
    }

    /// A page that may do something more: `more` is added to its policy.
    pub(crate) fn and_allows(mut self, more: &str) -> Self {
        let mut all = self.headers.iter_mut();
        if let Some((_, policy)) = all.find(|(name, _)| *name == POLICY_NAME) {
            policy.push_str(more);
        }
        self
    }

    /// The same without a header.
    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self
    }

    /// Sets a header to another value.
    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        let mut reply = self.without(name);
        reply.headers.push((name, value.to_owned()));
        reply
    }
}
