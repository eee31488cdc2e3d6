//! Which nodes a revert can skip: those that are in BASE alone, without local properties, and whose file on disk
//! has the recorded size and time and the right permission bits. They are found as status finds them, with one
//! scan of the database and one `stat` of each file, by several threads. After a full status the cache names the
//! directories to look at ([`restless`]): then only their files need a `stat`, or none where a monitor watches.

use std::collections::HashSet;
use std::ffi::CString;

use crate::db::{Kind, Presence};
use crate::error::Result;
use crate::root::WorkingCopy;
use crate::status::{DiskKind, Look, Node, OpenDir, Scope, Table, over_directories, restless};
use sapwood_core::paths::{RelPath, RelPathBuf};

/// The nodes below a path that a revert must look at, and all directories above them up to the
/// path.
pub(super) fn unsettled(wc: &WorkingCopy, relpath: &RelPath) -> Result<HashSet<RelPathBuf>> {
    let known = restless(wc, relpath);
    let table = wc.db().read(|db| match &known {
        Some(dirs) => Table::read_directories(db, &[], dirs),
        None => Table::read(db, Scope::Subtree(relpath)),
    })?;
    let root = wc.root();
    let found: Vec<u32> = over_directories(&table, |dir, _, found| {
        if known.as_ref().is_some_and(|dirs| !dirs.contains(dir)) {
            return;
        }
        let open = OpenDir::open(&root.join(dir.as_str())).ok().flatten();
        for at in table.children(dir) {
            let Some(node) = table.node(*at) else { continue };
            if !open.as_ref().is_some_and(|open| is_settled(open, node)) {
                found.push(*at);
            }
        }
    });
    let mut all = HashSet::new();
    for node in found.into_iter().filter_map(|at| table.node(at)) {
        add_with_parents(&mut all, &node.relpath);
    }
    Ok(all)
}

/// Adds a path and the directories above it.
pub(super) fn add_with_parents(all: &mut HashSet<RelPathBuf>, relpath: &RelPath) {
    let mut at = Some(relpath);
    while let Some(path) = at.filter(|path| !all.contains(*path)) {
        all.insert(path.to_owned());
        at = crate::db::parent_of(path);
    }
}

fn is_settled(dir: &OpenDir, node: &Node) -> bool {
    let Some(base) = &node.base else { return false };
    let plain = base.presence == Presence::Normal && node.work.is_empty() && node.actual.is_none();
    if !plain {
        return false;
    }
    let look = |name: &str| CString::new(name).ok().and_then(|name| dir.look(&name).ok()?);
    let Some(found) = look(node.name()) else { return false };
    match (base.kind, found.kind) {
        // Another working copy in its place is not touched.
        (Kind::Dir, DiskKind::Dir) => look(&format!("{}/.svn", node.name())).is_none(),
        (Kind::File, DiskKind::Special) => base.special && is_recorded(base, found),
        (Kind::File, DiskKind::File) => {
            !base.special && is_recorded(base, found) && base.has_right_bits(found.mode)
        }
        _ => false,
    }
}

fn is_recorded(base: &crate::status::Layer, found: Look) -> bool {
    base.has_checksum && base.records(found)
}
