//! `svn delete` of URLs.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPathBuf, UrlBuf};
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};
use sapwood_ra::Session;

use crate::commit_item::{CommitItem, ItemState};
use crate::context::Context;
use crate::url_commit::{Step, above, commit, condense};

/// What is to be deleted in one repository.
struct Deletions {
    session: Box<dyn Session>,
    root: UrlBuf,
    urls: Vec<UrlBuf>,
}

/// Deletes URLs, in one commit a repository.
///
/// # Errors
/// E160013 when one is not there; those of sessions.
pub fn delete_urls(ctx: &Context, urls: &[UrlBuf], revprops: &PropList) -> SvnResult<()> {
    let mut repositories: Vec<Deletions> = Vec::new();
    for url in urls {
        let known = repositories.iter().position(|r| url.below(&r.root).is_some());
        if known.is_none() {
            let session = sapwood_ra::open(url, &ctx.ra)?;
            let root = session.root_url();
            session.reparent(&root)?;
            repositories.push(Deletions { session, root, urls: Vec::new() });
        }
        let at = known.unwrap_or(repositories.len().minus(1));
        let Some(repository) = repositories.get_mut(at) else { continue };
        repository.urls.push(url.clone());
        let relpath = url.below(&repository.root).filter(|rest| !rest.is_root());
        let Some(relpath) = relpath else {
            return Err(SvnError::new(
                ErrorCode::RA_ILLEGAL_URL,
                format!("URL '{url}' not within a repository"),
            ));
        };
        if repository.session.check_path(&relpath, None)?.is_none() {
            return Err(SvnError::new(
                ErrorCode::FS_NOT_FOUND,
                format!("URL '{url}' does not exist"),
            ));
        }
    }
    for Deletions { session, urls, .. } in repositories {
        let (mut common, mut below) = condense(&urls, true)?;
        if below.first().is_none_or(|path| path.is_root()) {
            let (parent, name) = above(&common)?;
            common = parent;
            below = vec![RelPathBuf::trusted(name)];
        }
        session.reparent(&common)?;
        let items: Vec<CommitItem> = below
            .iter()
            .map(|relpath| CommitItem {
                state: ItemState { delete: true, ..ItemState::default() },
                ..CommitItem::at(common.join(relpath))
            })
            .collect();
        let steps = below.into_iter().map(|relpath| (relpath, Step::Delete)).collect();
        commit(ctx, session.as_ref(), steps, &items, revprops)?;
    }
    Ok(())
}
