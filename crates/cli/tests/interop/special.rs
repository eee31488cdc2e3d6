//! Repositories that are not like the others: a directory with very many entries, and revisions that
//! were committed by `svnmucc` and not loaded.

use sapwood_testkit::repository::Packing;
use sapwood_testkit::{Findings, History, Pair, Programs, Repository, Shape, long, scripted};

#[test]
fn a_directory_of_many_entries() {
    let (count, shapes) = if long() {
        (
            20_000,
            vec![
                Shape::new("1.10").shard(7),
                Shape::new("1.6").shard(7).pack(Packing::All),
                Shape::new("1.1"),
            ],
        )
    } else {
        (600, vec![Shape::new("1.10").shard(7)])
    };
    let history: History = scripted::wide(count);
    for shape in shapes {
        let repo = Repository::new(&shape, history.clone());
        let path = repo.arg();
        let mut pair = Pair::start(&repo, &[]);
        administrators(&mut pair.findings, &path, 1..=repo.history.youngest());
        pair.svn(&["list", "-v", "%u/wide"]);
        pair.svn_unordered(&["list", "-R", "--xml", "%u", "-r", "1"]);
        pair.svn(&["list", "%u/wide", "--search", "*77*"]);
        pair.svn(&["log", "-v", "%u"]);
        pair.svn_unordered(&["log", "-v", "-g", "--xml", "%u/copy/entry 00003"]);
        pair.svn(&["info", "%u/wide/entry 00777@3"]);
        pair.svn_unordered(&["diff", "-r", "1:HEAD", "%u"]);
        pair.svn_unordered(&["diff", "--summarize", "--old", "%u/wide@2", "--new", "%u/copy"]);
        pair.svn_unordered(&["checkout", "-r", "1", "%u/wide", "wc"]);
        pair.trees("checkout of r1", "wc");
        pair.svn_unordered(&["update", "wc"]);
        pair.trees("update to HEAD", "wc");
        pair.svn_unordered(&["switch", "%u/copy", "wc"]);
        pair.trees("switch to the copy", "wc");
        pair.finish();
    }
}

#[test]
fn revisions_committed_by_svnmucc() {
    let mut shapes = vec![Shape::new("1.10").shard(7), Shape::new("1.6").shard(7)];
    if long() {
        shapes.extend([Shape::new("1.1"), Shape::new("1.8").shard(7).pack(Packing::Half)]);
    }
    for shape in shapes {
        let repo = Repository::scripted(&shape);
        let first = repo.history.youngest() + 1;
        let last = first + commit(&repo) - 1;
        let mut pair = Pair::start(&repo, &[]);
        administrators(&mut pair.findings, &repo.arg(), first - 1..=last);
        pair.svn_unordered(&["log", "-v", "-g", "--xml", "--with-all-revprops", "%u"]);
        for revision in first..=last {
            let number = revision.to_string();
            pair.svn_unordered(&["list", "-R", "-v", "--xml", "%u", "-r", &number]);
            pair.svn_unordered(&["diff", "--git", "-c", &number, "%u"]);
            pair.svn_unordered(&["proplist", "-v", "-R", "%u/mucc", "-r", &number]);
        }
        pair.svn_unordered(&["blame", "-g", "--xml", "%u/mucc/b/file"]);
        pair.svn(&["cat", "%u/mucc/b/file", "%u/mucc/trunk of old/README"]);
        pair.svn_unordered(&["checkout", "-r", &first.to_string(), "%u", "wc"]);
        for revision in first + 1..=last {
            pair.svn_unordered(&["update", "-r", &revision.to_string(), "wc"]);
            pair.trees(&format!("update to r{revision}"), "wc");
        }
        pair.finish();
    }
}

/// Files beyond the length up to which `svnlook diff` takes both texts into memory.
#[test]
fn a_large_file_is_compared_in_parts() {
    let mut history = History::new("large");
    let mut lines: Vec<String> =
        (0..90_000).map(|n| format!("line {n:70} with some text to fill it up\n")).collect();
    let mut txn = history.begin("large", "a large file");
    txn.add("large", lines.concat());
    txn.commit();
    lines[40_000] = "void changed(void)\n".to_owned();
    lines.remove(40_100);
    let mut txn = history.begin("large", "a line is another, one is gone");
    txn.edit("large", lines.concat());
    txn.commit();
    lines.push("no newline here".to_owned());
    lines[40_050] = "changed\n".to_owned();
    let mut txn = history.begin("large", "changes up to the end");
    txn.edit("large", lines.concat());
    txn.commit();
    let repo = Repository::new(&Shape::new("1.10").shard(7), history);
    let mut f = Findings::new(repo.name());
    f.program("svnlook", &["diff", &repo.arg(), "-r", "2"]);
    f.program("svnlook", &["diff", &repo.arg(), "-r", "3", "-x", "-p"]);
    f.finish();
}

/// What administrators' programs say about a range of revisions.
/// A program that opens a filesystem is told of options that make no sense.
#[test]
fn options_that_make_no_sense() {
    let repo = Repository::scripted(&Shape::new("1.10"));
    let path = repo.arg();
    let mut findings = Findings::new("fsfs.conf");
    for (section, option) in [
        ("caches", "fail-stop = maybe"),
        ("memcached-servers", "one = localhost"),
        ("memcached-servers", "one = :80"),
        ("memcached-servers", "one = host:65536"),
        ("memcached-servers", "one ="),
        ("memcached-servers", "one = [fe80::1%eth0]:80"),
        ("rep-sharing", "enable-rep-sharing = 2"),
        ("deltification", "enable-dir-deltification = x"),
        ("deltification", "max-linear-deltification = "),
        ("deltification", "compression = zlib-"),
        ("deltification", "compression = zlib-10"),
        ("deltification", "compression = none\ncompression-level = 3"),
        ("packed-revprops", "revprop-pack-size = 99999999999999999999"),
        ("io", "block-size = 3"),
        ("io", "l2p-page-size = 99999999999"),
        ("io", "p2l-page-size = 0"),
        ("debug", "pack-after-commit = x"),
    ] {
        let config = format!("[{section}]\n{option}\n");
        std::fs::write(repo.path().join("db/fsfs.conf"), config).unwrap();
        findings.program("svnlook", &["youngest", &path]);
        findings.program("svnadmin", &["verify", "-q", &path]);
        let url = format!("file://{path}");
        findings.program("svnmucc", &["-m", "m", "-U", &url, "mkdir", "new"]);
    }
    // A server that is not there is no error (with `fail-stop` it is one for the reference, and
    // without, `svnadmin` warns of it: we do not ask).
    let server = "[memcached-servers]\none = 127.0.0.1:9\n";
    for config in ["", server] {
        std::fs::write(repo.path().join("db/fsfs.conf"), config).unwrap();
        findings.program("svnlook", &["tree", &path]);
    }
    findings.finish();
}

fn administrators(f: &mut Findings, path: &str, revisions: std::ops::RangeInclusive<usize>) {
    f.program("svnadmin", &["dump", "-q", path]);
    f.program("svnadmin", &["verify", path]);
    for revision in revisions {
        let number = revision.to_string();
        for command in [
            &["changed", "--copy-info"][..],
            &["diff", "--diff-copy-from"],
            &["tree", "--show-ids", "--full-paths"],
            &["info"],
        ] {
            f.program("svnlook", &[&[command[0], path, "-r", &number], &command[1..]].concat());
        }
        f.program("svnfsfs", &["dump-index", "-r", &number, path]);
    }
}

/// Commits with `svnmucc`, and returns how many revisions there are more.
fn commit(repo: &Repository) -> usize {
    let file = |name: &str, text: &[u8]| {
        let path = repo.parent().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let one = file("one", b"one\ntwo\nthree\n");
    let two = file("two", b"one\ntwo and a half\nthree\nfour\n");
    let long = file("long", &b"a line of the long file\n".repeat(30_000));
    let commits: [&[&str]; 11] = [
        &["mkdir", "mucc", "mkdir", "mucc/a", "put", &one, "mucc/a/file"],
        &["put", &two, "mucc/a/file", "propset", "svn:eol-style", "native", "mucc/a/file"],
        &["cp", "HEAD", "mucc/a", "mucc/b", "put", &one, "mucc/b/more"],
        &["put", &long, "mucc/b/file", "propsetf", "long", &two, "mucc/b"],
        &["mv", "mucc/b/more", "mucc/a/moved", "propset", "p", "1", "mucc/a"],
        &["rm", "mucc/a/file", "put", &long, "mucc/a/file", "rm", "mucc/b/file"],
        &["cp", "3", "trunk", "mucc/trunk of old", "put", &one, "mucc/trunk of old/README"],
        &["propset", "svn:mergeinfo", "/trunk:5-9", "mucc/trunk of old"],
        &["propdel", "p", "mucc/a", "propset", "", "", "mucc/a/moved"],
        &["rm", "mucc/a", "cp", "HEAD", "mucc/b", "mucc/a", "put", &two, "mucc/a/again"],
        &["put", &two, "mucc/b/file"],
    ];
    let mut done = 0;
    for args in commits {
        let message = format!("by svnmucc: {}", args[0]);
        let fixed = ["-U", &repo.url(), "-m", &message, "--with-revprop", "by=mucc"];
        let out = Programs::reference().run("svnmucc", fixed.iter().chain(args));
        // One asks for a property without a name, which is refused.
        done += usize::from(out.code == 0);
    }
    assert!(done >= 10, "{done} of the commits were made");
    done
}
