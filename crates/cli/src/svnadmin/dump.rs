//! `svnadmin dump` and `svnadmin dump-revprops`.

use std::fs::File;
use std::io::Write;

use sapwood_core::FsPath;
use sapwood_core::{Revnum, SvnError, SvnResult, glob};
use sapwood_repos::dump::{DumpOptions, Notice, dump};
use sapwood_repos::{PathAuthorizer, Repository};

use crate::command::{Invocation, Options, Runner, Subcommand, name, usage_error};
use crate::progress::Progress;
use crate::report;

/// The paths that `--include` or `--exclude` let pass.
struct PathFilter {
    prefixes: Vec<String>,
    patterns: bool,
    exclude: bool,
}

impl PathAuthorizer for PathFilter {
    fn readable(&self, path: &FsPath) -> SvnResult<bool> {
        let found = if self.patterns {
            glob::matches_any(&self.prefixes, path.as_str())
        } else {
            self.prefixes.iter().any(|prefix| {
                path.strip_prefix(prefix.as_str()).is_some_and(|rest| {
                    prefix.len() == 1 || rest.is_empty() || rest.starts_with('/')
                })
            })
        };
        Ok(found != self.exclude)
    }
}

fn filter(options: &Options) -> SvnResult<Option<PathFilter>> {
    let patterns = options.has(name::PATTERN);
    let (exclude, include) = (options.values(name::EXCLUDE)?, options.values(name::INCLUDE)?);
    match (exclude.is_empty(), include.is_empty()) {
        (true, true) => Ok(None),
        (false, true) => Ok(Some(PathFilter { prefixes: exclude, patterns, exclude: true })),
        (true, false) => Ok(Some(PathFilter { prefixes: include, patterns, exclude: false })),
        (false, false) => {
            Err(usage_error("'--exclude' and '--include' options cannot be used simultaneously"))
        }
    }
}

/// The first and last revision to dump.
fn range(options: &Options, repository: &Repository) -> SvnResult<(Revnum, Revnum)> {
    let fs = repository.fs();
    let youngest = fs.youngest()?;
    Ok(match options.revision.resolve(fs, youngest)? {
        (None, _) => (Revnum::ZERO, youngest),
        (Some(start), end) => (start, end.unwrap_or(start)),
    })
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "dump",
    aliases: &[],
    help: "usage: svnadmin dump REPOS_PATH [-r LOWER[:UPPER] [--incremental]]\n\n\
         Write revisions to stdout as a stream that 'svnadmin load' reads, and progress\n\
         to stderr.  All revisions, unless -r says which.\n\n\
         The first revision of a range is written as a whole tree, so that the stream\n\
         stands alone; with --incremental it is written as what it changed, like all\n\
         the others.\n\n\
         With --exclude and --include, what refers to paths that are left out is\n\
         rewritten: a copy from such a path becomes an addition.\n",
    options: &[
        name::REVISION,
        name::INCREMENTAL,
        name::DELTAS,
        name::QUIET,
        name::MEMORY_CACHE_SIZE,
        name::FILE,
        name::EXCLUDE,
        name::INCLUDE,
        name::PATTERN,
    ],
    overrides: super::TO_FILE,
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    run_either(invocation, true)
}

pub(super) const REVPROPS_COMMAND: Subcommand = Subcommand {
    name: "dump-revprops",
    aliases: &[],
    help: "usage: svnadmin dump-revprops REPOS_PATH [-r LOWER[:UPPER]]\n\n\
         Write the properties of revisions to stdout as a stream that\n\
         'svnadmin load-revprops' reads, and progress to stderr.  All revisions,\n\
         unless -r says which.\n",
    options: &[name::REVISION, name::QUIET, name::FILE],
    overrides: super::TO_FILE,
    run: Runner::Repository(run_revprops),
};

fn run_revprops(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    run_either(invocation, false)
}

fn run_either(invocation: &mut Invocation<'_>, changes: bool) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let repository = crate::repo::open_for_all(&invocation.repository, &invocation.options)?;
    let options = &invocation.options;
    let (start, end) = range(options, &repository)?;
    let mut file = options.value(name::FILE)?.map(|name| create(&name)).transpose()?;
    let filter = filter(options)?;
    let cancel = crate::signals::cancel_token();
    let quiet = options.has(name::QUIET);
    let request = DumpOptions {
        start: Some(start),
        end: Some(end),
        incremental: options.has(name::INCREMENTAL),
        deltas: options.has(name::DELTAS),
        changes,
        notices: !quiet,
        filter: filter.as_ref().map(|f| -> &(dyn PathAuthorizer + Sync) { f }),
        cancel: &cancel,
        threads: super::threads(),
    };
    let out: &mut dyn Write = match &mut file {
        Some(file) => file,
        None => &mut invocation.out,
    };
    let mut progress = Progress::new(start, end);
    let result = dump(&repository, &request, out, &mut |notice| match notice {
        Notice::Warning(kind, text) => {
            progress.clear();
            report::stderr(&format!("WARNING 0x{:04x}: {text}\n", kind.number()));
        }
        Notice::Revision(revision) => {
            progress.clear();
            report::stderr(&format!("* Dumped revision {revision}.\n"));
            progress.show(revision);
        }
    });
    progress.clear();
    result.map_err(SvnError::from)?;
    out.flush().map_err(|e| crate::output::stream_error(&e))
}

fn create(name: &str) -> SvnResult<File> {
    let path = crate::repo::canonical_path(name);
    let path = crate::repo::local_style(&path);
    File::create(path).map_err(|e| SvnError::io(&e, format!("Can't open file '{path}'")))
}
