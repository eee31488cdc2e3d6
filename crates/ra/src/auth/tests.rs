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

    fn server_trust(
        &self,
        _: &str,
        _: Failures,
        _: &Certificate,
        may_save: bool,
    ) -> SvnResult<Decision> {
        Ok(if may_save { Decision::Permanently } else { Decision::Temporarily })
    }

    fn client_certificate(&self, _: &str) -> SvnResult<String> {
        Ok("/no/such/file".to_owned())
    }

    fn passphrase(&self, _: &str) -> SvnResult<String> {
        Ok("told".to_owned())
    }

    fn store_plaintext_passphrase(&self, _: &str, _: &Path) -> SvnResult<bool> {
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
    // A wrong answer of the server's would lead to the end: no user can be asked.
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

#[test]
fn certificates_that_are_trusted() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("auth/svn.ssl.server")).unwrap();
    let realm = "https://localhost:443";
    let certificate = Certificate { der: b"certificate".to_vec(), ..Certificate::default() };
    let wrong = Failures::UNKNOWN_CA | Failures::NAME;
    let judge = |options: AuthOptions, prompter: Option<Box<dyn Prompter>>, it: &Certificate| {
        let auth = Authenticator::new(options, servers(""), prompter);
        auth.judge(realm, "localhost", wrong, it).unwrap()
    };
    let here = || options(dir.path());
    // By option, in whole or in part.
    let trusting = AuthOptions { trust: Failures::UNKNOWN_CA, ..here() };
    assert_eq!(judge(trusting, None, &certificate), Failures::NAME);
    let trusting = AuthOptions { trust: wrong, ..here() };
    assert!(judge(trusting, None, &certificate).is_empty());
    // No user to ask, then one; the answer is kept, for this certificate only.
    assert_eq!(judge(here(), None, &certificate), wrong);
    assert!(judge(here(), Some(Box::new(Answers(true))), &certificate).is_empty());
    assert!(judge(here(), None, &certificate).is_empty());
    let other = Certificate { der: b"another".to_vec(), ..Certificate::default() };
    assert_eq!(judge(here(), None, &other), wrong);
}

/// A store that records what it was given.
#[derive(Debug, Default)]
struct Shelf {
    kept: Mutex<HashMap<(String, String), String>>,
    is_locked: std::sync::atomic::AtomicBool,
}

impl PasswordStore for Shelf {
    fn passtype(&self) -> &'static str {
        "shelf"
    }

    fn password(&self, realm: &str, user: &str, can_be_asked: bool) -> Option<String> {
        if self.is_locked.load(std::sync::atomic::Ordering::Relaxed) && !can_be_asked {
            return None;
        }
        self.kept.lock().get(&(realm.to_owned(), user.to_owned())).cloned()
    }

    fn keep(&self, realm: &str, user: &str, password: &str, can_be_asked: bool) -> bool {
        let usable = can_be_asked || !self.is_locked.load(std::sync::atomic::Ordering::Relaxed);
        if usable {
            let place = (realm.to_owned(), user.to_owned());
            self.kept.lock().insert(place, password.to_owned());
        }
        usable
    }
}

#[test]
fn another_store_keeps_passwords() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(Shelf::default());
    let store: Arc<dyn PasswordStore> = shelf.clone();
    let with = |username: Option<&str>, password: Option<&str>| {
        let options = AuthOptions {
            username: username.map(str::to_owned),
            password: password.map(str::to_owned),
            non_interactive: true,
            password_store: Some(Arc::clone(&store)),
            ..options(dir.path())
        };
        Authenticator::new(options, servers("[global]\nstore-plaintext-passwords = yes\n"), None)
    };
    let given = |username, password| {
        let auth = with(Some(username), Some(password));
        let mut attempts = auth.attempts(REALM, "localhost").unwrap();
        attempts.next_credentials().unwrap().unwrap();
        attempts.save().unwrap();
        read(dir.path(), CredentialKind::Simple, REALM).unwrap()
    };
    let kept = given("jo", "secret");
    assert_eq!(kept.get_str(store::PASSTYPE), Some("shelf"));
    assert_eq!(kept.get_str(store::PASSWORD), None);
    let found = |username| {
        let auth = with(username, None);
        let found = auth.attempts(REALM, "localhost").unwrap().next_credentials().unwrap();
        found.map(|simple| (simple.username, simple.password, simple.may_save))
    };
    let jo = ("jo".to_owned(), "secret".to_owned(), false);
    assert_eq!(found(None), Some(jo.clone()));
    assert_eq!(found(Some("jo")), Some(jo));
    assert_eq!(found(Some("else")), None);
    given("jo", "new");
    assert_eq!(found(None).unwrap().1, "new");

    shelf.is_locked.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(found(None), None);
    let kept = given("jo", "newer");
    assert_eq!(kept.get_str(store::PASSTYPE), Some("simple"), "the next store");
    assert_eq!(found(None).unwrap().1, "newer");
}
