//! Addresses of servers: `ldap://` and `ldaps://` URLs of scheme, host and port (RFC 4516).

use std::net::IpAddr;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Its URL, of scheme, host and port.
    pub(crate) url: String,
    /// Its host in lower case.
    pub(crate) host: String,
}

impl Address {
    /// Reads `ldap://HOST[:PORT]` or `ldaps://HOST[:PORT]`. What else an LDAP URL can have (RFC 4516) has settings of its
    /// own.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.trim().split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        if !matches!(&*scheme, "ldap" | "ldaps") || !authority.chars().all(is_host) {
            return None;
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        if host.is_empty() || port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return None;
        }
        let host = host.to_ascii_lowercase();
        Some(Self { url: format!("{scheme}://{authority}"), host })
    }

    /// Whether everything is encrypted from the first byte on.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.url.starts_with("ldaps:")
    }

    /// Whether it is on this machine.
    pub(crate) fn is_this_machine(&self) -> bool {
        let address = self.host.trim_matches(['[', ']']).parse::<IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}
