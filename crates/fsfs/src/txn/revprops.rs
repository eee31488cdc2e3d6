//! Changing the properties of revisions.
//!
//! All of it happens under the filesystem's write lock, with which nothing is packed meanwhile.

use sapwood_core::{ErrorCode, PropList, Revnum, SvnResult, hashdump};
use sapwood_fsfs_format::layout::names;

use super::Writer;
use crate::error::{Error, Result};

impl Writer {
    /// Changes the properties of a revision: `change` is given the present ones and says what
    /// they become, `None` to leave them. Nobody else changes them meanwhile.
    ///
    /// # Errors
    /// E160006 when there is no such revision; what `change` fails with; corruption and system
    /// errors. The properties are then what they were.
    pub fn change_revision_props(
        &self,
        revision: Revnum,
        change: &mut dyn FnMut(&PropList) -> SvnResult<Option<PropList>>,
    ) -> Result<()> {
        let _lock = self.lock(names::WRITE_LOCK)?;
        let present = self.fs.revprops(revision)?;
        match change(&present)? {
            Some(props) if props != *present => self.write_revision_props(revision, &props),
            _ => Ok(()),
        }
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
                return Err(sapwood_core::SvnError::new(
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

    /// Replaces the properties of a revision, under the lock.
    fn write_revision_props(&self, revision: Revnum, props: &PropList) -> Result<()> {
        let fs = &self.fs.fs;
        if fs.layout.is_revprop_packed(revision, fs.refresh_min_unpacked()?) {
            return Err(Error::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                format!("Properties of revision {revision} are packed"),
            ));
        }
        let path = fs.file(&fs.layout.revprops_file(revision));
        let mut text = Vec::new();
        hashdump::write(&mut text, props, Some(hashdump::END));
        let done = self.storage.replace(&path, &text, Some(&path), self.flush);
        done.map_err(|e| Error::io(e, "Can't write to file", &path))
    }
}
