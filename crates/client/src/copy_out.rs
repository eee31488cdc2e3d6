//! `svn copy` of working copies to URLs: a commit of what there is on disk, as copies of where it
//! comes from and what differs from that.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{RelPath, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, PropList, SvnError, SvnResult};
use sapwood_ra::{CommitRequest, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::commit::{Changes, CopyTo, Harvest, HarvestOptions, Item};

use crate::commit::{Drive, Extra, KindCheck, commit_item, condense, failed};
use crate::commit_item::{CommitItem, ItemState};
use crate::context::Context;
use crate::mergeinfo::place::visit;
use crate::mergeinfo::remote::inherited_here;
use crate::pin::pin_local;
use crate::target::name_of;
use crate::url_commit::revision_props;
use crate::working::Node;

/// How it is done.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// Whether missing directories above the destination are made.
    pub parents: bool,
    /// Whether externals are pinned in the copy.
    pub pin_externals: bool,
    /// More properties of the new revision.
    pub revprops: &'a PropList,
}

/// A local path and its location in the repository.
struct Pair {
    node: Node,
    to: UrlBuf,
}

/// Copies local paths to a URL: to it if nothing is there and there is one path, else into it.
///
/// # Errors
/// E155010 for a path that is not versioned, E160020 when a destination is there; those of commits.
pub fn copy_out(ctx: &Context, sources: &[String], to: &Url, how: How<'_>) -> SvnResult<()> {
    let into = |source: &str| {
        let abspath = ctx.absolute(source);
        let name = name_of(&abspath);
        to.join(RelPath::trusted(&name))
    };
    if let [source] = sources {
        return match copy_pairs(ctx, &[(source, to.to_owned())], how) {
            Err(e) if e.is_node_there() => copy_pairs(ctx, &[(source, into(source))], how),
            other => other,
        };
    }
    let pairs: Vec<(&String, UrlBuf)> = sources.iter().map(|s| (s, into(s))).collect();
    copy_pairs(ctx, &pairs, how)
}

fn copy_pairs(ctx: &Context, wanted: &[(&String, UrlBuf)], how: How<'_>) -> SvnResult<()> {
    let Some((_, first)) = wanted.first() else { return Ok(()) };
    let above = |url: &Url| url.parent_and_name().map_or(url, |(parent, _)| parent).to_owned();
    let mut top = above(first);
    let session = sapwood_ra::open(&top, &ctx.ra)?;
    let session = session.as_ref();
    if let Some(Ok(node)) = wanted.first().map(|(source, _)| Node::find(ctx, source)) {
        require_same_uuid(session, &node)?;
    }
    let mut extra = Extra::default();
    if how.parents {
        while session.check_path(RelPath::ROOT, None)?.is_none() {
            extra.dirs.push(top.clone());
            top = above(&top);
            session.reparent(&top)?;
        }
        if session.check_path(RelPath::ROOT, None)? == Some(NodeKind::File) {
            return Err(already_exists(&top, ", but is not a directory"));
        }
    }
    for (_, to) in wanted {
        if session.check_path(&to.relpath(&top)?, None)?.is_some() {
            return Err(already_exists(to, ""));
        }
    }
    let mut pairs = Vec::with_capacity(wanted.len());
    for (source, to) in wanted {
        pairs.push(Pair { node: Node::find(ctx, source)?, to: to.clone() });
    }
    let mut harvest = harvest(ctx, &pairs)?;
    for pair in &pairs {
        add_mergeinfo(session, pair, &mut extra)?;
        if how.pin_externals {
            add_externals(ctx, pair, &mut harvest.items, &mut extra)?;
        }
    }
    let mut shown: Vec<CommitItem> = harvest.items.iter().map(commit_item).collect();
    shown.extend(extra.dirs.iter().map(|url| CommitItem {
        kind: Some(NodeKind::Dir),
        state: ItemState { add: true, ..ItemState::default() },
        ..CommitItem::at(url.clone())
    }));
    let Some(message) = ctx.message_for(&shown)? else { return Ok(()) };
    let base = condense(&mut harvest.items, &extra.dirs)?;
    session.reparent(&base)?;
    let revprops = revision_props(how.revprops, &message)?;
    let request = CommitRequest { revprops: &revprops, lock_tokens: &[], keep_locks: true };
    let mut editor = session.commit(&request)?;
    let drive = Drive { ctx, prefix: None, extra: &extra };
    if let Err(error) = drive.run(&base, editor.as_mut(), &harvest.items) {
        let _ = editor.abort_edit();
        return Err(failed(error));
    }
    match editor.committed() {
        Some(info) => ctx.notify_commit(info),
        None => Ok(()),
    }
}

/// Refuses a repository that a node is not of.
fn require_same_uuid(session: &dyn Session, node: &Node) -> SvnResult<()> {
    let (_, expected, _) = node.repository()?;
    let found = session.uuid();
    if found == expected {
        return Ok(());
    }
    let message = format!("Repository UUID '{found}' doesn't match expected UUID '{expected}'");
    Err(SvnError::new(ErrorCode::RA_UUID_MISMATCH, message))
}

fn already_exists(url: &Url, more: &str) -> SvnError {
    SvnError::new(ErrorCode::FS_ALREADY_EXISTS, format!("Path '{url}' already exists{more}"))
}

/// What there is to commit.
fn harvest(ctx: &Context, pairs: &[Pair]) -> SvnResult<Harvest> {
    let check = KindCheck::new(ctx);
    let kind = |url: &Url, revision| Ok(check.kind(url, revision)?);
    let how = HarvestOptions {
        depth: Depth::Infinity,
        just_locked: false,
        changelists: std::collections::HashSet::new(),
        cancel: ctx.cancel().clone(),
    };
    let mut harvest = Harvest::default();
    for pair in pairs {
        let (root, ..) = pair.node.repository()?;
        let Some(repos_relpath) = pair.to.below(&root) else {
            return Err(SvnError::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                "Source and destination URLs appear not to point to the same repository.",
            ));
        };
        let to = CopyTo { repos_relpath };
        harvest.copy(&pair.node.wc, &pair.node.relpath, &to, &how, &kind)?;
    }
    harvest.finish(&kind)?;
    Ok(harvest)
}

/// The mergeinfo of a copy: what the repository and the working copy know of the source.
fn add_mergeinfo(session: &dyn Session, pair: &Pair, extra: &mut Extra) -> SvnResult<()> {
    let mut mergeinfo: Option<Mergeinfo> = None;
    if let Some(origin) = pair.node.origin()?
        && let Some(revision) = origin.revision
    {
        mergeinfo = visit(session, &origin.url, || inherited_here(session, revision))?;
    }
    if let Some(value) = pair.node.props()?.get(names::MERGEINFO) {
        let own = Mergeinfo::parse(value)?;
        match &mut mergeinfo {
            Some(found) => found.merge(&own),
            None => mergeinfo = Some(own),
        }
    }
    if let Some(mergeinfo) = mergeinfo {
        let value = mergeinfo.to_value().into_bytes();
        let props = extra.props.entry(pair.to.clone()).or_default();
        props.push((names::MERGEINFO.to_owned(), value));
    }
    Ok(())
}

/// The pinned externals of a copy.
fn add_externals(
    ctx: &Context,
    pair: &Pair,
    items: &mut Vec<Item>,
    extra: &mut Extra,
) -> SvnResult<()> {
    let Node { wc, relpath, .. } = &pair.node;
    for (below, value) in pin_local(ctx, wc, relpath)? {
        let url = pair.to.join(RelPath::trusted(&below));
        match items.iter_mut().find(|item| item.url() == url) {
            Some(item) => item.changes.props = true,
            None => items.push(prop_item(wc, &relpath.join(&below), &pair.node, &url)?),
        }
        extra.props.entry(url).or_default().push((names::EXTERNALS.to_owned(), value));
    }
    Ok(())
}

/// An item that only sends properties of a directory that comes along with a copy.
fn prop_item(wc: &WorkingCopy, relpath: &RelPath, node: &Node, url: &Url) -> SvnResult<Item> {
    let (root, ..) = node.repository()?;
    let repos_relpath = url.relpath(&root)?;
    Ok(Item {
        wc: wc.clone(),
        relpath: relpath.to_owned(),
        kind: Some(NodeKind::Dir),
        root,
        repos_relpath,
        revision: None,
        copy_from: None,
        changes: Changes { props: true, ..Changes::default() },
    })
}
