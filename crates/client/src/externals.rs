//! Externals: bringing what `svn:externals` asks for into working copies, and removing what it no
//! longer asks for.
//!
//! A directory external is a working copy of its own below the one that defines it; a file external
//! is a node of the defining working copy with a mark. Both have rows in EXTERNALS. A failing external
//! is reported and does not stop the others.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::date::Timestamp;
use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult, path};
use sapwood_delta::ReportEntry;
use sapwood_delta::report::Report;
use sapwood_ra::{ReportKind, ReportRequest, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{ExternalRow, Kind, NodeRow, Presence};
use sapwood_wc::externals::parse::{External, Revision as Spec, parse};
use sapwood_wc::update::{Params, UpdateEditor};

use crate::checkout::{Checkout, Form, checkout_dir};
use crate::context::Context;
use crate::open::move_to_target;
use crate::relocate::relocate;
use crate::revision::Revision;
use crate::switch::{Existence, Switch, switch_at};
use crate::target::Target;
use crate::target::name_of;
use crate::update::{SharedSessionSlot, Update, ensure_session, notify_path, update_one};

/// Brings the externals that are defined at and below a target to what the properties say.
pub(crate) fn handle(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    root: &Url,
    session: &mut SharedSessionSlot,
) -> SvnResult<()> {
    let mut old: BTreeMap<RelPathBuf, ExternalRow> = BTreeMap::new();
    for row in wc.db().externals(RelPath::ROOT)? {
        if path::is_ancestor(relpath, &row.def_relpath) {
            old.insert(row.relpath.clone(), row);
        }
    }
    let shallow = depth != Depth::Infinity && depth != Depth::Unknown;
    for (owner, ambient, value) in wc.externals_definitions(relpath, depth)? {
        ctx.check_cancel()?;
        if shallow || (ambient < Depth::Infinity && depth < Depth::Infinity) {
            continue;
        }
        let shown = wc.abspath(&owner);
        let items = items(&value, &shown)?;
        for item in items {
            let place = ExternalTarget {
                root,
                owner: &owner,
                owner_url: &wc.url(&owner)?,
                relpath: owner.join(RelPath::new(&item.target)?),
            };
            let known = old.remove(&place.relpath).is_some();
            let done = bring(ctx, wc, &place, &item, known, session);
            wrap(ctx, &wc.abspath(&place.relpath), done)?;
        }
    }
    for row in old.into_values() {
        let at = wc.abspath(&row.relpath);
        let done = remove(ctx, wc, &row);
        wrap(ctx, &at, done)?;
        // Directories that were made for it go, if nothing else is in them.
        let mut parent = row.relpath.parent().to_owned();
        while !parent.is_empty() && parent != row.def_relpath && wc.db().top(&parent)?.is_none() {
            if fs::remove_dir(wc.abspath(&parent)).is_err() {
                break;
            }
            parent = parent.parent().to_owned();
        }
    }
    Ok(())
}

/// The externals of a value.
pub(crate) fn items(value: &str, owner: &Path) -> SvnResult<Vec<External>> {
    parse(value, &owner.to_string_lossy(), &date)
}

/// Peg and operative revision of an external.
pub(crate) const fn revisions(item: &External) -> (Revision, Revision) {
    (revision_of(item.peg), revision_of(item.revision))
}

/// Where an external goes.
struct ExternalTarget<'a> {
    root: &'a Url,
    owner: &'a RelPath,
    owner_url: &'a Url,
    relpath: RelPathBuf,
}

/// What stands between the braces of a date.
fn date(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text.as_bytes()).ok()
}

const fn revision_of(spec: Spec) -> Revision {
    match spec {
        Spec::Head => Revision::Head,
        Spec::Number(number) => Revision::Number(number),
        Spec::Date(at) => Revision::Date(at.0),
        Spec::WorkingCopy => Revision::Base,
    }
}

pub(crate) const fn number_of(spec: Spec) -> Option<Revnum> {
    match spec {
        Spec::Number(number) => Some(number),
        _ => None,
    }
}

/// Reports a failure and returns success.
pub(crate) fn wrap(ctx: &Context, at: &Path, done: SvnResult<()>) -> SvnResult<()> {
    match done {
        Err(error) if !error.is_cancelled() => {
            let shown = at.to_string_lossy();
            let value =
                Notify { error: Some(&error), ..Notify::new(Action::FailedExternal, &shown) };
            ctx.notify(&value);
            Ok(())
        }
        other => other,
    }
}

/// Refuses locations that a property must not lead to: administrative files, and whatever lies behind a link.
/// The last name of a known external may be a link, which the external itself created.
pub(crate) fn check_place(owner: &Path, target: &str, known: bool) -> SvnResult<()> {
    let mut at = owner.to_owned();
    let mut names = path::components(target).peekable();
    while let Some(name) = names.next() {
        at.push(name);
        let may_be_link = known && names.peek().is_none();
        if name == sapwood_wc::layout::ADM || (!may_be_link && at.is_symlink()) {
            let message = format!("Path '{}' is no place for an external", at.display());
            return Err(SvnError::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message));
        }
    }
    Ok(())
}

/// Moves a session, which is at the URL of an external, to what the external names: the revision, and what is there.
fn find(
    session: &dyn Session,
    url: String,
    item: &External,
) -> SvnResult<(Revnum, Option<NodeKind>)> {
    if (item.peg, item.revision) == (Spec::Head, Spec::Head) {
        return session.kind_at_head(RelPath::ROOT);
    }
    let target = Target { text: url, peg: revision_of(item.peg) };
    let (revision, _) = move_to_target(session, &target, revision_of(item.revision))?;
    Ok((revision, session.check_path(RelPath::ROOT, Some(revision))?))
}

/// Brings one external.
fn bring(
    ctx: &Context,
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
    known: bool,
    session: &mut SharedSessionSlot,
) -> SvnResult<()> {
    check_place(&wc.abspath(place.owner), &item.target, known)?;
    let url = item.resolve(place.root, place.owner_url)?;
    let open = ensure_session(ctx, session, &url)?;
    let (revision, kind) = find(open, url.into_string(), item)?;
    let at = wc.abspath(&place.relpath);
    let url = open.url();
    let Some(kind) = kind else {
        let message = format!("URL '{url}' at revision {revision} doesn't exist");
        return Err(SvnError::new(ErrorCode::RA_ILLEGAL_URL, message));
    };
    notify_path(ctx, &at, Action::UpdateExternal, None);
    if !known && let Some(parent) = at.parent() {
        fs::create_dir_all(parent).map_err(|e| {
            SvnError::io(&e, format!("Can't create directory '{}'", parent.display()))
        })?;
    }
    match kind {
        NodeKind::Dir => {
            let found = FoundDir { root: open.root_url(), uuid: open.uuid(), url, revision };
            bring_dir(ctx, wc, place, item, &found, session)?;
            register(wc, place, item, Kind::Dir, (&found.root, &found.uuid), &found.url)
        }
        NodeKind::File => bring_file(ctx, wc, place, item, open, revision),
    }
}

/// The directory that an external names.
struct FoundDir {
    url: UrlBuf,
    revision: Revnum,
    /// Its repository.
    root: UrlBuf,
    uuid: String,
}

fn register(
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
    kind: Kind,
    (root, uuid): (&Url, &str),
    url: &Url,
) -> SvnResult<()> {
    let inside = url.relpath(root)?;
    wc.db().write(|db| {
        let repos_id = db.repository_id(root, uuid)?;
        db.put_external(&ExternalRow {
            relpath: place.relpath.clone(),
            repos_id,
            presence: Presence::Normal,
            kind,
            def_relpath: place.owner.to_owned(),
            def_repos_relpath: inside,
            def_peg: number_of(item.peg),
            def_revision: number_of(item.revision),
        })
    })?;
    Ok(())
}

/// E155035 when a versioned node is where a directory external is to be.
fn check_unversioned(
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
) -> SvnResult<()> {
    let at = wc.abspath(&place.relpath);
    let top = wc.db().top(&place.relpath)?;
    let is_versioned =
        top.is_some_and(|row| row.presence.is_there() || row.presence == Presence::BaseDeleted);
    if !is_versioned {
        return Ok(());
    }
    // An external that was replaced by a node added here is no longer an external.
    if wc.db().base(&place.relpath)?.is_none() && at.is_dir() {
        wc.db().remove_external(&place.relpath)?;
    }
    let (owner, shown) = (wc.abspath(place.owner), at.display());
    let message = format!(
        "The external '{}' defined in {} at '{}' cannot be checked out because '{shown}' is \
         already a versioned path.",
        item.url,
        names::EXTERNALS,
        owner.display()
    );
    Err(SvnError::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, message))
}

fn bring_dir(
    ctx: &Context,
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
    found: &FoundDir,
    session: &mut SharedSessionSlot,
) -> SvnResult<()> {
    let at = wc.abspath(&place.relpath);
    let (url, revision) = (&found.url, found.revision);
    check_unversioned(wc, place, item)?;
    let fixed = Revision::Number(revision);
    let endless = ctx.nesting.check(url, fixed);
    let _inside = ctx.nesting.enter(url, fixed);
    if let Some(inner) = inner_root(ctx, &at) {
        let own = inner.url(RelPath::ROOT)?;
        if own == *url {
            let how = Update {
                revision: Revision::Number(revision),
                allow_obstructions: false,
                adds_as_modification: true,
                ..Update::default()
            };
            return update_one(ctx, &at, &how, false, session).map(drop);
        }
        let (id, _) = inner.repos_location(RelPath::ROOT)?;
        let inner_repos = inner.db().repository(id)?.root;
        let same = url.below(&inner_repos).is_some();
        // These open sessions of their own.
        drop(session.take());
        if same || has_moved(ctx, &at, &inner_repos, &found.root)? {
            let to = Target { text: url.to_string(), peg: Revision::Number(revision) };
            let how = Switch {
                revision: Revision::Number(revision),
                depth: Depth::Infinity,
                depth_is_sticky: true,
                ignore_externals: false,
                allow_obstructions: false,
                ignore_ancestry: true,
            };
            return switch_at(ctx, &at, &to, &how, Existence::Known).map(drop);
        }
        relegate(ctx, &inner)?;
    } else if at.is_dir() {
        return Err(sapwood_wc::Error::NotWorkingCopy(at).into());
    }
    endless?;
    // What keeps no text bases has externals that keep none.
    let settings = wc.db().settings();
    let how = Checkout {
        revision: Revision::Number(revision),
        depth: Depth::Infinity,
        ignore_externals: false,
        allow_obstructions: false,
        form: Form { format: Some(settings.format), store_pristine: Some(settings.store_pristine) },
    };
    ensure_session(ctx, session, url)?;
    checkout_dir(ctx, revision, &at, &how, session).map(drop)
}

/// Whether an external's working copy is of the same repository at another URL: it is relocated to the
/// new one.
fn has_moved(ctx: &Context, at: &Path, from: &str, to: &str) -> SvnResult<bool> {
    match relocate(ctx, &at.to_string_lossy(), from, to, false) {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(
                error.code(),
                ErrorCode::WC_INVALID_RELOCATION | ErrorCode::CLIENT_INVALID_RELOCATION
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The working copy whose root is a path.
fn inner_root(ctx: &Context, at: &Path) -> Option<WorkingCopy> {
    let (inner, below) = ctx.working_copy(at).ok()?;
    below.is_empty().then_some(inner)
}

/// Brings a file external: a switch of one node, which is marked.
fn bring_file(
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
    notify_path(ctx, &wc.abspath(&place.relpath), Action::UpdateCompleted, reached);
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

/// Removes an external that is no longer wanted.
fn remove(ctx: &Context, wc: &WorkingCopy, row: &ExternalRow) -> SvnResult<()> {
    let at = wc.abspath(&row.relpath);
    let mut left = None;
    if row.kind == Kind::Dir {
        if let Some(inner) = inner_root(ctx, &at)
            && !remove_working_copy(ctx, &inner)?
        {
            let message = "Left locally modified or unversioned files".to_owned();
            left = Some(SvnError::new(ErrorCode::WC_LEFT_LOCAL_MOD, message));
        }
    } else {
        let lock = wc.lock(row.relpath.parent(), 0)?;
        wc.remove_file_external(&row.relpath, ctx.cancel())?;
        lock.release()?;
    }
    wc.db().remove_external(&row.relpath)?;
    let shown = at.to_string_lossy();
    let value = Notify {
        kind: row.kind.node_kind(),
        error: left.as_ref(),
        ..Notify::new(Action::UpdateExternalRemoved, &shown)
    };
    ctx.notify(&value);
    if left.is_some() {
        notify_path(ctx, &at, Action::LeftLocalModifications, None);
    }
    Ok(())
}

/// Takes a working copy apart: what is unchanged goes, with the administrative folder. Whether
/// nothing was left.
fn remove_working_copy(ctx: &Context, inner: &WorkingCopy) -> SvnResult<bool> {
    let lock = inner.lock(RelPath::ROOT, -1)?;
    let gone = inner.dismantle()?;
    drop(lock);
    ctx.forget(inner.root());
    Ok(gone)
}

/// Puts a working copy of something else aside.
fn relegate(ctx: &Context, inner: &WorkingCopy) -> SvnResult<()> {
    let at = inner.root().to_owned();
    if remove_working_copy(ctx, inner)? {
        return Ok(());
    }
    let mut number = 1u32;
    let backup = loop {
        let suffix = if number == 1 { ".OLD".to_owned() } else { format!(".{number}.OLD") };
        let name = name_of(&at);
        let path: PathBuf = at.with_file_name(format!("{name}{suffix}"));
        if path.symlink_metadata().is_err() {
            break path;
        }
        number = number.plus(1);
    };
    fs::rename(&at, &backup)
        .map_err(|e| SvnError::io(&e, format!("Can't move '{}'", at.display())))?;
    notify_path(ctx, &backup, Action::LeftLocalModifications, None);
    Ok(())
}
