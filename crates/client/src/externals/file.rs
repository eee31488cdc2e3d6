//! A file external: a switch of one node, which is marked.

use std::collections::HashMap;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_delta::ReportEntry;
use sapwood_delta::report::Report;
use sapwood_ra::{ReportKind, ReportRequest, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, NodeRow};
use sapwood_wc::externals::parse::External;
use sapwood_wc::update::{Params, UpdateEditor};

use super::target::{ExternalTarget, register};
use crate::context::Context;

/// Brings a file external: a switch of one node, which is marked.
pub(super) fn bring_file(
    ctx: &Context,
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
    session: &dyn Session,
    revision: Revnum,
) -> SvnResult<()> {
    let (url, root) = (session.url(), session.root_url());
    let inside = path_in_own_repository(wc, place, session)?;
    check_holder(ctx, wc, place)?;
    let existing = replaceable(wc, place, &url)?;
    let inherited = session.inherited_props(RelPath::ROOT, Some(revision))?;
    let (parent_url, name) = url
        .parent_and_name()
        .map(|(parent, name)| (parent.to_owned(), name))
        .ok_or_else(|| SvnError::new(ErrorCode::BAD_URL, format!("URL '{url}' has no name")))?;
    session.reparent(&parent_url)?;
    let notify = |value: &Notify<'_>| ctx.notify(value);
    let lock = wc.lock(versioned_above(wc, &place.relpath)?, -1)?;
    let mut editor = UpdateEditor::new(
        wc,
        Params {
            anchor: place.relpath.parent().to_owned(),
            target: RelPath::new(place.relpath.name())?.to_owned(),
            switch_to: Some(inside),
            depth: Depth::Unknown,
            depth_is_sticky: false,
            allow_obstructions: false,
            adds_as_modification: false,
            clean_checkout: false,
            inherited: HashMap::from([(place.relpath.clone(), inherited)]),
            children: HashMap::new(),
            notify: Some(&notify),
            cancel: ctx.cancel().clone(),
            diff3: ctx.merge_text.as_deref(),
        },
    )?;
    editor.for_file_external();
    let request = ReportRequest {
        revision: Some(revision),
        target: &name,
        depth: Depth::Unknown,
        kind: ReportKind::Switch { url: &url, send_copyfrom: false, ignore_ancestry: true },
    };
    let mut report = session.report(&request, &mut editor)?;
    report_file(existing.as_ref(), &root, report.as_mut())?;
    report.finish()?;
    let reached = editor.revision();
    drop(editor);
    session.reparent(&url)?;
    register(wc, place, item, Kind::File, (&root, &session.uuid()), &url)?;
    lock.release()?;
    ctx.notify_path(&wc.abspath(&place.relpath), Action::UpdateCompleted, reached);
    Ok(())
}

/// The path of a file external in the repository of the working copy; E200007 for one of another repository.
fn path_in_own_repository(
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    session: &dyn Session,
) -> SvnResult<RelPathBuf> {
    let url = session.url();
    let (own_id, _) = wc.repos_location(place.owner)?;
    let own = wc.db().repository(own_id)?;
    let inside = url.below(&session.root_url()).filter(|_| own.uuid == session.uuid());
    inside.ok_or_else(|| {
        let message = format!(
            "Unsupported external: URL of file external '{url}' is not in repository '{}'",
            own.root
        );
        SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message)
    })
}

/// E155022 when a file external would be in another working copy than the directory that defines it.
fn check_holder(ctx: &Context, wc: &WorkingCopy, place: &ExternalTarget<'_>) -> SvnResult<()> {
    let (holder, _) = ctx.working_copy(&wc.abspath(&place.relpath))?;
    let owner = wc.abspath(place.owner);
    if owner.starts_with(holder.root()) {
        return Ok(());
    }
    let message = format!(
        "Cannot insert a file external defined on '{}' into the working copy '{}'.",
        owner.display(),
        holder.root().display()
    );
    Err(SvnError::new(ErrorCode::WC_BAD_PATH, message))
}

/// The file external that is there already, if one is. Anything else in its place is an error.
fn replaceable(
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    url: &Url,
) -> SvnResult<Option<NodeRow>> {
    let at = wc.abspath(&place.relpath);
    let existing = wc.db().top(&place.relpath)?.filter(|row| row.presence.is_there());
    match &existing {
        Some(row) if !row.file_external => {
            let message = format!(
                "The file external from '{url}' cannot overwrite the existing versioned item at '{}'",
                at.display()
            );
            Err(SvnError::new(ErrorCode::CLIENT_FILE_EXTERNAL_OVERWRITE_VERSIONED, message))
        }
        None if at.symlink_metadata().is_ok() => {
            let message = format!(
                "The file external '{}' can not be created because the node exists.",
                at.display()
            );
            Err(SvnError::new(ErrorCode::WC_PATH_FOUND, message))
        }
        _ => Ok(existing),
    }
}

/// The closest versioned directory above a path: the folder of an external may be one that is not versioned, and then
/// what is above it is locked.
fn versioned_above<'p>(wc: &WorkingCopy, relpath: &'p RelPath) -> SvnResult<&'p RelPath> {
    let mut anchor = relpath.parent();
    while !anchor.is_empty() && !wc.db().top(anchor)?.is_some_and(|row| row.presence.is_there()) {
        anchor = anchor.parent();
    }
    Ok(anchor)
}

/// Reports the file external that is there, or that none is.
fn report_file(existing: Option<&NodeRow>, root: &Url, report: &mut dyn Report) -> SvnResult<()> {
    let Some(row) = existing else {
        report.entry(&ReportEntry::new(RelPath::ROOT, Revnum::ZERO, Depth::Infinity))?;
        return report.delete_path(RelPath::ROOT);
    };
    let from =
        root.join(RelPath::trusted(row.repos_path.as_deref().ok_or_else(|| {
            SvnError::internal("a node of the repository without its place there")
        })?));
    let at = row.revision.unwrap_or(Revnum::ZERO);
    let entry = ReportEntry::new(RelPath::ROOT, at, Depth::Infinity);
    report.entry(&entry)?;
    report.entry(&ReportEntry { link: Some(&from), ..entry })
}
