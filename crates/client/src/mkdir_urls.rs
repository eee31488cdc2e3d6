//! `svn mkdir` of URLs.

use sapwood_core::{NodeKind, PropList, SvnResult, path, uri};
use sapwood_ra::Session;

use crate::commit_item::{CommitItem, ItemState};
use crate::context::Context;
use crate::url_commit::{Step, above, commit, condense};

/// Makes directories in one commit; with `parents` those above too that are not there.
///
/// # Errors
/// E160020 when one is there already, E160013 when a parent is not; those of sessions.
pub fn mkdir_urls(
    ctx: &Context,
    urls: &[String],
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
    let (mut common, mut below) = condense(&all, false);
    // The root of an edit cannot be made: it begins one above.
    if below.first().is_none_or(String::is_empty) {
        let (parent, name) = above(&common)?;
        common = parent;
        if below.is_empty() {
            below.push(String::new());
        }
        for relpath in &mut below {
            *relpath = path::join(&name, relpath);
        }
    }
    let items: Vec<CommitItem> = below
        .iter()
        .map(|relpath| CommitItem {
            url: uri::join(&common, relpath),
            kind: Some(NodeKind::Dir),
            state: ItemState { add: true, ..ItemState::default() },
            ..CommitItem::default()
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
fn add_parents(session: &dyn Session, url: &str, all: &mut Vec<String>) -> SvnResult<()> {
    let mut url = url.to_owned();
    loop {
        let (parent, _) = above(&url)?;
        session.reparent(&parent)?;
        if session.check_path("", None)?.is_some() {
            return Ok(());
        }
        all.push(parent.clone());
        url = parent;
    }
}
