//! What a reverse proxy says about the client: its address, and the address that it called. Only a
//! trusted proxy is believed.

use std::net::{IpAddr, SocketAddr};

use hyper::header::HeaderMap;

use crate::common::settings::Network;

/// Where a request came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The client's address.
    pub(super) client: IpAddr,
    /// Whether the client speaks https.
    pub(super) secure: bool,
    /// The host and port that the client called.
    pub(super) host: Option<String>,
    /// Whether a trusted proxy handed the request over.
    pub(super) is_proxied: bool,
}

fn words<'a>(headers: &'a HeaderMap, name: &str) -> impl DoubleEndedIterator<Item = &'a str> {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|v| v.to_str().ok()).collect();
    let words: Vec<&str> = values.into_iter().flat_map(|v| v.split(',')).map(str::trim).collect();
    words.into_iter()
}

/// The value of a pair in one element of `Forwarded`.
fn pair<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.split(';').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
    })
}

/// An address, perhaps with a port, perhaps in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let plain = text.trim_matches(['[', ']']);
    plain.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|a| a.ip()))
}

/// Finds out where a request came from that arrived from `peer`.
pub(super) fn origin(
    headers: &HeaderMap,
    peer: IpAddr,
    secure: bool,
    trusted: &[Network],
) -> Origin {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.has(address));
    let host = headers.get("host").and_then(|h| h.to_str().ok()).map(str::to_owned);
    let mut origin = Origin { client: peer.to_canonical(), secure, host, is_proxied: false };
    if !is_trusted(peer) {
        return origin;
    }
    origin.is_proxied = true;
    let forwarded: Vec<&str> = words(headers, "forwarded").collect();
    let mut hops: Vec<Option<IpAddr>> = if forwarded.is_empty() {
        words(headers, "x-forwarded-for").map(address).collect()
    } else {
        forwarded.iter().map(|element| address(pair(element, "for")?)).collect()
    };
    // From the nearest on: the first that is not one of our proxies. Any client may forge what is before
    // it.
    while let Some(Some(hop)) = hops.pop() {
        origin.client = hop.to_canonical();
        if !is_trusted(hop) {
            break;
        }
    }
    // Of these, the nearest proxy's value is the last one.
    let last = |name: &str| words(headers, name).next_back().map(str::to_owned);
    let element = forwarded.last().copied().unwrap_or("");
    let own = |name: &str| pair(element, name).map(str::to_owned);
    if let Some(scheme) = own("proto").or_else(|| last("x-forwarded-proto")) {
        origin.secure = scheme.eq_ignore_ascii_case("https");
    }
    let is_host = |host: &String| host.bytes().all(|b| b.is_ascii_graphic() && b != b'/');
    let named = own("host").or_else(|| last("x-forwarded-host")).filter(is_host);
    origin.host = named.or(origin.host);
    origin
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn of(peer: &str, headers: &[(&'static str, &str)]) -> Origin {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        let trusted = [Network::parse("10.0.0.0/8").unwrap()];
        origin(&map, peer.parse().unwrap(), false, &trusted)
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let said = [
            ("host", "inner"),
            ("x-forwarded-for", "6.6.6.6, 192.0.2.7, 10.0.0.9"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "svn.example.org"),
        ];
        let found = of("10.0.0.1", &said);
        assert_eq!(found.client, "192.0.2.7".parse::<IpAddr>().unwrap());
        assert!(found.secure && found.is_proxied);
        assert_eq!(found.host.as_deref(), Some("svn.example.org"));
        let found = of("192.0.2.1", &said);
        assert_eq!(found.client, "192.0.2.1".parse::<IpAddr>().unwrap());
        assert!(!found.secure && !found.is_proxied);
        assert_eq!(found.host.as_deref(), Some("inner"));
    }

    #[test]
    fn the_standard_header() {
        let said = [("forwarded", "for=\"[2001:db8::1]:80\";proto=https;host=h, for=10.2.3.4")];
        let found = of("10.0.0.1", &said);
        assert_eq!(found.client, "2001:db8::1".parse::<IpAddr>().unwrap());
        let found = of("10.0.0.1", &[("forwarded", "for=_hidden;host=\"a/b\"")]);
        assert_eq!(found.client, "10.0.0.1".parse::<IpAddr>().unwrap());
        assert_eq!(found.host, None);
    }
}
