//! `svn mkdir` of URLs.

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{NodeKind, PropList, SvnResult};
use sapwood_ra::Session;

use crate::commit_item::{CommitItem, ItemState};
use crate::context::Context;
use crate::url_commit::{Step, above, commit, condense};

/// Makes directories in one commit; with `parents` those above too that are not there.
///
/// # Errors
/// E160020 when one exists, E160013 when a parent does not; those of sessions.
pub fn mkdir_urls(
    ctx: &Context,
    urls: &[UrlBuf],
    parents: bool,
    revprops: &PropList,
) -> SvnResult<()> {
    let mut all = urls.to_vec();
    let mut session = None;
    if parents && let Some(first) = urls.first() {
        let opened = sapwood_ra::open(first, &ctx.ra)?;
        for url in urls {
            add_parents(opened.as_ref(), url, &mut all)?;
        }
        session = Some(opened);
    }
    let (mut common, mut below) = condense(&all, false)?;
    // The root of an edit cannot be made: it begins one above.
    if below.first().is_none_or(|path| path.is_root()) {
        let (parent, name) = above(&common)?;
        common = parent;
        if below.is_empty() {
            below.push(RelPathBuf::default());
        }
        for relpath in &mut below {
            *relpath = RelPath::trusted(&name).join(relpath);
        }
    }
    let items: Vec<CommitItem> = below
        .iter()
        .map(|relpath| CommitItem {
            kind: Some(NodeKind::Dir),
            state: ItemState { add: true, ..ItemState::default() },
            ..CommitItem::at(common.join(relpath))
        })
        .collect();
    let session = match session {
        Some(session) => {
            session.reparent(&common)?;
            session
        }
        None => sapwood_ra::open(&common, &ctx.ra)?,
    };
    let steps = below.into_iter().map(|relpath| (relpath, Step::Mkdir)).collect();
    commit(ctx, session.as_ref(), steps, &items, revprops)
}

/// Adds the URLs above one that are not there.
fn add_parents(session: &dyn Session, url: &Url, all: &mut Vec<UrlBuf>) -> SvnResult<()> {
    let mut url = url.to_owned();
    loop {
        let (parent, _) = above(&url)?;
        session.reparent(&parent)?;
        if session.check_path(RelPath::ROOT, None)?.is_some() {
            return Ok(());
        }
        all.push(parent.clone());
        url = parent;
    }
}
