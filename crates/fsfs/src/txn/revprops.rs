//! Changing the properties of revisions: what may be asked of a [`Writer`]. How it is done is the
//! [`RevisionStore`](crate::revision_store::RevisionStore)'s affair.

use sapwood_core::{ErrorCode, Revnum, SvnError};

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

    /// Sets or (with `None`) deletes a property of a revision, if its present value is `expected`.
    ///
    /// # Errors
    /// E160049 when it is not; those of [`Writer::change_revision_props`].
    pub fn change_revision_prop(
        &self,
        revision: Revnum,
        name: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<()> {
        self.change_revision_props(revision, &mut |present| {
            if present.get(name) != expected {
                return Err(SvnError::new(
                    ErrorCode::FS_PROP_BASEVALUE_MISMATCH,
                    format!("revprop '{name}' has unexpected value in filesystem"),
                ));
            }
            let mut props = present.clone();
            match value {
                Some(value) => drop(props.set(name, value)),
                None => drop(props.remove(name)),
            }
            Ok(Some(props))
        })
    }
}
