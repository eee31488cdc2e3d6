//! A repository as a dump stream with deltas, out of replays.

use std::io::{self, Write};

use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, Depth, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::ReportEntry;
use sapwood_ra::{ReplayReceiver, ReplayRequest, ReplayedEdit, ReportKind, ReportRequest, Session};
use sapwood_repos::dumpstream::header;
use sapwood_repos::{dump as records, prop_rules};

use super::editor::DumpEditor;
use crate::context::check_cancel;

/// Where a stream goes. Write errors that must be reported unchanged have an [`SvnError`] inside.
pub trait DumpSink: Write {
    /// A revision is written.
    ///
    /// # Errors
    /// When the report fails.
    fn dumped(&mut self, revision: Revnum) -> SvnResult<()>;
}

/// A sink as a stream only.
struct Plain<'o>(&'o mut dyn DumpSink);

impl Write for Plain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

struct Dumper<'o> {
    out: &'o mut dyn DumpSink,
    cancel: &'o CancelToken,
}

impl Dumper<'_> {
    fn write(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.out.write_all(bytes).map_err(SvnError::from_stream)
    }

    fn revision_record(&mut self, revision: Revnum, props: &PropList) -> SvnResult<()> {
        let mut record = Vec::new();
        records::write_revision(&mut record, revision, Some(props));
        self.write(&record)
    }

    fn notify(&mut self, revision: Revnum) -> SvnResult<()> {
        self.out.dumped(revision)?;
        check_cancel(self.cancel)
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
        edit.drive(&mut DumpEditor::new(&mut Plain(self.out), None))?;
        self.notify(revision)
    }
}

/// Writes a revision as if everything in it were new.
fn whole(dumper: &mut Dumper<'_>, session: &dyn Session, revision: Revnum) -> SvnResult<()> {
    dumper.revision_record(revision, &session.rev_proplist(revision)?)?;
    let anchor = session.url().relpath(&session.root_url())?;
    let mut plain = Plain(&mut *dumper.out);
    let mut editor = DumpEditor::new(&mut plain, Some(anchor.into_string()));
    let request = ReportRequest {
        revision: Some(revision),
        target: "",
        depth: Depth::Infinity,
        kind: ReportKind::Update { send_copyfrom: false, ignore_ancestry: false },
    };
    let mut update = session.report(&request, &mut editor)?;
    update.entry(&ReportEntry::new(RelPath::ROOT, revision, Depth::Infinity).starting_empty())?;
    update.finish()?;
    dumper.notify(revision)
}

/// Writes revisions of what is at a session's URL; the first one whole, unless the dump is incremental.
///
/// # Errors
/// Those of the session and of the sink.
pub fn dump(
    session: &dyn Session,
    (mut start, end): (Revnum, Revnum),
    mut incremental: bool,
    cancel: &CancelToken,
    out: &mut dyn DumpSink,
) -> SvnResult<()> {
    let dumper = &mut Dumper { out, cancel };
    let magic = header::MAGIC;
    dumper.write(format!("{magic}: 3\n\n{}: {}\n\n", header::UUID, session.uuid()).as_bytes())?;
    if start == Revnum::ZERO {
        dumper.revision_record(start, &session.rev_proplist(start)?)?;
        dumper.notify(start)?;
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
