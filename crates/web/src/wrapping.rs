//! Long lines, wrapped or not: a link to the same page in the other way.
//!
//! Invariant: the link is to what is shown, with all else that the address says.

use maud::{Markup, html};

use crate::Request;
use crate::address::Wrap;
use crate::links::with_field;
use crate::words;

/// The field of an address whose long lines are not wrapped.
pub(crate) const BESIDE: &str = "wrap=0";

/// The link that wraps long lines, or does not. `address` is that of the page without that.
pub(crate) fn switch(request: &Request<'_>, address: String) -> Markup {
    match request.address.query.wrap {
        Wrap::Below => html! {
            a.button href=(with_field(address, BESIDE)) rel="nofollow" data-wrap="0" { (words::UNWRAPPED) }
        },
        Wrap::Beside => html! {
            a.button href=(address) rel="nofollow" data-wrap="1" { (words::WRAPPED) }
        },
    }
}

/// An address whose page has lines in the same way as this one.
pub(crate) fn same(request: &Request<'_>, address: String) -> String {
    match request.address.query.wrap {
        Wrap::Below => address,
        Wrap::Beside => with_field(address, BESIDE),
    }
}

/// A table of lines.
pub(crate) fn lines(wrap: Wrap, table: &Markup) -> Markup {
    match wrap {
        Wrap::Below => html! { div.lines { (table) } },
        // Whatever scrolls can be reached by keys.
        Wrap::Beside => html! { div.lines.unwrapped tabindex="0" { (table) } },
    }
}
