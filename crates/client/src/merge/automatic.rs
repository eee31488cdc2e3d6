//! Merges without revisions: what the target lacks is found out.

use sapwood_core::SvnResult;
use sapwood_ra::Session;

use super::target::MergeTarget;
use crate::context::Context;
use crate::mergeinfo::place::RepoLocation;
pub(super) use crate::mergeinfo::summary::Automatic as AutomaticMerge;
use crate::mergeinfo::summary::Pair;
use crate::working::Node;

pub(super) use super::reintegrate::find_reintegrate;

/// Finds out what is to be merged from a source (in the revision of its location) into a target.
pub(super) fn find(
    ctx: &Context,
    session: &dyn Session,
    source: &RepoLocation,
    target: &MergeTarget,
) -> SvnResult<AutomaticMerge> {
    let place = match &target.place {
        Some(place) => place.clone(),
        None => {
            let shown = target.display_path();
            crate::mergeinfo::summary::target_place(&Node::find(ctx, &shown)?, &shown)?
        }
    };
    Pair { session, source: source.clone(), target: place }.automatic()
}
