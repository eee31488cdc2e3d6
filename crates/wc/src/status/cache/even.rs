//! What BASE is like but for some paths: in most working copies all of it is one revision, where its place
//! says, complete, as deep as can be. A caller that knows that, and the few paths that differ, need not go through
//! the rows: a report of BASE has nothing else to say, and a bump to the same revision nothing else to do.
//!
//! A full status finds it out; the notes of our own changes carry it on. What it names may well be as all
//! others are; what it does not name is, or the file is worthless as a whole ([`super`]).

use std::collections::BTreeSet;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Revnum};

use super::super::table::{Layer, Node, ReposPath, Table};
use crate::change_journal::{Changes, Reader, write_part};
use crate::db::{Kind, NodeRow, Presence};
use crate::root::WorkingCopy;

/// With more paths than this nothing is known.
const LIMIT: usize = 2000;
/// The same, when changes followed.
const LATER: usize = 4000;

/// What all rows of BASE say but those of some paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UniformBase {
    pub(crate) repos_id: i64,
    pub(crate) revision: Revnum,
    /// Paths that may be different, or have layers above BASE. The root is not among them: it always may.
    pub(crate) odd: BTreeSet<RelPathBuf>,
}

impl UniformBase {
    /// What a table of everything says.
    pub(super) fn of(table: &Table) -> Option<Self> {
        let root = table.find(RelPath::ROOT)?.base.as_ref()?;
        let mut even =
            Self { repos_id: root.repos_id?, revision: root.revision?, odd: BTreeSet::new() };
        for node in table.nodes.iter().filter(|node| !node.relpath.is_empty()) {
            if !even.has(node) {
                even.odd.insert(node.relpath.clone());
            }
            if even.odd.len() > LIMIT {
                return None;
            }
        }
        Some(even)
    }

    /// Whether the root says what all others do.
    pub(super) fn is_root(&self, root: &NodeRow) -> bool {
        root.presence == Presence::Normal
            && root.repos_id == Some(self.repos_id)
            && root.revision == Some(self.revision)
            && root.depth_or_infinity() == Depth::Infinity
    }

    /// Without paths that turn out to be like all others, or to be no nodes.
    pub(super) fn without_what_is_even(&self, wc: &WorkingCopy) -> Self {
        let paths: Vec<&RelPath> = self.odd.iter().map(RelPathBuf::as_path).collect();
        let Ok(table) = Table::read_directories(wc.db(), &paths, &BTreeSet::new()) else {
            return self.clone();
        };
        let mut odd = self.odd.clone();
        odd.retain(|path| table.find(path).is_some_and(|node| !self.has(node)));
        Self { odd, ..self.clone() }
    }

    /// Whether a node says what all do.
    pub(super) fn has(&self, node: &Node) -> bool {
        let base = node.base.as_ref().filter(|_| node.work.is_empty());
        base.is_some_and(|base| {
            base.repos_id == Some(self.repos_id)
                && base.revision == Some(self.revision)
                && is_plain(base)
        })
    }

    /// After changes; nothing when too much is different then.
    pub(super) fn after<S: AsRef<RelPath>>(mut self, changes: &Changes<S>) -> Option<Self> {
        if let Some(revision) = changes.bumped {
            self.revision = Revnum(revision);
        }
        let touched = changes.touched.iter().map(|(path, _)| path);
        let paths = touched.chain(changes.revised.as_ref()?).map(AsRef::as_ref);
        self.odd.extend(paths.filter(|path| !path.is_empty()).map(RelPath::to_owned));
        (self.odd.len() <= LATER).then_some(self)
    }
}

/// Whether a row says nothing but what its place does.
fn is_plain(base: &Layer) -> bool {
    base.presence == Presence::Normal
        && base.repos_path == ReposPath::Implied
        && !base.file_external
        && !base.externals
        && base.inherited.is_none()
        && match base.kind {
            Kind::Dir => base.depth == Depth::Infinity,
            Kind::File | Kind::Symlink => true,
            Kind::Unknown => false,
        }
}

pub(super) fn write(out: &mut Vec<u8>, even: Option<&UniformBase>) {
    out.push(even.is_some().into());
    let Some(even) = even else { return };
    out.extend(even.repos_id.to_le_bytes());
    out.extend(even.revision.0.to_le_bytes());
    out.extend(u32::try_from(even.odd.len()).unwrap_or(u32::MAX).to_le_bytes());
    for path in &even.odd {
        write_part(out, path.as_bytes());
    }
}

/// What was written, as far as it is something; nothing when the bytes are no such thing.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<Option<UniformBase>> {
    if !reader.flag()? {
        return Some(None);
    }
    let (repos_id, revision) = (reader.i64()?, Revnum(reader.u64()?));
    let mut odd = BTreeSet::new();
    for _ in 0..reader.u32()? {
        odd.insert(reader.relpath()?.to_owned());
    }
    Some(Some(UniformBase { repos_id, revision, odd }))
}
