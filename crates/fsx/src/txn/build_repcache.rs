//! Entering the texts of revisions into `rep-cache.db`, as their commits would have done. The reference refuses that for FSX.

use std::collections::HashSet;

use sapwood_core::{CancelToken, ErrorCode, NodeKind, Revnum, Sha1};
use sapwood_fs_common::rep_cache::Row;
use sapwood_fsx_format::Representation;

use super::Writer;
use crate::error::{Error, Result};
use crate::items::LIST;

impl Writer {
    /// Enters the texts and property lists that revisions `first` to `last` brought. `progress` is called for each revision before
    /// its turn.
    ///
    /// # Errors
    /// E160069 when sharing is switched off; corruption, and errors of the system.
    pub fn build_rep_cache(
        &self,
        first: Revnum,
        last: Revnum,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum) -> Result<()>,
    ) -> Result<()> {
        if !self.config.rep_sharing {
            let message = "Filesystem does not allow rep-sharing.";
            return Err(Error::new(ErrorCode::FS_REP_SHARING_NOT_ALLOWED, message));
        }
        for revision in (first.0..=last.0).map(Revnum) {
            progress(revision)?;
            self.write_rows(&self.rows_of(revision, cancel)?)?;
        }
        Ok(())
    }

    /// What a revision brought, found by walking its tree as far as it is new.
    fn rows_of(&self, revision: Revnum, cancel: &CancelToken) -> Result<Vec<Row>> {
        self.fs.ensure_exists(revision)?;
        let (mut rows, mut seen) = (Vec::new(), HashSet::new());
        let mut todo = vec![self.committed.root(revision)?];
        while let Some(node) = todo.pop() {
            cancel.check()?;
            let rev = &node.rev;
            if !seen.insert(rev.id) {
                return Err(Error::Corrupt(format!("Node-revision '{}' is below itself", rev.id)));
            }
            let own = |rep: &Representation| rep.id.change_set.revision() == Some(revision);
            if let Some(rep) = rev.text.filter(own).filter(|_| rev.kind == NodeKind::File) {
                // Those of files have it always.
                rows.extend(rep.sha1.map(|sha1| row(&rep, revision, sha1)));
            }
            if let Some(rep) = rev.props.filter(own) {
                let list = self.fs.whole(Some(rep), LIST)?;
                rows.push(row(&rep, revision, Sha1::of(&list)));
            }
            if rev.kind == NodeKind::Dir {
                for entry in &self.committed.directory(&node)?.0 {
                    if entry.id.change_set.revision() == Some(revision) {
                        todo.push(self.committed.node(&entry.id)?);
                    }
                }
            }
        }
        Ok(rows)
    }
}

fn row(rep: &Representation, revision: Revnum, sha1: Sha1) -> Row {
    let Representation { id, size, expanded_size, .. } = *rep;
    Row { sha1, revision, item: id.number, size, expanded_size }
}
