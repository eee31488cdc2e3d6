//! What comparisons of branches and patches cost: requests in the server's log, and system calls. What they say is
//! the reference's.

use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::Programs;

/// A folder in which a script has run, with `$N` for a number.
fn folder(script: &str, n: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
    command.env("N", n.to_string()).args(["-e", "-c", script]).current_dir(folder.path());
    assert!(command.status().unwrap().success());
    folder
}

/// A trunk `T` and its branch `B`: of each of four kinds there are `$N` files that differ, in a directory each
/// kind; a server that logs.
const BRANCHES: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo m; cd m; all=$(seq $N)
mkdir -p T/text T/props T/gone T/new
for d in $all; do seq 9 > T/text/$d; seq 9 > T/props/$d; seq 9 > T/gone/$d; done
svn add -q T; svn ps -q p v T/text/*; svn ci -qm 1; svn up -q; svn cp -q T B; svn ci -qm 2; svn up -q
for d in $all; do echo $d >> B/text/$d; echo $d > B/new/$d; done; svn add -q B/new/*
svn ps -q p w B/props/*; svn rm -q B/gone/*; svn ci -qm 3
cd ..; printf 'exec svnserve -t --log-file %s/log\n' $PWD > tunnel
";

/// What a comparison of the branches says, and how many requests it makes.
fn compared(at: &Path, programs: &Programs, words: &[&str]) -> (String, usize) {
    let url = format!("svn+ssh://x{}/repo", at.display());
    let mut command = programs.command("svn");
    command.arg("diff").args(words).args([format!("{url}/T"), format!("{url}/B")]);
    command.env("SVN_SSH", format!("sh {}/tunnel", at.display())).current_dir(at);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = std::fs::read_to_string(at.join("log")).unwrap();
    std::fs::remove_file(at.join("log")).unwrap();
    (String::from_utf8(output.stdout).unwrap(), log.lines().count())
}

#[test]
fn a_comparison_of_branches_makes_few_requests() {
    for words in [&[][..], &["--summarize"], &["--git"]] {
        let [few, many] = [4, 16].map(|n| {
            let folder = folder(BRANCHES, n);
            let (ours, requests) = compared(folder.path(), &Programs::ours(), words);
            let (theirs, more) = compared(folder.path(), &Programs::reference(), words);
            assert_eq!(ours, theirs);
            assert!(n < 16 || requests * 3 <= more, "{requests} {more}");
            requests
        });
        assert_eq!(few, many);
    }
}

/// A branch `B` of `T`, brought up to date once, of which `$N` files have mergeinfo of their own, and a working
/// copy `wc` of `T` that it goes back to. Of every fourth file `T` has mergeinfo, too, and one was moved on `B`.
const BACK: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo m; cd m; mkdir -p T/d
for d in $(seq $N); do seq 9 > T/d/$d; done
svn add -q T; svn ci -qm 1; svn up -q; svn cp -q T B; svn ci -qm 2; svn up -q
for d in $(seq 4 4 $N); do svn ps -q svn:mergeinfo /C/d/$d:2 T/d/$d; done
echo new > T/new; svn add -q T/new; svn ci -qm 3; svn up -q; cd B; svn merge -q ^/T; svn ci -qm 4; svn up -q
svn mv -q d/1 d/moved; svn ps -q svn:mergeinfo /T/d/1:3 d/moved
for d in $(seq 2 $N); do svn ps -q svn:mergeinfo /T/d/$d:3 d/$d; echo $d >> d/$d; done; svn ci -qm 5; svn up -q
cd ../..; printf 'exec svnserve -t --log-file %s/log\n' $PWD > tunnel
printf 'exec svnserve -t\n' > quiet
SVN_SSH=sh\ $PWD/quiet svn co -q svn+ssh://x$PWD/repo/T wc
";

/// What a branch that goes back leaves and says, and how many requests that takes.
fn gone_back(n: usize, programs: &Programs) -> (String, usize) {
    let folder = folder(BACK, n);
    let at = folder.path();
    let mut command = programs.command("svn");
    command.args(["merge", "^/B"]).current_dir(at.join("wc"));
    let output = command.env("SVN_SSH", format!("sh {}/tunnel", at.display())).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let state =
        "svn st; svn pl -vR .; find . -name .svn -prune -o -type f -print | sort | xargs md5sum";
    let mut command = Command::new("sh");
    let state = command.args(["-c", state]).current_dir(at.join("wc")).output().unwrap();
    let text = [output.stdout, state.stdout].concat();
    let requests = std::fs::read_to_string(at.join("log")).unwrap().lines().count();
    (String::from_utf8(text).unwrap(), requests)
}

#[test]
fn a_branch_that_goes_back_makes_few_requests() {
    let [few, many] = [32, 96].map(|n| {
        let (ours, requests) = gone_back(n, &Programs::ours());
        let (theirs, more) = gone_back(n, &Programs::reference());
        assert_eq!(ours, theirs);
        assert!(requests * 3 <= more, "{requests} {more}");
        requests
    });
    assert!(many <= few + 2, "{few} {many}");
}

/// A working copy `wc`, and a patch of `$N` of its files, ten of each directory.
const PATCH: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc
for d in $(seq $N); do mkdir -p d$((d / 10)); seq 9 > d$((d / 10))/f$d; done
svn add -q d*; svn ci -qm 1; svn up -q
for d in $(seq $N); do echo $d >> d$((d / 10))/f$d; done; svn diff > ../patch; svn revert -qR .
";

/// How many system calls `svn` makes in `wc` of such a folder.
fn system_calls(script: &str, n: usize, words: &[&str]) -> usize {
    let folder = folder(script, n);
    let svn = Programs::ours().command("svn");
    let mut command = Command::new("strace");
    command.env("SVN_EXPERIMENTAL_COMMANDS", "shelf2");
    command.args(["-f", "-qq", "-o", "../trace"]).arg(svn.get_program());
    command.args(words).current_dir(folder.path().join("wc"));
    let done = command.stdout(Stdio::null()).status();
    let done = done.unwrap_or_else(|e| panic!("no strace ({e}): run `cargo xtask packages`"));
    assert!(done.success());
    let trace = std::fs::read_to_string(folder.path().join("trace")).unwrap();
    trace.lines().filter(|line| !line.contains(" resumed>")).count()
}

#[test]
fn a_patch_makes_few_system_calls_a_file() {
    let [few, many] = [20, 80].map(|n| system_calls(PATCH, n, &["patch", "../patch"]));
    let each = (many - few) / 60;
    assert!(each <= 20, "{few} for 20 files, {many} for 80");
}

/// A working copy `wc` with a directory of `$N` files, and an empty one.
const COPIES: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc; mkdir a b
for d in $(seq $N); do echo $d > a/f$d; done; svn add -q a b; svn ci -qm 1; svn up -q
";

#[test]
fn copies_of_many_files_make_few_system_calls_a_file() {
    let [few, many] = [20, 80].map(|n| {
        let files: Vec<String> = (1..=n).map(|d| format!("a/f{d}")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        system_calls(COPIES, n, &[&["copy", "-q"], &files[..], &["b"]].concat())
    });
    let each = (many - few) / 60;
    assert!(each <= 30, "{few} for 20 files, {many} for 80");
}

/// A branch `B` of `T`, whose `$N` files (ten of each directory) were changed since, and a working copy `wc` of it.
/// Of every fourth file `B` has mergeinfo.
const BEHIND: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo m; cd m
for d in $(seq $N); do mkdir -p T/d$((d / 10)); seq 9 > T/d$((d / 10))/f$d; done
svn add -q T; svn ci -qm 1; svn up -q; svn cp -q T B; svn ci -qm 2; svn up -q
for d in $(seq $N); do echo $d >> T/d$((d / 10))/f$d; done; svn ci -qm 3; svn up -q
for d in $(seq 4 4 $N); do svn ps -q svn:mergeinfo /C/f$d:2 B/d$((d / 10))/f$d; done; svn ci -qm 4; cd ..
printf 'exec svnserve -t --log-file %s/log\n' $PWD > tunnel; printf 'exec svnserve -t\n' > quiet
SVN_SSH=sh\ $PWD/quiet svn co -q svn+ssh://x$PWD/repo/B over; svn co -q file://$PWD/repo/B wc
";

#[test]
fn a_merge_makes_few_system_calls_a_file() {
    let [few, many] = [40, 120].map(|n| system_calls(BEHIND, n, &["merge", "^/T"]));
    let each = (many - few) / 80;
    assert!(each <= 30, "{few} for 40 files, {many} for 120");
}

/// What a merge of one revision leaves and says, and how many requests that takes.
fn picked(n: usize, programs: &Programs) -> (String, usize) {
    let folder = folder(BEHIND, n);
    let at = folder.path();
    let mut command = programs.command("svn");
    command.args(["merge", "-c3", "^/T"]).current_dir(at.join("over"));
    let output = command.env("SVN_SSH", format!("sh {}/tunnel", at.display())).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let state = "svn st; svn pl -vR .; cat d*/f*";
    let mut command = Command::new("sh");
    let state = command.args(["-c", state]).current_dir(at.join("over")).output().unwrap();
    let text = [output.stdout, state.stdout].concat();
    let log = std::fs::read_to_string(at.join("log")).unwrap();
    (String::from_utf8(text).unwrap(), log.lines().count())
}

#[test]
fn a_cherry_pick_makes_few_requests() {
    for n in [3, 20] {
        let (ours, requests) = picked(n, &Programs::ours());
        let (theirs, more) = picked(n, &Programs::reference());
        assert_eq!(ours, theirs);
        assert!(
            requests <= if n < 4 { 5 } else { 6 } && requests * 2 <= more,
            "{n}: {requests} {more}"
        );
    }
}

/// A working copy `wc` with two directories of `$N` files each.
const TARGETS: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc; mkdir a b
for d in $(seq $N); do echo $d > a/f$d; echo $d > b/f$d; done; svn add -q a b; svn ci -qm 1; svn up -q
";

/// As [`system_calls`], of a command on the files of a directory of [`TARGETS`]: how many a target.
fn a_target(script: &str, command: &[&str]) -> usize {
    let [few, many] = [20, 80].map(|n| {
        let files: Vec<String> = (1..=n).map(|d| format!("a/f{d}")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        system_calls(script, n, &[command, &files[..]].concat())
    });
    (many - few) / 60
}

#[test]
fn an_update_of_many_targets_makes_few_system_calls_a_target() {
    let each = a_target(TARGETS, &["up", "-q"]);
    assert!(each <= 180, "{each}");
}

#[test]
fn a_shallower_depth_makes_few_system_calls_a_file() {
    let [few, many] =
        [20, 80].map(|n| system_calls(TARGETS, n, &["up", "-q", "--set-depth", "empty", "a"]));
    let each = (many - few) / 60;
    assert!(each <= 8, "{few} for 20 files, {many} for 80");
}

#[test]
fn a_copy_to_a_url_makes_no_system_calls_a_file() {
    let [few, many] = [20, 80].map(|n| system_calls(TARGETS, n, &["cp", "-qm1", "a", "^/c"]));
    let each = (many - few) / 60;
    assert!(each <= 3, "{few} for 20 files, {many} for 80");
}

#[test]
fn missing_files_are_restored_with_few_system_calls_a_file() {
    let script = format!("{TARGETS}rm a/*");
    let [few, many] = [20, 80].map(|n| system_calls(&script, n, &["up", "-q", "a"]));
    let each = (many - few) / 60;
    assert!(each <= 30, "{few} for 20 files, {many} for 80");
}

#[test]
fn unshelving_makes_few_system_calls_a_file() {
    let shelve = "export SVN_EXPERIMENTAL_COMMANDS=shelf2; svn x-shelve -q s";
    let script = format!("{TARGETS}for f in a/*; do echo changed >> $f; done; {shelve}");
    let [few, many] = [20, 80].map(|n| system_calls(&script, n, &["x-unshelve", "-q", "s"]));
    let each = (many - few) / 60;
    assert!(each <= 200, "{few} for 20 files, {many} for 80");
}

/// The same where the texts were changed.
fn a_changed_target(command: &str) -> usize {
    a_target(&format!("{TARGETS}for f in a/*; do echo changed >> $f; done"), &[command])
}

#[test]
fn a_status_of_many_targets_makes_few_system_calls_a_target() {
    let each = a_changed_target("status");
    assert!(each <= 30, "{each}");
}

#[test]
fn a_diff_of_many_targets_makes_few_system_calls_a_target() {
    let each = a_changed_target("diff");
    assert!(each <= 62, "{each}");
}

#[test]
fn targets_in_a_row_share_a_lock_and_a_folder() {
    for (most, command) in [
        (4, &["proplist"][..]),
        (4, &["info", "--show-item", "revision"]),
        (5, &["resolve", "-q", "--accept", "working"]),
        (6, &["status"]),
        (8, &["diff"]),
    ] {
        let each = a_target(TARGETS, command);
        assert!(each <= most, "{command:?}: {each}");
    }
}

#[test]
fn a_cleanup_looks_at_each_file_once() {
    for words in [&["cleanup"][..], &["cleanup", "--remove-unversioned"]] {
        let [few, many] = [20, 80].map(|n| system_calls(TARGETS, n, words));
        // Each number is that of two files.
        let each = (many - few) / 60;
        assert!(each <= 2, "{words:?}: {few} for 40 files, {many} for 160");
    }
}

#[test]
fn files_with_other_times_make_few_system_calls_a_file() {
    let script = format!("{TARGETS}touch -d '1 hour ago' a/*");
    for words in [&["cleanup"][..], &["ci", "-mnothing"]] {
        let [few, many] = [20, 80].map(|n| system_calls(&script, n, words));
        let each = (many - few) / 60;
        assert!(each <= 20, "{words:?}: {few} for 20 files, {many} for 80");
    }
}
