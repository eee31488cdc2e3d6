//! What is in a server's certificate that is kept, for `svn auth`. The names and their order are
//! those of the reference.

use sapwood_core::base64;
use sapwood_core::date::Timestamp;
use sha1::{Digest as _, Sha1};
use x509_parser::asn1_rs::Oid;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate, X509Name};

/// A certificate taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The names of its owner, as `CN=host, O=company`.
    pub subject: String,
    /// The names of the authority, likewise.
    pub issuer: String,
    /// From when on it is valid.
    pub valid_from: Timestamp,
    /// The last moment at which it is.
    pub valid_until: Timestamp,
    /// Its SHA-1 checksum in hexadecimal digits.
    pub fingerprint: String,
    /// The hosts that it is for, patterns with `*` too.
    pub hostnames: Vec<String>,
}

/// The attributes of names that have a short form, by their numbers.
const LABELS: [(&str, &str); 7] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

fn label(oid: &Oid<'_>) -> String {
    let number = oid.to_id_string();
    let known = LABELS.iter().find(|(id, _)| *id == number);
    known.map_or(number, |(_, label)| (*label).to_owned())
}

fn names(name: &X509Name<'_>) -> String {
    let all = name.iter_attributes().map(|attribute| {
        let value = attribute.as_slice();
        format!("{}={}", label(attribute.attr_type()), String::from_utf8_lossy(value))
    });
    all.collect::<Vec<_>>().join(", ")
}

/// Whether a common name can be that of a host.
fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        let inner = !label.starts_with('-') && !label.ends_with('-');
        inner && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.split('.').all(is_label)
}

fn hostnames(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let listed = alternatives.iter().flat_map(|extension| &extension.value.general_names);
    let hosts: Vec<String> = listed
        .filter_map(|name| match name {
            GeneralName::DNSName(host) => Some((*host).to_owned()),
            _ => None,
        })
        .collect();
    if !hosts.is_empty() {
        return hosts;
    }
    let mut common = certificate.subject().iter_common_name();
    let first = common.next().and_then(|name| name.as_str().ok());
    first.filter(|name| is_hostname(name)).map(str::to_owned).into_iter().collect()
}

impl Description {
    /// Takes a certificate apart, as it is kept: DER in base64. None if it is no certificate.
    #[must_use]
    pub fn of_kept(ascii: &[u8]) -> Option<Self> {
        let der = base64::decode(ascii)?;
        let (_, certificate) = X509Certificate::from_der(&der).ok()?;
        let validity = certificate.validity();
        let micros = |seconds: i64| seconds.checked_mul(1_000_000).map(Timestamp);
        let digits = Sha1::digest(&der).iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self {
            subject: names(certificate.subject()),
            issuer: names(certificate.issuer()),
            valid_from: micros(validity.not_before.timestamp())?,
            valid_until: micros(validity.not_after.timestamp())?,
            fingerprint: digits,
            hostnames: hostnames(&certificate),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_other_names() {
        for host in ["localhost", "svn.example.org", "a-b.c"] {
            assert!(is_hostname(host), "{host}");
        }
        for other in ["Wood & Co", "-a.b", "a-.b", "a.-b", "a_b"] {
            assert!(!is_hostname(other), "{other}");
        }
    }

    #[test]
    fn what_is_none() {
        for text in [&b""[..], b"AAAA", b"not base64!", b"MIIB"] {
            assert_eq!(Description::of_kept(text), None);
        }
    }
}
