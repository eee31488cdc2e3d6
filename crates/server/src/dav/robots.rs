//! `/robots.txt`: what programs that collect pages may read.
//!
//! Each revision has pages of its own, without end. A crawler reads the newest files and folders only.

use super::exchange::Exchange;
use super::head::Head;

const RULES: &str = "User-agent: *\n\
Disallow: /*/-/log/\n\
Disallow: /*/-/rev/\n\
Disallow: /*/-/blame/\n\
Disallow: /*/-/compare/\n\
Disallow: /*/-/feed/\n\
Disallow: /*/-/branches/\n\
Disallow: /*/-/graph/\n\
Disallow: /*/-/signin\n\
Disallow: /*/-/media/\n\
Disallow: /*/-/tar.gz/\n\
Disallow: /*/-/zip/\n\
Disallow: /*/-/api/\n\
Disallow: /*!svn/\n\
Disallow: /*?p=\n\
Disallow: /*?r=\n";

/// Writes it, if the request is for it. The caller has found no repository there.
pub(super) fn write(head: &Head, exchange: &mut Exchange) -> bool {
    if head.path != "/robots.txt" || !head.looks() {
        return false;
    }
    exchange.header("content-type", "text/plain; charset=utf-8");
    exchange.header("cache-control", "max-age=86400");
    exchange.out().extend_from_slice(RULES.as_bytes());
    true
}
