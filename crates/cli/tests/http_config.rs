//! `sapwood serve --config`: places with logins and rules of their own, redirects, the access log,
//! and what a trusted proxy says.

use std::fs;

use sapwood_testkit::Programs;

use crate::common::places;
use places::Served;

/// A place for each way to log in, and what else one can say of places.
const PLACES: &str = r#"
[[location]]
url = "/open"
folder = "."
list = true
plain-pages = true
authz = "rules"
[[location]]
url = "/closed"
folder = "."
users = "users"
password-delay = 0
authz = "rules"
[[location]]
url = "/mixed"
folder = "."
list = true
users = "users"
password-delay = 0
login = "optional"
authz = "rules"
[[location]]
url = "/lenient"
folder = "."
users = "users"
password-delay = 0
login = "lenient"
authz = "rules"
[[location]]
url = "/inside"
folder = "."
users = "users"
password-delay = 0
login = "optional"
authz = "^/no/such/rules"
[[location]]
url = "/one"
repository = "repo"
name = "One"
[[redirect]]
from = "/old/"
to = "/open/"
permanent = true
"#;

#[test]
fn each_place_has_its_own_rules() {
    let served = Served::start(PLACES);
    assert_eq!(served.statuses("/open/repo/"), [200, 200, 200, 200]);
    assert_eq!(served.statuses("/open/repo/trunk/"), [403, 403, 403, 403]);
    assert_eq!(served.statuses("/closed/repo/"), [401, 200, 200, 401]);
    assert_eq!(served.statuses("/closed/repo/trunk/"), [401, 200, 403, 401]);
    assert_eq!(served.statuses("/mixed/repo/"), [200, 200, 200, 401]);
    assert_eq!(served.statuses("/mixed/repo/trunk/"), [401, 200, 403, 401]);
    assert_eq!(served.statuses("/lenient/repo/"), [200, 200, 200, 200]);
    assert_eq!(served.statuses("/lenient/repo/trunk/"), [401, 200, 403, 401]);
    // Rules in a repository that there is not (CVE-2020-17525).
    assert_eq!(served.statuses("/inside/nowhere/x"), [401, 403, 403, 401]);
    assert_eq!(served.statuses("/open/nowhere"), [404, 404, 404, 404]);
    assert_eq!(served.statuses("/elsewhere"), [404, 404, 404, 404]);
    // The folders above: listed where that is said.
    assert_eq!(served.statuses("/open"), [301, 301, 301, 301]);
    assert_eq!(served.statuses("/mixed/"), [200, 200, 200, 401]);
    assert_eq!(served.statuses("/closed/"), [401, 403, 403, 401]);
    assert!(served.get("/open/", "").contains("  <li><a href=\"repo/\">repo/</a></li>\n"));
    let page = served.get("/open/repo/", "");
    assert!(page.contains("<html><head><title>repo - Revision "), "{page}");
    assert!(!page.contains("trunk"), "what may not be read is not listed: {page}");
    assert!(served.get("/one/", "").contains("One: repo - Revision "));
    let moved = served.get("/old/repo/x?p=1", "");
    assert!(moved.starts_with("HTTP/1.1 301"), "{moved}");
    assert!(moved.contains("location: http://h:1/open/repo/x?p=1\r\n"), "{moved}");
}

#[test]
fn what_a_trusted_proxy_says_and_the_access_log() {
    let place = "access-log = 'log'\n[[location]]\nurl = '/'\nfolder = '.'\nauthz = 'rules'\n\
                 user-header = 'X-User'\nlogin = 'optional'\n[[redirect]]\nfrom = '/a'\nto = '/b'\n";
    let said = "X-User: ada\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\
                X-Forwarded-Host: svn.example.org\r\n";
    let served = Served::start(&format!("trusted-proxies = ['127.0.0.0/8']\n{place}"));
    assert!(served.get("/repo/trunk/", said).starts_with("HTTP/1.1 200"));
    assert!(served.get("/a", said).contains("location: https://svn.example.org/b\r\n"));
    // The lines are written when the replies are over, which the client knows a little earlier.
    let path = served.repo.parent().join("log");
    let mut log = String::new();
    let are_logged = sapwood_testkit::patience::wait(10, || {
        log = fs::read_to_string(&path).unwrap();
        log.lines().count() == 2
    });
    assert!(are_logged, "{log}");
    // Those of two connections come in either order.
    let first = log.lines().find(|line| line.contains("/repo/")).unwrap();
    assert!(first.starts_with("192.0.2.7 - ada ["), "{log}");
    assert!(first.contains("] \"GET /repo/trunk/ HTTP/1.1\" 200 "), "{log}");
    assert!(first.ends_with(" \"-\" \"-\""), "{log}");
    // From others it is nothing but words.
    let served = Served::start(place);
    assert!(served.get("/repo/trunk/", said).starts_with("HTTP/1.1 403"));
    assert!(served.get("/a", said).contains("location: http://h:1/b\r\n"));
    assert!(served.get("/ab", said).starts_with("HTTP/1.1 404"), "another name is not redirected");
}

#[test]
fn our_client_needs_no_right_to_the_root() {
    let served = Served::start("[[location]]\nurl = '/'\nfolder = '.'\nauthz = 'deep'\n");
    let trunk = format!("http://127.0.0.1:{}/repo/trunk", served.port);
    let svn = |args: &[&str]| {
        let done = Programs::ours().run("svn", [args, &["--non-interactive"]].concat());
        done.expect_success(&args.join(" ")).stdout_text()
    };
    let new = format!("{trunk}/new");
    assert!(svn(&["mkdir", "-m", "", &new]).contains("Committed revision"));
    assert!(svn(&["ls", &trunk]).contains("new/\n"));
    assert!(svn(&["log", "-q", "-v", "-l1", &trunk]).contains("   A /trunk/new\n"));
}

#[test]
fn the_file_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.toml");
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        Programs::ours().run("sapwood", ["serve", "--config", path, "--check"])
    };
    let done = check("path = '.'\n[[location]]\nurl = '/a'\nfolder = '.'\n");
    assert_eq!(done.expect_success("check").stdout_text(), "The configuration is sound.\n");
    let told = check("path = '.'\nhttp-prot = 1\n").stderr_text();
    assert!(told.contains("f.toml:2: unknown field `http-prot`"), "{told}");
    let told = check("path = '.'\n\nhttp-port = 99999\n").stderr_text();
    assert!(told.contains("f.toml:3: ") && told.contains("a number from 0 to 65535"), "{told}");
    fs::write(folder.path().join("users"), "old:TfHa.H5PMxwNI\n").unwrap();
    let told = check("[[location]]\nurl = '/a'\nfolder = 'b'\nusers = 'users'\n").stderr_text();
    assert!(told.contains("/b': No such file"), "{told}");
    assert!(told.contains("the password of 'old' has a hash that is not supported"), "{told}");
}

/// Things that H12's list has: each is said with its line, and nothing is called sound.
#[test]
fn what_is_named_is_checked_at_each_start() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |text: &str, more: &[&str]| {
        let file = at.join("f.toml");
        fs::write(&file, text).unwrap();
        let args = [&["serve", "--config", file.to_str().unwrap()], more].concat();
        Programs::ours().run("sapwood", args)
    };
    fs::write(at.join("broken"), "[/\n").unwrap();
    fs::write(at.join("users"), "ada:{SHA}hvfkN/qlp/zhXR3cuerq6jd2Z7g=\n").unwrap();
    fs::create_dir(at.join("none")).unwrap();
    let place = "[[location]]\nurl = '/a'\nfolder = 'none'\n";
    for (text, line, why) in [
        (format!("{place}authz = 'broken'\n"), 4, "line 1: Section header"),
        (format!("{place}authz = 'nothere'\n"), 4, "nothere' is not a file"),
        (format!("{place}users = 'nothere'\n"), 4, "nothere': No such file"),
        (format!("{place}users = 'none'\n"), 4, "none': Is a directory"),
        (format!("{place}svnserve-users = 'broken'\n"), 4, "line 1: Section header"),
        (format!("access-log = '/nothere/x'\n{place}"), 1, "/nothere/x"),
        (format!("log-file = '/'\n{place}"), 1, "Is a directory"),
        (format!("listen = 'nohost.invalid'\n{place}"), 1, "nohost.invalid"),
        (format!("\ntls-certificate = 'users'\ntls-key = 'users'\n{place}"), 2, "no certificate"),
        (format!("\nhttps-port = 1\n{place}"), 2, "'tls-certificate' and 'tls-key'"),
        (format!("tls-key = 'users'\n{place}"), 1, "'tls-certificate' and 'tls-key'"),
        (format!("svnserve-conf = 'broken'\npath = '.'\n{place}"), 1, "broken"),
    ] {
        for more in [&[][..], &["--check"]] {
            let done = run(&text, more);
            let told = done.stderr_text();
            assert_eq!(done.code, 1, "{text}: {told}");
            let begin = format!("f.toml:{line}: ");
            assert!(told.lines().any(|l| l.contains(&begin) && l.contains(why)), "{text}: {told}");
        }
    }
    // What may come later is a warning.
    for (text, line, why) in [
        ("[[location]]\nurl = '/a'\nfolder = 'nothere'\n", 3, "nothere': No such file"),
        ("[[location]]\nurl = '/a'\nrepository = 'none'\n", 3, "is no repository"),
        ("[[location]]\nurl = '/a'\nfolder = 'users'\n", 3, "is no folder"),
        (
            "[[location]]\nurl = '/a'\nfolder = '.'\nusers = 'users'\nanonymous = 'read'\n",
            5,
            "no effect",
        ),
    ] {
        let done = run(text, &["--check"]);
        let told = done.stderr_text();
        let wanted = format!("f.toml:{line}: ");
        assert!(done.code == 1 && told.contains("warning: "), "{text}: {told}");
        assert!(told.contains(&wanted) && told.contains(why), "{text}: {told}");
    }
    let repo = Served::start("[[location]]\nurl = '/a'\nfolder = 'nothere'\n");
    assert!(repo.get("/a/x", "").starts_with("HTTP/1.1 404"), "it serves");
}

#[test]
fn what_cannot_be_served_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let path = at.to_str().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = |args: &[&str]| {
        let done = Programs::ours().run("sapwood", [&["serve"], args].concat());
        assert_eq!(done.code, 1, "{args:?}");
        done.stderr_text()
    };
    let told = run(&[path]);
    assert!(told.contains("svnadmin create") && told.contains("--folder"), "{told}");
    let told = run(&[path, "--folder", "--port", &port]);
    assert!(told.contains(&format!("127.0.0.1:{port} for svn://: ")), "{told}");
    let told = run(&[path, "--folder", "--port", "0", "--http-port", &port]);
    assert!(told.contains(&format!("127.0.0.1:{port} for http://: ")), "{told}");
    let file = at.join("f.toml");
    fs::write(&file, "[[location]]\nurl = '/a'\nfolder = '.'\n").unwrap();
    let told = run(&["--config", file.to_str().unwrap(), "--no-http"]);
    assert!(told.contains("Nothing is served"), "{told}");
}

/// What a client makes its request depend on is heeded, or refused.
#[test]
fn conditions_of_reading() {
    let served = Served::start("[[location]]\nurl = '/d'\nfolder = '.'\nauthenticated = 'read'\n");
    let url = format!("file://{}/f", served.repo.path().display());
    let source = served.repo.parent().join("users");
    let put = ["-m", "x", "put", source.to_str().unwrap(), &url];
    Programs::reference().run("svnmucc", put).expect_success("svnmucc");
    let get = |headers: &str| served.get("/d/repo/f", headers);
    let whole = get("");
    let tag = whole.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let status = |headers: &str| get(headers).split(' ').nth(1).unwrap().to_owned();
    assert_eq!(status(&format!("If-Match: \"x\", {tag}\r\n")), "200");
    assert_eq!(status("If-Match: *\r\n"), "200");
    assert_eq!(status("If-Match: \"x\"\r\n"), "412");
    assert_eq!(status("Expect: foo\r\n"), "417");
    // A password that no place asks for is no error.
    assert_eq!(status(places::WRONG), "200");
}

#[test]
fn digest_proves_who_it_is() {
    let served = Served::start(
        "[[location]]\nurl = '/d'\nfolder = '.'\nrealm = 'Ours'\ndigest-users = 'digests'\nauthz = 'rules'\n\
         password-delay = 0\n",
    );
    let told = served.get("/d/repo/trunk/", "");
    assert!(told.starts_with("HTTP/1.1 401") && !told.contains("Basic"), "{told}");
    assert!(told.contains("www-authenticate: Digest realm=\"Ours\", qop=\"auth\""), "{told}");
    assert!(served.get("/d/repo/trunk/", places::ADA).starts_with("HTTP/1.1 401"));
    let url = format!("http://127.0.0.1:{}/d/repo/trunk", served.port);
    for (programs, password, works) in [
        (Programs::reference(), "a", true),
        (Programs::ours(), "a", true),
        (Programs::reference(), "b", false),
    ] {
        let args = ["ls", &url, "--username", "ada", "--password", password];
        let done =
            programs.run("svn", args.iter().chain(&["--non-interactive", "--no-auth-cache"]));
        assert_eq!(done.code == 0, works, "{}", done.stderr_text());
    }
}

#[test]
fn replies_and_requests_may_be_packed() {
    use flate2::Compression;
    use flate2::write::{GzDecoder, GzEncoder};
    use std::io::Write as _;
    let places = "[[location]]\nurl = '/d'\nfolder = '.'\nauthz = 'rules'\nautoversioning = true\n\
                  users = 'users'\n";
    let served = Served::start(&format!("gzip = true\n{places}"));
    let asked = format!("{}Accept-Encoding: gzip\r\nDepth: 1\r\n", places::ADA);
    let ask = |served: &Served, headers: &str| {
        let path = "/d/repo/trunk/";
        served.raw(&served.bytes("PROPFIND", path, headers, b""))
    };
    let packed = ask(&served, &asked);
    let at = packed.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&packed[..at]).into_owned();
    assert!(head.contains("content-encoding: gzip\r\n"), "{head}");
    assert!(head.contains("vary: Accept-Encoding\r\n"), "{head}");
    let mut unpacked = GzDecoder::new(Vec::new());
    unpacked.write_all(&packed[at..]).unwrap();
    let unpacked = String::from_utf8(unpacked.finish().unwrap()).unwrap();
    let plain = ask(&served, &asked.replace("gzip", "gzip;q=0"));
    let plain = String::from_utf8(plain).unwrap();
    assert!(!plain.contains("content-encoding"));
    assert_eq!(plain.split("\r\n\r\n").nth(1).unwrap(), unpacked);
    assert!(packed.len() < plain.len() / 2);
    // A request, whatever replies are like.
    let mut body = GzEncoder::new(Vec::new(), Compression::fast());
    body.write_all(&b"a text ".repeat(50_000)).unwrap();
    let body = body.finish().unwrap();
    let put = |coding: &str, body: &[u8]| {
        let headers = format!("{}Content-Encoding: {coding}\r\n", places::ADA);
        let answer = served.raw(&served.bytes("PUT", "/d/repo/trunk/packed", &headers, body));
        String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(put("gzip", &body), "201");
    assert_eq!(put("br", &body), "415");
    assert_eq!(put("gzip", &body[..body.len() / 2]), "500", "half a body is no text");
    assert_eq!(put("gzip", b"no gzip at all"), "500");
    let text = served.get("/d/repo/trunk/packed", places::ADA);
    assert_eq!(text.split("\r\n\r\n").nth(1).unwrap(), "a text ".repeat(50_000));
    let quiet = Served::start(places);
    assert!(!String::from_utf8_lossy(&ask(&quiet, &asked)).contains("content-encoding"));
}

#[test]
fn an_httpds_configuration_becomes_ours() {
    let served = Served::start("path = '.'\n");
    let folder = served.repo.parent();
    let conf = folder.join("httpd.conf");
    let text = format!(
        "ServerRoot {}\n<Location /svn>\n DAV svn\n SVNParentPath {0}\n SVNIndexXSLT /x\n\
         AuthType Basic\n AuthName R\n AuthUserFile users\n Require valid-user\n\
         AuthzSVNAccessFile rules\n</Location>\n",
        folder.display()
    );
    fs::write(&conf, text).unwrap();
    let done = Programs::ours().run("sapwood", ["import-httpd-conf", conf.to_str().unwrap()]);
    let told = done.stderr_text();
    assert!(told.contains("httpd.conf:5: SVNIndexXSLT: ") && done.code == 1, "{told}");
    let made = folder.join("made.toml");
    fs::write(&made, done.stdout_text()).unwrap();
    let check = ["serve", "--config", made.to_str().unwrap(), "--check"];
    let checked = Programs::ours().run("sapwood", check).expect_success("check").stdout_text();
    assert_eq!(checked, "The configuration is sound.\n");
}

/// At the top browsers see the places that may be looked into without a password, and others what they always got.
#[test]
fn the_top_names_what_may_be_seen() {
    let browser = "Accept: text/html,*/*\r\n";
    let served = Served::start(&format!("{PLACES}{HIDDEN}"));
    let page = served.get("/", browser);
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let shown: Vec<&str> =
        page.split("<li><a href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    // A login, rules that let in no visitor, a folder whose names are not listed, rules that cannot be read.
    assert_eq!(shown, ["/open/", "/mixed/", "/one/"]);
    for name in ["closed", "lenient", "inside", "ruled", "alone", "own"] {
        assert!(!page.contains(name), "{name}: {page}");
    }
    assert!(page.contains(">One</a>"), "{page}");
    // A password is not looked at here, whether it is right or not.
    for who in [places::ADA, places::WRONG] {
        let again = served.get("/", &format!("{browser}{who}"));
        assert_eq!(again.split("<html").nth(1), page.split("<html").nth(1));
    }
    for (method, headers) in [
        ("GET", ""),
        ("GET", "Accept: text/html\r\nUser-Agent: SVN/1.14.2\r\n"),
        ("OPTIONS", browser),
    ] {
        let answer = served.request(method, "/", headers, "");
        assert!(answer.starts_with("HTTP/1.1 404 "), "{method} {headers}: {answer}");
    }
}

/// Places of which a visitor sees nothing.
const HIDDEN: &str = r#"
[[location]]
url = "/ruled"
folder = "."
list = true
authz = "deep"
[[location]]
url = "/alone"
repository = "repo"
name = "A secret"
authz = "deep"
[[location]]
url = "/own"
repository = "repo"
users = "users"
"#;
