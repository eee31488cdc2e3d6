//! Locks beside the reference: both sides do the same to a copy of one repository, and must say
//! and leave behind the same. Then each side meets the other's locks.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Programs, Repository, Shape};

const TOKEN: &str = "opaquelocktoken:";
const DATE: &str = "2026-11-21T23:50:59.123456Z";

/// One side: its programs and its copy of the repository.
struct Side {
    programs: Programs,
    /// Holds the folder `repo`.
    root: tempfile::TempDir,
}

impl Side {
    fn repo(&self) -> PathBuf {
        self.root.path().join("repo")
    }

    /// What is the same for both sides: without the folder, new tokens and times.
    fn normal(&self, text: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(text).into_owned();
        let text = text.replace(self.root.path().to_str().unwrap(), "/ROOT");
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let uuid = rest.strip_prefix(TOKEN).and_then(|r| r.get(..36));
            if let Some(uuid) = uuid.filter(|u| u.bytes().filter(|b| *b == b'-').count() == 4) {
                out.push_str("TOKEN");
                rest = &rest[TOKEN.len() + uuid.len()..];
            } else if let Some(date) = rest.get(..DATE.len()).filter(|d| is_date(d)) {
                out.push_str("DATE");
                rest = &rest[date.len()..];
            } else {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        out.into_bytes()
    }

    fn run(&self, program: &str, args: &[&str]) -> Output {
        let repo = self.repo();
        let args = args.iter().map(|a| a.replace("%r", repo.to_str().unwrap()));
        let mut command = self.programs.command(program);
        let mut output = Output::of(command.args(args).current_dir(self.root.path()));
        output.stdout = self.normal(&output.stdout);
        output.stderr = self.normal(&output.stderr);
        output.without_lines("Created: ")
    }

    /// What a server that was started for `user` through a tunnel, or for none (an empty name)
    /// over a connection, replies to all of `requests`.
    fn talk(&self, user: &str, requests: &str) -> Vec<u8> {
        let (mode, mechanism) = match user {
            "" => (&["-i"][..], "ANONYMOUS"),
            user => (&["-t", "--tunnel-user", user][..], "EXTERNAL"),
        };
        let mut child = self
            .programs
            .command("svnserve")
            .args(mode)
            .arg("--log-file")
            .arg(self.root.path().join("log"))
            .arg("--root")
            .arg(self.root.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let greeting = "( 2 ( edit-pipeline svndiff1 depth mergeinfo log-revprops ) \
                        21:svn://localhost/repo/ 10:SVN/1.14.2 ( ) )";
        let all = format!("{greeting} ( {mechanism} ( 0: ) ) {requests}");
        input.write_all(all.as_bytes()).unwrap();
        drop(input);
        self.normal(&child.wait_with_output().unwrap().stdout)
    }

    /// All digest files, with permissions.
    fn lock_files(&self) -> BTreeMap<PathBuf, (u32, Vec<String>)> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.repo().join("db/locks")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let mode = fs::metadata(&path).unwrap().permissions().mode();
                let name = path.strip_prefix(self.root.path()).unwrap().to_owned();
                if path.is_dir() {
                    files.insert(name, (mode, Vec::new()));
                    folders.push(path);
                } else {
                    let text = self.normal(&fs::read(&path).unwrap());
                    let text = String::from_utf8(text).unwrap();
                    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                    // Children are in no particular order.
                    if lines.first().is_some_and(|_| text.starts_with("K 8\nchildren\n")) {
                        lines.sort();
                    }
                    files.insert(name, (mode, lines));
                }
            }
        }
        files
    }
}

fn is_date(text: &str) -> bool {
    text.bytes()
        .zip(DATE.bytes())
        .all(|(a, b)| a == b || (a.is_ascii_digit() && b.is_ascii_digit()))
}

/// Both sides.
struct Sides {
    sides: [Side; 2],
}

impl Sides {
    fn new() -> Self {
        let original = Repository::scripted(&Shape::new("1.14"));
        let sides = [Programs::reference(), Programs::ours()].map(|programs| {
            let root = tempfile::tempdir().unwrap();
            let copied = Command::new("cp")
                .arg("-a")
                .arg(original.path())
                .arg(root.path().join("repo"))
                .status();
            assert!(copied.unwrap().success());
            fs::write(root.path().join("comment"), "two\nlines").unwrap();
            fs::write(root.path().join("bad-comment"), "a\x01b").unwrap();
            Side { programs, root }
        });
        Self { sides }
    }

    #[track_caller]
    fn same(&self, program: &str, args: &[&str]) -> Output {
        let [reference, ours] = [0, 1].map(|n| self.sides[n].run(program, args));
        assert_same(&format!("{program} {}", args.join(" ")), &reference, &ours);
        ours
    }

    #[track_caller]
    fn same_talk(&self, user: &str, requests: &str) -> String {
        let [reference, ours] =
            [0, 1].map(|n| String::from_utf8(self.sides[n].talk(user, requests)).unwrap());
        assert_eq!(reference, ours, "{requests}");
        ours
    }

    /// Both have the same digest files.
    #[track_caller]
    fn same_files(&self) {
        assert_eq!(self.sides[0].lock_files(), self.sides[1].lock_files());
    }

    /// Writes a hook that notes its arguments and input in the file `hooks`, then runs `then`.
    fn hook(&self, name: &str, then: &str) {
        for side in &self.sides {
            let path = side.repo().join("hooks").join(name);
            let notes = side.root.path().join("hooks");
            let text = format!(
                "#!/bin/sh\n{{ echo \"$(/usr/bin/basename $0) $# $*\"; /bin/cat; /usr/bin/env | \
                 /bin/grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD=; }} >>{}\n{then}\n",
                notes.display()
            );
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[track_caller]
    fn same_notes(&self, name: &str, from: &str, in_order: bool) -> String {
        let [reference, ours] = [0, 1].map(|n| {
            let side = &self.sides[n];
            let text = side.normal(&fs::read(side.root.path().join(name)).unwrap());
            let text = String::from_utf8(text).unwrap();
            // Process numbers are no contract, nor are the places in the reference's source and
            // the order of several paths.
            let lines = text.lines().map(|line| {
                let line = line.find(from).and_then(|at| line.get(at..)).unwrap_or(line);
                let Some((head, rest)) = line.split_once("lock (") else { return line.to_owned() };
                let (paths, rest) = rest.split_once(')').unwrap_or_default();
                let mut paths: Vec<&str> = paths.split(' ').collect();
                paths.sort_unstable();
                format!("{head}lock ({}){rest}", paths.join(" "))
            });
            let mut lines: Vec<_> = lines.filter(|line| !line.contains(" ERR")).collect();
            if !in_order {
                // Nor is the order in which several paths of one request are looked at.
                lines.sort();
            }
            lines.join("\n")
        });
        assert_eq!(reference, ours);
        ours
    }
}

#[test]
fn svnadmin_locks_as_the_reference() {
    let both = Sides::new();
    let token = |n: u8| format!("{TOKEN}00000000-0000-0000-0000-00000000000{n}");
    let (first, second) = (token(1), token(2));
    for args in [
        &["lock", "%r", "/trunk/README", "ann", "comment", &first][..],
        &["lock", "%r", "/trunk/README", "ann", "comment"],
        &["lock", "%r", "trunk//README/", "bob", "comment"],
        &["lock", "%r", "/trunk/src/main.c", "bob", "comment", &second, "more"],
        &["lock", "%r", "/trunk/src/main.c", "bob"],
        &["lock", "%r", "/trunk/src/main.c", "bob", "comment", &second],
        &["lslocks", "%r", "/trunk/README"],
        &["lock", "%r", "/trunk", "bob", "comment"],
        &["lock", "%r", "/nowhere", "bob", "comment"],
        &["lock", "%r", "/trunk/README/below", "bob", "comment"],
        &["lock", "%r", "/trunk/100% sure", "bob", "no-such-file"],
        &["lock", "%r", "/trunk/100% sure", "bob", "bad-comment"],
        &["lock", "%r", "/trunk/100% sure", "bob", "comment", "token"],
        &["lock", "%r", "/trunk/100% sure", "bob", "comment", "opaquelocktoken"],
        &["lock", "%r", "/trunk/100% sure", "bob", "comment", "opaquelocktoken:a\tb"],
        &["lock", "%r", "/trunk/100% sure", "bob", "file:///comment"],
        &["lock", "-q", "%r", "/trunk/100% sure", "bob", "comment", "opaquelocktoken:x"],
        &["unlock", "%r", "/trunk/100% sure", "bob", "opaquelocktoken:y"],
        &["unlock", "%r", "/trunk/100% sure", "ann", "opaquelocktoken:x"],
        &["unlock", "%r", "/trunk", "ann", "opaquelocktoken:x"],
        &["unlock", "%r", "/nowhere", "ann", "opaquelocktoken:x"],
        &["unlock", "%r", "/trunk/100% sure", "bob"],
        &["unlock", "-q", "%r", "/trunk/100% sure", "bob", "opaquelocktoken:x"],
        &["lslocks", "%r", "/trunk/100% sure"],
        &["rmlocks", "%r"],
        &["rmlocks", "%r", "/trunk/100% sure", "trunk/README", "/nowhere", "/trunk"],
        &["lslocks", "%r"],
        &["rmlocks", "-q", "%r", "/trunk/src/main.c", "/trunk/src/main.c"],
    ] {
        both.same("svnadmin", args);
        both.same_files();
    }
    for side in &both.sides {
        let files = side.lock_files().into_values().filter(|(_, lines)| !lines.is_empty()).count();
        assert_eq!(files, 0, "a repository without locks has no digest files");
    }
}

#[test]
fn hooks_hear_the_same() {
    let both = Sides::new();
    for (hook, then) in [
        ("pre-lock", "echo chatter >&2; printf opaquelocktoken:made-by-hook"),
        ("post-lock", "exit 0"),
        ("pre-unlock", "exit 0"),
        ("post-unlock", "exit 0"),
    ] {
        both.hook(hook, then);
    }
    let lock = ["lock", "%r", "/trunk/README", "ann", "comment"];
    let unlock = ["unlock", "%r", "/trunk/README", "ann", "opaquelocktoken:made-by-hook"];
    both.same("svnadmin", &lock);
    both.same("svnadmin", &["lslocks", "%r", "/trunk/README"]);
    both.same("svnadmin", &unlock);
    // One after the other is in the way.
    for (hook, then, back) in [
        ("pre-lock", "echo no >&2; exit 1", "printf opaquelocktoken:made-by-hook"),
        ("pre-lock", "echo opaquelocktoken:with-a-line-end", "printf opaquelocktoken:made-by-hook"),
        ("post-lock", "echo late >&2; exit 3", "exit 0"),
        ("pre-unlock", "exit 1", "exit 0"),
        ("post-unlock", "echo late >&2; exit 3", "exit 0"),
    ] {
        both.hook(hook, then);
        both.same("svnadmin", &lock);
        both.same("svnadmin", &unlock);
        both.hook(hook, back);
        both.same("svnadmin", &unlock);
        both.same_files();
    }
    both.same(
        "svnadmin",
        &["lock", "--bypass-hooks", "%r", "/trunk/README", "ann", "comment", "opaquelocktoken:a"],
    );
    both.same(
        "svnadmin",
        &["unlock", "--bypass-hooks", "%r", "/trunk/README", "ann", "opaquelocktoken:a"],
    );
    let notes = both.same_notes("hooks", "", true);
    assert!(notes.contains("pre-lock 5 /ROOT/repo /trunk/README ann two\nlines 0\n"), "{notes}");
    for side in &both.sides {
        fs::remove_file(side.root.path().join("hooks")).unwrap();
    }
    // Through the server, with an environment, several at once and broken.
    for side in &both.sides {
        let conf = side.repo().join("conf/hooks-env");
        fs::write(conf, "[default]\nA = b\n[post-lock]\nC = d\n").unwrap();
    }
    both.hook("pre-lock", "case $2 in */README) exit 1;; esac");
    both.same_talk(
        "ann",
        "( lock-many ( ( 3:why ) true ( ( 16:trunk/src/main.c ( ) ) ( 12:trunk/README ( ) ) ) ) ) ",
    );
    both.same_talk("bob", "( unlock-many ( true ( ( 16:trunk/src/main.c ( ) ) ) ) ) ");
    let notes = both.same_notes("hooks", "", false);
    for line in ["A=b", "C=d", "post-lock 2 /ROOT/repo ann", "post-unlock 2 /ROOT/repo bob"] {
        assert!(notes.lines().any(|l| l == line), "{notes}");
    }
}

#[test]
fn the_server_replies_the_same() {
    let both = Sides::new();
    for requests in [
        "( lock ( 12:trunk/README ( 3:why ) false ( ) ) ) ( get-lock ( 12:trunk/README ) ) ",
        "( lock ( 12:trunk/README ( ) false ( ) ) ) ( lock ( 12:trunk/README ( ) true ( ) ) ) ",
        "( lock ( 5:trunk ( ) false ( ) ) ) ( lock ( 1:x ( ) false ( ) ) ) ( lock ( 1:x ( ) false ( 1 ) ) ) ",
        "( lock ( 15:trunk/100% sure ( 1:\x01 ) false ( ) ) ) ( get-latest-rev ( ) ) ",
        "( lock ( 15:trunk/100% sure ( ) false ( 99999 ) ) ) ( lock ( 16:trunk/src/main.c ( ) false ( 1 ) ) ) ",
        "( lock-many ( ( 1:c ) false ( ( 12:trunk/README ( ) ) ( 15:trunk/100% sure ( ) ) ( 1:x ( ) ) \
         ( 16:/trunk/100% sure ( ) ) ) ) ) ",
        "( lock-many ( ( ) false ( ) ) ) ( unlock-many ( false ( ) ) ) ( unlock-many ( true ( ) ) ) ",
        "( get-locks ( 12:trunk/README ) ) ( get-locks ( 9:trunk/src ( 5:empty ) ) ) ",
        "( unlock ( 12:trunk/README ( ) false ) ) ( unlock ( 12:trunk/README ( 1:x ) false ) ) ",
        "( unlock ( 1:x ( ) true ) ) ( unlock ( 12:trunk/README ( ) true ) ) ",
        "( unlock-many ( false ( ( 15:trunk/100% sure ( 1:x ) ) ( 1:x ( ) ) ) ) ) ",
        "( unlock-many ( true ( ( 16:trunk/100% sure/ ( 1:x ) ) ( 1:x ( ) ) ) ) ) ",
        "( lock-many ( ( ) false ( 1:x ) ) ) ",
        "( unlock-many ( false ( 1:x ) ) ) ",
        "( lock ( ) ) ",
    ] {
        both.same_talk("ann", requests);
        both.same_files();
    }
    let log = both.same_notes("log", " - ", false);
    assert!(log.contains("lock (/trunk/README) steal"), "{log}");
}

#[test]
fn rights_are_those_of_the_reference() {
    let both = Sides::new();
    let requests = [
        "( lock ( 12:trunk/README ( ) false ( ) ) ) ",
        "( lock ( 16:trunk/src/main.c ( ) false ( ) ) ) ",
        "( lock-many ( ( ) true ( ( 12:trunk/README ( ) ) ( 16:trunk/src/main.c ( ) ) ( 1:x ( ) ) ) ) ) ",
        "( get-lock ( 12:trunk/README ) ) ( get-lock ( 16:trunk/src/main.c ) ) ",
        "( get-locks ( 9:trunk/src ) ) ( get-locks ( 12:trunk/README ) ) ",
        "( unlock ( 12:trunk/README ( ) true ) ) ",
        "( unlock ( 16:trunk/src/main.c ( 1:x ) false ) ) ",
        "( unlock-many ( true ( ( 12:trunk/README ( ) ) ( 16:trunk/src/main.c ( ) ) ) ) ) ",
        "( unlock-many ( false ( ( 12:trunk/README ( ) ) ( 16:trunk/src/main.c ( ) ) ) ) ) ",
    ];
    let token = "opaquelocktoken:a";
    both.same("svnadmin", &["lock", "%r", "/trunk/README", "ann", "comment", token]);
    for general in [
        "authz-db = authz\n",
        "anon-access = write\n",
        "anon-access = write\nauth-access = read\n",
        "anon-access = none\nauth-access = read\n",
    ] {
        for side in &both.sides {
            let conf = side.repo().join("conf");
            fs::write(conf.join("svnserve.conf"), format!("[general]\n{general}")).unwrap();
            let rules = "[/]\n* = r\n[/trunk/src]\nann = rw\nbob =\n";
            fs::write(conf.join("authz"), rules).unwrap();
        }
        for user in ["ann", "bob", ""] {
            for request in requests {
                // Who is asked to authenticate and cannot has nothing more to say.
                both.same_talk(user, request);
                both.same_files();
            }
            let shown = commit(token, false);
            both.same_talk(user, &format!("{shown}( abort-edit ( ) ) "));
        }
    }
    both.same_notes("log", " - ", false);
}

/// A commit of a property of `/trunk/README` that shows a token.
fn commit(token: &str, keep: bool) -> String {
    format!(
        "( commit ( 1:m ( ( 12:trunk/README {}:{token} ) ) {keep} ( ( 7:svn:log 1:m ) ) ) ) \
         ( open-root ( ( ) 2:d0 ) ) ( open-dir ( 5:trunk 2:d0 2:d1 ( ) ) ) \
         ( open-file ( 12:trunk/README 2:d1 2:c2 ( ) ) ) \
         ( change-file-prop ( 2:c2 1:p ( 1:v ) ) ) ( close-file ( 2:c2 ( ) ) ) \
         ( close-dir ( 2:d1 ) ) ( close-dir ( 2:d0 ) ) ( close-edit ( ) ) ",
        token.len()
    )
}

#[test]
fn commits_need_tokens_and_release_locks() {
    let both = Sides::new();
    let token = "opaquelocktoken:a";
    both.same("svnadmin", &["lock", "%r", "/trunk/README", "ann", "comment", token]);
    let get = "( get-lock ( 12:trunk/README ) ) ";
    for (user, shown, keep) in [
        ("bob", token, false),
        ("ann", "opaquelocktoken:b", true),
        ("ann", token, true),
        ("ann", token, false),
    ] {
        // A failed edit is ended by the client.
        let end = if user == "ann" && shown == token { "" } else { "( abort-edit ( ) ) " };
        both.same_talk(user, &format!("{}{end}{get}", commit(shown, keep)));
        both.same_files();
    }
    let log = both.same_notes("log", " - ", false);
    assert!(!log.contains("unlock"), "releasing is no request: {log}");
    for side in &both.sides {
        assert!(
            !side.run("svnlook", &["lock", "%r", "/trunk/README"]).stdout_text().contains("Owner")
        );
    }
}

#[test]
fn damaged_files_are_told_as_by_the_reference() {
    let both = Sides::new();
    let token = "opaquelocktoken:a";
    both.same("svnadmin", &["lock", "%r", "/trunk/README", "ann", "comment", token]);
    let digest = sapwood_fsfs_format::lockfile::digest_of("/trunk/README").to_hex();
    let files = both.sides.each_ref().map(|side| {
        let path = side.repo().join("db/locks").join(&digest[..3]).join(&digest);
        let text = fs::read_to_string(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        (path, text)
    });
    for (from, to) in [
        ("K 5\n", "K 6\n"),
        ("owner", "Owner"),
        ("is_dav_comment", "is_dav_Comment"),
        ("creation_date\nV 27\n2", "creation_date\nV 27\nx"),
        ("END", "EN"),
        ("K 7\ncomment", ""),
    ] {
        for args in [
            &["svnlook", "lock", "%r", "/trunk/README"][..],
            &["svnadmin", "lslocks", "%r"],
            &["svnadmin", "rmlocks", "%r", "/trunk/README"],
            &["svnadmin", "lock", "%r", "/trunk/README", "ann", "comment"],
            &["svnadmin", "unlock", "%r", "/trunk/README", "ann", token],
        ] {
            for (path, text) in &files {
                fs::write(path, text.replacen(from, to, 1)).unwrap();
            }
            both.same(args[0], &args[1..]);
        }
    }
}

#[test]
fn each_sees_and_removes_the_others_locks() {
    let both = Sides::new();
    let repo = both.sides[0].repo();
    let [reference, ours] = [Programs::reference(), Programs::ours()];
    let run = |programs: &Programs, args: &[&str]| {
        let args = args.iter().map(|a| a.replace("%r", repo.to_str().unwrap()));
        Output::of(programs.command("svnadmin").args(args).current_dir(both.sides[0].root.path()))
    };
    let locked = |path: &Path| path.read_dir().is_ok_and(|mut files| files.next().is_some());
    for (one, other) in [(&reference, &ours), (&ours, &reference)] {
        for (n, path) in
            ["/trunk/README", "/trunk/src/main.c", "/trunk/100% sure"].iter().enumerate()
        {
            let token = format!("opaquelocktoken:{n}");
            run(one, &["lock", "%r", path, "ann", "comment", &token]).expect_success("lock");
            let refused = run(other, &["lock", "%r", path, "bob", "comment", "opaquelocktoken:x"]);
            assert!(refused.stderr_text().contains("E160035"), "{}", refused.stderr_text());
        }
        let seen = run(other, &["lslocks", "%r", "/"]).stdout_text();
        assert_eq!(seen.matches("Owner: ann").count(), 3, "{seen}");
        run(other, &["unlock", "%r", "/trunk/README", "ann", "opaquelocktoken:0"])
            .expect_success("unlock");
        run(other, &["rmlocks", "%r", "/trunk/src/main.c"]).expect_success("rmlocks");
        run(one, &["unlock", "%r", "/trunk/100% sure", "ann", "opaquelocktoken:2"])
            .expect_success("unlock");
        let folders = repo.join("db/locks").read_dir().unwrap();
        assert!(!folders.map(|f| f.unwrap().path()).any(|f| locked(&f)), "digest files are left");
    }
}
