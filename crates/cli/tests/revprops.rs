//! Properties of revisions changed by `svnadmin`, ours and the reference's: the same words, and
//! the same properties afterwards.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::common::Both;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::{DELTIFY_ALL, Packing};
use sapwood_testkit::{Output, Programs, Repository, Shape};
use tempfile::TempDir;

/// The same repository twice, `r` in a folder for each set of programs.
struct Twice {
    both: Both,
    dir: TempDir,
}

impl Twice {
    fn new(repository: &Repository) -> Self {
        let this = Self { both: Both::new(), dir: tempfile::tempdir().unwrap() };
        for side in [&this.both.reference, &this.both.ours] {
            let folder = this.folder(side);
            std::fs::create_dir(&folder).unwrap();
            let copied = std::process::Command::new("cp")
                .arg("-a")
                .arg(repository.path())
                .arg(folder.join("r"))
                .status();
            assert!(copied.unwrap().success());
        }
        this
    }

    fn folder(&self, programs: &Programs) -> PathBuf {
        self.dir.path().join(programs.label)
    }

    /// Writes a file into both folders.
    fn file(&self, name: &str, contents: &[u8]) {
        for side in [&self.both.reference, &self.both.ours] {
            std::fs::write(self.folder(side).join(name), contents).unwrap();
        }
    }

    fn run(&self, programs: &Programs, args: &[&str], locale: &str) -> Output {
        let mut command = programs.command("svnadmin");
        Output::of(command.args(args).current_dir(self.folder(programs)).env("LC_ALL", locale))
    }

    /// Runs both and compares what they say.
    #[track_caller]
    fn same_in(&self, locale: &str, args: &[&str]) -> Output {
        let reference = self.run(&self.both.reference, args, locale);
        let ours = self.run(&self.both.ours, args, locale);
        assert_same(&format!("svnadmin {} ({locale})", args.join(" ")), &reference, &ours);
        ours
    }

    #[track_caller]
    fn same(&self, args: &[&str]) -> Output {
        self.same_in("C.UTF-8", args)
    }

    /// Compares all properties of revisions, as the reference reads them.
    #[track_caller]
    fn same_props(&self) {
        let read = |programs: &Programs| {
            let folder = self.folder(programs);
            let mut command = self.both.reference.command("svnadmin");
            Output::of(command.args(["dump-revprops", "-q", "r"]).current_dir(folder))
        };
        assert_same("properties", &read(&self.both.reference), &read(&self.both.ours));
    }
}

fn hook(folder: &Path, name: &str, text: &str) {
    let path = folder.join("r/hooks").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn set_and_deleted() {
    let twice = Twice::new(&Repository::scripted(&Shape::new("1.10")));
    twice.file("latin1", b"caf\xe9 and more than four bytes\n");
    twice.file("utf8", "caf\u{e9}\n".as_bytes());
    twice.file("mixed", b"a\r\nb\n");
    twice.file("crlf", b"a\r\nb\r\n");
    twice.file("cr", b"a\rb");
    twice.file("nul", b"a\0b");
    twice.file("date", b"2001-02-03T04:05:06.000007Z");
    for side in [&twice.both.reference, &twice.both.ours] {
        std::fs::create_dir(twice.folder(side).join("dir")).unwrap();
    }
    for file in ["latin1", "utf8", "mixed", "crlf", "cr", "nul", "nosuch", "http://x/y", ".", "dir"]
    {
        for locale in ["C", "C.UTF-8"] {
            twice.same_in(locale, &["setlog", "r", "-r1", "--bypass-hooks", file]);
            twice.same_props();
        }
    }
    for args in [
        &["setlog", "r", "-r1", "utf8"][..],
        &["setlog", "r", "utf8"],
        &["setlog", "r", "-r1:2", "utf8"],
        &["setlog", "r", "-rHEAD", "utf8"],
        &["setlog", "r", "-r9999", "utf8", "--bypass-hooks"],
        &["setlog", "r", "-r1"],
        &["setlog", "r", "-r1", "utf8", "x"],
        &["setlog", "nosuch", "-r1", "utf8"],
        &["setrevprop", "r", "-r2", "svn:log", "utf8"],
        &["setrevprop", "r", "-r2", "new", "crlf"],
        &["setrevprop", "r", "-r2", "svn:wc:x", "utf8"],
        &["setrevprop", "r", "-r2", "svn:date", "utf8"],
        &["setrevprop", "r", "-r2", "svn:date", "date"],
        &["setrevprop", "r", "-r2", "name"],
        &["setrevprop", "r", "name", "utf8"],
        &["setrevprop", "r", "-r2:3", "name", "utf8"],
        &["setrevprop", "r", "-r2", "-t", "x", "name", "utf8"],
        &["setrevprop", "r", "-t", "x", "--use-pre-revprop-change-hook", "name", "utf8"],
        &["setrevprop", "r", "-r2", "--use-pre-revprop-change-hook", "name", "utf8"],
        &["setrevprop", "r", "-r2", "--use-post-revprop-change-hook", "other", "utf8"],
        &["delrevprop", "r", "-r2", "svn:author"],
        &["delrevprop", "r", "-r2", "nosuch"],
        &["delrevprop", "r", "-r9999", "nosuch"],
        &["delrevprop", "r", "name"],
        &["delrevprop", "r", "-r2"],
        &["delrevprop", "r", "-r2", "-t", "x", "name"],
        &["setuuid", "r", "x"],
        &["setuuid", "r", ""],
        &["setuuid", "r", "11111111-2222-3333-4444-55555555555A"],
        &["setuuid", "r", "11111111-2222-3333-4444-55555555555", "x"],
        &["setuuid", "nosuch"],
        &["setuuid"],
    ] {
        twice.same(args);
        twice.same_props();
    }
    let uuid = || {
        let folder = twice.folder(&twice.both.ours);
        std::fs::read_to_string(folder.join("r/db/uuid")).unwrap()
    };
    let before = uuid();
    assert!(before.starts_with("11111111-2222-3333-4444-55555555555A\n"), "{before}");
    twice.same(&["setuuid", "r"]);
    let (old, new) = (before.lines().collect::<Vec<_>>(), uuid());
    assert_eq!(new.lines().count(), 2);
    assert!(new.lines().all(|line| line.len() == 36 && !old.contains(&line)), "{new}");
}

#[test]
fn with_hooks() {
    let twice = Twice::new(&Repository::scripted(&Shape::new("1.10")));
    twice.file("value", b"new\r\nvalue");
    for side in [&twice.both.reference, &twice.both.ours] {
        let folder = twice.folder(side);
        let log = r#"{ echo "$@"; cat; echo; } >> "$(dirname "$0")/../../log"; exit 0"#;
        hook(
            &folder,
            "pre-revprop-change",
            &format!("[ $4 = refused ] && {{ echo no >&2; exit 3; }}; {log}"),
        );
        hook(
            &folder,
            "post-revprop-change",
            &format!("[ $4 = late ] && {{ echo late >&2; exit 1; }}; {log}"),
        );
    }
    for args in [
        &["setlog", "r", "-r1", "value"][..],
        &["setlog", "r", "-r1", "value", "--bypass-hooks"],
        &["setrevprop", "r", "-r1", "new", "value", "--use-pre-revprop-change-hook"],
        &["setrevprop", "r", "-r1", "new2", "value", "--use-post-revprop-change-hook"],
        &["setrevprop", "r", "-r1", "refused", "value", "--use-pre-revprop-change-hook"],
        &["setrevprop", "r", "-r1", "late", "value", "--use-post-revprop-change-hook"],
        &["setrevprop", "r", "-r1", "refused", "value", "--use-post-revprop-change-hook"],
        &["delrevprop", "r", "-r1", "new", "--use-pre-revprop-change-hook"],
        &["delrevprop", "r", "-r1", "svn:author", "--use-post-revprop-change-hook"],
    ] {
        twice.same(args);
        twice.same_props();
    }
    let log =
        |programs: &Programs| std::fs::read_to_string(twice.folder(programs).join("log")).unwrap();
    assert_eq!(log(&twice.both.reference), log(&twice.both.ours));
}

/// A stream of properties for revisions that are there.
fn stream(revisions: &[(u64, &[(&str, &str)])]) -> String {
    let mut out = "SVN-fs-dump-format-version: 2\n\n".to_owned();
    for (revision, props) in revisions {
        let mut block = String::new();
        for (name, value) in *props {
            block.push_str(&format!("K {}\n{name}\nV {}\n{value}\n", name.len(), value.len()));
        }
        block.push_str("PROPS-END\n");
        out.push_str(&format!(
            "Revision-number: {revision}\nProp-content-length: {0}\nContent-length: {0}\n\n{block}\n",
            block.len()
        ));
    }
    out
}

#[test]
fn loaded() {
    let repository = Repository::scripted(&Shape::new("1.10").shard(7));
    let twice = Twice::new(&repository);
    let dump = twice.run(&twice.both.reference, &["dump-revprops", "-q", "r"], "C.UTF-8").stdout;
    let whole = twice.run(&twice.both.reference, &["dump", "-q", "r"], "C.UTF-8").stdout;
    twice.file("same", &dump);
    twice.file("whole", &whole);
    // Revision 4 has no properties when those that are refused come: the reference makes other
    // changes of the revision before it refuses one, we make none.
    let date = ("svn:date", "2001-02-03T04:05:06.000007Z");
    let files = [
        ("some", stream(&[(0, &[("a", "b")]), (1, &[date, ("svn:log", "x")]), (4, &[])])),
        ("young", stream(&[(2, &[("a", "b")]), (99_999, &[])])),
        ("bad-name", stream(&[(4, &[("svn:wc:a", "b")])])),
        ("bad-date", stream(&[(4, &[("svn:date", "b")])])),
        ("bad-ending", stream(&[(4, &[("svn:log", "a\r\nb")])])),
        ("bad-record", stream(&[(4, &[])]) + "nonsense: x\n\n"),
        ("no-stream", "hello".to_owned()),
    ];
    for (name, text) in &files {
        twice.file(name, text.as_bytes());
    }
    for args in [
        &["-F", "same"][..],
        &["-F", "some"],
        &["-F", "same", "-q"],
        &["-F", "some", "-r", "1"],
        &["-F", "whole", "-r", "0:3"],
        &["-F", "whole", "-r", "3:1"],
        &["-F", "whole", "-r", "HEAD"],
        &["-F", "young"],
        &["-F", "some", "-r", "4"],
        &["-F", "bad-name"],
        &["-F", "bad-date"],
        &["-F", "bad-date", "--bypass-prop-validation"],
        &["-F", "some", "-r", "4"],
        &["-F", "bad-ending"],
        &["-F", "bad-ending", "--normalize-props", "--force-uuid"],
        &["-F", "bad-ending", "--bypass-prop-validation", "--no-flush-to-disk"],
        &["-F", "bad-record"],
        &["-F", "no-stream"],
        &["-F", "nosuch"],
        &["-F", "same", "extra"],
        &["-F", "same", "--ignore-dates"],
    ] {
        twice.same(&[&["load-revprops", "r"], args].concat());
        twice.same_props();
    }
}
#[test]
fn changed_in_every_shape() {
    for shape in [
        Shape::new("1.1"),
        Shape::new("1.8").shard(7).pack(Packing::Half).config(DELTIFY_ALL),
        Shape::new("1.10").shard(7).pack(Packing::All),
    ] {
        let repository = Repository::random(&shape, 5, 24);
        let twice = Twice::new(&repository);
        twice.file("short", b"x");
        twice.file("long", "text that is rather long\n".repeat(40).as_bytes());
        // Packs grow until they are split, in front, in the middle and at the end.
        for revision in ["0", "1", "6", "7", "13", "3", "24"] {
            for file in ["long", "short"] {
                for name in ["svn:log", "p"] {
                    twice.same(&["setrevprop", "r", "-r", revision, name, file]);
                }
            }
            twice.same(&["delrevprop", "r", "-r", revision, "svn:log"]);
        }
        twice.same_props();
        // The packs are divided in the same way, and nothing else is left in their folders.
        let packs = |programs: &Programs| {
            let dir = twice.folder(programs).join("r/db/revprops");
            let mut found = Vec::new();
            for shard in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
                if shard.extension().is_some_and(|extension| extension == "pack") {
                    found.push(std::fs::read_to_string(shard.join("manifest")).unwrap());
                    for file in std::fs::read_dir(&shard).unwrap() {
                        found.push(file.unwrap().file_name().into_string().unwrap());
                    }
                }
            }
            found.sort();
            found
        };
        assert_eq!(packs(&twice.both.reference), packs(&twice.both.ours));
    }
}

/// A commit of the reference is stopped in its hook, where the repository is copied.
fn with_transaction() -> (Repository, String) {
    let repository = Repository::scripted(&Shape::new("1.10"));
    let hook = repository.path().join("hooks/pre-commit");
    let script = "#!/bin/sh\ncp -a \"$1/db/.\" \"$1/stopped\"\necho $2 > \"$1/txn\"\nexit 1\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let reference = Programs::reference();
    let url = repository.url();
    reference.run("svnmucc", ["-m", "unfinished", "-U", &url, "mkdir", "new"]);
    let path = repository.path();
    std::fs::remove_file(&hook).unwrap();
    std::fs::remove_dir_all(path.join("db")).unwrap();
    std::fs::rename(path.join("stopped"), path.join("db")).unwrap();
    let name = std::fs::read_to_string(path.join("txn")).unwrap().trim().to_owned();
    (repository, name)
}

#[test]
fn transactions() {
    let (repository, name) = with_transaction();
    let twice = Twice::new(&repository);
    twice.file("text", b"another text\n");
    twice.file("bad", b"a\xff");
    let look = |property: &str| {
        [&twice.both.reference, &twice.both.ours].map(|side| {
            let repository = twice.folder(side).join("r");
            let args =
                ["propget", "--revprop", "-t", &name, repository.to_str().unwrap(), property];
            twice.both.reference.run("svnlook", args).stdout_text()
        })
    };
    for property in ["svn:log", "p", "svn:date"] {
        twice.same(&["setrevprop", "r", "-t", &name, property, "text"]);
        let [reference, ours] = look(property);
        assert_eq!(reference, ours);
    }
    twice.same(&["setrevprop", "r", "-t", &name, "p", "bad"]);
    twice.same(&["delrevprop", "r", "-t", &name, "p"]);
    twice.same(&["delrevprop", "r", "-t", &name, "p"]);
    for wrong in ["1-x y", "77-1", "", "a"] {
        twice.same(&["setrevprop", "r", "-t", wrong, "p", "text"]);
    }
    twice.same(&["rmtxns", "r"]);
    twice.same(&["rmtxns", "r", "99-9", &name, "a", &name]);
    twice.same(&["rmtxns", "-q", "r", "99-9"]);
    twice.same(&["lstxns", "r"]);
    for side in [&twice.both.reference, &twice.both.ours] {
        for folder in ["transactions", "txn-protorevs"] {
            let folder = twice.folder(side).join("r/db").join(folder);
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
        }
    }
}
