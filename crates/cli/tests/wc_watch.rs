//! `sapwood watch`: with a monitor, `svn status` says what the reference says, whatever is done to the
//! working copy and to the monitor in between.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use sapwood_testkit::Programs;

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

    fn wc(&self) -> PathBuf {
        self.folder.path().join("wc")
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
        command.env("SAPWOOD_WATCH_SOCKET", self.folder.path().join("own/watch.socket"));
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
