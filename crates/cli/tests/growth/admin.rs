//! The administrators' programs: one table of command lines, each counted on a copy of a small repository
//! and of one with four times as much. See [`crate::growth::sizes`].

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::counted::Order::{self, Constant, Linear, Square};
use sapwood_testkit::counted::{Cost, counted};
use sapwood_testkit::{Output, Programs};

use crate::growth::made::{Made, Stream, text};
use crate::growth::sizes::{Size, by_size, everything, flat};

/// What a command line is tried on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum On {
    /// [`everything`].
    Everything,
    /// The same in shards of ten revisions, the complete ones packed.
    Packed,
    /// The same, not packed.
    Shards,
    /// The same, packed in one shard that holds all revisions.
    OnePack,
    /// The same, made by 1.6, in shards of ten revisions.
    Old,
    /// The properties alone: each is copied by itself, and the file of a revision has all.
    Properties,
    /// As many locked files as [`everything`] has files.
    Locked,
    /// As many unfinished transactions as there are files.
    Begun,
    /// Directories in each other, half as many as there are files.
    Deep,
}

use On::{Begun, Deep, Everything, Locked, Old, OnePack, Packed, Properties, Shards};

/// Programs with their arguments. In these stand: `R` for the path of the repository, `U` for its URL;
/// `M` for the URL of an empty repository, `P` for its path, `S` for the URL of one that `svnsync init` was
/// run on, `T` after `svnsync sync`; `C` for a path where nothing is, `H` for a hotcopy; `LOCKS` and
/// `TXNS` for all of them, `NEXT` for the file that is not locked; `<` for what is read.
pub(crate) const LINES: &[(On, Order, &str)] = &[
    (Everything, Linear, "svnadmin verify -q R"),
    (Everything, Linear, "svnadmin dump -q R"),
    (Everything, Linear, "svnadmin dump -q --deltas R"),
    (Everything, Linear, "svnadmin dump-revprops -q R"),
    (Everything, Linear, "svnadmin verify -q -r HEAD R"),
    (Everything, Linear, "svnadmin dump -q --incremental -r HEAD R"),
    (Everything, Linear, "svnadmin rev-size -q -r 1 R"),
    (Everything, Constant, "svnadmin info R"),
    (Everything, Constant, "svnadmin create C"),
    (Everything, Constant, "svnadmin lslocks R"),
    (Everything, Constant, "svnadmin lstxns R"),
    (Everything, Constant, "svnadmin list-dblogs R"),
    (Everything, Constant, "svnadmin list-unused-dblogs R"),
    (Everything, Constant, "svnadmin rev-size -q -r 5 R"),
    (Everything, Constant, "svnadmin freeze R true"),
    (Everything, Constant, "svnadmin setuuid R"),
    (Everything, Linear, "svnadmin hotcopy -q R C"),
    (Everything, Linear, "svnadmin hotcopy -q --incremental R H"),
    (Everything, Linear, "svnadmin setlog --bypass-hooks R -r 1 /dev/null"),
    (Everything, Linear, "svnadmin setrevprop R -r 1 name /dev/null"),
    (Everything, Linear, "svnadmin delrevprop R -r 1 svn:log"),
    (Everything, Constant, "svnadmin setlog --bypass-hooks R -r 2 /dev/null"),
    (Everything, Constant, "svnadmin setrevprop R -r 2 name /dev/null"),
    (Everything, Constant, "svnadmin delrevprop R -r 2 svn:log"),
    (Everything, Linear, "svnadmin recover R"),
    (Everything, Linear, "svnadmin build-repcache -q R"),
    (Everything, Linear, "svnadmin deltify -q R"),
    (Everything, Linear, "svnadmin load -q --no-flush-to-disk P < stream"),
    (Everything, Linear, "svnadmin load -q --no-flush-to-disk P < deltas"),
    (Everything, Linear, "svnadmin load -q --no-flush-to-disk --parent-dir d R < stream"),
    (Everything, Linear, "svnadmin load-revprops -q --no-flush-to-disk R < revprops"),
    (Everything, Constant, "svnlook youngest R"),
    (Everything, Constant, "svnlook uuid R"),
    (Everything, Constant, "svnlook info R"),
    (Everything, Constant, "svnlook author R"),
    (Everything, Constant, "svnlook date R"),
    (Everything, Constant, "svnlook log R"),
    (Everything, Constant, "svnlook changed R"),
    (Everything, Constant, "svnlook dirs-changed R"),
    (Everything, Constant, "svnlook diff --no-diff-deleted R"),
    (Everything, Linear, "svnlook log -r 1 R"),
    (Everything, Linear, "svnlook changed -r 1 R"),
    (Everything, Linear, "svnlook changed --copy-info -r 1 R"),
    (Everything, Linear, "svnlook dirs-changed -r 1 R"),
    (Everything, Linear, "svnlook diff -r 1 R"),
    (Everything, Linear, "svnlook diff -r 2 R"),
    (Everything, Linear, "svnlook tree R"),
    (Everything, Linear, "svnlook tree --full-paths R d"),
    (Everything, Linear, "svnlook cat R d/file000000"),
    (Everything, Linear, "svnlook cat R c/f"),
    (Everything, Linear, "svnlook filesize R c/f"),
    (Everything, Linear, "svnlook history R d/file000000"),
    (Everything, Linear, "svnlook history R c/f"),
    (Everything, Linear, "svnlook lock R d/file000000"),
    (Everything, Linear, "svnlook proplist -v R p/f"),
    (Everything, Linear, "svnlook proplist -v --xml R p/f"),
    (Everything, Linear, "svnlook proplist -v --show-inherited-props R p/f"),
    (Everything, Linear, "svnlook proplist -v --revprop -r 1 R"),
    (Everything, Linear, "svnlook propget R svn:mergeinfo m"),
    (Everything, Linear, "svnlook propget --show-inherited-props R name000000 p/f"),
    (Everything, Linear, "svnlook propget --revprop -r 1 R name000000"),
    (Everything, Linear, "svnfsfs stats R"),
    (Everything, Linear, "svnfsfs dump-index -r 1 R"),
    (Everything, Linear, "svnfsfs load-index R < index"),
    (Everything, Linear, "svnrdump dump -q U"),
    (Everything, Linear, "svnrdump dump -q --incremental -r 1:HEAD U"),
    (Everything, Linear, "svnrdump load -q M < deltas"),
    (Everything, Linear, "svnsync init -q M U"),
    (Everything, Linear, "svnsync sync -q S"),
    (Everything, Constant, "svnsync info S"),
    (Everything, Linear, "svndumpfilter include --quiet d c e < stream"),
    (Everything, Linear, "svndumpfilter exclude --quiet d/file0000 < stream"),
    (
        Everything,
        Linear,
        "svndumpfilter exclude --quiet --pattern --drop-empty-revs --renumber-revs *file* < stream",
    ),
    (
        Everything,
        Linear,
        "svndumpfilter include --quiet --renumber-revs --skip-missing-merge-sources m < stream",
    ),
    (Everything, Linear, "svnmucc -m m put /dev/null U/d/new"),
    (Everything, Linear, "svnmucc -m m rm U/d"),
    (Everything, Linear, "svnmucc -m m mv U/d U/e"),
    (Everything, Linear, "svnmucc -m m cp HEAD U/d U/e rm U/d/file000000"),
    (Everything, Linear, "svnmucc -m m propset another value U/p/f propdel name000000 U/p"),
    (Packed, Constant, "svnadmin pack -q R"),
    (Packed, Constant, "svnadmin setlog --bypass-hooks R -r 15 /dev/null"),
    (Packed, Constant, "svnadmin rev-size -q -r 15 R"),
    (Packed, Constant, "svnlook log R -r 15"),
    (Packed, Linear, "svnadmin verify -q R"),
    (Packed, Linear, "svnlook history R c/f"),
    (Packed, Linear, "svnfsfs stats R"),
    (Packed, Linear, "svnadmin hotcopy -q R C"),
    (Shards, Linear, "svnadmin pack -q R"),
    (OnePack, Linear, "svnfsfs dump-index -r 1 R"),
    (OnePack, Linear, "svnadmin dump-revprops -q R"),
    (OnePack, Linear, "svnadmin setlog --bypass-hooks R -r 5 /dev/null"),
    (Old, Linear, "svnadmin upgrade R"),
    (Old, Linear, "svnadmin pack -q R"),
    (Old, Linear, "svnadmin verify -q R"),
    (Properties, Square, "svnsync copy-revprops -q T"),
    (Locked, Linear, "svnadmin lslocks R"),
    (Locked, Linear, "svnadmin lslocks R d/file000000"),
    (Locked, Linear, "svnlook lock R d/file000000"),
    (Locked, Linear, "svnadmin lock -q R NEXT somebody /dev/null"),
    (Locked, Linear, "svnadmin unlock -q --bypass-hooks R d/file000000 somebody TOKEN"),
    (Locked, Linear, "svnadmin rmlocks -q R d/file000000"),
    (Locked, Linear, "svnadmin rmlocks -q R LOCKS"),
    (Locked, Linear, "svnadmin hotcopy -q R C"),
    (Locked, Linear, "svnmucc -m m mkdir U/d/new"),
    (Locked, Constant, "svnadmin info R"),
    (Begun, Linear, "svnadmin lstxns R"),
    (Begun, Linear, "svnadmin info R"),
    (Begun, Linear, "svnadmin rmtxns -q R TXNS"),
    (Begun, Linear, "svnadmin rmtxns -q R 1-0"),
    (Begun, Linear, "svnmucc -m m mkdir U/new"),
    (Deep, Linear, "svnlook tree R"),
    (Deep, Linear, "svnlook changed R"),
    (Deep, Linear, "svnadmin verify -q R"),
    (Deep, Linear, "svnadmin dump -q R"),
    (Deep, Linear, "svnrdump dump -q U"),
    (Deep, Square, "svnadmin load -q --no-flush-to-disk P < stream"),
];

/// Where what the programs read comes from.
fn input(made: &Made, what: &str) -> Vec<u8> {
    let printed = |line: &str| ours(made, line).run().stdout;
    match what {
        "stream" => made.stream(),
        "deltas" => printed("svnadmin dump -q --deltas R"),
        "revprops" => printed("svnadmin dump-revprops -q R"),
        "index" => printed("svnfsfs dump-index -r 1 R"),
        _ => panic!("no such input: {what}"),
    }
}

/// What is run: a program, and what it reads.
pub(crate) struct Work {
    pub(crate) command: Command,
    input: Vec<u8>,
}

impl Work {
    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    pub(crate) fn args<S: AsRef<std::ffi::OsStr>>(
        mut self,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        self.command.args(args);
        self
    }

    /// Runs it without counting.
    pub(crate) fn run(mut self) -> Output {
        let what = format!("{:?}", self.command);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &self.input).unwrap();
        self.command.stdin(Stdio::from(std::fs::File::open(file.path()).unwrap()));
        Output::of(&mut self.command).expect_success(&what)
    }

    pub(crate) fn cost(&self) -> Cost {
        counted(&self.command, &self.input).0
    }
}

/// A command line; see [`LINES`]. What has to be made first is made in the folder of the repository.
pub(crate) fn ours(made: &Made, line: &str) -> Work {
    let (line, read) = line.split_once(" < ").unwrap_or((line, ""));
    let mut words = line.split(' ').flat_map(|word| words(made, word));
    let mut command = Programs::ours().command(&words.next().unwrap());
    command.args(words);
    let input = if read.is_empty() { Vec::new() } else { input(made, read) };
    Work { command, input }
}

/// What a word of a line stands for.
fn words(made: &Made, word: &str) -> Vec<String> {
    let repo = made.path().display().to_string();
    let beside = |name: &str| made.root().join(name).display().to_string();
    let lines = |line: &str, start: &str| -> Vec<String> {
        let said = ours(made, line).run().stdout_text();
        said.lines().filter_map(|line| line.strip_prefix(start).map(str::to_owned)).collect()
    };
    let one = match word {
        "R" => repo,
        "U" => format!("file://{repo}"),
        "C" => beside("copy"),
        "H" => {
            ours(made, "svnadmin hotcopy -q R C").run();
            beside("copy")
        }
        "P" => mirror(made),
        "M" => format!("file://{}", mirror(made)),
        "S" | "T" => {
            let url = format!("file://{}", mirror(made));
            ours(made, &format!("svnsync init -q {url} U")).run();
            if word == "T" {
                ours(made, &format!("svnsync sync -q {url}")).run();
            }
            url
        }
        "TXNS" => return lines("svnadmin lstxns R", ""),
        "LOCKS" => return lines("svnadmin lslocks R", "Path: "),
        "NEXT" => file(lines("svnadmin lslocks R", "Path: ").len()),
        "TOKEN" => lines("svnadmin lslocks R d/file000000", "UUID Token: ").concat(),
        _ => match word.strip_prefix("U/") {
            Some(below) => format!("file://{repo}/{below}"),
            None => word.to_owned(),
        },
    };
    vec![one]
}

/// Lets all users change revision properties.
pub(crate) fn open_revprops(repo: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let hook = repo.join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// An empty repository beside that of a copy, which may be written to by `svnsync` and `svnrdump`.
fn mirror(made: &Made) -> String {
    let path = made.root().join("mirror");
    ours(made, &format!("svnadmin create {}", path.display())).run();
    open_revprops(&path);
    path.display().to_string()
}

fn file(n: usize) -> String {
    format!("/d/file{n:06}")
}

/// `n` files that are locked, and one that is not.
pub(crate) fn locked(n: u64) -> Made {
    let made = flat(n + 1).copy();
    let mut files = String::new();
    for number in 0..n {
        write!(files, "( {}( ) ) ", text(&format!("d/file{number:06}"))).unwrap();
    }
    let address = text("svn://localhost/repo");
    let requests = format!(
        "( 2 ( edit-pipeline svndiff1 ) {address}) ( EXTERNAL ( 0: ) ) \
         ( lock-many ( ( ) false ( {files}) ) ) "
    );
    let root = made.root().display().to_string();
    let line = format!("svnserve --tunnel --tunnel-user somebody --root {root}");
    let said = ours(&made, &line).input(requests).run().stdout_text();
    assert_eq!(u64::try_from(said.matches("opaquelocktoken").count()).unwrap(), n, "{said}");
    made
}

/// A repository with `n` unfinished transactions.
fn begun(n: u64) -> Made {
    let made = flat(1).copy();
    for number in 0..n {
        let folder = made.path().join(format!("db/transactions/1-{number}.txn"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("props"), "END\n").unwrap();
    }
    made
}

/// `n` directories in each other. Each record of a stream names its whole path, so that the stream grows
/// as the square of the depth.
fn deep(n: u64) -> Made {
    let mut stream = Stream::new();
    stream.revision([]);
    let mut path = String::new();
    for _ in 0..n {
        write!(path, "{}x", if path.is_empty() { "" } else { "/" }).unwrap();
        stream.add_dir(&path);
    }
    stream.load()
}

impl On {
    /// A repository that may be changed.
    fn made(self, size: Size) -> Made {
        let packed = |made: Made| {
            ours(&made, "svnadmin pack -q R").run();
            made
        };
        let stream = everything(size);
        match self {
            Self::Everything => stream.load().copy(),
            Self::Shards => stream.load_as("1.14", Some(10)).copy(),
            Self::Packed => packed(stream.load_as("1.14", Some(10)).copy()),
            Self::OnePack => {
                let all = stream.head() + 1;
                packed(stream.load_as("1.14", Some(all)).copy())
            }
            Self::Old => stream.load_as("1.6", Some(10)).copy(),
            Self::Properties => {
                everything(Size { properties: size.properties, ..Size::NONE }).load().copy()
            }
            Self::Locked => locked(size.entries),
            Self::Begun => begun(size.entries),
            Self::Deep => deep(size.entries / 2).copy(),
        }
    }
}

/// What it costs to start one of our programs.
pub(crate) fn start() -> Cost {
    counted(Programs::ours().command("svnlook").args(["--version", "--quiet"]), b"").0
}

/// So many tests share the table, so that several run at a time.
const PARTS: usize = 8;

/// Every eighth row of the table.
fn part(number: usize) {
    let base = start();
    for (on, order, line) in LINES.iter().skip(number).step_by(PARTS) {
        by_size(&format!("{line} ({on:?})"), *order, base, |size| {
            let made = on.made(size);
            ours(&made, line).cost()
        });
    }
}

#[test]
fn lines_a() {
    part(0);
}

#[test]
fn lines_b() {
    part(1);
}

#[test]
fn lines_c() {
    part(2);
}

#[test]
fn lines_d() {
    part(3);
}

#[test]
fn lines_e() {
    part(4);
}

#[test]
fn lines_f() {
    part(5);
}

#[test]
fn lines_g() {
    part(6);
}

#[test]
fn lines_h() {
    part(7);
}
