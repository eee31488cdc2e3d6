//! `sapwood backup`: verified copies of repositories that are in use.
//!
//! Invariant: a repository that cannot be backed up does not keep others from it; the exit code says that there was one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sapwood_backup::{Settings, Step, Verify, back_up};
use sapwood_core::exact::Exact as _;
use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use sapwood_repos::Repository;

use crate::command::{OptionSpec, Options, name, usage_error};
use crate::manual::Manual;
use crate::output::Output;
use crate::tool::Tool;
use crate::{repo, report, signals, svnadmin};

/// Bytes of cache while a copy is verified.
const CACHE: usize = 64 << 20;

const VERIFY: OptionSpec =
    OptionSpec::value("verify", None, "verify 'new' revisions (the default), 'all' or 'none'");

const OPTIONS: &[OptionSpec] = &[
    VERIFY,
    name::QUIET.flag(Some('q'), "print only what fails"),
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
];

const TEXT: &str = "\
Copies repositories, which may be in use, into a folder of backups, and verifies the copies. A SOURCE is
a repository or a folder of repositories; the copy of /srv/svn/game is FOLDER/game, a repository like any
other. The first time all is copied, later what is new.

Revisions are read through in the copy: those that were not verified there before, and those that were
packed since; with '--verify all' every one. FOLDER/game.backup.toml says what was copied and verified,
and when: 'sapwood doctor', and a server that has 'backups' in its configuration, look at it.

To restore, copy the repository back: svnadmin hotcopy FOLDER/game /srv/svn/game

Exit code: 0 if all repositories were copied and no damage was found, 1 otherwise.
";

static TOOL: Tool = Tool {
    name: "sapwood backup",
    arguments: "SOURCE... FOLDER",
    options: OPTIONS,
    text: TEXT,
    run: back_up_all,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    TOOL.main(args)
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    TOOL.manual()
}

fn back_up_all(options: &Options, arguments: Vec<String>, out: &mut Output) -> SvnResult<ExitCode> {
    let Some((folder, sources @ [_, ..])) = arguments.split_last() else {
        return Ok(TOOL.wrong_usage("a source and a folder for backups are needed"));
    };
    let verify = match options.value(VERIFY.name())?.as_deref() {
        None | Some("new") => Verify::New,
        Some("all") => Verify::All,
        Some("none") => Verify::Nothing,
        Some(other) => {
            return Err(usage_error(format!("'{other}' is none of 'new', 'all' and 'none'")));
        }
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)
        .map_err(|e| SvnError::io(&e, format_args!("Can't make '{}'", folder.display())))?;
    let cancel = signals::cancel_token();
    let mut code = ExitCode::SUCCESS;
    for source in sources {
        for repository in repositories(Path::new(source))? {
            match one(&repository, folder, verify, &cancel) {
                Ok(line) if options.has(name::QUIET) => drop(line),
                Ok(line) => out.text(&line)?,
                Err(error) => {
                    if cancel.is_cancelled() {
                        return Err(error);
                    }
                    out.flush()?;
                    report::error(&error, &format!("sapwood backup: {}: ", repository.display()));
                    code = ExitCode::FAILURE;
                }
            }
            // Each line is seen when its repository is done.
            out.flush()?;
        }
    }
    Ok(code)
}

/// The repositories of a source, by name.
fn repositories(source: &Path) -> SvnResult<Vec<PathBuf>> {
    if Repository::is_root(source) {
        return Ok(vec![source.to_owned()]);
    }
    let found = repo::repositories_in(source)?;
    if found.is_empty() {
        let what = format!("'{}' is no repository, and has none in it", source.display());
        return Err(SvnError::new(ErrorCode::REPOS_BAD_ARGS, what));
    }
    Ok(found)
}

/// Backs up a repository: the line that says what was done.
fn one(path: &Path, folder: &Path, verify: Verify, cancel: &CancelToken) -> SvnResult<String> {
    let absolute = sapwood_core::paths::absolute(path)
        .map_err(|e| SvnError::io(&e, format_args!("Can't find '{}'", path.display())))?;
    let name = absolute.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| usage_error(format!("'{}' has no name", path.display())))?;
    let source = repo::open(&absolute.to_string_lossy(), &Options::default())?;
    let settings = Settings { verify, threads: svnadmin::threads(), cache_bytes: CACHE, cancel };
    let (mut copied, mut verified) = (None, 0_u64);
    let record = back_up(&source, folder, name, &settings, &mut |step| match step {
        Step::Copied(first, _) => copied = copied.or(Some(first)),
        Step::Verified(_) => verified = verified.plus(1),
    });
    let record = record.map_err(SvnError::from)?;
    let what = match copied {
        Some(first) => format!("copied from r{first} on"),
        None => "nothing new".to_owned(),
    };
    Ok(match verify {
        Verify::Nothing => format!("{name}: r{}, {what}\n", record.revision),
        _ => format!("{name}: r{}, {what}, {verified} revisions verified\n", record.revision),
    })
}
