//! Other programs on our working copies, and ours on theirs: SVNKit, which IDEs and Jenkins have in place of
//! `svn`, and programs that read `wc.db` themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sapwood_testkit::programs::environment;
use sapwood_testkit::{Output, Programs};

const SVNKIT: &str = "/usr/share/svnkit/svnkit-cli.jar";

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A repository, and a working copy of ours with everything that can be done to one.
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        let mut create = Programs::ours().command("svnadmin");
        Output::of(create.arg("create").arg(place.path("repo"))).expect_success("svnadmin create");
        place.ours(&["checkout", "-q", &place.url(), "wc"]);
        fs::create_dir_all(place.path("wc/d/e")).unwrap();
        for name in ["a", "b", "c", "d/f", "d/e/g"] {
            fs::write(place.path("wc").join(name), format!("{name}\n$Rev$\n")).unwrap();
        }
        place.ours(&["add", "-q", "wc/a", "wc/b", "wc/c", "wc/d"]);
        place.ours(&["propset", "-q", "svn:keywords", "Rev", "wc/a", "wc/d/f"]);
        place.ours(&["commit", "-q", "-m", "one", "wc"]);
        place.ours(&["update", "-q", "wc"]);
        place
    }

    fn change(&self) {
        for (name, text) in [("a", "changed\n"), ("new", "new\n"), ("unversioned", "own\n")] {
            fs::write(self.path("wc").join(name), text).unwrap();
        }
        self.ours(&["delete", "-q", "wc/b"]);
        self.ours(&["copy", "-q", "wc/d", "wc/copied"]);
        self.ours(&["move", "-q", "wc/c", "wc/moved"]);
        self.ours(&["propset", "-q", "p", "v", "wc/d/f"]);
        self.ours(&["add", "-q", "wc/new"]);
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn url(&self) -> String {
        format!("file://{}", self.path("repo").display())
    }

    fn svn(&self, programs: &Programs, args: &[&str]) -> Output {
        let mut command = programs.command("svn");
        Output::of(command.args(args).arg("--non-interactive").current_dir(self.folder.path()))
            .expect_success(&format!("{args:?}"))
    }

    fn ours(&self, args: &[&str]) -> Output {
        self.svn(&Programs::ours(), args)
    }

    fn svnkit(&self, args: &[&str]) -> Output {
        assert!(
            Path::new(SVNKIT).exists(),
            "{SVNKIT} is missing: run `cargo xtask packages` as root"
        );
        let mut java = Command::new("java");
        environment(&mut java);
        java.arg(format!("-Duser.home={}", self.folder.path().display()));
        java.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-classpath", SVNKIT]);
        java.args(["org.tmatesoft.svn.cli.SVN", "--non-interactive", "--no-auth-cache"]);
        Output::of(java.args(args).current_dir(self.folder.path()))
            .expect_success(&format!("SVNKit {args:?}"))
    }

    /// All three see the same in a working copy.
    fn agree(&self, wc: &str) -> String {
        let args = ["status", wc];
        let lines = |output: Output| {
            let text = output.stdout_text();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        let ours = lines(self.ours(&args));
        assert_eq!(ours, lines(self.svnkit(&args)), "SVNKit and ours");
        assert_eq!(ours, lines(self.svn(&Programs::reference(), &args)), "1.14 and ours");
        ours
    }
}

#[test]
fn svnkit_goes_on_with_our_working_copies() {
    let place = Place::new();
    place.change();
    let status = place.agree("wc");
    assert!(status.contains("A  +    wc/moved") && status.lines().count() == 10, "{status}");
    place.svnkit(&["commit", "-m", "two", "wc"]);
    place.ours(&["update", "-q", "wc"]);
    assert_eq!(place.ours(&["status", "wc"]).stdout_text(), "?       wc/unversioned\n");
    let verbose = ["status", "-v", "wc"];
    let theirs = place.svn(&Programs::reference(), &verbose).unordered();
    assert_eq!(place.ours(&verbose).unordered(), theirs);
    place.svn(&Programs::reference(), &["cleanup", "wc"]);
}

#[test]
fn we_go_on_with_working_copies_of_svnkit() {
    let place = Place::new();
    place.svnkit(&["checkout", "-q", &place.url(), "theirs"]);
    fs::write(place.path("theirs/a"), "changed\n").unwrap();
    place.ours(&["move", "-q", "theirs/d", "theirs/moved"]);
    place.ours(&["commit", "-q", "-m", "two", "theirs"]);
    fs::write(place.path("theirs/b"), "changed\n").unwrap();
    assert_eq!(place.agree("theirs"), "M       theirs/b");
    place.svnkit(&["revert", "-q", "theirs/b"]);
    place.svnkit(&["update", "-q", "theirs"]);
    assert_eq!(place.ours(&["status", "theirs"]).stdout_text(), "");
    let verbose = ["status", "-v", "theirs"];
    let theirs = place.svn(&Programs::reference(), &verbose).unordered();
    assert_eq!(place.ours(&verbose).unordered(), theirs);
}

/// What build scripts and scanners ask: the format, the revision of the root and the youngest change, the pristine
/// text of each file by its checksum; and Meson, which looks for `Revision: ` in `svn info`, and runs again what
/// depends on it when the time of `wc.db` changes.
const READER: &str = r"
import hashlib, os, re, sqlite3, sys
adm = sys.argv[1] + '/.svn/'
db = sqlite3.connect('file:' + adm + 'wc.db?mode=ro', uri=True)
one = lambda sql: db.execute(sql).fetchone()[0]
files = db.execute('''select local_relpath, substr(checksum, 7) from nodes where kind = 'file' and op_depth = 0''')
for path, sha1 in files.fetchall():
    with open(adm + 'pristine/' + sha1[:2] + '/' + sha1 + '.svn-base', 'rb') as text:
        assert hashlib.sha1(text.read()).hexdigest() == sha1, path
print(one('pragma user_version'), one('''select revision from nodes where local_relpath = '' '''),
      one('select max(changed_revision) from nodes'), one('select root from repository'),
      re.search('Revision: (.*)', sys.argv[2]).group(1))
";

#[test]
fn programs_that_read_the_database_themselves() {
    let place = Place::new();
    let ask = |revision: u64| {
        let info = place.ours(&["info", "wc"]).stdout_text();
        let mut python = Command::new("python3");
        python.args(["-c", READER, "wc", &info]).current_dir(place.folder.path());
        let said = Output::of(&mut python).expect_success("python3");
        let wanted = format!("31 {revision} {revision} {} {revision}\n", place.url());
        assert_eq!(said.stdout_text(), wanted);
        fs::metadata(place.path("wc/.svn/wc.db")).unwrap().modified().unwrap()
    };
    let before = ask(1);
    place.ours(&["status", "wc"]);
    place.ours(&["info", "wc"]);
    assert_eq!(ask(1), before, "what only reads leaves the database's time alone");
    place.change();
    place.ours(&["commit", "-q", "-m", "two", "wc"]);
    place.ours(&["update", "-q", "wc"]);
    assert!(ask(2) > before, "an update shows in the database's time");
}
