//! Signing in to pages by OpenID Connect: what a user sees then, what it is not good for, and every way in which a sign-in
//! can be wrong.

use std::fs;

use sapwood_testkit::Programs;
use serde_json::json;

use crate::common::{places, provider};
use places::{ADA, Served, status};
use provider::{Browser, Makes, TestProvider, header, section};

const PAGE: &str = "/svn/repo/-/tree/";
const TRUNK: &str = "/svn/repo/-/tree/trunk";

/// The trunk is for the provider's developers; a user of the password file has the name of one of the provider's users.
const RULES: &str = "[groups]\ndevs = group:devs\n[/]\n* = r\nada = rw\n[/trunk]\n* =\n@devs = r\n";

fn served(provider: &TestProvider, more: &str) -> Served {
    let place = "[[location]]\nurl = '/svn'\nfolder = '.'\nusers = 'users'\noidc = true\nauthz = 'own-rules'\n";
    Served::start_in(&format!("{place}{}", section(provider, more)), |folder| {
        fs::write(folder.join("own-rules"), RULES).unwrap();
        fs::write(folder.join("secret"), format!("{}\n", provider::SECRET)).unwrap();
    })
}

fn right() -> Makes {
    Makes::With(json!({}))
}

#[test]
fn a_browser_signs_in_and_sees_what_the_rules_let_its_group_see() {
    let provider = TestProvider::start();
    let served = served(&provider, "");
    let mut browser = Browser::of(&served);
    let asked = browser.get(&format!("{TRUNK}?p=1&x=%22"));
    assert_eq!(status(&asked), 302, "{asked}");
    let start = header(&asked, "location").unwrap();
    assert!(start.ends_with("/-/sign-in?to=/svn/repo/-/tree/trunk%3Fp%3D1%26x%3D%2522"), "{start}");
    let back = browser.sign_in(&provider, TRUNK, right());
    assert_eq!(status(&back), 303, "{back}");
    let here = format!("http://127.0.0.1:{}", served.port);
    assert_eq!(header(&back, "location"), Some(&*format!("{here}{TRUNK}")));
    let page = browser.get(TRUNK);
    assert_eq!(status(&page), 200, "{page}");
    assert!(page.contains("ada@idp") && page.contains("/-/sign-out"), "{page}");
    assert!(page.contains("cache-control: private, no-cache"), "{page}");
    // Also the bytes of files and the plain listing, which no cache may keep for others.
    let listing = browser.get("/svn/repo/trunk/");
    assert_eq!(
        (status(&listing), header(&listing, "cache-control")),
        (200, Some("private, no-cache"))
    );
    // Another user of the provider, in no group, does not see what is not there.
    let mut other = Browser::of(&served);
    let bob = json!({"sub": "bob-1", "preferred_username": "bob", "groups": []});
    other.sign_in(&provider, PAGE, Makes::With(bob));
    assert_eq!(status(&other.get(PAGE)), 200);
    let (hidden, missing) = (other.get(TRUNK), other.get("/svn/repo/-/tree/trunx"));
    assert_eq!((status(&hidden), status(&missing)), (404, 404));
}

#[test]
fn a_session_is_for_pages_only_and_ends() {
    let provider = TestProvider::start();
    let served = served(&provider, "");
    let mut browser = Browser::of(&served);
    browser.sign_in(&provider, PAGE, right());
    let cookies = browser.headers();
    for method in
        ["OPTIONS", "PROPFIND", "REPORT", "PUT", "MKCOL", "DELETE", "MERGE", "POST", "LOCK"]
    {
        let answer = served.request(method, "/svn/repo/trunk", &cookies, "");
        assert_eq!(status(&answer), 401, "{method}: {answer}");
    }
    let svn = format!("{cookies}User-Agent: SVN/1.14.2 (x) serf/1.3.9\r\n");
    assert_eq!(status(&served.get(PAGE, &svn)), 401);
    // Who sends a password is known by that: the file's ada may not see the trunk.
    assert_eq!(status(&served.get(TRUNK, &format!("{cookies}{ADA}"))), 404);
    assert_eq!(status(&served.get(TRUNK, &format!("{cookies}{}", places::WRONG))), 401);
    // Signing out takes a form of the server's own page.
    let page = browser.get("/-/sign-out");
    let code = page.split("name=\"code\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = format!("code={code}");
    for (headers, form) in [
        ("", &*form),
        ("Origin: null\r\n", &form),
        ("Origin: https://evil.example\r\n", &form),
        (
            &*format!("Origin: http://127.0.0.1:{}\r\nSec-Fetch-Site: cross-site\r\n", served.port),
            &form,
        ),
        (&*format!("Origin: http://127.0.0.1:{}\r\n", served.port), "code=x"),
        (&*format!("Origin: http://127.0.0.1:{}\r\n", served.port), ""),
    ] {
        let answer = browser.post_from(headers, "/-/sign-out", form);
        assert_eq!(status(&answer), 403, "{headers}{form}: {answer}");
    }
    assert_eq!(status(&browser.get(PAGE)), 200);
    let kept = browser.cookies.clone();
    assert_eq!(status(&browser.post("/-/sign-out", &form)), 200);
    assert!(browser.cookies.is_empty());
    browser.cookies = kept;
    assert_eq!(status(&browser.get(PAGE)), 302, "the session itself has ended");
}

#[test]
fn a_wrong_sign_in_is_refused() {
    let provider = TestProvider::start();
    let served = served(&provider, "allowed-groups = ['devs', 'qa']");
    let past = json!({"iat": 1000, "exp": 2000});
    for makes in [
        Makes::Forged,
        Makes::Unsigned("none"),
        Makes::Unsigned("HS256"),
        Makes::Unsigned("ES256"),
        Makes::With(json!({"nonce": "another"})),
        Makes::With(json!({"aud": "another"})),
        Makes::With(json!({"aud": ["svn", "another"]})),
        Makes::With(json!({"iss": "https://evil.example"})),
        Makes::With(past),
        Makes::With(json!({"sub": ""})),
        Makes::With(json!({"groups": ["others"]})),
        Makes::With(json!({"preferred_username": "group:devs"})),
        Makes::With(json!({"preferred_username": null})),
    ] {
        let mut browser = Browser::of(&served);
        let answer = browser.sign_in(&provider, PAGE, makes.clone());
        assert_eq!(status(&answer), 403, "{makes:?}: {answer}");
        assert!(browser.cookies.is_empty(), "{makes:?}");
        assert_eq!(status(&browser.get(PAGE)), 302);
    }
}

#[test]
fn a_sign_in_is_of_the_browser_that_began_it() {
    let provider = TestProvider::start();
    let served = served(&provider, "");
    let mut browser = Browser::of(&served);
    let back = browser.way_back(&provider, PAGE, right());
    // Another browser, which was made to follow the link, or began a sign-in of its own.
    let mut other = Browser::of(&served);
    let refused = other.get(&back);
    assert_eq!(status(&refused), 400, "{refused}");
    let own = other.way_back(&provider, PAGE, right());
    assert_eq!(status(&other.get(&back)), 400);
    assert!(!other.cookies.contains_key("sapwood"));
    // Without a state, with another one; with no code; what another provider answered.
    let (code, state) = back.split_once('&').unwrap();
    let start = browser.cookies.clone();
    let own_state = own.split_once('&').unwrap().1;
    let of_other = format!("{back}&iss=https://evil.example");
    let denied = format!("/-/signed-in?error=access_denied&{state}");
    for (at, wanted) in [
        (code.to_owned(), 400),
        (format!("{code}&state="), 400),
        (format!("{code}&{own_state}"), 400),
        (format!("/-/signed-in?{state}"), 403),
        (format!("/-/signed-in?code=unknown&{state}"), 403),
        (of_other, 403),
        (denied, 403),
    ] {
        browser.cookies.clone_from(&start);
        let answer = browser.get(&at);
        assert_eq!(status(&answer), wanted, "{at}: {answer}");
        assert!(!browser.cookies.contains_key("sapwood"), "{at}");
    }
    browser.cookies.clone_from(&start);
    assert_eq!(status(&browser.get(&back)), 303);
    // The same code once more.
    browser.cookies = start;
    assert_eq!(status(&browser.get(&back)), 403);
}

#[test]
fn while_the_provider_hangs_others_are_served() {
    let provider = TestProvider::start();
    let served = served(&provider, "");
    provider.hang(true);
    std::thread::scope(|scope| {
        let ask = || status(&Browser::of(&served).get("/-/sign-in"));
        let first = scope.spawn(ask);
        provider.wait_for_questions(1);
        let more: Vec<_> = (0..80).map(|_| scope.spawn(ask)).collect();
        assert_eq!(status(&served.get(PAGE, ADA)), 200);
        assert_eq!(served.statuses(PAGE)[0], 401);
        provider.hang(false);
        assert_eq!(first.join().unwrap(), 303);
        // Of one address only some may wait; the others hear so at once.
        let mut answers: Vec<u16> = more.into_iter().map(|one| one.join().unwrap()).collect();
        answers.sort_unstable();
        answers.dedup();
        assert!(answers.iter().all(|answer| [303, 503].contains(answer)), "{answers:?}");
    });
    assert_eq!(status(&Browser::of(&served).get("/-/sign-in")), 303);
}

/// What 1.14's client does with a token as its user's password; `URL` is the repository's.
fn may(served: &Served, who: (&str, &str), args: &[&str]) -> bool {
    places::reference_svn(served, who, args).is_ok()
}

const WRITE: &[&str] = &["mkdir", "-m", "new", "URL/new"];
const READ: &[&str] = &["ls", "URL/trunk"];

/// A server whose users' tokens are in a file of accounts, where bob has a password.
fn served_with_tokens(provider: &TestProvider) -> Served {
    let rules = "[groups]\ndevs = group:devs\n[/]\n* =\n@devs = rw\nbob = r\n[/trunk]\nbob =\n";
    let place = "[[location]]\nurl = '/svn'\nfolder = '.'\noidc = true\npassword-delay = 0\nauthz = 'own-rules'\n";
    let oidc = section(provider, "accounts = 'accounts.toml'");
    Served::start_in(&format!("{place}{oidc}"), |folder| {
        fs::write(folder.join("own-rules"), rules).unwrap();
        fs::write(folder.join("secret"), format!("{}\n", provider::SECRET)).unwrap();
        let mut command = Programs::ours().command("sapwood");
        command.args(["user", "--accounts"]).arg(folder.join("accounts.toml"));
        fs::write(folder.join("input"), "b\n").unwrap();
        command.args(["add", "bob", "--password-from-stdin"]);
        let input = fs::File::open(folder.join("input")).unwrap();
        sapwood_testkit::Output::of(command.stdin(input)).expect_success("user add");
    })
}

/// The code of the forms of a page.
fn code_of(page: &str) -> String {
    let found = page.split("name=\"code\" value=\"").nth(1).unwrap_or_else(|| panic!("{page}"));
    found.split('"').next().unwrap().to_owned()
}

/// The token on a page that has just made one.
fn token_of(page: &str) -> String {
    let found = page.split("<code class=\"secret\">").nth(1).unwrap_or_else(|| panic!("{page}"));
    found.split('<').next().unwrap().to_owned()
}

#[test]
fn a_token_of_the_page_reads_and_commits_until_it_is_revoked() {
    let provider = TestProvider::start();
    let served = served_with_tokens(&provider);
    let mut browser = Browser::of(&served);
    browser.sign_in(&provider, "/-/tokens", right());
    let page = browser.get("/-/tokens");
    assert!(status(&page) == 200 && page.contains("You have no tokens"), "{page}");
    assert!(page.contains("form-action 'self'") && page.contains("cache-control: no-store"));
    assert!(browser.get(PAGE).contains("href=\"/-/tokens\""), "pages lead there");
    let code = code_of(&page);
    let make = |browser: &mut Browser<'_>, more: &str| {
        browser.post("/-/tokens", &format!("code={code}&name=my+laptop&days=30&{more}"))
    };
    let made = make(&mut browser, "");
    assert_eq!(status(&made), 200, "{made}");
    let token = token_of(&made);
    assert!(!browser.get("/-/tokens").contains(&token), "it is shown once");
    let ada = ("ada@idp", token.as_str());
    assert!(may(&served, ada, READ) && may(&served, ada, WRITE));
    assert!(!may(&served, ("ada", &token), READ) && !may(&served, ("bob", &token), &["ls", "URL"]));
    let log = Programs::reference()
        .run("svn", ["log", "-r", "HEAD", &format!("file://{}", served.repo.path().display())]);
    assert!(log.stdout_text().contains("ada@idp"), "{}", log.stdout_text());
    let page = browser.get("/-/tokens");
    assert!(page.contains("my laptop") && page.contains("just now"), "{page}");
    // A token opens no page of tokens; one that reads does not write.
    let basic = sapwood_core::base64::encode(format!("ada@idp:{token}").as_bytes());
    assert_eq!(status(&served.get("/-/tokens", &format!("Authorization: Basic {basic}\r\n"))), 403);
    let again = make(&mut browser, "");
    assert!(status(&again) == 400 && again.contains("already"), "{again}");
    let reader =
        token_of(&browser.post("/-/tokens", &format!("code={code}&name=r&days=1&read-only=yes")));
    assert!(may(&served, ("ada@idp", &reader), READ));
    assert!(!may(&served, ("ada@idp", &reader), &["mkdir", "-m", "x", "URL/x"]));
    // The groups are those of the last sign-in.
    browser.cookies.clear();
    browser.sign_in(&provider, PAGE, Makes::With(json!({"groups": []})));
    assert!(!may(&served, ada, READ));
    browser.cookies.clear();
    browser.sign_in(&provider, PAGE, right());
    assert!(may(&served, ada, READ));
    let code = code_of(&browser.get("/-/tokens"));
    let gone = browser.post("/-/tokens", &format!("code={code}&revoke=my+laptop"));
    assert_eq!((status(&gone), header(&gone, "location")), (303, Some("/-/tokens")));
    assert!(!may(&served, ada, READ) && may(&served, ("ada@idp", &reader), READ));
}

#[test]
fn nothing_changes_tokens_but_the_form_of_their_user() {
    let provider = TestProvider::start();
    let served = served_with_tokens(&provider);
    let mut browser = Browser::of(&served);
    browser.sign_in(&provider, PAGE, right());
    let code = code_of(&browser.get("/-/tokens"));
    let form = format!("code={code}&name=t&days=30");
    let own = format!("Origin: http://127.0.0.1:{}\r\n", served.port);
    let long = format!("{form}&repositories={}", "x".repeat(20_000));
    for (headers, form, wanted) in [
        ("", &*form, 403),
        ("Origin: https://evil.example\r\n", &form, 403),
        (&*format!("{own}Sec-Fetch-Site: same-site\r\n"), &form, 403),
        (&own, "name=t&days=30", 403),
        (&own, "code=x&name=t&days=30", 403),
        (&own, &long, 403),
        (&own, &format!("code={code}&name=t&days=0"), 400),
        (&own, &format!("code={code}&name=t&days=367"), 400),
        (&own, &format!("code={code}&name=t"), 400),
        (&own, &format!("code={code}&days=30"), 400),
        (&own, &format!("code={code}&name=a%3Ab&days=30"), 400),
        (&own, &format!("code={code}&revoke=unknown"), 403),
    ] {
        let answer = browser.post_from(headers, "/-/tokens", form);
        assert_eq!(status(&answer), wanted, "{headers}{form}: {answer}");
    }
    // Another user's code, and no user at all.
    let mut other = Browser::of(&served);
    let eve = json!({"sub": "eve-1", "preferred_username": "eve", "groups": []});
    other.sign_in(&provider, PAGE, Makes::With(eve));
    assert_eq!(status(&other.post("/-/tokens", &form)), 403);
    assert_eq!(status(&Browser::of(&served).post("/-/tokens", &form)), 401);
    assert_eq!(status(&Browser::of(&served).get("/-/tokens")), 302);
    let accounts = fs::read_to_string(served.repo.parent().join("accounts.toml")).unwrap();
    assert!(!accounts.contains("tokens"), "{accounts}");
    // Another person by the name of one who has tokens does not come in.
    assert_eq!(status(&browser.post("/-/tokens", &form)), 200);
    let stranger =
        Browser::of(&served).sign_in(&provider, PAGE, Makes::With(json!({"sub": "ada-2"})));
    assert_eq!(status(&stranger), 403);
    // Who is disabled is out at once, and does not come in again.
    let mut command = Programs::ours().command("sapwood");
    command.args(["user", "--accounts"]).arg(served.repo.parent().join("accounts.toml"));
    let done = sapwood_testkit::Output::of(command.args(["disable", "ada@idp"]));
    done.expect_success("disable");
    assert_eq!(status(&browser.get(PAGE)), 302);
    assert_eq!(status(&browser.sign_in(&provider, PAGE, right())), 403);
}

#[test]
fn users_of_the_accounts_have_the_page_without_a_provider() {
    let provider = TestProvider::start();
    let served = served_with_tokens(&provider);
    let basic = |secret: &str| {
        let login = sapwood_core::base64::encode(format!("bob:{secret}").as_bytes());
        format!("Accept: text/html\r\nAuthorization: Basic {login}\r\n")
    };
    let page = served.get("/-/tokens", &basic("b"));
    assert!(status(&page) == 200 && page.contains("bob"), "{page}");
    assert_eq!(status(&served.get("/-/tokens", &basic("x"))), 401);
    assert_eq!(status(&served.get("/-/tokens", "")), 401);
    let form = format!("code={}&name=t&days=30", code_of(&page));
    let post = |headers: &str| {
        served.request("POST", "/-/tokens", &format!("{}{headers}", basic("b")), &form)
    };
    // The server is called `h:1` here.
    assert_eq!(status(&post("Origin: https://evil.example\r\n")), 403);
    let token = token_of(&post("Origin: http://h:1\r\n"));
    assert!(may(&served, ("bob", &token), &["ls", "URL"]) && !may(&served, ("bob", &token), READ));
}
