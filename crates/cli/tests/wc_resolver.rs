//! Tree conflicts explained by the log, by ours and by the reference: what is recommended when no user is
//! asked, and what becomes of it.

use crate::common::schemes;
use crate::common::sides;
use crate::common::talk;

use sapwood_testkit::Programs;
use schemes::{Hosted, Scheme};
use sides::compare;
use talk::{shell, talked};

/// A tree, and a branch of it.
const START: &str = r"
mkdir -p trunk/d/e; for f in trunk/f trunk/d/x trunk/d/y trunk/d/e/z; do printf 'a\nb\nc\nd\ne\n' > $f; done
svn add -q trunk
svn ps -q p v trunk/f
svn ci -q -m one
svn up -q
svn cp -q -m branch ^/trunk ^/b
svn up -q
";

fn run(steps: &str) {
    compare(&format!("{START}{steps}"));
}

#[test]
fn an_update_follows_moves() {
    run(r"
svn mv -q trunk/f trunk/f2
sed -i s/e/theirs/ trunk/f2
svn rm -q trunk/d/y
svn ci -q -m theirs
svn up -q -r2
sed -i s/a/mine/ trunk/f; echo mine >> trunk/d/y
= up --non-interactive
= st
= resolve --accept recommended trunk/d/y
= resolve --accept working trunk/d/y
");
}

#[test]
fn a_merge_follows_moves_of_the_target() {
    run(r"
svn mv -q trunk/f trunk/moved
svn mv -q trunk/d trunk/dir
svn ci -q -m moves
sed -i s/c/theirs/ b/f b/d/x
svn ps -q p w b/f
svn ci -q -m edits
svn up -q
= merge --non-interactive ^/b trunk
= st
");
}

#[test]
fn a_merge_follows_moves_of_the_source() {
    run(r"
svn mv -q b/f b/moved
svn mv -q b/d b/dir
svn ci -q -m moves
sed -i s/e/theirs/ b/moved b/dir/x
svn ci -q -m edits
sed -i s/a/mine/ trunk/f trunk/d/x
svn ci -q -m mine
svn up -q
= merge --non-interactive ^/b trunk
= st
");
}

#[test]
fn a_picked_edit_finds_what_did_not_move() {
    run(r"
svn mv -q b/f b/moved
svn ci -q -m move
sed -i s/e/theirs/ b/moved
svn ci -q -m edit
svn up -q
= merge -c4 --non-interactive ^/b trunk
= st
");
}

#[test]
fn local_changes_of_a_directory_follow_its_move() {
    run(r"
svn mv -q trunk/d trunk/d2
sed -i s/e/theirs/ trunk/d2/x
svn ci -q -m move
svn up -q -r2
sed -i s/a/mine/ trunk/d/x trunk/d/e/z; echo n > trunk/d/new
svn add -q trunk/d/new
svn rm -q trunk/d/y
= up --non-interactive
= st
");
}

/// Where 1.14 loses properties that were changed here.
#[test]
fn properties_follow_a_move_too() {
    let side = sides::Side::new(Programs::ours());
    let steps = r"
svn mv -q trunk/d trunk/d2
svn ci -q -m move
svn up -q -r2
svn ps -q p mine trunk/d trunk/d/x
= up --non-interactive
= st
= pg p trunk/d2 trunk/d2/x";
    let said: Vec<String> =
        format!("{START}{steps}").lines().filter(|l| !l.is_empty()).map(|l| side.step(l)).collect();
    let last = said.last().unwrap();
    assert!(last.contains("trunk/d2 - mine") && last.contains("trunk/d2/x - mine"), "{said:?}");
    assert_eq!(said[said.len() - 2], " M      trunk/d2\n M      trunk/d2/x\n0\n");
}

/// Makes a conflict with the reference's program, runs a command at a terminal, and returns the screen, the exit
/// code, and what is there afterwards.
fn talk(
    programs: &Programs,
    scheme: Scheme,
    setup: &str,
    command: &str,
    answers: &[&str],
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    let hosted = Hosted::new(programs, folder.path(), scheme);
    let said = shell(&at, &format!("svn co -q {} wc", hosted.url));
    assert_eq!(said, "", "the start");
    let wc = format!("{at}/wc");
    assert_eq!(shell(&wc, &format!("set -e{START}{setup}")), "", "{setup}");
    let told = talked(programs, &wc, command, answers);
    let after = shell(
        &wc,
        "svn st; svn pl -vR .; for f in $(find . -name .svn -prune -o -type f -print | sort); do echo $f; cat $f; done",
    );
    let text = format!("{}\n{}\n{after}", told.screen, told.code);
    text.replace(&hosted.url, "URL").replace(&at, "FOLDER")
}

/// The same questions and the same outcome, for each list of answers.
fn converses(setup: &str, command: &str, all: &[&[&str]]) {
    converses_by(Scheme::File, setup, command, all);
}

/// The same, with a server of each family.
fn converses_by(scheme: Scheme, setup: &str, command: &str, all: &[&[&str]]) {
    for answers in all {
        let ours = talk(&Programs::ours(), scheme, setup, command, answers);
        let theirs = talk(&Programs::reference(), scheme, setup, command, answers);
        assert!(!theirs.contains("nothing more happens"), "{theirs}");
        assert_eq!(ours, theirs, "{scheme:?} {command} {answers:?}");
    }
}

#[test]
fn deletions_are_asked_about() {
    let setup = "svn rm -q trunk/f; svn ci -q -m gone; svn up -q -r2; echo mine >> trunk/f";
    converses(setup, "svn up", &[&["h", "a"], &["x", "i"], &["q"]]);
}

#[test]
fn files_that_both_sides_moved() {
    let setup = "svn mv -q b/f b/theirs; svn ci -q -m moved; sed -i s/e/E/ b/theirs; svn ci -q -m edit; svn up -q
svn mv -q trunk/f trunk/mine; sed -i s/a/A/ trunk/mine; svn ci -q -m mine; svn up -q";
    converses(setup, "svn merge ^/b trunk", &[&["h", "m"], &["M"], &["?", "r"]]);
}

#[test]
fn one_of_several_moves_is_chosen() {
    let setup = "svn cp -q trunk/f trunk/one; svn mv -q trunk/f trunk/two; svn ci -q -m moved; svn up -q -r2
sed -i s/a/mine/ trunk/f";
    converses(setup, "svn up", &[&["h", "d", "x", "9", "2", "h", "m"], &["d", "1", "m"], &["p"]]);
}

#[test]
fn directories_that_both_sides_added() {
    let setup = "mkdir trunk/n; echo theirs > trunk/n/a; echo t > trunk/n/t; svn add -q trunk/n; svn ci -q -m add; svn up -q -r2
mkdir trunk/n; echo mine > trunk/n/a; echo m > trunk/n/m; svn add -q trunk/n";
    converses(setup, "svn up", &[&["h", "m", "tf"], &["i"]]);
    let setup = "mkdir b/n; echo theirs > b/n/a; echo t > b/n/t; svn add -q b/n; svn ci -q -m add; svn up -q
mkdir trunk/n; echo mine > trunk/n/a; svn add -q trunk/n; svn ci -q -m mine; svn up -q";
    converses(setup, "svn merge -c3 ^/b trunk", &[&["h", "m", "mf"], &["R"], &["M", "tf"]]);
}

/// A patch makes no conflicts, in 1.14 and here: what does not fit is rejected, what is not there is skipped, and
/// no question is asked at once or later. Nodes in conflict are left alone.
#[test]
fn patches_ask_nothing() {
    let patch = "sed -i s/c/theirs/ trunk/f trunk/d/x; svn rm -q trunk/d/y; mkdir trunk/n; echo n > trunk/n/n
svn add -q trunk/n; svn ps -q p theirs trunk/f; svn mv -q trunk/d/e/z trunk/d/moved; svn diff --git > ../patch
svn revert -q -R --remove-added .; rm -rf trunk/n";
    let command = "svn patch ../patch; svn resolve -R .; svn resolve trunk/f; svn resolve --accept working -R .";
    for local in [
        "sed -i s/c/mine/ trunk/f; svn ps -q p mine trunk/f; sed -i s/c/mine/ trunk/d/y trunk/d/e/z",
        "svn rm -q trunk/f trunk/d/y; svn mv -q trunk/d/x trunk/d/elsewhere; mkdir trunk/n; echo m > trunk/n/n",
        "rm trunk/f; mkdir trunk/f; svn rm -q --force trunk/d; echo file > trunk/n",
    ] {
        converses(&format!("{patch}\n{local}"), command, &[&[]]);
    }
    // In conflict: a text, a property, and trees.
    let local = "sed -i s/c/other/ trunk/f; svn ps -q p other trunk/f; svn rm -q trunk/d; svn ci -q -m other
svn up -q -r2; sed -i s/c/mine/ trunk/f trunk/d/x; svn ps -q p mine trunk/f; svn up -q --accept postpone";
    let answers: [&[&str]; 2] = [&["i", "mf", "tf"], &["p", "p", "p", "p", "p"]];
    converses(&format!("{patch}\n{local}"), command, &answers);
}

/// What is found in the log, and the options, do not depend on how the repository is spoken to.
fn over_the_network(scheme: Scheme) {
    let gone = "svn rm -q trunk/f; svn ci -q -m gone; svn up -q -r2; echo mine >> trunk/f";
    converses_by(scheme, gone, "svn up", &[&["h", "a"], &["x", "i"]]);
    let moved = "svn cp -q trunk/f trunk/one; svn mv -q trunk/f trunk/two; svn ci -q -m moved; svn up -q -r2
sed -i s/a/mine/ trunk/f";
    converses_by(scheme, moved, "svn up", &[&["h", "d", "x", "9", "2", "h", "m"]]);
    let both = "svn mv -q b/f b/theirs; svn ci -q -m moved; sed -i s/e/E/ b/theirs; svn ci -q -m edit; svn up -q
svn mv -q trunk/f trunk/mine; sed -i s/a/A/ trunk/mine; svn ci -q -m mine; svn up -q";
    converses_by(scheme, both, "svn merge ^/b trunk", &[&["h", "m"], &["M"]]);
    let added = "mkdir b/n; echo theirs > b/n/a; echo t > b/n/t; svn add -q b/n; svn ci -q -m add; svn up -q
mkdir trunk/n; echo mine > trunk/n/a; svn add -q trunk/n; svn ci -q -m mine; svn up -q";
    converses_by(scheme, added, "svn merge -c3 ^/b trunk", &[&["h", "m", "mf"], &["R"]]);
    let follows = "svn mv -q b/f b/moved; svn mv -q b/d b/dir; svn ci -q -m moves; sed -i s/e/theirs/ b/moved b/dir/x
svn ci -q -m edits; sed -i s/a/mine/ trunk/f trunk/d/x; svn ci -q -m mine; svn up -q";
    converses_by(scheme, follows, "svn merge --non-interactive ^/b trunk", &[&[]]);
}

#[test]
fn over_svn() {
    over_the_network(Scheme::Svn);
}

#[test]
fn over_http() {
    over_the_network(Scheme::Http);
}

/// What the log said of moves explains the next conflicts of the same command, without another log; nothing is kept
/// afterwards.
#[test]
fn the_next_conflict_is_explained_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    let script = format!(
        "set -e; svnadmin create repo; svn co -q file://$PWD/repo m; cd m; mkdir d e; \
         for f in one two three; do seq 5 > d/$f; done; svn add -q d e; svn ci -qm 1; svn up -q; \
         for f in one two three; do svn mv -q d/$f e/$f; done; svn ci -qm 2; \
         for n in 3 4 5; do echo $n > $n; svn add -q $n; svn ci -qm r$n; done; cd ..; \
         printf 'exec svnserve -t --log-file {at}/log\\n' > tunnel; export SVN_SSH='sh {at}/tunnel'; \
         svn co -q -r1 svn+ssh://x{at}/repo wc; for f in one two three; do echo mine >> wc/d/$f; done; \
         svn up -q --accept postpone wc; rm log"
    );
    let mut command = std::process::Command::new("sh");
    let done = command.args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let logs = |files: &[&str]| {
        let mut command = Programs::ours().command("svn");
        command.args(["resolve", "-q", "--accept", "recommended"]).args(files);
        command.env("SVN_SSH", format!("sh {at}/tunnel")).current_dir(folder.path().join("wc"));
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        std::fs::remove_file(folder.path().join("log")).unwrap();
        log.lines().filter(|line| line.contains(" log (")).count()
    };
    let one = logs(&["d/one"]);
    assert!(one > 0);
    assert_eq!(logs(&["d/two", "d/three"]), one);
    assert!(!folder.path().join("wc/.svn/sapwood/history").exists());
    for file in ["one", "two", "three"] {
        let text = std::fs::read_to_string(folder.path().join("wc/e").join(file)).unwrap();
        assert_eq!(text, "1\n2\n3\n4\n5\nmine\n", "{file}");
    }
}

/// Links in conflict, to a folder, a file and nothing: each choice leaves the link that it says, and nothing else. (1.14
/// reads what the links lead to, fails, and leaves the working copy locked.)
#[test]
fn links_in_conflict() {
    let setup = "set -e
svnadmin create repo; U=file://$PWD/repo; svn co -q $U wc; cd wc; mkdir d1 d2 d3; echo f > f
ln -s d1 l; ln -s f lf; ln -s gone lg; svn add -q *; svn ci -q -m one
for l in l lf lg; do ln -sfn d2 $l; done; svn ci -q -m two; svn up -q -r1
for l in l lf lg; do ln -sfn d3 $l; done";
    let state = "svn st; find . -maxdepth 1 -name 'l*' -printf '%f %l;' | tr ';' '\\n' | sort";
    for (choice, links) in [
        ("mine-full", ["d3"; 3]),
        ("theirs-full", ["d2"; 3]),
        ("base", ["d1", "f", "gone"]),
        ("mine-conflict", ["d3"; 3]),
        ("theirs-conflict", ["d2"; 3]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display().to_string();
        assert_eq!(shell(&at, setup), "");
        let wc = format!("{at}/wc");
        let svn = Programs::ours().path("svn").display().to_string();
        let postponed = shell(&wc, &format!("{svn} up --accept postpone; {svn} st"));
        assert_eq!(postponed.matches("\nC       l").count(), 3, "{postponed}");
        let said = shell(&wc, &format!("{svn} resolve --accept {choice} l lf lg"));
        let names = ["l", "lf", "lg"];
        let mut wanted = String::new();
        for name in names.iter().filter(|_| choice != "theirs-full" && choice != "theirs-conflict")
        {
            wanted += &format!("M       {name}\n");
        }
        for (name, link) in names.iter().zip(links) {
            wanted += &format!("{name} {link}\n");
        }
        assert_eq!(shell(&wc, state), wanted, "{choice}: {said}");
        let reverted = shell(&wc, &format!("{svn} revert -q -R .; {state}"));
        assert_eq!(reverted, "l d2\nlf d2\nlg d2\n", "{choice}");
    }
}
