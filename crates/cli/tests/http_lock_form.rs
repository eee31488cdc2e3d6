//! Breaking a lock in a page: who may, by which form, and what hooks hear of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::places;
use places::{ADA, BOB, Served, status, svn_as_ada};

const PLACES: &str = r#"[[location]]
url = "/svn"
folder = "."
users = "users"
login = "optional"
authz = "rules"
"#;
/// Bob may write, but not read the trunk.
const RULES: &str = "[/]\n* = r\nada = rw\nbob = rw\n[/trunk]\n* =\nada = rw\n[/own]\nbob = r\n";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";
const OURS: &str = "Origin: http://h:1\r\n";
const PAGE: &str = "/svn/repo/-/locks/";

/// The code of the form that breaks the lock on a path, if the page has it.
fn code(page: &str, path: &str) -> Option<String> {
    let form = page.split(&format!("name=\"path\" value=\"{path}\"")).nth(1)?;
    Some(form.split("name=\"code\" value=\"").nth(1)?.split('"').next()?.to_owned())
}

fn hook(served: &Served, name: &str, text: &str) {
    let file = served.repo.path().join("hooks").join(name);
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_lock_is_broken_by_our_form_of_one_who_may_write() {
    let served = Served::start(PLACES);
    fs::write(served.repo.parent().join("rules"), RULES).unwrap();
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    let file = served.repo.parent().join("f");
    fs::write(&file, "text\n").unwrap();
    for path in ["shared", "trunk/hidden", "own"] {
        let to = format!("{url}/{path}/f");
        svn_as_ada(&["import", "-q", "-m", "m", file.to_str().unwrap(), &to]).expect_success("i");
        svn_as_ada(&["lock", "-m", "mine", &to]).expect_success("lock");
    }
    let get = |user: &str| served.get(PAGE, user);
    let is_locked = |path: &str| get(ADA).contains(&format!("/-/tree/{path}/f\""));
    let send = |user: &str, headers: &str, path: &str, code: &str| {
        let body = format!("path={path}&code={code}");
        served.request("POST", PAGE, &format!("{user}{FORM}{headers}"), &body)
    };
    let page = get(BOB);
    assert!(page.contains("no-store") && !page.contains("opaquelocktoken"), "{page}");
    let of_bob = code(&page, "/shared/f").unwrap();
    assert_eq!((code(&page, "/own/f"), code(&get(""), "/shared/f")), (None, None));
    let of_hidden = code(&get(ADA), "/trunk/hidden/f").unwrap();

    // Not from a page of ours, not his, not there, not the lock, not his to break.
    for (user, headers, path, code, expected) in [
        (BOB, "", "/shared/f", &*of_bob, 403),
        (BOB, "Origin: http://evil\r\n", "/shared/f", &of_bob, 403),
        (BOB, "Origin: http://h:1\r\nSec-Fetch-Site: cross-site\r\n", "/shared/f", &of_bob, 403),
        (BOB, OURS, "/shared/f", &of_hidden, 403),
        (BOB, OURS, "/trunk/hidden/f", &of_hidden, 403),
        (BOB, OURS, "/own/f", &of_bob, 403),
        (BOB, OURS, "/shared/none", &of_bob, 403),
        (BOB, OURS, "", "", 403),
        ("", OURS, "/shared/f", &of_bob, 403),
    ] {
        let got = send(user, headers, path, code);
        assert_eq!(status(&got), expected, "{headers}{path}: {got}");
    }
    let hidden = |path: &str| {
        let got = send(BOB, OURS, path, &of_hidden);
        got.split("\r\n\r\n").nth(1).unwrap().to_owned()
    };
    assert_eq!(hidden("/trunk/hidden/f"), hidden("/trunk/none"));
    assert!(is_locked("shared") && is_locked("trunk/hidden") && is_locked("own"));

    hook(&served, "pre-unlock", "echo \"no: $2 $3 $5\" >&2; exit 1");
    let refused = send(BOB, OURS, "/shared/f", &of_bob);
    assert_eq!(status(&refused), 403);
    assert!(refused.contains("no: /shared/f bob 1") && is_locked("shared"), "{refused}");
    hook(&served, "pre-unlock", "exit 0");
    // A form of a lock that another one took the place of.
    svn_as_ada(&["lock", "--force", "-m", "again", &format!("{url}/shared/f")]).expect_success("l");
    assert_eq!(status(&send(BOB, OURS, "/shared/f", &of_bob)), 403);
    assert!(is_locked("shared"));

    hook(&served, "post-unlock", "cat > \"$1/unlocked\"; echo \"$2\" >> \"$1/unlocked\"");
    let now = code(&get(BOB), "/shared/f").unwrap();
    let done = send(BOB, OURS, "/shared/f", &now);
    assert_eq!(status(&done), 303, "{done}");
    assert!(done.contains("location: http://h:1/svn/repo/-/locks/"), "{done}");
    assert!(!is_locked("shared") && is_locked("own"));
    let heard = fs::read_to_string(served.repo.path().join("unlocked")).unwrap();
    assert!(heard.contains("/shared/f") && heard.contains("bob"), "{heard}");
}
