//! The section `[memcached-servers]` of `fsfs.conf`: those servers are not used, because one cache
//! serves all connections of a process. But the addresses must be valid, as for the reference.

use std::net::Ipv6Addr;

use sapwood_core::ErrorCode;
use sapwood_core::config::Config;

use crate::error::{Error, Result};

/// Looks at each server's address.
///
/// # Errors
/// E125010 for one without host or port, or with a scope; E000022 for an invalid address.
pub(crate) fn check(config: &Config) -> Result<()> {
    for (name, value) in config.options("memcached-servers") {
        let wrong = |message: String| Err(Error::new(ErrorCode::BAD_SERVER_SPECIFICATION, message));
        match parse(&value) {
            None => {
                let error = std::io::Error::from_raw_os_error(22);
                return Err(Error::Io {
                    what: format!("Error parsing memcache server '{name}'"),
                    error,
                });
            }
            Some(Address { scope: true, .. }) => {
                return wrong(format!("Scope not allowed in memcache server '{name}'"));
            }
            Some(Address { host: true, port: true, .. }) => {}
            Some(_) => {
                let message = format!("Must specify host and port for memcache server '{name}'");
                return wrong(message);
            }
        }
    }
    Ok(())
}

/// What there is of an address.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    host: bool,
    scope: bool,
    port: bool,
}

/// An address as APR takes it: a port alone, a host alone, `host:port`, `[::1]:port`. `None` for what
/// is none.
fn parse(value: &[u8]) -> Option<Address> {
    let is_port = |digits: &[u8]| {
        let number = str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u32>().ok());
        number.is_some_and(|number| (1..=65535).contains(&number))
    };
    let others = value.iter().rposition(|byte| !byte.is_ascii_digit());
    let Some(others) = others else {
        return is_port(value).then_some(Address { host: false, scope: false, port: true });
    };
    let (before, digits) = value.split_at_checked(others.saturating_add(1))?;
    let (host, port) = match before.strip_suffix(b":") {
        Some(host) if !digits.is_empty() => {
            if host.is_empty() || !is_port(digits) {
                return None;
            }
            (host, true)
        }
        _ => (value, false),
    };
    let Some(bracketed) = host.strip_prefix(b"[") else {
        return Some(Address { host: true, scope: false, port });
    };
    let inner = bracketed.strip_suffix(b"]").filter(|inner| !inner.contains(&b']'))?;
    let (address, scope) = match inner.iter().position(|byte| *byte == b'%') {
        Some(at) => inner.split_at_checked(at)?,
        None => (inner, &b""[..]),
    };
    str::from_utf8(address).ok()?.parse::<Ipv6Addr>().ok()?;
    (scope.len() != 1).then_some(Address { host: true, scope: !scope.is_empty(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let found = |host, scope, port| Some(Address { host, scope, port });
        for (value, address) in [
            ("127.0.0.1:11211", found(true, false, true)),
            ("::1:80", found(true, false, true)),
            ("[::1]:80", found(true, false, true)),
            ("[fe80::1%eth0]:80", found(true, true, true)),
            ("host", found(true, false, false)),
            ("host:", found(true, false, false)),
            ("host:80x", found(true, false, false)),
            ("80", found(false, false, true)),
            ("", None),
            ("0", None),
            (":80", None),
            ("host:0", None),
            ("host:65536", None),
            ("[::1", None),
            ("[::x]:80", None),
            ("[fe80::1%]:80", None),
        ] {
            assert_eq!(parse(value.as_bytes()), address, "{value}");
        }
    }
}
