//! One entry of a log, as a receiver gets it.

use sapwood_core::SvnResult;
use sapwood_wire_dav::report::answer;

use crate::RevpropSelection;
use crate::session::{LogChange, LogEntry, LogReceiver, once_a_path};

/// An entry of a log as receivers want it, borrowed from what was read.
pub(super) fn log_entry(
    item: &answer::LogItem,
    wanted: RevpropSelection<'_>,
    merged: bool,
) -> Entry {
    let is_wanted = |name: &str| match wanted {
        RevpropSelection::All => true,
        RevpropSelection::Names(names) => names.contains(&name),
    };
    Entry {
        revprops: (0..item.revprops.len())
            .filter(|at| item.revprops.get(*at).is_some_and(|(name, _)| is_wanted(name)))
            .collect(),
        merged,
    }
}

/// Which properties of an item are sent.
pub(super) struct Entry {
    revprops: Vec<usize>,
    merged: bool,
}

impl Entry {
    pub(super) fn drive_report(
        &self,
        item: &answer::LogItem,
        receiver: LogReceiver<'_>,
    ) -> SvnResult<()> {
        let mut changes: Vec<LogChange<'_>> = item
            .changes
            .iter()
            .map(|change| LogChange {
                path: &change.path,
                action: change.action,
                copy_from: change.copy_from.as_ref().map(|(path, rev)| (path.as_path(), *rev)),
                kind: change.kind,
                text_mod: change.text_mod,
                prop_mod: change.prop_mod,
            })
            .collect();
        if self.merged {
            once_a_path(&mut changes);
        }
        let revprops = self.revprops.iter().filter_map(|at| item.revprops.get(*at));
        receiver(&LogEntry {
            revision: item.revision,
            has_children: item.has_children,
            subtractive_merge: item.subtractive_merge,
            changes,
            revprops: revprops.map(|(name, value)| (name.as_str(), value.as_slice())).collect(),
        })
    }
}
