//! Autoversioning: what other programs than Subversion's do at plain URLs becomes revisions.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::process::Command;

use sapwood_testkit::Programs;

#[path = "common/places.rs"]
mod places;
use places::{ADA, BOB, Served};

const PLACES: &str = r#"
[[location]]
url = "/dav"
folder = "."
users = "users"
password-delay = 0
autoversioning = true
[[location]]
url = "/rules"
folder = "."
users = "users"
password-delay = 0
authz = "rules"
autoversioning = true
[[location]]
url = "/off"
folder = "."
users = "users"
"#;

/// The status of an answer.
fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

impl Served {
    /// Ada's request, and its status.
    fn ada(&self, method: &str, path: &str, headers: &str, body: &str) -> u16 {
        status(&self.request(method, path, &format!("{ADA}{headers}"), body))
    }

    /// What a program of the reference says of the repository.
    fn look(&self, args: &[&str]) -> String {
        let url = format!("file://{}", self.repo.path().display());
        let args: Vec<String> = args.iter().map(|arg| arg.replace("URL", &url)).collect();
        Programs::reference().run("svn", &args).expect_success("svn").stdout_text()
    }

    fn youngest(&self) -> u64 {
        self.look(&["info", "--show-item", "revision", "--no-newline", "URL"]).parse().unwrap()
    }
}

/// Debian's test suite for WebDAV servers, whole.
#[test]
fn litmus_passes_whole() {
    let served = Served::start(PLACES);
    let url = format!("http://127.0.0.1:{}/dav/repo/", served.port);
    let programs: Vec<_> = ["basic", "copymove", "props", "locks", "http"]
        .into_iter()
        .map(|name| {
            let child = Command::new(format!("/usr/libexec/litmus/{name}"))
                .args(["--htdocs", "/usr/share/litmus/htdocs", &url, "ada", "a"])
                .current_dir(served.repo.parent())
                .output();
            (name, child.unwrap_or_else(|e| panic!("litmus is needed (package 'litmus'): {e}")))
        })
        .collect();
    for (name, done) in programs {
        let said = String::from_utf8_lossy(&done.stdout).replace('\r', "\n");
        assert!(done.status.success() && said.contains(" 0 failed. 100.0%"), "{name}: {said}");
        assert!(!said.contains("SKIPPED"), "{name}: {said}");
    }
}

#[test]
fn each_change_is_a_revision() {
    let served = Served::start(PLACES);
    let before = served.youngest();
    let to = |name: &str| format!("Destination: http://h:1/dav/repo/{name}\r\n");
    assert_eq!(served.ada("PUT", "/off/repo/new", "", "text"), 405);
    assert_eq!(served.ada("PUT", "/dav/repo/new", "Content-Type: image/png\r\n", "text"), 201);
    assert_eq!(served.ada("PUT", "/dav/repo/new", "", "other"), 204);
    assert_eq!(served.ada("MKCOL", "/dav/repo/folder", "", ""), 201);
    assert_eq!(served.ada("COPY", "/dav/repo/new", &to("folder/copy"), ""), 201);
    assert_eq!(served.ada("MOVE", "/dav/repo/folder", &to("moved%20here"), ""), 201);
    assert_eq!(served.ada("DELETE", "/dav/repo/new", "", ""), 204);
    assert_eq!(served.youngest(), before + 6);
    assert_eq!(served.look(&["cat", "URL/moved here/copy"]), "other");
    assert_eq!(
        served.look(&["propget", "svn:mime-type", "--strict", "URL/moved here/copy"]),
        "image/png"
    );
    let log = served.look(&["log", "-v", "-l", "2", "URL"]);
    assert!(log.contains("A /moved here (from /folder:") && log.contains("D /folder"), "{log}");
    assert!(log.contains("| ada |"), "{log}");
    let kept = served.look(&[
        "propget",
        "--revprop",
        "-r",
        "HEAD",
        "--strict",
        "svn:autoversioned",
        "URL",
    ]);
    assert_eq!(kept, "*");
    assert!(
        log.contains("Autoversioning commit:  a non-deltaV client made a change to\n/new"),
        "{log}"
    );
    // What cannot be leaves nothing behind.
    for (method, path, headers, expected) in [
        ("PUT", "/dav/repo/no/such/parent", "", 409),
        ("PUT", "/dav/repo/trunk", "", 405),
        ("PUT", "/dav/repo/a%01b", "", 400),
        ("PUT", "/dav/repo/moved%20here/copy", "If-None-Match: *\r\n", 412),
        ("PUT", "/dav/repo/moved%20here/copy", "If-Match: \"x\"\r\n", 412),
        ("PUT", "/dav/repo/x", "If-Match: *\r\n", 412),
        ("MKCOL", "/dav/repo/trunk", "", 405),
        ("DELETE", "/dav/repo/nothing", "", 404),
        ("MOVE", "/dav/repo/trunk", "", 400),
        ("MOVE", "/dav/repo/trunk", "Destination: /dav/repo/trunk/in/itself\r\n", 403),
        ("COPY", "/dav/repo/trunk", "Overwrite: F\r\nDestination: /dav/repo/moved%20here\r\n", 412),
        ("COPY", "/dav/repo/trunk", "Destination: /elsewhere/x\r\n", 502),
    ] {
        assert_eq!(served.ada(method, path, headers, ""), expected, "{method} {path} {headers}");
    }
    assert_eq!(served.youngest(), before + 6);
    // A comma of a name is no comma of a list of tags.
    assert_eq!(served.ada("PUT", "/dav/repo/a,b", "", "text"), 201);
    let tag = format!("\"{}//a,b\"", before + 7);
    assert_eq!(served.ada("GET", "/dav/repo/a,b", &format!("If-None-Match: {tag}\r\n"), ""), 304);
    assert_eq!(served.ada("PUT", "/dav/repo/a,b", &format!("If-None-Match: {tag}\r\n"), ""), 412);
    assert_eq!(
        served.ada("PUT", "/dav/repo/a,b", &format!("If-Match: \"1/x\",{tag}\r\n"), ""),
        204
    );
}

#[test]
fn who_may_not_write_does_not() {
    let served = Served::start(PLACES);
    let before = served.youngest();
    for method in ["PUT", "MKCOL", "DELETE", "PROPPATCH", "LOCK", "UNLOCK", "MOVE", "COPY"] {
        let to = "Destination: /rules/repo/new\r\n";
        let ask = |path: &str, who: &str| {
            status(&served.request(method, path, &format!("{who}{to}"), ""))
        };
        assert_eq!(ask("/rules/repo/trunk", ""), 401, "{method}");
        assert_eq!(ask("/rules/repo/trunk", BOB), 403, "{method}");
        assert_eq!(ask("/rules/repo/branches", BOB), 403, "{method}");
    }
    assert_eq!(served.youngest(), before);
}

const TWO: &str = "<propertyupdate xmlns='DAV:'><set><prop><size xmlns='http://a.org/'>12 &amp; 3</size>\
                   <who xmlns='urn:b'>is <b>it</b></who></prop></set></propertyupdate>";

#[test]
fn foreign_properties_keep_their_namespaces() {
    let served = Served::start(PLACES);
    let before = served.youngest();
    assert_eq!(served.ada("PROPPATCH", "/dav/repo/trunk/", "", TWO), 207);
    assert_eq!(served.ada("PROPPATCH", "/dav/repo/trunk/", "", TWO), 207);
    assert_eq!(served.youngest(), before + 1, "what changes nothing is no revision");
    let kept = served.look(&["propget", "--strict", "dav:http_3A_2F_2Fa.org_2F:size", "URL/trunk"]);
    assert_eq!(kept, "12 & 3");
    let ask = |agent: &str, body: &str| {
        let headers = format!("{ADA}Depth: 0\r\nUser-Agent: {agent}\r\n");
        served.request("PROPFIND", "/dav/repo/trunk/", &headers, body)
    };
    let all = ask("other", "");
    assert!(all.contains("<x:size xmlns:x=\"http://a.org/\">12 &amp; 3</x:size>"), "{all}");
    assert!(all.contains("<x:who xmlns:x=\"urn:b\">is <b xmlns=\"urn:b\">it</b></x:who>"), "{all}");
    let named =
        "<propfind xmlns='DAV:'><prop><who xmlns='urn:b'/><who xmlns='urn:c'/></prop></propfind>";
    let named = ask("other", named);
    assert!(named.contains(">is <b xmlns") && named.contains("404 Not Found"), "{named}");
    assert!(ask("SVN/1.14.2", "").contains("<C:dav:http_3A_2F_2Fa.org_2F:size>"));
    let live = TWO.replace("http://a.org/", "DAV:");
    let told = served.request("PROPPATCH", "/dav/repo/trunk/", ADA, &live);
    assert!(told.contains("403 Forbidden") && told.contains("424 Failed Dependency"), "{told}");
    assert_eq!(served.youngest(), before + 1);
}

const LOCK: &str = "<lockinfo xmlns='DAV:'><lockscope><SCOPE/></lockscope><locktype><write/></locktype>\
                    <owner>me</owner></lockinfo>";

#[test]
fn locks_of_files_are_subversions_and_others_are_the_servers() {
    let served = Served::start(PLACES);
    let lock = |path: &str, scope: &str| {
        let answer = served.request("LOCK", path, ADA, &LOCK.replace("SCOPE", scope));
        let token = answer.split("lock-token: <").nth(1).and_then(|rest| rest.split('>').next());
        (status(&answer), token.unwrap_or_default().to_owned())
    };
    let (made, token) = lock("/dav/repo/new", "exclusive");
    assert_eq!(made, 201);
    assert!(served.look(&["info", "URL/new"]).contains(&format!("Lock Token: {token}")));
    assert_eq!(lock("/dav/repo/new", "shared").0, 423);
    assert_eq!(served.ada("PUT", "/dav/repo/new", "", "x"), 423);
    assert_eq!(served.ada("PUT", "/dav/repo/new", &format!("If: (<{token}>)\r\n"), "x"), 204);
    // A directory: with all below, for those that change things here.
    let (made, token) = lock("/dav/repo/trunk", "exclusive");
    assert_eq!(made, 200);
    assert_eq!(served.ada("PUT", "/dav/repo/trunk/new", "", "x"), 423);
    assert_eq!(
        served.ada(
            "PUT",
            "/dav/repo/trunk/new",
            &format!("If: </dav/repo/trunk> (<{token}>)\r\n"),
            "x"
        ),
        201
    );
    let body = "<propfind xmlns='DAV:'><prop><lockdiscovery/></prop></propfind>";
    let shown =
        served.request("PROPFIND", "/dav/repo/trunk/new", &format!("{ADA}Depth: 0\r\n"), body);
    assert!(shown.contains(&token) && shown.contains("<D:depth>infinity</D:depth>"), "{shown}");
    let other =
        served.request("UNLOCK", "/dav/repo/trunk", &format!("{BOB}Lock-Token: <{token}>\r\n"), "");
    assert_eq!(status(&other), 403);
    assert_eq!(
        served.ada("UNLOCK", "/dav/repo/trunk", &format!("Lock-Token: <{token}>\r\n"), ""),
        204
    );
    assert_eq!(served.ada("DELETE", "/dav/repo/trunk/new", "", ""), 204);
    // Subversion's clients lock what is there, and nothing else.
    let svn = format!("{ADA}User-Agent: SVN/1.14.2\r\n");
    let told =
        served.request("LOCK", "/dav/repo/not-there", &svn, &LOCK.replace("SCOPE", "exclusive"));
    assert_eq!(status(&told), 409);
}
