//! Situations of Subversion's own tests of its resolver, and every answer that can be given: the same conflict, the
//! same question, and the same outcome by ours and by the reference.
//!
//! The reference makes a history and a working copy. Each program makes the conflict in a copy of that, and
//! resolves it at a terminal in copies of the reference's: once for each letter that the reference offers.
//! `SAPWOOD_LONG=1` tries all letters, each day's tests one of each situation.

use crate::common::talk;

use sapwood_testkit::Programs;
use talk::talked;

/// A trunk `A` in revision 1 and its branch `A1` in revision 2. `edit FILE LINE WORD` changes a line.
const START: &str = r#"
export SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS=yes
set -e
ci() { svn ci -q -m "$1"; svn up -q; }
edit() { sed -i "$2s/\$/ $3/" $1; }
mkdir -p A/B/E A/D/G
for f in A/mu A/B/lambda A/B/E/alpha A/B/E/beta A/D/G/pi A/D/G/rho; do seq 9 | sed "s|^|$f |" > $f; done
svn add -q A; svn ps -q common value A/mu; ci one
svn cp -q A A1; ci two
"#;

/// Letters that ask for another path before the options come again.
const ASK_FOR_PATHS: &str = "dDwW";

/// A repository and a working copy.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(setup: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        let said = place.shell("", "svnadmin create repo; svn co -q file://$PWD/repo start");
        assert_eq!(said, "", "the start");
        assert_eq!(place.shell("start", &format!("{START}{setup}")), "", "{setup}");
        place
    }

    fn shell(&self, at: &str, line: &str) -> String {
        talk::shell(&self.path(at), line)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// A copy, `wc`, in place of the one before.
    fn copy(&self, from: &str) {
        assert_eq!(self.shell("", &format!("rm -rf wc; cp -a {from} wc")), "");
    }

    /// What a command says, in order of lines, and what is there afterwards.
    fn conflict(&self, programs: &Programs, command: &str) -> String {
        self.copy("start");
        let mut svn = programs.command("svn");
        svn.args(command.split(' ')).args(["--accept", "postpone"]).current_dir(self.path("wc"));
        let output = svn.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let out = text(&output.stdout);
        let mut lines: Vec<&str> = out.lines().collect();
        lines.sort_unstable();
        format!("{}\n{}{}", lines.join("\n"), text(&output.stderr), self.state())
    }

    fn state(&self) -> String {
        self.shell(
            "wc",
            "svn st; svn pl -vR .; svn info -R | tr '\\n' '~' | sed 's/~~/\\n/g' | grep -iE 'conflict|moved|copied' \
             | sed 's/Text Last Updated[^~]*~//' | sort; svn diff --git | grep -v '^[-+][-+][-+]'; \
             find . -name .svn -prune -o -type f -print | sort | while read f; do echo $f; cat $f; done",
        )
    }

    /// One way through the questions: what is on the screen, and what is there afterwards.
    fn resolve(&self, programs: &Programs, answers: &[&str]) -> (String, String) {
        self.copy("conflict");
        let talk = talked(programs, &self.path("wc"), "svn resolve -R .", answers);
        (talk.screen, format!("{}\n{}", talk.code, self.state()))
    }
}

/// What is said of each conflict, in the order of the words: those that are left after others were resolved come once more, and the reference
/// has them in the order of a hash table whose seed is the time.
fn by_conflict((screen, after): &(String, String)) -> String {
    const BEGIN: &str = "Searching tree conflict details for";
    let mut parts: Vec<&str> = screen.split(BEGIN).map(str::trim_end).collect();
    if let Some(conflicts) = parts.get_mut(1..) {
        conflicts.sort_unstable();
    }
    format!("{}\n{after}", parts.join(BEGIN))
}

/// The letters of the options that a screen offers first, but those that change nothing.
fn letters(screen: &str) -> Vec<String> {
    let Some((_, rest)) = screen.split_once("Select: ") else { return Vec::new() };
    let mut found = Vec::new();
    for piece in rest.split('(').skip(1) {
        let Some((letter, _)) = piece.split_once(") ") else { continue };
        let said: Vec<&str> = found.iter().map(String::as_str).collect();
        if letter.len() <= 2 && !["h", "q", "p"].contains(&letter) && !said.contains(&letter) {
            found.push(letter.to_owned());
        }
    }
    found
}

/// Compares the conflict that a command makes, and its resolutions.
fn same(name: &str, setup: &str, command: &str) {
    let (ours, theirs) = (Programs::ours(), Programs::reference());
    let place = Place::new(setup);
    let (one, other) = (place.conflict(&ours, command), place.conflict(&theirs, command));
    assert_eq!(one, other, "{name}: {command}");
    assert_eq!(place.shell("", "mv wc conflict"), "");
    const POSTPONED: [&str; 8] = ["p"; 8];
    let first = place.resolve(&theirs, &[&["h"][..], &POSTPONED].concat());
    let mut all = letters(&first.0);
    if all.is_empty() {
        // What is recommended is done without a question.
        assert!(first.0.contains("Applying recommended resolution"), "{name}: {first:?}");
        let one = place.resolve(&ours, &[&["h"][..], &POSTPONED].concat());
        return assert_eq!(by_conflict(&one), by_conflict(&first), "{name}");
    }
    if !sapwood_testkit::long() {
        let which = name.len() % all.len();
        all = vec![all.swap_remove(which)];
    }
    for letter in all {
        let more: &[&str] = match ASK_FOR_PATHS.contains(letter.as_str()) {
            true => &["1", "m", "M", "a"],
            false => &[],
        };
        let answers = [&["h", letter.as_str()][..], more, &POSTPONED].concat();
        let (one, other) = (place.resolve(&ours, &answers), place.resolve(&theirs, &answers));
        assert!(!other.0.contains("nothing more happens"), "{name} {answers:?}: {other:?}");
        assert_eq!(by_conflict(&one), by_conflict(&other), "{name} {answers:?}");
    }
}

/// Runs some situations: a name, what is done before, and the command that meets a conflict.
fn all(list: &[(&str, &str, &str)]) {
    let only = std::env::var("SAPWOOD_CONFLICT").ok();
    let mut failed = Vec::new();
    for (at, (name, setup, command)) in list.iter().enumerate() {
        let wanted = match &only {
            Some(only) => only == name,
            None => sapwood_testkit::long() || at % 3 == 0,
        };
        // All of them are tried: one that fails says little of the others.
        if wanted && std::panic::catch_unwind(|| same(name, setup, command)).is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

const MERGE: &str = "merge ^/A A1";

#[test]
fn both_sides_add() {
    let files = "echo trunk > A/new; svn add -q A/new; svn ps -q prop trunk A/new; ci t
echo the branch > A1/new; svn add -q A1/new; svn ps -q prop branch A1/new; ";
    let dirs = "mkdir A/n; echo trunk > A/n/f; svn add -q A/n; svn ps -q prop trunk A/n/f; ci t
mkdir A1/n; echo the branch > A1/n/f; svn add -q A1/n; svn ps -q prop branch A1/n/f; ci b; ";
    let update = "svn up -q -r2; ";
    all(&[
        ("files", &format!("{files} ci b"), MERGE),
        ("files, switched", &format!("{files} ci b; svn up -q; echo local > A1/local; svn add -q A1/local
cd A1; echo more > ../A/local; svn add -q ../A/local; svn ci -q -m l ../A; cd .."), "switch ^/A A1"),
        ("dirs", dirs, MERGE),
        ("dirs, file changed on trunk", &format!("{dirs} edit A/n/f 1 changed; ci t2"), MERGE),
        ("dirs, file changed on branch", &format!("{dirs} edit A1/n/f 1 changed; ci b2"), MERGE),
        ("dirs, the incoming one has moved", "mkdir orig; echo trunk > orig/f; svn add -q orig; svn ps -q prop trunk orig/f
ci t; svn mv -q orig A/n; ci mv; mkdir A1/n; echo branch > A1/n/f; svn add -q A1/n; svn ps -q prop branch A1/n/f; ci b", MERGE),
        ("two added dirs with files of the same name", "mkdir -p A/n/s A1/n/s; echo t > A/n/s/f; echo b > A1/n/s/f
echo t > A/n/s/t; echo b > A1/n/s/b; svn add -q A/n A1/n; ci both", MERGE),
        ("update, files", &format!("echo trunk > A/new; svn add -q A/new; svn ps -q prop t A/new; ci t; {update}
echo mine, local > A/new; svn add -q A/new; svn ps -q prop m A/new"), "up"),
        ("update, dirs", &format!("mkdir A/n; echo t > A/n/f; svn add -q A/n; ci t; {update} mkdir A/n; echo mine > A/n/f
svn add -q A/n; svn ps -q prop m A/n"), "up"),
        ("update, dirs with things in the way", &format!("mkdir -p A/n/d1 A/n/d2; echo t > A/n/f; echo t > A/n/d1/f; echo t > A/n/d2/f
svn add -q A/n; ci t; {update} mkdir -p A/n/f; echo mine > A/n/d1; svn add -q A/n; echo m > A/n/d2"), "up"),
        ("update, an unversioned file", &format!("echo trunk > A/new; svn add -q A/new; ci t; {update} echo mine > A/new"), "up"),
        ("switch, an unversioned file", "echo trunk > A1/new; svn add -q A1/new; ci t; echo mine here > A/new", "switch ^/A1 A"),
        ("update, an unversioned dir", &format!("mkdir A/n; echo trunk > A/n/f; svn add -q A/n; ci t; {update} mkdir A/n; echo mine > A/n/f"), "up"),
        ("switch, an unversioned dir", "mkdir A1/n; echo trunk > A1/n/f; svn add -q A1/n; ci t; mkdir A/n; echo mine > A/n/f", "switch ^/A1 A"),
    ]);
}

#[test]
fn files_that_went() {
    let update = "svn up -q -r2; ";
    let gone = "svn rm -q A/mu; ci gone; ";
    let moved = "svn mv -q A/mu A/moved; edit A/moved 9 theirs; ci moved; ";
    let edited = "edit A1/mu 1 mine; ci edit; ";
    all(&[
        ("merge, deleted", &format!("{gone}{edited}"), MERGE),
        ("merge, moved", &format!("{moved}{edited}"), MERGE),
        ("update, deleted", &format!("{gone}{update} edit A/mu 1 mine"), "up"),
        ("update, moved", &format!("{moved}{update} edit A/mu 1 mine"), "up"),
        ("switch, moved", "svn mv -q A1/mu A1/moved; edit A1/moved 9 theirs; ci moved; edit A/mu 1 mine", "switch ^/A1 A"),
        ("both deleted", &format!("{gone} svn rm -q A1/mu; ci gone"), MERGE),
        ("moved, deleted here", &format!("{moved} svn rm -q A1/mu; ci gone"), MERGE),
        ("moved, text in conflict", "svn mv -q A/mu A/moved; edit A/moved 1 theirs; ci moved; edit A1/mu 1 mine; ci edit", MERGE),
        ("moved, property in conflict", "svn ps -q p one A/mu; ci p; svn merge -q ^/A A1; ci m; svn mv -q A/mu A/moved
svn ps -q p theirs A/moved; ci moved; svn ps -q p mine A1/mu; ci mine", MERGE),
        ("moved, keywords", "echo '$Id$ $Rev$' >> A/mu; svn ps -q svn:keywords 'Id Rev' A/mu; ci k; svn merge -q ^/A A1; ci m
svn mv -q A/mu A/moved; edit A/moved 9 theirs; ci moved; edit A1/mu 1 mine; ci mine", MERGE),
        ("moved, crlf", "sed -i 's/$/\\r/' A/mu; svn ps -q svn:eol-style CRLF A/mu; ci k; svn merge -q ^/A A1; ci m
svn mv -q A/mu A/moved; sed -i 's/ 9/ 9 theirs/' A/moved; ci moved; sed -i 's/ 1/ 1 mine/' A1/mu; ci mine", MERGE),
        ("moved, native line ends", "svn ps -q svn:eol-style native A/mu; ci k; svn merge -q ^/A A1; ci m
svn mv -q A/mu A/moved; edit A/moved 9 theirs; ci moved; edit A1/mu 1 mine; ci mine", MERGE),
        ("moved twice", "svn mv -q A/mu A/moved; ci m1; svn mv -q A/moved A/again; edit A/again 9 theirs; ci m2; edit A1/mu 1 mine; ci mine", MERGE),
        ("a new line of history", "svn mv -q A/mu A/moved; ci m1; svn rm -q A/moved; ci gone; echo other > A/moved; svn add -q A/moved; ci new
svn mv -q A/moved A/last; ci m2; edit A1/mu 1 mine; ci mine", MERGE),
        ("moved away here", "svn mv -q A1/mu A1/moved; ci moved; edit A/mu 1 theirs; ci edit", MERGE),
        ("moved away here, local", "edit A/mu 1 theirs; ci edit; svn mv -q A1/mu A1/moved", MERGE),
        ("cherry-pick after a move", "svn mv -q A/mu A/moved; ci moved; edit A/moved 9 theirs; ci edit", "merge -c4 ^/A A1"),
        ("cherry-pick of a move with a property gone", "svn mv -q A/mu A/moved; svn pd -q common A/moved; ci moved; edit A/moved 9 e; ci edit",
            "merge -c4 ^/A A1"),
        ("update, deleted here too", &format!("{gone}{update} svn rm -q A/mu"), "up"),
        ("update, deleted in a deleted dir", "svn rm -q A/D/G/pi; ci gone; svn up -q -r2; svn rm -q A/D", "up"),
        ("unrelated moves are not suggested", "svn rm -q A/mu; svn mv -q A/B/lambda A/B/l2; ci gone; edit A1/mu 1 mine; ci mine", MERGE),
        ("missing here, moved by its dir", "svn mv -q A1/B A1/moved; ci m; edit A/B/lambda 1 theirs; ci edit", MERGE),
    ]);
}

#[test]
fn directories_that_went() {
    let moved = "svn mv -q A/B A/moved; edit A/moved/lambda 9 theirs; ci moved; ";
    let update = "svn up -q -r2; ";
    all(&[
        ("merge, moved", &format!("{moved} edit A1/B/lambda 1 mine; ci mine"), MERGE),
        ("merge, moved, local edit", &format!("{moved} edit A1/B/lambda 1 mine"), MERGE),
        ("merge, moved, local add", &format!("{moved} echo new > A1/B/new; svn add -q A1/B/new"), MERGE),
        ("merge, moved, added on the branch", &format!("{moved} echo new > A1/B/new; svn add -q A1/B/new; ci add"), MERGE),
        ("merge, moved with a moved file", "svn mv -q A/B A/moved; svn mv -q A/moved/lambda A/moved/l2; ci moved; edit A1/B/lambda 1 mine; ci mine", MERGE),
        ("merge, moved across branches", "svn cp -q A A2; ci branch; svn mv -q A/B A2/fromA; ci moved; edit A1/B/lambda 1 mine; ci mine", MERGE),
        ("merge, deleted", "svn rm -q A/B; ci gone; edit A1/B/lambda 1 mine; svn ps -q p v A1/B; ci mine", MERGE),
        ("merge, both deleted", "svn rm -q A/B A1/B; ci gone", MERGE),
        ("cherry-pick within a moved dir", "svn mv -q A/B A/moved; ci moved; edit A/moved/lambda 9 theirs; ci edit", "merge -c4 ^/A A1"),
        ("update, moved with a moved file", &format!("svn mv -q A/B A/moved; svn mv -q A/moved/lambda A/moved/l2; ci moved; {update} edit A/B/lambda 1 mine"), "up"),
        ("update, its parent moved away and back", &format!("svn mv -q A/D/G A/D/H; ci m1; svn mv -q A/D A/DD; ci m2; svn mv -q A/DD A/D; ci m3; {update} edit A/D/G/pi 1 mine"), "up"),
        ("update, moved", &format!("{moved}{update} edit A/B/lambda 1 mine"), "up"),
        ("update, deleted", &format!("svn rm -q A/B; ci gone; {update} edit A/B/lambda 1 mine; echo n > A/B/n; svn add -q A/B/n"), "up"),
        ("switch, moved", "svn mv -q A1/B A1/moved; edit A1/moved/lambda 9 theirs; ci moved; edit A/B/lambda 1 mine", "switch ^/A1 A"),
        ("a dir where a file moved", "svn mv -q A/mu A/moved; edit A/moved 9 t; ci moved; svn rm -q A1/mu; ci gone; mkdir A1/mu; echo x > A1/mu/x
svn add -q A1/mu; ci dir", MERGE),
    ]);
}

#[test]
fn both_sides_move() {
    let update = "svn up -q -r2; ";
    all(&[
        ("merge, files", "svn mv -q A/mu A/theirs; ci t; svn mv -q A1/mu A1/mine; ci m", MERGE),
        (
            "merge, files, edited there",
            "svn mv -q A/mu A/theirs; edit A/theirs 9 theirs; ci t; svn mv -q A1/mu A1/mine; ci m",
            MERGE,
        ),
        (
            "merge, files, edited on both sides",
            "svn mv -q A/mu A/theirs; edit A/theirs 9 theirs; ci t; svn mv -q A1/mu A1/mine; edit A1/mine 1 mine; ci m",
            MERGE,
        ),
        (
            "merge, files, to the same name",
            "svn mv -q A/mu A/same; edit A/same 9 theirs; ci t; svn mv -q A1/mu A1/same; edit A1/same 1 mine; ci m",
            MERGE,
        ),
        ("merge, dirs", "svn mv -q A/B A/theirs; ci t; svn mv -q A1/B A1/mine; ci m", MERGE),
        (
            "merge, dirs, edited on both sides",
            "svn mv -q A/B A/theirs; edit A/theirs/lambda 9 t; ci t; svn mv -q A1/B A1/mine; edit A1/mine/lambda 1 m; ci m",
            MERGE,
        ),
        (
            "update, files",
            &format!("svn mv -q A/mu A/theirs; ci t; {update} svn mv -q A/mu A/mine"),
            "up",
        ),
        (
            "update, files, edited there",
            &format!(
                "svn mv -q A/mu A/theirs; edit A/theirs 9 t; ci t; {update} svn mv -q A/mu A/mine; edit A/mine 1 m"
            ),
            "up",
        ),
        (
            "update, dirs",
            &format!(
                "svn mv -q A/B A/theirs; edit A/theirs/lambda 9 t; ci t; {update} svn mv -q A/B A/mine; edit A/mine/lambda 1 m"
            ),
            "up",
        ),
    ]);
}

/// What moved on within its moved directory: 1.14 says nothing and does nothing. Here it is said, nothing is done, and
/// the conflict stays.
#[test]
fn what_moved_on_is_left_alone() {
    let moves = "svn mv -q A/D/G A/D/H; ci m1; svn mv -q A/D A/DD; ci m2; svn up -q -r2; ";
    for local in ["edit A/D/G/pi 1 mine", "echo new > A/D/G/new; svn add -q A/D/G/new"] {
        let place = Place::new(&format!("{moves}{local}"));
        place.conflict(&Programs::reference(), "up");
        let before = place.state();
        let mut svn = Programs::ours().command("svn");
        svn.args(["resolve", "--accept", "recommended", "A/D"]).current_dir(place.path("wc"));
        let output = svn.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("Cannot merge local changes"), "{said}");
        assert_eq!(place.state(), before, "{local}");
    }
}
