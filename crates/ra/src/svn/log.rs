//! The words of a log: the request, and one entry of the reply.

use sapwood_core::paths::RelPathBuf;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, RevpropSelection, SvnError, SvnResult};
use sapwood_wire_svn::data::{ChangedPathWords, LogEntryWords, read_changed_path};
use sapwood_wire_svn::{Encode as _, Error as WireError, Item};

use crate::session::{LogEntry, LogRequest};

/// Which of the properties are wanted that the server sends with every log entry.
pub(super) struct WantedRevprops {
    author: bool,
    date: bool,
    message: bool,
    others: bool,
}

impl WantedRevprops {
    pub(super) fn of(selection: RevpropSelection<'_>) -> Self {
        match selection {
            RevpropSelection::All => Self { author: true, date: true, message: true, others: true },
            RevpropSelection::Names(list) => {
                let standard = [names::AUTHOR, names::DATE, names::LOG];
                Self {
                    author: list.contains(&names::AUTHOR),
                    date: list.contains(&names::DATE),
                    message: list.contains(&names::LOG),
                    others: list.iter().any(|name| !standard.contains(name)),
                }
            }
        }
    }
}

pub(super) fn write_log(out: &mut Vec<u8>, request: &LogRequest<'_>, paths: &[RelPathBuf]) {
    out.raw(b"( log ( ( ");
    for path in paths {
        out.text(path);
    }
    out.close();
    out.bracketed_rev(request.start);
    out.bracketed_rev(request.end);
    out.bool(request.changed_paths);
    out.bool(request.strict_node_history);
    out.number(request.limit);
    out.bool(request.include_merged_revisions);
    match request.revprops {
        RevpropSelection::All => out.raw(b"all-revprops ( ) "),
        RevpropSelection::Names(names) => {
            out.raw(b"revprops ( ");
            for name in names {
                out.text(name);
            }
            out.close();
        }
    }
    out.raw(b") ) ");
}

/// The changed paths of a log entry.
pub(super) fn changed_paths<'a>(entry: &LogEntryWords<'a>) -> SvnResult<Vec<ChangedPathWords<'a>>> {
    let read = |item: Item<'a>| {
        let list = item.list().map_err(|_| WireError::Part("Changed-path entry not a list"))?;
        Ok(read_changed_path(list)?)
    };
    entry.changes.into_iter().map(read).collect()
}

/// One log entry, borrowed from the connection's buffer.
pub(super) fn log_entry<'a>(
    entry: &LogEntryWords<'a>,
    changes: &'a [ChangedPathWords<'_>],
    wanted: &WantedRevprops,
) -> SvnResult<LogEntry<'a>> {
    if wanted.others && entry.revprops.is_none() {
        return Err(SvnError::new(
            ErrorCode::RA_NOT_IMPLEMENTED,
            "Server does not support custom revprops via log",
        ));
    }
    let head = entry.head;
    let mut revprops: Vec<(&str, &[u8])> = Vec::with_capacity(4);
    let standard = [
        (names::AUTHOR, head.author.filter(|_| wanted.author)),
        (names::DATE, head.date.filter(|_| wanted.date)),
        (names::LOG, head.message.filter(|_| wanted.message)),
    ];
    revprops.extend(standard.into_iter().filter_map(|(name, value)| Some((name, value?))));
    for item in entry.revprops.into_iter().flatten() {
        let mut pair = item.list()?.tuple();
        revprops.push((pair.text()?, pair.bytes()?));
    }
    Ok(LogEntry {
        revision: (!head.invalid_revision).then_some(head.revision),
        has_children: head.has_children,
        subtractive_merge: entry.subtractive_merge,
        changes: changes.iter().map(ChangedPathWords::as_change).collect(),
        revprops,
    })
}
