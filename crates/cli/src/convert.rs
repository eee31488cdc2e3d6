//! `sapwood convert`: a repository becomes one of another format. What is done is in `sapwood_repos::convert`; here are
//! options and words.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_fs::Caches;
use sapwood_fs::admin::CreateOptions;
use sapwood_repos::convert::{Event, NewFilesystem, TargetOptions, convert};

use crate::command::{OptionSpec, Options, name};
use crate::manual::Manual;
use crate::output::Output;
use crate::svnadmin::create::compatible_minor;
use crate::svnadmin::threads;
use crate::tool::Tool;
use crate::{repo, signals};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::value("fs-type", None, "kind of filesystem of TARGET: fsfs (the default) or fsx"),
    OptionSpec::value(
        "compatible-version",
        None,
        "the oldest Subversion that must be able to use TARGET (1.14)",
    ),
    name::QUIET.flag(Some('q'), "print only errors"),
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
];

const TEXT: &str = "\
Makes TARGET, a repository of another kind or format with the revisions of SOURCE: FSX
becomes FSFS, FSFS becomes FSX or FSFS of another format. Revision numbers, UUID, revision
properties, locks, hooks and configuration are kept. SOURCE is only read, and may be in use.

A conversion that was interrupted goes on when the command is given again, and so does its
comparison. The same command takes over revisions that were committed since: convert a large
repository while it is used, then stop its server, give the command once more, and put TARGET
in the place of SOURCE. TARGET must not be in use, or changed, before that.

Every revision is compared at the end: its properties, changed paths and their nodes; and all
of the youngest tree. TARGET's file converted-revision says how far that came.
";

/// Bytes of cache.
const CACHE: usize = 256 << 20;

static TOOL: Tool = Tool {
    name: "sapwood convert",
    arguments: "SOURCE TARGET",
    options: OPTIONS,
    text: TEXT,
    run: convert_paths,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    TOOL.main(args)
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    TOOL.manual()
}

/// How the target is made.
fn target_options(options: &Options) -> SvnResult<TargetOptions> {
    let minor = compatible_minor(options)?;
    let fs = match options.value(name::FS_TYPE)?.as_deref() {
        None | Some("fsfs") => NewFilesystem::Fsfs(fsfs_options(minor)?),
        Some("fsx") if minor.is_some_and(|minor| minor < 9) => {
            let message = "FSX is not compatible with Subversion prior to 1.9";
            return Err(SvnError::new(ErrorCode::FS_UNSUPPORTED_FORMAT, message));
        }
        Some("fsx") => NewFilesystem::fsx(),
        Some(other) => {
            let message = format!("Unknown FS type '{other}'");
            return Err(SvnError::new(ErrorCode::FS_UNKNOWN_FS_TYPE, message));
        }
    };
    let compared_at_once = TargetOptions::COMPARED_AT_ONCE;
    Ok(TargetOptions { fs, compatible_minor: minor, threads: threads(), compared_at_once })
}

fn fsfs_options(compatible_minor: Option<u32>) -> SvnResult<CreateOptions> {
    let mut fs = CreateOptions::default();
    if let Some(minor) = compatible_minor {
        fs.format = CreateOptions::format_for(minor).ok_or_else(|| {
            let message = "Repositories compatible with 1.0 cannot be made";
            SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message)
        })?;
    }
    Ok(fs)
}

fn convert_paths(options: &Options, paths: Vec<String>, out: &mut Output) -> SvnResult<ExitCode> {
    let [from, to] = paths.as_slice() else {
        return Ok(TOOL.wrong_usage("a source and a target are needed"));
    };
    let made = target_options(options)?;
    let (from, to) = (repo::local_path(from)?, repo::local_path(to)?);
    let [from, to] = [&from, &to].map(|path| Path::new(repo::local_style(path)));
    let quiet = options.has(name::QUIET);
    let (mut committed, mut verified) = (0u64, 0u64);
    let caches = Caches::new(CACHE);
    let youngest = convert(from, to, &made, &caches, &signals::cancel_token(), &mut |event| {
        let line = match event {
            Event::Continued(revision) => format!("* Continuing after revision {revision}.\n"),
            Event::Committed(revision) => {
                committed += 1;
                line_of("Converted", revision)
            }
            Event::VerifiedBefore(revision) => {
                format!("* Compared before: to revision {revision}.\n")
            }
            Event::Verified(revision) => {
                verified += 1;
                line_of("Compared", revision)
            }
        };
        if quiet { Ok(()) } else { out.text(&line) }
    })?;
    if !quiet {
        out.text(&format!(
            "Revision {youngest}: {committed} converted, {verified} compared, no difference.\n"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line_of(done: &str, revision: Revnum) -> String {
    format!("* {done} revision {revision}.\n")
}
