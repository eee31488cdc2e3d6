//! A port without encryption that only redirects to the encrypted one.
//!
//! Invariant: only the method, the address and the host of a request are used.

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::Head;

/// Answers a request that came without encryption; `port` is where https is spoken.
///
/// # Errors
/// 403 for what a browser does not repeat by itself when it is sent elsewhere.
pub(super) fn answer(head: &Head, exchange: &mut Exchange, port: u16) -> DavResult {
    let Some(host) = head.host.as_deref().filter(|_| head.looks()) else {
        return Err(Fail::status(403, "This server speaks https only: use a URL with https://"));
    };
    let query = head.query.as_ref().map_or(String::new(), |query| format!("?{query}"));
    exchange.status(301);
    exchange.header("location", &format!("https://{}{}{query}", authority(host, port), head.path));
    Ok(())
}

/// A host, which may be named with another port, with that of https.
fn authority(host: &str, port: u16) -> String {
    let name = match host.rsplit_once(':') {
        // Not within the brackets of an address of IPv6.
        Some((name, digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    if port == 443 { name.to_owned() } else { format!("{name}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_of_https() {
        for (host, port, whole) in [
            ("svn.example.org", 443, "svn.example.org"),
            ("svn.example.org:80", 443, "svn.example.org"),
            ("svn.example.org:8080", 8443, "svn.example.org:8443"),
            ("[2001:db8::1]:8080", 443, "[2001:db8::1]"),
            ("[2001:db8::1]", 8443, "[2001:db8::1]:8443"),
        ] {
            assert_eq!(authority(host, port), whole);
        }
    }
}
