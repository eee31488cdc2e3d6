//! Memory does not follow the number of nodes more than it must: of each command the peak is taken with n and with 4n
//! files, and what each further file takes has a bound.
//!
//! Caches, which are filled up to a size of their own, are small here: `-M 1`, and `memory-cache-size`.

use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::Programs;
use wait4::Wait4 as _;

/// The files of a small tree; a large one has four times as many.
const FEW: u64 = 1500;

/// A tree `t` of `$N` files, a hundred in each directory, and an empty repository.
const TREE: &str = r"
svnadmin create repo; svnadmin create loaded; mkdir t
for d in $(seq $((N / 100))); do mkdir t/d$d; for f in $(seq 100); do echo $d $f > t/d$d/f$f; done; done
";

/// A command in a folder of the site, after a script; and the bytes that it may take for each further file. The allocator's
/// pages and the turns of threads make some 300 bytes more or less.
struct Row {
    before: &'static str,
    folder: &'static str,
    line: &'static str,
    most: u64,
}

const ROWS: &[Row] = &[
    Row { before: "", folder: ".", line: "svn import -q -m one t $URL/T", most: 3250 },
    Row { before: "", folder: ".", line: "svn checkout -q $URL/T wc", most: 1500 },
    Row { before: "touch wc/d1/*", folder: "wc", line: "svn status", most: 1000 },
    Row {
        before: "cd wc; svn mkdir -q m; svn move -q d* m",
        folder: "wc",
        line: "svn status -q",
        most: 1600,
    },
    Row { before: "", folder: "wc", line: "svn diff --summarize", most: 1600 },
    Row {
        before: "cd wc; cp -r ../t new; svn add -q new",
        folder: "wc",
        line: "svn commit -q -m two",
        most: 4400,
    },
    Row { before: "", folder: ".", line: "svnlook tree -M 1 repo", most: 700 },
    Row { before: "", folder: ".", line: "svnadmin verify -q -M 1 repo", most: 800 },
    Row { before: "", folder: ".", line: "svnadmin dump -q -M 1 repo", most: 1050 },
    Row {
        before: "svnadmin dump -q repo > dump",
        folder: ".",
        line: "svnadmin load -q -M 1 -F dump loaded",
        most: 3600,
    },
];

/// Runs a script with our programs.
fn script(at: &Path, n: u64, text: &str) {
    let mut command = Command::new("sh");
    sapwood_testkit::programs::environment(&mut command);
    command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
    command.env("PATH", format!("{}:/usr/bin:/bin", Programs::ours().dir().display()));
    command.env("N", n.to_string()).args(["-e", "-c", text]).current_dir(at);
    assert!(command.stdout(Stdio::null()).status().unwrap().success(), "{text}");
}

/// The peak of a command's memory, in bytes.
fn peak(at: &Path, row: &Row) -> u64 {
    let url = format!("file://{}/repo", at.display());
    let line = row.line.replace("$URL", &url);
    let mut words = line.split(' ');
    let program = words.next().unwrap();
    let mut command = Programs::ours().command(program);
    command.args(words).current_dir(at.join(row.folder)).stdout(Stdio::null());
    if program == "svn" {
        command.args(["--config-option", "config:miscellany:memory-cache-size=1"]);
    }
    let ended = command.spawn().unwrap().wait4().unwrap();
    assert!(ended.status.success(), "{line}");
    ended.rusage.maxrss
}

/// The peaks of all rows with so many files.
fn peaks(n: u64) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    script(at, n, TREE);
    let run = |row: &Row| {
        script(at, n, row.before);
        peak(at, row)
    };
    ROWS.iter().map(run).collect()
}

#[test]
fn memory_follows_the_number_of_nodes_by_little() {
    let (few, many) = (peaks(FEW), peaks(4 * FEW));
    let mut over = Vec::new();
    for ((row, few), many) in ROWS.iter().zip(few).zip(many) {
        let each = many.saturating_sub(few) / (3 * FEW);
        println!("{}: {} KiB, {} KiB, {each} bytes a file", row.line, few >> 10, many >> 10);
        if each > row.most {
            over.push(format!("{}: {each} bytes a file, {} at most", row.line, row.most));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
