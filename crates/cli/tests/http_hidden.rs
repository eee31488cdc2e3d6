//! What may not be read answers over http exactly as what is not there, to the byte.

use std::fs;

use crate::common::places;
use places::{ADA, BOB, Served};
use sapwood_testkit::Programs;

const PLACES: &str = r#"[[location]]
url = "/svn"
folder = "."
users = "users"
login = "optional"
authz = "rules"
autoversioning = true
[[location]]
url = "/named"
folder = "."
users = "users"
login = "required"
realm = "R"
list = false
authz = "rules"
"#;

/// An answer without what differs from one moment to the next, and from one name to another of the same length.
fn answer(served: &Served, method: &str, path: &str, headers: &str, body: &str) -> String {
    let answer = served.request(method, path, headers, body);
    // The number of a request has the same length for each, and is random.
    let differs = |line: &&str| {
        ["date: ", "content-length: ", "x-request-id: "].iter().any(|name| line.starts_with(name))
    };
    answer.lines().filter(|line| !differs(line)).collect::<Vec<_>>().join("\n")
}

/// Requests for names below a place, by each kind of user: the hidden repository, a folder that is none and a name
/// that is not there are one and the same.
#[test]
fn repositories() {
    let served = Served::start(PLACES);
    let base = served.repo.parent();
    fs::write(base.join("rules"), "[/]\nada = rw\n[pub:/]\nbob = r\n").unwrap();
    fs::create_dir(base.join("dirs")).unwrap();
    fs::create_dir_all(base.join("dirs/deeper")).unwrap();
    let propfind = "<propfind xmlns='DAV:'><allprop/></propfind>";
    let log = "<S:log-report xmlns:S='svn:'><S:start-revision>1</S:start-revision><S:end-revision>0\
               </S:end-revision><S:path></S:path></S:log-report>";
    let asks = [
        ("GET", "", ""),
        ("GET", "/", ""),
        ("HEAD", "/trunk/", ""),
        ("PROPFIND", "/", propfind),
        ("OPTIONS", "/", ""),
        ("OPTIONS", "", ""),
        ("PUT", "/f", "text"),
        ("MKCOL", "/d", ""),
        ("DELETE", "/trunk", ""),
        ("REPORT", "/!svn/me", log),
        ("POST", "/!svn/me", "( create-txn )"),
        ("GET", "/!svn/rvr/1/trunk/", ""),
        ("PROPPATCH", "/trunk", propfind),
        ("LOCK", "/f", ""),
    ];
    // Bob may read nothing of these; a client without a name is asked for one.
    for place in ["/svn", "/named"] {
        for user in ["", BOB] {
            for (method, rest, body) in asks {
                let of = |name: &str| {
                    answer(&served, method, &format!("{place}/{name}{rest}"), user, body)
                };
                let hidden = of("repo");
                let expected = if user.is_empty() { "HTTP/1.1 401" } else { "HTTP/1.1 403" };
                assert!(hidden.starts_with(expected), "{method} {place} {rest}: {hidden}");
                assert_eq!(of("none"), hidden, "{method} {place} {rest}");
                assert_eq!(of("dirs"), hidden, "{method} {place} {rest}");
                let long = answer(
                    &served,
                    method,
                    &format!("{place}/{}{rest}", "a".repeat(300)),
                    user,
                    body,
                );
                assert_eq!(long, hidden, "{method} {place} {rest}");
            }
        }
    }
    // Those who may read it see what is there, and what is not.
    assert!(served.get("/svn/repo/trunk/", ADA).starts_with("HTTP/1.1 200"));
    assert!(served.get("/svn/none/", ADA).starts_with("HTTP/1.1 404"));
}

/// Blame, and conditions of requests, of a hidden file and of one that is not there.
#[test]
fn paths() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), "[/]\n* = rw\n[/trunk]\n* =\n").unwrap();
    let list = served.request("PROPFIND", "/svn/repo/", &format!("{ADA}Depth: 1\r\n"), "");
    assert!(list.starts_with("HTTP/1.1 207"), "{list}");
    let blame = |path: &str| {
        let body = format!(
            "<S:file-revs-report xmlns:S='svn:'><S:start-revision>0</S:start-revision>\
             <S:end-revision>1</S:end-revision><S:path>{path}</S:path></S:file-revs-report>"
        );
        let text = answer(&served, "REPORT", "/svn/repo/!svn/rvr/1", ADA, &body);
        text.replace(path, "PATH")
    };
    let hidden = blame("trunk");
    for path in ["trunk/f", "trunk/g/h", "absent"] {
        assert_eq!(blame(path), hidden, "{path}");
    }
    assert!(hidden.contains("is not a file in revision 1"), "{hidden}");
    // A tag that would be right tells nothing.
    for tag in ["\"1//trunk\"", "W/\"1//trunk\"", "\"9//trunk/x\"", "\"1//none\""] {
        let headers = |of: &str| format!("{ADA}If: <http://h:1/svn/repo/{of}> ([{tag}])\r\n");
        for of in ["trunk", "trunk/f", "none"] {
            let told = answer(&served, "PUT", "/svn/repo/new", &headers(of), "text");
            assert!(told.starts_with("HTTP/1.1 412"), "{tag} of {of}: {told}");
        }
    }
}

/// A working copy that says to have a hidden path somewhere hears the same whether that path is a directory, a file or
/// nothing, in an update and in a switch.
#[test]
fn linked_paths() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), "[/]\n* = rw\n[/trunk]\n* =\n").unwrap();
    let newest = served.repo.history.youngest();
    let report = |link: &str, more: &str| {
        let body = format!(
            "<S:update-report xmlns:S='svn:' send-all='true'><S:src-path>/svn/repo</S:src-path>\
             {more}<S:target-revision>{newest}</S:target-revision><S:depth>infinity</S:depth>\
             <S:entry rev='{newest}' depth='infinity'/>\
             <S:entry rev='{newest}' linkpath='/{link}' depth='infinity'>tags</S:entry>\
             </S:update-report>"
        );
        answer(&served, "REPORT", "/svn/repo/!svn/me", ADA, &body).replace(link, "LINK")
    };
    let list = Programs::reference().run("svn", ["ls", "-R", &served.repo.url()]).stdout_text();
    let in_trunk = |is_dir: bool| {
        let mut lines = list.lines().filter(|line| line.starts_with("trunk/") && *line != "trunk/");
        lines.find(|line| line.ends_with('/') == is_dir && line.is_ascii() && !line.contains(' '))
    };
    let paths =
        [in_trunk(false).unwrap(), in_trunk(true).unwrap().trim_end_matches('/'), "trunk/no"];
    for more in ["", "<S:dst-path>/svn/repo/branches</S:dst-path>"] {
        let [file, dir, nothing] = paths.map(|path| report(path, more));
        assert!(nothing.starts_with("HTTP/1.1 200"), "{nothing}");
        assert_eq!((&file, &dir), (&nothing, &nothing), "{more}");
    }
}

/// No answer names a folder of the machine.
#[test]
fn the_machine() {
    let served = Served::start(PLACES);
    let base = served.repo.parent().to_owned();
    fs::write(base.join("rules"), "[/]\n* = rw\n").unwrap();
    let secret = base.to_str().unwrap().to_owned();
    let current = served.repo.path().join("db/current");
    fs::write(&current, "nonsense\n").unwrap();
    let revprops = served.repo.path().join("db/uuid");
    fs::remove_file(revprops).unwrap();
    for path in ["/svn/repo/", "/svn/repo/trunk/?p=1", "/svn/repo/!svn/rvr/1/trunk/"] {
        for headers in [ADA.to_owned(), format!("{ADA}Accept: text/html\r\n")] {
            let told = served.get(path, &headers);
            assert!(told.starts_with("HTTP/1.1 500"), "{told}");
            assert!(!told.contains(&secret), "{told}");
        }
    }
}
