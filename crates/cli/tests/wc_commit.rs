//! Commits, differences and locks of working copies, by ours and by the reference, of the same
//! changes: same output, same revisions, same rows in wc.db, and the reference goes on with what ours left.

use std::path::Path;
use std::process::Command;

use rusqlite::types::ValueRef;
use sapwood_testkit::Programs;

/// The subcommands of the program under test.
const TESTED: [&str; 4] = ["commit", "diff", "lock", "unlock"];

/// What a working copy goes through. Lines that begin with a subcommand of [`TESTED`] are run by
/// the program under test, `svn` by the reference; the rest is for a shell.
const STEPS: &str = r"
mkdir -p d/e; echo a > f; echo '$Rev$ x' > d/g; printf 'b\0' > d/e/b; ln -s f l
svn add -q f d l
svn ps -q svn:keywords Rev d/g
svn ps -q svn:mime-type application/octet-stream d/e/b
svn ps -q p v d
diff .
diff --git .
commit -m new
echo b >> f
svn ps -q q 2 f
diff .
diff -r 0 .
diff --properties-only .
commit -m text-and-property f
svn cp -q d d2
echo y >> d2/g
svn rm -q d2/e/b
diff --summarize .
diff --git .
diff --show-copies-as-adds .
diff --no-diff-deleted .
diff -r 1 d2
commit -m changed-copy
svn up -q
svn mv -q d d3
svn rm -q f
echo n > f
svn add -q f
diff --notice-ancestry .
diff --git f
commit -m one-side-of-a-move d3
commit -m move-and-replacement
svn up -q
svn cl -q list f
echo c >> f; echo z >> d3/g
commit -m changelist --changelist list --keep-changelists
lock f
lock --force -m why f d
unlock l
diff -r 1:3 .
diff -r 3:1 --git d
diff -c 3 --summarize .
diff --changelist list .
diff -x -w -r 1 f
diff --ignore-properties -r 1:HEAD d
commit -m nothing --no-unlock f
commit -m gone d/e/b
chmod 755 d3/e/b; echo z >> d3/e/b; sleep 0.02
commit -m flags-set-by-hand d3/e/b
ls -l d3/e | cut -c1-10
echo y > d3/e/b; sleep 0.02
commit -m no-flags d3/e/b
echo z > d3/e/b
svn st d3
svn revert -q d3/e/b
commit -m unlocked
commit -m unlocked
svn st
commit -m not-there nope
touch unversioned
commit -m unversioned unversioned
svn mkdir -q n n/o
touch n/o/p
svn add -q n/o/p
commit -m dangling n/o/p
commit -m shallow --depth empty n
commit -m rest
svn cp -q n m
commit -m copied-whole --depth immediates
svn rm -q n
diff --old d@2 --new d2
diff ^/d@2 ^/d2@3
commit -m gone
lock m/o/p f
unlock m/o/p
unlock m/o/p
svn up -q -r 5 f
echo late >> f
commit -m out-of-date
svn revert -q f
svn up -q
printf 'a\r\nb\r\n' > mixed
svn add -q mixed
svn ps -q svn:eol-style native mixed --force
commit -m fixed
commit -q -m quiet
commit --nonsense
svn st -v
";

struct Side {
    folder: tempfile::TempDir,
    programs: Programs,
    told: Vec<String>,
}

impl Side {
    fn new(programs: Programs) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let side = Self { folder, programs, told: Vec::new() };
        let repo = side.folder.path().join("repo");
        let run = |command: &mut Command| assert!(command.status().unwrap().success());
        let reference = Programs::reference();
        run(reference.command("svnadmin").arg("create").arg(&repo));
        let wc = side.folder.path().join("wc");
        run(reference.command("svn").args(["co", "-q"]).arg(side.url()).arg(wc));
        side
    }

    fn url(&self) -> String {
        format!("file://{}/repo", self.folder.path().display())
    }

    /// Runs one step; remembers what it said.
    fn step(&mut self, line: &str) {
        let reference = Programs::reference();
        let words = |text: &str| -> Vec<String> {
            text.split(' ').map(|w| w.trim_matches('\'').to_owned()).collect()
        };
        let mut command = match line.split_once(' ') {
            Some((name, rest)) if TESTED.contains(&name) => {
                let mut command = self.programs.command("svn");
                command.arg(name).arg("--username=jo").args(words(rest));
                command
            }
            Some(("svn", rest)) => {
                let mut command = reference.command("svn");
                command.arg("--username=jo").args(words(rest));
                command
            }
            _ => {
                let mut command = Command::new("sh");
                command.args(["-c", line]);
                command
            }
        };
        let output = command.current_dir(self.folder.path().join("wc")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let folder = self.folder.path().display().to_string();
        let said = format!(
            "{line}\n{}{}{}\n",
            text(&output.stdout),
            text(&output.stderr),
            output.status.code().unwrap_or(-1)
        );
        self.told.push(said.replace(&folder, "FOLDER"));
    }

    /// What is in wc.db, times apart.
    fn rows(&self) -> Vec<String> {
        let db = rusqlite::Connection::open(self.folder.path().join("wc/.svn/wc.db")).unwrap();
        let mut rows = Vec::new();
        for sql in [
            "SELECT local_relpath, op_depth, parent_relpath, repos_path, revision, presence, \
             moved_here, moved_to, kind, hex(properties), depth, checksum, changed_revision, \
             changed_author, translated_size, last_mod_time IS NOT NULL, dav_cache, file_external, \
             inherited_props IS NOT NULL FROM nodes ORDER BY 1, 2",
            "SELECT local_relpath, hex(properties), changelist, hex(conflict_data) FROM actual_node \
             ORDER BY 1",
            "SELECT checksum, size, refcount, md5_checksum FROM pristine ORDER BY 1",
            "SELECT repos_relpath, lock_owner FROM lock ORDER BY 1",
            "SELECT id FROM work_queue",
            "SELECT local_dir_relpath FROM wc_lock",
        ] {
            let mut statement = db.prepare(sql).unwrap();
            let columns = statement.column_count();
            let mut found = statement.query([]).unwrap();
            while let Some(row) = found.next().unwrap() {
                let value = |at| match row.get_ref(at).unwrap() {
                    ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    other => format!("{other:?}"),
                };
                rows.push((0..columns).map(value).collect::<Vec<_>>().join("|"));
            }
        }
        rows
    }

    fn log(&self) -> String {
        let mut command = Programs::reference().command("svn");
        let output = command.args(["log", "-v", "-r", "0:HEAD"]).arg(self.url()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // Lines with a date are left out.
        text.lines().filter(|l| !l.contains(" | ")).collect::<Vec<_>>().join("\n")
    }
}

fn readable(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn as_the_reference_commits() {
    let mut ours = Side::new(Programs::ours());
    let mut theirs = Side::new(Programs::reference());
    for line in STEPS.lines().filter(|line| !line.is_empty()) {
        ours.step(line);
        theirs.step(line);
        assert_eq!(ours.told.last(), theirs.told.last());
        let (our_rows, their_rows) = (ours.rows(), theirs.rows());
        let differ: Vec<_> = our_rows.iter().zip(&their_rows).filter(|(a, b)| a != b).collect();
        assert!(differ.is_empty(), "wc.db after: {line}: {differ:#?}");
        assert_eq!(our_rows.len(), their_rows.len(), "wc.db after: {line}");
    }
    assert_eq!(ours.log(), theirs.log());
    for name in ["d3/g", "d2/g", "f", "mixed"] {
        let path = |side: &Side| side.folder.path().join("wc").join(name);
        assert_eq!(readable(&path(&ours)), readable(&path(&theirs)), "{name}");
    }
}
