//! The client's commands over trees whose names need escapes, against httpd, which escapes in its own way:
//! both clients say the same. Each works in a repository of its own.

use crate::common::httpd;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use httpd::Httpd;
use sapwood_testkit::server::free_port;
use sapwood_testkit::{Programs, long};

/// Names of folders and files.
const NAMES: &[&str] = &[
    "ü", "[", "]x", "{", "#{", "%", "#", "?", "+", "&", "a b", ";", "😀", "%20", "%C3%BC",
    "%c3%bc", "~", "'", "\"", "`", "^", "|", "=", ",", "!", "$", "*", "(", ":", "é", "e\u{301}",
    "日本", "<",
];

/// Commands, one after the other: `N` is the name, escaped as in URLs, `Q` quoted for the shell, `U` the
/// URL of the repository.
const COMMANDS: &[&str] = &[
    "svn proplist -R U/N",
    "svn proplist -vR U",
    "svn propget -R p U/N",
    "svn propget p U/N/N --show-inherited-props",
    "svn info -R --show-item url U/N",
    "svn info -R --show-item kind U",
    "svn list -R U/N",
    "svn list -v U/N/N | wc -l",
    "svn diff --summarize U/N@1 U/N@2",
    "svn diff --summarize U/N/N U/other/N",
    "svn diff U/N@1 U/N@2",
    "svn diff -r 1:2 U/N/N/file",
    "svn cat U/N/N/file",
    "svn blame -v U/N/N/file | cut -c1-30",
    "svn log -qv U/N/N | grep -v '^r'",
    "svn mergeinfo --show-revs eligible U/N U/other",
    "svn checkout -q U wc && find wc -path '*/.svn' -prune -o -print | sort",
    "svn export -q U/N out && find out | sort && rm -r out",
    "cd wc && svn update -r 1 && svn update",
    "cd wc && echo more >>./Q/Q/file && svn propset -q p new ./Q/Q@ && svn commit -m m",
    "cd wc && svn update && svn lock ./Q/Q/file@ && svn info ./Q/Q/file@ | grep '^Lock Owner'",
    "svn status -u wc | grep -v '^Status'",
    "cd wc && svn unlock ./Q/Q/file@",
    "svn lock U/N/Q2",
    "svn mkdir -m m U/N/new U/N/N/N",
    "svn copy -m m U/N/N U/N/copy",
    "svn move -m m U/N/copy U/N/N/moved",
    "svn delete -m m U/N/N/moved U/N/new",
    "svn propset -q --revprop -r 1 q v U && svn propget --revprop -r 1 q U",
    "cd wc && svn update && svn switch --ignore-ancestry U/N/N ./Q@ && svn switch --ignore-ancestry U/N ./Q@",
    "cd wc && svn merge U/N other && svn revert -qR other",
    "svn import -q -m m wc/other U/N/imported && svn list -R U/N/imported",
    "svnmucc -m m -U U propset p v N rm N/imported >said; cut -c1-3 said",
    "svnrdump dump -q U/N | grep -a '^Node-path'",
];

fn escaped(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => text.push(char::from(byte)),
            false => write!(text, "%{byte:02X}").unwrap(),
        }
    }
    text
}

fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "'\\''"))
}

fn shell(programs: &Programs, folder: &Path, line: &str) -> String {
    let path = format!("{}:/usr/bin:/bin", programs.dir().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).stdin(Stdio::null()).env_clear();
    shell.env("PATH", path).env("HOME", folder).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    shell.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
    let output = shell.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}{:?}\n", text(&output.stdout), text(&output.stderr), output.status.code())
}

/// Two revisions of a tree with a name in each of its levels.
fn make(folder: &Path, repo: &str, name: &str) {
    let (q, repo) = (quoted(name), quoted(repo));
    let line = format!(
        "set -e; svnadmin create {repo}; R=file://$PWD/{}; mkdir tree; cd tree
         mkdir -p ./{q}/{q} other/{q}; echo one >./{q}/{q}/file; echo one >other/{q}/file
         svn import -q --no-ignore -m 1 . $R; cd ..; rm -r tree; svn co -q $R w; cd w
         echo two >>./{q}/{q}/file; echo x >./{q}/Q2; svn add -q ./{q}/Q2
         svn propset -q p v ./{q}@ ./{q}/{q}@ ./{q}/{q}/file@
         svn ci -q -m 2; cd ..; rm -rf w
         printf '#!/bin/sh\\n' >{repo}/hooks/pre-revprop-change
         chmod +x {repo}/hooks/pre-revprop-change",
        escaped(repo.trim_matches('\''))
    );
    let said = shell(&Programs::reference(), folder, &line);
    assert!(said.ends_with("Some(0)\n"), "{name}: {said}");
}

/// Runs all commands with both clients, in repositories below `/root`, and compares.
fn compare(names: &[&str], repositories: &[(&str, &str)], directives: &str) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let (root, twin) = (folder.join("root1"), folder.join("root2"));
    std::fs::create_dir(&root).unwrap();
    let called = |at: usize| format!("{}{at}", repositories[at].0);
    for (at, (_, name)) in repositories.iter().enumerate() {
        make(&root, &called(at), name);
    }
    let copied = Command::new("cp").arg("-a").arg(&root).arg(&twin).status();
    assert!(copied.unwrap().success());
    assert_eq!(names.len(), repositories.len());
    let port = free_port();
    std::fs::write(folder.join("users"), "ada:{SHA}hvfkN/qlp/zhXR3cuerq6jd2Z7g=\n").unwrap();
    let mut conf = httpd::configuration(folder, port, &[]) + "SVNUseUTF8 on\n";
    for number in [1, 2] {
        conf += &format!(
            "<Location /svn{number}>\nDAV svn\nSVNParentPath {at}/root{number}\n{directives}\n\
             AuthType Basic\nAuthName R\nAuthUserFile {at}/users\nRequire valid-user\n</Location>\n",
            at = folder.display(),
        );
    }
    httpd::hand_over(folder);
    let _httpd = Httpd::start(folder, port, &conf);
    let login = "--username=ada --password=a --no-auth-cache --non-interactive";
    let mut told = String::new();
    for (at, (_, name)) in repositories.iter().enumerate() {
        let homes = [folder.join(format!("home1-{at}")), folder.join(format!("home2-{at}"))];
        homes.iter().for_each(|home| std::fs::create_dir(home).unwrap());
        for command in COMMANDS {
            let run = |programs: &Programs, number: u8, home: &Path| {
                let url = format!("http://127.0.0.1:{port}/svn{number}/{}", escaped(&called(at)));
                let mut line = String::new();
                for word in command.split(' ') {
                    let word = match word {
                        "N" => escaped(name),
                        word => word.replace("/N", &format!("/{}", escaped(name))),
                    };
                    let word = word.replace("N/", &format!("{}/", escaped(name)));
                    let word = word
                        .replace("/Q2", "/@2@")
                        .replace('Q', &quoted(name))
                        .replace("/@2@", "/Q2");
                    let word = if word == "U" || word.starts_with("U/") {
                        word.replacen('U', &url, 1)
                    } else {
                        word
                    };
                    write!(line, "{word} ").unwrap();
                    if ["svn", "svnmucc", "svnrdump"].contains(&word.as_str()) {
                        // Options after the subcommand.
                        write!(line, "{} ", if word == "svnrdump" { "" } else { login }).unwrap();
                    }
                }
                if command.starts_with("svnrdump") {
                    line = line.replacen("dump -q", &format!("dump -q {login}"), 1);
                }
                let said = shell(programs, home, &line);
                let said = said.replace(&format!("/svn{number}/"), "/svn/");
                let mut lines: Vec<&str> = said.lines().collect();
                lines.sort_unstable();
                lines.join("\n").replace(&home.display().to_string(), "HOME")
            };
            let wanted = run(&Programs::reference(), 1, &homes[0]);
            let found = run(&Programs::ours(), 2, &homes[1]);
            if wanted != found {
                writeln!(told, "{name}: {command}\n1.14:\n{wanted}\nours:\n{found}").unwrap();
            }
        }
    }
    assert!(told.is_empty(), "{told}");
}

fn plain(names: &[&'static str]) -> Vec<(&'static str, &'static str)> {
    names.iter().map(|name| ("r", *name)).collect()
}

#[test]
fn names_of_folders() {
    // Each costs two seconds.
    let step = if long() { 1 } else { 3 };
    let names: Vec<&str> = NAMES.iter().copied().step_by(step).collect();
    compare(&names, &plain(&names), "");
}

#[test]
fn over_deltav_and_without_bulk_updates() {
    let names = ["ü", "[", "%20", "#{"];
    compare(&names, &plain(&names), "SVNAdvertiseV2Protocol off\nSVNAllowBulkUpdates Off");
}

#[test]
fn names_of_repositories() {
    let repositories =
        [("rü", "ü"), ("r[", "["), ("r{x}", "a b"), ("r x", "~"), ("r%20", "%20"), ("r#", "a")];
    compare(&repositories.map(|(_, name)| name), &repositories, "");
}
