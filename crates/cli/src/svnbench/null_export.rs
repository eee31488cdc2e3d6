//! `svnbench null-export`.

use std::io::{self, Write};

use sapwood_core::exact::Exact;
use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, ErrorCode, Md5, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta};
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

const NODE: Handle = Handle(0);

impl Editor for Counter {
    sapwood_delta::ignore_absent!();
    sapwood_delta::nothing_to_abort!();

    fn open_root(&mut self, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(NODE)
    }

    fn delete_entry(&mut self, _: &RelPath, _: Option<Revnum>, _: Handle) -> SvnResult<()> {
        Ok(())
    }

    fn add_directory(
        &mut self,
        _: &RelPath,
        _: Handle,
        _: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        add(&mut self.dirs, 1);
        Ok(NODE)
    }

    fn open_directory(&mut self, _: &RelPath, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(NODE)
    }

    fn change_dir_prop(&mut self, _: Handle, _: &str, _: Option<&[u8]>) -> SvnResult<()> {
        add(&mut self.props, 1);
        Ok(())
    }

    fn close_directory(&mut self, _: Handle) -> SvnResult<()> {
        Ok(())
    }

    fn add_file(&mut self, _: &RelPath, _: Handle, _: Option<(&str, Revnum)>) -> SvnResult<Handle> {
        add(&mut self.files, 1);
        Ok(NODE)
    }

    fn open_file(&mut self, _: &RelPath, _: Handle, _: Option<Revnum>) -> SvnResult<Handle> {
        Ok(NODE)
    }

    fn apply_textdelta(
        &mut self,
        _: Handle,
        _: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        if self.quiet {
            return Ok(());
        }
        while let Some(window) = delta.next_window()? {
            add(&mut self.bytes, window.target_len);
        }
        Ok(())
    }

    fn change_file_prop(&mut self, _: Handle, _: &str, value: Option<&[u8]>) -> SvnResult<()> {
        add(&mut self.props, 1);
        add(&mut self.prop_bytes, value.map_or(0, <[u8]>::len));
        Ok(())
    }

    fn close_file(&mut self, _: Handle, _: Option<Md5>) -> SvnResult<()> {
        Ok(())
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        Ok(())
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
            report.set_path(RelPath::ROOT, located.revision, Depth::Infinity, true, None)?;
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
