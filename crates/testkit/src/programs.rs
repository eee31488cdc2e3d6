//! The programs under test and the reference's, started in the same way.
//!
//! Serves the comparison tests. Invariant: both sides get the same environment, so that a
//! difference in output is a difference in the programs. Reads `SAPWOOD_BIN` (our program, or a folder of programs in its place) and
//! `SAPWOOD_REFERENCE_BIN` (the folder of the reference's programs); without them ours is taken
//! from cargo's target folder, and the reference's from `PATH`.

use crate::compare::Output;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The names under which our one program behaves as a Subversion program.
pub const NAMES: [&str; 12] = [
    "svn",
    "svnadmin",
    "svnserve",
    "svnlook",
    "svnsync",
    "svnrdump",
    "svndumpfilter",
    "svnmucc",
    "svnversion",
    "svnfsfs",
    "svnbench",
    "svnauthz",
];

/// A folder of Subversion programs.
#[derive(Clone, Debug)]
pub struct Programs {
    dir: PathBuf,
    /// `ours` or `reference`, for messages.
    pub label: &'static str,
}

impl Programs {
    /// The reference's programs.
    ///
    /// # Panics
    /// If they are not installed; `cargo xtask test` installs them.
    #[must_use]
    pub fn reference() -> Self {
        let dirs: Vec<PathBuf> = match std::env::var_os("SAPWOOD_REFERENCE_BIN") {
            Some(dir) => vec![dir.into()],
            None => std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect(),
        };
        let dir = dirs.into_iter().find(|d| d.join("svnadmin").is_file()).expect(
            "the reference's programs are not installed: run `cargo xtask packages` as root",
        );
        Self { dir, label: "reference" }
    }

    /// Our program, under all its names.
    ///
    /// # Panics
    /// If it is not built.
    #[must_use]
    pub fn ours() -> Self {
        let program = our_program();
        if program.is_dir() {
            return Self { dir: program, label: "ours" };
        }
        // One folder of links for each path of the program, shared by all test processes.
        let key = sapwood_core::Md5::of(program.as_os_str().as_encoded_bytes()).to_hex();
        let dir = crate::library::folder().join(format!("links-{key}"));
        std::fs::create_dir_all(&dir).expect("a folder for links");
        for name in NAMES.iter().chain(&["sapwood"]) {
            match std::os::unix::fs::symlink(&program, dir.join(name)) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => panic!("{name}: {e}"),
                _ => {}
            }
        }
        Self { dir, label: "ours" }
    }

    /// The path of one program.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The folder that holds the programs.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A program, ready to be given arguments: no input, UTF-8, UTC, and no personal settings.
    #[must_use]
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.path(name));
        environment(&mut command);
        command
    }

    /// Runs a program to its end.
    pub fn run<S: AsRef<OsStr>>(&self, name: &str, args: impl IntoIterator<Item = S>) -> Output {
        Output::of(self.command(name).args(args))
    }
}

/// Gives a command the environment that all our comparisons use.
pub fn environment(command: &mut Command) {
    let home = crate::library::folder().join("home");
    std::fs::create_dir_all(&home).expect("a home folder");
    for name in ["LANG", "LANGUAGE", "SVN_SSH", "SVN_EDITOR", "VISUAL", "EDITOR"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC").env("HOME", home).stdin(Stdio::null());
}

/// The path of our program.
fn our_program() -> PathBuf {
    if let Some(path) = std::env::var_os("SAPWOOD_BIN") {
        return path.into();
    }
    // A test runs as target/PROFILE/deps/NAME; programs are built to target/PROFILE.
    let test = std::env::current_exe().expect("the test's own path");
    let found = test.ancestors().map(|d| d.join("sapwood")).find(|p| p.is_file());
    found.expect("our program is not built: cargo build -p sapwood-cli, or set SAPWOOD_BIN")
}
