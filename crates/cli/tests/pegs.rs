//! The table of peg revisions beside the reference: each row's command line with names of odd shapes,
//! by both programs, from equal working copies and repositories. What is said, the exit code and what
//! is on disk afterwards (files, the working copy's database, the repository) must be the same.

#[path = "../src/pegs/table.rs"]
#[allow(dead_code, unreachable_pub, reason = "the table of the program, of which this is a reader")]
mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rusqlite::types::ValueRef;
use sapwood_testkit::{Programs, long};
use table::Part::{
    self, Below, Destination, Folder, From, Patch, Repository, Root, Source, Target, To,
};
use table::TABLE;

/// Arguments, as a shell takes them; `$R` is the repository's URL.
const SHAPES: &[&str] = &[
    "'img@2x.png'",
    "'img@2x.png@'",
    "'a@'",
    "'@a'",
    "'@a@'",
    "'a@1'",
    "'a@HEAD'",
    "'a@BASE'",
    "'a@nonsense'",
    "'a@@'",
    "'@'",
    "'@@'",
    "'a@{2020-01-01}'",
    "'dir@1/f'",
    "'dir@1'",
    "'dir@1/'",
    "'a@b@c'",
    "'./img@2x.png'",
    "'./@a'",
    "\"$R/img@2x.png\"",
    "\"$R/img%402x.png\"",
    "\"$R/a@1\"",
    "\"$R/a%40\"",
    "\"$R/@a\"",
    "'^/img@2x.png'",
    "'^/a@'",
];

/// For each row of the table the command lines that are tried, with `%` where the argument goes.
#[rustfmt::skip]
const LINES: &[(&str, &str, Part, &[&str])] = &[
    ("svn", "add", Target, &["svn add %", "svn add --force new %"]),
    ("svn", "blame", Target, &["svn blame %"]),
    ("svn", "cat", Target, &["svn cat %"]),
    ("svn", "changelist", Target, &["svn changelist list %", "svn changelist --remove %"]),
    ("svn", "checkout", Source, &["svn checkout % out", "svn checkout %"]),
    ("svn", "checkout", Folder, &["svn checkout $R/dir@1@ %", "svn co $R/sub $R/dir@1@ %"]),
    ("svn", "cleanup", Target, &["svn cleanup %", "svn cleanup --remove-unversioned %"]),
    ("svn", "commit", Target, &["svn commit -m x %"]),
    ("svn", "copy", Source, &["svn copy % into", "svn copy -m x % $R/into", "svn copy % sub"]),
    ("svn", "copy", Destination, &["svn copy keep %", "svn copy -m x $R/keep %"]),
    ("svn", "delete", Target, &["svn delete --force %", "svn delete -m x %"]),
    ("svn", "diff", Target, &[
        "svn diff -r 1 %", "svn diff --summarize -r 1:HEAD %", "svn diff --old %",
        "svn diff --old $R/a@1 --new %", "svn diff $R/a@1 %",
    ]),
    ("svn", "diff", Below, &["svn diff %", "svn diff --old $R@1 --new $R %"]),
    ("svn", "export", Source, &["svn export % out", "svn export --force %"]),
    ("svn", "export", Folder, &["svn export a %", "svn export $R/a %"]),
    ("svn", "import", Source, &["svn import -m x % $R/imported"]),
    ("svn", "import", Destination, &["svn import -m x new %"]),
    ("svn", "info", Target, &["svn info %", "svn info --show-item url %"]),
    ("svn", "info", Folder, &["svn info --x-viewspec=svn11 %"]),
    ("svn", "list", Target, &["svn list -v %"]),
    ("svn", "lock", Target, &["svn lock %"]),
    ("svn", "log", Target, &["svn log -v %"]),
    ("svn", "log", Below, &["svn log -v $R %"]),
    ("svn", "merge", Source, &["svn merge -c 2 % a", "svn merge % a", "svn merge $R/a@1 % a"]),
    ("svn", "merge", Folder, &["svn merge -c 2 $R/a %", "svn merge $R/a@1 $R/a@2 %"]),
    ("svn", "mergeinfo", Source, &["svn mergeinfo --show-revs merged % a"]),
    ("svn", "mergeinfo", Target, &["svn mergeinfo --show-revs merged $R/a %"]),
    ("svn", "mkdir", Target, &["svn mkdir %", "svn mkdir -m x %"]),
    ("svn", "move", Source, &["svn move % into", "svn move -m x % $R/into"]),
    ("svn", "move", Destination, &["svn move keep %", "svn move -m x $R/keep %"]),
    ("svn", "patch", Patch, &["svn patch %"]),
    ("svn", "patch", Folder, &["svn patch new %"]),
    ("svn", "propdel", Target, &["svn propdel p %"]),
    ("svn", "propdel", Repository, &["svn propdel --revprop -r 1 q %"]),
    ("svn", "propedit", Target, &["svn propedit --editor-cmd 'echo z >' p %"]),
    ("svn", "propedit", Repository, &["svn propedit --editor-cmd 'echo z >' --revprop -r 1 q %"]),
    ("svn", "propget", Target, &["svn propget p %"]),
    ("svn", "propget", Repository, &["svn propget --revprop -r 1 svn:log %"]),
    ("svn", "proplist", Target, &["svn proplist -v %"]),
    ("svn", "proplist", Repository, &["svn proplist --revprop -r 1 %"]),
    ("svn", "propset", Target, &["svn propset p v %"]),
    ("svn", "propset", Repository, &["svn propset --revprop -r 1 q v %"]),
    ("svn", "relocate", From, &["svn relocate % $R"]),
    ("svn", "relocate", To, &["svn relocate %", "svn relocate $R %"]),
    ("svn", "relocate", Folder, &["svn relocate $R $R %", "svn relocate $R %"]),
    ("svn", "resolve", Target, &["svn resolve --accept working %"]),
    ("svn", "resolved", Target, &["svn resolved %"]),
    ("svn", "revert", Target, &["svn revert %", "svn revert -R %"]),
    ("svn", "status", Target, &["svn status %", "svn status -v %"]),
    ("svn", "switch", Source, &["svn switch --ignore-ancestry % a", "svn switch %"]),
    ("svn", "switch", Folder, &["svn switch --ignore-ancestry $R/keep %"]),
    ("svn", "switch", From, &["svn switch --relocate % $R"]),
    ("svn", "switch", To, &["svn switch --relocate $R %"]),
    ("svn", "unlock", Target, &["svn unlock %"]),
    ("svn", "update", Target, &["svn update %", "svn update -r 1 keep %"]),
    ("svn", "upgrade", Target, &["svn upgrade %"]),
    ("svn", "x-shelf-drop", Folder, &["$X2 svn x-shelf-drop shelf %"]),
    ("svn", "x-shelf-list", Folder, &["$X2 svn x-shelf-list %"]),
    ("svn", "x-shelf-list-by-paths", Target, &["$X2 svn x-shelf-list-by-paths %"]),
    ("svn", "x-shelf-log", Folder, &["$X2 svn x-shelf-log shelf %"]),
    ("svn", "x-shelf-save", Target, &["$X2 svn x-shelf-save shelf %"]),
    ("svn", "x-shelve", Target, &["$X2 svn x-shelve shelf %"]),
    // The reference dies of most other uses of it.
    ("svn", "x-wc-copy-mods", Folder, &["$X3 svn x-wc-copy-mods nowhere %"]),
    ("svnadmin", "", Repository, &["svnadmin info %", "svnadmin youngest ../%"]),
    ("svnadmin", "", Target, &["svnadmin lslocks ../repo %", "svnadmin rmlocks ../repo %"]),
    ("svnbench", "null-blame", Target, &["svnbench null-blame -q %"]),
    ("svnbench", "null-export", Target, &["svnbench null-export -q %"]),
    ("svnbench", "null-info", Target, &["svnbench null-info -q %"]),
    ("svnbench", "null-list", Target, &["svnbench null-list -q %"]),
    ("svnbench", "null-log", Target, &["svnbench null-log -q %"]),
    ("svnbench", "null-log", Below, &["svnbench null-log -q $R %"]),
    ("svnlook", "", Target, &["svnlook cat ../repo %", "svnlook proplist ../repo %"]),
    ("svnmucc", "", Target, &[
        "svnmucc -m x -U $R rm %", "svnmucc -m x -U $R mkdir %", "svnmucc -m x -U $R put new %",
        "svnmucc -m x -U $R cp 1 % into", "svnmucc -m x -U $R mv keep %",
        "svnmucc -m x -U $R propset p v %", "svnmucc -m x rm %",
    ]),
    ("svnmucc", "", Root, &["svnmucc -m x -U % rm f"]),
    ("svnrdump", "", Target, &[
        "svnrdump dump -q %", "printf 'SVN-fs-dump-format-version: 2\\n\\n' | svnrdump load %",
    ]),
    ("svnsync", "", Target, &["svnsync info %", "svnsync init % $R", "svnsync init $R %"]),
    ("svnversion", "", Folder, &["svnversion %"]),
];

/// What both begin with: a repository with odd names, and a working copy with changes of all of them.
const BEGIN: &str = "set -e
    svnadmin create repo; mkdir -p import; cd import
    mkdir dir@1 dir sub; for f in a img img@2x.png @a a@ a@1 a@b a@b@c keep dir@1/f dir/f sub/f; do
        echo first $f >$f; done
    svn import -q -m first . $R; cd ..; rm -r import
    printf '#!/bin/sh\\n' >repo/hooks/pre-revprop-change; chmod +x repo/hooks/pre-revprop-change
    svn checkout -q $R wc; cd wc
    for f in a img img@2x.png @a a@ a@1 a@b a@b@c dir@1/f dir/f; do echo second >>$f; done
    svn propset -q p value -R .; svn commit -q -m second; svn update -q
    for f in a img img@2x.png @a a@ a@1 a@b a@b@c dir@1/f dir/f; do echo third >>$f; done
    echo new >new; echo new >new@2x; mkdir other@1; echo in >other@1/in";

/// A folder in which command lines run, and the same folder as it was before the first one.
struct Sandbox {
    folder: PathBuf,
    kept: PathBuf,
    /// What is in it now; `None` when it must be made anew.
    state: Option<String>,
    begin: String,
}

fn shell(folder: &Path, programs: &Programs, root: &Path, line: &str) -> String {
    let path = format!("{}:/usr/bin:/bin", programs.dir().display());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).stdin(Stdio::null()).env_clear();
    command.env("PATH", path).env("HOME", root.parent().unwrap().join("home"));
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
    command.env("R", format!("file://{}/repo", root.display()));
    command.env("X2", "env SVN_EXPERIMENTAL_COMMANDS=shelf2");
    command.env("X3", "env SVN_EXPERIMENTAL_COMMANDS=shelf3");
    // `$X2 svn ...` is split by the shell.
    let output = command.output().unwrap();
    format!(
        "{}-- stderr:\n{}-- exit code: {:?}\n",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code()
    )
}

impl Sandbox {
    fn new(root: &Path) -> Self {
        let (folder, kept) = (root.join("box"), root.join("kept"));
        std::fs::create_dir_all(root.join("home")).unwrap();
        std::fs::create_dir_all(&kept).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        let said = shell(&folder, &Programs::reference(), &folder, BEGIN);
        assert!(said.ends_with("Some(0)\n"), "{said}");
        std::fs::remove_dir(&kept).unwrap();
        std::fs::rename(&folder, &kept).unwrap();
        let mut made = Self { folder, kept, state: None, begin: String::new() };
        made.renew();
        made.begin = made.look();
        made.state = Some(made.begin.clone());
        made
    }

    fn renew(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.folder);
        let copied = Command::new("cp").arg("-a").arg(&self.kept).arg(&self.folder).status();
        assert!(copied.unwrap().success());
    }

    /// Runs a line in the working copy; what was said, and what is there afterwards.
    fn run(&mut self, programs: &Programs, line: &str) -> String {
        if self.state.as_ref() != Some(&self.begin) {
            self.renew();
        }
        let said = shell(&self.folder.join("wc"), programs, &self.folder, line);
        let after = self.look();
        let changed = if after == self.begin { "-- nothing changed\n" } else { &after };
        let told = format!("{said}{changed}");
        self.state = Some(after);
        told
    }

    /// All that counts of the folder.
    fn look(&self) -> String {
        let mut found = BTreeMap::new();
        walk(&self.folder, &self.folder, &mut found);
        let mut text = String::new();
        for (path, contents) in found {
            writeln!(text, "{path}: {contents}").unwrap();
        }
        for database in databases(&self.folder) {
            writeln!(text, "{}", database.strip_prefix(&self.folder).unwrap().display()).unwrap();
            rows(&database, &mut text);
        }
        let youngest = std::fs::read_to_string(self.folder.join("repo/db/current")).unwrap();
        if !youngest.starts_with("2\n") {
            let changed = Command::new(Programs::reference().dir().join("svnlook"))
                .args(["changed", "--copy-info"])
                .arg(self.folder.join("repo"))
                .output()
                .unwrap();
            text.push_str(&String::from_utf8_lossy(&changed.stdout));
        }
        text
    }
}

/// Whether a folder of the repository is looked into.
fn watched(name: &str) -> bool {
    name.starts_with("repo/db/locks") || name.starts_with("repo/db/revprops")
}

/// Names of the files of shelves.
fn shelves(admin: &Path, name: &str, found: &mut BTreeMap<String, String>) {
    let Ok(stores) = std::fs::read_dir(admin.join("experimental/shelves")) else { return };
    for store in stores {
        let store = store.unwrap();
        for file in std::fs::read_dir(store.path()).into_iter().flatten() {
            let file = file.unwrap().file_name();
            found.insert(format!("{name}/{:?}/{file:?}", store.file_name()), String::new());
        }
    }
}

/// Files with their contents, but for what is inside the repository and the administrative folders.
fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if name.ends_with("/.svn") {
            shelves(&path, &name, found);
            continue;
        }
        if path.is_dir() {
            let inside = name == "repo" || name.starts_with("repo/");
            if !inside || name == "repo" || name == "repo/db" || watched(&name) {
                found.insert(name, "folder".to_owned());
                walk(root, &path, found);
            }
        } else if !name.starts_with("repo/") || name == "repo/db/current" || watched(&name) {
            // A file of locks is named after its path, and holds tokens and times.
            let contents = match name.starts_with("repo/db/locks") {
                true => String::new(),
                false => String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned(),
            };
            found.insert(name, contents);
        }
    }
}

fn databases(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("wc.db") {
                found.push(path);
            } else if path.is_dir() && !path.is_symlink() && !path.ends_with("repo") {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The words of a list of properties, which has no order.
fn sorted_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace(['(', ')'], " ");
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words.join(" ")
}

/// What a working copy knows of its nodes.
fn rows(database: &Path, text: &mut String) {
    let db = rusqlite::Connection::open(database).unwrap();
    for query in [
        "SELECT root FROM repository ORDER BY id",
        "SELECT local_relpath, op_depth, repos_path, revision, presence, moved_to, properties, \
         file_external FROM nodes ORDER BY local_relpath, op_depth",
        "SELECT local_relpath, changelist, properties, conflict_data IS NULL FROM actual_node \
         ORDER BY local_relpath",
        "SELECT repos_relpath, lock_comment FROM lock ORDER BY repos_relpath",
    ] {
        let mut statement = db.prepare(query).unwrap();
        let columns = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            for column in 0..columns {
                let value = match row.get_ref(column).unwrap() {
                    ValueRef::Null => "-".to_owned(),
                    ValueRef::Integer(number) => number.to_string(),
                    ValueRef::Real(number) => number.to_string(),
                    ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    ValueRef::Blob(bytes) => sorted_words(bytes),
                };
                write!(text, "{value} | ").unwrap();
            }
            text.push('\n');
        }
    }
}

/// Whether two answers are equal, but for names of transactions and times of the day: digits of lines
/// with a colon between digits.
fn alike(one: &str, other: &str) -> bool {
    let plain = |line: &str| -> String {
        let named: String = line
            .split("transaction '")
            .map(|part| {
                let after = part.split_once('\'').map_or(part, |(_, after)| after);
                if line.starts_with(part) { part } else { after }
            })
            .collect();
        let around = |w: &[u8]| w[0].is_ascii_digit() && w[1] == b':' && w[2].is_ascii_digit();
        match line.as_bytes().windows(3).any(around) {
            true => named.chars().filter(|c| !c.is_ascii_digit()).collect(),
            false => named,
        }
    };
    let (ones, others): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    ones.len() == others.len()
        && ones.iter().zip(&others).all(|(one, other)| one == other || plain(one) == plain(other))
}

/// How many lines apart a form of a name is tried again, unless a long run is wanted: each line has a fourth of the forms,
/// and each form every fourth line of each program.
const APART: usize = 4;

/// Compares the lines whose number in the table is `which` modulo `workers`.
fn compare(which: usize, workers: usize) -> String {
    let temporary = tempfile::tempdir().unwrap();
    let mut sandbox = Sandbox::new(temporary.path());
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let mut told = String::new();
    let lines = LINES.iter().flat_map(|(_, _, _, lines)| *lines);
    let apart = if long() { 1 } else { APART };
    for (number, line) in lines.enumerate().skip(which).step_by(workers) {
        for shape in SHAPES.iter().skip(number % apart).step_by(apart) {
            // svnbench of ours takes no relative URLs.
            if line.starts_with("svnbench") && shape.contains('^') {
                continue;
            }
            let line = line.replace('%', shape);
            let wanted = sandbox.run(&reference, &line);
            if ["Some(134)", "Some(139)"].iter().any(|code| wanted.contains(code)) {
                // An assertion or a fault of the reference: there is nothing to be like.
                continue;
            }
            let found = sandbox.run(&ours, &line);
            if !alike(&wanted, &found) {
                writeln!(told, "$ {line}\n** reference:\n{wanted}** ours:\n{found}").unwrap();
            }
        }
    }
    told
}

#[test]
fn each_row_is_tried() {
    for row in TABLE {
        let key = (row.program, row.command, row.part);
        assert!(LINES.iter().any(|(p, c, part, _)| (*p, *c, *part) == key), "{row:?} has no line");
    }
    for (program, command, part, lines) in LINES {
        let known = TABLE
            .iter()
            .any(|row| (row.program, row.command, row.part) == (*program, *command, *part));
        assert!(known, "no row for {program} {command} {part:?}");
        assert!(lines.iter().all(|line| line.contains('%') && line.contains(program)));
    }
}

#[test]
fn pegs_as_the_reference_has_them() {
    let workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(1, 4);
    let told: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> =
            (0..workers).map(|which| scope.spawn(move || compare(which, workers))).collect();
        all.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let told = told.concat();
    assert!(told.is_empty(), "{told}");
}
