//! Memory does not follow the size of a file: programs whose memory is limited compare files that are longer than
//! that.

use std::path::Path;
use std::process::Command;

use sapwood_testkit::Programs;

/// A text of 45 MB whose second revision changes lines near both ends, and a binary file of 50 MB.
const FILES: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc
seq -f 'a line of a long text, %.0f' 1500000 > text; head -c 50000000 /dev/zero > zero
svn add -q text zero; svn ps -q svn:mime-type application/octet-stream zero; svn ci -qm 1
sed -i -e '1000s/.*/changed/' -e '1499000s/.*/changed/' text
printf X | dd of=zero bs=1 seek=99 conv=notrunc 2>/dev/null
";

/// Runs a script with `kib` of memory for data.
fn run(programs: &Programs, at: &Path, kib: &str, script: &str) -> String {
    let mut command = Command::new("sh");
    sapwood_testkit::programs::environment(&mut command);
    command.args(["-c", &format!("ulimit -d {kib}; {script}")]).current_dir(at);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.dir().display()));
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn long_files_are_compared_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-e", "-c", FILES]).current_dir(folder.path());
    assert!(command.status().unwrap().success());
    let hunk = |from: u32| {
        let line = |n: u32| format!(" a line of a long text, {n}\n");
        let lines = |range: std::ops::Range<u32>| range.map(line).collect::<String>();
        let gone = line(from + 3).replacen(' ', "-", 1);
        let (before, after) = (lines(from..from + 3), lines(from + 4..from + 7));
        format!("@@ -{from},7 +{from},7 @@\n{before}{gone}+changed\n{after}")
    };
    let hunks = hunk(997) + &hunk(1_498_997);
    let (ours, wc) = (Programs::ours(), folder.path().join("wc"));
    let little = |at: &Path, script: &str| run(&ours, at, "65000", script);
    assert!(little(&wc, "svn diff text").ends_with(&hunks));
    assert!(little(&wc, "svn diff --force text").ends_with(&hunks));
    assert_eq!(little(&wc, "svn diff --summarize"), "M       text\nM       zero\n");
    assert!(little(&wc, "svn diff zero").contains("Cannot display"));
    assert!(little(&wc, "svn diff --git zero").contains("literal 50000000\n"));
}

/// What merges, blames, patches and shelves a long text, with the memory for data that it may take, in KiB; the whole
/// of both texts would be 90,000. 1.14 takes some 160 MB for a merge of such texts and 100 for a blame.
const WORK: &[(&str, &str)] = &[
    ("65000", "svn diff -c2 $URL > /dev/null"),
    ("65000", "svnlook diff -r2 repo > /dev/null"),
    ("65000", "svn blame $URL/text > /dev/null"),
    (
        "65000",
        "cd wc; svn diff text > ../p; svn revert -q text; svn patch -q ../p; svn revert -q text",
    ),
    ("65000", "cd wc; svn patch -q ../far; svn revert -q text; rm -f text.svnpatch.rej"),
    ("160000", "cd wc; svn up -q -r1; sed -i '2s/.*/mine/' text; svn up -q; svn revert -q text"),
    ("65000", "cd wc; svn merge -q -c-2 .; svn revert -q -R ."),
    (
        "65000",
        "export SVN_EXPERIMENTAL_COMMANDS=shelf3; cd wc; echo more >> text; svn x-shelve -q s; svn x-unshelve -q s; \
         svn revert -q text",
    ),
];

#[test]
fn long_texts_are_merged_blamed_patched_and_shelved_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let far = "svn ci -qm 2; svn up -q; cd ..\n\
               printf -- '--- text\\n+++ text\\n@@ -9,3 +9,3 @@\\n' > far\n\
               printf ' a line of a long text, 700001\\n-a line of a long text, 700002\\n' >> far\n\
               printf '+other\\n a line of a long text, 700003\\n' >> far\n";
    let mut command = Command::new("sh");
    command.args(["-e", "-c", &format!("{FILES}{far}")]).current_dir(folder.path());
    assert!(command.status().unwrap().success());
    let ours = Programs::ours();
    let url = format!("file://{}/repo", folder.path().display());
    for (kib, script) in WORK {
        run(&ours, folder.path(), kib, &format!("set -e; URL={url}; {script}"));
    }
    // The hunk of `far` was found where it fits, half a million lines from where it says.
    run(&ours, folder.path(), "65000", "cd wc; svn patch ../far | grep -q 'offset 699992'");
}
