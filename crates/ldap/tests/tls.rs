//! Encrypted connections: only servers whose certificates are vouched for are asked.

use std::fs;
use std::path::PathBuf;

use sapwood_ldap::{Directory, Settings};
use sapwood_testkit::slapd::Slapd;

use crate::example::{entries, log_in, settings};

/// A certificate for a host and its key, in files.
fn certificate(folder: &std::path::Path, name: &str, host: &str) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec![host.to_owned()]).unwrap();
    let files = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    fs::write(&files.0, made.cert.pem()).unwrap();
    fs::write(&files.1, made.signing_key.serialize_pem()).unwrap();
    files
}

#[tokio::test]
async fn only_servers_with_a_good_certificate_get_passwords() {
    let folder = tempfile::tempdir().unwrap();
    let (own, key) = certificate(folder.path(), "own", "127.0.0.1");
    let (other, other_key) = certificate(folder.path(), "other", "ldap.example.com");
    let server = Slapd::start(&entries(), Some((&own, &key)));
    let wrong_name = Slapd::start(&entries(), Some((&other, &other_key)));
    let answer = |url: String, start_tls: bool, authorities: Option<&PathBuf>| {
        let authorities = authorities.cloned();
        let settings = Settings { start_tls, authorities, ..settings(&[url]) };
        let directory = Directory::new(settings).unwrap();
        async move { log_in(&directory, "bob", "secret of bob").await }
    };
    assert_eq!(answer(server.tls_url(), false, Some(&own)).await, "bob: ops");
    assert_eq!(answer(server.url(), true, Some(&own)).await, "bob: ops");
    for (url, start_tls, authorities) in [
        (server.tls_url(), false, None),
        (server.tls_url(), false, Some(&other)),
        (server.url(), true, Some(&other)),
        (wrong_name.tls_url(), false, Some(&other)),
        (wrong_name.url(), true, Some(&other)),
        // A server without encryption, and one that has nothing else.
        (server.tls_url().replace("ldaps", "ldap"), false, None),
        (server.url().replace("ldap", "ldaps"), false, Some(&own)),
    ] {
        let said = answer(url.clone(), start_tls, authorities).await;
        assert!(said.starts_with("unavailable: LDAP server"), "{url} {start_tls}: {said}");
    }
    let missing = Settings {
        authorities: Some(folder.path().join("missing")),
        ..settings(&[server.tls_url()])
    };
    assert_eq!(Directory::new(missing).unwrap_err().setting, "ca");
    let empty = Settings { authorities: Some(key), ..settings(&[server.tls_url()]) };
    assert_eq!(Directory::new(empty).unwrap_err().setting, "ca");
}
