//! `svnbench` of both sides counts the same, over both servers and in this process.

use crate::interop::repositories;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{History, Output, Programs, Repository, Server, Shape, long};

/// `%u` stands for the URL.
const COMMANDS: &[&[&str]] = &[
    &["null-log", "-v", "%u"],
    &["null-log", "-g", "-v", "%u/trunk"],
    &["null-log", "-v", "-c", "3,5", "-c", "-4", "%u"],
    &["null-log", "-r", "{1970-01-02}:HEAD", "-l", "4", "%u"],
    &["null-log", "%u/trunk@5"],
    &["null-log", "%u", "/x"],
    &["null-log", "%u/none"],
    &["null-log", "%u@99999"],
    &["null-log", "--with-no-revprops", "--with-revprop", "x", "%u"],
    &["null-export", "%u"],
    &["null-export", "-r", "5", "%u/trunk"],
    &["null-export", "--depth", "immediates", "%u"],
    &["null-export", "-r", "2:3", "%u"],
    &["null-export", "%u/none"],
    &["null-list", "-R", "%u"],
    &["null-list", "-v", "--search", "*a*", "-R", "%u"],
    &["null-list", "%u/none"],
    &["null-info", "-R", "%u"],
    &["null-info", "--depth", "files", "%u/trunk"],
    &["null-info", "%u/none"],
    &["null-blame", "%u/none"],
    &["null-blame", "%u/trunk"],
    &["null-log", "--depth", "infinity", "%u"],
    &["null-export", "--password-from-stdin", "%u"],
];

/// What `svnbench` says, without how long it took and what the messages of a protocol add up to.
fn counted(programs: &Programs, args: &[String]) -> Output {
    counting(programs.command("svnbench").args(args))
}

fn counting(svnbench: &mut std::process::Command) -> Output {
    let out = Output::of(svnbench);
    let lines = out.stdout_text();
    let kept =
        lines.lines().filter(|l| !l.ends_with(" seconds taken") && !l.contains(" bytes transf"));
    let stdout = kept.collect::<Vec<_>>().join("\n").into_bytes();
    Output { stdout, ..out }
}

/// A trunk and two branches, merged to and fro: merged revisions that are told elsewhere leave their
/// changed paths to the next entry, and over `file:` more lists end than begin.
#[test]
fn merges_of_merges_are_counted_the_same() {
    let mut history = History::new("merges-of-merges");
    let mut first = history.begin("ann", "first");
    first.mkdir("trunk").add("trunk/f", "1\n");
    first.commit();
    for (revision, branch) in [(1, "a"), (2, "b")] {
        let mut copy = history.begin("ann", "branch");
        copy.copy("trunk", revision, branch);
        copy.commit();
    }
    let branches = ["trunk", "a", "b"];
    for round in 0..4 {
        for (at, branch) in branches.iter().enumerate() {
            let last = history.youngest();
            let source = branches[(at + 1 + round % 2) % 3];
            if last > 3 {
                let info = format!("/{source}:4-{last}\n");
                let mut merge = history.begin("bea", "merge");
                merge.propset(branch, "svn:mergeinfo", Some(info.as_bytes()));
                merge.commit();
            }
            let mut work = history.begin("ann", "work");
            work.edit(&format!("{branch}/f"), format!("{last}\n"));
            work.commit();
        }
    }
    let repo = Repository::new(&Shape::new("1.10").shard(7), history);
    let servers = [Programs::reference(), Programs::ours()]
        .map(|programs| Server::start(&programs, repo.parent(), &[]));
    for url in servers.iter().map(|s| s.url("repo")).chain([repo.url()]) {
        for below in ["", "/trunk", "/a"] {
            let args = ["null-log", "-v", "-g", &format!("{url}{below}")].map(str::to_owned);
            let [reference, ours] =
                [Programs::reference(), Programs::ours()].map(|p| counted(&p, &args));
            assert!(reference.stdout_text().contains(" merged in "), "{}", args.join(" "));
            assert_same(&args.join(" "), &reference, &ours);
        }
    }
}

#[test]
fn svnbench_counts_the_same() {
    for repo in repositories().step_by(if long() { 1 } else { 7 }) {
        let servers = [Programs::reference(), Programs::ours()]
            .map(|programs| Server::start(&programs, repo.parent(), &[]));
        let head = repo.history.revision(repo.history.youngest());
        let files = head.root.walk();
        let files = files.iter().filter(|(_, node)| node.text().is_some()).take(3);
        let blames: Vec<String> = files.map(|(path, _)| format!("%u{path}")).collect();
        let blames: Vec<[&str; 2]> = blames.iter().map(|url| ["null-blame", url]).collect();
        for url in servers.iter().map(|s| s.url("repo")).chain([repo.url()]) {
            let commands = COMMANDS.iter().copied().chain(blames.iter().map(|b| &b[..]));
            for command in commands {
                let args: Vec<String> = command.iter().map(|a| a.replace("%u", &url)).collect();
                let [reference, ours] =
                    [Programs::reference(), Programs::ours()].map(|p| counted(&p, &args));
                assert_same(&args.join(" "), &reference, &ours);
            }
        }
    }
}

/// What `svnbench` takes beside URLs.
const OF_WORKING_COPIES: &[&[&str]] = &[
    &["null-log"],
    &["null-log", "-v", "f"],
    &["null-log", "f@HEAD"],
    &["null-log", "-r", "BASE:1", "f"],
    &["null-log", "-r", "PREV", "f"],
    &["null-log", "copied"],
    &["null-log", "new"],
    &["null-log", "none"],
    &["null-list"],
    &["null-list", "-r", "HEAD", "f"],
    &["null-list", "none"],
    &["null-blame", "f"],
    &["null-blame", "f@HEAD"],
    &["null-blame", "-r", "1:BASE", "f"],
    &["null-blame", "none"],
    &["null-export", "."],
    &["null-export", "-r", "HEAD", "."],
    &["null-export", "-r", "COMMITTED", "."],
    &["null-info"],
    &["null-info", "f"],
    &["null-info", "-r", "HEAD", "f", "none"],
];

/// A working copy behind its repository, with a copy and an addition: looked up alike.
#[test]
fn working_copies_are_counted_the_same() {
    let mut history = History::new("bench-working-copies");
    for (revision, text) in ["1\n", "1\n2\n", "1\n2\n3\n"].into_iter().enumerate() {
        let mut change = history.begin("ann", "change");
        if revision == 0 {
            change.add("f", text)
        } else {
            change.edit("f", text)
        };
        change.commit();
    }
    let repo = Repository::new(&Shape::new("1.10").shard(7), history);
    let folder = tempfile::tempdir().unwrap();
    let reference = Programs::reference();
    for args in [
        &["checkout", "-q", "-r2", &repo.url(), "."][..],
        &["copy", "-q", "f", "copied"],
        &["mkdir", "-q", "new"],
    ] {
        let svn = &mut reference.command("svn");
        Output::of(svn.args(args).current_dir(folder.path())).expect_success("svn");
    }
    for args in OF_WORKING_COPIES {
        let [wanted, found] = [&reference, &Programs::ours()]
            .map(|side| counting(side.command("svnbench").args(*args).current_dir(folder.path())));
        assert_same(&args.join(" "), &wanted, &found);
    }
}
