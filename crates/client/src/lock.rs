//! `svn lock` and `svn unlock`: locks in the repository, and their tokens in the working copy.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sapwood_core::notify::{Action, LockState, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_ra::{Lock, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::Kind;
use sapwood_wc::locks::Lock as WcLock;
use sapwood_wc::repos_lock::RepositoryLock;

use crate::context::Context;
use crate::target::is_url;

/// A file of a working copy.
struct Local {
    wc: WorkingCopy,
    relpath: RelPathBuf,
    token: Option<String>,
}

/// What is to be locked or unlocked, by path below a common URL.
struct Targets {
    common: UrlBuf,
    files: BTreeMap<RelPathBuf, Target>,
    /// Locks of the working copies.
    held: Vec<WcLock>,
    /// The prefix that is cut off from reported paths.
    prefix: Option<PathBuf>,
}

struct Target {
    local: Option<Local>,
    revision: Option<Revnum>,
}

/// The directory that all URLs are in.
fn common_parent(urls: &[UrlBuf]) -> Option<UrlBuf> {
    let mut common: Option<UrlBuf> = None;
    for url in urls {
        let (parent, _) = url.parent_and_name()?;
        common = Some(match common {
            None => parent.to_owned(),
            Some(common) => common.common_ancestor(parent)?.to_owned(),
        });
    }
    common
}

fn organize(ctx: &Context, targets: &[String]) -> SvnResult<Targets> {
    let url_mode = targets.first().is_some_and(|target| is_url(target));
    if url_mode {
        let urls = targets.iter().map(|target| Ok(Url::new(target)?.to_owned()));
        let urls = urls.collect::<SvnResult<Vec<UrlBuf>>>()?;
        let common = common_parent(&urls).ok_or_else(|| {
            SvnError::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                "No common parent found, unable to operate on disjoint arguments",
            )
        })?;
        let files = urls
            .iter()
            .filter_map(|url| url.below(&common))
            .map(|relpath| (relpath, Target { local: None, revision: None }))
            .collect();
        return Ok(Targets { common, files, held: Vec::new(), prefix: None });
    }
    let mut roots: BTreeMap<PathBuf, (WorkingCopy, Vec<RelPathBuf>)> = BTreeMap::new();
    for target in targets {
        let abspath = ctx.absolute(target);
        let (wc, relpath) = ctx.working_copy(&abspath)?;
        if relpath.is_empty() {
            // A root counts as what its parent has.
            let parent = abspath.parent().unwrap_or(&abspath).to_owned();
            ctx.working_copy(&parent)?;
        }
        let entry = roots.entry(wc.root().to_owned()).or_insert_with(|| (wc, Vec::new()));
        entry.1.push(relpath);
    }
    let mut held = Vec::new();
    let mut prefixes = Vec::new();
    let mut found = Vec::new();
    for (wc, relpaths) in roots.into_values() {
        let mut dir = relpaths.first().cloned().ok_or_else(|| SvnError::internal("no target"))?;
        for relpath in &relpaths {
            dir = dir.common_ancestor(relpath).to_owned();
        }
        if relpaths.contains(&dir) {
            dir = dir.parent().to_owned();
        }
        held.push(wc.lock(&dir, -1)?);
        prefixes.push(wc.abspath(&dir));
        for relpath in relpaths {
            let shown = wc.abspath(&relpath);
            let base = wc.db().base(&relpath)?.filter(|row| row.presence.is_there());
            let base = base.ok_or_else(|| {
                SvnError::new(
                    ErrorCode::WC_PATH_NOT_FOUND,
                    format!("The node '{}' was not found.", shown.display()),
                )
            })?;
            if base.kind == Kind::Dir {
                return Err(SvnError::new(
                    ErrorCode::WC_NOT_FILE,
                    format!("The node '{}' is not a file", shown.display()),
                ));
            }
            let token = wc.lock_of(&base)?.map(|lock| lock.token);
            let (Some(repos_id), Some(repos_path)) = (base.repos_id, base.repos_path.as_deref())
            else {
                return Err(SvnError::new(
                    ErrorCode::WC_CORRUPT,
                    format!("'{}' has no place in a repository", shown.display()),
                ));
            };
            let url = wc.db().repository(repos_id)?.root.join(repos_path);
            let local = Some(Local { wc: wc.clone(), relpath, token });
            found.push((url, Target { local, revision: base.revision }));
        }
    }
    let urls: Vec<UrlBuf> = found.iter().map(|(url, _)| url.clone()).collect();
    let common = common_parent(&urls).ok_or_else(|| {
        SvnError::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            "Unable to lock/unlock across multiple repositories",
        )
    })?;
    let files =
        found.into_iter().filter_map(|(url, target)| Some((url.below(&common)?, target))).collect();
    let prefix = if prefixes.len() == 1 { prefixes.pop() } else { None };
    Ok(Targets { common, files, held, prefix })
}

impl Targets {
    /// Reports the outcome for one path.
    fn notify(
        &self,
        ctx: &Context,
        relpath: &RelPath,
        actions: (Action, Action),
        state: LockState,
        result: Result<Option<&str>, &SvnError>,
    ) {
        let local = self.files.get(relpath).and_then(|target| target.local.as_ref());
        let shown = local.map(|l| l.wc.abspath(&l.relpath).display().to_string());
        let url = self.common.join(relpath);
        let action = if result.is_ok() { actions.0 } else { actions.1 };
        let mut value = match &shown {
            Some(shown) => Notify::new(action, shown),
            None => Notify { url: Some(&url), ..Notify::new(action, relpath) },
        };
        let prefix = self.prefix.as_ref().map(|p| p.display().to_string());
        value.path_prefix = prefix.as_deref().filter(|_| shown.is_some());
        value.lock = state;
        value.kind = Some(NodeKind::File);
        match result {
            Ok(owner) => value.owner = owner,
            Err(error) => value.error = Some(error),
        }
        ctx.notify(&value);
    }

    fn local(&self, relpath: &RelPath) -> Option<&Local> {
        self.files.get(relpath)?.local.as_ref()
    }
}

/// Locks files; with `steal` also those that other users have locked. Each outcome is reported.
///
/// # Errors
/// `E130004` for a comment that XML cannot hold; what sessions and working copies meet.
pub fn lock(
    ctx: &Context,
    targets: &[String],
    comment: Option<&str>,
    steal: bool,
) -> SvnResult<()> {
    let unsafe_in_xml = |c: char| c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t');
    if comment.is_some_and(|comment| comment.contains(unsafe_in_xml)) {
        return Err(SvnError::new(
            ErrorCode::XML_UNESCAPABLE_DATA,
            "Lock comment contains illegal characters",
        ));
    }
    let targets = organize(ctx, targets)?;
    let session = sapwood_ra::open(&targets.common, &ctx.ra)?;
    let paths: Vec<(RelPathBuf, Option<Revnum>)> =
        targets.files.iter().map(|(path, target)| (path.clone(), target.revision)).collect();
    let actions = (Action::Locked, Action::FailedLock);
    session.lock(&paths, comment, steal, &mut |relpath, result: SvnResult<Lock>| {
        let relpath = RelPath::new(relpath)?;
        match result {
            Ok(lock) => {
                let mut state = LockState::Inapplicable;
                if let Some(local) = targets.local(relpath) {
                    local.wc.add_repository_lock(
                        &local.relpath,
                        &RepositoryLock {
                            token: lock.token.clone(),
                            owner: lock.owner.clone(),
                            comment: lock.comment.clone(),
                            created: lock.created,
                        },
                    )?;
                    state = LockState::Locked;
                }
                targets.notify(ctx, relpath, actions, state, Ok(Some(&lock.owner)));
            }
            Err(error) => {
                targets.notify(ctx, relpath, actions, LockState::Unchanged, Err(&error));
            }
        }
        Ok(())
    })
}

/// Unlocks files; with `break_lock` also without their tokens. Each outcome is reported.
///
/// # Errors
/// `E195013` for a file that this working copy has no token of; what sessions and working copies
/// meet.
pub fn unlock(ctx: &Context, targets: &[String], break_lock: bool) -> SvnResult<()> {
    let targets = organize(ctx, targets)?;
    let mut paths: Vec<(RelPathBuf, Option<String>)> = Vec::new();
    for (relpath, target) in &targets.files {
        let mut token = None;
        if let Some(local) = target.local.as_ref().filter(|_| !break_lock) {
            let shown = local.wc.abspath(&local.relpath);
            token = Some(local.token.clone().ok_or_else(|| {
                SvnError::new(
                    ErrorCode::CLIENT_MISSING_LOCK_TOKEN,
                    format!("'{}' is not locked in this working copy", shown.display()),
                )
            })?);
        }
        paths.push((relpath.clone(), token));
    }
    let session = sapwood_ra::open(&targets.common, &ctx.ra)?;
    if targets.held.is_empty() && !break_lock {
        fetch_tokens(session.as_ref(), &mut paths)?;
    }
    let actions = (Action::Unlocked, Action::FailedUnlock);
    session.unlock(&paths, break_lock, &mut |relpath, result| {
        let relpath = RelPath::new(relpath)?;
        // A token that is of no use any more is forgotten; one that only could not be used is not.
        let keeps = [ErrorCode::FS_LOCK_OWNER_MISMATCH, ErrorCode::REPOS_HOOK_FAILURE];
        let forget = !result.as_ref().is_err_and(|error| keeps.contains(&error.code()));
        let mut state = LockState::Unchanged;
        if let Some(local) = targets.local(relpath).filter(|_| forget) {
            local.wc.remove_repository_lock(&local.relpath)?;
            state = LockState::Unlocked;
        }
        let told = result.as_ref().map(|()| None);
        targets.notify(ctx, relpath, actions, state, told);
        Ok(())
    })
}

/// Asks the repository for the tokens of URLs.
fn fetch_tokens(
    session: &dyn Session,
    paths: &mut [(RelPathBuf, Option<String>)],
) -> SvnResult<()> {
    for (relpath, token) in paths {
        let Some(lock) = session.get_lock(relpath)? else {
            return Err(SvnError::new(
                ErrorCode::CLIENT_MISSING_LOCK_TOKEN,
                format!("'{relpath}' is not locked"),
            ));
        };
        *token = Some(lock.token);
    }
    Ok(())
}
