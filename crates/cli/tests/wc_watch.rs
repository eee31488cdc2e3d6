//! `sapwood watch`: with a monitor, `svn status` says what the reference says, whatever is done to the
//! working copy and to the monitor in between.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sapwood_testkit::Programs;
use sapwood_watch::ask;
use sapwood_watch::monitor::Monitor;
use sapwood_watch::protocol::Token;

/// Small numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

struct Place {
    folder: tempfile::TempDir,
    ours: Programs,
    reference: Programs,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { folder, ours: Programs::ours(), reference: Programs::reference() };
        place.run(&place.ours, "svnadmin", &["create", "repo"]);
        let url = format!("file://{}/repo", place.folder.path().display());
        place.run(&place.ours, "svn", &["checkout", "-q", &url, "wc"]);
        for dir in 0..6 {
            let at = place.wc().join(format!("d{dir}/sub/deep"));
            fs::create_dir_all(&at).unwrap();
            for file in 0..3 {
                fs::write(at.join(format!("f{file}")), "text\n").unwrap();
                fs::write(at.with_file_name(format!("g{file}")), "text\n").unwrap();
            }
        }
        let all: Vec<String> = (0..6).map(|dir| format!("wc/d{dir}")).collect();
        let all: Vec<&str> =
            ["add", "-q"].into_iter().chain(all.iter().map(String::as_str)).collect();
        place.run(&place.ours, "svn", &all);
        place.run(&place.ours, "svn", &["commit", "-q", "-m", "m", "wc"]);
        place.run(&place.ours, "svn", &["update", "-q", "wc"]);
        place
    }

    /// The monitor that `watch add` started in the background, by its command line and its socket.
    fn running_monitor(&self) -> Pid {
        let socket = format!("SAPWOOD_WATCH_SOCKET={}", self.socket().display());
        let has = |place: PathBuf, text: &str| {
            fs::read(place).is_ok_and(|found| String::from_utf8_lossy(&found).contains(text))
        };
        let found = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            let number = path.file_name()?.to_str()?.parse().ok()?;
            let is_it =
                has(path.join("environ"), &socket) && has(path.join("cmdline"), "watch\0run");
            is_it.then(|| Pid::from_raw(number).unwrap())
        });
        found.last().expect("a monitor runs")
    }

    fn wc(&self) -> PathBuf {
        self.folder.path().join("wc")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("own/watch.socket")
    }

    /// Starts a monitor that is a child of the test, and waits until it answers.
    fn monitor(&self) -> Child {
        let mut command = self.command(&self.ours, "watch");
        let mut child = command.arg("run").stderr(Stdio::null()).spawn().unwrap();
        self.wait();
        assert!(child.try_wait().unwrap().is_none(), "it goes on");
        child
    }

    fn wait(&self) {
        let answers = || ask::list(&self.socket()).is_ok();
        assert!(sapwood_testkit::patience::wait(20, answers), "the monitor does not answer");
    }

    /// The directories that the monitor says have changed since a token, `None` when it does not know, and
    /// the token of now.
    fn since(&self, token: Token) -> (Option<Vec<String>>, Token) {
        let (changed, now) = ask::since(&self.socket(), &self.wc(), token).unwrap();
        (changed.map(|all| all.into_iter().map(|one| one.dir).collect()), now)
    }

    /// A token since which nothing changed. Tests beside this one that mount something make all unknown.
    fn quiet(&self) -> Token {
        let found = (0..200).find_map(|_| {
            let (_, token) = self.since(Token::default());
            let (changed, now) = self.since(token);
            changed.is_some_and(|changed| changed.is_empty()).then_some(now)
        });
        found.unwrap()
    }

    /// Both programs say the same; what that is.
    fn agree(&self, what: &str) -> Vec<String> {
        let (ours, theirs) = (self.status(&self.ours), self.status(&self.reference));
        assert_eq!(ours, theirs, "{what}");
        ours
    }

    fn command(&self, programs: &Programs, program: &str) -> Command {
        let mut command = match program {
            "watch" => programs.command("sapwood"),
            program => programs.command(program),
        };
        if program == "watch" {
            command.arg("watch");
        }
        command.current_dir(self.folder.path());
        command.env("SAPWOOD_WATCH_SOCKET", self.socket());
        command.env("HOME", self.folder.path()).env("LC_ALL", "C.UTF-8");
        command
    }

    fn run(&self, programs: &Programs, program: &str, args: &[&str]) -> String {
        let done = self.command(programs, program).args(args).output().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{program} {args:?}: {errors}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn watch(&self, args: &[&str]) -> String {
        self.run(&self.ours, "watch", args)
    }

    fn status(&self, programs: &Programs) -> Vec<String> {
        let told = self.run(programs, "svn", &["status", "wc"]);
        let mut lines: Vec<String> = told.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    /// One thing that a user may do. What cannot be done is not.
    fn step(&self, dice: &mut Dice) -> String {
        let dir = format!("d{}", dice.roll(6));
        let name = format!("{dir}/sub/{}{}", ["deep/f", "g"][dice.roll(2)], dice.roll(3));
        let path = self.wc().join(&name);
        let svn = |args: &[&str]| {
            let _ = self.command(&self.ours, "svn").args(args).output().unwrap();
        };
        let below = format!("wc/{name}");
        match dice.roll(14) {
            0 => drop(fs::write(&path, "changed\n")),
            1 => drop(fs::write(&path, "text\n")),
            2 => drop(fs::remove_file(&path)),
            3 => drop(fs::write(path.with_extension("new"), "")),
            4 => drop(fs::remove_file(path.with_extension("new"))),
            5 => drop(fs::rename(self.wc().join(&dir), self.wc().join("moved"))),
            6 => drop(fs::rename(self.wc().join("moved"), self.wc().join(&dir))),
            7 => drop(fs::create_dir_all(path.with_extension("folder").join("in/folder"))),
            8 => drop(fs::remove_dir_all(self.wc().join(&dir).join("sub/deep"))),
            9 => svn(&["propset", "-q", "p", "v", &below]),
            10 => svn(&["add", "-q", "--force", "wc"]),
            11 => svn(&["revert", "-q", "-R", "wc"]),
            12 => svn(&["commit", "-q", "-m", "m", "wc"]),
            _ => svn(&["update", "-q", "wc"]),
        }
        name
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.command(&self.ours, "watch").arg("stop").output();
    }
}

#[test]
fn status_as_without_a_monitor() {
    let place = Place::new();
    assert_eq!(place.watch(&["add", "wc/d0"]), format!("Watching '{}'\n", place.wc().display()));
    let listed = place.watch(&["list"]);
    assert_eq!(listed, format!("       19 {}\n", place.wc().display()));
    let seed = std::env::var("SAPWOOD_SEED").map_or(11, |seed| seed.parse().unwrap());
    let steps = if std::env::var_os("SAPWOOD_LONG").is_some() { 2000 } else { 60 };
    let mut dice = Dice(seed);
    for step in 0..steps {
        let done: Vec<String> = (0..=dice.roll(3)).map(|_| place.step(&mut dice)).collect();
        match dice.roll(12) {
            // A monitor that ends, or is killed, and another that comes.
            0 => drop(place.command(&place.ours, "watch").arg("stop").output()),
            1 | 2 => drop(place.watch(&["add", "wc"])),
            _ => {}
        }
        let (ours, theirs) = (place.status(&place.ours), place.status(&place.reference));
        assert_eq!(ours, theirs, "seed {seed}, step {step}, after {done:?}");
    }
    let _ = place.command(&place.ours, "watch").arg("stop").output();
    let gone = place.command(&place.ours, "watch").arg("list").output().unwrap();
    assert_eq!(gone.status.code(), Some(1));
    let said = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert!(said.contains("E200000: No monitor runs"), "{said}");
}

/// The kernel's queue has an end; what happened after that is found all the same.
#[test]
fn a_queue_that_overflows() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    assert!(
        limit <= 1 << 20,
        "fs.inotify.max_queued_events is {limit}: too many to fill the queue"
    );
    let place = Place::new();
    let mut monitor = place.monitor();
    place.watch(&["add", "wc"]);
    assert_eq!(place.agree("at first"), [""; 0]);
    let token = place.quiet();
    let pid = Pid::from_child(&monitor);
    kill_process(pid, Signal::STOP).unwrap();
    for _ in 0..limit.div_ceil(2) {
        // Equal events in a row would be made one.
        for name in ["d0/sub/g0", "d1/sub/g0"] {
            fs::write(place.wc().join(name), "text\n").unwrap();
        }
    }
    fs::write(place.wc().join("d5/sub/deep/f0"), "lost\n").unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    // It has much to read first: a program that asks only once walks.
    place.wait();
    assert_eq!(place.since(token).0, None, "events were lost");
    assert_eq!(place.agree("after the overflow"), ["M       wc/d5/sub/deep/f0"]);
    let token = place.quiet();
    fs::write(place.wc().join("d4/sub/g1"), "more text\n").unwrap();
    assert_eq!(place.since(token).0.unwrap(), ["d4/sub"], "it watches again");
    assert_eq!(place.agree("later").len(), 2);
    place.watch(&["stop"]);
    monitor.wait().unwrap();
}

/// A monitor that is killed between two statuses, and another that comes, which has seen nothing of what
/// happened between them.
#[test]
fn a_monitor_that_comes_later() {
    let place = Place::new();
    let mut monitor = place.monitor();
    place.watch(&["add", "wc"]);
    place.agree("at first");
    let token = place.quiet();
    monitor.kill().unwrap();
    monitor.wait().unwrap();
    fs::write(place.wc().join("d2/sub/g0"), "changed\n").unwrap();
    fs::remove_file(place.wc().join("d3/sub/g1")).unwrap();
    let mut monitor = place.monitor();
    assert_eq!(place.watch(&["list"]), "", "it knows of none");
    let told = place.agree("after the restart");
    assert_eq!(told, ["!       wc/d3/sub/g1", "M       wc/d2/sub/g0"]);
    let listed = place.watch(&["list"]);
    assert_eq!(listed, format!("       19 {}\n", place.wc().display()), "the status told it");
    assert_eq!(place.since(token).0, None);
    place.quiet();
    fs::write(place.wc().join("d2/sub/g0"), "text\n").unwrap();
    assert_eq!(place.agree("watched again"), ["!       wc/d3/sub/g1"]);
    place.watch(&["stop"]);
    monitor.wait().unwrap();
}

/// One that is killed may still be there when the next is asked for.
#[test]
fn a_monitor_is_added_to_right_after_the_last_was_killed() {
    let place = Place::new();
    for _ in 0..20 {
        assert_eq!(place.watch(&["add", "wc"]), format!("Watching '{}'\n", place.wc().display()));
        kill_process(place.running_monitor(), Signal::KILL).unwrap();
    }
    place.watch(&["add", "wc"]);
    place.agree("after all that");
}

/// Through another name of a file it changes unseen by the monitor; a status that found such names looks again.
#[test]
fn files_with_other_names_elsewhere() {
    let place = Place::new();
    let other = place.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let link = |of: &str, name: &str| fs::hard_link(place.wc().join(of), other.join(name)).unwrap();
    link("d0/sub/deep/f0", "before");
    place.agree("before there is a monitor");
    link("d3/sub/g2", "between");
    place.watch(&["add", "wc"]);
    place.agree("at first");
    place.quiet();
    for (name, of) in [("before", "d0/sub/deep/f0"), ("between", "d3/sub/g2")] {
        let told = place.agree("nothing yet");
        fs::write(other.join(name), format!("through {name}\n")).unwrap();
        let now = place.agree(name);
        assert_eq!(now.len(), told.len() + 1, "{name}");
        assert!(now.contains(&format!("M       wc/{of}")), "{name}: {now:?}");
    }
    let gone = place.folder.path().join("gone");
    let url = format!("file://{}/repo", place.folder.path().display());
    place.run(&place.ours, "svn", &["checkout", "-q", &url, "gone"]);
    place.watch(&["add", "gone"]);
    fs::remove_dir_all(&gone).unwrap();
    let listed = place.watch(&["list"]);
    assert_eq!(
        listed,
        format!("       19 {}\n", place.wc().display()),
        "what is gone is not listed"
    );
}

/// More directories than may be watched: the working copy is not watched, until they have gone.
#[test]
fn too_many_directories() {
    let place = Place::new();
    let mut monitor = Monitor::new(&place.socket()).unwrap().with_most_directories(20);
    let running = std::thread::spawn(move || monitor.run(&|| false).unwrap());
    place.watch(&["add", "wc"]);
    place.agree("at first");
    for name in ["new/a", "new/b", "new/c"] {
        fs::create_dir_all(place.wc().join(name)).unwrap();
    }
    fs::write(place.wc().join("d2/sub/g0"), "changed\n").unwrap();
    let told = place.agree("beyond the limit");
    assert_eq!(told, ["?       wc/new", "M       wc/d2/sub/g0"]);
    assert_eq!(place.watch(&["list"]), "", "it is not watched");
    let refused = place.command(&place.ours, "watch").args(["add", "wc"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("there are too many directories"), "{said}");
    fs::write(place.wc().join("d3/sub/g0"), "changed\n").unwrap();
    assert_eq!(place.agree("not watched").len(), 3);
    fs::remove_dir_all(place.wc().join("new")).unwrap();
    assert_eq!(place.agree("watched again").len(), 2);
    assert_eq!(place.watch(&["list"]), format!("       19 {}\n", place.wc().display()));
    place.watch(&["stop"]);
    running.join().unwrap();
}

/// What is mounted below a working copy, here and for one program alone.
#[test]
fn mounts_as_root() {
    if !rustix::process::geteuid().is_root() {
        // Only root can mount, as the name says.
        return;
    }
    let place = Place::new();
    let mut monitor = place.monitor();
    place.watch(&["add", "wc"]);
    place.agree("at first");
    let token = place.quiet();
    let below = place.wc().join("d1");
    // For a program that the monitor's mounts are not those of.
    let inside = |programs: &Programs| {
        let svn = place.command(programs, "svn");
        let mut command = place.command(programs, "svn");
        let _ = command.args(["status", "wc"]);
        let words: Vec<&std::ffi::OsStr> =
            std::iter::once(command.get_program()).chain(command.get_args()).collect();
        let mut apart = Command::new("unshare");
        apart.args(["-m", "--propagation", "private", "sh", "-c"]);
        apart.arg("mount -t tmpfs none wc/d1 && exec \"$@\"").arg("sh").args(words);
        apart.envs(svn.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let done = apart.current_dir(place.folder.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let theirs = inside(&place.reference);
    assert!(theirs.contains("!       wc/d1/sub/g0\n"), "{theirs}");
    assert_eq!(inside(&place.ours), theirs);
    assert_eq!(place.since(token).0, Some(Vec::new()), "here nothing was mounted");
    assert_eq!(place.agree("here"), [""; 0]);

    let mount = || {
        let done = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&below).status();
        assert!(done.unwrap().success(), "root can mount");
    };
    mount();
    let told = place.status(&place.ours);
    fs::write(below.join("new"), "").unwrap();
    let more = (place.status(&place.ours), place.status(&place.reference));
    assert!(Command::new("umount").arg("-l").arg(&below).status().unwrap().success());
    assert_eq!(more.0, more.1);
    assert_eq!(more.0.last().unwrap(), "?       wc/d1/new");
    assert_eq!(told, more.0[..more.0.len() - 1]);
    assert_eq!(told.len(), 8, "all of it is missing: {told:?}");
    assert_eq!(place.agree("unmounted"), [""; 0]);
    assert_eq!(place.since(token).0, None);
    place.quiet();
    place.watch(&["stop"]);
    monitor.wait().unwrap();
}
