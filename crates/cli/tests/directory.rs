//! Users of a directory (OpenLDAP's server) as 1.14's client logs in: groups in authz files, members of a location, tokens,
//! and servers that are down.

use std::fs;
use std::path::Path;

use sapwood_testkit::Programs;
use sapwood_testkit::slapd::{READER, SUFFIX, Slapd};

use crate::common::{ldap, places};
use places::{Served, reference_svn as svn};

/// The directory says who a user is, and the rules what the groups may do.
const RULES: &str =
    "[groups]\ndevs = group:devs\n[/]\n* = r\n@devs = rw\n[/trunk]\n* =\n@devs = rw\n";

/// Ada in the group `devs`, Bob in none.
fn company() -> Slapd {
    ldap::company(&["ada", "bob"], &[("devs", &["ada"])])
}

/// A server that asks this directory; `more` is of the location and of the directory.
fn served(folder: &Path, url: &str, location: &str, directory: &str) -> Served {
    fs::write(folder.join("rules"), RULES).unwrap();
    fs::write(folder.join("secret"), READER.1).unwrap();
    let at = folder.display();
    Served::start(&format!(
        "log-file = '{at}/log'\n[[location]]\nurl = '/svn'\nfolder = '.'\ndirectory = 'company'\npassword-delay = 0\n\
         authz = '{at}/rules'\n{location}\n\
         [[directory]]\nname = 'company'\nservers = ['{url}']\nbase = '{SUFFIX}'\nbind-dn = '{}'\n\
         bind-password-file = '{at}/secret'\ntimeout = 2\n{directory}\n",
        READER.0
    ))
}

const READ: &[&str] = &["ls", "URL"];
const READ_TRUNK: &[&str] = &["ls", "URL/trunk"];
const ADA: (&str, &str) = ("ada", "secret of ada");
const BOB: (&str, &str) = ("bob", "secret of bob");

/// Reads the configuration again, with one more location, and waits until that is served.
fn reload(served: &Served) {
    let file = served.repo.parent().join("sapwood.toml");
    let more = "[[location]]\nurl = '/more'\nfolder = '.'\nanonymous = 'read'\n";
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}{more}")).unwrap();
    let pid = served.pid().to_string();
    let kill = std::process::Command::new("kill").args(["-s", "HUP", &pid]).status();
    assert!(kill.unwrap().success());
    let is_read = || places::status(&served.get("/more/repo/", "")) != 404;
    assert!(sapwood_testkit::patience::wait(60, is_read), "the configuration is not read again");
}

/// A commit that each call makes anew.
fn may_write(served: &Served, who: (&str, &str)) -> bool {
    svn(served, who, &["mkdir", "-m", "new", "URL/new"]).is_ok()
        && svn(served, who, &["rm", "-m", "gone", "URL/new"]).is_ok()
}

#[test]
fn users_of_a_directory_log_in_and_their_groups_count_in_rules() {
    let folder = tempfile::tempdir().unwrap();
    let company = company();
    let served = served(folder.path(), &company.url(), "", "");
    svn(&served, ADA, READ_TRUNK).unwrap();
    assert!(may_write(&served, ADA));
    svn(&served, BOB, READ).unwrap();
    assert!(svn(&served, BOB, READ_TRUNK).is_err() && !may_write(&served, BOB));
    // The author is the user as the directory spells the name.
    svn(&served, ("ADA", ADA.1), &["mkdir", "-m", "case", "URL/case"]).unwrap();
    let author = served.get("/svn/repo/", &format!("Authorization: Basic {}\r\n", basic(BOB)));
    assert!(author.contains("ada") && !author.contains("ADA"), "{author}");
    for wrong in [("ada", "secret of bob"), ("a*", ADA.1), ("group:devs", "x"), ("eve", "x")] {
        let said = svn(&served, wrong, READ).unwrap_err();
        assert!(said.contains("E170001") || said.contains("E215004"), "{wrong:?}: {said}");
    }
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("Authentication Failed Basic user=ada"), "{log}");
}

fn basic((name, secret): (&str, &str)) -> String {
    sapwood_core::base64::encode(format!("{name}:{secret}").as_bytes())
}

#[test]
fn only_members_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let company = company();
    let served =
        served(folder.path(), &company.url(), "members = ['group:devs', 'carol']\nlist = true", "");
    svn(&served, ADA, READ).unwrap();
    assert!(svn(&served, BOB, READ).is_err());
    let page = |who| served.get("/svn/", &format!("Authorization: Basic {}\r\n", basic(who)));
    assert!(page(ADA).contains("repo") && page(BOB).starts_with("HTTP/1.1 403"), "{}", page(BOB));
}

#[test]
fn while_the_directory_is_down_those_who_were_in_stay_in() {
    let folder = tempfile::tempdir().unwrap();
    let mut company = company();
    let served = served(folder.path(), &company.url(), "", "cache = 0");
    svn(&served, ADA, READ_TRUNK).unwrap();
    company.kill();
    svn(&served, ADA, READ_TRUNK).unwrap();
    let said = svn(&served, BOB, READ).unwrap_err();
    assert!(said.contains("503") || said.contains("does not answer"), "{said}");
    assert!(svn(&served, ("ada", "wrong"), READ).is_err());
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let lines = log.lines().filter(|line| line.contains("Directory 'company'")).count();
    assert_eq!(lines, 1, "one line for the fault, not one for each request: {log}");
    // Nor does a reload of the configuration shut anyone out.
    reload(&served);
    svn(&served, ADA, READ_TRUNK).unwrap();
    company.start_again();
    company.hang(true);
    svn(&served, ADA, READ_TRUNK).unwrap();
    company.hang(false);
}

#[test]
fn tokens_end_with_their_user() {
    let folder = tempfile::tempdir().unwrap();
    let accounts = folder.path().join("accounts.toml");
    let user = |args: &[&str]| {
        let mut command = Programs::ours().command("sapwood");
        command.args(["user", "--accounts"]).arg(&accounts).args(args);
        let output = sapwood_testkit::Output::of(&mut command).expect_success(&format!("{args:?}"));
        output.stdout_text().trim_end().to_owned()
    };
    user(&["add", "ada", "--no-password"]);
    user(&["add", "carol", "--no-password"]);
    let tokens = [user(&["add-token", "ada", "t"]), user(&["add-token", "carol", "t"])];
    let mut company = company();
    let location = format!("accounts = '{}'", accounts.display());
    let served = served(folder.path(), &company.url(), &location, "cache = 0\nkeep = 0");
    let token = |name: &'static str, at: usize| (name, tokens[at].as_str());
    // The groups are the directory's.
    svn(&served, token("ada", 0), READ_TRUNK).unwrap();
    assert!(svn(&served, token("carol", 1), READ).is_err(), "the directory knows no Carol");
    company.change(&format!("dn: uid=ada,{SUFFIX}\nchangetype: delete\n\n"));
    assert!(svn(&served, token("ada", 0), READ).is_err());
}

#[test]
fn what_is_wrong_with_a_directory_is_said_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let check = |directory: &str, location: &str| {
        let config = folder.path().join("sapwood.toml");
        fs::create_dir_all(folder.path().join("repos")).unwrap();
        let text = format!(
            "[[location]]\nurl = '/svn'\nfolder = 'repos'\ndirectory = 'company'\n{location}\n[[directory]]\n\
             name = 'company'\nbase = 'dc=x'\n{directory}\n"
        );
        fs::write(&config, text).unwrap();
        let output = Programs::ours()
            .run("sapwood", ["serve", "--check", "--config", config.to_str().unwrap()]);
        (output.code, output.stdout_text() + &output.stderr_text())
    };
    for (directory, location, line, word) in [
        ("servers = ['ldap://dc.example.com']", "", 9, "without encryption"),
        ("servers = ['http://dc']", "", 9, "is no URL"),
        ("servers = ['ldap://127.0.0.1:1']\nuser-filter = '(uid={user}'", "", 10, "is no filter"),
        ("servers = ['ldap://127.0.0.1:1']\nbind-dn = 'cn=x'", "", 10, "bind-password-file"),
        ("servers = ['ldap://127.0.0.1:1']\nca = '/missing'", "", 10, "/missing"),
        ("servers = ['ldap://127.0.0.1:1']\npasswords = 1", "", 10, "passwords"),
        (
            "servers = ['ldap://127.0.0.1:1']\n[[directory]]\nname = 'company'\nbase = 'x'\nservers = ['ldap://localhost']",
            "",
            11,
            "another one",
        ),
    ] {
        let (code, said) = check(directory, location);
        assert!(code != 0 && said.contains(word) && said.contains(&format!(":{line}:")), "{said}");
    }
    let (code, said) = check("servers = ['ldap://127.0.0.1:1']", "");
    // A server may be down for a while: the check says so, and a start goes on.
    assert!(
        code == 1 && said.contains("warning: ") && said.contains("ldap://127.0.0.1:1"),
        "{said}"
    );
}
