//! What is worked on: for each system a repository with the same files, a server, and a working
//! copy of trunk. Each has its own, so that the commits of one do not change what the next meets.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sapwood_core::exact::Exact;
use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};

use super::{Plan, Tool};
use crate::axes::Caches;
use crate::programs::{Programs, Usage, measure};
use crate::server::{Server, server_options};
use crate::tree::make_tree;

/// In the branch, one file in this number differs from trunk.
const BRANCH_CHANGES_EVERY: usize = 10;

/// One system at work.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) tool: Tool,
    /// Its programs; `None` for git.
    pub(super) programs: Option<Programs>,
    /// The folder that holds all that follows.
    pub(super) folder: PathBuf,
    /// The files' paths in the tree, for those that are changed.
    pub(super) files: Vec<PathBuf>,
    /// The server of the repository; none for git.
    pub(super) server: Option<Server>,
    /// Counts changes, so that each is another one.
    changes: usize,
}

/// Makes the sites.
pub(super) fn prepare(
    plan: &Plan,
    say: &mut dyn FnMut(&str),
    cancel: &CancelToken,
) -> SvnResult<Vec<Site>> {
    fs::create_dir_all(&plan.folder).map_err(|e| cannot("create", &plan.folder, &e))?;
    let folder = fs::canonicalize(&plan.folder).map_err(|e| cannot("find", &plan.folder, &e))?;
    let tree = folder.join("tree");
    let stamp = folder.join("tree.options");
    let options = format!("{:?}", plan.tree);
    if fs::read_to_string(&stamp).ok().as_deref() != Some(options.as_str()) {
        remove(&tree)?;
        say("making the tree");
        make_tree(&tree, &plan.tree, &mut |_| {}, cancel)?;
        fs::write(&stamp, &options).map_err(|e| cannot("write", &stamp, &e))?;
        remove(&folder.join("master"))?;
    }
    let files = some_files(&tree)?;
    let setup = plan.reference.as_ref().unwrap_or(&plan.sapwood);
    let master = folder.join("master");
    if !master.join("complete").exists() {
        say("making the repository");
        remove(&master)?;
        make_master(setup, &tree, &master)?;
    }
    let mut sites = Vec::new();
    let mut tools = Vec::new();
    if let Some(reference) = &plan.reference {
        tools.push((Tool::Reference, Some(reference.clone())));
    }
    if plan.git {
        tools.push((Tool::Git, None));
    }
    tools.push((Tool::Sapwood, Some(plan.sapwood.clone())));
    for (tool, programs) in tools {
        say(&format!("making the working copy of {}", tool.title()));
        let place = folder.join(tool.title());
        remove(&place)?;
        fs::create_dir_all(place.join("served")).map_err(|e| cannot("create", &place, &e))?;
        let mut site =
            Site { tool, programs, folder: place, files: files.clone(), server: None, changes: 0 };
        site.fill(&tree, &master)?;
        sites.push(site);
    }
    Ok(sites)
}

impl Tool {
    /// The system's name.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Reference => "subversion",
            Self::Git => "git",
            Self::Sapwood => "sapwood",
        }
    }
}

impl Site {
    /// Its repository and its working copy.
    fn fill(&mut self, tree: &Path, master: &Path) -> SvnResult<()> {
        if let Some(programs) = &self.programs {
            copy(&master.join("repository"), &self.repository())?;
            self.server = Some(Server::start(
                programs,
                &self.folder.join("served"),
                &server_options(Caches::Medium),
            )?);
            let url = self.url("trunk");
            self.ready(self.svn(["checkout", "-q", &url]).arg(self.copy_of_trunk()))?;
            let other = self.folder.join("other");
            self.ready(self.svn(["checkout", "-q", &url]).arg(other))
        } else {
            copy(tree, &self.repository())?;
            self.ready(self.git(["init", "-q"]).arg(self.repository()))?;
            let there = self.repository();
            self.ready(self.git(["add", "."]).current_dir(&there))?;
            self.ready(self.git(["commit", "-q", "-m", "All files"]).current_dir(&there))?;
            let from = format!("file://{}", there.display());
            self.ready(self.git(["clone", "-q", &from]).arg(self.copy_of_trunk()))
        }
    }

    /// Where the repository is.
    pub(super) fn repository(&self) -> PathBuf {
        self.folder.join("served/repository")
    }

    /// A URL in it, without a server.
    pub(super) fn url(&self, below: &str) -> String {
        format!("file://{}/{below}", self.repository().display())
    }

    /// The working copy.
    pub(super) fn copy_of_trunk(&self) -> PathBuf {
        self.folder.join("working")
    }

    /// Another working copy, out of which the changes of others come.
    pub(super) fn other_copy(&self) -> PathBuf {
        self.folder.join("other")
    }

    /// `svn` of this system, with a configuration of its own.
    pub(super) fn svn<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = match &self.programs {
            Some(programs) => programs.command("svn"),
            None => Command::new("false"),
        };
        command
            .args(args)
            .arg("--non-interactive")
            .arg("--config-dir")
            .arg(self.folder.join("config"));
        command
    }

    /// `git`, with no configuration but a name.
    pub(super) fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new("git");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        for whose in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{whose}_NAME"), "bench");
            command.env(format!("GIT_{whose}_EMAIL"), "bench@localhost");
        }
        command.args(args);
        command
    }

    /// Where the measured program writes its complaints.
    pub(super) fn complaints(&self) -> PathBuf {
        self.folder.join("complaints")
    }

    /// Runs something whose time does not count.
    pub(super) fn ready(&self, command: &mut Command) -> SvnResult<()> {
        self.timed(command).map(|_| ())
    }

    /// Runs something whose time counts.
    pub(super) fn timed(&self, command: &mut Command) -> SvnResult<Usage> {
        measure(command, &self.complaints())
    }

    /// Adds a line to one file of a working copy, another file each time, and gives its path there.
    pub(super) fn change_a_file(&mut self, copy: &Path) -> SvnResult<PathBuf> {
        self.changes = self.changes.plus(1);
        let place = self.changes.wrapping_mul(7_919) % self.files.len().max(1);
        let file = self.files.get(place).cloned();
        let file = file.ok_or_else(|| SvnError::internal("a tree without files"))?;
        append(&copy.join(&file), &format!("change {}\n", self.changes))?;
        Ok(file)
    }
}

/// A repository whose trunk is the tree, and a branch of it with some changes.
fn make_master(programs: &Programs, tree: &Path, master: &Path) -> SvnResult<()> {
    fs::create_dir_all(master).map_err(|e| cannot("create", master, &e))?;
    let complaints = master.join("complaints");
    let repository = master.join("repository");
    let url = |below: &str| format!("file://{}/{below}", repository.display());
    let run = |program: &str, args: &[&OsStr]| {
        measure(programs.command(program).args(args), &complaints).map(|_| ())
    };
    run("svnadmin", &["create".as_ref(), repository.as_ref()])?;
    let (trunk, branch) = (url("trunk"), url("branch"));
    let message = ["-q", "-m", "Made for a measurement"].map(OsStr::new);
    let with = |args: &[&OsStr]| -> Vec<std::ffi::OsString> {
        args.iter().chain(&message).map(|a| (*a).to_owned()).collect()
    };
    let svn = |args: &[&OsStr]| {
        let args = with(args);
        run("svn", &args.iter().map(std::ffi::OsString::as_os_str).collect::<Vec<_>>())
    };
    svn(&["import".as_ref(), tree.as_ref(), trunk.as_ref()])?;
    svn(&["copy".as_ref(), trunk.as_ref(), branch.as_ref()])?;
    let working = master.join("working");
    run("svn", &["checkout".as_ref(), "-q".as_ref(), branch.as_ref(), working.as_ref()])?;
    for file in some_files(tree)?.iter().step_by(BRANCH_CHANGES_EVERY) {
        append(&working.join(file), "a line of the branch\n")?;
    }
    svn(&["commit".as_ref(), working.as_ref()])?;
    remove(&working)?;
    let complete = master.join("complete");
    fs::write(&complete, "").map_err(|e| cannot("write", &complete, &e))
}

/// The paths of all text files of the tree, below it, sorted.
fn some_files(tree: &Path) -> SvnResult<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![tree.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| cannot("read", &folder, &e))? {
            let path = entry.map_err(|e| cannot("read", &folder, &e))?.path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension() == Some("txt".as_ref()) {
                found.extend(path.strip_prefix(tree).map(Path::to_owned));
            }
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(SvnError::new(ErrorCode::BASE, "the tree has no text file to change"));
    }
    Ok(found)
}

/// Adds text to the end of a file.
fn append(path: &Path, text: &str) -> SvnResult<()> {
    let opened = OpenOptions::new().append(true).open(path);
    opened.and_then(|mut f| f.write_all(text.as_bytes())).map_err(|e| cannot("write to", path, &e))
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> SvnResult<()> {
    let ended = Command::new("cp").arg("-a").arg(from).arg(to).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(SvnError::new(ErrorCode::EXTERNAL_PROGRAM, format!("cp failed: {status}")))
        }
        Err(error) => Err(cannot("copy", from, &error)),
    }
}

/// Removes a directory, if it exists.
pub(super) fn remove(folder: &Path) -> SvnResult<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot("remove", folder, &error))
        }
        _ => Ok(()),
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> SvnError {
    SvnError::io(error, format_args!("Can't {what} '{}'", path.display()))
}
