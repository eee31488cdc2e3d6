//! `svn commit`: changes of working copies become a revision.

mod drive;
mod errors;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_ra::{CommitInfo, CommitRequest, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::commit::{CommittedNode, Harvest, HarvestOptions, Item, Revision};
use sapwood_wc::db::Kind;
use sapwood_wc::locks::Lock;

pub(crate) use self::drive::{Drive, Extra, SentTexts};
use crate::commit_item::{CommitItem, ItemState};
use crate::context::Context;
use crate::target::is_url;
use crate::tree::check_uuid;
use crate::url_commit::{check_revprops, revision_props};

/// How to commit.
#[derive(Clone, Debug)]
pub struct Options {
    /// How deep below each target.
    pub depth: Depth,
    /// Whether locks stay.
    pub keep_locks: bool,
    /// Whether changelists stay.
    pub keep_changelists: bool,
    /// Whether externals of the same repository come along.
    pub include_externals: bool,
    /// Only what is on one of these changelists; empty for everything.
    pub changelists: Vec<String>,
    /// Revision properties beside the log message.
    pub revprops: PropList,
}

/// Commits local paths; `None` when there was nothing to commit, or no log message.
///
/// # Errors
/// `E200009` for a URL among the targets; what harvesting, the session and the working copy meet.
pub fn commit(
    ctx: &Context,
    targets: &[String],
    options: &Options,
) -> SvnResult<Option<CommitInfo>> {
    if let Some(url) = targets.iter().find(|target| is_url(target)) {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            format!("'{url}' is a URL, but URLs cannot be commit targets"),
        ));
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut seen = HashSet::new();
    for target in targets {
        let abspath = ctx.absolute(target);
        if seen.insert(abspath.clone()) {
            paths.push(abspath);
        }
    }
    let Some(base) = common_folder(&paths) else { return Ok(None) };
    let mut plan = Plan::new(ctx, base, paths, options)?;
    let locks = plan.lock()?;
    let result = plan.run();
    let dropped = plan.drop_text_bases();
    drop(locks);
    if plan.touched {
        ctx.wait_for_clock();
    }
    let info = result?;
    dropped?;
    Ok(info)
}

/// The deepest path at or above all of some.
fn common_folder(paths: &[PathBuf]) -> Option<PathBuf> {
    let (first, rest) = paths.split_first()?;
    Some(rest.iter().fold(first.clone(), |common, path| {
        let shared = common.ancestors().find(|dir| path.starts_with(dir));
        shared.unwrap_or(Path::new("/")).to_owned()
    }))
}

/// A target in its working copy.
struct CommitTarget {
    wc: WorkingCopy,
    relpath: RelPathBuf,
    depth: Depth,
}

struct Plan<'a> {
    ctx: &'a Context,
    options: &'a Options,
    targets: Vec<CommitTarget>,
    /// The prefix that is cut off from reported paths.
    prefix: String,
    /// Whether files of the working copy may have been written.
    touched: bool,
}

pub(crate) fn failed(error: SvnError) -> SvnError {
    error.context("Commit failed (details follow):")
}

fn bump_failed(error: SvnError) -> SvnError {
    let code = error.code();
    error
        .context("Error bumping revisions post-commit (details follow):")
        .wrap(code, "Commit succeeded, but other errors follow:")
}

impl<'a> Plan<'a> {
    fn new(
        ctx: &'a Context,
        base: PathBuf,
        paths: Vec<PathBuf>,
        options: &'a Options,
    ) -> SvnResult<Self> {
        let prefix = common_folder(&[ctx.here.clone(), base]).unwrap_or_default();
        let mut targets = Vec::new();
        for abspath in paths {
            let (wc, relpath) = ctx.working_copy(&abspath)?;
            targets.push(CommitTarget { wc, relpath, depth: options.depth });
        }
        let prefix = prefix.display().to_string();
        let mut plan = Self { ctx, options, targets, prefix, touched: false };
        if options.include_externals && options.depth != Depth::Empty {
            plan.add_externals()?;
        }
        Ok(plan)
    }

    /// Externals become targets of their own.
    fn add_externals(&mut self) -> SvnResult<()> {
        let depth = self.options.depth;
        let inner = if depth == Depth::Infinity { Depth::Infinity } else { Depth::Empty };
        let mut found = Vec::new();
        for place in &self.targets {
            for external in place.wc.committable_externals(&place.relpath, depth)? {
                let (wc, relpath) = self.ctx.working_copy(&external.abspath)?;
                found.push(CommitTarget { wc, relpath, depth: inner });
            }
        }
        self.targets.extend(found);
        Ok(())
    }

    /// Locks one directory of each working copy, over all of its targets.
    fn lock(&self) -> SvnResult<Vec<Lock>> {
        let mut roots: BTreeMap<PathBuf, (WorkingCopy, Vec<&RelPath>)> = BTreeMap::new();
        for place in &self.targets {
            let entry = roots
                .entry(place.wc.root().to_owned())
                .or_insert_with(|| (place.wc.clone(), Vec::new()));
            entry.1.push(&place.relpath);
        }
        let mut locks = Vec::new();
        for (wc, relpaths) in roots.into_values() {
            let Some(mut common) = relpaths.first().copied() else { continue };
            for relpath in &relpaths {
                common = common.common_ancestor(relpath);
            }
            // The parent of a target, so that the target can go.
            let mut dir = if relpaths.contains(&common) { common.parent() } else { common };
            if wc.db().top(dir)?.is_none_or(|row| row.kind != Kind::Dir) {
                // The error then names what the reference's names.
                dir = dir.parent();
            }
            locks.push(wc.lock(dir, -1).map_err(|e| failed(e.into()))?);
        }
        Ok(locks)
    }

    /// Where text bases are not all kept: removes those of what is not modified any more.
    fn drop_text_bases(&self) -> SvnResult<()> {
        for place in self.targets.iter().filter(|_| self.touched) {
            place.wc.drop_text_bases(&place.relpath, self.ctx.cancel())?;
        }
        Ok(())
    }

    fn harvest(&self) -> SvnResult<Harvest> {
        let changelists: HashSet<String> = self.options.changelists.iter().cloned().collect();
        let mut harvest = Harvest::default();
        for place in &self.targets {
            self.ctx.check_cancel()?;
            let how = HarvestOptions {
                depth: place.depth,
                just_locked: !self.options.keep_locks,
                changelists: changelists.clone(),
                cancel: self.ctx.cancel().clone(),
            };
            harvest.target(&place.wc, &place.relpath, &how)?;
        }
        let check = KindCheck::new(self.ctx);
        harvest.finish(&|url, revision| Ok(check.kind(url, revision)?))?;
        Ok(harvest)
    }

    fn run(&mut self) -> SvnResult<Option<CommitInfo>> {
        let mut harvest = self.harvest().map_err(failed)?;
        let Some(root) = harvest.items.first().map(|item| item.root.clone()) else {
            return Ok(None);
        };
        if harvest.items.iter().any(|item| item.root != root) {
            return Err(failed(SvnError::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                "Commit can only commit to a single repository at a time.\n\
                 Are all targets part of the same working copy?",
            )));
        }
        if harvest.items.iter().all(|item| item.changes.only_lock()) {
            return Ok(None);
        }
        let moves = both_sides_of_moves(&harvest).map_err(failed)?;
        let Some(message) = self.message(&harvest).map_err(failed)? else { return Ok(None) };
        check_revprops(&self.options.revprops).map_err(failed)?;
        let base = condense(&mut harvest.items, &[]).map_err(failed)?;
        let session = sapwood_ra::open(&base, &self.ctx.ra).map_err(failed)?;
        if let Some(place) = self.targets.first() {
            let check = || {
                let (id, _) = place.wc.repos_location(&place.relpath)?;
                check_uuid(&place.wc, id, session.as_ref())
            };
            check().map_err(failed)?;
        }
        if !moves.is_empty() {
            raise_copy_revisions(session.as_ref(), &mut harvest.items, &moves).map_err(failed)?;
        }
        let (info, sent) =
            self.send(session.as_ref(), &base, &harvest, &message).map_err(failed)?;
        self.touched = true;
        self.ctx.notify_commit(&info)?;
        self.process(harvest.items, sent, &info).map_err(bump_failed)?;
        Ok(Some(info))
    }

    /// The log message; `None` gives the commit up.
    fn message(&self, harvest: &Harvest) -> SvnResult<Option<Vec<u8>>> {
        let shown: Vec<CommitItem> = harvest.items.iter().map(commit_item).collect();
        self.ctx.message_for(&shown)
    }

    fn send(
        &self,
        session: &dyn Session,
        base: &Url,
        harvest: &Harvest,
        message: &[u8],
    ) -> SvnResult<(CommitInfo, SentTexts)> {
        let revprops = revision_props(&self.options.revprops, message)?;
        let tokens: Vec<(RelPathBuf, String)> = harvest
            .tokens
            .iter()
            .filter_map(|(url, token)| Some((url.below(base)?, token.clone())))
            .collect();
        let request = CommitRequest {
            revprops: &revprops,
            lock_tokens: &tokens,
            keep_locks: self.options.keep_locks,
        };
        let mut editor = session.commit(&request)?;
        let drive = Drive { ctx: self.ctx, prefix: Some(&self.prefix), extra: &Extra::default() };
        let sent = match drive.run(base, editor.as_mut(), &harvest.items) {
            Ok(sent) => sent,
            Err(error) => {
                // The first error says more than a failure of the abort would.
                let _aborted = editor.abort_edit();
                return Err(error);
            }
        };
        let info = editor
            .committed()
            .cloned()
            .ok_or_else(|| SvnError::internal("a commit was closed without a revision"))?;
        Ok((info, sent))
    }

    /// Makes what was committed BASE, in one working copy after the other.
    fn process(&self, items: Vec<Item>, mut sent: SentTexts, info: &CommitInfo) -> SvnResult<()> {
        let revision = Revision {
            number: info.revision,
            date: info.date.as_deref().map(|d| Timestamp::parse(d.as_bytes())).transpose()?,
            author: info.author.clone(),
            keep_locks: self.options.keep_locks,
            keep_changelists: self.options.keep_changelists,
        };
        let mut roots: BTreeMap<PathBuf, (WorkingCopy, Vec<CommittedNode>)> = BTreeMap::new();
        for item in items {
            let text = sent.remove(&item.abspath());
            let entry = roots
                .entry(item.wc.root().to_owned())
                .or_insert_with(|| (item.wc.clone(), Vec::new()));
            entry.1.push(CommittedNode {
                relpath: item.relpath,
                changes: item.changes,
                recurse: false,
                text,
            });
        }
        for (wc, committed) in roots.into_values() {
            wc.process_committed(committed, &revision, self.ctx.cancel())?;
        }
        Ok(())
    }
}

/// Asks the repository for kinds of nodes, over one session.
pub(crate) struct KindCheck<'a> {
    ctx: &'a Context,
    session: std::cell::RefCell<Option<Box<dyn Session>>>,
}

impl<'a> KindCheck<'a> {
    pub(crate) const fn new(ctx: &'a Context) -> Self {
        Self { ctx, session: std::cell::RefCell::new(None) }
    }

    pub(crate) fn kind(&self, url: &Url, revision: Revnum) -> SvnResult<Option<NodeKind>> {
        let mut session = self.session.borrow_mut();
        let usable = session.as_ref().is_some_and(|s| url.below(&s.root_url()).is_some());
        if usable && let Some(session) = session.as_ref() {
            session.reparent(url)?;
        } else {
            *session = Some(sapwood_ra::open(url, &self.ctx.ra)?);
        }
        session.as_ref().map_or(Ok(None), |s| s.check_path(RelPath::ROOT, Some(revision)))
    }
}

/// An item as the author of the message sees it.
pub(crate) fn commit_item(item: &Item) -> CommitItem {
    let changes = item.changes;
    CommitItem {
        path: Some(item.abspath().display().to_string()),
        url: item.url(),
        kind: item.kind,
        state: ItemState {
            add: changes.add,
            delete: changes.delete,
            text_mods: changes.text,
            prop_mods: changes.props,
            is_copy: changes.copy,
            lock_token: changes.lock_token,
        },
        revision: item.revision,
        copy_from: item.copy_from.as_ref().map(|(from, rev)| (item.root.join(from), *rev)),
    }
}

/// Checks that of each move both sides are committed. Returns the destinations whose copy may be
/// taken from a younger revision.
fn both_sides_of_moves(harvest: &Harvest) -> SvnResult<HashSet<PathBuf>> {
    let refuse = |item: &Item, other: &RelPath, word: &str| {
        let shown = item.wc.abspath(other);
        Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            format!(
                "Cannot commit '{}' because it was moved {word} '{}' which is not part of the \
                 commit; both sides of the move must be committed together",
                item.abspath().display(),
                shown.display()
            ),
        ))
    };
    let mut younger = HashSet::new();
    for item in &harvest.items {
        if item.changes.moved_here
            && let Some(source) = item.wc.db().moved_from(&item.relpath)?
        {
            let deletion = sapwood_wc::view::operation_root(&source.relpath, source.op_depth);
            match harvest.find(&item.wc.abspath(deletion)) {
                None => return refuse(item, deletion, "from"),
                Some(other) if other.revision == item.copy_from.as_ref().map(|(_, rev)| *rev) => {
                    younger.insert(item.abspath());
                }
                Some(_) => {}
            }
        }
        if item.changes.delete
            && let Some(top) = item.wc.db().top(&item.relpath)?
            && let Some(to) = top.moved_to
            && harvest.find(&item.wc.abspath(&to)).is_none()
        {
            return refuse(item, &to, "to");
        }
    }
    Ok(younger)
}

/// Moves are committed as copies of the youngest revision: the deletion of the source proves that
/// the source is still what it was.
fn raise_copy_revisions(
    session: &dyn Session,
    items: &mut [Item],
    moves: &HashSet<PathBuf>,
) -> SvnResult<()> {
    let youngest = session.latest_revnum()?;
    for item in items {
        let is_move = moves.contains(&item.abspath());
        if let Some((_, revision)) = item.copy_from.as_mut().filter(|_| is_move) {
            *revision = (*revision).max(youngest);
        }
    }
    Ok(())
}

/// Sorts items by URL and finds the directory that the edit begins at; `dirs` are URLs of directories
/// that are made too.
pub(crate) fn condense(items: &mut [Item], dirs: &[UrlBuf]) -> SvnResult<UrlBuf> {
    items.sort_by(|a, b| path::compare(&a.repos_relpath, &b.repos_relpath));
    let root = items.first().map(|item| item.root.clone());
    let root = root.ok_or_else(|| SvnError::internal("a commit of nothing"))?;
    let mut base: Option<String> = None;
    let mut reach = |place: &str, opens: bool| {
        let mut common = match base.take() {
            None => place.to_owned(),
            Some(base) => path::common_ancestor(&base, place).to_owned(),
        };
        if common == place && !opens {
            common = path::dirname(&common).to_owned();
        }
        base = Some(common);
    };
    let mut last: Option<&Item> = None;
    for item in items.iter() {
        if let Some(last) = last.filter(|last| last.repos_relpath == item.repos_relpath) {
            return Err(SvnError::new(
                ErrorCode::CLIENT_DUPLICATE_COMMIT_URL,
                format!(
                    "Cannot commit both '{}' and '{}' as they refer to the same URL",
                    item.abspath().display(),
                    last.abspath().display()
                ),
            ));
        }
        let changes = sapwood_wc::commit::Changes { props: true, ..Default::default() };
        let opens = item.kind == Some(NodeKind::Dir) && item.changes == changes;
        reach(&item.repos_relpath, opens);
        last = Some(item);
    }
    for dir in dirs {
        reach(&dir.relpath(&root)?, false);
    }
    let base = base.ok_or_else(|| SvnError::internal("a commit of nothing"))?;
    Ok(root.join(RelPath::trusted(&base)))
}
