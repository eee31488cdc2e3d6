//! `svn relocate`: gives working copies the new URL of their repository.

use std::cell::RefCell;
use std::path::Path;

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::paths::{RelPath, UrlBuf};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wc::db::Kind;

use crate::context::Context;

/// Replaces the beginning of the URL of a working copy, and of its directory externals from the same
/// repository.
///
/// # Errors
/// E155019 when the path is not the root of a working copy; E155024 and E195009 when the new URL is
/// not that of the same location in the same repository.
pub fn relocate(
    ctx: &Context,
    path: &str,
    from: &str,
    to: &str,
    ignore_externals: bool,
) -> SvnResult<()> {
    let known = RefCell::new(Vec::new());
    relocate_root(ctx, &ctx.absolute(path), from, to, ignore_externals, &known)
}

/// Root and UUID of repositories that were asked.
type KnownRepositories = RefCell<Vec<(UrlBuf, String)>>;

fn relocate_root(
    ctx: &Context,
    abspath: &Path,
    from: &str,
    to: &str,
    ignore_externals: bool,
    known: &KnownRepositories,
) -> SvnResult<()> {
    let (wc, relpath) = ctx.working_copy(abspath)?;
    if !relpath.is_empty() {
        let (shown, root) = (abspath.display(), wc.root().display());
        let message = format!(
            "Cannot relocate '{shown}' as it is not the root of a working copy; try relocating \
             '{root}' instead"
        );
        return Err(SvnError::new(ErrorCode::WC_INVALID_OP_ON_CWD, message));
    }
    let (old_id, _) = wc.repos_location(RelPath::ROOT)?;
    let old_root = wc.db().repository(old_id)?.root;
    let validate = |uuid: &str, url: &str, root: &str| check(ctx, known, uuid, url, root);
    wc.relocate(from, to, &validate)?;
    if ignore_externals {
        return Ok(());
    }
    // What differs between the two: externals may be elsewhere below it.
    let common = sapwood_core::common::common_suffix(from.as_bytes(), to.as_bytes());
    let cut = |text: &str| -> String { text.head(text.len().minus(common)).to_owned() };
    let (from, to) = (cut(from), cut(to));
    for external in wc.db().externals(RelPath::ROOT)? {
        if external.kind != Kind::Dir {
            continue;
        }
        let path = wc.abspath(&external.relpath);
        let Ok((inner, below)) = ctx.working_copy(&path) else { continue };
        if !below.is_empty() {
            continue;
        }
        let (id, _) = inner.repos_location(RelPath::ROOT)?;
        if inner.db().repository(id)?.root == old_root {
            relocate_root(ctx, &path, &from, &to, false, known)?;
        }
    }
    Ok(())
}

/// Whether a URL is in a repository of this UUID with this root.
fn check(
    ctx: &Context,
    known: &KnownRepositories,
    uuid: &str,
    url: &str,
    root: &str,
) -> SvnResult<()> {
    if ctx.relocates_unchecked {
        return Ok(());
    }
    let url = UrlBuf::canonicalize(url)?;
    let found = known.borrow().iter().find(|(r, _)| url.below(r).is_some()).cloned();
    let (found_root, found_uuid) = match found {
        Some(found) => found,
        None => {
            let session = sapwood_ra::open(&url, &ctx.ra)?;
            let pair = (session.root_url(), session.uuid());
            known.borrow_mut().push(pair.clone());
            pair
        }
    };
    let wrong = |message| Err(SvnError::new(ErrorCode::CLIENT_INVALID_RELOCATION, message));
    if found_root != *root {
        return wrong(format!("'{root}' is not the root of the repository"));
    }
    if found_uuid != uuid {
        return wrong(format!(
            "The repository at '{url}' has uuid '{found_uuid}', but the WC has '{uuid}'"
        ));
    }
    Ok(())
}
