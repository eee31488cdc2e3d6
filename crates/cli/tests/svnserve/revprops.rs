//! Changes of revision properties over the wire, plain and atomic: the same replies from both
//! servers, and the same properties afterwards.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::Packing;
use sapwood_testkit::{History, Programs, Repository, Server, Shape};

use crate::svnserve::wire::{GREETING, talk};

fn writable(shape: &Shape) -> Repository {
    let repository = Repository::scripted(shape);
    let path = repository.path();
    std::fs::write(path.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    repository
}

fn hook(repository: &Repository, name: &str, text: &str) {
    let path = repository.path().join("hooks").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn plain_and_atomic() {
    let requests: String = [
        // revision, name, value, ( don't care, old value )
        "( change-rev-prop2 ( 3 3:new ( 1:a ) ( false ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( 1:b ) ( false ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( 1:b ) ( false 1:x ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( 1:b ) ( false 1:a ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( 1:c ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( ) ( false 1:b ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( ) ( false 1:c ) ) ) ",
        "( change-rev-prop2 ( 3 3:new ( ) ( false ) ) ) ",
        "( change-rev-prop2 ( 3 4:none ( ) ( false 1:a ) ) ) ",
        "( change-rev-prop2 ( 3 4:none ( ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 7:svn:log ( 3:a\r\n ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 8:svn:date ( 1:x ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 6:svn:wc ( 1:x ) ( true ) ) ) ",
        "( change-rev-prop2 ( 3 8:svn:wc:a ( 1:x ) ( true ) ) ) ",
        "( change-rev-prop2 ( 999 3:new ( 1:a ) ( false ) ) ) ",
        "( change-rev-prop ( 4 7:svn:log 3:one ) ) ",
        "( change-rev-prop ( 4 10:svn:author ) ) ",
        "( change-rev-prop ( 999 3:new 1:a ) ) ",
        "( change-rev-prop ( 5 7:refused 1:a ) ) ",
        "( change-rev-prop2 ( 5 7:refused ( 1:a ) ( false 1:b ) ) ) ",
        "( change-rev-prop ( 5 4:late 1:a ) ) ",
        "( rev-prop ( 5 4:late ) ) ( rev-prop ( 3 3:new ) ) ( rev-prop ( 4 7:svn:log ) ) ",
    ]
    .concat();
    for shape in [Shape::new("1.4"), Shape::new("1.10").shard(7).pack(Packing::All)] {
        for hooks in [false, true] {
            let sides = [Programs::reference(), Programs::ours()].map(|programs| {
                let repository = writable(&shape);
                if hooks {
                    hook(
                        &repository,
                        "pre-revprop-change",
                        "[ $4 != refused ] || { echo no >&2; exit 4; }",
                    );
                    hook(
                        &repository,
                        "post-revprop-change",
                        "[ $4 != late ] || { echo late >&2; exit 5; }",
                    );
                }
                let replies =
                    talk(&programs, &repository, &[], format!("{GREETING}{requests}").as_bytes());
                let path = repository.arg();
                let props = Programs::reference().run("svnadmin", ["dump-revprops", "-q", &path]);
                (String::from_utf8_lossy(&replies).replace(" ) ) (", " ) )\n("), props)
            });
            let [reference, ours] = &sides;
            let replies = sapwood_testkit::compare::first_difference(
                reference.0.as_bytes(),
                ours.0.as_bytes(),
            );
            assert_eq!(replies, None, "{} hooks {hooks}", shape.name());
            assert_same(&shape.name(), &reference.1, &ours.1);
            assert_eq!(ours.0.contains("160049"), hooks);
        }
    } // These end the connection, and what was answered before is not sent any more.
    for bad in [
        "( change-rev-prop2 ( 3 3:new ( 1:a ) ( true 1:b ) ) ) ( get-latest-rev ( ) ) ",
        "( change-rev-prop ( 4 7:svn:log ( 3:one ) ) ) ( get-latest-rev ( ) ) ",
        "( change-rev-prop2 ( 3 3:new 1:a ( true ) ) ) ( get-latest-rev ( ) ) ",
    ] {
        let repository = writable(&Shape::new("1.10"));
        let requests = format!("{GREETING}{bad}");
        let [reference, ours] = [Programs::reference(), Programs::ours()]
            .map(|programs| talk(&programs, &repository, &[], requests.as_bytes()));
        assert_eq!(String::from_utf8_lossy(&reference), String::from_utf8_lossy(&ours), "{bad}");
    }
}

/// A repository whose log the server has kept in the form in which it is sent.
struct Kept {
    repository: Repository,
    server: Server,
}

impl Kept {
    /// 40 revisions in shards of eight.
    fn new(packing: Packing) -> Self {
        let mut history = History::new("kept");
        for number in 1..=40 {
            let mut txn = history.begin("anna", &format!("message {number:02}"));
            txn.add(&format!("file{number}"), "text");
            txn.commit();
        }
        let repository = Repository::new(&Shape::new("1.10").shard(8).pack(packing), history);
        let server = Server::start(&Programs::ours(), repository.parent(), &[]);
        Self { repository, server }
    }

    fn log(&self) -> String {
        let url = self.server.url("repo");
        let log = Programs::reference().run("svn", ["log", "-v", &url]);
        log.expect_success("log").stdout_text()
    }

    fn reads(&self) -> u64 {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.server.pid())).unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
        line.parse().unwrap()
    }

    /// Asks for the log until it is kept, and a request reads nothing: what changed within the last two seconds is not.
    fn warm(&self) {
        let is_kept = || {
            let before = self.reads();
            self.log();
            self.reads() == before
        };
        assert!(sapwood_testkit::patience::wait(20, is_kept), "nothing was kept");
    }

    /// The next log tells the message of one revision, and all others as they were.
    #[track_caller]
    fn tells(&self, number: u64, message: &str, what: &str) {
        let log = self.log();
        assert_eq!(log.matches(message).count(), 1, "{what}: {log}");
        assert!(!log.contains(&format!("message {number:02}")), "{what}");
        assert_eq!(log.matches("message ").count(), 39, "{what}");
    }

    /// Another program changes a message.
    fn set(&self, number: u64, message: &str) {
        let file = self.repository.parent().join("message");
        std::fs::write(&file, message).unwrap();
        let (number, file) = (number.to_string(), file.to_str().unwrap());
        let args = ["setlog", "--bypass-hooks", &self.repository.arg(), "-r", &number, file];
        Programs::reference().run("svnadmin", args).expect_success("setlog");
    }

    /// Puts another file in the place of one of revision properties, with the same length.
    fn rewrite(&self, folder: &str, from: &str, to: &str) {
        let holds = |path: &Path| {
            let bytes = std::fs::read(path).unwrap();
            bytes.windows(from.len()).any(|window| window == from.as_bytes())
        };
        let folder = self.repository.path().join("db/revprops").join(folder);
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let path: PathBuf = files.into_iter().find(|path| holds(path)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let changed = sapwood_testkit::compare::replace(&bytes, from.as_bytes(), to.as_bytes());
        let beside = folder.join("beside");
        std::fs::write(&beside, changed).unwrap();
        std::fs::rename(&beside, &path).unwrap();
    }
}

#[test]
fn changes_by_other_programs_show_in_a_log_that_was_kept() {
    let (loose, packed) = (Kept::new(Packing::None), Kept::new(Packing::All));
    let to_pack = [Programs::reference(), Programs::ours()]
        .map(|programs| (Kept::new(Packing::None), programs));
    for (kept, folder, what) in [(&loose, "1", "not packed"), (&packed, "1.pack", "packed")] {
        kept.warm();
        kept.set(12, "by a program");
        kept.tells(12, "by a program", what);
        // Again at once, while no stamp of the folder can be trusted, to the same length.
        for text in ["by_a_program", "by-a-program", "by+a+program"] {
            kept.set(12, text);
            kept.tells(12, text, what);
        }
        kept.rewrite(folder, "by+a+program", "by=a=program");
        kept.tells(12, "by=a=program", what);
    }
    // Packed and changed while the server still goes by the folder that is not packed.
    for (kept, programs) in to_pack {
        kept.warm();
        programs.run("svnadmin", ["pack", "-q", &kept.repository.arg()]).expect_success("pack");
        kept.set(12, programs.label);
        kept.tells(12, programs.label, "packed since");
    }
    for (kept, folder, what) in [(&loose, "1", "not packed"), (&packed, "1.pack", "packed")] {
        kept.warm();
        kept.rewrite(folder, "by=a=program", "moved hither");
        kept.tells(12, "moved hither", what);
    }
}
