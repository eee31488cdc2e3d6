//! `svnrdump dump`.

use std::fs::File;
use std::io::{BufWriter, Write};

use sapwood_core::{Depth, PropList, Revnum, SvnError, SvnResult, uri};
use sapwood_ra::{ReplayReceiver, ReplayRequest, ReplayedEdit, ReportKind, ReportRequest, Session};
use sapwood_repos::dumpstream::header;
use sapwood_repos::{dump as records, prop_rules};

use super::editor::DumpEditor;
use super::{open, range};
use crate::command::{Invocation, Run, Subcommand, name};
use crate::output::{Output, stream_error};
use crate::report;

/// Where the stream goes, and what is told meanwhile.
struct Dumper<'o> {
    out: &'o mut dyn Write,
    quiet: bool,
}

impl Dumper<'_> {
    fn write(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.out.write_all(bytes).map_err(|e| stream_error(&e))
    }

    fn revision_record(&mut self, revision: Revnum, props: &PropList) -> SvnResult<()> {
        let mut record = Vec::new();
        records::write_revision(&mut record, revision, Some(props));
        self.write(&record)
    }

    fn tell(&mut self, revision: Revnum) -> SvnResult<()> {
        if !self.quiet {
            // Nothing is told of a revision before its records are written.
            self.out.flush().map_err(|e| stream_error(&e))?;
            report::stderr(&format!("* Dumped revision {revision}.\n"));
        }
        crate::signals::check()
    }
}

impl ReplayReceiver for Dumper<'_> {
    fn revision(
        &mut self,
        revision: Revnum,
        props: &PropList,
        edit: &mut dyn ReplayedEdit,
    ) -> SvnResult<()> {
        let proper = props
            .iter()
            .map(|(name, value)| (name.to_owned(), prop_rules::normalize(name, value.to_vec())));
        self.revision_record(revision, &proper.collect())?;
        edit.drive(&mut DumpEditor::new(self.out, None))?;
        self.tell(revision)
    }
}

/// Writes a revision as if everything in it were new.
fn whole(dumper: &mut Dumper<'_>, session: &dyn Session, revision: Revnum) -> SvnResult<()> {
    dumper.revision_record(revision, &session.rev_proplist(revision)?)?;
    let anchor = uri::skip_ancestor(&session.root_url(), &session.url()).unwrap_or_default();
    let mut editor = DumpEditor::new(dumper.out, Some(anchor));
    let request = ReportRequest {
        revision: Some(revision),
        target: "",
        depth: Depth::Infinity,
        kind: ReportKind::Update { send_copyfrom: false, ignore_ancestry: false },
    };
    let mut update = session.report(&request, &mut editor)?;
    update.set_path("", revision, Depth::Infinity, true, None)?;
    update.finish()?;
    dumper.tell(revision)
}

fn dump(
    dumper: &mut Dumper<'_>,
    session: &dyn Session,
    (mut start, end): (Revnum, Revnum),
    mut incremental: bool,
) -> SvnResult<()> {
    let magic = header::MAGIC;
    dumper.write(format!("{magic}: 3\n\n{}: {}\n\n", header::UUID, session.uuid()).as_bytes())?;
    if start == Revnum::ZERO {
        dumper.revision_record(start, &session.rev_proplist(start)?)?;
        dumper.tell(start)?;
        start = start.next();
        incremental = true;
    }
    if !incremental {
        whole(dumper, session, start)?;
        start = start.next();
    }
    if start <= end {
        let request = ReplayRequest { low_water_mark: Revnum::ZERO, send_deltas: true };
        session.replay_range(start, end, &request, dumper)?;
    }
    Ok(())
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "dump",
    aliases: &[],
    help: "usage: svnrdump dump URL [-r LOWER[:UPPER]]\n\n\
         Write revisions LOWER to UPPER (all; or only LOWER) of the repository at URL to\n\
         stdout as a dump stream with deltas.  The first revision is written whole,\n\
         unless --incremental says that only what is new in it is wanted.  Of a URL\n\
         below the repository's root only what is there is written.\n",
    options: &[name::REVISION, name::QUIET, name::INCREMENTAL, name::FILE],
    overrides: &[(name::FILE, "write to file ARG instead of stdout")],
    run: Run::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let (session, _) = open(invocation, true)?;
    let session = session.as_ref();
    let range = range(&invocation.options, session.latest_revnum()?)?;
    let quiet = invocation.options.has(name::QUIET);
    let incremental = invocation.options.has(name::INCREMENTAL);
    if let Some(path) = invocation.options.value(name::FILE)? {
        // As with the reference, which does not write over a file.
        let file = File::create_new(&path)
            .map_err(|e| SvnError::io(&e, format_args!("Can't open file '{path}'")))?;
        let mut out = BufWriter::with_capacity(64 << 10, file);
        dump(&mut Dumper { out: &mut out, quiet }, session, range, incremental)?;
        return out.flush().map_err(|e| stream_error(&e));
    }
    let out: &mut Output = &mut invocation.out;
    dump(&mut Dumper { out, quiet }, session, range, incremental)?;
    out.end_stream()
}
