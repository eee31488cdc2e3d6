//! A page as a value.

use maud::Markup;

/// What browsers may do with a page: use our style and show pictures of this server; nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

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
            ("content-security-policy", POLICY.to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("referrer-policy", "same-origin".to_owned()),
        ];
        Self { status: 200, headers, body }
    }

    /// Leads to another address.
    pub(crate) fn moved(to: String) -> Self {
        Self { status: 302, headers: vec![("location", to)], body: String::new() }
    }

    /// The reply for a page that the browser has. It has the same headers as the page.
    #[must_use]
    pub fn unchanged() -> Self {
        Self {
            status: 304,
            body: String::new(),
            ..Self::of("text/html; charset=utf-8", String::new())
        }
    }

    /// Sets a header to another value.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.to_owned()));
        self
    }
}
