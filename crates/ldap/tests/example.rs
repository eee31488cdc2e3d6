//! A company: its users and groups, and the settings by which they are found.

use std::path::PathBuf;
use std::sync::OnceLock;

use sapwood_ldap::{Directory, Login, Settings};
use sapwood_testkit::slapd::{READER, SUFFIX, Slapd};

/// The entries of the company's directory.
pub(crate) fn entries() -> String {
    let mut text = String::new();
    for unit in ["people", "groups", "guests"] {
        text += &format!("dn: ou={unit},{SUFFIX}\nobjectClass: organizationalUnit\n\n");
    }
    let mut user = |unit: &str, name: &str, names: &[&str]| {
        let uids: String = names.iter().map(|uid| format!("uid: {uid}\n")).collect();
        text += &format!(
            "dn: cn={name},ou={unit},{SUFFIX}\nobjectClass: inetOrgPerson\nsn: x\n{uids}\
             userPassword: secret of {name}\n\n"
        );
    };
    user("people", "ada", &["ada", "Lovelace"]);
    user("people", "bob", &["bob"]);
    user("people", "eve", &["e*(v)e"]);
    user("people", "twin", &["twin"]);
    user("guests", "other twin", &["twin"]);
    for (name, members) in
        [("devs", "cn=ada,ou=people"), ("all", "cn=devs,ou=groups"), ("top", "cn=all,ou=groups")]
    {
        text += &format!(
            "dn: cn={name},ou=groups,{SUFFIX}\nobjectClass: groupOfNames\nmember: {members},{SUFFIX}\n\n"
        );
    }
    // Two groups that are in each other.
    text += &format!(
        "dn: cn=round,ou=groups,{SUFFIX}\nobjectClass: groupOfUniqueNames\n\
         uniqueMember: cn=top,ou=groups,{SUFFIX}\nuniqueMember: cn=round,ou=groups,{SUFFIX}\n\n\
         dn: cn=ops,ou=groups,{SUFFIX}\nobjectClass: posixGroup\ngidNumber: 7\nmemberUid: ada\nmemberUid: bob\n\n"
    );
    text
}

/// Its server.
pub(crate) fn company() -> Slapd {
    Slapd::start(&entries(), None)
}

/// The settings for these servers. A login is asked anew each time.
pub(crate) fn settings(servers: &[String]) -> Settings {
    let password = secret();
    Settings {
        name: "company".to_owned(),
        servers: servers.to_vec(),
        bind_dn: Some(READER.0.to_owned()),
        bind_password: Some(password),
        base: SUFFIX.to_owned(),
        cache: std::time::Duration::ZERO,
        ..Settings::default()
    }
}

/// A file with the password of the account that searches: one for all tests of this process.
fn secret() -> PathBuf {
    static FILE: OnceLock<tempfile::NamedTempFile> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, format!("{}\n", READER.1)).unwrap();
        file
    });
    file.path().to_owned()
}

/// What the directory says, in a few words.
pub(crate) async fn log_in(directory: &Directory, user: &str, password: &str) -> String {
    match directory.log_in(user, password).await {
        Login::Accepted(member) => format!("{}: {}", member.name, member.groups.join(" ")),
        Login::Refused => "refused".to_owned(),
        Login::Unavailable { error, .. } => format!("unavailable: {error}"),
    }
}
