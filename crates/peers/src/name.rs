//! The name of a server: the host and the port where the others reach it.

use std::fmt;

use crate::error::{Error, Result};
use crate::hex;

/// Bytes of the longest name.
const LONGEST: usize = 255;

/// `HOST:PORT`; an address of IPv6 is in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    host: String,
    port: u16,
}

impl Name {
    /// Reads `HOST:PORT`. Case does not matter in it.
    ///
    /// # Errors
    /// A sentence about what is no such name.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || Error::Setting(format!("'{text}' is no HOST:PORT"));
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?;
        let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_fit = match plain {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
                !host.is_empty() && host.bytes().all(fits)
            }
        };
        if !is_fit || text.len() > LONGEST {
            return Err(wrong());
        }
        Ok(Self { host: plain.unwrap_or(host).to_ascii_lowercase(), port })
    }

    /// The name of a server that is known by its address.
    #[must_use]
    pub fn of_address(address: std::net::SocketAddr) -> Self {
        Self { host: address.ip().to_canonical().to_string(), port: address.port() }
    }

    /// The host, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// A short form that clients may see, which says nothing of hosts and ports.
    #[must_use]
    pub fn tag(&self) -> String {
        let mut text = hex::of(&hex::sha256(self.to_string().as_bytes()));
        text.truncate(8);
        text
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers() {
        for (text, shown) in [
            ("a.example:3700", "a.example:3700"),
            ("A.Example:3700", "a.example:3700"),
            ("10.0.0.1:1", "10.0.0.1:1"),
            ("[2001:db8::1]:65535", "[2001:db8::1]:65535"),
        ] {
            let name = Name::parse(text).unwrap();
            assert_eq!(name.to_string(), shown);
            assert_eq!(Name::parse(shown).unwrap(), name);
        }
        let address = "[::ffff:10.0.0.1]:7".parse().unwrap();
        assert_eq!(Name::of_address(address), Name::parse("10.0.0.1:7").unwrap());
        for bad in
            ["", "a", "a:", ":1", "a:0", "a:65536", "a b:1", "::1:7", "[a]:1", "[::1:1", "a/b:1"]
        {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
        assert!(Name::parse(&format!("{}:1", "a".repeat(300))).is_err());
    }
}
