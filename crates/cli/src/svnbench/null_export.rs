//! `svnbench null-export`.

use std::io::{self, Write};

use sapwood_core::exact::Exact;
use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_delta::{EditStep, Handle, ReportEntry, StepEditor};
use sapwood_ra::{ReportKind, ReportRequest, Settings};

use super::{depth, located, one_revision, table, targets, timed};
use crate::command::{Invocation, Runner, Subcommand, name, usage_error};
use crate::remote::target::Target;
use crate::revision::RevisionSpec;

/// An export that only counts.
#[derive(Debug, Default)]
struct Counter {
    quiet: bool,
    dirs: u64,
    files: u64,
    bytes: u64,
    props: u64,
    prop_bytes: u64,
}

fn add(total: &mut u64, count: usize) {
    total.tally(sapwood_core::exact::len64(count));
}

impl StepEditor for Counter {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::Add { kind: NodeKind::Dir, .. } => add(&mut self.dirs, 1),
            EditStep::Add { kind: NodeKind::File, .. } => add(&mut self.files, 1),
            EditStep::Prop { kind, value, .. } => {
                add(&mut self.props, 1);
                if kind == NodeKind::File {
                    add(&mut self.prop_bytes, value.map_or(0, <[u8]>::len));
                }
            }
            EditStep::Text { delta, .. } if !self.quiet => {
                while let Some(window) = delta.next_window()? {
                    add(&mut self.bytes, window.target_len);
                }
            }
            _ => {}
        }
        Ok(Handle::NONE)
    }
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        add(&mut self.bytes, bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "null-export",
    aliases: &[],
    help: "usage: svnbench null-export [-r REV] URL[@PEGREV]\n\n\
         Get a tree, as 'svn export' and 'svn checkout' do.\n",
    options: &[name::REVISION, name::QUIET, name::NON_RECURSIVE, name::DEPTH],
    overrides: &[],
    run: Runner::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let targets = targets(invocation, "null-export", false)?;
    let [target, ..] = targets.as_slice() else {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    };
    if targets.len() > 2 {
        return Err(usage_error(""));
    }
    let revision = one_revision(&invocation.options)?;
    let depth = depth(&invocation.options, Depth::Infinity)?;
    let quiet = invocation.options.has(name::QUIET);
    timed(invocation, |invocation, settings| {
        let mut counter = Counter { quiet, ..Counter::default() };
        let result = export(settings, target, revision, depth, &mut counter);
        if !quiet {
            table(
                invocation,
                &[
                    (counter.dirs, "directories"),
                    (counter.files, "files"),
                    (counter.bytes, "bytes in files"),
                    (counter.props, "properties"),
                    (counter.prop_bytes, "bytes in properties"),
                ],
            )?;
        }
        result
    })
}

fn export(
    settings: &Settings,
    target: &Target,
    revision: RevisionSpec,
    depth: Depth,
    counter: &mut Counter,
) -> SvnResult<u64> {
    // Work without a server is not measured.
    let default = if target.is_url() { RevisionSpec::Head } else { RevisionSpec::Working };
    if !target.is_url() && revision.or(target.peg).or(default).needs_working_copy() {
        return Ok(0);
    }
    let located = located(settings, target, revision)?;
    let session = located.session.as_ref();
    let revision = Some(located.revision);
    match session.check_path(RelPath::ROOT, revision)? {
        Some(NodeKind::File) => {
            add(&mut counter.files, 1);
            session.get_file(RelPath::ROOT, revision, Some(counter), true)?;
        }
        Some(NodeKind::Dir) => {
            let kind = ReportKind::Update { send_copyfrom: false, ignore_ancestry: false };
            let request = ReportRequest { revision, target: "", depth, kind };
            let mut report = session.report(&request, counter)?;
            report.entry(
                &ReportEntry::new(RelPath::ROOT, located.revision, Depth::Infinity)
                    .starting_empty(),
            )?;
            report.finish()?;
            // The target itself is not reported as an addition.
            add(&mut counter.dirs, 1);
        }
        None => {
            return Err(SvnError::new(
                ErrorCode::RA_ILLEGAL_URL,
                format!("URL '{}' doesn't exist", target.text),
            ));
        }
    }
    Ok(session.bytes_transferred())
}
