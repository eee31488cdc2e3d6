//! Revisions and their properties.

use sapwood_core::date::Timestamp;
use sapwood_core::{PropList, Revnum, SvnResult};
use sapwood_repos::{RevpropHooks, RevpropRequest, change_revision_prop};

use super::{ALL, FileSession};
use crate::session::{Revisions, RevpropChange};

impl Revisions for FileSession {
    fn latest_revnum(&self) -> SvnResult<Revnum> {
        Ok(self.fs().youngest()?)
    }

    fn dated_revision(&self, time: Timestamp) -> SvnResult<Revnum> {
        Ok(self.fs().dated_revision(time.0)?)
    }

    fn rev_proplist(&self, revision: Revnum) -> SvnResult<PropList> {
        Ok((*self.fs().revprops(revision)?).clone())
    }

    fn rev_prop(&self, revision: Revnum, name: &str) -> SvnResult<Option<Vec<u8>>> {
        Ok(self.fs().revprops(revision)?.get(name).map(<[u8]>::to_vec))
    }

    fn change_rev_prop(&self, change: &RevpropChange<'_>) -> SvnResult<()> {
        let RevpropChange { revision, name, expected, value } = *change;
        let user = self.user();
        let hooks = RevpropHooks::ALL;
        let request = RevpropRequest { revision, name, expected, value, user, hooks };
        change_revision_prop(&self.repository, &self.hooks(), &request, ALL)
    }
}
