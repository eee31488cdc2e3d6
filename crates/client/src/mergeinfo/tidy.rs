//! Mergeinfo of nodes that says nothing: the node would mean the same without it. It slows every merge down,
//! because each node with mergeinfo of its own is asked about by itself.
//!
//! What a node has is compared with what it would inherit, both without sources that do not exist: a source
//! that was nowhere in any revision of its ranges, or, if deleted branches are not to count, is not there now. A
//! value that is empty is removed only where nothing is inherited: else it says that nothing was merged.

use std::collections::HashMap;

use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, Exact as _, Inherit, Revnum, SvnError, SvnResult, path};
use sapwood_ra::Session;
use sapwood_wc::WorkingCopy;
use sapwood_wc::props::Change;

use super::local::{Invalid, find, find_anywhere, values_below};
use super::{Mergeinfo, RangeList};
use crate::context::Context;
use crate::working::Node;

/// The options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tidy {
    /// Whether it is removed; else it is only reported.
    pub apply: bool,
    /// Whether branches that were deleted count as nonexistent.
    pub deleted_branches: bool,
}

/// Why the mergeinfo of a node says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The node would inherit the same.
    Inherited,
    /// It is empty, and so is what would be inherited.
    Empty,
    /// It would inherit the same, but for these sources, which do not exist.
    Sources(Vec<String>),
    /// It is not valid mergeinfo: it is reported, and stays.
    Unreadable,
}

/// The number of nodes with mergeinfo, and of those with redundant mergeinfo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes with mergeinfo of their own.
    pub all: u64,
    /// Those whose mergeinfo says nothing.
    pub needless: u64,
}

/// Finds redundant mergeinfo at and below a path, reports it (by local path), and removes it if
/// requested.
///
/// # Errors
/// E155007 for what is in no working copy, E155004 when it is locked; those of sessions.
pub fn tidy(
    ctx: &Context,
    target: &str,
    how: Tidy,
    report: &mut dyn FnMut(&str, &Reason) -> SvnResult<()>,
) -> SvnResult<Counts> {
    let node = Node::find(ctx, target)?;
    let (wc, relpath) = (node.wc.clone(), node.relpath.clone());
    let lock = match how.apply {
        true => {
            let is_dir = wc.view(&relpath)?.is_some_and(|view| view.is_dir());
            let place = if is_dir { relpath.as_path() } else { relpath.parent() };
            Some(wc.lock(place, -1)?)
        }
        false => None,
    };
    let mut work = Work { ctx, wc: &wc, how, session: None, known: HashMap::new(), head: None };
    let result = work.all(&relpath, report);
    if let Some(lock) = lock {
        lock.release()?;
    }
    result
}

struct Work<'w> {
    ctx: &'w Context,
    wc: &'w WorkingCopy,
    how: Tidy,
    /// Opened at the repository's root when the server has to be asked.
    session: Option<Box<dyn Session>>,
    /// Whether a source exists in a revision.
    known: HashMap<(String, u64), bool>,
    head: Option<u64>,
}

impl Work<'_> {
    fn all(
        &mut self,
        relpath: &RelPath,
        report: &mut dyn FnMut(&str, &Reason) -> SvnResult<()>,
    ) -> SvnResult<Counts> {
        let mut counts = Counts::default();
        let mut values: Vec<_> = values_below(self.wc, relpath)?.into_iter().collect();
        values.sort_by(|a, b| path::compare(&a.0, &b.0));
        for (relpath, value) in values {
            self.ctx.check_cancel()?;
            counts.all.tally(1);
            let Some(reason) = self.judge(&relpath, &value)? else { continue };
            report(&self.wc.abspath(&relpath).to_string_lossy(), &reason)?;
            if reason == Reason::Unreadable {
                continue;
            }
            counts.needless.tally(1);
            if self.how.apply {
                let change = Change { name: names::MERGEINFO, value: None, force: true };
                let none = std::collections::HashSet::new();
                let token = CancelToken::new();
                self.wc.set_prop(&relpath, change, Depth::Empty, &none, &token, &|_| {})?;
            }
        }
        Ok(counts)
    }

    /// Why the mergeinfo of a node says nothing; `None` when it says something.
    fn judge(&mut self, relpath: &RelPath, value: &[u8]) -> SvnResult<Option<Reason>> {
        let Ok(own) = Mergeinfo::parse(value) else { return Ok(Some(Reason::Unreadable)) };
        let Some(inherited) = self.inherited(relpath)? else { return Ok(None) };
        if own.is_empty() && inherited.is_empty() {
            return Ok(Some(Reason::Empty));
        }
        if own.equals(&inherited, true) {
            return Ok(Some(Reason::Inherited));
        }
        // The server is asked only where it may matter: every source that both have is as good as there.
        let (mut mine, mut theirs) = (own.clone(), inherited);
        mine.0.retain(|source, ranges| theirs.0.get(source) != Some(&*ranges));
        theirs.0.retain(|source, ranges| own.0.get(source) != Some(&*ranges));
        let mut missing = Vec::new();
        for (source, ranges) in mine.0.iter().chain(&theirs.0) {
            if self.exists(source, ranges)? {
                return Ok(None);
            }
            if mine.0.contains_key(source) && !missing.contains(source) {
                missing.push(source.clone());
            }
        }
        Ok(Some(match missing.is_empty() {
            true => Reason::Inherited,
            false => Reason::Sources(missing),
        }))
    }

    /// What a node would inherit; `None` when that is unknown.
    fn inherited(&mut self, relpath: &RelPath) -> SvnResult<Option<Mergeinfo>> {
        let readable = |result: SvnResult<super::local::LocalMergeinfo>| match result {
            Err(error) if error.is_bad_mergeinfo() => Ok(None),
            other => other.map(Some),
        };
        let found = find(self.wc, relpath, Inherit::NearestAncestor, None, Invalid::Refuse);
        let Some(found) = readable(found)? else { return Ok(None) };
        if let Some(mergeinfo) = found.mergeinfo {
            return Ok(Some(mergeinfo));
        }
        let node = Node::find(self.ctx, &self.wc.abspath(relpath).to_string_lossy())?;
        let session = self.session()?;
        let found = find_anywhere(&node, session, Inherit::NearestAncestor, true);
        Ok(readable(found)?.map(|found| found.mergeinfo.unwrap_or(Mergeinfo::new())))
    }

    fn session(&mut self) -> SvnResult<&dyn Session> {
        if self.session.is_none() {
            let (root, _, _) =
                Node::find(self.ctx, &self.wc.root().to_string_lossy())?.repository()?;
            self.session = Some(sapwood_ra::open(&root, &self.ctx.ra)?);
        }
        let missing = || SvnError::internal("no session");
        self.session.as_deref().ok_or_else(missing)
    }

    /// Whether a source exists: in the last revision of one of its ranges, and, if deleted branches do
    /// not count, in the youngest one.
    fn exists(&mut self, source: &str, ranges: &RangeList) -> SvnResult<bool> {
        let head = match self.head {
            Some(head) => head,
            None => {
                let youngest = self.session()?.latest_revnum()?.0;
                *self.head.insert(youngest)
            }
        };
        if self.is_there(source, head)? {
            return Ok(true);
        }
        if self.how.deleted_branches {
            return Ok(false);
        }
        for range in &ranges.0 {
            let last = range.start.max(range.end).min(head);
            if self.is_there(source, last)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_there(&mut self, source: &str, revision: u64) -> SvnResult<bool> {
        let asked = (source.to_owned(), revision);
        if let Some(known) = self.known.get(&asked) {
            return Ok(*known);
        }
        let at = path::to_relpath(source);
        let found =
            self.session()?.check_path(RelPath::trusted(at), Some(Revnum(revision)))?.is_some();
        self.known.insert(asked, found);
        Ok(found)
    }
}
