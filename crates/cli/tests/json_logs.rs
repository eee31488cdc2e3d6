//! Logs as JSON; request numbers in them and in error replies; a wrong password is one line, whatever the way to log in.

use std::fs;
use std::path::Path;

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs};

use crate::common::places::{LOGIN_PLACE, Served, status, svn_as_ada};
use crate::monitor::{ask, until};

/// The objects of a log, each of which is a line of printable ASCII.
fn objects(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read(path).unwrap();
    assert!(text.iter().all(|byte| *byte == b'\n' || (b' '..=b'~').contains(byte)));
    let text = String::from_utf8(text).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
        .collect()
}

fn request_id(reply: &str) -> Option<String> {
    let (_, rest) = reply.split_once("\r\nx-request-id: ")?;
    Some(rest.split("\r\n").next().unwrap().to_owned())
}

#[test]
fn lines_and_replies_name_the_same_request() {
    let served = Served::start(&format!(
        "log-format = 'json'\nlog-file = 'log'\naccess-log = 'access'\n{LOGIN_PLACE}login = 'optional'\n"
    ));
    let base = served.repo.parent();
    let (log, access) = (base.join("log"), base.join("access"));
    let good = served.get("/svn/repo/", "");
    assert_eq!((status(&good), request_id(&good)), (200, None));
    // What would be another member.
    let agent = "User-Agent: x\"}\\\r\n";
    let odd = served.get("/svn/repo/%0a%22%7d/x?p=9999999", agent);
    let id = request_id(&odd).unwrap_or_else(|| panic!("{odd}"));
    let of_request = |path: &Path| -> Vec<serde_json::Value> {
        objects(path).into_iter().filter(|object| object["request"] == id.as_str()).collect()
    };
    // It is written after the reply has gone out.
    until("the line of the request", || !of_request(&access).is_empty());
    let [line] = &of_request(&access)[..] else { panic!("one line of {id}") };
    assert_eq!((&line["method"], &line["status"]), (&"GET".into(), &status(&odd).into()), "{line}");
    assert_eq!(line["path"], "/svn/repo/%0a%22%7d/x");
    assert_eq!(line["agent"], "x\"}\\");
    assert!(line["seconds"].as_f64().unwrap() < 60.0 && line["client"] == "127.0.0.1");
    let errors = of_request(&log);
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!((&error["level"], &error["code"]), (&"error".into(), &160_006.into()), "{error}");
    // A commit is a line with its user and repository.
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    svn_as_ada(&["mkdir", "-m", "one", &format!("{url}/one")]).expect_success("mkdir");
    let all = objects(&log);
    let commit =
        all.iter().find(|o| o["operation"].as_str().is_some_and(|o| o.starts_with("commit r")));
    let commit = commit.unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!((&commit["user"], &commit["repository"]), (&"ada".into(), &"repo".into()));
}

/// Every way to log in, with a wrong password: one line in the operation log, and one in the count.
#[test]
fn a_wrong_password_is_one_line_over_every_way() {
    let (metrics, svn) = (free_port(), free_port());
    let head = format!(
        "metrics-listen = '127.0.0.1:{metrics}'\nlog-format = 'json'\nlog-file = 'log'\npath = '.'\nsvn-port = {svn}\n"
    );
    let place = |name: &str, setting: &str| {
        format!("[[location]]\nurl = '/{name}'\nfolder = '.'\npassword-delay = 0\n{setting}\n")
    };
    let places = [
        place("basic", "users = 'users'"),
        place("digest", "digest-users = 'digests'\nrealm = 'Ours'"),
        place("plain", "svnserve-users = 'repo/conf/passwd'"),
        place("accounts", "accounts = 'accounts.toml'"),
    ];
    // The file of accounts has to be there before the server starts.
    let folder = tempfile::tempdir().unwrap();
    let accounts = folder.path().join("accounts.toml");
    let password = folder.path().join("password");
    fs::write(&password, "secret\n").unwrap();
    let mut user = Programs::ours().command("sapwood");
    user.args(["user", "add", "ada", "--password-from-stdin", "--accounts"]).arg(&accounts);
    Output::of(user.stdin(fs::File::open(&password).unwrap())).expect_success("sapwood user");
    let text = head + &places.concat();
    let text = text.replace("'accounts.toml'", &format!("'{}'", accounts.display()));
    let served = Served::start(&text);
    let conf = served.repo.path().join("conf");
    fs::write(
        conf.join("svnserve.conf"),
        "[general]\nanon-access = none\npassword-db = passwd\npassword-delay = 0\n",
    )
    .unwrap();
    fs::write(conf.join("passwd"), "[users]\nada = right\n").unwrap();
    let log = served.repo.parent().join("log");
    let failures = || objects(&log).iter().filter(|o| !o["failed_login"].is_null()).count();
    let counted = || {
        let text = ask(metrics, "/metrics", "").1;
        let line = text.lines().find_map(|l| l.strip_prefix("sapwood_failed_logins_total "));
        line.unwrap().parse::<usize>().unwrap()
    };
    let http = |name: &str| format!("http://127.0.0.1:{}/{name}/repo", served.port);
    let ways = [
        ("Basic", http("basic"), "wrong"),
        ("Digest", http("digest"), "wrong"),
        ("password-db over http", http("plain"), "wrong"),
        ("an account", http("accounts"), "wrong"),
        (
            "a token",
            http("accounts"),
            "sapwood_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ),
        ("CRAM-MD5", format!("svn://127.0.0.1:{svn}/repo"), "wrong"),
    ];
    for (way, url, password) in ways {
        let before = failures();
        let login = ["--username", "ada", "--password", password];
        let args = [&["info", "--no-auth-cache", "--non-interactive", &url][..], &login].concat();
        let said = Programs::reference().run("svn", args);
        assert_ne!(said.code, 0, "{way}");
        let lines: Vec<_> = objects(&log)
            .into_iter()
            .filter(|o| !o["failed_login"].is_null())
            .skip(before)
            .collect();
        // Clients try each password once or twice, and once more where there is the library of a keyring.
        assert!((1..=3).contains(&lines.len()), "{way}: {lines:?}");
        for line in &lines {
            assert_eq!(line["client"], "127.0.0.1", "{way}");
            assert!(line["operation"].as_str().unwrap().contains(" user=ada "), "{way}: {line}");
        }
        assert_eq!(counted(), failures(), "{way}");
    }
    // One request, one line.
    let before = failures();
    assert_eq!(status(&served.get("/basic/repo/", crate::common::places::WRONG)), 401);
    assert_eq!(failures(), before + 1);
}
