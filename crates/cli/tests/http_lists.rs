//! Lists of repositories, media and blame over http: who sees what, in which pieces, and how much of it.

use std::fs;

use crate::common::places;
use places::{ADA, BOB, Served, status, svn_as_ada};
use sapwood_testkit::Programs;
use serde_json::Value;

const PLACES: &str = r#"[[location]]
url = "/svn"
folder = "."
list = true
users = "users"
login = "required"
authz = "rules"
[[location]]
url = "/open"
folder = "."
list = true
users = "users"
login = "optional"
authz = "rules"
[[location]]
url = "/unlisted"
folder = "."
users = "users"
login = "required"
authz = "rules"
"#;

/// Bob may not read the root of one repository.
const RULES: &str =
    "[/]\n* = r\nada = rw\n[many042:/]\n* =\nada = rw\n[many000:/]\n* =\nada = rw\n";
const BROWSER: &str = "Accept: text/html\r\n";

fn served() -> Served {
    let served = Served::start(PLACES);
    let base = served.repo.parent();
    fs::write(base.join("rules"), RULES).unwrap();
    for n in 0..105 {
        let path = base.join(format!("many{n:03}"));
        let args = ["create", "--fs-type", "fsfs", path.to_str().unwrap()];
        Programs::ours().run("svnadmin", args).expect_success("svnadmin create");
    }
    served
}

fn values(served: &Served, path: &str, who: &str) -> Value {
    let reply = served.get(path, who);
    assert!(reply.starts_with("HTTP/1.1 200"), "{path}: {reply}");
    assert!(reply.contains("content-type: application/json"), "{reply}");
    serde_json::from_str(reply.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

fn names(value: &Value) -> Vec<String> {
    let all = value["repositories"].as_array().unwrap();
    all.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// The list has pages, the last change of each repository, and a search; hidden ones are not there.
#[test]
fn repositories_are_listed_by_pages() {
    let served = served();
    let first = values(&served, "/svn/-/api/v1/repositories", ADA);
    assert_eq!(names(&first).len(), 100);
    let next = first["next"].as_str().unwrap().to_owned();
    assert_eq!(next, "many099");
    let second = values(&served, &format!("/svn/-/api/v1/repositories?after={next}"), ADA);
    assert_eq!(names(&second).len(), 6, "five more, and the one of all tests");
    assert!(second["next"].is_null());
    let last = second["repositories"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["name"], &last["url"]), (&"repo".into(), &"/svn/repo/".into()));
    assert_eq!(last["last_change"]["revision"], served.youngest());
    // Bob has the next two in place of what is hidden, and no word of it.
    let bobs = values(&served, "/svn/-/api/v1/repositories", BOB);
    assert_eq!((names(&bobs).len(), &bobs["next"]), (100, &"many101".into()));
    assert!(!names(&bobs).iter().any(|name| ["many000", "many042"].contains(&name.as_str())));
    for (who, count) in [(ADA, 1), (BOB, 0)] {
        let found = values(&served, "/svn/-/api/v1/repositories?q=MANY042", who);
        assert_eq!(names(&found).len(), count);
    }
    let page = |path: &str, who: &str| served.get(path, &format!("{who}{BROWSER}"));
    let (hidden, none) = (page("/svn/?q=many042", BOB), page("/svn/?q=many942", BOB));
    let body = |reply: &str| reply.split("\r\n\r\n").nth(1).unwrap().to_owned();
    assert_eq!(body(&hidden).replace("many042", "many942"), body(&none));
    let shown = page("/svn/?q=repo", BOB);
    assert!(
        shown.contains("<a href=\"repo/\">repo</a>") && shown.contains("repo/!svn/-/rev/"),
        "{shown}"
    );
    assert!(shown.contains("script-src 'self'"), "{shown}");
    let link = shown.split("href=\"repo/!svn").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(status(&page(&format!("/svn/repo/!svn{link}"), BOB)), 200);
    let whole = page("/svn/", ADA);
    assert!(
        whole.contains("href=\"?q=&amp;after=many099\"") && whole.contains("role=\"search\""),
        "{whole}"
    );
    let script = whole.split("<script src=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(served.get(script, "").contains("use strict"));
}

/// Who has to log in is asked, and a list that is not given to people is not given to programs.
#[test]
fn values_of_lists_have_the_rules_of_pages() {
    let served = served();
    let of = |path: &str, headers: &str| status(&served.get(path, headers));
    assert_eq!(of("/svn/-/api/v1/repositories", ""), 401);
    assert_eq!(of("/open/-/api/v1/repositories", ""), 200);
    assert_eq!(of("/unlisted/-/api/v1/repositories", ADA), 403);
    assert_eq!(of("/unlisted/", ADA), 403);
    assert_eq!(of("/svn/none/-/api/v1/repositories", ADA), of("/svn/none/x", ADA));
    assert_eq!(of("/svn/-/api/v1/repositories?q=%ff", ADA), 400);
    assert_eq!(of("/svn/repo/-/api/v1/repositories", ADA), 404);
    // A repository that is called so is what it was.
    let path = served.repo.parent().join("-");
    let args = ["create", path.to_str().unwrap()];
    Programs::ours().run("svnadmin", args).expect_success("svnadmin create");
    assert_eq!(of("/svn/-/api/v1/repositories", ADA), 404);
    assert_eq!(of("/svn/-/", ADA), 200);
}

/// Players get ranges, with the type of our list; who may not read the file gets nothing.
#[test]
fn media_come_in_ranges() {
    let served = served();
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    let file = served.repo.parent().join("song.mp3");
    fs::write(&file, "0123456789").unwrap();
    svn_as_ada(&["import", "-m", "x", file.to_str().unwrap(), &format!("{url}/song.mp3")]);
    let rules = served.repo.parent().join("rules");
    let peg = served.youngest();
    let path = format!("/svn/repo/-/media/song.mp3?p={peg}");
    let whole = served.get(&path, BOB);
    for line in [
        "content-type: audio/mpeg",
        "accept-ranges: bytes",
        "x-content-type-options: nosniff",
        "default-src 'none'; sandbox",
    ] {
        assert!(whole.contains(line), "{line}: {whole}");
    }
    assert!(whole.ends_with("\r\n\r\n0123456789"), "{whole}");
    let part = served.get(&path, &format!("{BOB}Range: bytes=2-4\r\n"));
    assert!(status(&part) == 206 && part.ends_with("\r\n\r\n234"), "{part}");
    assert!(part.contains("content-range: bytes 2-4/10"), "{part}");
    assert_eq!(status(&served.get(&path, &format!("{BOB}Range: bytes=10-\r\n"))), 416);
    let tag = whole.split("etag: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(status(&served.get(&path, &format!("{BOB}If-None-Match: {tag}\r\n"))), 304);
    assert_eq!(status(&served.get("/svn/repo/-/media/trunk", BOB)), 404);
    fs::write(&rules, format!("{RULES}[/song.mp3]\n* =\nada = rw\n")).unwrap();
    let (hidden, none) = (served.get(&path, BOB), served.get(&path.replace("song", "none"), BOB));
    assert_eq!((status(&hidden), status(&none)), (404, 404));
    assert!(!hidden.contains("0123"));
}

/// Blame of readers who have not logged in has a share of a minute; the page says so, and others have none.
#[test]
fn blame_for_anybody_is_a_share() {
    let served = served();
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    let file = served.repo.parent().join("lines");
    fs::write(&file, "one\ntwo\n").unwrap();
    svn_as_ada(&["import", "-m", "x", file.to_str().unwrap(), &format!("{url}/lines")]);
    let path = "/open/repo/-/blame/lines";
    let mut made = 0;
    let refused = loop {
        let page = served.get(path, BROWSER);
        if status(&page) != 200 {
            break page;
        }
        made += 1;
        assert!(made < 10_000, "there is no end");
    };
    assert!(made >= 60, "{made}");
    assert_eq!(status(&refused), 429, "{refused}");
    assert!(
        refused.contains("retry-after: ") && refused.contains("Too many pages of blame"),
        "{refused}"
    );
    assert!(refused.contains("content-type: text/html"), "{refused}");
    assert_eq!(status(&served.get(path, &format!("{ADA}{BROWSER}"))), 200);
    assert_eq!(status(&served.get("/open/repo/-/tree/lines", BROWSER)), 200);
}
