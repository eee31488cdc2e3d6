//! Four writers, a packer, an editor of revision properties, a copier and two readers, half of them
//! ours, half the reference's, on one repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use sapwood_testkit::{Output, Programs, Server, patience};

use super::{Dice, Kept, Told, Watch, amount, check, commit, make, tell};

/// One repository with both servers, and all clients that use it.
struct Company {
    dir: tempfile::TempDir,
    path: PathBuf,
    kept: Kept,
    /// Ours and the reference's.
    servers: [Server; 2],
    watch: Watch,
    told: Told,
    stop: AtomicBool,
    youngest: AtomicU64,
    /// What the editor of properties set last, by revision, and whether it was the reference that set it.
    last_edits: Mutex<BTreeMap<String, (String, bool)>>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    refused: AtomicU64,
    packs: AtomicU64,
    edits: AtomicU64,
    copies: AtomicU64,
    reads: AtomicU64,
    misled: AtomicU64,
    /// Properties that the reference lost, counted by both that look.
    lost: AtomicU64,
}

fn add(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Ordering::Relaxed)
}

impl Company {
    fn new(kept: Kept) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("repo");
        make(&path, kept);
        let servers =
            [Programs::ours(), Programs::reference()].map(|p| Server::start(&p, dir.path(), &[]));
        let all = ["mkdir", "w0", "mkdir", "w1", "mkdir", "w2", "mkdir", "w3"];
        commit(&servers[0].url("repo"), "first", &all).unwrap();
        let empty = dir.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        let put = ["put", empty.to_str().unwrap(), "shared"];
        commit(&servers[1].url("repo"), "second", &put).unwrap();
        let watch = Watch::new(&path, &servers);
        Self {
            dir,
            path,
            kept,
            servers,
            watch,
            told: Told::default(),
            stop: AtomicBool::new(false),
            youngest: AtomicU64::new(2),
            last_edits: Mutex::default(),
            counts: Counts::default(),
        }
    }

    fn runs(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn arg(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// The URL of the repository, by our server or the reference's.
    fn url(&self, server: usize) -> String {
        self.servers[server].url("repo")
    }

    fn is_reference(&self, server: usize) -> bool {
        self.servers[server].label == "reference"
    }

    /// Whether a server of the reference's says that it took the index of one file for that of another, or read a pack whose
    /// end its own packer had not written, or ended by an assertion about the numbers that it read: readers of FSX do, once,
    /// during a pack (docs/formats/fsx.md).
    fn is_misled(&self, text: &str) -> bool {
        let without_end = text.contains("E200004") && text.contains(" footer");
        let is_known = text.contains("E160054") || text.contains("E210002") || without_end;
        let misled = self.kept == Kept::Fsx && is_known;
        if misled {
            add(&self.counts.misled);
        }
        misled
    }

    /// Each of both in turn.
    fn side(turn: u64) -> Programs {
        if turn.is_multiple_of(2) { Programs::reference() } else { Programs::ours() }
    }

    /// One of four writers, two to a server.
    fn write(&self, number: u64) {
        let server = usize::try_from(number / 2).unwrap();
        let (url, strangers) = (self.url(server), self.is_reference(server));
        let mut dice = Dice(number);
        let file = self.dir.path().join(format!("text{number}"));
        let (file_arg, own) = (file.to_str().unwrap().to_owned(), format!("w{number}"));
        for turn in 0.. {
            if !self.runs() {
                break;
            }
            let message = format!("w{number} #{turn}");
            let lines = usize::try_from(1 + turn % 90).unwrap();
            std::fs::write(&file, format!("{message}\n").repeat(lines)).unwrap();
            let name = format!("{own}/f{}", dice.roll(7));
            let copy = format!("{own}/c{turn}");
            let done = match dice.roll(10) {
                0..=4 => self.watch.commit(&url, &message, &["put", &file_arg, &name], strangers),
                5..=7 => {
                    self.watch.commit(&url, &message, &["put", &file_arg, "shared"], strangers)
                }
                8 => {
                    let cp = ["cp", "HEAD", "shared", &copy];
                    self.watch.commit(&url, &message, &cp, strangers)
                }
                _ => {
                    let set = ["propset", "p", &message, &own];
                    self.watch.commit(&url, &message, &set, strangers)
                }
            };
            match done {
                Some(Ok(revision)) => tell(&self.told, revision, &message),
                // Another writer was faster at the same file.
                Some(Err(text)) => {
                    let conflict = ["E160024", "E160028", "E170004", "E160042", "E155011"];
                    let is_conflict = conflict.iter().any(|code| text.contains(code));
                    let is_misled = strangers && self.is_misled(&text);
                    assert!(is_conflict || is_misled, "{message}: {text}");
                    add(&self.counts.refused);
                }
                // It may have committed, or not.
                None => {}
            }
        }
    }

    /// Runs `svnadmin`; only the reference may hang.
    fn admin(&self, programs: &Programs, args: &[&str]) -> Option<Output> {
        let mut command = programs.command("svnadmin");
        self.watch.run(command.args(args), programs.label == "reference")
    }

    fn pack(&self) {
        while self.runs() {
            let side = Self::side(add(&self.counts.packs));
            if let Some(out) = self.admin(&side, &["pack", "-q", self.arg()]) {
                // 1.14's packer of FSX takes no lock against the editor of properties, whose file beside goes while it removes the
                // folder; the next one goes on.
                let strangers = side.label == "reference" && self.kept == Kept::Fsx;
                if !(strangers && out.code != 0 && out.stderr_text().contains("Can't remove")) {
                    out.expect_success("pack");
                }
            }
            thread::sleep(Duration::from_millis(300));
        }
    }

    fn edit(&self) {
        let mut dice = Dice(99);
        let file = self.dir.path().join("value");
        while self.runs() {
            let turn = add(&self.counts.edits);
            let revision = dice.roll(self.youngest.load(Ordering::Relaxed) + 1).to_string();
            let value = format!("edit {turn} ").repeat(usize::try_from(dice.roll(60) + 1).unwrap());
            std::fs::write(&file, &value).unwrap();
            let file = file.to_str().unwrap();
            let side = Self::side(turn);
            let strangers = side.label == "reference";
            let done = if turn % 4 < 2 {
                let args = ["setrevprop", self.arg(), "-r", &revision, "edited", file];
                self.admin(&side, &args)
            } else {
                let mut command = Programs::reference().command("svn");
                command.args(["propset", "-q", "--revprop", "-r", &revision, "edited", "-F", file]);
                let server = usize::from(strangers);
                self.watch.run(command.arg(self.url(server)), strangers)
            };
            match done.filter(|out| !self.is_unfinished(strangers, out)) {
                Some(out) => {
                    out.expect_success("a revision property");
                    self.last_edits.lock().unwrap().insert(revision, (value, strangers));
                }
                None => {
                    self.last_edits.lock().unwrap().remove(&revision);
                }
            }
        }
    }

    /// Whether the reference did not change properties because they were in a pack whose end its packer had not written, or
    /// because that packer, which takes no write lock, removed the revision's file whose permissions are copied.
    fn is_unfinished(&self, strangers: bool, out: &Output) -> bool {
        let said = out.stderr_text();
        let is_known = said.contains("Revprop manifest file for r")
            || said.contains("Revprop pack file for r")
            || (said.contains("E000002: Can't stat") && said.contains("/db/revs/"));
        self.kept == Kept::Fsx && strangers && out.code != 0 && is_known
    }

    /// The properties that were set last are there. The reference may have lost its own ones in FSX: its packer does not see
    /// what is set after it read the properties.
    fn check_edits(&self) {
        for (revision, (value, strangers)) in self.last_edits.lock().unwrap().iter() {
            for turn in 0..2 {
                let args = ["propget", "--revprop", "-r", revision, self.arg(), "edited"];
                let read = Self::side(turn).run("svnlook", args);
                let is_there = read.code == 0 && read.stdout_text() == *value;
                if !is_there && *strangers && self.kept == Kept::Fsx {
                    add(&self.counts.lost);
                    continue;
                }
                assert_eq!(read.expect_success("propget").stdout_text(), *value, "r{revision}");
            }
        }
    }

    /// Each system has its own copy while clients write: it is clear whose work it is.
    fn copy_path(&self, side: &Programs) -> PathBuf {
        self.dir.path().join(format!("copy by {}", side.label))
    }

    fn copy(&self) {
        while self.runs() {
            let side = Self::side(add(&self.counts.copies));
            let copy = self.copy_path(&side);
            let args = ["hotcopy", "--incremental", "-q", self.arg(), copy.to_str().unwrap()];
            if let Some(out) = self.admin(&side, &args) {
                // The reference's does not find what is packed under its feet.
                let said = out.stderr_text();
                if side.label != "reference" || !said.contains("E000002: Can't ") {
                    out.expect_success("hotcopy");
                    no_row_past_youngest(&copy);
                }
            }
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// Whether a copy of the reference's names a file of packed properties that it does not have: one that an editor wrote
    /// after the folder was listed, and before the manifest was copied. The reference copies with no lock of the source.
    fn lacks_properties(out: &Output) -> bool {
        let said = out.stderr_text();
        out.code != 0 && said.contains("E000002") && said.contains("/db/revprops/")
    }

    /// Our copy is whole as it is; the reference's may have a pack whose end its packer had not written, and lack properties.
    /// Both are whole when no client writes, and when the other system goes on with them.
    fn check_copies(&self, youngest: u64) {
        let verify = |copy: &str, is_of_reference: bool| {
            for side in [Programs::reference(), Programs::ours()] {
                let out = side.run("svnadmin", ["verify", "-q", copy]);
                if !(is_of_reference && Self::lacks_properties(&out)) {
                    out.expect_success("verify of the copy");
                }
            }
        };
        for turn in 0..2 {
            let copy = self.copy_path(&Self::side(turn));
            let arg = copy.to_str().unwrap();
            let is_of_reference = Self::side(turn).label == "reference";
            if self.kept == Kept::Fsfs || !is_of_reference {
                verify(arg, is_of_reference);
            }
            for turn in [turn, turn + 1] {
                let args = ["hotcopy", "--incremental", "-q", self.arg(), arg];
                Self::side(turn).run("svnadmin", args).expect_success("hotcopy");
                no_row_past_youngest(&copy);
                verify(arg, false);
            }
            assert_eq!(check(&copy, &self.told), youngest);
        }
    }

    fn read(&self, server: usize) {
        let (url, strangers) = (self.url(server), self.is_reference(server));
        let run = |args: &[&str]| {
            let mut command = Programs::reference().command("svn");
            self.watch.run(command.args(args).arg(&url), strangers)
        };
        while self.runs() {
            let is_misled =
                |out: &Output| strangers && out.code != 0 && self.is_misled(&out.stderr_text());
            if let Some(log) = run(&["log", "-v", "-r0:HEAD"]).filter(|out| !is_misled(out)) {
                let text = log.expect_success("log").stdout_text();
                let starts = text.lines().filter(|line| {
                    line.starts_with('r') && line.contains(" | ") && line.contains(" line")
                });
                let found = u64::try_from(starts.count()).unwrap();
                // Revision 0 has no entry of its own in every log: there may be one more.
                self.youngest.fetch_max(found.saturating_sub(1), Ordering::Relaxed);
            }
            if let Some(list) = run(&["ls", "-R"]).filter(|out| !is_misled(out)) {
                list.expect_success("ls");
            }
            add(&self.counts.reads);
        }
    }

    /// All clients together, until the time is over or one fails.
    fn meet(&self, seconds: u64) {
        thread::scope(|scope| {
            let mut members: Vec<ScopedJoinHandle<'_, ()>> =
                (0..4).map(|number| scope.spawn(move || self.write(number))).collect();
            members.push(scope.spawn(|| self.pack()));
            members.push(scope.spawn(|| self.edit()));
            members.push(scope.spawn(|| self.copy()));
            members.extend((0..2).map(|server| scope.spawn(move || self.read(server))));
            patience::wait(seconds, || members.iter().any(ScopedJoinHandle::is_finished));
            self.stop.store(true, Ordering::Relaxed);
            members.into_iter().for_each(|member| member.join().unwrap());
        });
    }
}

/// The rep-cache of a copy names no revision that the copy does not have.
fn no_row_past_youngest(copy: &Path) {
    let current = std::fs::read_to_string(copy.join("db/current")).unwrap();
    let youngest: i64 = current.trim().parse().unwrap();
    let cache = rusqlite::Connection::open(copy.join("db/rep-cache.db")).unwrap();
    let query = "SELECT MAX(revision) FROM rep_cache";
    let newest: Option<i64> = cache.query_row(query, [], |row| row.get(0)).unwrap();
    assert!(newest.is_none_or(|newest| newest <= youngest), "{newest:?} in a copy of r{youngest}");
}

#[test]
fn four_writers_a_packer_an_editor_a_copier_and_two_readers() {
    all_meet(Kept::Fsfs);
}

#[test]
fn the_same_company_with_fsx() {
    all_meet(Kept::Fsx);
}

fn all_meet(kept: Kept) {
    let seconds = amount("SAPWOOD_SECONDS", 10, 600);
    let company = Company::new(kept);
    company.meet(seconds);
    let hung = company.watch.hung.load(Ordering::Relaxed);
    let youngest = check(&company.path, &company.told);
    // A client that hung may have committed before.
    let told = u64::try_from(company.told.lock().unwrap().len()).unwrap();
    assert!((youngest - 2 - told) <= hung, "r{youngest}, {told} told, {hung} hung");
    company.check_edits();
    company.check_copies(youngest);
    println!("{seconds} s: r{youngest}, {hung} of the reference hung, {:?}", company.counts);
}
