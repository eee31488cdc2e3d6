//! Addresses of stores, and files of passwords of the databases among them: an address is written as it was read, names one place, and
//! what is refused is not shown with a password.

use sapwood_objects::addresses;
use sapwood_objects_postgres::pass_file::{Login, password_in};

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert!(text.starts_with(addresses::place(text)));
    // Nothing is asked of a folder until something is wanted of it.
    if addresses::open(text).is_ok() {
        assert!(text.starts_with("file:///"));
    }
    if let Ok(address) = sapwood_objects_s3::Address::parse(text) {
        let written = address.to_string();
        assert_eq!(sapwood_objects_s3::Address::parse(&written).ok(), Some(address));
        assert_eq!(addresses::place(&written), addresses::place(text));
    }
    match sapwood_objects_postgres::Address::parse(text) {
        Ok(address) => {
            let written = address.to_string();
            assert_eq!(sapwood_objects_postgres::Address::parse(&written).ok(), Some(address));
        }
        Err(error) if text.starts_with("postgres://") && text.contains('@') => {
            assert!(error.to_string().starts_with("'postgres://...@"), "{error}");
        }
        Err(_) => {}
    }
    let login = Login { host: "db.example.com", port: 5432, database: "svn", user: Some("svn") };
    let first = password_in(text, &login);
    let with_last = password_in(&format!("{text}\n*:*:*:*:last"), &login);
    assert!(first.is_none() && with_last.is_some() || first == with_last, "{text:?}");
}
