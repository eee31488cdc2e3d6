//! `svnbench` of both sides counts the same, over both servers and in this process.

use crate::repositories;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Programs, Server, long};

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
                let [reference, ours] = [Programs::reference(), Programs::ours()].map(|programs| {
                    let out = programs.run("svnbench", &args);
                    // How long it took, and what the messages of a protocol add up to.
                    let lines = out.stdout_text();
                    let kept = lines
                        .lines()
                        .filter(|l| !l.ends_with(" seconds taken") && !l.contains(" bytes transf"));
                    let stdout = kept.collect::<Vec<_>>().join("\n").into_bytes();
                    sapwood_testkit::Output { stdout, ..out }
                });
                assert_same(&args.join(" "), &reference, &ours);
            }
        }
    }
}
