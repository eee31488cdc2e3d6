//! Whatever deletes or moves a directory for the user (updates, switches, merges, patches, shelves and the
//! resolution of conflicts): what is not versioned in it stays on disk, and lines that only this working copy has. 1.14
//! removes them in most of these.

use std::fs;
use std::path::Path;
use std::process::Command;

use sapwood_testkit::Programs;

/// A repository with `/t/e`, and in revision 3 `/t/e` moved to `/t/e2`; in revision 5 `/b/e` deleted; `/c` is a copy
/// of revision 2. A working copy `wc` of `/t` at revision 2, with a local change and things that are not versioned.
const START: &str = r"
set -e
svnadmin create repo
U=file://$PWD/repo
svn mkdir -qm 1 $U/t
svn co -q $U/t first
cd first
mkdir -p e/sub; printf 'a\nb\nc\n' > e/f; echo g > e/sub/g; : > e/empty
svn add -q e; svn ps -q svn:ignore '*.ign' e/sub; svn ci -qm 2; svn up -q
svn mv -q e e2; svn ci -qm 3
svn cp -qm 4 $U/t@2 $U/b; svn rm -qm 5 $U/b/e; svn cp -qm 6 $U/t@2 $U/c
cd ..
rm -rf first
svn co -q -r2 $U/t wc
cd wc
echo un > e/unversioned; mkdir -p e/udir/x; echo un > e/udir/x/y; ln -s nowhere e/ulink
echo un > e/sub/x.o; echo un > e/sub/x.ign; svnadmin create ../other; svn co -q ${U%repo}other e/inner
echo un > e/inner/own
";

/// What is not versioned: files and links below `wc`.
const UNVERSIONED: [&str; 6] =
    ["e/unversioned", "e/udir/x/y", "e/ulink", "e/sub/x.o", "e/sub/x.ign", "e/inner/own"];

struct Place(tempfile::TempDir);

impl Place {
    fn new(changes: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.run(&Programs::reference(), "", START);
        place.run(&Programs::reference(), "wc", changes);
        place
    }

    fn wc(&self) -> std::path::PathBuf {
        self.0.path().join("wc")
    }

    /// Runs a script; what it says.
    fn run(&self, programs: &Programs, folder: &str, script: &str) -> String {
        let mut command = Command::new("sh");
        sapwood_testkit::programs::environment(&mut command);
        command.args(["-c", script]).current_dir(self.0.path().join(folder));
        command.env("PATH", format!("{}:/usr/bin:/bin", programs.dir().display()));
        command.env("U", format!("file://{}/repo", self.0.path().display()));
        command.env("SVN_EXPERIMENTAL_COMMANDS", "shelf3");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{said}\n{errors}");
        said + &errors
    }

    fn ours(&self, script: &str) -> String {
        self.run(&Programs::ours(), "wc", script)
    }

    /// Nothing of what is not versioned is gone.
    fn is_all_there(&self, what: &str, said: &str) {
        for name in UNVERSIONED {
            let there = fs::symlink_metadata(self.wc().join(name)).is_ok();
            assert!(there, "{what}: '{name}' is gone\n{said}");
        }
        self.is_sound(what);
    }

    /// The reference finds nothing wrong with what is left.
    fn is_sound(&self, what: &str) {
        let status = self.run(&Programs::reference(), "wc", "svn st; svn cleanup");
        assert!(!status.contains('!') && !status.contains('~'), "{what}: {status}");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.wc().join(name)).unwrap_or_default()
    }
}

/// A change of `e` from elsewhere, and what was done here before.
fn stays(changes: &str, operation: &str) -> Place {
    let place = Place::new(changes);
    let said = place.ours(operation);
    place.is_all_there(operation, &said);
    place
}

/// As [`stays`]; and there is no conflict left.
fn follows(changes: &str, operation: &str) -> Place {
    let place = stays(changes, operation);
    let status = place.ours("svn st");
    assert!(status.lines().any(|line| line == "?       e"), "{operation}: {status}");
    place
}

#[test]
fn an_update_that_follows_a_move() {
    let place = follows("echo mine >> e/f", "svn up < /dev/null");
    assert_eq!(place.text("e2/f"), "a\nb\nc\nmine\n");
    assert!(!Path::new(&place.wc().join("e/f")).exists());
    let changes = "echo mine >> e/f; svn up -q --accept postpone";
    follows(changes, "svn resolve -q --accept recommended e");
    follows("echo mine >> e/f", "svn up --non-interactive");
    follows("echo mine >> e/f", "svn switch --ignore-ancestry --non-interactive $U/t");
    follows("echo mine >> e/sub/g; rm e/f", "svn up --non-interactive");
    follows("svn ps -q p v e", "svn up --non-interactive");
}

#[test]
fn updates_without_changes_of_the_user() {
    stays("", "svn up --non-interactive");
    stays("", "svn switch -q --ignore-ancestry $U/b");
    stays("", "svn up -q --set-depth exclude e || svn up -q --set-depth empty .");
}

#[test]
fn what_was_added_here_comes_along_or_stays() {
    let added = "echo mine >> e/f; echo add > e/added; mkdir e/newdir; echo n > e/newdir/n; svn add -q e/added e/newdir; \
                 echo later > e/newdir/u";
    let place = follows(added, "svn up --non-interactive");
    assert_eq!(place.text("e2/added") + &place.text("e2/newdir/n"), "add\nn\n");
    assert_eq!(place.text("e/newdir/u"), "later\n");
    // A folder in the place of a versioned file, and a link.
    let obstructed = "echo mine >> e/f; rm e/sub/g e/empty; mkdir e/sub/g; echo in > e/sub/g/x; \
                      ln -s sub/g/x e/empty";
    let place = follows(obstructed, "svn up --non-interactive");
    assert_eq!(place.text("e/sub/g/x") + &place.text("e2/sub/g"), "in\ng\n");
    assert_eq!(place.text("e/empty") + &place.text("e2/empty"), "in\n");
    // Something is in the way there.
    let place = Place::new(&format!("{added}; mkdir e2; echo obstacle > e2/added"));
    let said = place
        .ours("svn up --force --non-interactive; svn resolve -q --accept recommended e || true");
    let kept = place.text("e/added") + &place.text("e2/added");
    assert!(kept.contains("add\n") && kept.contains("obstacle\n"), "{kept}\n{said}");
}

#[test]
fn merges() {
    stays(
        "svn switch -q --ignore-ancestry $U/c",
        "svn merge --ignore-ancestry --non-interactive -c5 $U/b .",
    );
    stays(
        "svn switch -q --ignore-ancestry $U/c",
        "svn merge --force --ignore-ancestry --non-interactive -c5 $U/b .",
    );
    stays(
        "svn switch -q --ignore-ancestry $U/c; echo mine >> e/f",
        "svn merge --force --ignore-ancestry --non-interactive -c5 $U/b .",
    );
}

/// Only what is ignored is left in the directory: that does not count as a change.
#[test]
fn a_merge_that_deletes_what_holds_ignored_files() {
    let place = Place::new(
        "svn switch -q --ignore-ancestry $U/c; rm -rf e/unversioned e/udir e/ulink e/inner e/sub/x.ign",
    );
    let said = place.ours("svn merge --ignore-ancestry --non-interactive -c5 $U/b .");
    assert_eq!(place.text("e/sub/x.o"), "un\n", "{said}");
    assert!(place.ours("svn st").contains("D       e\n"));
    place.is_sound("ignored files");
}

#[test]
fn a_deletion_that_is_accepted() {
    let place = Place::new("echo mine >> e/f; echo add > e/added; svn add -q e/added");
    let said = place.ours("svn switch --ignore-ancestry --accept postpone $U/b; svn info e");
    assert!(said.contains("Tree conflict"), "{said}");
    // There is no such word for `--accept`: it is what the question offers.
    let program = Programs::ours();
    let mut command = program.command("svn");
    command.arg("resolve").arg(place.wc().join("e"));
    let told = sapwood_testkit::terminal::converse(&command, &[("Quit resolution: ", "a")]);
    assert!(told.screen.contains("marked as resolved"), "{}", told.screen);
    place.is_all_there("accept", &told.screen);
    assert_eq!(place.text("e/added"), "add\n", "{}", told.screen);
}

#[test]
fn patches_and_shelves() {
    let patch = "svn rm -q --keep-local e; svn diff --git > ../patch; svn revert -q -R e";
    let place = stays(patch, "svn patch --strip 1 ../patch");
    assert!(place.ours("svn st e/f").starts_with('D'));
    // A directory that holds nothing but ignored files goes from the database, and they stay.
    let only = "rm -rf e/unversioned e/udir e/ulink e/inner e/sub/x.ign";
    let place = Place::new(&format!("{patch}; {only}"));
    place.ours("svn patch --strip 1 ../patch");
    assert_eq!(place.text("e/sub/x.o"), "un\n");
    // What is shelved is a deletion of the whole directory.
    let place = Place::new(only);
    let shelve = "svn rm -q --keep-local e; svn x-shelve -q s e; svn st > ../shelved";
    let said = place.ours(&format!("{shelve}; svn x-unshelve -q s"));
    assert_eq!(place.text("e/sub/x.o"), "un\n", "{said}");
}

/// Lines that the patch does not know: before, after and in between, of a whole file that was empty, and with the
/// patch the other way round.
#[test]
fn lines_that_a_patch_does_not_know() {
    let patch = "svn rm -q --keep-local e; svn diff PLAIN > ../patch; svn revert -q -R e";
    for (form, changes, file) in [
        ("--git", "echo more >> e/f", "e/f"),
        ("", "echo more >> e/f", "e/f"),
        ("--git", "(echo top; cat e/f) > x; mv x e/f", "e/f"),
        ("--git", "sed -i 's/b/b\\nmore/' e/f", "e/f"),
        ("--git", "echo more > e/empty", "e/empty"),
        ("--git", "printf end >> e/sub/g", "e/sub/g"),
    ] {
        let place = Place::new(&format!("{}; {changes}", patch.replace("PLAIN", form)));
        let before = place.text(file);
        // In git's form the paths begin at the repository's root.
        let strip = if form.is_empty() { 0 } else { 1 };
        let dry = place.ours(&format!("svn patch --strip {strip} --dry-run ../patch"));
        let said = place.ours(&format!("svn patch --strip {strip} ../patch"));
        assert_eq!(place.text(file), before, "{form} {changes}: {said}");
        let rejected = place.text(&format!("{file}.svnpatch.rej"));
        let tells = if file == "e/empty" {
            said.contains("Skipped 'e/empty'")
        } else {
            rejected.contains("@@ -1,")
        };
        assert!(tells, "{form} {changes}: {said}\n{rejected}");
        let line = |said: &str| {
            said.lines().filter(|l| l.contains(file)).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(line(&dry), line(&said), "a dry run says the same");
    }
    let reverse = "echo n > e/new; svn add -q e/new; svn diff e/new > ../patch; echo more >> e/new";
    let place = Place::new(reverse);
    place.ours("svn patch --reverse-diff ../patch");
    assert_eq!(place.text("e/new"), "n\nmore\n");
}
