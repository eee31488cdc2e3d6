//! The tree of one working copy is brought to what a repository has: by an update, a switch or as a new one. Externals are
//! none of its business: [`BroughtTree`] says whether they are to follow.

pub(crate) mod create;
pub(crate) mod switch;
pub(crate) mod update;
mod wanted;

use std::collections::HashMap;

use sapwood_core::notify::Notify;
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{ReportKind, ReportRequest, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{InheritedProps, Kind, Presence};
use sapwood_wc::locks::Lock;
use sapwood_wc::report::Crawl;
use sapwood_wc::update::{Params, UpdateEditor};

use self::wanted::children_of;
use crate::context::Context;

/// What is left to do when a tree was brought.
#[derive(Debug, Default)]
pub(crate) struct BroughtTree {
    /// The revision that it came to; `None` where nothing was brought.
    pub(crate) reached: Option<Revnum>,
    /// The root of its repository, when externals are to follow.
    pub(crate) externals_of: Option<UrlBuf>,
}

/// A session that the targets of one operation share.
pub(crate) type SharedSessionSlot = Option<Box<dyn Session>>;

/// The session, at a URL.
pub(crate) fn ensure_session<'s>(
    ctx: &Context,
    session: &'s mut SharedSessionSlot,
    url: &Url,
) -> SvnResult<&'s dyn Session> {
    let usable = match session.as_ref() {
        Some(open) => match open.reparent(url) {
            Ok(()) => true,
            Err(error) if error.is_no_repository() => false,
            Err(error) => return Err(error),
        },
        None => false,
    };
    if !usable {
        *session = Some(ctx.open_following(url)?);
    }
    session.as_deref().ok_or_else(|| {
        SvnError::new(ErrorCode::ASSERTION_FAIL, "a session was opened and is not there")
    })
}

/// Locks what an update or switch of a target needs: its parent, where the report starts, or for roots
/// and switched directories the target itself. Returns the anchor.
pub(crate) fn lock_anchor(
    wc: &WorkingCopy,
    relpath: &RelPath,
    with_parent: bool,
) -> SvnResult<(Lock, RelPathBuf)> {
    wc.db().questions(|| {
        let anchor = anchor_of(wc, relpath, with_parent)?;
        Ok((wc.lock(&anchor, -1)?, anchor))
    })
}

/// Where the report of a target starts. E155007 when nothing versioned is there.
fn anchor_of(wc: &WorkingCopy, relpath: &RelPath, with_parent: bool) -> SvnResult<RelPathBuf> {
    let base = wc.db().base(relpath)?;
    let there = base.as_ref().is_some_and(|row| row.presence.is_there());
    let is_dir = base.as_ref().is_some_and(|row| row.kind == Kind::Dir);
    let alone =
        relpath.is_empty() || (there && is_dir && (!with_parent || wc.is_switched(relpath)?));
    let anchor = if alone { relpath } else { relpath.parent() };
    let known = wc
        .db()
        .top(anchor)?
        .is_some_and(|row| row.presence.is_there() || row.presence == Presence::BaseDeleted);
    if !anchor.is_empty() && !known {
        let shown = wc.abspath(anchor);
        return Err(SvnError::new(
            ErrorCode::WC_NOT_WORKING_COPY,
            format!("'{}' is not a working copy", shown.display()),
        ));
    }
    Ok(anchor.to_owned())
}

/// E170009 when the repository at a URL is not the one that the working copy comes from.
pub(crate) fn check_uuid(wc: &WorkingCopy, repos_id: i64, session: &dyn Session) -> SvnResult<()> {
    let expected = wc.db().repository(repos_id)?.uuid;
    let found = session.uuid();
    if expected == found {
        return Ok(());
    }
    Err(SvnError::new(
        ErrorCode::RA_UUID_MISMATCH,
        format!("Repository UUID '{found}' doesn't match expected UUID '{expected}'"),
    ))
}

/// What of a working copy an update or a switch brings to a revision.
pub(crate) struct WantedTree<'t> {
    pub(crate) relpath: &'t RelPath,
    /// Where the edit starts: the same, or its parent.
    pub(crate) anchor: &'t RelPath,
    pub(crate) anchor_url: &'t Url,
    pub(crate) depth: Depth,
    /// Whether the depth becomes that of the working copy.
    pub(crate) sticky: bool,
    pub(crate) revision: Revnum,
}

/// What is special to an edit.
pub(crate) struct EditOptions {
    /// Where in the repository the tree is to be, when it is switched.
    pub(crate) switch_to: Option<RelPathBuf>,
    pub(crate) allow_obstructions: bool,
    pub(crate) adds_as_modification: bool,
    /// Whether nothing can be in the way.
    pub(crate) clean_checkout: bool,
    /// What roots and switched nodes inherit in the repository.
    pub(crate) inherited: HashMap<RelPathBuf, InheritedProps>,
}

impl WantedTree<'_> {
    /// Reports what the working copy has, and takes the changes. Returns the revision that it came to.
    pub(crate) fn bring(
        &self,
        ctx: &Context,
        wc: &WorkingCopy,
        session: &dyn Session,
        kind: ReportKind<'_>,
        edit: EditOptions,
    ) -> SvnResult<Revnum> {
        let &Self { relpath, anchor, anchor_url, depth, sticky, revision } = self;
        let target = if relpath == anchor { RelPath::ROOT } else { RelPath::new(relpath.name())? };
        session.reparent(anchor_url)?;
        let children = if sticky {
            HashMap::new()
        } else {
            let to = edit.switch_to.as_deref();
            children_of(wc, relpath, depth, to, session, anchor_url, revision)?
        };
        let notify = |value: &Notify<'_>| ctx.notify(value);
        let mut editor = UpdateEditor::new(
            wc,
            Params {
                anchor: anchor.to_owned(),
                target: target.to_owned(),
                switch_to: edit.switch_to,
                depth,
                depth_is_sticky: sticky,
                allow_obstructions: edit.allow_obstructions,
                adds_as_modification: edit.adds_as_modification,
                clean_checkout: edit.clean_checkout,
                inherited: edit.inherited,
                children,
                notify: Some(&notify),
                cancel: ctx.cancel().clone(),
                diff3: ctx.merge_text.as_deref(),
            },
        )?;
        let request = ReportRequest {
            revision: Some(revision),
            target,
            depth: if sticky { depth } else { Depth::Unknown },
            kind,
        };
        let crawl = Crawl {
            target: relpath,
            depth,
            honor_depth_exclude: !sticky,
            restore: true,
            notify: Some(&notify),
        };
        drive(wc, session, &request, &crawl, &mut editor)?;
        Ok(editor.revision().unwrap_or(revision))
    }
}

/// Reports the working copy's state and has the editor driven.
fn drive(
    wc: &WorkingCopy,
    session: &dyn Session,
    request: &ReportRequest<'_>,
    crawl: &Crawl<'_>,
    editor: &mut UpdateEditor<'_>,
) -> SvnResult<()> {
    let result = (|| {
        let mut report = session.report(request, &mut *editor)?;
        if let Err(error) = wc.report(crawl, report.as_mut()) {
            let _ = report.abort();
            return Err(SvnError::from(error));
        }
        report.finish()
    })();
    if result.is_err() {
        // Complete files are kept, whatever stopped the rest.
        let _ = sapwood_delta::Editor::abort_edit(editor);
    }
    result
}
