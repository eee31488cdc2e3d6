//! A summary of BASE: in most working copies all rows but a few have one revision, the path that follows from the
//! root's, and infinite depth, and are complete. A caller that has this summary and the few paths that differ need
//! not read all rows: a report of BASE sends nothing else, and a bump to the same revision changes nothing else.
//!
//! A full status computes it; the notes of our own changes keep it current. A listed path may turn out to
//! be uniform after all; a path that is not listed is always uniform, or the file is invalid as a whole
//! ([`super`]).

use std::collections::BTreeSet;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Revnum};

use super::super::table::{Layer, Node, ReposPath, Table};
use crate::change_journal::{Changes, Reader, write_part};
use crate::db::{Kind, NodeRow, Presence};
use crate::root::WorkingCopy;

/// With more differing paths than this there is no summary.
const LIMIT: usize = 2000;
/// The same limit, after later changes.
const LATER: usize = 4000;

/// What all rows of BASE have in common, except for some paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UniformBase {
    pub(crate) repos_id: i64,
    pub(crate) revision: Revnum,
    /// Paths that may be different, or have layers above BASE. The root is not among them: it may always
    /// differ.
    pub(crate) odd: BTreeSet<RelPathBuf>,
}

impl UniformBase {
    /// Computes the summary from a table of the whole working copy.
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

    /// Whether the root has what all other rows have.
    pub(super) fn is_root(&self, root: &NodeRow) -> bool {
        root.presence == Presence::Normal
            && root.repos_id == Some(self.repos_id)
            && root.revision == Some(self.revision)
            && root.depth_or_infinity() == Depth::Infinity
    }

    /// The summary without paths that turn out to be uniform, or not to be nodes.
    pub(super) fn without_what_is_even(&self, wc: &WorkingCopy) -> Self {
        let paths: Vec<&RelPath> = self.odd.iter().map(RelPathBuf::as_path).collect();
        let Ok(table) = Table::read_directories(wc.db(), &paths, &BTreeSet::new()) else {
            return self.clone();
        };
        let mut odd = self.odd.clone();
        odd.retain(|path| table.find(path).is_some_and(|node| !self.has(node)));
        Self { odd, ..self.clone() }
    }

    /// Whether a node has what all rows have.
    pub(super) fn has(&self, node: &Node) -> bool {
        let base = node.base.as_ref().filter(|_| node.work.is_empty());
        base.is_some_and(|base| {
            base.repos_id == Some(self.repos_id)
                && base.revision == Some(self.revision)
                && is_plain(base)
        })
    }

    /// The summary after changes; `None` when too many paths differ then.
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

/// Whether a row has only the values that follow from its path.
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

/// Reads the summary; `None` when the bytes are malformed.
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
