//! By the lines of what the programs are given: rules, groups, prefixes, actions, configuration.

use std::fmt::Write as _;

use sapwood_testkit::counted::Order::{Linear, Square};
use sapwood_testkit::counted::{dialogue, within};

use super::{both, check, ours};
use crate::made::{Made, Stream, text};
use crate::protocol::flat;

/// Something with `n` lines or the like.
type Content = fn(u64) -> String;

/// `n` lines.
fn lines(n: u64, line: impl Fn(u64) -> String) -> String {
    (0..n).map(|number| line(number) + "\n").collect()
}

/// Counts a command whose line names `F`, a file with `n` or `4n` times something.
fn by_file(what: &str, n: u64, content: impl Fn(u64) -> String + Sync, line: &str) {
    let made = flat(100);
    let folder = tempfile::tempdir().unwrap();
    check(&format!("{line}: {what}"), Linear, |four| {
        let own = made.copy();
        let file = folder.path().join(format!("file-{four}"));
        std::fs::write(&file, content(if four { 4 * n } else { n })).unwrap();
        let line = line.replace(" F", &format!(" {}", file.display()));
        let input = if line.starts_with("svndumpfilter") { made.stream() } else { Vec::new() };
        ours(&own, &line).input(input).keeping(own)
    });
}

#[test]
fn svnauthz() {
    let kinds: [(&str, Content); 6] = [
        ("sections", |n| lines(n, |i| format!("[/d/file{i:06}]\nuser{i} = rw"))),
        ("users of one section", |n| "[/]\n".to_owned() + &lines(n, |i| format!("user{i} = rw"))),
        ("groups", |n| {
            let groups = lines(n, |i| format!("group{i} = user{i}"));
            format!("[groups]\n{groups}[/]\n{}", lines(n, |i| format!("@group{i} = r")))
        }),
        ("members of a group", |n| {
            let members: String = (0..n).map(|i| format!("user{i},")).collect();
            format!("[groups]\nall = {members}user\n[/]\n@all = r\n")
        }),
        ("aliases", |n| {
            let aliases = lines(n, |i| format!("alias{i} = user{i}"));
            format!("[aliases]\n{aliases}[/]\n{}", lines(n, |i| format!("&alias{i} = r")))
        }),
        ("patterns", |n| lines(n, |i| format!("[:glob:/**/file{i:06}*]\nuser{i} = rw"))),
    ];
    for (what, content) in kinds {
        by_file(what, 500, content, "svnauthz validate F");
        by_file(what, 500, content, "svnauthz accessof --username user1 --path /d/file000001 F");
    }
}

#[test]
fn prefixes() {
    let prefixes = |n| lines(n, |i| format!("/d/file{i:04}"));
    by_file("prefixes", 500, prefixes, "svndumpfilter exclude --quiet --targets F");
    by_file("prefixes", 500, prefixes, "svndumpfilter include --quiet --targets F");
    let made = flat(100);
    check("dump --exclude", Linear, |four| {
        let count = if four { 2000 } else { 500 };
        let prefixes = (0..count).flat_map(|i| ["--exclude".to_owned(), format!("/d/file{i:04}")]);
        ours(&made, "svnadmin dump -q R").args(prefixes)
    });
}

#[test]
fn svnmucc() {
    let kinds: [(&str, Content); 6] = [
        ("mkdir", |n| lines(n, |i| format!("mkdir\nnew{i}"))),
        ("put", |n| lines(n, |i| format!("put\n/dev/null\nd/new{i}"))),
        ("rm", |n| lines(n, |i| format!("rm\nd/file{i:06}"))),
        ("propset", |n| lines(n, |i| format!("propset\nname\nvalue\nd/file{i:06}"))),
        ("properties", |n| lines(n, |i| format!("propset\nname{i}\nvalue\nd"))),
        ("cp", |n| lines(n, |i| format!("cp\nHEAD\nd/file{i:06}\nd/copy{i}"))),
    ];
    for (what, content) in kinds {
        by_file(what, 25, content, "svnmucc -m m -U U -X F");
    }
}

#[test]
fn freeze() {
    let made = flat(1);
    check("svnadmin freeze", Linear, |four| {
        let folder = made.copy();
        let paths = lines(if four { 40 } else { 10 }, |i| {
            let path = folder.root().join(format!("repo{i}"));
            ours(&folder, &format!("svnadmin create {}", path.display())).run();
            path.display().to_string()
        });
        let file = folder.root().join("paths");
        std::fs::write(&file, paths).unwrap();
        ours(&folder, &format!("svnadmin freeze -F {} -- true", file.display())).keeping(folder)
    });
}

/// The user's configuration.
#[test]
fn configuration() {
    let made = flat(1).copy();
    let kinds: [(&str, &str, Content); 4] = [
        ("config", "auto-props", |n| {
            format!("[auto-props]\n{}", lines(n, |i| format!("*.e{i} = name=value;other=value")))
        }),
        ("config", "comments", |n| lines(n, |i| format!("# {i}"))),
        ("servers", "groups", |n| {
            format!("[groups]\n{}", lines(n, |i| format!("group{i} = *.host{i}.example.com")))
        }),
        ("servers", "sections", |n| lines(n, |i| format!("[group{i}]\nhttp-timeout = {i}"))),
    ];
    for (file, what, content) in kinds {
        for command in ["svnrdump dump -q U", "svnmucc -m m put /dev/null U/f"] {
            let folders = tempfile::tempdir().unwrap();
            check(&format!("{command}: {file}, {what}"), Linear, |four| {
                let folder = folders.path().join(format!("conf-{four}"));
                std::fs::create_dir(&folder).unwrap();
                std::fs::write(folder.join(file), content(if four { 2000 } else { 500 })).unwrap();
                let target = made.copy();
                let line = format!("{command} --config-dir {}", folder.display());
                ours(&target, &line).keeping(target)
            });
        }
    }
}

/// A server's start, and its first answer.
#[test]
fn svnserve() {
    let kinds: [(&str, &str, Content); 4] = [
        ("svnserve.conf", "# ", |n| {
            format!("[general]\nanon-access = read\n{}", lines(n, |i| format!("option{i} = value")))
        }),
        ("passwd", "password-db = passwd\n", |n| {
            format!("[users]\n{}", lines(n, |i| format!("user{i} = word{i}")))
        }),
        ("authz", "authz-db = authz\n", |n| {
            format!("[/]\n* = r\n{}", lines(n, |i| format!("[/d{i}]\nuser{i} = rw")))
        }),
        ("groups", "authz-db = authz\ngroups-db = groups\n", |n| {
            format!("[groups]\n{}", lines(n, |i| format!("group{i} = user{i}")))
        }),
    ];
    for (file, setting, content) in kinds {
        let (few, many) = both(|four| {
            let made = flat(1).copy();
            let conf = made.path().join("conf");
            std::fs::write(conf.join("authz"), "[/]\n* = r\n").unwrap();
            std::fs::write(conf.join("svnserve.conf"), format!("[general]\n{setting}")).unwrap();
            std::fs::write(conf.join(file), content(if four { 2000 } else { 500 })).unwrap();
            let root = made.root().display().to_string();
            let server = ours(&made, &format!("svnserve --inetd --root {root}")).command;
            let address = text("svn://localhost/repo");
            let greeting = format!("( 2 ( edit-pipeline ) {address}) ");
            let asked = b"( ANONYMOUS ( 0: ) ) ( get-latest-rev ( ) ) ".as_slice();
            let steps =
                [(greeting.as_bytes(), b" ) ) ".as_slice()), (asked, b"( success ( 1 ) ) ")];
            dialogue(&server, &steps).0
        });
        println!("svnserve: {file}: {few:?}, {many:?}");
        within(&format!("svnserve: {file}"), Linear, few, many);
    }
}

/// A directory whose mergeinfo has so many lines.
fn merged(n: u64) -> Made {
    let mut stream = Stream::new();
    stream.revision([]);
    stream.add_dir("d");
    stream.revision([]);
    let info = lines(n, |i| format!("/d{i}:1"));
    stream.set_props("d", "dir", [("svn:mergeinfo", info.as_str())]);
    stream.load()
}

#[test]
fn mergeinfo() {
    let sizes = super::Sizes::of(500, merged);
    for line in ["svnlook diff R", "svnlook propget R svn:mergeinfo d", "svnadmin dump -q R"] {
        sizes.reads(Linear, line);
    }
    let line = "svndumpfilter include --quiet --renumber-revs --skip-missing-merge-sources d";
    sizes.check(line, Linear, |made| ours(made, line).input(made.stream()));
    super::loads(&sizes);
    super::targets(&sizes);
}

/// Directories in each other. Each record of a stream names its whole path, so that the stream
/// grows as the square of the depth.
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

#[test]
fn depth() {
    let sizes = super::Sizes::of(30, deep);
    for line in
        ["svnlook tree R", "svnlook changed R", "svnadmin verify -q R", "svnadmin dump -q R"]
    {
        sizes.reads(Linear, line);
    }
    sizes.change("svnadmin load, depth", Square, |made| {
        let url = super::mirror(made);
        let path = url.trim_start_matches("file://");
        ours(made, &format!("svnadmin load -q --no-flush-to-disk {path}")).input(made.stream())
    });
}
