//! `svn lock` and `svn unlock`: locks in the repository, and their tokens in the working copy.

mod outcomes;

use std::collections::BTreeMap;
use std::path::PathBuf;

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{Lock, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::Kind;
use sapwood_wc::locks::Lock as WcLock;

use crate::context::Context;
use crate::locate::Locator;
use crate::target::is_url;
use outcomes::{Outcome, Outcomes};

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
    let mut locator = Locator::new(ctx);
    for target in targets {
        let (wc, relpath) = locator.find(target)?;
        if relpath.is_empty() {
            // A root counts as what its parent has.
            let abspath = ctx.absolute(target);
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
        let all = || relpaths.into_iter().map(|relpath| local_target(&wc, relpath)).collect();
        let local: Vec<(UrlBuf, Target)> = wc.db().questions::<_, SvnError>(all)?;
        found.extend(local);
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
    fn local(&self, relpath: &RelPath) -> Option<&Local> {
        self.files.get(relpath)?.local.as_ref()
    }
}

/// A file of a working copy, its URL and its revision.
fn local_target(wc: &WorkingCopy, relpath: RelPathBuf) -> SvnResult<(UrlBuf, Target)> {
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
    let (Some(repos_id), Some(repos_path)) = (base.repos_id, base.repos_path.as_deref()) else {
        return Err(SvnError::new(
            ErrorCode::WC_CORRUPT,
            format!("'{}' has no place in a repository", shown.display()),
        ));
    };
    let url = wc.db().repository(repos_id)?.root.join(repos_path);
    let local = Some(Local { wc: wc.clone(), relpath, token });
    Ok((url, Target { local, revision: base.revision }))
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
    let mut outcomes = Outcomes::new(ctx, &targets);
    let locked = session.lock(&paths, comment, steal, &mut |relpath, result: SvnResult<Lock>| {
        outcomes.add(RelPath::new(relpath)?, Outcome::Lock(result))
    });
    outcomes.record()?;
    locked
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
    let mut outcomes = Outcomes::new(ctx, &targets);
    let unlocked = session.unlock(&paths, break_lock, &mut |relpath, result| {
        outcomes.add(RelPath::new(relpath)?, Outcome::Unlock(result))
    });
    outcomes.record()?;
    unlocked
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
