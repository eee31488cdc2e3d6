//! `sapwood user` and the accounts of `sapwood serve`: users, groups in authz files, tokens with their limits, as 1.14's
//! client uses them. A change counts from the next request on.

use std::fs;
use std::path::Path;

use sapwood_testkit::{Output, Programs};

use crate::common::places;
use places::Served;

/// The accounts say who a user is, and the rules what the groups may do.
const RULES: &str =
    "[groups]\ndevs = group:devs\n[/]\n* = r\n@devs = rw\n[/trunk]\n* =\n@devs = rw\n";

/// Runs `sapwood user`, with a line of standard input.
fn user(folder: &Path, args: &[&str], line: &str) -> Output {
    let input = folder.join("input");
    fs::write(&input, format!("{line}\n")).unwrap();
    let mut command = Programs::ours().command("sapwood");
    command.args(["user", "--accounts"]).arg(folder.join("accounts.toml")).args(args);
    Output::of(command.stdin(fs::File::open(&input).unwrap()))
}

fn done(folder: &Path, args: &[&str], line: &str) -> String {
    user(folder, args, line).expect_success(&format!("{args:?}")).stdout_text()
}

/// A server whose accounts are in `folder`: ada in the group `devs`, and bob in none.
fn served(folder: &Path) -> Served {
    done(folder, &["add", "ada", "--group", "devs", "--password-from-stdin"], "secret a");
    done(folder, &["add", "bob", "--password-from-stdin"], "secret b");
    fs::write(folder.join("rules"), RULES).unwrap();
    let at = folder.display();
    Served::start(&format!(
        "[[location]]\nurl = '/svn'\nfolder = '.'\nlist = true\naccounts = '{at}/accounts.toml'\n\
         password-delay = 0\nauthz = '{at}/rules'\n"
    ))
}

/// Whether 1.14's client may do something as a user; `URL` is the repository's.
fn may(served: &Served, who: (&str, &str), args: &[&str]) -> bool {
    places::reference_svn(served, who, args).is_ok()
}

const READ: &[&str] = &["ls", "URL"];
const READ_TRUNK: &[&str] = &["ls", "URL/trunk"];

/// A commit that each call makes anew.
fn may_write(served: &Served, who: (&str, &str)) -> bool {
    may(served, who, &["mkdir", "-m", "new", "URL/new"])
        && may(served, who, &["rm", "-m", "gone", "URL/new"])
}

#[test]
fn users_log_in_and_their_groups_count_in_rules() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let served = served(folder);
    let (ada, bob) = (("ada", "secret a"), ("bob", "secret b"));
    assert!(may(&served, ada, READ_TRUNK) && may_write(&served, ada));
    assert!(may(&served, bob, READ));
    assert!(!may(&served, bob, READ_TRUNK) && !may_write(&served, bob));
    for wrong in [("ada", "secret b"), ("ada", "x"), ("eve", "secret a"), ("group:devs", "x")] {
        assert!(!may(&served, wrong, READ), "{wrong:?}");
    }
    // Each change counts from the next request on.
    done(folder, &["groups", "bob", "qa", "devs"], "");
    assert!(may(&served, bob, READ_TRUNK) && may_write(&served, bob));
    done(folder, &["groups", "ada"], "");
    assert!(may(&served, ada, READ) && !may(&served, ada, READ_TRUNK));
    done(folder, &["passwd", "ada", "--password-from-stdin"], "other");
    assert!(!may(&served, ada, READ) && may(&served, ("ada", "other"), READ));
    done(folder, &["disable", "ada"], "");
    assert!(!may(&served, ("ada", "other"), READ));
    done(folder, &["enable", "ada"], "");
    assert!(may(&served, ("ada", "other"), READ));
    done(folder, &["remove", "ada"], "");
    assert!(!may(&served, ("ada", "other"), READ));
    // What is not understood lets no user in.
    let text = fs::read_to_string(folder.join("accounts.toml")).unwrap();
    fs::write(folder.join("accounts.toml"), format!("{text}admin = true\n")).unwrap();
    assert!(!may(&served, bob, READ));
    fs::write(folder.join("accounts.toml"), text).unwrap();
    assert!(may(&served, bob, READ));
}

#[test]
fn tokens_do_what_their_scope_allows_until_they_are_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let served = served(folder);
    let token = |name: &str, more: &[&str]| {
        let args = [&["add-token", "ada", name], more].concat();
        done(folder, &args, "").trim_end().to_owned()
    };
    let all = token("all", &["--days", "30"]);
    let reader = token("reader", &["--read-only"]);
    let here = token("here", &["--repository", "repo"]);
    let elsewhere = token("elsewhere", &["--repository", "other"]);
    for secret in [&all, &here] {
        assert!(may(&served, ("ada", secret), READ_TRUNK) && may_write(&served, ("ada", secret)));
        assert!(!may(&served, ("bob", secret), READ), "a token is its user's");
    }
    assert!(may(&served, ("ada", &reader), READ_TRUNK) && !may_write(&served, ("ada", &reader)));
    assert!(!may(&served, ("ada", &elsewhere), READ));
    // The list of repositories has those of the token.
    let page = |secret: &str| {
        let login = sapwood_core::base64::encode(format!("ada:{secret}").as_bytes());
        served.get("/svn/", &format!("Authorization: Basic {login}\r\n"))
    };
    assert!(page(&here).contains("repo") && !page(&elsewhere).contains("repo/"));
    let shown = done(folder, &["show", "ada"], "");
    assert!(shown.contains("Token: reader") && shown.contains("May: read: all repositories"));
    assert!(shown.contains("May: read and write: other"), "{shown}");
    assert!(!shown.contains(&all) && !shown.contains("Last used: never"), "{shown}");
    done(folder, &["revoke-token", "ada", "all"], "");
    assert!(!may(&served, ("ada", &all), READ) && may(&served, ("ada", &here), READ));
    let stored = fs::read_to_string(folder.join("accounts.toml")).unwrap();
    assert!(!stored.contains(&here) && !stored.contains("secret a"));
}

#[test]
fn wrong_command_lines_and_files_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let said = |args: &[&str], line: &str| {
        let output = user(folder, args, line);
        assert_eq!(output.code, 1, "{args:?}: {output:?}");
        output.stderr_text()
    };
    assert!(said(&["list"], "").contains("accounts.toml"));
    assert!(said(&["add", "a:b", "--password-from-stdin"], "x").contains("'a:b'"));
    assert!(said(&["add", "ada", "--password-from-stdin"], "").contains("The password is empty"));
    assert!(!folder.join("accounts.toml").exists());
    done(folder, &["add", "ada", "--no-password"], "");
    assert!(said(&["add", "ada", "--no-password"], "").contains("There is a user 'ada' already"));
    assert!(said(&["passwd", "eve"], "").contains("There is no user 'eve'"));
    assert!(said(&["revoke-token", "ada", "t"], "").contains("has no token 't'"));
    assert!(said(&["add-token", "ada", "t", "--days", "0"], "").contains("number of days"));
    assert!(said(&["frob"], "").contains("'frob'"));
    assert!(said(&[], "").contains("an action is needed"));
    assert_eq!(
        done(folder, &["list"], ""),
        "ada                  tokens only   0 tokens  groups: none\n"
    );
    fs::write(folder.join("accounts.toml"), "format = 1\nroot = true\n").unwrap();
    assert!(said(&["list"], "").contains("accounts.toml': line 2: unknown field"));
    fs::write(folder.join("accounts.toml"), "format = 3\nroot = true\n").unwrap();
    assert!(said(&["add", "bob", "--no-password"], "").contains("has format 3"));
    // The server does not start with such a file.
    let config = folder.join("sapwood.toml");
    let place = "[[location]]\nurl = '/'\nfolder = '.'\naccounts = 'accounts.toml'\n";
    fs::write(&config, format!("http-port = 0\n{place}")).unwrap();
    let args = ["serve", "--check", "--config", config.to_str().unwrap()];
    let checked = Programs::ours().run("sapwood", args);
    assert!(checked.code == 1 && checked.stderr_text().contains(":5: location '/'"), "{checked:?}");
}
