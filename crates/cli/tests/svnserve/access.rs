//! Who may do what: passwords, blanket access and path-based rules, compared with the reference,
//! for every kind of user and every reading command.

use std::fs;

use sapwood_testkit::{Output, Pair, Programs, Repository, Server, Shape};

const PASSWD: &str = "[users]\nada = secret\nGrace = pa ss\nlinus =\n";

/// Writes the configuration of a repository.
fn configure(repo: &Repository, general: &str, authz: &str) {
    let conf = repo.path().join("conf");
    fs::write(conf.join("svnserve.conf"), format!("[general]\npassword-delay = 0\n{general}"))
        .unwrap();
    fs::write(conf.join("passwd"), PASSWD).unwrap();
    fs::write(conf.join("authz"), authz).unwrap();
}

const USERS: [&[&str]; 6] = [
    &[],
    &["--username", "ada", "--password", "secret"],
    &["--username", "grace", "--password", "pa ss"],
    &["--username", "linus", "--password", ""],
    &["--username", "ada", "--password", "wrong"],
    &["--username", "nobody", "--password", "x"],
];

/// The reading commands, each as a user.
fn read_all(pair: &mut Pair, user: &[&str]) {
    for args in [
        &["log", "-v", "%u"][..],
        &["log", "-q", "-g", "%u/trunk"],
        &["log", "-v", "%u/trunk/src"],
        &["ls", "-R", "%u"],
        &["ls", "%u/trunk/src"],
        &["info", "%u/trunk"],
        &["info", "%u/trunk/src/main.c"],
        &["cat", "%u/trunk/README"],
        &["cat", "%u/trunk/src/main.c"],
        &["blame", "%u/trunk/src/main.c"],
        &["proplist", "-v", "-R", "%u"],
        &["proplist", "-v", "--revprop", "-r", "2", "%u"],
        &["propget", "--show-inherited-props", "svn:ignore", "%u/trunk/src"],
        &["diff", "-r", "2:9", "%u"],
        &["diff", "--summarize", "-r", "5:30", "%u"],
        &["mergeinfo", "--show-revs", "merged", "%u/branches/b1", "%u/trunk"],
        &["mkdir", "-m", "no", "%u/new"],
    ] {
        let args: Vec<&str> = args.iter().chain(user).copied().collect();
        pair.svn_unordered(&args);
    }
    let checkout = [&["checkout", "-q", "%u", "wc"], user].concat();
    pair.svn_unordered(&checkout);
    pair.trees("checkout", "wc");
    pair.svn_unordered(&[&["update", "-q", "-r", "12", "wc"], user].concat());
    pair.trees("update", "wc");
    pair.remove("wc");
    pair.svn_unordered(&[&["export", "-q", "%u/trunk", "tree"], user].concat());
    pair.trees("export", "tree");
    pair.remove("tree");
    let dump = [&["dump", "-q", "%u"], user].concat();
    // svnrdump knows no rights: whatever it makes of them, it must make the same.
    pair.unordered("svnrdump", &dump);
}

#[test]
fn blanket_access() {
    let repo = Repository::scripted(&Shape::few()[0]);
    for general in [
        "anon-access = none\nauth-access = read\npassword-db = passwd\nrealm = A place\n",
        "anon-access = none\nauth-access = none\npassword-db = passwd\n",
        "anon-access = none\nauth-access = read\npassword-db = missing\n",
        "anon-access = none\n",
        "anon-access = nonsense\npassword-db = passwd\n",
        "[broken\n",
        "authz-db = missing\n",
        "password-db = passwd\nanon-access = none\nauth-access = read\nforce-username-case = upper\n",
    ] {
        configure(&repo, general, "");
        let mut pair = Pair::start(&repo, &["--read-only"]);
        for user in USERS {
            pair.svn(&[&["info", "%u"], user].concat());
            pair.svn(&[&["log", "-q", "-l", "2", "%u"], user].concat());
        }
        pair.finish();
    }
}

const RULES: &str = "\
[aliases]
adele = ada
[groups]
writers = ada, Grace
all = @writers, linus
[/]
* = r
[/trunk/src]
* =
&adele = rw
[/branches]
$anonymous =
$authenticated = r
[/branches/b1]
~@writers =
[:glob:/**/*.txt]
linus =
[repo:/tags]
@all = r
* =
[other:/]
* = rw
";

#[test]
fn rules_hide_the_same_paths() {
    for (shape, authz) in
        Shape::few().iter().zip([RULES, "[/]\n* =\nada = r\n[/trunk]\nGrace = r\n"])
    {
        let repo = Repository::scripted(shape);
        configure(&repo, "anon-access = read\npassword-db = passwd\nauthz-db = authz\n", authz);
        let mut pair = Pair::start(&repo, &["--read-only"]);
        for user in &USERS[..4] {
            read_all(&mut pair, user);
        }
        pair.finish();
    }
}

#[test]
fn rules_in_other_places() {
    let repo = Repository::scripted(&Shape::few()[0]);
    fs::write(repo.parent().join("groups"), "[groups]\nteam = ada\n").unwrap();
    let groups = repo.parent().join("groups");
    let groups = groups.to_str().unwrap();
    for (general, authz) in [
        (
            format!("anon-access = none\npassword-db = passwd\nauthz-db = authz\ngroups-db = {groups}\n"),
            "[/]\n@team = r\n",
        ),
        ("anon-access = none\npassword-db = passwd\nauthz-db = authz\n".to_owned(), "[/]\n@nogroup = r\n"),
        ("authz-db = ^/trunk/README\n".to_owned(), ""),
        ("authz-db = ^/no/such/file\n".to_owned(), ""),
        (
            "anon-access = none\npassword-db = passwd\nauthz-db = authz\nforce-username-case = lower\n"
                .to_owned(),
            "[/]\ngrace = r\n",
        ),
    ] {
        configure(&repo, &general, authz);
        let mut pair = Pair::start(&repo, &["--read-only"]);
        for user in USERS {
            pair.svn_unordered(&[&["ls", "%u"], user].concat());
        }
        pair.finish();
    }
}

#[test]
fn a_file_for_all_repositories() {
    let repo = Repository::scripted(&Shape::few()[0]);
    let conf = repo.parent().join("server.conf");
    fs::write(&conf, "[general]\nanon-access = none\npassword-db = users\nrealm = Everywhere\n")
        .unwrap();
    fs::write(repo.parent().join("users"), PASSWD).unwrap();
    let mut pair = Pair::start(&repo, &["--config-file", conf.to_str().unwrap(), "--read-only"]);
    for user in USERS {
        pair.svn(&[&["log", "-q", "-l", "2", "%u"], user].concat());
    }
    pair.finish();
}

#[test]
fn a_tunnel_needs_no_password() {
    let repo = Repository::scripted(&Shape::few()[0]);
    configure(
        &repo,
        "anon-access = none\nauth-access = read\nauthz-db = authz\n",
        "[/]\nada = r\n",
    );
    let run = |side: &Programs, user: &str, folder: &str| -> Output {
        let server = side.path("svnserve");
        let tunnel = format!(
            "config:tunnels:here={} --tunnel --tunnel-user {user} --read-only --root {}",
            server.display(),
            repo.parent().display(),
        );
        // The client adds the host and `svnserve -t` to the command: `env` takes them.
        let tunnel = tunnel.replace("config:tunnels:here=", "config:tunnels:here=sh -c '") + "' sh";
        Programs::reference().run(
            "svn",
            [
                "log",
                "-v",
                "--non-interactive",
                "--config-option",
                &tunnel,
                &format!("svn+here://x/{folder}"),
            ],
        )
    };
    for user in ["ada", "linus"] {
        let reference = run(&Programs::reference(), user, "repo/trunk");
        let ours = run(&Programs::ours(), user, "repo/trunk");
        assert_eq!(reference.unordered(), ours.unordered(), "{user}");
        assert_eq!(ours.code == 0, user == "ada", "{ours:?}");
    }
}

/// Wrong passwords are logged for programs like fail2ban, and answered late from the seventh on;
/// the right one is taken at once.
#[test]
fn wrong_passwords_are_logged_and_answered_late() {
    let repo = Repository::scripted(&Shape::new("1.10"));
    let conf = repo.path().join("conf");
    let general = "[general]\nanon-access = none\npassword-db = passwd\n";
    fs::write(conf.join("svnserve.conf"), general).unwrap();
    fs::write(conf.join("passwd"), PASSWD).unwrap();
    let log = repo.parent().join("log");
    let ours = Programs::ours();
    let server = Server::start(&ours, repo.parent(), &["--log-file", log.to_str().unwrap()]);
    let url = server.url("repo");
    let ls = |user: &str, password: &str| {
        // With the library of a keyring on the machine it would try three times.
        let stores = ["--config-option", "config:auth:password-stores=gpg-agent"];
        let args = ["ls", "--non-interactive", "--no-auth-cache", "--username", user];
        let args = stores.into_iter().chain(args).chain(["--password", password, &url]);
        Programs::reference().run("svn", args)
    };
    for (user, password) in [("ada", "wrong"), ("ADA", "x"), ("no one", "x"), ("ada", "y")] {
        let output = ls(user, password);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr_text().contains("E170001"), "{output:?}");
    }
    ls("ada", "secret").expect_success("the right password");
    let log = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("Authentication Failed")).collect();
    // What SECURITY.md gives fail2ban to match.
    let names = ["ada", "ADA", "no%20one", "ada"];
    // The reference's client tries twice.
    for (at, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        assert_eq!(words[2..5], ["127.0.0.1", "-", "repo"], "{line}");
        let (name, failures) = (names[at / 2], at + 1);
        let want = format!("Authentication Failed CRAM-MD5 user={name} failures={failures}");
        assert_eq!(words[5], want, "{line}");
    }
    assert_eq!(lines.len(), 8, "{log}");
}
