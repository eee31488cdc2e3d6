//! `svn copy` and `svn move` of URLs to URLs.

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_ra::Session;

use crate::commit_item::{CommitItem, ItemState};
use crate::context::Context;
use crate::mergeinfo::remote::inherited_here;
use crate::open::{move_to, number_of};
use crate::pin::pin_remote;
use crate::revision::Revision;
use crate::url_commit::{Step, commit};

/// What is copied or moved.
#[derive(Clone, Debug)]
pub struct Source {
    /// The URL.
    pub url: UrlBuf,
    /// What the copy is called in a directory.
    pub name: String,
    /// Where to look for it.
    pub peg: Revision,
    /// As of when.
    pub revision: Revision,
}

/// How it is done.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// Whether the sources go away.
    pub is_move: bool,
    /// Whether missing directories above the destination are made.
    pub parents: bool,
    /// Whether externals are pinned in a copy.
    pub pin_externals: bool,
    /// More properties of the new revision.
    pub revprops: &'a PropList,
}

/// Copies or moves URLs to a URL: to it if nothing is there and there is one source, else into it.
///
/// # Errors
/// E160013 when a source is not there, E160020 when a destination is; E200007 for moves into
/// themselves and between repositories; those of sessions.
pub fn copy_urls(ctx: &Context, sources: &[Source], to: &Url, how: How<'_>) -> SvnResult<()> {
    let into = |source: &Source| to.join(RelPath::trusted(&source.name));
    if let [source] = sources {
        let tried = copy_pairs(ctx, &[(source.clone(), to.to_owned())], how);
        return match tried {
            Err(error) if error.is_node_there() => {
                copy_pairs(ctx, &[(source.clone(), into(source))], how)
            }
            other => other,
        };
    }
    let pairs: Vec<(Source, UrlBuf)> =
        sources.iter().map(|source| (source.clone(), into(source))).collect();
    copy_pairs(ctx, &pairs, how)
}

/// A source and its destination, as far as they are known.
struct Pair {
    from: UrlBuf,
    revision: Revnum,
    mergeinfo: Option<String>,
    to: UrlBuf,
    /// Whether nothing is deleted in a move: the source is where the destination is, or below it.
    resurrection: bool,
}

fn exists(text: String) -> SvnError {
    SvnError::new(ErrorCode::FS_ALREADY_EXISTS, text)
}

fn parent_of(url: &Url) -> UrlBuf {
    url.parent_and_name().map_or_else(|| url.to_owned(), |(parent, _)| parent.to_owned())
}

fn copy_pairs(ctx: &Context, wanted: &[(Source, UrlBuf)], how: How<'_>) -> SvnResult<()> {
    if how.is_move
        && let Some((source, _)) = wanted.iter().find(|(source, to)| source.url == *to)
    {
        return Err(SvnError::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            format!("Cannot move URL '{}' into itself", source.url),
        ));
    }
    let Some((first, _)) = wanted.first() else { return Ok(()) };
    let session = sapwood_ra::open(&first.url, &ctx.ra)?;
    let session = session.as_ref();
    let root = session.root_url();
    let mut pairs = Vec::with_capacity(wanted.len());
    for (source, to) in wanted {
        pairs.push(resolve(session, &root, source, to)?);
    }
    let mut top = common(&pairs, how.is_move)?;
    for pair in &mut pairs {
        pair.resurrection = pair.from == pair.to;
        let at_top = |top: &Url, url: &Url| top == url && root != *top;
        if at_top(&top, &pair.to) {
            top = parent_of(&top);
        }
        if how.is_move && at_top(&top, &pair.from) {
            top = parent_of(&top);
        }
    }
    session.reparent(&top)?;
    let mut new_dirs = Vec::new();
    if how.parents {
        let first_to = pairs.first().map(|pair| pair.to.clone());
        let first_to = first_to.ok_or_else(|| SvnError::internal("nothing is copied"))?;
        absent_parents(session, &mut top, &first_to, how.is_move, &mut new_dirs)?;
    }
    for pair in &mut pairs {
        let below = pair.from.below(&pair.to);
        if pair.to != root && below.is_some_and(|rest| !rest.is_root()) {
            pair.resurrection = true;
            let above = parent_of(&pair.to);
            top = top.common_ancestor(&above).unwrap_or(&above).to_owned();
            session.reparent(&top)?;
        }
    }
    let (mut steps, items) = plan(session, &top, &pairs, new_dirs, how.is_move)?;
    if how.pin_externals {
        for pair in &pairs {
            for (below, value) in pin_remote(ctx, &pair.from, pair.revision, &root)? {
                let url = pair.to.join(RelPath::trusted(&below));
                let relpath = url.relpath(&top)?;
                pin_step(&mut steps, relpath, value);
            }
        }
    }
    commit(ctx, session, steps, &items, how.revprops)
}

/// Adds the pinned externals of a directory: to the step that copies it, or as a step.
fn pin_step(steps: &mut Vec<(RelPathBuf, Step)>, relpath: RelPathBuf, value: Vec<u8>) {
    for (at, step) in steps.iter_mut() {
        if *at == relpath
            && let Step::Copy { externals, .. } = step
        {
            *externals = Some(value);
            return;
        }
    }
    steps.push((relpath, Step::Externals(value)));
}

/// Finds a source's URL and revision, and its mergeinfo.
fn resolve(session: &dyn Session, root: &Url, source: &Source, to: &Url) -> SvnResult<Pair> {
    let inside = |url: &Url| url.below(root).is_some();
    if !inside(&source.url) || !inside(to) {
        return Err(SvnError::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            "Source and destination URLs appear not to point to the same repository.",
        ));
    }
    session.reparent(&source.url)?;
    let peg_spec = source.peg.or(Revision::Head);
    let peg = number_of(session, peg_spec)?;
    let wanted = source.revision.or(peg_spec);
    let revision = if wanted == peg_spec { peg } else { number_of(session, wanted)? };
    move_to(session, peg, revision)?;
    let mergeinfo = inherited_here(session, revision)?.map(|info| info.to_value());
    let from = session.url();
    Ok(Pair { from, revision, mergeinfo, to: to.to_owned(), resurrection: false })
}

/// The URL that all destinations are at or below, and in a move all sources too.
fn common(pairs: &[Pair], is_move: bool) -> SvnResult<UrlBuf> {
    let mut urls = pairs
        .iter()
        .flat_map(|pair| [Some(&pair.to), is_move.then_some(&pair.from)].into_iter().flatten());
    let first = urls.next().map(UrlBuf::as_path);
    let top = urls.fold(first, |top, url| top?.common_ancestor(url));
    // All are in the session's repository.
    let top =
        top.ok_or_else(|| SvnError::internal("URLs of a repository with nothing in common"))?;
    Ok(top.to_owned())
}

/// Finds the directories above the destination that are not there.
fn absent_parents(
    session: &dyn Session,
    top: &mut UrlBuf,
    first_to: &Url,
    is_move: bool,
    new_dirs: &mut Vec<RelPathBuf>,
) -> SvnResult<()> {
    let no_dir =
        |shown: &str| exists(format!("Path '{shown}' already exists, but is not a directory"));
    if is_move {
        let mut dir = parent_of(first_to).relpath(top)?;
        if dir.is_empty() {
            return Ok(());
        }
        loop {
            match session.check_path(&dir, None)? {
                None if !dir.is_empty() => {
                    new_dirs.push(dir.clone());
                    dir = dir.parent().to_owned();
                }
                Some(NodeKind::Dir) => return Ok(()),
                _ => return Err(no_dir(&dir)),
            }
        }
    }
    let mut urls = Vec::new();
    loop {
        match session.check_path(RelPath::ROOT, None)? {
            None => {
                urls.push(top.clone());
                *top = parent_of(top);
                session.reparent(top)?;
            }
            Some(NodeKind::Dir) => break,
            Some(NodeKind::File) => return Err(no_dir(top)),
        }
    }
    new_dirs.extend(urls.iter().filter_map(|url| url.below(top)));
    Ok(())
}

/// What the commit does, and how it is described to the author of the log message.
#[allow(clippy::type_complexity, reason = "both lists are taken apart at once")]
fn plan(
    session: &dyn Session,
    top: &Url,
    pairs: &[Pair],
    new_dirs: Vec<RelPathBuf>,
    is_move: bool,
) -> SvnResult<(Vec<(RelPathBuf, Step)>, Vec<CommitItem>)> {
    let (mut steps, mut items) = (Vec::new(), Vec::new());
    for relpath in new_dirs {
        items.push(CommitItem {
            kind: Some(NodeKind::Dir),
            state: ItemState { add: true, ..ItemState::default() },
            ..CommitItem::at(top.join(&relpath))
        });
        steps.push((relpath, Step::Mkdir));
    }
    for pair in pairs {
        let Pair { from, revision, mergeinfo, to, resurrection } = pair;
        let from_below = from.below(top);
        let kind = kind_of_source(session, top, from, *revision)?;
        let to_below = to.relpath(top)?;
        if session.check_path(&to_below, None)?.is_some() {
            return Err(exists(format!("Path '{to}' already exists")));
        }
        items.push(CommitItem {
            kind: Some(kind),
            state: ItemState { add: true, is_copy: true, ..ItemState::default() },
            copy_from: Some((from.clone(), *revision)),
            ..CommitItem::at(to.clone())
        });
        if is_move && !resurrection {
            items.push(CommitItem {
                kind: Some(kind),
                state: ItemState { delete: true, ..ItemState::default() },
                ..CommitItem::at(from.clone())
            });
            // In a move `top` is above the sources too.
            let from_below = from_below.ok_or_else(|| SvnError::internal("moved from outside"))?;
            steps.push((from_below, Step::Delete));
        }
        let copy = Step::Copy {
            url: from.clone(),
            revision: *revision,
            kind,
            mergeinfo: mergeinfo.clone(),
            externals: None,
        };
        if !(is_move && *resurrection) {
            steps.push((to_below, copy));
        }
    }
    Ok((steps, items))
}

/// The kind of what is copied. The session, which is at `top`, comes back there.
fn kind_of_source(
    session: &dyn Session,
    top: &Url,
    from: &Url,
    revision: Revnum,
) -> SvnResult<NodeKind> {
    let kind = match from.below(top) {
        Some(relpath) => session.check_path(&relpath, Some(revision))?,
        None => {
            session.reparent(from)?;
            let kind = session.check_path(RelPath::ROOT, Some(revision))?;
            session.reparent(top)?;
            kind
        }
    };
    kind.ok_or_else(|| {
        let message = format!("Path '{from}' does not exist in revision {revision}");
        SvnError::new(ErrorCode::FS_NOT_FOUND, message)
    })
}
