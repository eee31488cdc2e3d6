//! Shelves by ours and by 1.14. Each script names two programs, `A` and `B`, and is run with each pair of ours and the
//! reference's: all four runs say the same and end with the same working copy. So whatever one program shelves, the
//! other brings back.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use sapwood_testkit::Programs;

/// A repository (`repo`) and a working copy of it (`wc`), where scripts run.
struct Side {
    folder: tempfile::TempDir,
    /// The programs that scripts call `A` and `B`.
    programs: [PathBuf; 2],
    store: &'static str,
}

/// Texts in folders, a binary file, properties of a file and of a folder, in one revision.
const START: &str = r"mkdir -p d/e empty; for f in f g d/h d/e/i; do seq 1 10 > $f; done; printf 'x\0y' > bin
svn add -q f g d empty bin; svn ps -q p v f; svn ps -q dp v d; svn ps -q svn:mime-type application/octet-stream bin
svn ci -q -m one; svn up -q";

impl Side {
    fn new(a: &Programs, b: &Programs, store: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let side = Self { folder, programs: [a.path("svn"), b.path("svn")], store };
        fs::create_dir(side.wc()).unwrap();
        let said = side.run("svnadmin create ../repo; svn co -q file://${PWD%/*}/repo .");
        assert_eq!(said, "0\n", "making a working copy");
        side
    }

    fn wc(&self) -> PathBuf {
        self.folder.path().join("wc")
    }

    /// The folder of the store.
    fn shelves(&self) -> PathBuf {
        self.wc().join(".svn/experimental/shelves").join(if self.store == "shelf2" {
            "v2"
        } else {
            "v3"
        })
    }

    /// Runs a line of a script; what it said, in the order of lines, as what is told of paths has no order.
    fn run(&self, line: &str) -> String {
        let reference = Programs::reference();
        let mut command = Command::new("sh");
        sapwood_testkit::programs::environment(&mut command);
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", reference.dir().display());
        let line =
            format!("A() {{ \"$PROGRAM_A\" \"$@\"; }}; B() {{ \"$PROGRAM_B\" \"$@\"; }}\n{line}");
        let output = command
            .args(["-c", &line])
            .env("PROGRAM_A", &self.programs[0])
            .env("PROGRAM_B", &self.programs[1])
            .env("SVN_EXPERIMENTAL_COMMANDS", self.store)
            .env("PATH", path)
            .current_dir(self.wc())
            .output()
            .unwrap();
        let mut out: Vec<String> =
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        out.sort();
        let error = String::from_utf8_lossy(&output.stderr);
        // Of several paths that are in the way the reference tells of the first in a hash table.
        let told = |line: &str| match line.split_once(" already has status") {
            Some(_) => "some path has a status\n".to_owned(),
            None => format!("{line}\n"),
        };
        let error: String = error.lines().map(told).collect();
        let code = output.status.code().unwrap_or(-1);
        out.push(format!("{error}{code}\n"));
        out.join("\n").replace(&self.folder.path().display().to_string(), "FOLDER")
    }

    /// The working copy: status, properties, and what is on disk.
    fn state(&self) -> String {
        self.run(
            "svn st -v; svn pl -vR; svn diff --git; find . -path ./.svn -prune -o -printf '%p %y %m %l\\n' | sort; \
             find . -path ./.svn -prune -o -type f -print | sort | xargs -d '\\n' md5sum",
        )
    }

    /// The files of a store, with their modes.
    fn stored(&self) -> String {
        let dir = self.shelves();
        let dir = dir.display();
        self.run(&format!(
            "cd {dir} 2>/dev/null || exit 0; find . -printf '%p %y %m\\n' | sort; find . -type f | sort | xargs -d '\\n' md5sum"
        ))
    }
}

/// Lines that only one of two has.
fn differing(ours: &str, theirs: &str) -> String {
    let only = |a: &str, b: &str| -> Vec<String> {
        a.lines().filter(|line| !b.lines().any(|other| other == *line)).map(str::to_owned).collect()
    };
    format!("only here: {:#?}\nonly with 1.14: {:#?}", only(ours, theirs), only(theirs, ours))
}

/// Subcommands after which working copies and stores are compared.
const CHANGING: [&str; 5] =
    ["x-shelve ", "x-unshelve", "x-shelf-save", "x-shelf-drop", "copy-mods"];

/// Runs a script with all four pairs of programs.
fn everyone(store: &'static str, script: &str) {
    pairs(store, script, true);
}

/// The same, without 1.14 as `A` where it cannot do what is asked.
fn ours_first(store: &'static str, script: &str) {
    pairs(store, script, false);
}

fn pairs(store: &'static str, script: &str, reference_shelves: bool) {
    let (ours, reference) = (Programs::ours(), Programs::reference());
    let mut sides = vec![Side::new(&ours, &ours, store)];
    sides.push(Side::new(&ours, &reference, store));
    if reference_shelves {
        sides.push(Side::new(&reference, &ours, store));
        sides.push(Side::new(&reference, &reference, store));
    }
    let names = ["ours and ours", "ours and theirs", "theirs and ours", "theirs and theirs"];
    let lines = START.lines().chain(script.lines()).map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        let said: Vec<String> = sides.iter().map(|side| side.run(line)).collect();
        let last = said.last().unwrap();
        for (name, said) in names.iter().zip(&said) {
            assert!(said == last, "{name}: {line}\n{said}\n--- 1.14:\n{last}");
        }
        if !CHANGING.iter().any(|name| line.contains(name)) {
            continue;
        }
        let states: Vec<String> = sides.iter().map(Side::state).collect();
        let last = states.last().unwrap();
        for (name, state) in names.iter().zip(&states) {
            assert!(state == last, "{name}: {line}\n{}", differing(state, last));
        }
        if store == "shelf2" && reference_shelves {
            let stored: Vec<String> = sides.iter().map(Side::stored).collect();
            let last = stored.last().unwrap();
            for (name, stored) in names.iter().zip(&stored) {
                assert!(stored == last, "{name}: {line}\n{}", differing(stored, last));
            }
        }
    }
}

/// Changes of all kinds that store `v2` takes.
const CHANGES: &str = r"echo more >> f; svn ps -q p w f; svn ps -q q new f; svn ps -q dp w d; svn ps -q rp v .; printf 'z\0' > bin
    svn rm -q d/e/i; svn rm -q g; seq 5 > g; svn add -q g; svn ps -q gp v g
    : > d/none; seq 3 > d/new; chmod +x d/new; svn add -q d/none d/new; svn ps -q np v d/new
    : > d/h; svn pd -q dp d";

#[test]
fn what_one_shelves_the_other_brings_back() {
    everyone(
        "shelf2",
        &format!(
            r"{CHANGES}
            A x-shelve foo -m message
            B x-shelf-list; B x-shelves -q; B x-shelf-log foo; B x-shelf-list-by-paths; B x-shelf-list-by-paths d/e f
            B x-shelf-diff --summarize foo
            B x-unshelve foo
            A x-shelve foo
            B x-unshelve --drop -q
            A x-shelves"
        ),
    );
}

#[test]
fn the_variable_makes_the_subcommands() {
    let side = Side::new(&Programs::ours(), &Programs::reference(), "");
    for name in ["diff", "drop", "list", "list-by-paths", "log", "save", "e"]
        .map(|name| if name == "e" { "x-shelve".to_owned() } else { format!("x-shelf-{name}") })
        .iter()
        .map(String::as_str)
        .chain(["x-unshelve", "x-shelves", "x-wc-copy-mods"])
    {
        let said = side.run(&format!("A {name}"));
        assert_eq!(said, side.run(&format!("B {name}")));
        assert_eq!(said, format!("Unknown subcommand: '{name}'\nType 'svn help' for usage.\n1\n"));
        assert_eq!(side.run(&format!("A help {name}")), side.run(&format!("B help {name}")));
    }
    assert!(!side.run("A help -v").contains("x-shel"));
    let with = |store| Side::new(&Programs::ours(), &Programs::reference(), store);
    for store in ["shelf2", "shelf3", "other,shelf3 shelf2"] {
        let side = with(store);
        let listed = |program: &str| {
            let said = side.run(&format!(
                "{program} help -v | grep '   x-'; {program} help | grep -c experimental"
            ));
            said.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(listed("A"), listed("B"), "{store}");
        // Which options each takes.
        let options = |program: &str| {
            side.run(&format!(
                "for c in `{program} help -v | sed -n 's/^   \\(x-[a-z-]*\\).*/\\1/p'`; do echo $c; \
                 {program} help -v $c | grep -o '^  -[-a-z]*\\( \\[--[a-z]*\\]\\)\\?' | while read o; do echo $c $o; done | sort -u; done"
            ))
        };
        assert_eq!(options("A"), options("B"), "{store}");
    }
}

#[test]
fn versions_and_what_is_refused() {
    everyone(
        "shelf2",
        r"echo 1 >> f
        A x-shelf-save foo -m 'one
two'
        echo 2 >> f; svn ps -q x y d
        A x-shelf-save foo --with-revprop a=b
        echo 3 >> g
        A x-shelve --keep-local foo -m three
        A x-shelf-log foo; A x-shelf-list
        A x-unshelve foo 1
        svn revert -q -R .
        A x-unshelve foo 9; A x-unshelve foo 0; A x-unshelve foo -1; A x-unshelve foo word; A x-unshelve foo 1 2
        A x-unshelve foo 2
        A x-shelf-log foo; A x-shelf-log none; A x-shelf-log
        A x-unshelve
        A x-unshelve -q --force foo 1
        A x-shelf-save other d; A x-shelves; A x-shelf-list-by-paths; A x-shelf-list-by-paths d /; A x-shelf-list-by-paths URL
        A x-shelf-drop other d; A x-shelf-drop other; A x-shelf-drop foo; A x-shelves
        A x-shelve ''; A x-shelve; A x-shelf-diff none; A x-shelf-drop; A x-unshelve; A x-shelf-diff a b c
        A x-shelve foo empty; A x-shelf-save foo empty; A x-shelves; A x-shelf-log foo; A x-unshelve foo; A x-shelf-diff foo
        A x-shelve foo file:///; A x-shelve foo f@1; A x-shelve -m x -F y foo; A x-shelve foo --bogus; A x-shelf-list /",
    );
}

#[test]
fn some_paths_changelists_and_depths() {
    everyone(
        "shelf2",
        r"for f in f g d/h d/e/i; do echo more >> $f; done; svn cl -q list f d/e/i; svn ps -q p v d d/e
        A x-shelve paths g d/e
        B x-unshelve paths
        A x-shelve listed --cl list
        B x-unshelve listed
        A x-shelve listed --cl none
        A x-shelve shallow --depth files d
        B x-unshelve shallow
        A x-shelve one --depth empty d
        B x-unshelve one
        printf 'f\n' > targets
        A x-shelve file --targets targets
        cd d; A x-shelve inner
        cd d; B x-shelves; B x-unshelve inner
        A x-shelves -q",
    );
}

#[test]
fn what_cannot_be_shelved_stays() {
    everyone(
        "shelf2",
        r"echo more >> f; svn mkdir -q new; svn cp -q g copy; svn mv -q bin moved; svn rm -q empty
        A x-shelve foo
        A x-shelves; ls -A .svn/experimental/shelves/v2
        svn revert -q -R --remove-added .; echo more >> f; rm g; rm bin; mkdir bin
        A x-shelf-save foo
        svn revert -q -R .; rm -rf bin; svn up -q; echo more >> f; svn ci -q -m two; svn up -q -r1
        sed -i 's/^10/ten/' f; echo other >> f; svn up -q --accept postpone
        A x-shelve foo
        svn revert -q -R .; echo fine >> f
        A x-shelve foo
        B x-unshelve foo",
    );
}

#[test]
fn changes_are_merged_when_they_come_back() {
    everyone(
        "shelf2",
        r"sed -i 's/^2$/two/' f; svn ps -q p w f; svn ps -q dp w d; sed -i 's/^2$/two/' g; printf 'mine' > bin; svn rm -q d/h
        A x-shelve foo
        sed -i 's/^9$/nine/' f; svn ps -q p x f; svn ps -q dp x d; sed -i 's/^2$/deux/' g; printf 'theirs' > bin; echo more >> d/h
        svn ci -q -m two; svn up -q
        B x-unshelve foo
        svn revert -q -R .; rm -f *.merge* *.working *.prej d/*.prej
        echo local >> f; echo unversioned > d/new
        A x-unshelve foo
        B x-unshelve --force foo",
    );
}

#[test]
fn a_dry_run_changes_nothing() {
    for store in ["shelf2"] {
        let side = Side::new(&Programs::ours(), &Programs::ours(), store);
        for line in START.lines().chain(CHANGES.lines()) {
            assert_eq!(side.run(line), "0\n", "{line}");
        }
        let state = side.state();
        let said = side.run("A x-shelve --dry-run foo");
        assert!(said.contains("shelved 'foo' version 1\n") && said.ends_with("\n0\n"), "{said}");
        assert_eq!((side.state(), side.run("A x-shelves")), (state.clone(), "0\n".to_owned()));
        assert!(!side.shelves().exists());
        side.run("A x-shelve foo -m message");
        let (shelved, stored) = (side.state(), side.stored());
        let said = side.run("A x-unshelve --dry-run --drop foo");
        for line in
            ["A    d/new\n", "D    d/e/i\n", "R    g\n", "G    f\n", " G   .\n", "deleted 'foo'\n"]
        {
            assert!(said.contains(line), "{line}{said}");
        }
        assert_eq!((side.state(), side.stored()), (shelved, stored));
        side.run("A x-unshelve foo; A x-shelf-save --dry-run foo");
        assert_eq!(side.state(), state);
        assert!(side.run("A x-shelf-list").contains(" message\n"));
    }
}

#[test]
fn diffs_of_shelves() {
    // 1.14 stops where a folder has changed properties, and where a file was replaced.
    everyone(
        "shelf2",
        r"echo more >> f; svn ps -q p w f; printf 'z\0' > bin; svn rm -q d/e/i; seq 3 > new; svn add -q new; svn ps -q np v new
        A x-shelve foo
        B x-shelf-diff foo; B x-shelf-diff foo 1; B x-shelf-diff --summarize foo 1; B x-shelf-diff foo 2",
    );
    let side = Side::new(&Programs::ours(), &Programs::ours(), "shelf2");
    START.lines().chain(CHANGES.lines()).for_each(|line| drop(side.run(line)));
    side.run("A x-shelve foo");
    let said = side.run("A x-shelf-diff foo");
    for line in ["Deleted: dp\n", "--- g\t(nonexistent)\n", "+more\n"] {
        assert!(said.contains(line), "{line}{said}");
    }
}

#[test]
fn links_line_ends_and_keywords() {
    // 1.14 shelves what a link leads to instead of the link, and brings new links back as files.
    let script = r"ln -s f link; ln -s nowhere other; printf 'a $Rev: 7 $\nb\n' > kw; printf 'a\r\nb\r\n' > crlf; svn add -q link other kw crlf
        svn ps -q svn:keywords Rev kw; svn ps -q svn:eol-style CRLF crlf; svn ci -q -m two; svn up -q
        ln -sf d link; ln -s f third; echo more >> kw; printf 'c\r\n' >> crlf; svn add -q third; svn rm -q other";
    let side = Side::new(&Programs::ours(), &Programs::ours(), "shelf2");
    START
        .lines()
        .chain(script.lines())
        .for_each(|line| assert_eq!(side.run(line), "0\n", "{line}"));
    let state = side.state();
    assert!(side.run("A x-shelve foo").ends_with("\n0\n"));
    let said = side.run("A x-shelf-diff foo");
    for line in ["-link f\n", "+link d\n", "+link f\n", "+more\n", "+c\r\n"] {
        assert!(said.contains(line.trim_end()), "{line}{said}");
    }
    assert!(!said.contains("-a"), "only what changed: {said}");
    assert!(side.run("A x-unshelve foo").ends_with("\n0\n"));
    assert_eq!(side.state(), state);
    // What ours shelved, 1.14 brings back, but for links that are new.
    ours_first(
        "shelf2",
        &format!("{script}\nsvn revert -q third; rm third\nA x-shelve foo\nB x-unshelve foo"),
    );
}

/// A working copy with a shelf `foo` whose files are then changed; `outside` is a folder beside it.
fn hostile(spoil: impl Fn(&Side, &Path)) -> (Side, String) {
    let side = Side::new(&Programs::ours(), &Programs::ours(), "shelf2");
    START.lines().for_each(|line| assert_eq!(side.run(line), "0\n"));
    assert!(side.run("echo more >> f; A x-shelve foo").ends_with("\n0\n"));
    let outside = side.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "of somebody else\n").unwrap();
    spoil(&side, &outside);
    let admin =
        side.run("md5sum .svn/entries .svn/format; ls .svn ../outside; cat ../outside/kept");
    let said = side.run("A x-unshelve --force foo 2>&1; A x-shelf-diff foo >/dev/null 2>&1; A x-shelves >/dev/null 2>&1");
    let after =
        side.run("md5sum .svn/entries .svn/format; ls .svn ../outside; cat ../outside/kept");
    assert_eq!(admin, after, "{said}");
    let dropped = side.run("A x-shelf-drop foo 2>&1");
    assert_eq!(
        admin,
        side.run("md5sum .svn/entries .svn/format; ls .svn ../outside; cat ../outside/kept"),
        "{dropped}"
    );
    (side, said)
}

/// Puts a new file into a version of a shelf.
fn plant(side: &Side, relpath: &str) {
    let place = side.shelves().join("666f6f-001.d").join(relpath);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let file = |end: &str| PathBuf::from(format!("{}{end}", place.display()));
    fs::write(file(".meta"), "f AMM -1").unwrap();
    fs::write(file(".work-props"), "").unwrap();
    fs::write(file(".work"), "evil\n").unwrap();
}

#[test]
fn hostile_shelves_touch_nothing_outside() {
    // Through a link in the working copy.
    let (_, said) = hostile(|side, outside| {
        symlink(outside, side.wc().join("out")).unwrap();
        plant(side, "out/file");
    });
    assert!(said.contains("E155000"), "{said}");
    // Into the administrative folder.
    let (_, said) = hostile(|side, _| plant(side, ".svn/format"));
    assert!(said.contains("E155000"), "{said}");
    let (_, said) = hostile(|side, _| plant(side, "d/.svn/wc.db"));
    assert!(said.contains("E155000"), "{said}");
    // Texts, lists and versions that are links.
    let (_, said) = hostile(|side, outside| {
        plant(side, "stolen");
        let text = side.shelves().join("666f6f-001.d/stolen.work");
        fs::remove_file(&text).unwrap();
        symlink(outside.join("kept"), text).unwrap();
    });
    assert!(said.contains("E155000"), "{said}");
    let (_, said) = hostile(|side, outside| {
        let version = side.shelves().join("666f6f-001.d");
        fs::remove_dir_all(&version).unwrap();
        symlink(outside, version).unwrap();
    });
    assert!(said.contains("E155000"), "{said}");
    let (_, said) = hostile(|side, outside| {
        fs::remove_dir_all(side.shelves()).unwrap();
        symlink(outside, side.shelves()).unwrap();
    });
    assert!(said.contains("E155000"), "{said}");
    // A link that is shelved leads where it likes, but nothing is put through it.
    let (side, said) = hostile(|side, outside| {
        plant(side, "link");
        plant(side, "link/file");
        let version = side.shelves().join("666f6f-001.d");
        fs::write(version.join("link.work-props"), "K 11\nsvn:special\nV 1\n*\n").unwrap();
        fs::write(version.join("link.work"), format!("link {}", outside.display())).unwrap();
    });
    assert!(said.contains("svn: E"), "{said}");
    assert!(!side.wc().join("link/file").exists());
}

/// Changes of all kinds that store `v3` takes of 1.14 too.
const COMMITTABLE: &str = r"echo more >> f; svn ps -q p w f; svn ps -q dp w d; svn ps -q rp v .; svn rm -q d/e; svn rm -q g
    seq 5 > g; svn add -q g; svn ps -q gp v g; seq 3 > d/new; svn add -q d/new; svn ps -q np v d/new; svn mkdir -q N
    svn cp -q f copied; svn mv -q bin moved; printf 'z\0' > d/bin; svn add -q d/bin";

#[test]
fn working_copies_on_shelves() {
    everyone(
        "shelf3",
        &format!(
            r"{COMMITTABLE}
            A x-shelve foo -m message
            B x-shelf-list; B x-shelf-log foo; B x-shelf-list-by-paths; B x-shelf-diff --summarize foo; B x-shelf-diff foo
            B st --cl svn:shelf:foo; B diff --cl svn:shelf:foo; B st d --cl svn:shelf:foo; B st --cl svn:shelf:none
            B x-unshelve foo
            A x-shelf-save foo -m again; A x-shelf-log foo
            svn revert -q -R --remove-added .; svn cleanup -q --remove-unversioned
            B x-unshelve foo 1
            B x-unshelve foo 7
            A x-shelf-drop foo; A x-shelves"
        ),
    );
    everyone(
        "shelf3",
        r"echo more >> f; echo more >> g; echo more >> d/h; svn cl -q list g
        A x-shelve listed --cl list
        A x-shelve paths d
        A x-shelve none empty; A x-shelve shallow --depth files
        B x-unshelve listed; B x-unshelve paths
        echo local >> f; B x-unshelve shallow
        svn revert -q f; B x-unshelve shallow --drop
        B x-shelves -q; B st --cl svn:shelf:none",
    );
    everyone(
        "shelf3",
        r"svn co -q file://${PWD%/*}/repo ../other; echo more >> f; svn ps -q p w f; svn rm -q g; seq 3 > d/new; svn add -q d/new
        A x-wc-copy-mods . ../other; svn st ../other; svn diff ../other
        A x-wc-copy-mods d empty
        A x-wc-copy-mods .; A x-wc-copy-mods / .",
    );
}

/// All that can be committed, and 1.14 cannot bring back whole.
const RICH: &str = r"mkdir -p N/o/p; seq 3 > N/o/p/q; ln -s ../f N/l; svn add -q N; svn cp -q d c; echo more >> c/h; svn rm -q c/e; echo new > c/n; svn add -q c/n
    printf 'c\r\n' >> crlf; echo more >> kw; ln -sf g link; svn rm -q d/e; mkdir d/e; echo i > d/e/j; svn add -q d/e; echo more >> f; svn ps -q p w f
    svn ps -q svn:executable x g; echo more >> g";

#[test]
fn everything_comes_back_from_working_copies() {
    let side = Side::new(&Programs::ours(), &Programs::ours(), "shelf3");
    let script = r"printf 'a $Rev: 7 $\nb\n' > kw; printf 'a\r\nb\r\n' > crlf; ln -s f link; svn add -q kw crlf link
        svn ps -q svn:keywords Rev kw; svn ps -q svn:eol-style CRLF crlf; svn ci -q -m two; svn up -q";
    let start = START.lines().chain(script.lines());
    start.for_each(|line| assert_eq!(side.run(line), "0\n", "{line}"));
    let before = side.state();
    RICH.lines().for_each(|line| assert_eq!(side.run(line), "0\n", "{line}"));
    let changed = side.state();
    let said = side.run("A x-shelve --dry-run foo");
    assert!(said.ends_with("\n0\n"), "{said}");
    assert!(side.state() == changed && !side.shelves().exists());
    for _ in 0..2 {
        let said = side.run("A x-shelve foo");
        assert!(said.ends_with("\n0\n"), "{said}");
        let state = side.state();
        assert!(state == before, "{}", differing(&state, &before));
        let said = side.run("A x-unshelve --dry-run --drop foo");
        assert!(said.ends_with("\n0\n") && side.state() == before, "{said}");
        let said = side.run("A x-unshelve foo");
        assert!(said.ends_with("\n0\n"), "{said}");
        let state = side.state();
        assert!(state == changed, "{}", differing(&state, &changed));
    }
    // What is below an addition that is shelved without it would be lost: nothing is shelved.
    let said = side.run("A x-shelve alone --depth empty N");
    assert!(
        said.contains("E200009: Cannot shelve 'FOLDER/wc/N' without 'FOLDER/wc/N/l'"),
        "{said}"
    );
    assert!(side.state() == changed);
    assert_eq!(side.run("A x-shelf-log alone"), "0\n");
}

#[test]
fn what_others_committed_is_not_undone_by_a_shelf() {
    let side = Side::new(&Programs::ours(), &Programs::ours(), "shelf3");
    let script = r"svn co -q file://${PWD%/*}/repo ../other; sed -i 's/^9$/nine/' ../other/f; svn ps -q dp theirs ../other/d; svn ci -q -m two ../other
        sed -i 's/^2$/two/' f; svn ps -q own v d; sed -i 's/^2$/two/' g";
    START
        .lines()
        .chain(script.lines())
        .for_each(|line| assert_eq!(side.run(line), "0\n", "{line}"));
    let said = side.run("A x-shelve foo");
    assert!(said.ends_with("\n0\n"), "{said}");
    let said = side.run("A x-shelf-diff foo");
    assert!(said.contains("+two") && !said.contains("nine") && !said.contains("theirs"), "{said}");
    assert_eq!(side.run("svn up -q; A x-unshelve -q foo"), "0\n");
    assert_eq!(side.run("svn st -q"), " M      d\nM       f\nM       g\n0\n");
    assert_eq!(side.run("grep -c -e two -e nine f; svn pg dp d"), "2\ntheirs\n0\n");
    // A change that meets another one is a conflict, and --drop keeps the shelf.
    let script = "sed -i 's/^5$/cinq/' f; A x-shelve -q foo; sed -i 's/^5$/five/' f; svn ci -q -m three; A x-unshelve --drop foo";
    let said = side.run(script);
    assert!(
        said.contains("warning: W155015: Shelf 'foo' is kept") && said.ends_with("0\n"),
        "{said}"
    );
    assert!(side.run("svn st -q").contains("C       f\n") && side.shelves().exists());
}

#[test]
fn hostile_working_copies_touch_nothing_outside() {
    let spoiled = |spoil: &dyn Fn(&Side, &Path, &Path)| {
        let side = Side::new(&Programs::ours(), &Programs::ours(), "shelf3");
        START.lines().for_each(|line| assert_eq!(side.run(line), "0\n"));
        let said = side.run("echo more > new; svn add -q new; A x-shelve foo");
        assert!(said.ends_with("\n0\n"), "{said}");
        let outside = side.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "of somebody else\n").unwrap();
        spoil(&side, &side.shelves().join("666f6f-001.wc"), &outside);
        let look = "md5sum .svn/format; ls .svn ../outside | grep -v sapwood; ls -d ../*; cat ../outside/kept";
        let before = side.run(look);
        let said = side.run("A x-unshelve --force foo 2>&1; A x-shelf-diff foo >/dev/null 2>&1; A st --cl svn:shelf:foo >/dev/null 2>&1");
        assert_eq!(before, side.run(look), "{said}");
        let dropped = side.run("A x-shelf-drop foo 2>&1");
        assert_eq!(before, side.run(look), "{dropped}");
        said
    };
    let renamed = |version: &Path, to: &str| {
        let db = rusqlite::Connection::open(version.join(".svn/wc.db")).unwrap();
        let parent = Path::new(to).parent().unwrap().to_str().unwrap();
        let sql =
            "UPDATE nodes SET local_relpath = ?1, parent_relpath = ?2 WHERE local_relpath = 'new'";
        assert_eq!(db.execute(sql, [to, parent]).unwrap(), 1);
    };
    // Paths that lead out.
    let said = spoiled(&|_, version, _| {
        renamed(version, "../evil");
        fs::write(version.join("../evil"), "evil\n").unwrap();
    });
    assert!(!said.contains("evil"), "{said}");
    let said = spoiled(&|_, version, _| renamed(version, ".svn/format"));
    assert!(!said.contains("format"), "{said}");
    let refused = |spoil: &dyn Fn(&Side, &Path, &Path)| {
        let said = spoiled(spoil);
        assert!(said.contains("svn: E"), "{said}");
    };
    // Through links, in the working copy and on the shelf.
    refused(&|side, version, outside| {
        renamed(version, "d/file");
        fs::rename(version.join("new"), version.join("d/file")).unwrap();
        fs::remove_dir_all(side.wc().join("d")).unwrap();
        symlink(outside, side.wc().join("d")).unwrap();
    });
    refused(&|_, version, outside| {
        fs::remove_file(version.join("new")).unwrap();
        symlink(outside.join("kept"), version.join("new")).unwrap();
    });
    refused(&|_, version, outside| {
        fs::remove_dir_all(version.join(".svn")).unwrap();
        symlink(outside, version.join(".svn")).unwrap();
    });
    // Of another repository.
    refused(&|_, version, _| {
        let db = rusqlite::Connection::open(version.join(".svn/wc.db")).unwrap();
        db.execute("UPDATE repository SET uuid = 'other'", []).unwrap();
    });
}

/// Runs an operation and kills it before one of the calls that change names; whether it was.
fn killed(side: &Side, operation: &str, at: usize) -> bool {
    let calls = "rename,unlink,unlinkat,rmdir,mkdir";
    let said = side.run(&format!(
        "strace -f -qq -o ../trace -e trace={calls} -e inject={calls}:signal=KILL:when={at} \"$PROGRAM_A\" {operation}"
    ));
    !said.ends_with("\n0\n")
}

/// Kills operations here and there: what the user changed is in the working copy or on the shelf, never in neither.
fn kills(store: &'static str, changes: &str) {
    for (operation, shelved) in [("x-shelve foo", false), ("x-unshelve --drop foo", true)] {
        let (mut at, mut runs) = (1, 0);
        loop {
            let side = Side::new(&Programs::ours(), &Programs::reference(), store);
            START.lines().chain(changes.lines()).for_each(|line| drop(side.run(line)));
            let state = side.state();
            if shelved {
                let said = side.run("A x-shelve foo");
                assert!(said.ends_with("\n0\n"), "{said}");
            }
            let stopped = killed(&side, operation, at);
            let told = format!("{store}: {operation} before call {at}");
            let cleaned = side.run(if runs % 2 == 0 { "A cleanup" } else { "B cleanup" });
            assert_eq!(cleaned, "0\n", "{told}");
            if side.run("A x-shelf-list").contains(" version ") {
                let said = side.run("svn revert -q -R --remove-added . && svn cleanup --remove-unversioned && A x-unshelve foo");
                assert!(said.ends_with("\n0\n"), "{told}: {said}");
            }
            let after = side.state();
            assert!(after == state, "{told}\n{}", differing(&after, &state));
            if !stopped {
                assert!(runs > 2, "{operation} was killed {runs} times");
                break;
            }
            runs += 1;
            at *= 3;
        }
    }
}

#[test]
fn kills_lose_nothing() {
    kills("shelf2", CHANGES);
}

#[test]
fn kills_lose_nothing_of_working_copies() {
    kills(
        "shelf3",
        "echo more >> f; svn rm -q d/e; seq 3 > new; svn add -q new; svn ps -q dp w d; svn cp -q g copied",
    );
}
