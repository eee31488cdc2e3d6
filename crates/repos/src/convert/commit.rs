//! Revisions of the source become those of the target, one transaction each.

use std::sync::Arc;

use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_fs::txn::{Bulk, Touch, Txn, Writer};
use sapwood_fs::{ChangeKind, Filesystem, Roots};
use sapwood_store::ordered::{self, Outlet, ReceiverGone};

use super::ahead::{self, ReadChange, ReadNode, ReadRevision};
use super::summary::Summaries;
use super::{Event, Notify, Pair};

/// Commits revisions from the first to the last of `range`, which several threads read ahead. Returns what they are to have.
pub(super) fn revisions(
    pair: &Pair<'_>,
    range: (Revnum, Revnum),
    notify: &mut Notify<'_>,
) -> SvnResult<Summaries> {
    let (source, writer) = (pair.source, pair.writer);
    let work = |(first, last): (Revnum, Revnum), to: &Outlet<'_, SvnResult<ReadRevision>>| {
        for revision in (first.0..=last.0).map(Revnum) {
            let read = ahead::read(source, revision);
            let has_failed = read.is_err();
            to.send(read)?;
            if has_failed {
                return Err(ReceiverGone);
            }
        }
        Ok(())
    };
    let bulk = Bulk::new(writer)?;
    let mut target = Target { source, writer, bulk: bulk.as_ref(), roots: Roots::new(writer.fs()) };
    let mut summaries = Summaries::new(range.0);
    let done =
        ordered::run(ordered::short_batches(range.0, range.1), pair.threads, &work, &mut |read| {
            pair.cancel.check()?;
            let read = read?;
            target.commit(&read)?;
            summaries.push(read.summary);
            notify(Event::Committed(read.revision))
        });
    // An earlier revision that could not be published is the first error.
    let published = bulk.as_ref().map_or(Ok(()), |bulk| bulk.sync().map_err(SvnError::from));
    published.and(done).map(|()| summaries)
}

/// What revisions are committed to, and the source of texts that were not read ahead.
struct Target<'a> {
    source: &'a Filesystem,
    writer: &'a Arc<Writer>,
    bulk: Option<&'a Bulk>,
    roots: Roots,
}

impl Target<'_> {
    /// Commits the next revision.
    fn commit(&mut self, read: &ReadRevision) -> SvnResult<()> {
        let mut txn = match self.bulk {
            Some(bulk) => bulk.begin()?,
            None => self.writer.begin(self.writer.fs().youngest()?)?,
        };
        if txn.base_revision().next() != read.revision {
            let message = "The target was changed by another program during the conversion";
            return Err(SvnError::new(ErrorCode::FS_CONFLICT, message));
        }
        for change in &read.changes {
            self.apply(read.revision, &mut txn, change)?;
        }
        *txn.props_mut() = PropList::clone(&read.props);
        txn.keep_date(true);
        match self.bulk {
            Some(bulk) => bulk.commit(txn)?,
            None => txn.commit()?,
        };
        Ok(())
    }

    /// Makes one changed path of the target what it is in the source.
    fn apply(&mut self, revision: Revnum, txn: &mut Txn, change: &ReadChange) -> SvnResult<()> {
        let path = &change.path;
        let goes = matches!(change.kind, ChangeKind::Delete | ChangeKind::Replace);
        if goes && txn.kind(path)?.is_some() {
            txn.delete(path)?;
        }
        let Some(node) = &change.node else { return Ok(()) };
        if matches!(change.kind, ChangeKind::Add | ChangeKind::Replace) {
            match &change.copy_from {
                Some((from, from_path)) => {
                    txn.copy(&self.roots.get(*from)?, from_path, path, true)?;
                }
                None if node.kind == NodeKind::Dir => txn.make_dir(path)?,
                None => txn.make_file(path)?,
            }
        }
        let changes = match change.kind {
            ChangeKind::Modify if node.has_old_props => Vec::new(),
            _ => txn.node_props(path)?.diff_to(&node.props),
        };
        for (name, value) in &changes {
            txn.change_prop(path, name, value.as_deref())?;
        }
        let has_new_text = self.set_text(revision, txn, change, node)?;
        // What was set to what it was is a change too, and so is a node that was only opened for one.
        let has_new_props = !changes.is_empty();
        let is_only_opened = change.kind == ChangeKind::Modify && !(has_new_props || has_new_text);
        let is_said = (has_new_props || !change.prop_mod) && (has_new_text || !change.text_mod);
        if is_only_opened || !is_said {
            let touch = Touch {
                text_mod: change.text_mod,
                prop_mod: change.prop_mod,
                mergeinfo_mod: change.mergeinfo_mod,
                new_props: node.has_new_props,
            };
            txn.touch(path, touch)?;
        }
        Ok(())
    }

    /// Writes the text of a file, unless it has it already; one that was written again in the source is so here.
    fn set_text(
        &self,
        revision: Revnum,
        txn: &mut Txn,
        change: &ReadChange,
        node: &ReadNode,
    ) -> SvnResult<bool> {
        let (path, Some(md5)) = (&change.path, node.md5) else { return Ok(false) };
        if !node.has_new_text && txn.file_md5(path)? == md5 {
            return Ok(false);
        }
        match &node.text {
            Some((text, known)) => {
                txn.set_known_text(path, &mut text.as_slice(), Some(known), Some(md5))?;
            }
            None => {
                let node = self.source.revision_root(revision)?.node(path)?;
                txn.set_text(path, &mut node.contents()?, Some(md5))?;
            }
        }
        Ok(true)
    }
}
