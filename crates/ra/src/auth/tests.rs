//! Where credentials come from, in which order, and what is kept of them.

use sapwood_core::config::Case;

use super::*;

const REALM: &str = "<svn://localhost:3690> there";

fn servers(text: &str) -> Arc<Config> {
    Arc::new(Config::parse(text.as_bytes(), Case::INSENSITIVE).unwrap())
}

fn options(dir: &Path) -> AuthOptions {
    std::fs::create_dir_all(dir.join("auth/svn.simple")).unwrap();
    AuthOptions {
        config_dir: Some(dir.to_owned()),
        store_passwords: true,
        system_user: Some("sys".to_owned()),
        ..AuthOptions::default()
    }
}

/// Answers with numbered passwords, and that they may be kept or not.
struct Answers(bool);

impl Prompter for Answers {
    fn simple(&self, _: &str, username: Option<&str>, may_save: bool) -> SvnResult<Simple> {
        let username = username.unwrap_or("asked").to_owned();
        Ok(Simple { username, password: "told".to_owned(), may_save })
    }
    fn store_plaintext(&self, _: &str, _: &Path) -> SvnResult<bool> {
        Ok(self.0)
    }
}

#[test]
fn given_credentials_are_kept_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let servers = servers("[global]\nstore-plaintext-passwords = yes\n");
    let given = AuthOptions {
        username: Some("jo".to_owned()),
        password: Some("secret".to_owned()),
        ..options(dir.path())
    };
    let auth = Authenticator::new(given, Arc::clone(&servers), None);
    let mut attempts = auth.attempts(REALM, "localhost").unwrap();
    let simple = attempts.next_credentials().unwrap().unwrap();
    assert_eq!((simple.username.as_str(), simple.password.as_str()), ("jo", "secret"));
    attempts.save().unwrap();
    // A wrong answer of the server's would lead to the end: nobody can be asked.
    assert!(attempts.next_credentials().unwrap().is_none());

    let bytes = std::fs::read(file_of(dir.path(), CredentialKind::Simple, REALM)).unwrap();
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "K 8\npasstype\nV 6\nsimple\nK 8\npassword\nV 6\nsecret\nK 15\nsvn:realmstring\nV 28\n\
         <svn://localhost:3690> there\nK 8\nusername\nV 2\njo\nEND\n"
    );
    let auth = Authenticator::new(options(dir.path()), servers, None);
    let simple = auth.attempts(REALM, "localhost").unwrap().next_credentials().unwrap().unwrap();
    assert_eq!((simple.password.as_str(), simple.may_save), ("secret", false));
    assert!(
        auth.attempts("<svn://other:1> x", "other").unwrap().next_credentials().unwrap().is_none()
    );
}

#[test]
fn three_questions_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let auth = Authenticator::new(options(dir.path()), servers(""), Some(Box::new(Answers(false))));
    let mut attempts = auth.attempts(REALM, "localhost").unwrap();
    let names: Vec<String> = std::iter::from_fn(|| attempts.next_credentials().unwrap())
        .map(|simple| simple.username)
        .collect();
    assert_eq!(names, ["sys", "asked", "asked"]);
    attempts.save().unwrap();
    // The name is kept, the password is not: the person said no.
    let kept = read(dir.path(), CredentialKind::Simple, REALM).unwrap();
    assert_eq!(kept.get_str(store::USERNAME), Some("asked"));
    assert_eq!(kept.get_str(store::PASSWORD), None);
    // It worked, so this process tries it first.
    let again = auth.attempts(REALM, "localhost").unwrap().next_credentials().unwrap().unwrap();
    assert_eq!(again.username, "asked");
}

#[test]
fn settings_of_groups_of_servers() {
    let servers = servers(
        "[groups]\nours = *.example.org, localhost\n[ours]\nusername = me\n\
         [global]\nusername = all\nstore-auth-creds = no\n",
    );
    assert_eq!(server_group(&servers, "svn.example.org").as_deref(), Some("ours"));
    assert_eq!(server_group(&servers, "example.com"), None);
    assert_eq!(server_setting(&servers, Some("ours"), "username").as_deref(), Some("me"));
    assert_eq!(server_setting(&servers, Some("ours"), "store-auth-creds").as_deref(), Some("no"));
}

#[test]
fn nothing_is_kept_when_nothing_may_be() {
    for (text, no_cache) in [("[global]\nstore-auth-creds = no\n", false), ("", true)] {
        let dir = tempfile::tempdir().unwrap();
        let given = AuthOptions { no_auth_cache: no_cache, ..options(dir.path()) };
        let auth = Authenticator::new(given, servers(text), Some(Box::new(Answers(true))));
        let mut attempts = auth.attempts(REALM, "h").unwrap();
        attempts.next_credentials().unwrap().unwrap();
        attempts.save().unwrap();
        assert!(read(dir.path(), CredentialKind::Simple, REALM).is_none());
    }
}
