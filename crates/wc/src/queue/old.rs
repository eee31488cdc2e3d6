//! Items that only Subversion 1.7 wrote: a working copy that was upgraded with a queue that is not
//! empty still has them.
//!
//! Invariant: like every item, each can be run again after a kill; so a node that is gone already
//! is no error, and a conflict that is recorded already is recorded once more.

use sapwood_core::Revnum;
use sapwood_core::paths::RelPath;

use crate::base::Removal;
use crate::conflict::{Conflict, Operation, PropConflict, TextConflict};
use crate::db::{Db, Presence};
use crate::error::Result;
use crate::work_item::WorkItem;

/// Runs an item of 1.7; other items are not handled here.
pub(super) fn run_old(db: &Db, item: &WorkItem) -> Result<()> {
    match item {
        WorkItem::BaseRemove { relpath, not_present } => {
            let revision = not_present.and_then(|r| u64::try_from(r).ok()).map(Revnum);
            let how = Removal {
                marker: revision.map(|_| Presence::NotPresent),
                marker_revision: revision,
                ..Removal::default()
            };
            // What it queues in turn comes after all that is in the queue.
            db.write(|db| db.remove_base(relpath, &how)).map(drop)
        }
        WorkItem::SetTextConflict { relpath, files: [old, theirs, mine] } => {
            add_old_conflict(db, relpath, |conflict| {
                let (old, mine, theirs) = (old.clone(), mine.clone(), theirs.clone());
                conflict.text = Some(TextConflict { old, mine, theirs });
                conflict.write()
            })
        }
        WorkItem::SetPropConflict { relpath, prej } => add_old_conflict(db, relpath, |conflict| {
            conflict.prop = Some(PropConflict { marker: prej.clone(), ..PropConflict::default() });
            conflict.write_prop_first()
        }),
        _ => Ok(()),
    }
}

/// Adds to the conflict of a node, or to a new one of an update whose ends are not known.
fn add_old_conflict(
    db: &Db,
    relpath: &RelPath,
    add: impl FnOnce(&mut Conflict) -> Vec<u8>,
) -> Result<()> {
    db.write(|db| {
        let recorded = db.actual(relpath)?.and_then(|row| row.conflict_data);
        let mut conflict = match recorded {
            Some(bytes) => Conflict::parse(&bytes)?,
            None => Conflict::new(Operation::Update, None, None),
        };
        let bytes = add(&mut conflict);
        db.mark_conflict(relpath, &bytes)
    })
}
