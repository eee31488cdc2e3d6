//! Properties of the revisions of a dump, one after the other.

use std::sync::Arc;

use sapwood_core::{PropList, Revnum};
use sapwood_fs::RevpropsSnapshot;

use crate::access::{RevisionAccess, restrict, revision_access};
use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// For how many revisions what was read is trusted. Where properties changed a moment ago, their whole pack is
/// read for each snapshot; and a dump takes hours, in which changes shall be seen.
const TRUSTED: u32 = 64;

/// Reads properties by snapshots that do not grow old.
pub(super) struct PropsInTurn<'a> {
    repository: &'a Repository,
    snapshot: RevpropsSnapshot,
    asked: u32,
}

impl<'a> PropsInTurn<'a> {
    pub(super) fn new(repository: &'a Repository) -> Self {
        Self { repository, snapshot: repository.fs().revprops_snapshot(), asked: 0 }
    }

    /// Those of `revision` that `filter` lets be seen.
    pub(super) fn get(
        &mut self,
        revision: Revnum,
        filter: Option<&dyn PathAuthorizer>,
    ) -> Result<Arc<PropList>> {
        let access = match filter {
            Some(filter) => revision_access(self.repository, revision, filter)?,
            None => RevisionAccess::Full,
        };
        if access == RevisionAccess::None {
            return Ok(Arc::default());
        }
        if self.asked == TRUSTED {
            *self = Self::new(self.repository);
        }
        self.asked += 1;
        Ok(restrict(self.snapshot.get(revision)?, access))
    }
}
