//! Texts of old repositories that are not UTF-8, as both clients show them, over `file:`, svn:// and http.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sapwood_testkit::Programs;
use sapwood_testkit::server::{Server, free_port};

use crate::common::places;

/// A repository whose message, author, properties and lock comment have bytes of ISO 8859-1.
const MAKE: &str = "set -e; svnadmin create repo; R=file://$PWD/repo
    svn mkdir -q -m first $R/d; echo text >f; svn import -q -m second f $R/f
    printf '#!/bin/sh\\n' >repo/hooks/pre-revprop-change; chmod +x repo/hooks/pre-revprop-change
    printf '[general]\\nanon-access = write\\n' >repo/conf/svnserve.conf
    printf 'v\\344lue\\n' >value
    printf 'K 10\\nsvn:author\\nV 4\\nJ\\366rg\\nK 8\\nsvn:date\\nV 27\\n2020-02-02T02:02:02.000000Z\\nK 3\\nown\\nV 6\\n' >p
    cat value >>p; printf '\\nK 7\\nsvn:log\\nV 8\\nbl\\345b \\303\\274\\n\\nEND\\n' >>p
    chmod u+w repo/db/revprops/0/2; cp p repo/db/revprops/0/2
    svn checkout -q $R wc; svn propset -q own -F value wc/f; svn ci -q -m third wc";

/// `U` is the URL of the repository. (blame writes the bytes of authors as they are, cut after ten.)
const COMMANDS: &[&str] = &[
    "svn log -r 2 U",
    "svn log -v -r 2 U/f",
    "svn log -q -r 2 U",
    "svn log -r 2 --search 'text*' U",
    "svn proplist -v U/f",
    "svn propget own U/f",
    "svn propget --revprop -r 2 svn:log U",
    "svn propget --revprop -r 2 svn:author U",
    "svn propget --revprop -r 2 own U",
    "svn proplist -v --revprop -r 2 U",
    "svn blame U/f",
    "svn blame -v U/f",
    "svn blame -g U/f",
    "svn list -v -r 2 U | cut -c1-16",
    "svn info -r 2 U/f | grep Author",
    "svn checkout -q -r 2 U out; svn info out/f | grep Author; rm -rf out",
];

fn shell(programs: &Programs, folder: &Path, line: &str) -> Vec<u8> {
    let path = format!("{}:/usr/bin:/bin", programs.dir().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).stdin(Stdio::null()).env_clear();
    shell.env("PATH", path).env("HOME", folder).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    let output = shell.output().unwrap();
    [output.stdout, output.stderr, format!("{:?}\n", output.status.code()).into_bytes()].concat()
}

/// A server of ours that ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve_http(folder: &Path) -> (Served, String) {
    let port = free_port();
    let config = folder.join("sapwood.toml");
    let repo = folder.join("repo");
    let text = format!(
        "http-port = {port}\n[[location]]\nurl = \"/repo\"\nrepository = {repo:?}\nanonymous = \"read\"\n"
    );
    std::fs::write(&config, text).unwrap();
    (Served(places::serve(&config)), format!("http://127.0.0.1:{port}/repo"))
}

#[test]
fn shown_as_the_reference_shows_them() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let made = shell(&reference, folder, MAKE);
    assert!(made.ends_with(b"Some(0)\n"), "{}", String::from_utf8_lossy(&made));
    let server = Server::start(&ours, folder, &[]);
    let (_served, http) = serve_http(folder);
    let mut told = String::new();
    for url in [format!("file://{}/repo", folder.display()), server.url("repo"), http] {
        for command in COMMANDS {
            let line = command.replace("U/", &format!("{url}/")).replace(" U", &format!(" {url}"));
            let wanted = shell(&reference, folder, &line);
            let found = shell(&ours, folder, &line);
            if wanted != found {
                let shown = |bytes: &[u8]| bytes.escape_ascii().to_string().replace("\\n", "\n");
                writeln!(told, "{line}\n1.14: {}\nours: {}", shown(&wanted), shown(&found))
                    .unwrap();
            }
        }
        let xml = shell(&ours, folder, &format!("svn log --xml -v {url}"));
        let xml = String::from_utf8(xml).expect("the XML is UTF-8");
        assert!(xml.contains("?\\E5") && xml.contains("J?\\F6rg"), "{xml}");
    }
    assert!(told.is_empty(), "{told}");
}

/// Blame of a changed file whose line ends are mixed is refused where it has a style.
#[test]
fn blame_with_mixed_line_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let make = "set -e; svnadmin create repo; svn checkout -q file://$PWD/repo wc; cd wc
        printf 'a\nb\n' >f; svn add -q f; svn propset -q svn:eol-style native f; svn ci -q -m first";
    let made = shell(&reference, folder.path(), make);
    assert_eq!(String::from_utf8_lossy(&made), "Some(0)\n");
    for style in ["native", "LF", "CRLF", "CR", ""] {
        for text in ["a\\nb\\r\\nc\\n", "a\\r\\nb\\r\\n", "a\\rb\\n", "a\\nb\\nc\\n"] {
            let set = match style {
                "" => "svn propdel -q svn:eol-style wc/f".to_owned(),
                _ => format!("svn propset -q svn:eol-style {style} wc/f"),
            };
            let line = format!("svn revert -q wc/f; {set}; printf '{text}' >wc/f");
            shell(&reference, folder.path(), &line);
            let [wanted, found] = [&reference, &ours].map(|client| {
                let text = shell(client, folder.path(), "svn blame wc/f; svn blame -v wc/f@BASE");
                String::from_utf8_lossy(&text).into_owned()
            });
            assert_eq!(wanted, found, "style {style:?}, {text}");
        }
    }
}

/// Dates as far away as they can be stored, in a list with columns.
#[test]
fn dates_of_the_last_year() {
    let folder = tempfile::tempdir().unwrap();
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let make = "set -e; svnadmin create repo; R=file://$PWD/repo; svn mkdir -q -m first $R/d
        svn mkdir -q -m second $R/e; chmod u+w repo/db/revprops/0/1
        printf 'K 8\nsvn:date\nV 27\n9999-12-31T23:59:59.999999Z\nEND\n' >repo/db/revprops/0/1";
    let made = shell(&reference, folder.path(), make);
    assert_eq!(String::from_utf8_lossy(&made), "Some(0)\n");
    // What was made now has a time that both write alike.
    for line in ["svn ls -v U", "svn log U", "svn info U/d | grep Date", "svn ls -v --xml U"] {
        let line = line.replace('U', "file://$PWD/repo");
        let [wanted, found] = [&reference, &ours].map(|client| {
            String::from_utf8_lossy(&shell(client, folder.path(), &line)).into_owned()
        });
        assert_eq!(wanted, found, "{line}");
    }
}

/// What `svnrdump load` says of a dump whose numbers have gaps.
#[test]
fn svnrdump_load_says_the_numbers_that_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let make = "set -e; printf 'SVN-fs-dump-format-version: 3\n\n' >dump; for n in 3 7 20; do
        printf 'Revision-number: %s\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n' $n >>dump
        printf 'Node-path: d%s\nNode-kind: dir\nNode-action: add\n\n\n' $n >>dump; done";
    assert_eq!(String::from_utf8_lossy(&shell(&reference, folder.path(), make)), "Some(0)\n");
    let [wanted, found] = [&reference, &ours].map(|programs| {
        let target = "rm -rf r; svnadmin create r; printf '#!/bin/sh\n' >r/hooks/pre-revprop-change
            chmod +x r/hooks/pre-revprop-change";
        shell(&reference, folder.path(), target);
        let text =
            shell(programs, folder.path(), "svnrdump load file://$PWD/r <dump; svnlook youngest r");
        String::from_utf8_lossy(&text).into_owned()
    });
    assert_eq!(wanted, found);
}
