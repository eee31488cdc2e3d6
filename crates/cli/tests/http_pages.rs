//! Web pages over http: each user sees what `svn` shows to them, and nothing else changes for clients.

use std::fmt::Write as _;
use std::fs;

use crate::common::places;
use places::{ADA, BOB, Served, status, svn_as_ada};
use sapwood_testkit::Programs;

const PLACES: &str = r#"[[location]]
url = "/svn"
folder = "."
users = "users"
login = "required"
authz = "rules"
[[location]]
url = "/open"
folder = "."
users = "users"
login = "optional"
authz = "rules"
[[location]]
url = "/off"
folder = "."
users = "users"
login = "required"
authz = "rules"
web = false
"#;

/// What a browser sends.
const BROWSER: &str = "Accept: text/html\r\n";

/// Bob may not read the trunk, nor one branch.
const RULES: &str =
    "[/]\n* = r\nada = rw\n[/trunk]\n* =\nada = rw\n[/branches/b1]\n* =\nada = rw\n";

fn escaped(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        match byte.is_ascii_alphanumeric() || byte == b'/' {
            true => text.push(char::from(byte)),
            false => write!(text, "%{byte:02X}").unwrap(),
        }
    }
    text
}

/// An answer without what differs from one request to the next.
fn answer(served: &Served, path: &str, headers: &str) -> String {
    let answer = served.get(path, headers);
    let differs = |line: &&str| {
        ["date: ", "content-length: ", "x-request-id: "].iter().any(|name| line.starts_with(name))
    };
    answer.lines().filter(|line| !differs(line)).collect::<Vec<_>>().join("\n")
}

fn svn_as_bob(served: &Served, args: &[&str]) -> String {
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    let login = ["--username", "bob", "--password", "b", "--no-auth-cache", "--non-interactive"];
    let args: Vec<String> = args.iter().map(|arg| arg.replace("URL", &url)).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).chain(login).collect();
    Programs::reference().run("svn", args).stdout_text()
}

/// The revisions in the history of a path, with their messages, are those that `svn log` shows to bob.
fn same_history(served: &Served, path: &str) {
    let page = format!("/svn/repo/-/api/v1/log/{}", escaped(path));
    let got = served.get(&page, BOB);
    let value: serde_json::Value =
        serde_json::from_str(got.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let changes = value["changes"].as_array().unwrap();
    let found: Vec<(u64, bool)> = changes
        .iter()
        .map(|change| (change["revision"].as_u64().unwrap(), change["message"].is_string()))
        .collect();
    let log = svn_as_bob(served, &["log", "--xml", "-l51", &format!("URL/{}", escaped(path))]);
    let entries = log.split("<logentry").skip(1);
    let expected: Vec<(u64, bool)> = entries
        .map(|entry| {
            let revision = entry.split('"').nth(1).unwrap().parse().unwrap();
            (revision, entry.contains("<msg"))
        })
        .collect();
    assert_eq!(found, expected, "{page}");
}

/// Every path and every revision, as bob: pages are there for what `svn` lists, with the paths that `svn log` shows.
#[test]
fn each_user_sees_what_svn_shows() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), RULES).unwrap();
    let all = Programs::reference().run("svn", ["ls", "-R", &served.repo.url()]).stdout_text();
    let of_bob = svn_as_bob(&served, &["ls", "-R", "URL"]);
    let of_bob: Vec<&str> = of_bob.lines().collect();
    let (mut shown, mut hidden) = (0, 0);
    for path in all.lines() {
        let may = of_bob.contains(&path);
        let expected = if may { 200 } else { 404 };
        for kind in ["tree", "log", "feed", "compare", "graph", "api/v1/tree", "api/v1/log"] {
            if kind == "graph" && !path.ends_with('/') {
                continue;
            }
            let page = format!("/svn/repo/-/{kind}/{}", escaped(path.trim_end_matches('/')));
            let got = served.get(&page, &format!("{BOB}{BROWSER}"));
            assert_eq!(status(&got), expected, "{page}");
            // Mergeinfo has the word too, and `svn` shows that.
            assert!(!got.contains("/tree/trunk") && !got.contains(">trunk"), "{page}: {got}");
        }
        if may {
            shown += 1
        } else {
            hidden += 1
        }
        if may && path.ends_with('/') {
            same_history(&served, path.trim_end_matches('/'));
        }
    }
    same_history(&served, "");
    assert!(shown > 5 && hidden > 5, "{shown} {hidden}");
    for revision in 1..=served.repo.history.youngest() {
        let page = served.get(&format!("/svn/repo/-/rev/{revision}"), &format!("{BOB}{BROWSER}"));
        let log = svn_as_bob(&served, &["log", "-qv", &format!("-r{revision}"), "URL"]);
        let paths = log.lines().filter(|line| line.starts_with("   ")).count();
        assert_eq!(
            page.matches("<li><span class=\"mark").count(),
            paths,
            "{revision}: {log}{page}"
        );
        assert!(!page.contains("/tree/trunk"), "{revision}: {page}");
        let message = svn_as_bob(&served, &["log", &format!("-r{revision}"), "URL"]);
        let is_shown = message.lines().nth(3).is_some_and(|line| !line.is_empty());
        assert_eq!(page.contains("<pre class=\"log\">"), is_shown, "{revision}: {message}{page}");
    }
}

/// Blame finds the same revision for each line as `svn blame` and `svn blame -g`, of every file of every tenth revision.
#[test]
fn lines_have_the_revisions_that_svn_finds() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), RULES).unwrap();
    let svn = |args: &[&str]| Programs::reference().run("svn", args);
    let mut compared = 0;
    for revision in (1..=served.repo.history.youngest()).step_by(10) {
        let at = format!("-r{revision}");
        let all =
            svn(&["ls", "-R", &at, &format!("{}@{revision}", served.repo.url())]).stdout_text();
        for path in all.lines().filter(|path| !path.ends_with('/')) {
            let url = format!("{}/{}@{revision}", served.repo.url(), escaped(path));
            for (option, field) in [("--", ""), ("-g", "&g=1")] {
                let expected = svn(&["blame", option, &url]);
                if expected.code != 0 || expected.stdout_text().is_empty() {
                    continue;
                }
                // Lines of merges have a mark.
                let of_line = |line: &str| {
                    let number = line.split_whitespace().find(|word| *word != "G");
                    number.unwrap().parse::<u64>().unwrap()
                };
                let expected = expected.stdout_text();
                let expected: Vec<u64> = expected.lines().map(of_line).collect();
                let page =
                    format!("/svn/repo/-/api/v1/blame/{}?p={revision}{field}", escaped(path));
                let got = served.get(&page, ADA);
                let value: serde_json::Value =
                    serde_json::from_str(got.split("\r\n\r\n").nth(1).unwrap()).unwrap();
                let lines = value["lines"].as_array().unwrap();
                if value["refused"].is_null() {
                    let found: Vec<u64> =
                        lines.iter().map(|line| line["revision"].as_u64().unwrap()).collect();
                    assert_eq!(found, expected, "{page}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

/// Lines that were merged are from the revisions of the branch that `svn blame -g` names.
#[test]
fn merged_lines_are_from_where_svn_finds_them() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), RULES).unwrap();
    let wc = served.repo.parent().join("wc");
    let at = |name: &str| wc.join(name).to_str().unwrap().to_owned();
    // The other repository is too old to know of merges.
    let repo = served.repo.parent().join("merging");
    let made = Programs::reference().run("svnadmin", ["create", repo.to_str().unwrap()]);
    made.expect_success("svnadmin");
    let url = |name: &str| format!("file://{}/project/{name}", repo.display());
    let svn =
        |args: &[&str]| Programs::reference().run("svn", args).expect_success("svn").stdout_text();
    svn(&["mkdir", "-q", "--parents", "-m", "m", &url("trunk")]);
    svn(&["co", "-q", &url(""), wc.to_str().unwrap()]);
    let commit = |name: &str, text: &str| {
        fs::write(wc.join(name), text).unwrap();
        svn(&["add", "-q", "--force", &at(name)]);
        svn(&["ci", "-q", "-m", "m", wc.to_str().unwrap()]);
        svn(&["up", "-q", wc.to_str().unwrap()]);
    };
    commit("trunk/f", "1\n2\n3\n4\n5\n");
    svn(&["cp", "-q", "-m", "m", &url("trunk"), &url("branch")]);
    svn(&["up", "-q", wc.to_str().unwrap()]);
    commit("branch/f", "1\n2 b\n3\n4\n5\n");
    commit("trunk/f", "1\n2\n3\n4\n5 t\n");
    commit("branch/f", "0\n1\n2 b\n3\n4\n5\n");
    svn(&["merge", "-q", &url("branch"), &at("trunk")]);
    svn(&["ci", "-q", "-m", "m", wc.to_str().unwrap()]);
    let expected = svn(&["blame", "-g", &url("trunk/f")]);
    assert!(expected.lines().filter(|line| line.starts_with('G')).count() > 1, "{expected}");
    let of_line = |line: &str| -> u64 {
        line.split_whitespace().find(|word| *word != "G").unwrap().parse().unwrap()
    };
    let expected: Vec<u64> = expected.lines().map(of_line).collect();
    let got = served.get("/svn/merging/-/api/v1/blame/project/trunk/f?g=1", ADA);
    let value: serde_json::Value =
        serde_json::from_str(got.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let lines = value["lines"].as_array().unwrap().iter();
    let found: Vec<u64> = lines.map(|line| line["revision"].as_u64().unwrap()).collect();
    assert_eq!(found, expected);
}

/// What may not be read, and what is not there, are one and the same.
#[test]
fn hidden_repositories_and_paths() {
    let served = Served::start(PLACES);
    let rules = served.repo.parent().join("rules");
    fs::write(&rules, "[/]\nada = rw\n[pub:/]\nbob = r\n").unwrap();
    let pages = [
        "/-/",
        "/-",
        "/-/tree/",
        "/-/tree/trunk",
        "/-/log/",
        "/-/rev/1",
        "/-/rev/x",
        "/-/feed/",
        "/-/blame/x",
        "/-/compare/?from=1",
        "/-/none",
        "/-/style/x.css",
        "/!svn/-/",
        "/!svn/-/tree/",
        "/!svn/-/rev/1",
        "/!svn/-/none",
    ];
    for (place, user) in [("/svn", ""), ("/svn", BOB), ("/open", ""), ("/open", BOB)] {
        for page in pages {
            for accept in ["", BROWSER] {
                let headers = format!("{user}{accept}");
                let of = |name: &str| answer(&served, &format!("{place}/{name}{page}"), &headers);
                assert_eq!(of("none"), of("repo"), "{place}{page} {headers}");
                let expected = if user.is_empty() { 401 } else { 403 };
                assert_eq!(status(&of("repo")), expected, "{place}{page} {headers}");
            }
        }
    }
    fs::write(&rules, RULES).unwrap();
    let values = ["api/v1/tree", "api/v1/log", "api/v1/blame", "api/v1/graph", "api/v1/compare"];
    for kind in ["tree", "log", "blame", "compare", "feed", "graph"].into_iter().chain(values) {
        for query in ["", "?p=1", "?p=2&r=1", "?from=1", "?p=99999"] {
            let of = |path: &str, user: &str| {
                answer(
                    &served,
                    &format!("/open/repo/-/{kind}/{path}{query}"),
                    &format!("{user}{BROWSER}"),
                )
            };
            let missing = of("not-there", BOB);
            assert_eq!(status(&missing), 404, "{kind} {query}");
            for path in ["trunk", "trunk/none", "trunk/none/none"] {
                assert_eq!(of(path, BOB), missing, "{kind}/{path}{query}");
                assert_eq!(status(&of(path, "")), 401, "{kind}/{path}{query}");
            }
        }
    }
    let with = |path: &str| {
        answer(
            &served,
            &format!("/svn/repo/-/compare/?with={path}&from=1"),
            &format!("{BOB}{BROWSER}"),
        )
    };
    assert_eq!(with("/trunk"), with("/none"));
    assert_eq!(status(&with("/trunk")), 404);
    let ada = format!("{ADA}{BROWSER}");
    assert_eq!(status(&served.get("/svn/repo/-/tree/trunk", &ada)), 200);
}

/// A browser sends a password only where it was asked for one: a link asks, where a login is not needed, and leads back to the page.
#[test]
fn a_link_asks_for_a_password_and_leads_back() {
    let open = "[/]\n* = r\n[/trunk]\n* =\nada = rw\n";
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), open).unwrap();
    let page = served.get("/open/repo/-/log/?p=2", BROWSER);
    let link = "/open/repo/-/signin?to=/open/repo/-/log/%3Fp%3D2";
    assert!(page.contains(&format!("<a href=\"{link}\" rel=\"nofollow\">Sign in</a>")), "{page}");
    let asked = served.get(link, BROWSER);
    assert!(status(&asked) == 401 && asked.contains("www-authenticate: Basic"), "{asked}");
    assert_eq!(status(&served.get(link, &format!("{}{BROWSER}", places::WRONG))), 401);
    let ada = format!("{ADA}{BROWSER}");
    let leads = |to: &str| {
        let answer = served.get(&format!("/open/repo/-/signin{to}"), &ada);
        assert_eq!(status(&answer), 303, "{answer}");
        answer.split("location: ").nth(1).unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!(leads("?to=/open/repo/-/log/%3Fp%3D2"), "/open/repo/-/log/?p=2");
    for elsewhere in
        ["", "?to=//evil.com", "?to=https://evil.com", "?to=/svn/repo/", "?to=/open/repository"]
    {
        assert_eq!(leads(elsewhere), "/open/repo/-/tree/", "{elsewhere}");
    }
    assert!(served.get("/open/repo/-/log/?p=2", &ada).contains("<bdi>ada</bdi>"));
    // It is for browsers, and says nothing of a repository that is hidden.
    let client = format!("{ADA}User-Agent: SVN/1.14.2\r\n");
    assert_eq!(status(&served.get("/open/repo/-/signin", &client)), 404);
    fs::write(served.repo.parent().join("rules"), "[/]\nada = rw\n").unwrap();
    let of =
        |name: &str| answer(&served, &format!("/open/{name}/-/signin"), &format!("{BOB}{BROWSER}"));
    assert_eq!(of("repo"), of("none"));
}

/// Each page names the icon, and the server has one for pages that name none.
#[test]
fn pages_have_an_icon() {
    let served = Served::start(PLACES);
    let is_icon = |path: &str| {
        let answer = served.get(path, "");
        assert_eq!(status(&answer), 200, "{path}: {answer}");
        assert!(answer.contains("content-type: image/svg+xml"), "{path}: {answer}");
    };
    is_icon("/favicon.ico");
    for page in ["/", "/svn/repo/branches/", "/open/repo/nothing"] {
        let shown = served.get(page, &format!("{ADA}{BROWSER}"));
        let link = shown.split("rel=\"icon\" type=\"image/svg+xml\" href=\"").nth(1);
        is_icon(link.unwrap_or_else(|| panic!("{page}: {shown}")).split('"').next().unwrap());
    }
    let shown = served.get("/open/repo/-/tree/", &format!("{ADA}{BROWSER}"));
    assert!(shown.contains("href=\"/open/repo/-/style/") && shown.contains(".svg\""), "{shown}");
}

/// Clients of Subversion and DAV see paths; a repository's own folder `-` is where it was.
#[test]
fn clients_and_folders_have_their_addresses() {
    let served = Served::start(PLACES);
    let rules = served.repo.parent().join("rules");
    fs::write(&rules, RULES).unwrap();
    let (ada, bob) = (format!("{ADA}{BROWSER}"), format!("{BOB}{BROWSER}"));
    let page = served.get("/svn/repo/-/tree/", &bob);
    assert_eq!(status(&page), 200);
    assert!(
        page.contains("content-security-policy: default-src 'none'; script-src 'self'; "),
        "{page}"
    );
    let style = page.split("rel=\"stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(served.get(style, BOB).contains("immutable"), "{style}");
    // So is the script, which has a tag; what is stored is no script of a page.
    let script = page.split("<script src=\"").nth(1).unwrap().split('"').next().unwrap();
    let reply = served.get(script, BOB);
    assert!(
        reply.contains("immutable") && reply.contains("content-type: text/javascript"),
        "{reply}"
    );
    let known = reply.split("etag: ").nth(1).unwrap().lines().next().unwrap();
    let reply = served.get(script, &format!("{BOB}If-None-Match: {known}\r\n"));
    assert!(status(&reply) == 304 && reply.contains("immutable") && !reply.contains("use strict"));
    let raw = |headers: &str| served.get("/svn/repo/trunk/README", &format!("{ADA}{headers}"));
    let page_s = "Sec-Fetch-Site: same-origin\r\n";
    assert_eq!(status(&raw(&format!("Sec-Fetch-Dest: script\r\n{page_s}"))), 403);
    assert_eq!(status(&raw(&format!("Sec-Fetch-Dest: serviceworker\r\n{page_s}"))), 403);
    let reply = raw(&format!("Sec-Fetch-Dest: image\r\n{page_s}"));
    assert!(status(&reply) == 200 && reply.contains("x-content-type-options: nosniff"), "{reply}");
    assert_eq!(status(&raw("Sec-Fetch-Dest: script\r\nSec-Fetch-Site: cross-site\r\n")), 200);
    // A page that the browser has is not made again; another user's is not taken for it.
    let tag = page.split("etag: ").nth(1).unwrap().lines().next().unwrap();
    let known = format!("If-None-Match: {tag}\r\n");
    assert_eq!(status(&served.get("/svn/repo/-/tree/", &format!("{bob}{known}"))), 304);
    assert_eq!(status(&served.get("/svn/repo/-/tree/", &format!("{ada}{known}"))), 200);
    assert_eq!(status(&served.get("/svn/repo/-/tree/trunk", &format!("{bob}{known}"))), 404);

    let robots = served.get("/robots.txt", "");
    assert!(robots.contains("Disallow: /*/-/blame/"), "{robots}");
    let feed = served.get("/svn/repo/-/feed/", &bob);
    assert!(feed.contains("<id>http://h:1/svn/repo/-/rev/"), "{feed}");
    let client = format!("{ADA}User-Agent: SVN/1.14.2\r\n");
    assert_eq!(status(&served.get("/svn/repo/-/tree/", &client)), 404);
    assert_eq!(served.ada("PROPFIND", "/svn/repo/-/tree/", "Depth: 0\r\n", ""), 404);
    assert_eq!(served.ada("POST", "/svn/repo/-/tree/", "", ""), 400);
    assert_eq!(status(&served.get("/off/repo/-/tree/", &ada)), 404);
    assert_eq!(status(&served.get("/off/repo/!svn/-/tree/", &ada)), 404);

    let url = format!("http://127.0.0.1:{}/svn/repo/-", served.port);
    let made =
        svn_as_ada(&["mkdir", "-m", "m", &url, &format!("{url}/tree"), &format!("{url}/tree/own")]);
    assert!(made.code == 0, "{made:?}");
    let own = served.get("/svn/repo/-/tree/", &ada);
    assert!(own.contains("own/") && !own.contains("stylesheet"), "{own}");
    // The listing leads to the pages where they are now.
    assert!(own.contains("href=\"/svn/repo/!svn/-/tree/-/tree\""), "{own}");
    let page = served.get("/svn/repo/!svn/-/tree/-/tree", &ada);
    assert!(page.contains("href=\"/svn/repo/!svn/-/tree/-/tree/own\""), "{page}");
    // Who may not read that folder does not learn of it.
    fs::write(&rules, format!("{RULES}[/-]\n* =\nada = rw\n")).unwrap();
    assert!(served.get("/svn/repo/-/tree/", &bob).contains("href=\"/svn/repo/-/tree/branches\""));
    assert_eq!(status(&served.get("/svn/repo/-/tree/-", &bob)), 404);
}

/// A commit can be found soon, by those who may read it only; an index that was deleted comes back.
#[test]
fn what_was_committed_can_be_searched() {
    let mut served = Served::start(&format!("search-folder = 'indexes'\n{PLACES}"));
    let folder = served.repo.parent().to_owned();
    fs::write(folder.join("rules"), RULES).unwrap();
    let url = format!("http://127.0.0.1:{}/svn/repo/trunk/zebra", served.port);
    svn_as_ada(&["mkdir", "-m", "stripes for all", &url]).expect_success("mkdir");
    let search = |served: &Served, who: &str, asked: &str| {
        served.get(&format!("/svn/repo/-/api/v1/search?q={asked}"), who)
    };
    let has = |served: &Served| search(served, ADA, "stripes").contains("stripes for all");
    assert!(
        sapwood_testkit::patience::wait(60, || has(&served)),
        "{}",
        search(&served, ADA, "stripes")
    );
    assert!(search(&served, ADA, "zebra").contains("/trunk/zebra"));
    let edit = ["propset", "--revprop", "-r1", "svn:log", "an okapi", &url];
    let hook = served.repo.path().join("hooks/pre-revprop-change");
    fs::write(&hook, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    svn_as_ada(&edit).expect_success("propset");
    let is_edited = || search(&served, ADA, "okapi").contains("an okapi");
    assert!(sapwood_testkit::patience::wait(60, is_edited), "the edited message");
    let of_bob = |asked: &str| {
        let page = format!("/svn/repo/-/search?q={asked}");
        answer(&served, &page, &format!("{BOB}{BROWSER}")).replace(asked, "WORD")
    };
    assert_eq!(of_bob("zebra"), of_bob("nowhere"));
    assert_eq!(of_bob("stripes"), of_bob("nowhere"));
    assert_eq!(status(&search(&served, "", "zebra")), 401);
    // Without an index there is no search, and no other page misses it.
    assert_eq!(status(&served.get("/off/repo/-/search?q=zebra", ADA)), 404);
    served.end();
    fs::remove_dir_all(folder.join("indexes")).unwrap();
    served.start_again();
    assert!(
        sapwood_testkit::patience::wait(60, || has(&served)),
        "{}",
        search(&served, ADA, "stripes")
    );
}

/// Where faults of security are reported is open to all, where that is set.
#[test]
fn a_contact_for_faults_of_security() {
    const FILE: &str = "/.well-known/security.txt";
    let place = "[[location]]\nurl = '/'\nfolder = '.'\nusers = 'users'\n";
    let served = Served::start(&format!("security-contact = ['mailto:s@example.com']\n{place}"));
    let answer = served.get(FILE, "");
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(answer.contains("\r\n\r\nContact: mailto:s@example.com\nExpires: 2"), "{answer}");
    assert!(answer.contains("content-type: text/plain; charset=utf-8"), "{answer}");
    assert_eq!(status(&served.get("/.well-known/", "")), 401);
    assert_eq!(status(&Served::start(place).get(FILE, "")), 401);
}
