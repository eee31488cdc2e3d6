//! Changing the properties of revisions: what may be asked of a [`Writer`]. How it is done is the
//! [`RevisionStore`](crate::revision_store::RevisionStore)'s affair.

use sapwood_core::Revnum;

use super::Writer;
use crate::error::Result;
use crate::revision_store::{ChangeProps, PropsWriting};

impl Writer {
    /// Changes the properties of a revision: `change` is given the present ones and says what
    /// they become, `None` to leave them. What it says is written only while the properties are those that
    /// it was given: should another writer change them meanwhile, then it is asked again.
    ///
    /// # Errors
    /// E160006 when there is no such revision; what `change` fails with; corruption and system
    /// errors. The properties are then what they were.
    pub fn change_revision_props(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()> {
        self.fs.fs.ensure_exists(revision)?;
        let how = PropsWriting { flush: self.flush, packing: self.revprop_packing };
        self.fs.fs.revisions.put_revprops_if_unchanged(revision, change, &how)
    }
}
