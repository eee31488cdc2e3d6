//! Autoversioning: what other programs than Subversion's do at plain URLs becomes revisions.

use std::process::Command;

use sapwood_testkit::Programs;

use crate::common::places;
use places::{ADA, BOB, Served, status};

/// Each request is a revision.
const AT_ONCE: &str = "autoversioning-wait = 0\n";

const PLACES: &str = r#"autoversioning-wait = 0
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

impl Served {
    /// What a program of the reference says of the repository.
    fn look(&self, args: &[&str]) -> String {
        let url = format!("file://{}", self.repo.path().display());
        let args: Vec<String> = args.iter().map(|arg| arg.replace("URL", &url)).collect();
        Programs::reference().run("svn", &args).expect_success("svn").stdout_text()
    }
}

/// Debian's test suite for WebDAV servers, whole: with changes that wait, as is usual.
#[test]
fn litmus_passes_whole() {
    let served = Served::start(&PLACES.replace(AT_ONCE, ""));
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
    assert_eq!(served.ada("PUT", "/off/repo/new", "", "text"), 409);
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

/// How long a change waits that nothing follows, in tests in which that does not happen.
const LONG: &str = "autoversioning-wait = 60\n";

impl Served {
    fn saving(wait: &str) -> Self {
        Self::start(&PLACES.replace(AT_ONCE, wait))
    }

    /// What the youngest revision changed.
    fn last_change(&self) -> String {
        let log = self.look(&["log", "-q", "-v", "-r", "HEAD", "URL"]);
        let paths = log.lines().filter(|line| line.starts_with("   "));
        paths.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(", ")
    }
}

#[test]
fn several_requests_of_one_save_are_one_revision() {
    let served = Served::saving(LONG);
    let mut youngest = served.youngest();
    let mut is_one_more = |what: &str| {
        youngest += 1;
        assert_eq!((served.youngest(), &*served.last_change()), (youngest, what));
    };
    // A file is made empty, looked at, and written.
    assert_eq!(served.ada("PUT", "/dav/repo/new", "Content-Type: image/png\r\n", ""), 201);
    let shown = served.request("PROPFIND", "/dav/repo/new", &format!("{ADA}Depth: 0\r\n"), "");
    assert!(shown.contains("<D:getcontentlength>0<") && shown.contains("image/png"), "{shown}");
    assert_eq!(served.ada("HEAD", "/dav/repo/new", "", ""), 200);
    assert_eq!(served.ada("PUT", "/dav/repo/new", "If-None-Match: *\r\n", "text"), 412);
    assert_eq!(served.ada("PUT", "/dav/repo/new", "", "text"), 204);
    is_one_more("A /new");
    assert_eq!(served.look(&["propget", "svn:mime-type", "--strict", "URL/new"]), "image/png");
    // It is locked before it is there, gets properties, and is written.
    let body = LOCK.replace("SCOPE", "exclusive");
    let locked = served.request("LOCK", "/dav/repo/locked", ADA, &body);
    let token = locked.split("lock-token: <").nth(1).and_then(|rest| rest.split('>').next());
    let token = token.unwrap_or_else(|| panic!("{locked}"));
    assert_eq!(status(&locked), 201);
    let shown = format!("If: (<{token}>)\r\n");
    assert_eq!(served.ada("PROPPATCH", "/dav/repo/locked", &shown, TWO), 207);
    assert_eq!(served.ada("PUT", "/dav/repo/locked", "", "text"), 423);
    assert_eq!(served.ada("PUT", "/dav/repo/locked", &shown, "text"), 204);
    is_one_more("A /locked");
    let info = served.look(&["info", "URL/locked"]);
    assert!(info.contains(&format!("Lock Token: {token}")), "{info}");
    let token = format!("Lock-Token: <{token}>\r\n");
    assert_eq!(served.ada("UNLOCK", "/dav/repo/locked", &token, ""), 204);
    // Directories, and what is in them.
    for directory in ["/dav/repo/d", "/dav/repo/d/e"] {
        assert_eq!(served.ada("MKCOL", directory, "", ""), 201);
        assert_eq!(served.ada("MKCOL", directory, "", ""), 405);
    }
    assert_eq!(served.ada("PUT", "/dav/repo/d/e/f", "", "text"), 201);
    is_one_more("A /d, A /d/e, A /d/e/f");
    // All that is in a directory is deleted before it.
    for path in ["/dav/repo/d/e/f", "/dav/repo/d/e", "/dav/repo/d"] {
        assert_eq!(served.ada("DELETE", path, "", ""), 204, "{path}");
        assert_eq!(served.ada("GET", path, "", ""), 404, "{path}");
        assert_eq!(served.ada("DELETE", path, "", ""), 404, "{path}");
    }
    assert_eq!(served.ada("PUT", "/dav/repo/d/x", "", "text"), 409);
    // Another user asks.
    assert_eq!(status(&served.get("/dav/repo/d/e/f", BOB)), 404);
    is_one_more("D /d");
    // A file that is deleted and written again keeps its history.
    assert_eq!(served.ada("DELETE", "/dav/repo/new", "", ""), 204);
    assert_eq!(served.ada("PUT", "/dav/repo/new", "", "other"), 201);
    is_one_more("M /new");
    // It makes room for another one.
    assert_eq!(served.ada("PUT", "/dav/repo/other", "", "third"), 201);
    is_one_more("A /other");
    assert_eq!(served.ada("DELETE", "/dav/repo/new", "", ""), 204);
    assert_eq!(served.ada("MOVE", "/dav/repo/other", "Destination: /dav/repo/new\r\n", ""), 201);
    let before = served.youngest();
    is_one_more(&format!("R /new (from /other:{}), D /other", before - 1));
    // What was made and is gone again never was.
    assert_eq!(served.ada("PUT", "/dav/repo/never", "", ""), 201);
    assert_eq!(served.ada("DELETE", "/dav/repo/never", "", ""), 204);
    assert_eq!(served.ada("GET", "/dav/repo/never", "", ""), 404);
    // Subversion's clients see all that there is.
    assert_eq!(served.ada("PUT", "/dav/repo/empty", "", ""), 201);
    let url = format!("http://127.0.0.1:{}/dav/repo", served.port);
    let login = ["--username", "bob", "--password", "b", "--no-auth-cache", "--non-interactive"];
    let listed = Programs::reference().run("svn", [&["ls", &url][..], &login].concat());
    assert!(listed.expect_success("svn ls").stdout_text().contains("empty"));
    is_one_more("A /empty");
    // What has nothing to do with it is a revision of its own.
    assert_eq!(served.ada("MKCOL", "/dav/repo/alone", "", ""), 201);
    assert_eq!(served.ada("PUT", "/dav/repo/new", "", "fourth"), 204);
    let log = served.look(&["log", "-q", "-v", "-l", "2", "URL"]);
    assert!(log.contains("A /alone") && log.contains("M /new"), "{log}");
}

#[test]
fn what_waits_is_not_lost() {
    let mut served = Served::saving(LONG);
    let before = served.youngest();
    assert_eq!(served.ada("PUT", "/dav/repo/empty", "", ""), 201);
    assert_eq!(served.ada("DELETE", "/dav/repo/trunk", "", ""), 204);
    assert_eq!(served.youngest(), before);
    // A page, and a list, of the directory has it.
    assert!(served.get("/dav/repo/", ADA).contains("empty"));
    assert_eq!(served.youngest(), before + 1);
    assert_eq!(served.ada("MKCOL", "/dav/repo/trunk", "", ""), 201);
    let listed = served.request("PROPFIND", "/dav/repo/", &format!("{ADA}Depth: 1\r\n"), "");
    assert!(listed.contains("/dav/repo/trunk/"), "{listed}");
    assert_eq!(served.youngest(), before + 2);
    assert_eq!(served.ada("PUT", "/dav/repo/trunk/last", "", ""), 201);
    served.end();
    assert_eq!((served.youngest(), &*served.last_change()), (before + 3, "A /trunk/last"));
}

#[test]
fn what_nothing_follows_is_a_revision_soon() {
    let served = Served::saving("autoversioning-wait = 1\n");
    let before = served.youngest();
    for (path, made) in [("/dav/repo/one", before + 1), ("/dav/repo/two", before + 2)] {
        assert_eq!(served.ada("PUT", path, "", ""), 201);
        // Bounded: a failure is that it never comes.
        assert!(sapwood_testkit::patience::wait(30, || served.youngest() == made), "{path}");
    }
}

#[test]
fn what_a_hook_may_refuse_does_not_wait() {
    let served = Served::saving(LONG);
    let before = served.youngest();
    let hook = served.repo.path().join("hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\necho no >&2\nexit 1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    assert!(served.ada("PUT", "/dav/repo/empty", "", "") >= 400);
    assert!(served.ada("DELETE", "/dav/repo/trunk", "", "") >= 400);
    assert_eq!(served.ada("GET", "/dav/repo/empty", "", ""), 404);
    assert_eq!(served.youngest(), before);
}

/// A hook that is told of a revision, and asks this server before it ends, gets its answer.
#[test]
fn a_hook_may_ask_the_server_that_it_is_of() {
    let served = Served::saving(LONG);
    let (hook, told) =
        (served.repo.path().join("hooks/post-commit"), served.repo.parent().join("told"));
    let url = format!("http://127.0.0.1:{}/dav/repo", served.port);
    let text = format!(
        "#!/bin/sh\n/usr/bin/svn ls --non-interactive --no-auth-cache --username bob --password b {url} >{}\n",
        told.display()
    );
    std::fs::write(&hook, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    assert_eq!(served.ada("PUT", "/dav/repo/empty", "", ""), 201);
    assert_eq!(status(&served.get("/dav/repo/empty", BOB)), 200);
    assert!(std::fs::read_to_string(told).unwrap().contains("empty"));
}

/// Programs save several files at a time, in a folder that they have just made, and the same file from several places.
#[test]
fn parallel_saves_are_all_kept() {
    for config in [PLACES.to_owned(), PLACES.replacen(AT_ONCE, "autoversioning-wait = 3\n", 1)] {
        let served = Served::start(&config);
        for round in 0..8 {
            let folder = format!("/dav/repo/new{round}");
            assert_eq!(served.ada("MKCOL", &folder, "", ""), 201);
            let saved = |path: &str| {
                let told = served.ada("PUT", path, "", &format!("text of {path}"));
                assert!(matches!(told, 201 | 204), "{path}: {told}");
            };
            std::thread::scope(|scope| {
                for file in 0..4 {
                    let path = format!("{folder}/f{file}");
                    scope.spawn(move || saved(&path));
                }
            });
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| saved(&format!("{folder}/same")));
                }
            });
            let list = served.look(&["ls", &format!("URL/new{round}")]);
            assert_eq!(list, "f0\nf1\nf2\nf3\nsame\n");
        }
    }
}

/// A body that is put on top of another revision is the same one, also when it is large or packed.
#[test]
fn large_and_packed_bodies_are_put_again() {
    let served = Served::start(PLACES);
    let text: String = (0..30_000).map(|number| format!("line {number}\n")).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let gzip = format!("{ADA}Content-Encoding: gzip\r\n");
    for round in 0..4 {
        let path = format!("/dav/repo/file{round}");
        std::thread::scope(|scope| {
            for (headers, body) in [(ADA, text.as_bytes()), (&*gzip, &packed[..])].repeat(2) {
                let bytes = served.bytes("PUT", &path, headers, body);
                let served = &served;
                scope.spawn(move || {
                    let answer = String::from_utf8_lossy(&served.raw(&bytes)).into_owned();
                    assert!(matches!(status(&answer), 201 | 204), "{answer}");
                });
            }
        });
        assert_eq!(served.look(&["cat", &format!("URL/file{round}")]), text);
    }
}
