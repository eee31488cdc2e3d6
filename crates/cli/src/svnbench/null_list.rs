//! `svnbench null-list`.

use std::collections::HashSet;

use sapwood_core::fold::fold;
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult, glob, path};
use sapwood_ra::{Dirent, DirentFields, ListRequest, Session};

use super::{depth, one_revision, table, targets, timed};
use crate::command::Invocation;
use crate::remote::target::locate;
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
            Some(NodeKind::Dir) => self.dirs = self.dirs.saturating_add(1),
            Some(NodeKind::File) => self.files = self.files.saturating_add(1),
            None => {}
        }
        if locked {
            self.locks = self.locks.saturating_add(1);
        }
    }
}

/// What to ask for: with `-v` what a long listing shows.
fn fields(verbose: bool) -> DirentFields {
    if verbose {
        DirentFields { has_props: false, ..DirentFields::ALL }
    } else {
        DirentFields { kind: true, ..DirentFields::default() }
    }
}

/// Lists for servers that do not know how: directory by directory.
fn list_by_hand(
    session: &dyn Session,
    request: &ListRequest<'_>,
    revision: Revnum,
    receiver: &mut dyn FnMut(&str, &Dirent) -> SvnResult<()>,
) -> SvnResult<()> {
    let Some(top) = session.stat(request.path, Some(revision))? else {
        return Err(SvnError::new(
            ErrorCode::FS_NOT_FOUND,
            format!("URL '{}' non-existent in revision {revision}", session.url()),
        ));
    };
    let root = session.root_url();
    let base = sapwood_core::uri::skip_ancestor(&root, &session.url()).unwrap_or_default();
    let matches = |name: &str| {
        let name = fold(name);
        request.patterns.is_none_or(|patterns| glob::matches_any(patterns, name.as_bytes()))
    };
    let base = path::canonical_fspath(&base).into_owned();
    if matches(path::basename(&base)) {
        receiver(&base, &top)?;
    }
    if top.kind != Some(NodeKind::Dir) || request.depth == Depth::Empty {
        return Ok(());
    }
    let mut open = vec![String::new()];
    while let Some(dir) = open.pop() {
        let found = session.get_dir(&dir, Some(revision), Some(request.fields), false)?;
        for (name, dirent) in found.entries {
            let is_dir = dirent.kind == Some(NodeKind::Dir);
            let relpath = path::join(&dir, &name);
            if (!is_dir || request.depth != Depth::Files) && matches(&name) {
                receiver(&path::join(&base, &relpath), &dirent)?;
            }
            if is_dir && request.depth == Depth::Infinity {
                open.push(relpath);
            }
        }
    }
    Ok(())
}

/// `svnbench null-list`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let targets = targets(invocation, true)?;
    let revision = one_revision(&invocation.options)?;
    let depth = depth(&invocation.options, Depth::Immediates)?;
    let verbose = invocation.options.has("verbose");
    let quiet = invocation.options.has("quiet");
    let patterns: Vec<String> =
        invocation.options.values("search")?.iter().map(|p| fold(p).to_string()).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    timed(invocation, |invocation, settings| {
        let (mut bytes, mut missing) = (0, false);
        let mut counts = Counts::default();
        for target in &targets {
            let mut one = || {
                let located = locate(settings, target, revision)?;
                let session = located.session.as_ref();
                let mut locked = HashSet::new();
                if verbose {
                    match session.get_locks("", depth) {
                        Ok(locks) => locked.extend(locks.into_iter().map(|lock| lock.path)),
                        Err(e) if e.code() == ErrorCode::RA_NOT_IMPLEMENTED => {}
                        Err(e) => return Err(e),
                    }
                }
                let request = ListRequest {
                    path: "",
                    revision: Some(located.revision),
                    patterns: (!patterns.is_empty()).then_some(&patterns),
                    depth,
                    fields: fields(verbose),
                };
                let mut take = |path: &str, dirent: &Dirent| {
                    counts.take(dirent, !locked.is_empty() && locked.contains(path));
                    Ok(())
                };
                match session.list(&request, &mut take) {
                    Err(e) if e.code() == ErrorCode::UNSUPPORTED_FEATURE => {
                        list_by_hand(session, &request, located.revision, &mut take)?;
                    }
                    other => other?,
                }
                Ok(session.bytes_transferred())
            };
            match one() {
                Ok(transferred) => bytes = transferred,
                Err(error)
                    if [ErrorCode::WC_PATH_NOT_FOUND, ErrorCode::FS_NOT_FOUND]
                        .contains(&error.code()) =>
                {
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
