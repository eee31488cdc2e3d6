//! The answers that are cached, for any number of sessions to one repository.
//!
//! Invariant: they are of the past, which does not change; no more values are kept than [`LIMIT`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{Exact as _, NodeKind, Revnum, Segment, SvnResult};
use sapwood_ra::session::{LogChange, LogEntry, LogReceiver};

use crate::shared_session::SharedSession;

/// The most values that are cached: paths of logs, locations and lists.
pub(super) const LIMIT: usize = 200_000;

/// One changed path of a log.
#[derive(Clone, Debug)]
struct Change {
    path: FsPathBuf,
    action: u8,
    copy_from: Option<(FsPathBuf, u64)>,
    kind: Option<NodeKind>,
    text_mod: bool,
    prop_mod: bool,
}

/// One revision of a log.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    revision: Option<Revnum>,
    changes: Vec<Change>,
    revprops: Vec<(String, Vec<u8>)>,
}

/// The history of a node between two revisions.
#[derive(Clone, Debug)]
pub(super) struct Past {
    pub(super) youngest: u64,
    pub(super) oldest: u64,
    pub(super) segments: Vec<Segment>,
}

/// The cached answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    uuid: String,
    pub(super) lines: HashMap<String, Vec<Past>>,
    pub(super) kinds: HashMap<String, Option<NodeKind>>,
    pub(super) places: HashMap<String, Vec<(Revnum, FsPathBuf)>>,
    pub(super) deletions: HashMap<String, Option<Revnum>>,
    pub(super) mergeinfo: HashMap<String, Vec<(RelPathBuf, Mergeinfo)>>,
    pub(super) logs: HashMap<String, Vec<Entry>>,
}

/// The cached answers of a repository, for any number of sessions.
#[derive(Debug)]
pub(crate) struct History {
    pub(super) answers: RefCell<Answers>,
    /// The number of cached values.
    size: Cell<usize>,
    /// The last session that was opened.
    pub(super) line: RefCell<Weak<SharedSession>>,
}

impl History {
    /// An empty cache for the repository of this UUID.
    pub(crate) fn new(uuid: &str) -> Rc<Self> {
        Rc::new(Self {
            answers: RefCell::new(Answers { uuid: uuid.to_owned(), ..Answers::default() }),
            size: Cell::default(),
            line: RefCell::default(),
        })
    }

    /// Whether it is of the repository of this UUID.
    pub(crate) fn is_of(&self, uuid: &str) -> bool {
        self.answers.borrow().uuid == uuid
    }

    /// Adds the history of a location from its revision back to its beginning, the youngest part
    /// first, which another source gave.
    pub(crate) fn know_line(&self, relpath: &RelPath, peg: Revnum, segments: Vec<Segment>) {
        if self.takes(segments.len()) {
            let line = Past { youngest: peg.0, oldest: 0, segments };
            self.answers.borrow_mut().lines.entry(line_key(relpath, peg)).or_default().push(line);
        }
    }

    /// Whether an answer with `count` values is cached.
    pub(super) fn takes(&self, count: usize) -> bool {
        let size = self.size.get().plus(count).plus(1);
        if size > LIMIT {
            return false;
        }
        self.size.set(size);
        true
    }

    /// The answer to a question in one of the maps, requested when it is not cached. `size` is how many values it has.
    pub(super) fn once<T: Clone>(
        &self,
        map: fn(&mut Answers) -> &mut HashMap<String, T>,
        key: String,
        ask: impl FnOnce() -> SvnResult<T>,
        size: impl FnOnce(&T) -> usize,
    ) -> SvnResult<T> {
        if let Some(known) = map(&mut self.answers.borrow_mut()).get(&key) {
            return Ok(known.clone());
        }
        let answer = ask()?;
        if self.takes(size(&answer)) {
            map(&mut self.answers.borrow_mut()).insert(key, answer.clone());
        }
        Ok(answer)
    }
}

/// The part of a line between two revisions.
pub(crate) fn clipped(segments: &[Segment], youngest: u64, oldest: u64) -> Vec<Segment> {
    let within =
        segments.iter().filter(|segment| segment.start.0 <= youngest && segment.end.0 >= oldest);
    within
        .map(|segment| Segment {
            start: segment.start.max(Revnum(oldest)),
            end: segment.end.min(Revnum(youngest)),
            path: segment.path.clone(),
        })
        .collect()
}

/// The cache key of a location's history.
pub(super) fn line_key(relpath: &RelPath, peg: Revnum) -> String {
    format!("{relpath}@{peg}")
}

pub(super) fn replay_entries(entries: &[Entry], receiver: LogReceiver<'_>) -> SvnResult<()> {
    for entry in entries {
        let changes = entry.changes.iter().map(|change| LogChange {
            path: &change.path,
            action: change.action,
            copy_from: change.copy_from.as_ref().map(|(from, at)| (from.as_path(), Revnum(*at))),
            kind: change.kind,
            text_mod: change.text_mod,
            prop_mod: change.prop_mod,
        });
        receiver(&LogEntry {
            revision: entry.revision,
            has_children: false,
            subtractive_merge: false,
            changes: changes.collect(),
            revprops: entry.revprops.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect(),
        })?;
    }
    Ok(())
}

pub(super) fn to_entry(entry: &LogEntry<'_>) -> Entry {
    let changes = entry.changes.iter().map(|change| Change {
        path: change.path.to_owned(),
        action: change.action,
        copy_from: change.copy_from.map(|(from, at)| (from.to_owned(), at.0)),
        kind: change.kind,
        text_mod: change.text_mod,
        prop_mod: change.prop_mod,
    });
    let revprops = entry.revprops.iter().map(|(name, v)| ((*name).to_owned(), v.to_vec()));
    Entry { revision: entry.revision, changes: changes.collect(), revprops: revprops.collect() }
}
