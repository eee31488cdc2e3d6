//! The reference's server and ours beside each other on one repository, and the reference's client
//! run against both.
//!
//! Invariant: both clients run with the same relative paths in folders of their own, so that output
//! may be compared byte for byte once the servers' addresses are replaced.

use crate::compare::{Output, Trees};
use crate::findings::Findings;
use crate::programs::Programs;
use crate::repository::Repository;
use crate::server::Server;
use std::path::PathBuf;
use tempfile::TempDir;

/// Both servers on the folder of one repository.
#[derive(Debug)]
pub struct Pair {
    reference: Server,
    ours: Server,
    scratch: TempDir,
    /// The folder that is served, with a slash: the reference names it in errors, ours does not.
    served: String,
    /// What differs so far.
    pub findings: Findings,
}

/// What stands for the address of a server in compared output.
const ADDRESS: &str = "svn://SERVER";

impl Pair {
    /// Starts both servers, with the same options.
    #[must_use]
    pub fn start(repo: &Repository, options: &[&str]) -> Self {
        let scratch = tempfile::Builder::new().prefix("sapwood-pair-").tempdir().expect("a folder");
        for side in ["reference", "ours"] {
            std::fs::create_dir(scratch.path().join(side)).expect("a folder");
        }
        Self {
            reference: Server::start(&Programs::reference(), repo.parent(), options),
            ours: Server::start(&Programs::ours(), repo.parent(), options),
            scratch,
            served: format!("{}/", repo.parent().display()),
            findings: Findings::new(repo.name()),
        }
    }

    /// The server of ours.
    #[must_use]
    pub fn ours(&self) -> &Server {
        &self.ours
    }

    /// The reference's server.
    #[must_use]
    pub fn reference(&self) -> &Server {
        &self.reference
    }

    /// The client's folder for a side: `reference` or `ours`.
    #[must_use]
    pub fn folder(&self, side: &str) -> PathBuf {
        self.scratch.path().join(side)
    }

    /// Runs the reference's `svn` against both and compares output and exit code. `%u` in an
    /// argument stands for the repository's URL. Returns the reference's side.
    pub fn svn(&mut self, args: &[&str]) -> Output {
        let (what, reference, ours) = self.both("svn", args);
        self.findings.outputs(&what, &reference, &ours);
        reference
    }

    /// The same, where the order of the lines is no contract.
    pub fn svn_unordered(&mut self, args: &[&str]) -> Output {
        self.unordered("svn", args)
    }

    /// The same for any of the reference's programs.
    pub fn unordered(&mut self, program: &str, args: &[&str]) -> Output {
        let (what, reference, ours) = self.both(program, args);
        self.findings.unordered(&what, &reference, &ours);
        reference
    }

    /// Runs a program of the reference against both servers.
    pub fn both(&self, program: &str, args: &[&str]) -> (String, Output, Output) {
        let what = format!("{program} {}", args.join(" "));
        let reference = self.one(&self.reference, program, args);
        (what, reference, self.one(&self.ours, program, args))
    }

    fn one(&self, server: &Server, program: &str, args: &[&str]) -> Output {
        let url = server.url("repo");
        let dir = self.folder(server.label);
        let mut command = Programs::reference().command(program);
        command.current_dir(&dir).args(["--non-interactive", "--no-auth-cache"]);
        let out = Output::of(command.args(args.iter().map(|a| a.replace("%u", &url))));
        out.without_lines("Text Last Updated: ")
            .replacing(server.url("").trim_end_matches('/'), ADDRESS)
            .replacing(dir.to_str().expect("a UTF-8 path"), "/FOLDER")
            .replacing(&self.served, "")
    }

    /// Compares what the commands so far left at a relative path.
    pub fn trees(&mut self, what: &str, path: &str) {
        let reference = Trees::read(&self.folder("reference").join(path));
        let ours = Trees::read(&self.folder("ours").join(path));
        self.findings.trees(what, &reference, &ours);
    }

    /// Removes what the commands so far left at a relative path.
    pub fn remove(&self, path: &str) {
        for side in ["reference", "ours"] {
            let _ = std::fs::remove_dir_all(self.folder(side).join(path));
        }
    }

    /// Ends the comparison; panics if anything differs.
    #[track_caller]
    pub fn finish(self) {
        self.findings.finish();
    }
}
