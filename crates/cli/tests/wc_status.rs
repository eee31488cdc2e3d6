//! `svn status -u` by ours and by the reference on the same working copy: the same of every path; and
//! `svnversion`.
//!
//! The reference tells what is in a directory in the order of a hash table, so lines are compared
//! without their order; where the order is fixed, [`order`] looks at it.

use crate::common::sides;

use std::path::Path;
use std::process::Command;

use sapwood_testkit::{Programs, counted};

/// A repository and two working copies: `other` commits what `wc` does not know of.
const SETUP: &str = r#"
svnadmin create repo
svn co -q file://$PWD/repo wc
cd wc
mkdir -p t/mod t/props t/gone/in t/repl t/add t/loc t/deep/er/est t/empty t/sw br/sw ext/d
for f in t/mod/f t/props/f t/gone/in/f t/repl/f t/loc/f t/deep/er/est/f t/empty/f t/sw/f br/sw/f; do echo $f > $f; done
for f in t/k t/o t/s t/b t/gone2 t/replf t/conf t/tc t/mv t/obst t/miss t/wasdir/f ext/d/f ext/f; do
  mkdir -p $(dirname $f); echo $f > $f; done
svn add -q t br ext
svn ps -q p v t/props t/props/f
svn ps -q svn:ignore '*.o' t t/add
svn ps -q svn:externals "$(printf '^/ext/d x\n-r 1 ^/ext/d pinned\n^/ext/f xf\n')" t/loc
svn ci -qm one
svn up -q
svn lock -q t/k t/s t/b t/miss
cd ..
svn co -q file://$PWD/repo other
cd other
echo m >> t/mod/f
svn ps -q p v2 t/props
svn ps -q p v2 t/props/f
svn rm -q t/gone t/gone2
svn rm -q t/repl
svn rm -q t/replf
svn ci -qm two
svn up -q
mkdir t/repl t/add/new
echo r > t/repl/f; echo r2 > t/repl/g; echo n > t/add/new/n; echo n2 > t/add/n2
svn add -q t/repl t/add/new t/add/n2
svn cp -q t/mod t/modcopy
echo o > t/replf; svn add -q t/replf
echo c >> t/conf
echo e >> t/deep/er/est/f; echo e2 > t/empty/f2; svn add -q t/empty/f2; echo e >> t/empty/f
echo ign > t/new.o; svn add -q --no-ignore t/new.o
echo u > t/unv; svn add -q t/unv
mkdir t/unvd; echo u > t/unvd/f; svn add -q t/unvd
echo l > t/localadd; svn add -q t/localadd
mkdir t/localdir; svn add -q t/localdir
echo s >> br/sw/f; echo x >> ext/d/f
echo z >> t/tc
svn rm -q t/wasdir; 
svn ci -qm three
svn up -q; echo m2 > t/wasdir; svn add -q t/wasdir
svn rm -q t/mv; svn ps -q rootprop 1 .
svn ci -qm four
svn lock -q t/o t/unv t/add/n2; svn lock -q --force t/s; svn unlock -q --force t/b
cd ../wc
svn switch -q --ignore-ancestry ^/br/sw@1 t/sw
svn up -q --set-depth empty -r2 t/empty
echo loc >> t/conf; echo mine >> t/loc/f
svn rm -q t/tc
svn up -q -r3 --accept postpone t/tc t/conf
svn mv -q t/mv t/moved; svn rm -q t/deep/er
echo x > t/obst2; rm t/obst; mkdir t/obst; rm t/miss
echo u > t/unv; echo q > t/quest; mkdir t/unvd; echo i > t/new.o; echo i > t/other.o
echo mine > t/localadd; svn add -q t/localadd; mkdir t/localdir; svn add -q t/localdir
svn mkdir -q t/newdir; echo a > t/newdir/a; svn add -q t/newdir/a
svn cl -q list t/mod/f t/localadd
svn cp -q t/props t/copied; echo w > t/repl/mine; svn add -q t/repl/mine; echo w > t/repl/unv
svn rm -q t/b --keep-local --force; echo b > t/b; svn add -q t/b
"#;

/// Targets and options; each is asked for with `-u`, and `-u -v`, and as XML, and with `-q`.
const QUESTIONS: &[&str] = &[
    "",
    "t",
    "t/mod t/props t/gone t/repl",
    "--depth empty t",
    "--depth files t",
    "--depth immediates t",
    "--depth infinity t",
    "-N t",
    "--depth empty t/mod/f t/gone2",
    "--depth files t/add t/unvd",
    "--depth immediates t/add",
    "--no-ignore t",
    "--ignore-externals t",
    "--changelist list",
    "--changelist list t",
    "t/mod/f t/gone2 t/replf t/unv t/unvd t/new.o t/other.o t/quest t/nothere",
    "t/k t/o t/s t/b t/miss t/conf t/tc t/mv t/moved t/obst",
    "t/empty t/sw t/sw/f t/loc t/loc/x t/loc/xf t/loc/pinned t/add/n2 t/add/new t/add",
    "t/newdir t/newdir/a t/localdir t/localadd t/copied t/copied/f t/wasdir t/deep/er t/deep/er/est/f",
    "t/none/none ../other/t/mod nowhere/at/all",
    "-r 2",
    "-r 1 t",
    "-r 4",
    "-r BASE t/mod",
    "-r HEAD t",
    "-r 99 t",
    "-r COMMITTED t/mod/f",
    "..",
    "t@HEAD",
];

fn shell(folder: &Path, script: &str) {
    let status = Command::new("sh").args(["-ec", script]).current_dir(folder).status().unwrap();
    assert!(status.success());
}

/// What a program says, in pieces: the entries of XML, or lines. The lines that belong to the one
/// before (where a node was moved, why it is in conflict) stay with it. Attributes of XML come in
/// the order of a hash table too.
fn pieces(text: &str) -> Vec<String> {
    let xml = text.starts_with("<?xml");
    let mut pieces: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        let begins = ["<entry", "</", "<target"].iter().any(|tag| line.starts_with(tag));
        let goes_on = match xml {
            true => !begins,
            false => line.starts_with("        >") || line.starts_with("      >"),
        };
        let line = if line.starts_with(' ') { line.trim_end_matches('>') } else { line };
        match pieces.last_mut().filter(|_| goes_on) {
            Some(last) => last.push(line),
            None => pieces.push(vec![line]),
        }
    }
    let joined = |mut lines: Vec<&str>| {
        if xml {
            lines.sort_unstable();
        }
        lines.join("\n")
    };
    pieces.into_iter().map(joined).collect()
}

fn say(programs: &Programs, folder: &Path, words: &str) -> (Vec<String>, Vec<String>, i32) {
    let mut command = programs.command("svn");
    command.arg("status").args(words.split(' ').filter(|word| !word.is_empty()));
    let output = command.current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let errors = text(&output.stderr).lines().map(str::to_owned).collect();
    (pieces(&text(&output.stdout)), errors, output.status.code().unwrap_or(-1))
}

fn compare(folder: &Path, words: &str) {
    let (mut ours, errors, code) = say(&Programs::ours(), folder, words);
    let (mut theirs, their_errors, their_code) = say(&Programs::reference(), folder, words);
    ours.sort_unstable();
    theirs.sort_unstable();
    let only = |a: &[String], b: &[String]| -> Vec<String> {
        a.iter().filter(|line| !b.contains(line)).cloned().collect()
    };
    let (more, fewer) = (only(&ours, &theirs), only(&theirs, &ours));
    assert!(
        more.is_empty() && fewer.is_empty(),
        "svn st {words}\nonly ours: {more:#?}\nmissing: {fewer:#?}"
    );
    assert_eq!(ours, theirs, "svn st {words}");
    assert_eq!((errors, code), (their_errors, their_code), "svn st {words}");
}

#[test]
fn as_the_reference_says() {
    let folder = tempfile::tempdir().unwrap();
    shell(folder.path(), SETUP);
    let wc = folder.path().join("wc");
    for question in QUESTIONS {
        for options in ["-u", "-uv", "-u --xml", "-uv --xml", "-uq", "-uqv"] {
            compare(&wc, &format!("{options} {question}"));
        }
    }
    compare(&wc, &format!("-u {}", wc.display()));
    // The whole of what was checked out is gone.
    shell(&wc, "svn co -q ^/t/mod ../part; svn rm -qm gone ^/t/mod; touch ../part/new");
    for options in ["-u", "-uv", "-u f", "-u --xml"] {
        compare(&folder.path().join("part"), options);
    }
}

#[test]
fn order() {
    let folder = tempfile::tempdir().unwrap();
    shell(
        folder.path(),
        "svnadmin create repo; svn co -q file://$PWD/repo wc; svn mkdir -q --parents wc/a/b; \
         echo f > wc/a/b/f; svn add -q wc/a/b/f; svn ci -qm 1 wc; svn up -q wc; svn co -q file://$PWD/repo o; \
         echo m >> o/a/b/f; svn ci -qm 2 o",
    );
    for options in ["-u wc", "-uv wc", "-u --xml wc", "-uv wc/a/b/f"] {
        let ours = say(&Programs::ours(), folder.path(), options);
        assert_eq!(ours, say(&Programs::reference(), folder.path(), options), "svn st {options}");
    }
}

/// After each kind of work of our own a status opens no directory that the work left alone, and says what
/// it says without anything remembered.
#[test]
fn after_our_own_work_nothing_else_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    shell(
        folder.path(),
        "svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc; for d in 0 1 2 3 4 5; do for e in 0 1 2 3 \
         4 5 6 7 8 9; do mkdir -p d$d/e$e; echo t > d$d/e$e/f; done; done; svn add -q d*; svn ci -qm 1; svn up -q; \
         cd ..; svn co -q file://$PWD/repo other; echo o >> other/d3/e3/f; svn ci -qm 2 other; sleep 0.1",
    );
    let wc = folder.path().join("wc");
    let ours = Programs::ours();
    let svn = |args: &[&str]| {
        let mut command = ours.command("svn");
        command.args(args).current_dir(&wc);
        command
    };
    let run = |args: &[&str]| {
        let output = svn(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&["status"]), "");
    let known = counted::reads(&svn(&["status"])).0;
    std::fs::write(wc.join("d1/e1/f"), "longer\n").unwrap();
    std::fs::write(wc.join("d2/e2/f"), "longer\n").unwrap();
    std::fs::write(wc.join("d4/e4/new"), "new\n").unwrap();
    let before = run(&["status"]);
    assert_eq!(before.lines().count(), 3, "{before}");
    run(&["commit", "-q", "-m", "3", "d1/e1/f"]);
    run(&["revert", "-q", "-R", "d2"]);
    run(&["add", "-q", "d4/e4/new"]);
    run(&["update", "-q"]);
    let (reads, said) = counted::reads(&svn(&["status"]));
    assert_eq!(String::from_utf8(said).unwrap(), "A       d4/e4/new\n");
    // The note, and the directories of five files with what is above them; sixty lie beside.
    assert!(reads <= known + 30, "{reads} reads, and {known} without any work");
    std::fs::remove_dir_all(wc.join(".svn/sapwood")).unwrap();
    let all = counted::reads(&svn(&["status"])).0;
    assert!(all >= known + 60, "a status of everything lists sixty directories: {all}, {known}");
    assert_eq!(run(&["status"]), "A       d4/e4/new\n");
}

/// A working copy of so many directories, with a file in each, of which a status has seen everything.
fn seen(directories: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    shell(
        folder.path(),
        &format!(
            "svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc; for d in $(seq {directories}); do \
             mkdir -p d/$d; echo t > d/$d/f; done; svn add -q d; svn ci -qm 1; svn up -q; sleep 0.1"
        ),
    );
    let wc = folder.path().join("wc");
    assert_eq!(say(&Programs::ours(), &wc, "").0, Vec::<String>::new());
    folder
}

/// After a status, work on everything opens and reads what changed, and not all directories; and says what
/// it says when nothing is remembered.
#[test]
fn work_on_everything_opens_only_what_changed() {
    let lines =
        ["diff", "commit -m 2", "update", "update d", "status d", "diff d/7", "revert -R ."];
    let costs = [30, 120].map(|directories| {
        let folder = seen(directories);
        let wc = folder.path().join("wc");
        std::fs::write(wc.join("d/7/f"), "longer\n").unwrap();
        lines.map(|line| {
            let mut command = Programs::ours().command("svn");
            command.args(line.split(' ')).current_dir(&wc);
            let (reads, said) = counted::reads(&command);
            (reads, String::from_utf8(said).unwrap())
        })
    });
    for ((line, few), many) in lines.iter().zip(&costs[0]).zip(&costs[1]) {
        assert_eq!(few.1, many.1, "{line}");
        if *line != "update d" {
            assert!(many.0 <= few.0 + 40, "{line}: {} reads, and {} of a fourth", many.0, few.0);
        }
    }
    let folder = seen(30);
    let wc = folder.path().join("wc");
    std::fs::write(wc.join("d/7/f"), "longer\n").unwrap();
    for (line, known) in lines.iter().zip(&costs[0]) {
        let _ = std::fs::remove_dir_all(wc.join(".svn/sapwood"));
        let mut command = Programs::ours().command("svn");
        let output = command.args(line.split(' ')).current_dir(&wc).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), known.1, "{line}");
    }
}

/// How many transactions changed a working copy's database: SQLite counts them in its file.
fn transactions(wc: &Path) -> u32 {
    let bytes = std::fs::read(wc.join(".svn/wc.db")).unwrap();
    u32::from_be_bytes(bytes[24..28].try_into().unwrap())
}

/// A checkout takes at most two transactions for a thousand nodes, and an update none for each directory that it
/// opens.
#[test]
fn transactions_are_few() {
    let folder = tempfile::tempdir().unwrap();
    shell(
        folder.path(),
        "svnadmin create repo; for d in $(seq 60); do mkdir -p tree/$d; for f in $(seq 50); do echo $d $f > \
         tree/$d/$f; done; done; svn import -qm 1 tree file://$PWD/repo; svn co -q file://$PWD/repo other; \
         for d in $(seq 60); do echo more >> other/$d/7; done; svn ci -qm 2 other",
    );
    let svn = |line: &str| {
        let mut command = Programs::ours().command("svn");
        let output = command.args(line.split(' ')).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let url = format!("file://{}/repo", folder.path().display());
    svn(&format!("checkout -q -r 1 {url} wc"));
    let wc = folder.path().join("wc");
    let made = transactions(&wc);
    assert!(made <= 6 + 8, "{made} transactions for 3,061 nodes");
    svn("update -q wc");
    let updated = transactions(&wc) - made;
    assert!(updated <= 8, "{updated} transactions for an update that opens 60 directories");
    let said = |programs: &Programs, line: &str| {
        let output =
            programs.command("svn").arg(line).arg("wc").current_dir(folder.path()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(said(&Programs::reference(), "status"), "");
    shell(folder.path(), "diff -r -x .svn wc other; echo new > wc/1/1; sleep 0.02");
    let before = transactions(&wc);
    svn("commit -q -m 3 wc/1/1");
    let committed = transactions(&wc) - before;
    // The lock, what was committed, the lock again.
    assert!(committed <= 3, "{committed} transactions for the commit of a file");
    assert_eq!(said(&Programs::reference(), "status"), "");
}

/// `svnversion` of whole, mixed, changed, switched, sparse and exported trees.
#[test]
fn svnversion_says_the_same() {
    sides::compare(
        r"
=svnversion .
mkdir -p A/D B; echo a > A/a; echo d > A/D/d; echo b > B/b
=svnversion .
svn add -q A B
=svnversion .
=svnversion A
svn ci -q -m one
=svnversion .
=svnversion -c .
svn up -q
echo more >> A/a; svn ci -q -m two
=svnversion .
=svnversion -n .
=svnversion A/a
=svnversion A/D
=svnversion --committed A
=svnversion . trunk
=svnversion . /A
=svnversion A URL/A
=svnversion A /A/D
svn switch -q --ignore-ancestry URL/B A/D
=svnversion .
=svnversion A/D B
svn up -q --set-depth files A
=svnversion .
svn up -q --set-depth infinity A
echo local >> B/b
=svnversion .
svn rm -q --force B
=svnversion .
svn revert -q -R .
rm B/b
=svnversion .
=svnversion none
=svnversion none/deeper
=svnversion /
=svnversion URL
=svnversion . . .
=svnversion --no-such-option
",
    );
}

/// A name that is not UTF-8 is told with its folder, by each command that meets it: in a large tree it is not found otherwise.
#[test]
fn names_that_are_not_utf_8_are_told_with_their_folder() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (ours, reference) = (Programs::ours(), Programs::reference());
    let at = folder.path();
    let run = |programs: &Programs, program: &str, args: &[&str]| {
        let output = programs.command(program).args(args).current_dir(at).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let url = format!("file://{}/repo", at.display());
    assert_eq!(run(&reference, "svnadmin", &["create", "repo"]), "");
    assert_eq!(run(&reference, "svn", &["co", "-q", &url, "wc"]), "");
    std::fs::create_dir_all(at.join("wc/sub/deep")).unwrap();
    assert_eq!(run(&reference, "svn", &["add", "-q", "wc/sub"]), "");
    let name = std::ffi::OsStr::from_bytes(b"x\xff");
    std::fs::write(at.join("wc/sub/deep").join(name), "").unwrap();
    let import = format!("{url}/imported");
    for args in [
        &["status", "wc"][..],
        &["status", "-u", "wc"],
        &["add", "--force", "wc"],
        &["cleanup", "--remove-unversioned", "wc"],
        &["import", "-m", "x", "wc/sub", &import],
        &["rm", "wc/sub/deep"],
    ] {
        let said = run(&ours, "svn", args);
        let place = at.join("wc/sub/deep");
        let place = format!("Error converting entry in directory '{}' to UTF-8", place.display());
        assert!(said.contains(&place) && said.contains(r"x\xff"), "{args:?}: {said}");
    }
}
