//! `svnbench null-list`.

use std::collections::HashSet;

use sapwood_client::list::by_hand;
use sapwood_core::exact::Exact;
use sapwood_core::fold::fold;
use sapwood_core::paths::{FsPath, RelPath};
use sapwood_core::{Depth, ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_ra::{Dirent, DirentFields, ListRequest};

use super::{depth, located, one_revision, table, targets, timed};
use crate::command::{Invocation, Runner, Subcommand, name};
use crate::remote::target::LocatedSession;
use crate::report;

#[derive(Debug, Default)]
struct Counts {
    dirs: u64,
    files: u64,
    locks: u64,
}

impl Counts {
    fn take(&mut self, dirent: &Dirent, locked: bool) {
        match dirent.kind {
            Some(NodeKind::Dir) => self.dirs.tally(1),
            Some(NodeKind::File) => self.files.tally(1),
            None => {}
        }
        if locked {
            self.locks.tally(1);
        }
    }

    /// Counts the entries of one target, with `verbose` its locks too: the bytes that came.
    fn list(
        &mut self,
        located: &LocatedSession,
        request: &ListRequest<'_>,
        verbose: bool,
    ) -> SvnResult<u64> {
        let session = located.session.as_ref();
        let mut locked = HashSet::new();
        if verbose {
            match session.get_locks(RelPath::ROOT, request.depth) {
                Ok(locks) => locked.extend(locks.into_iter().map(|lock| lock.path)),
                Err(e) if e.is_not_implemented() => {}
                Err(e) => return Err(e),
            }
        }
        let mut take = |path: &FsPath, dirent: &Dirent| {
            self.take(dirent, !locked.is_empty() && locked.contains(path.as_str()));
            Ok(())
        };
        match session.list(request, &mut take) {
            Err(e) if e.is_unsupported() => {
                by_hand(session, request, located.revision, &mut take)?;
            }
            other => other?,
        }
        Ok(session.bytes_transferred())
    }
}

/// The requested fields: with `-v` those of a long listing.
fn fields(verbose: bool) -> DirentFields {
    if verbose {
        DirentFields { has_props: false, ..DirentFields::ALL }
    } else {
        DirentFields { kind: true, ..DirentFields::default() }
    }
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "null-list",
    aliases: &["ls"],
    help: "usage: svnbench null-list [TARGET[@REV]...]\n\n\
         Get the entries of directories, as 'svn list' does.  With -v also size, date,\n\
         author and locks.\n",
    options: &[
        name::REVISION,
        name::VERBOSE,
        name::QUIET,
        name::RECURSIVE,
        name::DEPTH,
        name::SEARCH,
    ],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let targets = targets(invocation, "null-list", true)?;
    let revision = one_revision(&invocation.options)?;
    let depth = depth(&invocation.options, Depth::Immediates)?;
    let verbose = invocation.options.has(name::VERBOSE);
    let quiet = invocation.options.has(name::QUIET);
    let patterns: Vec<String> =
        invocation.options.values(name::SEARCH)?.iter().map(|p| fold(p).to_string()).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    timed(invocation, |invocation, settings| {
        let (mut bytes, mut missing) = (0, false);
        let mut counts = Counts::default();
        for target in &targets {
            let found = located(settings, target, revision).and_then(|located| {
                let wanted = ListRequest {
                    path: RelPath::ROOT,
                    revision: Some(located.revision),
                    patterns: (!patterns.is_empty()).then_some(&patterns),
                    depth,
                    fields: fields(verbose),
                };
                counts.list(&located, &wanted, verbose)
            });
            match found {
                Ok(transferred) => bytes = transferred,
                Err(error) if error.is_no_target() => {
                    invocation.out.flush()?;
                    report::warning(&error, "svnbench: ");
                    missing = true;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if !quiet {
                let Counts { dirs, files, locks } = counts;
                table(invocation, &[(dirs, "directories"), (files, "files"), (locks, "locks")])?;
            }
        }
        if missing {
            return Err(SvnError::new(
                ErrorCode::ILLEGAL_TARGET,
                "Could not list all targets because some targets don't exist",
            ));
        }
        Ok(bytes)
    })
}
