//! A database on another machine: TLS, and passwords out of files.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_objects::{Folder, prove};
use sapwood_objects_postgres::{Address, Connection, Settings};

use crate::server::Server;

/// A certificate for a host and its key, in files.
fn certificate(folder: &Path, name: &str, host: &str) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec![host.to_owned()]).unwrap();
    let files = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    fs::write(&files.0, made.cert.pem()).unwrap();
    fs::write(&files.1, made.signing_key.serialize_pem()).unwrap();
    files
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What is said of a database at a host and port, with these variables.
fn tried(host: &str, port: u16, variables: &[(&str, &Path)]) -> String {
    let objects = tempfile::tempdir().unwrap();
    let text = format!("postgres://svn@{host}:{port}/sapwood+file://{}", objects.path().display());
    let pairs =
        variables.iter().map(|(name, value)| ((*name).to_owned(), value.display().to_string()));
    let settings = Settings { variables: pairs.collect() };
    let address = Address::parse(&text).unwrap();
    let opened = Connection::open(&address, &settings);
    let opened = opened.and_then(|c| c.store(&address, Arc::new(Folder::new(objects.path()))));
    match opened {
        Ok(store) => prove(&*store).map_or_else(|e| e.to_string(), |()| "proved".to_owned()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn certificates_are_checked_and_passwords_come_out_of_files() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let (own, key) = certificate(folder.path(), "own", "localhost");
    let (other, _) = certificate(folder.path(), "other", "localhost");
    let port = free_port();
    server.listen(port, Some((&own, &key)));
    let passwords = folder.path().join("passwords");
    fs::write(&passwords, format!("localhost:{port}:sapwood:svn:a:secret\n")).unwrap();
    fs::set_permissions(&passwords, Permissions::from_mode(0o600)).unwrap();
    let require = ("PGSSLMODE", Path::new("require"));
    let (ca, file) = (("PGSSLROOTCERT", &*own), ("PGPASSFILE", &*passwords));
    assert_eq!(tried("localhost", port, &[require, ca, file]), "proved");
    // The server takes nothing without TLS, and this machine need not have it.
    let said = tried("localhost", port, &[file]);
    assert!(said.contains("no encryption"), "{said}");
    // Another authority, the system's, and another name than the certificate's.
    for (host, authority) in
        [("localhost", &*other), ("localhost", Path::new("system")), ("127.0.0.1", &*own)]
    {
        let said = tried(host, port, &[require, ("PGSSLROOTCERT", authority), file]);
        assert!(said.contains("certificate"), "{host}: {said}");
    }
    let said = tried("localhost", port, &[require, ca]);
    assert!(said.contains("password"), "{said}");
    fs::write(&passwords, "localhost:*:*:svn:wrong\n").unwrap();
    let said = tried("localhost", port, &[require, ca, file]);
    assert!(said.contains("password authentication failed"), "{said}");
    assert!(!said.contains("wrong"), "{said}");
    fs::set_permissions(&passwords, Permissions::from_mode(0o640)).unwrap();
    let said = tried("localhost", port, &[require, ca, file]);
    assert!(said.contains("has to be 0600"), "{said}");
}

#[test]
fn a_server_without_tls_gets_no_password_where_it_is_wanted() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let (own, _) = certificate(folder.path(), "own", "localhost");
    let port = free_port();
    server.listen(port, None);
    let (require, ca) = (("PGSSLMODE", Path::new("verify-full")), ("PGSSLROOTCERT", &*own));
    let password = ("PGPASSWORD", Path::new("a:secret"));
    let said = tried("localhost", port, &[require, ca, password]);
    assert!(said.contains("TLS"), "{said}");
    assert_eq!(tried("localhost", port, &[password]), "proved", "of this machine");
}
