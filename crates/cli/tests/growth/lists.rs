//! By the lines of what the programs are given: rules, groups, prefixes, actions, configuration.
//!
//! All kinds of lines of a file grow together; with `SAPWOOD_LONG=1` each kind by itself, too.

use std::path::Path;

use sapwood_testkit::counted::Cost;
use sapwood_testkit::counted::Order::{Constant, Linear};
use sapwood_testkit::counted::{dialogue, grows};

use crate::growth::admin::{ours, start};
use crate::growth::made::{Made, text};
use crate::growth::sizes::{Size, everything, flat};

/// Something with `n` lines or the like.
type Content = fn(u64) -> String;

/// `n` lines.
fn lines(n: u64, line: impl Fn(u64) -> String) -> String {
    (0..n).fold(String::new(), |all, number| all + &line(number) + "\n")
}

/// Each kind by itself where that is wanted, and all together.
fn kinds(of: &[(&'static str, Content)]) -> Vec<(&'static str, Vec<Content>)> {
    let mut all = vec![("everything", of.iter().map(|(_, content)| *content).collect())];
    if sapwood_testkit::long() {
        all.extend(of.iter().map(|(what, content)| (*what, vec![*content])));
    }
    all
}

/// Counts a command line in which `F` stands for a file with `n` or `4n` lines of each kind.
fn by_file(n: u64, of: &[(&'static str, Content)], line: &str) {
    let (made, base) = (flat(500), start());
    for (what, contents) in kinds(of) {
        grows(&format!("{line}: {what}"), n, Linear, base, |n| {
            let own = made.copy();
            let file = own.root().join("lines");
            let content: String = contents.iter().map(|content| content(n)).collect();
            std::fs::write(&file, content).unwrap();
            ours(&own, &line.replace(" F", &format!(" {}", file.display()))).cost()
        });
    }
}

/// Command lines in which `F` stands for a file of rules.
pub(crate) const WITH_RULES: [&str; 2] =
    ["svnauthz validate F", "svnauthz accessof --username user1 --path /d/file000001 F"];

/// The same for a file of prefixes.
const WITH_PREFIXES: [&str; 2] = [
    "svndumpfilter exclude --quiet --targets F < stream",
    "svndumpfilter include --quiet --targets F < stream",
];

/// Rules of all kinds; each is a file by itself, too.
const RULES: [(&str, Content); 5] = [
    ("groups", |n| {
        let groups = lines(n, |i| format!("group{i} = user{i}"));
        let members: String = (0..n).map(|i| format!("user{i},")).collect();
        let rules = lines(n, |i| format!("@group{i} = r"));
        format!("[groups]\n{groups}all = {members}user\n[/groups]\n@all = r\n{rules}")
    }),
    ("aliases", |n| {
        let aliases = lines(n, |i| format!("alias{i} = user{i}"));
        format!("[aliases]\n{aliases}[/aliases]\n{}", lines(n, |i| format!("&alias{i} = r")))
    }),
    ("sections", |n| lines(n, |i| format!("[/d/file{i:06}]\nuser{i} = rw"))),
    ("users of one section", |n| "[/]\n".to_owned() + &lines(n, |i| format!("user{i} = rw"))),
    ("patterns", |n| lines(n, |i| format!("[:glob:/**/file{i:06}*]\nuser{i} = rw"))),
];

#[test]
fn svnauthz() {
    for line in WITH_RULES {
        by_file(150, &RULES, line);
    }
}

#[test]
fn prefixes() {
    const PREFIXES: [(&str, Content); 1] =
        [("prefixes", |n| lines(n, |i| format!("/d/file{i:06}")))];
    for line in WITH_PREFIXES {
        by_file(500, &PREFIXES, line);
    }
    let made = flat(500);
    grows("svnadmin dump --exclude", 500, Linear, start(), |n| {
        let prefixes = (0..n).flat_map(|i| ["--exclude".to_owned(), format!("/d/file{i:04}")]);
        ours(&made, "svnadmin dump -q R").args(prefixes).cost()
    });
}

/// What `svnmucc` can do, by its lines.
pub(crate) const ACTIONS: [(&str, Content); 8] = [
    ("mkdir", |n| lines(n, |i| format!("mkdir\nnew{i}"))),
    ("put", |n| lines(n, |i| format!("put\n/dev/null\nd/new{i}"))),
    ("propset", |n| {
        lines(n, |i| format!("propset\nname\nvalue\nd/file{i:06}\npropset\nname{i}\nvalue\nd"))
    }),
    ("propsetf", |n| lines(n, |i| format!("propsetf\nname\n/dev/null\nd/file{:06}", 100 + i))),
    ("propdel", |n| lines(n, |i| format!("propdel\nname\nd/file{:06}", 200 + i))),
    ("cp", |n| lines(n, |i| format!("cp\nHEAD\nd/file{i:06}\nd/copy{i}"))),
    ("mv", |n| lines(n, |i| format!("mv\nd/file{:06}\nd/moved{i}", 300 + i))),
    ("rm", |n| lines(n, |i| format!("rm\nd/file{:06}", 400 + i))),
];

#[test]
fn svnmucc() {
    by_file(12, &ACTIONS, "svnmucc -m m -U U -X F");
}

#[test]
fn freeze() {
    grows("svnadmin freeze", 10, Linear, start(), |n| {
        let folder = flat(1).copy();
        let paths = lines(n, |i| {
            let path = folder.root().join(format!("repo{i}"));
            ours(&folder, &format!("svnadmin create {}", path.display())).run();
            path.display().to_string()
        });
        let file = folder.root().join("paths");
        std::fs::write(&file, paths).unwrap();
        ours(&folder, &format!("svnadmin freeze -F {} -- true", file.display())).cost()
    });
}

/// Lines of a file of configuration, and where it is below the folder of a repository.
type Configured = [(&'static str, &'static str, Content)];

/// Writes the files with `n` lines of each kind.
fn configure(folder: &Path, of: &Configured, n: u64) {
    for (file, _, content) in of {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, before + &content(n)).unwrap();
    }
}

/// Counts `cost` with all files, and with each where that is wanted.
fn by_configuration(what: &str, base: Cost, of: &Configured, cost: impl Fn(&Made) -> Cost + Sync) {
    let single = of.iter().map(|row| (format!("{}, {}", row.0, row.1), std::slice::from_ref(row)));
    let single = single.filter(|_| sapwood_testkit::long());
    for (which, of) in std::iter::once(("everything".to_owned(), of)).chain(single) {
        grows(&format!("{what}: {which}"), 300, Linear, base, |n| {
            let made = flat(1).copy();
            configure(made.root(), of, n);
            cost(&made)
        });
    }
}

/// The user's configuration.
const USERS: [(&str, &str, Content); 4] = [
    ("conf/config", "auto-props", |n| {
        format!("[auto-props]\n{}", lines(n, |i| format!("*.e{i} = name=value;other=value")))
    }),
    ("conf/config", "comments", |n| lines(n, |i| format!("# {i}"))),
    ("conf/servers", "groups", |n| {
        format!("[groups]\n{}", lines(n, |i| format!("group{i} = *.host{i}.example.com")))
    }),
    ("conf/servers", "sections", |n| lines(n, |i| format!("[group{i}]\nhttp-timeout = {i}"))),
];

/// The commands that read it.
pub(crate) const CONFIGURED: [&str; 6] = [
    "svnrdump dump -q U",
    "svnrdump load -q M < deltas",
    "svnmucc -m m put /dev/null U/f",
    "svnsync init -q M U",
    "svnsync sync -q S",
    "svnsync copy-revprops -q T",
];

#[test]
fn users_configuration() {
    let base = start();
    for line in CONFIGURED {
        by_configuration(line, base, &USERS, |made| {
            let folder = made.root().join("conf").display().to_string();
            ours(made, line).args(["--config-dir", &folder]).cost()
        });
    }
}

/// A repository's configuration.
const SERVERS: [(&str, &str, Content); 5] = [
    ("repo/conf/svnserve.conf", "options", |n| {
        let files =
            "password-db = passwd\nauthz-db = authz\ngroups-db = groups\nhooks-env = hooks-env";
        format!("[general]\n{files}\n{}", lines(n, |i| format!("option{i} = value")))
    }),
    ("repo/conf/passwd", "users", |n| {
        format!("[users]\n{}", lines(n, |i| format!("user{i} = word{i}")))
    }),
    ("repo/conf/authz", "rules", |n| {
        format!("[/]\n* = rw\n{}", lines(n, |i| format!("[/d{i}]\nuser{i} = rw\n@group{i} = r")))
    }),
    ("repo/conf/groups", "groups", |n| {
        format!("[groups]\n{}", lines(n, |i| format!("group{i} = user{i}")))
    }),
    ("repo/conf/hooks-env", "variables", |n| {
        format!("[default]\n{}", lines(n, |i| format!("VARIABLE{i} = {i}")))
    }),
];

/// A server's start and its first answers, where these files have `n` lines and the others are short.
fn server(of: &[&str], n: u64) -> Cost {
    let made = flat(1).copy();
    for (file, ..) in SERVERS {
        let _ = std::fs::remove_file(made.root().join(file));
    }
    for row in &SERVERS {
        let lines = if of.contains(&row.1) { n } else { 0 };
        configure(made.root(), std::slice::from_ref(row), lines);
    }
    let root = made.root().display().to_string();
    let server = ours(&made, &format!("svnserve --inetd --root {root}")).command;
    let greeting = format!("( 2 ( edit-pipeline ) {}) ", text("svn://localhost/repo"));
    let asked = b"( ANONYMOUS ( 0: ) ) ( get-latest-rev ( ) ) ".as_slice();
    let greeting = (greeting.as_bytes(), b" ) ) ".as_slice());
    dialogue(&server, &[greeting, (asked, b"( success ( 1 ) ) ")]).0
}

#[test]
fn servers_configuration() {
    let base = start();
    let all = SERVERS.map(|row| row.1);
    grows("svnserve: everything", 300, Linear, base, |n| server(&all, n));
    if sapwood_testkit::long() {
        // The groups that rules name must be there.
        for of in [&["options"][..], &["users"], &["rules", "groups"], &["groups"], &["variables"]]
        {
            grows(&format!("svnserve: {of:?}"), 300, Linear, base, |n| server(of, n));
        }
    }
}

/// The file of the filesystem's options.
#[test]
fn filesystems_configuration() {
    const OPTIONS: [(&str, &str, Content); 1] = [("repo/db/fsfs.conf", "options", |n| {
        format!("[other]\n{}", lines(n, |i| format!("option{i} = value")))
    })];
    by_configuration("svnlook youngest", start(), &OPTIONS, |made| {
        ours(made, "svnlook youngest R").cost()
    });
}

/// Where nothing was merged, `blame -g` reads no list of what a revision changed.
#[test]
fn blame_of_merges_beside_many_files() {
    let cost = |entries| {
        let made = everything(Size { entries, ..Size::NONE }).load();
        ours(&made, "svn blame -g U/c/f").cost()
    };
    grows("svn blame -g", 300, Constant, start(), cost);
}
