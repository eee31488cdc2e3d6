//! The update report: trees for checkout, update, switch, status and diff.

use std::io::Read;

use sapwood_core::exact::Exact;
use sapwood_core::path::join;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, Revnum, SvnError};
use sapwood_delta::Version;
use sapwood_repos::{ReportWalk, Reporter};
use sapwood_wire_dav::Resource;
use sapwood_wire_dav::report::update::{Item, ReportReader, Style, UpdateEditor, UpdateRequest};
use sapwood_wire_dav::resource::SPECIAL;
use sapwood_wire_dav::xml::Document;

use super::super::exchange::Exchange;
use super::super::fail::{DavResult, Fail};
use super::super::session::Session;
use super::super::settings::BulkUpdates;
use crate::common::access::{Action, Decision};
use crate::common::operation_log::Operation;

/// What the log line has besides the target.
#[derive(Default)]
struct Summary {
    entries: u64,
    /// The last reported entry starts empty.
    any_empty: bool,
    /// The revision of the report's root.
    from: Option<Revnum>,
}

/// The request, with its paths and revision resolved.
struct Plan {
    wanted: UpdateRequest,
    revision: Revnum,
    source: FsPathBuf,
    destination: Option<FsPathBuf>,
}

/// A report that was read to its end.
pub(super) struct ParsedReport<'a> {
    plan: Plan,
    reporter: Reporter<'a>,
}

/// Reads the report whose body begins with the root of `document`.
pub(super) fn read<'a, R: Read>(
    session: &'a Session<'_>,
    mut document: Document<R>,
) -> DavResult<ParsedReport<'a>> {
    if !matches!(session.resource, Resource::Me | Resource::Vcc) {
        return Err(Fail::status(
            409,
            "This report can only be run against a VCC or root-stub URI",
        ));
    }
    let mut reading = ReportReader::new(document.root());
    let mut first = None;
    while let Some(child) = document.next_child()? {
        if let Some(item) = reading.child(&child)? {
            first = Some(item);
            break;
        }
    }
    let plan = plan(session, reading.wanted()?)?;
    let wanted = &plan.wanted;
    // Unreadable nodes are reported as absent. A client that has not authenticated may still do so.
    let target = FsPathBuf::canonicalized(join(&plan.source, &wanted.target));
    if session.decide(Action::Read, Some(&target)) == Decision::AskWho {
        return Err(Fail::AskWho);
    }
    let request = ReportWalk {
        revision: plan.revision,
        anchor: &plan.source,
        target: &wanted.target,
        switch_to: plan.destination.as_deref(),
        text_deltas: wanted.text_deltas,
        depth: wanted.depth,
        ignore_ancestry: wanted.ignore_ancestry,
        send_copyfrom_args: wanted.copyfrom,
    };
    let mut reporter = Reporter::new(
        &session.repository,
        &request,
        &session.access,
        &session.shared.server.cancel,
    )?;
    let mut summary = Summary::default();
    let mut known = plan.revision;
    let mut next = first;
    loop {
        if let Some(item) = next.take() {
            take(session, item, (&mut reporter, &mut summary), &mut known)?;
        }
        match document.next_child()? {
            Some(child) => next = reading.child(&child)?,
            None => break,
        }
    }
    log(session, &plan, &summary);
    Ok(ParsedReport { plan, reporter })
}

/// Drives the edit that turns the client's tree into the requested one.
pub(super) fn answer(
    session: &Session<'_>,
    asked: ParsedReport<'_>,
    exchange: &mut Exchange,
) -> DavResult {
    let ParsedReport { plan, reporter } = asked;
    let wanted = &plan.wanted;
    let style = Style {
        send_all: wanted.send_all,
        include_props: wanted.include_props,
        svndiff: session.svndiff().unwrap_or(Version::V0),
        compression: session.shared.server.settings.compression,
        v2: matches!(session.resource, Resource::Me),
        root: session.root.clone(),
        special: SPECIAL.to_owned(),
    };
    exchange.xml();
    Ok(reporter.finish(&mut UpdateEditor::new(exchange, style))?)
}

/// Resolves the paths and the revision of a request.
fn plan(session: &Session<'_>, mut wanted: UpdateRequest) -> DavResult<Plan> {
    if session.shared.settings.bulk_updates == BulkUpdates::Off {
        wanted.include_props &= !wanted.send_all;
        wanted.send_all = false;
        wanted.text_deltas = false;
    }
    let place = |address: &str| match session.resource_at(address)? {
        Resource::Public(path)
        | Resource::RevisionRoot(_, path)
        | Resource::BaselineCollection(_, path)
        | Resource::Version(_, path) => Ok(path),
        _ => Err(Fail::status(400, "Unsupported URI form")),
    };
    let revision = match wanted.revision {
        Some(revision) => {
            check_revision(session, revision, "target revision")?;
            revision
        }
        None => session.youngest()?,
    };
    let source = place(&wanted.source)?;
    let destination = wanted.destination.as_deref().map(place).transpose()?;
    Ok(Plan { wanted, revision, source, destination })
}

/// Whether a revision is there. A store is not asked for the youngest one where this one is known: the client has asked a moment before.
fn check_revision(session: &Session<'_>, revision: Revnum, what: &str) -> DavResult {
    let Err(error) = session.repository.fs().revision_root(revision) else { return Ok(()) };
    if revision <= session.youngest()? {
        return Err(SvnError::from(error).into());
    }
    let message = format!("No such {what} '{revision}' found in the repository.");
    Err(SvnError::new(ErrorCode::FS_NO_SUCH_REVISION, message).into())
}

/// Passes one entry of the client's report to the reporter. Revisions up to `known` are there.
fn take(
    session: &Session<'_>,
    item: Item,
    (reporter, summary): (&mut Reporter<'_>, &mut Summary),
    known: &mut Revnum,
) -> DavResult {
    let Item::Entry { path, link, revision, depth, start_empty, lock_token } = item else {
        let Item::Missing(path) = item else { return Ok(()) };
        return Ok(reporter.delete_path(&path)?);
    };
    summary.entries.tally(1);
    summary.any_empty |= start_empty;
    if revision > *known {
        check_revision(session, revision, "reported revision")?;
        *known = revision;
    }
    if path.is_empty() {
        summary.from = Some(revision);
    }
    let token = lock_token.as_deref();
    let Some(link) = link else {
        return Ok(reporter.set_path(&path, Some(revision), depth, start_empty, token)?);
    };
    let link = FsPathBuf::canonicalize(&link);
    Ok(reporter.link_path(&path, &link, revision, depth, start_empty, token)?)
}

/// Writes the line of the log; the command has to be guessed.
fn log(session: &Session<'_>, plan: &Plan, summary: &Summary) {
    let Plan { wanted, revision, source, destination } = plan;
    let path = &*FsPathBuf::canonicalized(join(source, &wanted.target));
    let (depth, revision) = (wanted.depth, *revision);
    let operation = match destination.as_deref() {
        Some(to) if wanted.send_all => Operation::Switch { path, to, revision, depth },
        Some(versus) => Operation::Diff {
            path,
            from: summary.from,
            versus,
            revision,
            depth,
            ignore_ancestry: wanted.ignore_ancestry,
        },
        None if summary.entries == 1 && summary.any_empty => {
            Operation::CheckoutOrExport { path, revision, depth }
        }
        None if wanted.text_deltas => {
            Operation::Update { path, revision, depth, copyfrom: wanted.copyfrom }
        }
        None => Operation::Status { path, revision, depth },
    };
    session.log_command(&operation);
}
