//! How two branches stand to one another: where they parted, up to where one is merged into the other
//! without a gap, and so what an automatic merge has to do.

use sapwood_core::{ErrorCode, Inherit, SvnError, SvnResult};
use sapwood_ra::{LogEntry, RevpropSelection, Session};

use super::log::Branches;
use super::place::{History, RepoLocation};
use super::{Catalog, remote};
use crate::context::Context;
use crate::revision::Revision;
use crate::target::{Target, is_url};
use crate::working::Node;

/// What an automatic merge would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automatic {
    /// Where the branches parted.
    pub ancestor: RepoLocation,
    /// Up to where one was merged into the other: on the source, or if the last merge went the other
    /// way, on the target.
    pub base: RepoLocation,
    /// The source.
    pub right: RepoLocation,
    /// The target.
    pub target: RepoLocation,
    /// Whether the last merge went the other way.
    pub reintegrate_like: bool,
}

/// Two branches with their histories.
pub struct Pair<'a> {
    /// A session in the repository.
    pub session: &'a dyn Session,
    /// What is merged.
    pub source: RepoLocation,
    /// Into what.
    pub target: RepoLocation,
}

impl Pair<'_> {
    /// Finds what an automatic merge would do.
    ///
    /// # Errors
    /// E195016 for branches that are not related; those of the session.
    pub fn automatic(&self) -> SvnResult<Automatic> {
        let source = History::of(self.session, &self.source)?;
        let target = History::of(self.session, &self.target)?;
        let ancestor = source.meet(&target).ok_or_else(|| unrelated(&self.source, &self.target))?;
        let on_source = self.last_merged(&ancestor, &source, &self.target)?;
        let on_target = self.last_merged(&ancestor, &target, &self.source)?;
        let reintegrate_like = on_source.revision < on_target.revision;
        Ok(Automatic {
            ancestor,
            base: if reintegrate_like { on_target } else { on_source },
            right: self.source.clone(),
            target: self.target.clone(),
            reintegrate_like,
        })
    }

    /// The last location of a branch up to which all was merged into `target`; the common ancestor when
    /// nothing was.
    fn last_merged(
        &self,
        ancestor: &RepoLocation,
        branch: &History,
        target: &RepoLocation,
    ) -> SvnResult<RepoLocation> {
        let catalog = remote::catalog(self.session, target, Inherit::Inherited, true)?;
        if catalog.is_empty() {
            return Ok(ancestor.clone());
        }
        let tip = branch.tip.revision;
        let merged = (tip, ancestor.revision);
        let Some(youngest) = self.first(branch, target, true, catalog.clone(), merged)? else {
            return Ok(ancestor.clone());
        };
        let eligible = (ancestor.revision, youngest);
        let base = match self.first(branch, target, false, catalog, eligible)? {
            Some(oldest) => oldest.saturating_sub(1),
            None => youngest,
        };
        // The branch may have a gap there.
        let before = branch.mergeinfo.within(ancestor.revision.saturating_sub(1), base);
        let end = before.bounds().map_or(ancestor.revision, |(_, end)| end);
        Ok(branch.at(end).unwrap_or_else(|| ancestor.clone()))
    }

    /// The first revision of a log of merged or eligible revisions.
    fn first(
        &self,
        branch: &History,
        target: &RepoLocation,
        merged: bool,
        catalog: Catalog,
        range: (u64, u64),
    ) -> SvnResult<Option<u64>> {
        let before = self.session.url();
        let branches = Branches {
            session: self.session,
            source_session: self.session,
            target,
            target_relpath: &target.relpath,
            source: &branch.tip,
        };
        let mut first = None;
        let none = RevpropSelection::Names(&[]);
        let mut take = |entry: &LogEntry<'_>, _: bool| {
            first = entry.revision.map(|revision| revision.0);
            Err(SvnError::new(ErrorCode::CEASE_INVOCATION, ""))
        };
        let result = branches.log(merged, catalog, Some(range), none, &mut take);
        let back = self.session.reparent(&before);
        match result {
            Err(error) if error.is_ceased() && first.is_some() => {}
            other => other?,
        }
        back?;
        Ok(first)
    }
}

/// The error for branches without a common ancestor.
pub(crate) fn unrelated(source: &RepoLocation, target: &RepoLocation) -> SvnError {
    SvnError::new(
        ErrorCode::CLIENT_NOT_READY_TO_MERGE,
        format!(
            "'{}@{}' must be ancestrally related to '{}@{}'",
            source.url(),
            source.revision,
            target.url(),
            target.revision
        ),
    )
}

/// E195012 for locations of different repositories.
pub(crate) fn check_same_repository(
    source: (&RepoLocation, &str),
    target: (&RepoLocation, &str),
) -> SvnResult<()> {
    if source.0.is_same_repository(target.0) {
        return Ok(());
    }
    Err(SvnError::new(
        ErrorCode::CLIENT_UNRELATED_RESOURCES,
        format!("'{}' must be from the same repository as '{}'", source.1, target.1),
    ))
}

/// Whether a target is looked at as the working copy has it.
#[must_use]
pub fn is_working(target: &Target) -> bool {
    let here = matches!(target.peg, Revision::Unspecified | Revision::Working | Revision::Base);
    !is_url(&target.text) && here
}

/// How a source and a target stand to one another.
///
/// # Errors
/// E195012 for what is in different repositories or not in the repository yet, E195016 for branches
/// that are not related; those of sessions and the working copy.
pub fn summary(ctx: &Context, source: &Target, target: &Target) -> SvnResult<Automatic> {
    if !is_working(target) {
        let (session, source) = RepoLocation::open(ctx, &source.text, source.peg)?;
        let (_, target) = RepoLocation::open(ctx, &target.text, target.peg)?;
        if !source.is_same_repository(&target) {
            return Err(unrelated(&source, &target));
        }
        return Pair { session: session.as_ref(), source, target }.automatic();
    }
    let shown = ctx.absolute(&target.text).display().to_string();
    let place = target_place(&Node::find(ctx, &target.text)?, &shown)?;
    let (session, found) = RepoLocation::open(ctx, &source.text, source.peg)?;
    check_same_repository((&found, &source.text), (&place, &shown))?;
    Pair { session: session.as_ref(), source: found, target: place }.automatic()
}

/// The location of the target of an automatic merge.
pub(crate) fn target_place(node: &Node, shown: &str) -> SvnResult<RepoLocation> {
    if sapwood_wc::view::stat_file(&node.abspath())?.is_none() {
        return Err(SvnError::new(
            ErrorCode::WC_PATH_NOT_FOUND,
            format!("Path '{shown}' does not exist"),
        ));
    }
    RepoLocation::origin(node)?.ok_or_else(|| {
        SvnError::new(
            ErrorCode::CLIENT_UNRELATED_RESOURCES,
            format!(
                "Can't perform automatic merge into '{shown}' because it is locally added and \
                 therefore not related to the merge source"
            ),
        )
    })
}
