//! SVNKit, the client in Java that IDEs and Jenkins use, against both servers. It is Debian's package
//! `svnkit` with `liblz4-java`; `cargo xtask packages` installs them.

use std::path::Path;
use std::process::Command;

use sapwood_testkit::programs::environment;
use sapwood_testkit::repository::Packing;
use sapwood_testkit::{Output, Pair, Repository, Server, Shape, long};

const CLASSES: &str = "/usr/share/svnkit/svnkit-cli.jar";
/// Without it SVNKit cannot read what it asked for: svndiff 2.
const LZ4: &str = "/usr/share/java/lz4-java.jar";

/// One command of SVNKit's client with one server; `%u` stands for the repository's URL.
fn run(pair: &Pair, server: &Server, args: &[&str]) -> Output {
    let folder = pair.folder(server.label);
    let url = server.url("repo");
    let mut java = Command::new("java");
    environment(&mut java);
    // Java takes the home folder from the password file unless told.
    java.arg(format!("-Duser.home={}", folder.display()));
    java.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-classpath", CLASSES]);
    java.args(["org.tmatesoft.svn.cli.SVN", "--non-interactive", "--no-auth-cache"]);
    java.args(args.iter().map(|a| a.replace("%u", &url))).current_dir(&folder);
    let mut out = Output::of(&mut java);
    // SVNKit logs its errors with the time of day.
    let lines = out.stderr_text();
    let lines = lines.lines().filter(|line| !line.contains("DefaultSVNDebugLogger"));
    out.stderr = lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes();
    out.without_lines("Text Last Updated: ")
        .replacing(server.url("").trim_end_matches('/'), "svn://SERVER")
        .replacing(folder.to_str().unwrap(), "/FOLDER")
}

#[test]
fn svnkit() {
    for file in [CLASSES, LZ4] {
        assert!(
            Path::new(file).exists(),
            "{file} is not installed: run `cargo xtask packages` as root"
        );
    }
    let mut repos = vec![Repository::scripted(&Shape::new("1.10").shard(7).pack(Packing::Half))];
    if long() {
        repos.push(Repository::scripted(&Shape::new("1.6").shard(7).pack(Packing::All)));
        repos.push(Repository::random(&Shape::new("1.8").shard(7), 21, 60));
    }
    for repo in repos {
        let mut pair = Pair::start(&repo, &[]);
        let few: [&[&str]; 3] = [
            &["checkout", "--ignore-externals", "-r", "20", "%u", "wc"],
            &["log", "-v", "--xml", "%u"],
            &["blame", "--force", "%u/trunk/src/main.c@8", "%u/trunk/src/utility.c"],
        ];
        let more: [&[&str]; 13] = [
            &["update", "--ignore-externals", "wc"],
            &["export", "--ignore-externals", "%u", "export"],
            &["log", "-v", "-g", "%u/trunk"],
            &["log", "-q", "-r", "3:9", "%u", "trunk", "branches"],
            &["blame", "-g", "--xml", "%u/trunk/src/main.c"],
            &["list", "-R", "-v", "%u"],
            &["info", "%u/trunk"],
            &["cat", "%u/trunk/README"],
            &["diff", "-r", "5:12", "%u"],
            &["proplist", "-v", "-R", "%u"],
            &["propget", "--revprop", "-r", "4", "svn:log", "%u"],
            &["mergeinfo", "%u/branches/b1", "%u/trunk"],
            &["status", "-u", "-v", "wc"],
        ];
        for args in few.iter().chain(more.iter().filter(|_| long())) {
            let reference = run(&pair, pair.reference(), args);
            let ours = run(&pair, pair.ours(), args);
            pair.findings.unordered(&args.join(" "), &reference, &ours);
        }
        assert!(pair.folder("ours").join("wc/trunk").is_dir(), "nothing was checked out");
        pair.trees("working copy", "wc");
        pair.trees("export", "export");
        pair.finish();
    }
}
