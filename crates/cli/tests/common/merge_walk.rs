//! Random histories of branches, from a seed: the reference makes the changes, and each merge is made
//! by ours and by the reference in working copies of the same repository. What they say, the trees,
//! properties and conflicts are the same; then the reference commits, and the walk goes on.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use sapwood_testkit::{Programs, Rng};

/// A walk under way.
pub(crate) struct Walk {
    folder: tempfile::TempDir,
    rng: Rng,
    /// What was done, for the message of a failure.
    story: String,
    branches: Vec<String>,
    revision: u64,
    /// Steps so far.
    count: usize,
    /// How many merges were compared.
    pub(crate) merges: usize,
    server: Server,
}

/// How the repository is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// By `file:`.
    None,
    /// By the reference's `svnserve`, at the other end of a tunnel.
    Svnserve,
}

/// What a program said and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// Lines in order of their text: the reference tells of children in the order of a hash table.
    lines: Vec<String>,
    /// The headings of ranges, in the order in which they came.
    headings: Vec<String>,
    errors: String,
    code: i32,
}

/// What stands for the exit code of a program that ended by a signal.
const CRASHED: i32 = -1;

const FILES: [&str; 6] = ["a", "D/b", "D/E/c", "D/E/d", "F/g", "F/h"];
const DIRS: [&str; 4] = ["D", "D/E", "F", "G"];

impl Walk {
    pub(crate) fn new(seed: u64, server: Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("repo");
        let created = Programs::reference().command("svnadmin").arg("create").arg(path).status();
        assert!(created.unwrap().success());
        std::fs::write(folder.path().join("tunnel"), "exec svnserve -t\n").unwrap();
        let mut walk = Self {
            folder,
            rng: Rng::new(seed),
            story: format!("seed {seed}, {server:?}\n"),
            branches: vec!["T".to_owned()],
            revision: 0,
            count: 0,
            merges: 0,
            server,
        };
        walk.check_out("ours");
        walk.check_out("theirs");
        for file in FILES {
            walk.shell(&format!(
                "mkdir -p T/$(dirname {file}); seq 9 | sed s/^/{}/ > T/{file}",
                &file[file.len() - 1..]
            ));
        }
        walk.shell("svn add -q T");
        walk.commit();
        walk
    }

    fn url(&self, below: &str) -> String {
        let host = match self.server {
            Server::None => "file://",
            Server::Svnserve => "svn+ssh://x",
        };
        format!("{host}{}/repo/{below}", self.folder.path().display())
    }

    fn check_out(&self, side: &str) {
        let (from, to) = (self.url(""), self.wc(side));
        let mut command = Programs::reference().command("svn");
        let done = self.ready(command.args(["co", "-q", &from]).arg(to)).status();
        assert!(done.unwrap().success());
    }

    /// A command that finds the server. The reference need not wait for the clock: files here differ in size.
    fn ready<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("SVN_SSH", format!("sh {}/tunnel", self.folder.path().display()));
        command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes")
    }

    fn wc(&self, side: &str) -> PathBuf {
        self.folder.path().join(side)
    }

    /// Runs a shell's command line in the reference's working copy. It may fail.
    fn shell(&mut self, line: &str) {
        writeln!(self.story, "{line}").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.wc("theirs"));
        self.ready(&mut command).output().unwrap();
    }

    /// Commits what the reference has.
    fn commit(&mut self) {
        self.shell("svn ci -q -m m --username jo");
        self.level();
    }

    /// Takes back what is left in the reference's working copy, and updates it.
    fn level(&mut self) {
        self.clean("theirs");
        let current = std::fs::read_to_string(self.folder.path().join("repo/db/current"));
        self.revision = current.unwrap().trim().parse().unwrap();
    }

    /// Takes back what is left in a working copy, and updates it.
    fn clean(&self, side: &str) {
        let line = "test -z \"$(svn st)\" || { svn cleanup -q; svn revert -q -R . --remove-added; \
             svn cleanup -q --remove-unversioned; }; svn up -q";
        let mut command = Command::new("sh");
        self.ready(command.args(["-c", line]).current_dir(self.wc(side))).output().unwrap();
    }

    fn branch(&mut self) -> String {
        self.rng.pick(&self.branches).clone()
    }

    /// One step: a change, a new branch, or a merge.
    pub(crate) fn step(&mut self) {
        self.count += 1;
        match self.rng.below(100) {
            0..45 => self.change(),
            45..55 if self.branches.len() < 4 => {
                let name = format!("B{}", self.branches.len());
                let from = self.branch();
                let (from, to) = (self.url(&from), self.url(&name));
                self.shell(&format!("svn cp -q {from} {to} -m b"));
                self.branches.push(name);
                self.level();
            }
            _ if self.branches.len() > 1 => self.merge(),
            _ => self.change(),
        }
    }

    fn change(&mut self) {
        let (branch, count) = (self.branch(), self.count);
        let file = *self.rng.pick(&FILES);
        let dir = *self.rng.pick(&DIRS);
        let line = match self.rng.below(12) {
            0..6 => {
                let at = self.rng.between(1, 9);
                format!("test -f {branch}/{file} && sed -i '{at}s/$/ {count}/' {branch}/{file}")
            }
            6 => format!("svn rm -q {branch}/{file}"),
            7 => format!("svn mv -q {branch}/{file} {branch}/{dir}/m{count}"),
            8 => format!(
                "svn mkdir -q {branch}/G; echo {count} > {branch}/{dir}/n{count}; svn add -q {branch}/{dir}/n{count}"
            ),
            9 => format!("svn ps -q p {count} {branch}/{file}"),
            10 => format!("svn ps -q p {count} {branch}/{dir}"),
            _ => format!("svn cp -q {branch}/D {branch}/G{count}"),
        };
        self.shell(&line);
        self.commit();
    }

    /// What the reference has committed may leave its working copy with other depths, or with files that an
    /// update does not bring back: both begin a merge with the same.
    fn begin_alike(&self) {
        if self.state("ours") == self.state("theirs") {
            return;
        }
        for side in ["ours", "theirs"] {
            std::fs::remove_dir_all(self.wc(side)).unwrap();
            self.check_out(side);
        }
    }

    fn merge(&mut self) {
        self.clean("ours");
        self.begin_alike();
        let (from, to) = (self.branch(), self.branch());
        let below = match self.rng.below(4) {
            0 => format!("/{}", self.rng.pick(&DIRS)),
            1 => format!("/{}", self.rng.pick(&FILES)),
            _ => String::new(),
        };
        let newest = usize::try_from(self.revision).unwrap();
        let (one, other) = (self.rng.between(1, newest), self.rng.between(1, newest));
        let (from_url, to_path) = (self.url(&format!("{from}{below}")), format!("{to}{below}"));
        let mut words = match self.rng.below(12) {
            0..4 => format!("merge {from_url} {to_path}"),
            4 | 5 => format!("merge -c{one} {from_url} {to_path}"),
            6 => format!("merge -c-{one} {from_url} {to_path}"),
            7 | 8 => format!("merge -r{one}:{other} {from_url} {to_path}"),
            9 => format!("merge --record-only -c{one} {from_url} {to_path}"),
            10 => format!("merge --reintegrate {from_url} {to_path}"),
            _ => {
                let left = self.branch();
                let left = self.url(&format!("{left}{below}"));
                format!("merge {left}@{newest} {from_url}@{newest} {to_path}")
            }
        };
        match self.rng.below(10) {
            0 => words.push_str(" --dry-run"),
            1 => words.push_str(" --depth files"),
            2 => words.push_str(" --depth immediates"),
            3 => words.push_str(" --depth empty"),
            _ => {}
        }
        writeln!(self.story, "svn {words}").unwrap();
        let ours = self.run(&Programs::ours(), "ours", &words);
        let theirs = self.run(&Programs::reference(), "theirs", &words);
        if theirs.code == CRASHED {
            // Record-only merges and those of two URLs with --depth immediates, in 1.14.2.
            return self.level();
        }
        assert_eq!(ours, theirs, "{}", self.story);
        assert_eq!(self.state("ours"), self.state("theirs"), "{}", self.story);
        self.merges += 1;
        // A branch in conflict goes no further.
        if !theirs.lines.iter().any(|line| line.starts_with("Summary of conflicts")) {
            self.commit();
        }
        self.level();
    }

    fn run(&self, programs: &Programs, side: &str, words: &str) -> Told {
        let mut command = programs.command("svn");
        command.args(words.split(' ')).args(["--accept", "postpone", "--username", "jo"]);
        let output = self.ready(command.current_dir(self.wc(side))).output().unwrap();
        let folder = self.wc(side).display().to_string();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&folder, "WC");
        let out = text(&output.stdout);
        let mut lines: Vec<String> = out.lines().map(str::to_owned).collect();
        let headings = lines.iter().filter(|line| line.starts_with("---")).cloned().collect();
        lines.sort();
        let code = output.status.code().unwrap_or(CRASHED);
        Told { lines, headings, errors: text(&output.stderr), code }
    }

    /// What the reference sees in a working copy, and all files. It tells of nodes that are only in conflict
    /// in the order of a hash table: what it says of each is a line here.
    fn state(&self, side: &str) -> String {
        let line = "svn st; svn pl -vR .; svn info -R | tr '\\n' '~' | sed 's/~~/\\n/g' | grep -i conflict \
                    | sed 's/Text Last Updated[^~]*~//' | sort; find . -name .svn -prune -o -type f -print \
                    | sort | xargs -r md5sum";
        let mut command = Command::new("sh");
        let output =
            self.ready(command.args(["-c", line]).current_dir(self.wc(side))).output().unwrap();
        let folder = self.wc(side).display().to_string();
        String::from_utf8_lossy(&output.stdout).replace(&folder, "WC")
    }
}
