//! What one server says of a request that it forwards to another: one header, on connections whose other side has proved that it is a
//! server.
//!
//! ```text
//! Sapwood-Forwarded: 192.0.2.7 https 0 5bd9d3a6f0b3a1c4d2e87f6655443322 svn.example.com -
//! ```
//!
//! Invariant: on any other connection the header is not read, and a request with it is refused.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use sapwood_core::base64;

use super::super::certificate::ClientCertificate;
use super::super::proxied::Origin;

/// The header.
pub(in crate::dav) const STATEMENT: HeaderName = HeaderName::from_static("sapwood-forwarded");
/// The header of a reply that says that the repository is not here.
pub(in crate::dav) const ELSEWHERE: HeaderName = HeaderName::from_static("sapwood-elsewhere");
/// The status of such a reply: Misdirected Request.
pub(in crate::dav) const MISDIRECTED: u16 = 421;
/// Bytes of the largest certificate that is handed on.
const MOST_CERTIFICATE: usize = 16 << 10;

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dav) struct Statement {
    /// Where the request came from, at the server that the client called.
    pub(in crate::dav) origin: Origin,
    /// The repository that is meant.
    pub(in crate::dav) repository: String,
    /// The client's certificate, which the other server has verified.
    pub(in crate::dav) certificate: Option<Arc<ClientCertificate>>,
}

impl Statement {
    /// The header's value; nothing for what cannot be said in it.
    pub(super) fn value(&self) -> Option<HeaderValue> {
        let Self { origin, repository, certificate } = self;
        let scheme = if origin.secure { "https" } else { "http" };
        let proxied = u8::from(origin.is_proxied);
        let host = match &origin.host {
            Some(host) if host.is_empty() || host == "-" || host.contains(' ') => return None,
            Some(host) => host,
            None => "-",
        };
        let certificate = match certificate {
            Some(certificate) if certificate.der().len() > MOST_CERTIFICATE => return None,
            Some(certificate) => base64::encode(certificate.der()),
            None => "-".to_owned(),
        };
        let client = origin.client;
        let text = format!("{client} {scheme} {proxied} {repository} {host} {certificate}");
        HeaderValue::try_from(text).ok()
    }

    /// What the headers of a request say.
    pub(in crate::dav) fn read(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all(STATEMENT).iter();
        let only = all.next().filter(|_| all.next().is_none())?;
        let mut words = only.to_str().ok()?.split(' ');
        let client: IpAddr = words.next()?.parse().ok()?;
        let secure = match words.next()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let is_proxied = match words.next()? {
            "1" => true,
            "0" => false,
            _ => return None,
        };
        let repository = words.next().filter(|text| !text.is_empty())?.to_owned();
        let host = words.next().filter(|text| !text.is_empty())?;
        let certificate = match words.next()? {
            "-" => None,
            text => Some(Arc::new(ClientCertificate::read(&base64::decode(text.as_bytes())?)?)),
        };
        let host = (host != "-").then(|| host.to_owned());
        let origin = Origin { client, secure, host, is_proxied };
        words.next().is_none().then_some(Self { origin, repository, certificate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Statement> {
        let mut headers = HeaderMap::new();
        headers.append(STATEMENT, HeaderValue::from_str(text).unwrap());
        Statement::read(&headers)
    }

    proptest::proptest! {
        #[test]
        fn what_is_read_is_said_again(text in "\\PC{0,80}", words in "[0-9a-f.:]{1,9} https? [01] [0-9a-f]{1,9} [a-z.:-]{1,9} [A-Za-z0-9+/=-]{1,9}") {
            for text in [text, words] {
                let mut headers = HeaderMap::new();
                let Ok(value) = HeaderValue::from_str(&text) else { continue };
                headers.append(STATEMENT, value);
                if let Some(read) = Statement::read(&headers) {
                    let said = read.value().unwrap();
                    headers.insert(STATEMENT, said);
                    proptest::prop_assert_eq!(Statement::read(&headers), Some(read));
                }
            }
        }
    }

    #[test]
    fn what_is_said_is_read() {
        for text in
            ["192.0.2.7 https 0 5bd9d3a6 svn.example.com:8443 -", "2001:db8::1 http 1 5bd9d3a6 - -"]
        {
            let read = of(text).unwrap();
            assert_eq!(read.value().unwrap().to_str().unwrap(), text);
        }
        for bad in [
            "",
            "x http 0 5b h -",
            "192.0.2.7 ftp 0 5b h -",
            "192.0.2.7 http 2 5b h -",
            "192.0.2.7 http 0  h -",
            "192.0.2.7 http 0 5b h",
            "192.0.2.7 http 0 5b h - -",
            "192.0.2.7 http 0 5b h ####",
            "192.0.2.7 http 0 5b h AAAA",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
        let mut two = HeaderMap::new();
        for _ in 0..2 {
            two.append(STATEMENT, HeaderValue::from_static("192.0.2.7 http 0 5b h -"));
        }
        assert_eq!(Statement::read(&two), None);
    }
}
