//! The kinds of work, and how each is made ready and run by each system.

use std::fs;
use std::process::Command;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use serde::{Deserialize, Serialize};

use super::Tool;
use super::site::{Site, remove};
use crate::machine;
use crate::programs::Usage;

/// One kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// The program starts and says its version.
    Start,
    /// `svn info` at the root of the working copy.
    Info,
    /// Status with everything in the system's caches.
    Status,
    /// Status with nothing in the system's caches.
    StatusCold,
    /// Update, when there is nothing new.
    UpdateNothing,
    /// Update, when another committed one file.
    UpdateOne,
    /// Commit of a file that is named.
    CommitNamed,
    /// Commit of all, of which one file is changed.
    CommitRoot,
    /// Diff of all, of which one file is changed.
    Diff,
    /// Revert of all, of which one file is changed.
    Revert,
    /// Switch of all to a branch, or back.
    Switch,
    /// Export of trunk.
    Export,
    /// Checkout of trunk, or a clone, without a server.
    CheckoutFile,
    /// Checkout of trunk from the system's own server.
    CheckoutSvn,
}

impl Work {
    /// All of them, in the order in which they are measured: what changes much comes last.
    pub const ALL: [Self; 14] = [
        Self::Start,
        Self::Info,
        Self::Status,
        Self::StatusCold,
        Self::UpdateNothing,
        Self::UpdateOne,
        Self::CommitNamed,
        Self::CommitRoot,
        Self::Diff,
        Self::Revert,
        Self::Switch,
        Self::Export,
        Self::CheckoutFile,
        Self::CheckoutSvn,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Info => "info",
            Self::Status => "status",
            Self::StatusCold => "status-cold",
            Self::UpdateNothing => "update-nothing",
            Self::UpdateOne => "update-one",
            Self::CommitNamed => "commit-named",
            Self::CommitRoot => "commit-root",
            Self::Diff => "diff",
            Self::Revert => "revert",
            Self::Switch => "switch",
            Self::Export => "export",
            Self::CheckoutFile => "checkout-file",
            Self::CheckoutSvn => "checkout-svn",
        }
    }

    /// Its name in the table.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Start => "`--version --quiet`",
            Self::Info => "`info`",
            Self::Status => "status, hot",
            Self::StatusCold => "status, cold",
            Self::UpdateNothing => "update, nothing new",
            Self::UpdateOne => "update of one file",
            Self::CommitNamed => "commit of one named file",
            Self::CommitRoot => "commit of the root, one file changed",
            Self::Diff => "diff, one file changed",
            Self::Revert => "revert -R, one file changed",
            Self::Switch => "switch of everything",
            Self::Export => "export",
            Self::CheckoutFile => "checkout, file:",
            Self::CheckoutSvn => "checkout, svn:",
        }
    }

    /// Whether git has something like it.
    pub(super) fn is_for(self, tool: Tool) -> bool {
        use Work::{CheckoutSvn, Export, Info, Switch, UpdateNothing, UpdateOne};
        let only_svn =
            matches!(self, Info | UpdateNothing | UpdateOne | Switch | Export | CheckoutSvn);
        tool != Tool::Git || !only_svn
    }

    /// Whether one run comes first that does not count.
    pub(super) const fn is_hot(self) -> bool {
        matches!(self, Self::Start | Self::Info | Self::Status | Self::UpdateNothing | Self::Diff)
    }

    /// Makes it ready and runs it.
    pub(super) fn run(self, site: &mut Site, turn: usize) -> SvnResult<Usage> {
        let mut command = self.make_ready(site, turn)?;
        let usage = site.timed(&mut command)?;
        self.clean_up(site)?;
        Ok(usage)
    }

    /// The number of system calls of one run.
    pub(super) fn count_calls(self, site: &mut Site) -> SvnResult<u64> {
        let command = self.make_ready(site, 0)?;
        let counts = site.folder.join("calls");
        let mut traced = Command::new("strace");
        traced.args(["-f", "-qq", "-c", "-S", "calls", "-o"]).arg(&counts);
        traced.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                traced.env(name, value);
            }
        }
        if let Some(folder) = command.get_current_dir() {
            traced.current_dir(folder);
        }
        site.ready(&mut traced)?;
        self.clean_up(site)?;
        let text = fs::read_to_string(&counts)
            .map_err(|e| SvnError::io(&e, "Can't read what strace counted"))?;
        total_calls(&text)
            .ok_or_else(|| SvnError::new(ErrorCode::EXTERNAL_PROGRAM, "strace counted nothing"))
    }

    /// The command to measure, with everything it needs in place.
    fn make_ready(self, site: &mut Site, turn: usize) -> SvnResult<Command> {
        let working = site.copy_of_trunk();
        match self {
            Self::Start | Self::Info | Self::Status | Self::UpdateNothing => {}
            Self::StatusCold => {
                machine::drop_caches()
                    .map_err(|e| SvnError::io(&e, "Can't drop the system's caches"))?;
            }
            Self::UpdateOne => {
                let other = site.other_copy();
                let file = site.change_a_file(&other)?;
                site.ready(site.svn(["commit", "-q", "-m", "one"]).arg(other.join(file)))?;
            }
            Self::CommitNamed => {
                let file = site.change_a_file(&working)?;
                return Ok(commit(site, &file.display().to_string(), turn));
            }
            Self::CommitRoot | Self::Diff | Self::Revert => {
                site.change_a_file(&working)?;
            }
            Self::Switch => {
                let now = site.folder.join("switched");
                let to = if now.exists() { "trunk" } else { "branch" };
                let mut command = site.svn(["switch", "-q", &site.url(to)]);
                command.arg(working);
                return Ok(command);
            }
            Self::Export | Self::CheckoutFile | Self::CheckoutSvn => {
                remove(&site.folder.join("new"))?;
            }
        }
        if site.tool == Tool::Git { Ok(self.git(site)) } else { self.svn(site) }
    }

    /// The command of `svn`.
    fn svn(self, site: &Site) -> SvnResult<Command> {
        let new = site.folder.join("new");
        let mut command = match self {
            Self::Start => return Ok(svn_version(site)),
            Self::Info => site.svn(["info"]),
            Self::Status | Self::StatusCold => site.svn(["status"]),
            Self::UpdateNothing | Self::UpdateOne => site.svn(["update", "-q"]),
            Self::CommitNamed | Self::CommitRoot | Self::Switch => {
                site.svn(["commit", "-q", "-m", "all"])
            }
            Self::Diff => site.svn(["diff"]),
            Self::Revert => site.svn(["revert", "-q", "-R", "."]),
            Self::Export => site.svn(["export", "-q", &site.url("trunk")]),
            Self::CheckoutFile => site.svn(["checkout", "-q", &site.url("trunk")]),
            Self::CheckoutSvn => {
                let url = site.server.as_ref().map(|server| server.url("repository/trunk"));
                let url = url.ok_or_else(|| SvnError::internal("no server was started"))?;
                site.svn(["checkout", "-q", &url])
            }
        };
        if matches!(self, Self::Export | Self::CheckoutFile | Self::CheckoutSvn) {
            command.arg(new);
        } else {
            command.current_dir(site.copy_of_trunk());
        }
        Ok(command)
    }

    /// The command of `git`.
    fn git(self, site: &Site) -> Command {
        let mut command = match self {
            Self::Start => site.git(["--version"]),
            Self::CommitNamed | Self::CommitRoot => site.git(["commit", "-q", "-a", "-m", "all"]),
            Self::Diff => site.git(["diff"]),
            Self::Revert => site.git(["checkout", "-q", "--", "."]),
            Self::CheckoutFile => {
                let from = format!("file://{}", site.repository().display());
                let mut command = site.git(["clone", "-q", &from]);
                command.arg(site.folder.join("new"));
                return command;
            }
            _ => site.git(["status", "--short"]),
        };
        command.current_dir(site.copy_of_trunk());
        command
    }

    /// Puts back what the next run expects.
    fn clean_up(self, site: &Site) -> SvnResult<()> {
        match self {
            Self::Diff => site.ready(&mut Self::Revert.make_plain(site)?),
            Self::Switch => {
                let now = site.folder.join("switched");
                let done = if now.exists() { fs::remove_file(&now) } else { fs::write(&now, "") };
                done.map_err(|e| SvnError::io(&e, "Can't note where the working copy points"))
            }
            Self::Export | Self::CheckoutFile | Self::CheckoutSvn => {
                remove(&site.folder.join("new"))
            }
            _ => Ok(()),
        }
    }

    /// The command alone, with nothing made ready.
    fn make_plain(self, site: &Site) -> SvnResult<Command> {
        if site.tool == Tool::Git { Ok(self.git(site)) } else { self.svn(site) }
    }
}

/// `svn --version --quiet`, with nothing else on the command line.
fn svn_version(site: &Site) -> Command {
    let mut command = match &site.programs {
        Some(programs) => programs.command("svn"),
        None => site.git(["--version"]),
    };
    if site.programs.is_some() {
        command.args(["--version", "--quiet"]);
    }
    command
}

/// The commit of one file.
fn commit(site: &Site, file: &str, turn: usize) -> Command {
    let message = format!("one, {turn}");
    let mut command = match site.tool {
        Tool::Git => site.git(["commit", "-q", "-m", &message, "--", file]),
        _ => site.svn(["commit", "-q", "-m", &message, file]),
    };
    command.current_dir(site.copy_of_trunk());
    command
}

/// The sum in the last line of what `strace -c` writes: `100.00 0.1 3 4567 12 total`.
fn total_calls(text: &str) -> Option<u64> {
    let line = text.lines().rev().find(|line| line.trim_end().ends_with("total"))?;
    line.split_ascii_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_all_different() {
        let mut names: Vec<_> = Work::ALL.iter().map(|w| w.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Work::ALL.len());
    }

    #[test]
    fn calls_of_a_trace() {
        let text = "% time     seconds  usecs/call     calls    errors syscall\n\
                    ------ ----------- ----------- --------- --------- ----------------\n\
                     60.00    0.000100           1        90           read\n\
                    ------ ----------- ----------- --------- --------- ----------------\n\
                    100.00    0.000166           1       128         7 total\n";
        assert_eq!(total_calls(text), Some(128));
        assert_eq!(total_calls(""), None);
    }
}
