//! The objects of the work: a repository, and a working copy of it for each server.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sapwood_core::{ErrorCode, Exact as _, SvnError, SvnResult};

use super::history::{Size, dump, path};
use super::{Plan, Row, Work};
use crate::axes::{Axis as _, System};
use crate::programs::{Programs, Usage, measure};

/// The directory of one kind of work.
#[derive(Debug)]
pub(super) struct Site<'p> {
    plan: &'p Plan,
    folder: PathBuf,
    work: Work,
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> SvnError {
    SvnError::io(error, format_args!("Can't {what} '{}'", path.display()))
}

/// Makes the repository and the working copies.
pub(super) fn prepare<'p>(
    plan: &'p Plan,
    work: Work,
    subtrees: u64,
    say: &mut dyn FnMut(&str),
) -> SvnResult<Site<'p>> {
    fs::create_dir_all(&plan.folder).map_err(|e| cannot("create", &plan.folder, &e))?;
    let folder = fs::canonicalize(&plan.folder).map_err(|e| cannot("find", &plan.folder, &e))?;
    let Size { files, revisions } = plan.size;
    let kind = match work {
        Work::CatchUp | Work::CherryPick | Work::Diff => "on",
        Work::Reintegrate => "back",
        Work::Resolve | Work::Patch | Work::Upgrade => work.name(),
    };
    let name = format!("{kind}-{files}-{revisions}-{subtrees}");
    let site = Site { plan, folder: folder.join(name), work };
    if site.folder.join("complete").exists() {
        return Ok(site);
    }
    say(&format!("making what '{}' needs, with {subtrees} subtrees", work.name()));
    site.remove(&site.folder)?;
    fs::create_dir_all(&site.folder).map_err(|e| cannot("create", &site.folder, &e))?;
    site.make(subtrees)?;
    let complete = site.folder.join("complete");
    fs::write(&complete, b"").map_err(|e| cannot("write", &complete, &e))?;
    Ok(site)
}

impl Site<'_> {
    /// The systems whose programs exist.
    pub(super) fn systems(&self) -> Vec<System> {
        let reference = self.plan.reference.is_some().then_some(System::Reference);
        reference.into_iter().chain([System::Sapwood]).collect()
    }

    /// Where the repository is asked: by `file:`, and at each server; once for work that does not ask.
    pub(super) fn servers(&self) -> Vec<Option<System>> {
        let servers = self.systems().into_iter().map(Some).filter(|_| self.work.asks());
        std::iter::once(None).chain(servers).collect()
    }

    fn make(&self, subtrees: u64) -> SvnResult<()> {
        if self.work == Work::Upgrade {
            let master = self.master(None);
            return super::entries::make(&master, self.plan.size.upgraded())
                .map_err(|e| cannot("make", &master, &e));
        }
        self.load(subtrees)?;
        let target = match self.work {
            Work::Reintegrate | Work::Resolve => "T",
            _ => "B",
        };
        for server in self.servers() {
            self.write_tunnel(server)?;
            self.set_up(server, |svn| {
                svn.arg("checkout").arg(self.url(server, target)).arg(self.master(server))
            })?;
        }
        match self.work {
            Work::Resolve => self.make_conflicts(),
            Work::Patch => self.make_patch(),
            _ => Ok(()),
        }
    }

    /// Runs a `svn` that makes something: the reference's where there is one.
    fn set_up(
        &self,
        server: Option<System>,
        args: impl FnOnce(&mut Command) -> &mut Command,
    ) -> SvnResult<()> {
        let setup = self.plan.reference.as_ref().unwrap_or(&self.plan.sapwood);
        let mut command = setup.command("svn");
        args(&mut command).args(["-q", "--non-interactive", "--username", "bench"]);
        self.run(&mut command, server).map(drop)
    }

    /// Files that a commit moves, and that were changed in the working copies before they are updated.
    fn make_conflicts(&self) -> SvnResult<()> {
        let other = self.folder.join("other");
        self.set_up(None, |svn| svn.arg("checkout").arg(self.url(None, "T")).arg(&other))?;
        let files = (0..self.plan.size.conflicts()).map(path);
        for file in files {
            let moved = format!("{file}.moved");
            self.set_up(None, |svn| {
                svn.arg("move").arg(other.join(&file)).arg(other.join(&moved))
            })?;
            for server in self.servers() {
                let changed = self.master(server).join(&file);
                let mut text = fs::read(&changed).map_err(|e| cannot("read", &changed, &e))?;
                text.extend_from_slice(b"changed here\n");
                fs::write(&changed, text).map_err(|e| cannot("write", &changed, &e))?;
            }
        }
        self.set_up(None, |svn| svn.args(["commit", "-m", "moved"]).arg(&other))?;
        for server in self.servers() {
            self.set_up(server, |svn| {
                svn.args(["update", "--accept", "postpone"]).arg(self.master(server))
            })?;
        }
        Ok(())
    }

    /// The difference of the two branches, as a file.
    fn make_patch(&self) -> SvnResult<()> {
        let mut command = self.plan.sapwood.command("svn");
        command.arg("diff").arg(self.url(None, "B")).arg(self.url(None, "T"));
        let file = self.folder.join("patch");
        let out = fs::File::create(&file).map_err(|e| cannot("create", &file, &e))?;
        crate::programs::run(command.stdout(out), &self.folder.join("complaints")).map(drop)
    }

    fn programs(&self, system: System) -> &Programs {
        match (system, &self.plan.reference) {
            (System::Reference, Some(programs)) => programs,
            _ => &self.plan.sapwood,
        }
    }

    fn remove(&self, path: &Path) -> SvnResult<()> {
        match fs::remove_dir_all(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(cannot("remove", path, &e)),
            _ => Ok(()),
        }
    }

    fn load(&self, subtrees: u64) -> SvnResult<()> {
        let back = self.work == Work::Reintegrate;
        let size = match self.work {
            Work::Patch => Size { files: self.plan.size.patched(), revisions: 1 },
            Work::Resolve => Size { revisions: 1, ..self.plan.size },
            _ => self.plan.size,
        };
        let (file, repository) = (self.folder.join("dump"), self.folder.join("repository"));
        let out = fs::File::create(&file).map_err(|e| cannot("create", &file, &e))?;
        let mut out = BufWriter::new(out);
        dump(&mut out, size, subtrees, back)
            .and_then(|()| out.flush())
            .map_err(|e| cannot("write", &file, &e))?;
        let complaints = self.folder.join("complaints");
        measure(self.plan.sapwood.command("svnadmin").arg("create").arg(&repository), &complaints)?;
        let input = fs::File::open(&file).map_err(|e| cannot("open", &file, &e))?;
        let mut command = self.plan.sapwood.command("svnadmin");
        command.args(["load", "-q"]).arg(&repository).stdin(input).stdout(Stdio::null());
        crate::programs::run(&mut command, &complaints)?;
        fs::remove_file(&file).map_err(|e| cannot("remove", &file, &e))
    }

    fn url(&self, server: Option<System>, below: &str) -> String {
        let scheme = if server.is_some() { "svn+ssh://bench" } else { "file://" };
        format!("{scheme}{}/repository/{below}", self.folder.display())
    }

    fn master(&self, server: Option<System>) -> PathBuf {
        self.folder.join(format!("master-{}", server.map_or("file", System::name)))
    }

    fn tunnel(&self, server: System) -> PathBuf {
        self.folder.join(format!("tunnel-{}", server.name()))
    }

    /// A script that is the server, whatever a client asks its tunnel for.
    fn write_tunnel(&self, server: Option<System>) -> SvnResult<()> {
        let Some(server) = server else { return Ok(()) };
        let command = self.programs(server).command("svnserve");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> =
            words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
        let log = self.log();
        let text = format!("exec {} -t --log-file '{}'\n", words.join(" "), log.display());
        let path = self.tunnel(server);
        fs::write(&path, text).map_err(|e| cannot("write", &path, &e))
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn run(&self, command: &mut Command, server: Option<System>) -> SvnResult<Usage> {
        if let Some(server) = server {
            command.env("SVN_SSH", format!("sh {}", self.tunnel(server).display()));
        }
        measure(command, &self.folder.join("complaints"))
    }

    /// Makes one run.
    pub(super) fn measure(&self, row: &mut Row) {
        match self.one(row) {
            Ok((usage, sessions, requests)) => {
                row.seconds.push(usage.wall);
                row.cpu.push(usage.cpu);
                row.peak_mib = row.peak_mib.max(usage.peak_mib);
                (row.sessions, row.requests) = (sessions, requests);
            }
            Err(error) => row.failure = Some(error.message().to_owned()),
        }
    }

    fn one(&self, row: &Row) -> SvnResult<(Usage, u64, u64)> {
        let wc = self.folder.join("wc");
        self.remove(&wc)?;
        let mut copy = Command::new("cp");
        measure(
            copy.arg("-a").arg(self.master(row.server)).arg(&wc),
            &self.folder.join("complaints"),
        )?;
        if let Err(error) = fs::remove_file(self.log())
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(cannot("remove", &self.log(), &error));
        }
        let mut command = self.programs(row.client).command("svn");
        command.current_dir(&wc);
        self.ask(&mut command, row.server);
        let usage = self.run(&mut command, row.server)?;
        self.remove(&wc)?;
        if row.server.is_none() {
            return Ok((usage, 0, 0));
        }
        let (sessions, requests) = fs::File::open(self.log())
            .and_then(|log| count(BufReader::new(log)))
            .map_err(|e| cannot("read", &self.log(), &e))?;
        if requests == 0 {
            return Err(SvnError::new(ErrorCode::BASE, "the server logged no requests"));
        }
        Ok((usage, sessions, requests))
    }

    /// The measured usage.
    fn ask(&self, command: &mut Command, server: Option<System>) {
        match self.work {
            Work::CatchUp => command.args(["merge", "-q"]).arg(self.url(server, "T")),
            Work::CherryPick => {
                let middle = self.plan.size.revisions.checked_div(2).unwrap_or(0);
                let revision = middle.plus(3);
                command
                    .args(["merge", "-q", "-c", &revision.to_string()])
                    .arg(self.url(server, "T"))
            }
            Work::Reintegrate => command.args(["merge", "-q"]).arg(self.url(server, "B")),
            Work::Diff => command.args(["diff", &self.url(server, "B"), &self.url(server, "T")]),
            Work::Resolve => command.args(["resolve", "-q", "-R", "--accept", "recommended", "."]),
            Work::Patch => command.args(["patch", "-q", "../patch"]),
            Work::Upgrade => command.args(["upgrade", "-q"]),
        };
        command.args(["--non-interactive"]);
        if self.work.asks() {
            command.args(["--username", "bench"]);
        }
    }
}

/// Counts sessions and requests in a server's log, line by line: this process's memory would show as that of
/// the next program it starts.
fn count(log: impl BufRead) -> io::Result<(u64, u64)> {
    let (mut sessions, mut requests) = (0_u64, 0_u64);
    for line in log.lines() {
        match line?.contains(" open 2 cap=") {
            true => sessions = sessions.plus(1),
            false => requests = requests.plus(1),
        }
    }
    Ok((sessions, requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_sessions_are_counted() {
        let log = "1 2026-01-01T00:00:00Z - jo repo open 2 cap=(depth) /T SVN -\n\
                   1 2026-01-01T00:00:00Z - jo repo get-latest-rev\n\
                   1 2026-01-01T00:00:00Z - jo repo diff /T r1:2 depth=infinity\n";
        assert_eq!(count(log.as_bytes()).unwrap(), (1, 2));
    }
}
