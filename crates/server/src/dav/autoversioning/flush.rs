//! Commits pending changes ([`super::pending`]): alone, or together with the request that continues
//! them.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_fs::{LockTarget, Root};
use sapwood_repos::authz::Access;
use sapwood_repos::{
    CommitAuthorizer, CommitResult, LockRequest, Repository, TxnEditor, TxnRequest, lock_paths,
};
use sapwood_wire_dav::Resource;

use super::super::exchange::Exchange;
use super::super::fail::DavResult;
use super::super::propfind;
use super::super::session::Session;
use super::super::state::HttpState;
use super::held::DavLock;
use super::pending::{Change, ChangeKind, Commit, Context, JoinedChanges, Owner, Save, State};
use super::{begin, describe, not_there, refused, youngest};
use crate::common::operation_log::Subject;

/// How often a commit is tried again when others commit at the same time.
const ATTEMPTS: usize = 5;

/// Access was checked when the change was acknowledged.
struct AlreadyAuthorized;

impl CommitAuthorizer for AlreadyAuthorized {
    fn allows(&self, _: &FsPath, _: Access, _: bool) -> bool {
        true
    }
}

/// The user and address that the request's changes belong to.
pub(super) fn who(session: &Session<'_>) -> Owner {
    Owner {
        repository: session.repository.path().to_owned(),
        user: session.access.user().map(str::to_owned),
        client: session.head.client,
    }
}

/// The pending state of a path for the request, if there is one.
pub(super) fn state(session: &Session<'_>, path: &FsPath) -> Option<State> {
    let saves = &session.shared.saves;
    if saves.is_empty() { None } else { saves.state(&who(session), path) }
}

/// The node at a path for the request: from the repository, or from the pending changes.
pub(super) fn kind(
    session: &Session<'_>,
    root: &Root,
    path: &FsPath,
) -> DavResult<Option<NodeKind>> {
    let own = root.kind(path)?;
    Ok(match state(session, path) {
        None => own,
        Some(State::Gone { .. }) => None,
        Some(State::Made(kind, _)) => own.or(Some(kind)),
    })
}

/// Whether changes may wait: not where a hook could refuse a change that was already acknowledged.
pub(super) fn may_wait(session: &Session<'_>) -> bool {
    let hooks = session.access.hooks(&session.repository);
    !session.shared.settings.autoversioning_wait.is_zero()
        && !hooks.has_any(&["start-commit", "pre-commit", "pre-lock"])
}

fn context(session: &Session<'_>) -> Context {
    Context {
        repository: session.repository.at_rest(),
        hooks: session.access.hooks(&session.repository),
        name: session.access.subject().repository.map(str::to_owned),
        authz_name: session.access.authz_name().to_owned(),
    }
}

/// Lets a change wait. False when it has to be committed at once.
pub(super) fn hold(session: &Session<'_>, path: &FsPath, what: ChangeKind) -> bool {
    session.shared.saves.hold(&who(session), || context(session), (path, what))
}

/// The pending changes, for this request to continue.
pub(super) fn join<'s>(session: &Session<'s>) -> JoinedChanges<'s> {
    session.shared.saves.join(&who(session))
}

/// Drops a pending new node.
pub(super) fn unmake(session: &Session<'_>, path: &FsPath) -> bool {
    session.shared.saves.unmake(&who(session), path)
}

/// Begins the commit of a request that changes `path`, which must be of a kind: together with the
/// pending changes, if they are about the same path; otherwise those are committed first.
pub(super) fn together<'s>(
    session: &Session<'s>,
    path: &FsPath,
    kind: NodeKind,
) -> DavResult<(TxnEditor, Option<JoinedChanges<'s>>)> {
    let joined = goes_on(session, path).then(|| join(session));
    if joined.is_none() {
        flush_own(session);
    }
    let mut editor = begin(session)?;
    for change in joined.iter().flat_map(|joined| &joined.changes) {
        // A file that is deleted and written again is the same file, with its history.
        let is_rewritten = kind == NodeKind::File
            && change.path == path
            && matches!(change.what, ChangeKind::Delete(_))
            && editor.kind(path)? == Some(NodeKind::File);
        if !is_rewritten {
            replay(&mut editor, change, &session.access).map_err(refused)?;
        }
    }
    Ok((editor, joined))
}

/// The pending changes, if a COPY or MOVE from `source` replaces what they delete at `path`.
pub(super) fn replaces<'s>(
    session: &Session<'s>,
    source: &FsPath,
    path: &FsPath,
) -> Option<JoinedChanges<'s>> {
    let own = who(session);
    let is_gone = matches!(state(session, path), Some(State::Gone { .. }));
    let concerns = |save: &Save| *save.who() == own && save.concerns(source);
    (is_gone && !session.shared.saves.any(concerns)).then(|| join(session))
}

/// Commits a request, with the pending changes that belong to it.
pub(super) fn commit(
    session: &Session<'_>,
    editor: TxnEditor,
    joined: Option<JoinedChanges<'_>>,
    path: &FsPath,
) -> DavResult<CommitResult> {
    let committed = super::commit(session, editor, path)?;
    if let Some(joined) = joined {
        let failed = |error: &SvnError| session.log_error(error);
        let context = context(session);
        keep_locks(session.shared, &session.repository, &context, &joined.changes, &failed);
        joined.done();
    }
    Ok(committed)
}

/// Adds changes to a commit, except those that others have made already.
///
/// # Errors
/// The reason why one cannot be made.
pub(super) fn replay(
    editor: &mut TxnEditor,
    change: &Change,
    authorizer: &dyn CommitAuthorizer,
) -> SvnResult<bool> {
    let path = &*change.path;
    let is_there = editor.kind(path)?.is_some();
    match &change.what {
        ChangeKind::Make(kind, props) if !is_there => {
            editor.add(path, *kind, authorizer)?;
            for (name, value) in props.iter() {
                editor.change_prop(path, name, Some(value))?;
            }
        }
        ChangeKind::Delete(tokens) if is_there => {
            editor.show_tokens(tokens.iter().cloned());
            editor.delete(path, None, authorizer)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

impl Commit for HttpState {
    fn commit(&self, who: &Owner, context: &Context, changes: &[Change], there: &dyn Fn()) {
        make(self, who, context, changes, there);
    }
}

/// Commits changes that have waited. A change that cannot be made any more, since others have changed or
/// locked the same path, is logged. `there` is called when the revision exists.
fn make(shared: &HttpState, who: &Owner, context: &Context, changes: &[Change], there: &dyn Fn()) {
    let host = who.client.to_string();
    let subject = Subject {
        host: Some(&host),
        user: who.user.as_deref(),
        repository: context.name.as_deref(),
        request: None,
    };
    let failed = |error: &SvnError| {
        if let Some(log) = &shared.server.log {
            log.error(subject, error, false);
        }
    };
    let repository = context.repository.opened_again();
    for attempt in 1..=ATTEMPTS {
        match revision(&repository, who, context, changes, &failed, there) {
            Ok(None) => break,
            Ok(Some(revision)) => {
                let name = &context.authz_name;
                shared.server.committed(subject, &repository, name, revision);
                break;
            }
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => {}
            Err(error) => {
                failed(&error);
                break;
            }
        }
    }
    keep_locks(shared, &repository, context, changes, &failed);
}

fn revision(
    repository: &Repository,
    who: &Owner,
    context: &Context,
    changes: &[Change],
    failed: &dyn Fn(&SvnError),
    there: &dyn Fn(),
) -> SvnResult<Option<Revnum>> {
    let mut editor = TxnEditor::begin(TxnRequest {
        repository,
        hooks: context.hooks.clone(),
        revprops: PropList::new(),
        user: who.user.as_deref(),
        lock_tokens: Vec::new(),
        capabilities: &[],
        base: None,
    })?;
    let mut made = Vec::new();
    for change in changes {
        match replay(&mut editor, change, &AlreadyAuthorized) {
            Ok(true) => made.push(change.path.as_path()),
            Ok(false) => {}
            Err(error) => failed(&error),
        }
    }
    if made.is_empty() {
        return Ok(None);
    }
    describe(&mut editor, &made)?;
    let committed = editor.commit_and_call(there)?;
    if let Some(why) = &committed.post_commit_error {
        failed(&SvnError::new(ErrorCode::REPOS_POST_COMMIT_HOOK_FAILED, why));
    }
    Ok(Some(committed.revision))
}

/// Files that were locked while they were pending get a lock in the repository, now that they exist
/// there.
pub(super) fn keep_locks(
    shared: &HttpState,
    repository: &Repository,
    context: &Context,
    changes: &[Change],
    failed: &dyn Fn(&SvnError),
) {
    for change in changes.iter().filter(|c| matches!(c.what, ChangeKind::Make(NodeKind::File, _))) {
        let on = shared.held.on(repository.path(), &change.path);
        let own = on.into_iter().find(|held| held.path == change.path && !held.is_shared);
        if let Some(held) = own {
            match keep_lock(repository, context, &held) {
                Ok(()) => shared.held.end(repository.path(), &held.token),
                // It remains a lock of the server.
                Err(error) => failed(&error),
            }
        }
    }
}

fn keep_lock(repository: &Repository, context: &Context, held: &DavLock) -> SvnResult<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let left = held.ends.duration_since(Instant::now());
    let request = LockRequest {
        repository,
        hooks: Some(&context.hooks),
        user: Some(&held.user),
        comment: held.owner.as_deref(),
        steal: false,
        is_dav_comment: held.is_xml,
        expires: now.checked_add(left).and_then(|end| i64::try_from(end.as_micros()).ok()),
    };
    let target =
        LockTarget { path: held.path.clone(), token: Some(held.token.clone()), revision: None };
    lock_paths(&request, vec![target]).into_single().map(drop)
}

/// Commits the pending changes of the request's user, since the request does something else.
pub(super) fn flush_own(session: &Session<'_>) {
    let own = who(session);
    session.shared.saves.flush(session.shared, |save| *save.who() == own);
}

/// Commits the pending changes whose absence the reply to this request would show; or answers from
/// the pending changes.
pub(super) fn before(session: &Session<'_>, exchange: &mut Exchange) -> Option<DavResult> {
    let saves = &session.shared.saves;
    let method = session.head.method.as_str();
    // OPTIONS reports revisions to Subversion's clients only.
    if saves.is_empty() || (method == "OPTIONS" && !session.is_svn_client()) {
        return None;
    }
    let repository = session.repository.path();
    let path = match &session.resource {
        Resource::Public(path) if session.autoversions() && !session.is_svn_client() => path,
        _ => {
            saves.flush(session.shared, |save| save.is_of(repository));
            return None;
        }
    };
    let own = who(session);
    let to = match session.head.header("destination").map(|to| session.resource_at(to)) {
        Some(Ok(Resource::Public(to))) => Some(to),
        _ => None,
    };
    saves.flush(session.shared, |save| {
        save.is_of(repository)
            && *save.who() != own
            && (save.concerns(path) || to.as_ref().is_some_and(|to| save.concerns(to)))
    });
    let reads = matches!(method, "GET" | "HEAD" | "PROPFIND");
    if !reads {
        return None;
    }
    let is_flat = method == "PROPFIND" && session.head.header("depth").map(str::trim) == Some("0");
    let state = saves.state(&own, path);
    // Others may have made the same change meanwhile.
    let state = match (&state, youngest(session).and_then(|root| Ok(root.kind(path)?))) {
        (Some(State::Made(..)), Ok(None)) | (Some(State::Gone { .. }), _) => state,
        _ => None,
    };
    match (state, method) {
        (Some(State::Gone { .. }), _) if session.head.query.is_none() => {
            return Some(Err(not_there(path)));
        }
        (Some(State::Made(NodeKind::File, props)), "GET" | "HEAD")
            if session.head.query.is_none() =>
        {
            let given = props.get_str(sapwood_core::props::names::MIME_TYPE);
            exchange.header("content-type", given.unwrap_or("text/plain"));
            exchange.header("cache-control", "no-cache");
            return Some(Ok(()));
        }
        (Some(State::Made(kind, props)), "PROPFIND") if is_flat || kind == NodeKind::File => {
            return Some(propfind::waiting(session, exchange, path, (kind, &props)));
        }
        _ => {}
    }
    saves.flush(session.shared, |save| {
        *save.who() == own
            && (save.changes_entries(path) || session.head.query.is_some() || save.makes(path))
            && !is_flat
    });
    None
}

/// Whether the pending changes are about a path or a directory above it: a request that changes it continues
/// them.
fn goes_on(session: &Session<'_>, path: &FsPath) -> bool {
    let saves = &session.shared.saves;
    if saves.is_empty() {
        return false;
    }
    let own = who(session);
    // A commit in progress is waited for.
    let _ = saves.state(&own, path);
    saves.any(|save| *save.who() == own && save.is_at_or_above(path))
}

/// Commits changes that wait for the rest of a save, until none is left.
pub(in super::super) async fn flush_due(shared: Arc<HttpState>) {
    let wait = shared.settings.autoversioning_wait;
    while let Some(due) = shared.saves.next_due(wait) {
        tokio::time::sleep_until(due.into()).await;
        let shared = Arc::clone(&shared);
        // A panic in one commit must not stop the others.
        let _ = tokio::task::spawn_blocking(move || shared.saves.flush_due(&*shared, wait)).await;
    }
}
