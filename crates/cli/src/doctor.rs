//! `sapwood doctor`: what is wrong, or soon will be, with repositories and with a server's configuration, and what to do.
//! Each kind of check has a file; this one has the command line and what is printed.
//!
//! Invariant: nothing is changed. What cannot be looked at is a finding, not the end.

mod backup;
mod finding;
mod hooks;
mod machine;
mod repository;
mod rights;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sapwood_core::SvnResult;
use sapwood_repos::Repository;

use crate::command::{OptionSpec, Options, name};
use crate::manual::Manual;
use crate::output::Output;
use crate::tool::Tool;
use finding::{Findings, Grade};

const CONFIG: OptionSpec =
    OptionSpec::value("config", None, "look at this configuration of 'sapwood serve', too");
const QUIET: OptionSpec = OptionSpec::flag("quiet", Some('q'), "print only what is wrong");

const OPTIONS: &[OptionSpec] = &[
    CONFIG,
    QUIET,
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
];

const TEXT: &str = "\
Looks at repositories (or folders of repositories), and at what a server's configuration names, and
says what is wrong or soon will be, each with what to do: rights and owners, formats, hooks, rules,
access files, packing, what killed processes left, space, clocks, certificates, backups. Nothing is changed,
and no revision is read through: that is 'svnadmin verify'.

Run it as the user that the server runs as: what that user may not do is found only so.

Exit code: 0 if nothing is wrong, 1 otherwise.
";

static TOOL: Tool = Tool {
    name: "sapwood doctor",
    arguments: "[PATH...]",
    options: OPTIONS,
    text: TEXT,
    run: examine,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    TOOL.main(args)
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    TOOL.manual()
}

fn examine(options: &Options, arguments: Vec<String>, out: &mut Output) -> SvnResult<ExitCode> {
    let config = options.value(CONFIG.name())?.map(PathBuf::from);
    if arguments.is_empty() && config.is_none() {
        return Ok(
            TOOL.wrong_usage("a repository, a folder of repositories or '--config' is needed")
        );
    }
    let mut paths: Vec<PathBuf> = arguments.into_iter().map(PathBuf::from).collect();
    let mut is_well = true;
    let mut show = |subject: &str, findings: Findings| -> SvnResult<()> {
        is_well &= findings.worst() == Grade::Good;
        out.text(&findings.text(subject, options.has(QUIET.name())))
    };
    let mut backups = None;
    if let Some(config) = &config {
        let (findings, named) = machine::of_configuration(config);
        show(&config.display().to_string(), findings)?;
        paths.extend(named.folders);
        backups = named.backups;
    }
    for path in paths {
        let (repositories, findings) = repositories(&path);
        if let Some(findings) = findings {
            show(&path.display().to_string(), findings)?;
        }
        for repository in repositories {
            let mut findings = repository::look(&repository);
            if let Some(folder) = &backups {
                backup::look(&repository, folder, &mut findings);
            }
            show(&repository.display().to_string(), findings)?;
        }
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The repositories at a path: itself, or those in it; and what is wrong with a path that has none.
fn repositories(path: &Path) -> (Vec<PathBuf>, Option<Findings>) {
    if Repository::is_root(path) {
        return (vec![path.to_owned()], None);
    }
    let mut findings = Findings::default();
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => {
            let todo = format!("check the name, and who may read it: ls -ld {}", shown(path));
            findings.problem(format!("it cannot be read: {error}"), todo);
            return (Vec::new(), Some(findings));
        }
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) if Repository::is_root(&entry.path()) => found.push(entry.path()),
            Ok(_) => {}
            Err(error) => findings.problem(format!("its entries cannot be read: {error}"), ""),
        }
    }
    found.sort();
    if found.is_empty() {
        let todo = format!("make one: svnadmin create {}", shown(&path.join("NAME")));
        findings.warning("there is no repository in it", todo);
    }
    let has_findings = findings.worst() != Grade::Good;
    (found, has_findings.then_some(findings))
}

/// A path as a shell takes it.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
