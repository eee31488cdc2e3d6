//! The programs that are measured, and how one of them is run: as a child, with what it took.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use wait4::Wait4 as _;

use crate::axes::{Axis as _, System};

/// Where the programs of one system are.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Their system.
    pub system: System,
    place: ProgramSource,
}

#[derive(Clone, Debug)]
enum ProgramSource {
    /// A folder with a program of each name.
    Folder(PathBuf),
    /// One program whose first argument says which program to run, and the names of these programs.
    Single(PathBuf, Vec<String>),
}

/// The usage of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of processor time, user and system.
    pub(crate) cpu: f64,
    /// Its peak memory, in MiB.
    pub(crate) peak_mib: f64,
}

impl Programs {
    /// The programs of a folder.
    #[must_use]
    pub fn folder(system: System, folder: &Path) -> Self {
        Self { system, place: ProgramSource::Folder(folder.to_owned()) }
    }

    /// One executable that is all programs named `names`.
    #[must_use]
    pub fn single(system: System, executable: &Path, names: Vec<String>) -> Self {
        Self { system, place: ProgramSource::Single(executable.to_owned(), names) }
    }

    /// Whether there is a program of that name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match &self.place {
            ProgramSource::Folder(folder) => folder.join(name).is_file(),
            ProgramSource::Single(_, names) => names.iter().any(|n| n == name),
        }
    }

    /// The file that is a program, or that becomes it when it is called by its name.
    pub(crate) fn file(&self, name: &str) -> Option<PathBuf> {
        match &self.place {
            ProgramSource::Folder(folder) => Some(folder.join(name)).filter(|file| file.is_file()),
            ProgramSource::Single(executable, _) => Some(executable.clone()),
        }
    }

    /// A command that runs a program, without arguments yet.
    pub(crate) fn command(&self, name: &str) -> Command {
        match &self.place {
            ProgramSource::Folder(folder) => Command::new(folder.join(name)),
            ProgramSource::Single(executable, _) => {
                let mut command = Command::new(executable);
                command.arg(name);
                command
            }
        }
    }

    /// A command that runs our server of all protocols, without arguments yet.
    pub(crate) fn serve(&self) -> Command {
        let (executable, word) = match &self.place {
            ProgramSource::Folder(folder) => (folder.join("sapwood"), "serve"),
            ProgramSource::Single(executable, _) => (executable.clone(), "serve"),
        };
        let mut command = Command::new(executable);
        command.arg(word);
        command
    }

    /// The program's version, as it prints it; empty without output.
    #[must_use]
    pub fn version(&self) -> String {
        let asked = self.command("svnserve").args(["--version", "--quiet"]).output();
        let said = asked.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
        // If a program does not start, the first run gives the better error.
        said.unwrap_or_default()
    }
}

/// Runs a command to its end. Its output is thrown away; `complaints` is a file that it complains
/// to.
///
/// # Errors
/// E200012 with what it complained when it fails; system errors.
pub(crate) fn measure(command: &mut Command, complaints: &Path) -> SvnResult<Usage> {
    run(command.stdin(Stdio::null()).stdout(Stdio::null()), complaints)
}

/// The same with the input and output that the command has.
pub(crate) fn run(command: &mut Command, complaints: &Path) -> SvnResult<Usage> {
    let (usage, status) = timed(command, complaints)?;
    if status.success() {
        return Ok(usage);
    }
    // It may have complained of nothing.
    let said = std::fs::read(complaints).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let said: Vec<&str> = said.lines().take(4).collect();
    Err(SvnError::new(
        ErrorCode::EXTERNAL_PROGRAM,
        format!("{} failed ({status}): {}", command_line(command), said.join(" | ")),
    ))
}

/// The same of a command that may fail, with how it ended.
pub(crate) fn timed(command: &mut Command, complaints: &Path) -> SvnResult<(Usage, ExitStatus)> {
    let cannot = |what: &str, e: &std::io::Error| SvnError::io(e, format_args!("Can't {what}"));
    let stderr = File::create(complaints).map_err(|e| cannot("write complaints", &e))?;
    command.stderr(stderr).env("LC_ALL", "C");
    let begun = Instant::now();
    let child =
        command.spawn().map_err(|e| cannot(&format!("run {}", command_line(command)), &e))?;
    let ended = child.wait4().map_err(|e| cannot("wait for a program", &e))?;
    let wall = begun.elapsed().as_secs_f64();
    let cpu = ended.rusage.utime.saturating_add(ended.rusage.stime).as_secs_f64();
    let peak = u32::try_from(ended.rusage.maxrss.checked_div(1 << 10).unwrap_or(0));
    let peak_mib = f64::from(peak.unwrap_or(u32::MAX)) / 1024.0;
    Ok((Usage { wall, cpu, peak_mib }, ended.status))
}

/// The command line, as one would type it.
fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// The reason why a system cannot answer a request, if any.
pub(crate) fn missing(programs: &Programs, name: &str) -> Option<String> {
    (!programs.has(name)).then(|| format!("{} has no {name}", programs.system.title()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_tells() {
        let folder = tempfile::tempdir().unwrap();
        let complaints = folder.path().join("complaints");
        let sh = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            measure(&mut command, &complaints)
        };
        let usage = sh("true").unwrap();
        assert!(usage.wall > 0.0 && usage.cpu >= 0.0 && usage.peak_mib > 0.0);
        let error = sh("echo it is broken >&2; exit 3").unwrap_err();
        assert_eq!(error.code(), ErrorCode::EXTERNAL_PROGRAM);
        assert!(error.message().contains("it is broken") && error.message().contains('3'));
    }

    #[test]
    fn finds_programs() {
        let single = Programs::single(System::Sapwood, Path::new("/x"), vec!["svnserve".into()]);
        assert!(single.has("svnserve") && !single.has("svn"));
        assert_eq!(missing(&single, "svn").unwrap(), "Sapwood has no svn");
        let command = single.command("svnserve");
        assert_eq!(command_line(&command), "/x svnserve");
        let folder = Programs::folder(System::Reference, Path::new("/bin"));
        assert!(folder.has("sh") && !folder.has("no-such-program"));
    }
}
