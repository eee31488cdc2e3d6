//! The order of node-revisions and representations in a pack.
//!
//! Requests for the newest revision go through many packs, and want in each only what has not
//! changed since, or what later deltas build upon. So that comes first, path by path, each
//! representation behind the node-revision that it belongs to; then, for each path, the delta
//! chain of its newest text in the pack; then the rest.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use std::cmp::Ordering;
use std::collections::HashMap;

use sapwood_core::Revnum;
use sapwood_fsfs_format::IdPart;

/// An item: revision and item index.
pub(super) type ItemId = (Revnum, u64);

/// A node-revision that is to be placed.
#[derive(Debug)]
pub(super) struct PlacedNode {
    /// Its created path, as [`sort_path`] makes it.
    pub(super) path: Box<[u8]>,
    pub(super) node: IdPart,
    pub(super) predecessor_count: u64,
    pub(super) id: ItemId,
    /// Its text, when that is among what is placed.
    pub(super) rep: Option<ItemId>,
}

/// Paths are sorted by this: parts of names that are special by custom come before all others.
pub(super) fn sort_path(path: &FsPath) -> Box<[u8]> {
    let mut bytes = path.as_bytes().to_vec();
    for (name, mark) in [("trunk", 1), ("branch", 2)] {
        for (at, _) in path.match_indices(name) {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = mark;
            }
        }
    }
    bytes.into_boxed_slice()
}

/// The items in the order in which they are to be stored. An item may be named more than once:
/// the first place counts. `bases` leads from a representation to that which it is a delta to;
/// `linear` is the option `max-linear-deltification`.
pub(super) fn order(
    mut nodes: Vec<PlacedNode>,
    bases: &HashMap<ItemId, ItemId>,
    linear: u64,
) -> Vec<ItemId> {
    nodes.sort_unstable_by(by_path_newest_first);
    // The newest node-revision of each path stands in front of its text; the others are only of
    // interest to walks of history, and come last.
    let heads: Vec<bool> = std::iter::once(true)
        .chain(nodes.windows(2).map(|pair| matches!(pair, [a, b] if a.path != b.path)))
        .take(nodes.len())
        .collect();
    let mut placed = Vec::with_capacity(nodes.len());
    let mut rest = Vec::new();
    for (node, head) in nodes.iter().zip(heads) {
        let zone = if is_lasting(node.predecessor_count, linear) { &mut placed } else { &mut rest };
        zone.push((node, head));
    }
    let mut last = Vec::new();
    let mut chain: Option<(&[u8], Option<ItemId>)> = None;
    for (node, head) in rest {
        let wanted = match chain {
            Some((path, wanted)) if path == &*node.path => wanted,
            _ => node.rep,
        };
        let found = wanted == node.rep;
        let base = wanted.filter(|_| found).and_then(|rep| bases.get(&rep).copied());
        chain = Some((&node.path, base.or(wanted)));
        if found { &mut placed } else { &mut last }.push((node, head));
    }
    placed.append(&mut last);

    let mut items = Vec::with_capacity(placed.len().times(3));
    for (node, head) in &placed {
        items.extend(head.then_some(node.id));
        items.extend(node.rep);
    }
    items.extend(placed.iter().map(|(node, _)| node.id));
    items
}

/// Whether a node-revision's text is likely to be wanted by later revisions: because the node
/// seldom changes, or because deltas of later packs will be based on it.
const fn is_lasting(predecessors: u64, linear: u64) -> bool {
    // The largest power of two that divides the count.
    let round = predecessors & predecessors.wrapping_neg();
    predecessors < linear || (round >= linear && round >= predecessors / 4)
}

fn by_path_newest_first(a: &PlacedNode, b: &PlacedNode) -> Ordering {
    a.path.cmp(&b.path).then_with(|| b.node.cmp(&a.node)).then_with(|| b.id.cmp(&a.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_testkit::fspath;

    #[test]
    fn special_names() {
        assert_eq!(&*sort_path(fspath("/trunk/trunks")), b"/\x01runk/\x01runks");
        assert_eq!(&*sort_path(fspath("/branches/b")), b"/\x02ranches/b");
        assert!(sort_path(fspath("/trunk")) < sort_path(fspath("/branches")));
        assert!(sort_path(fspath("/branches")) < sort_path(fspath("/aaa")));
    }

    #[test]
    fn lasting() {
        for (count, want) in [
            (0, true),
            (15, true),
            (16, true),
            (17, false),
            (24, false),
            (32, true),
            (48, true),
            (80, false),
            (1024, true),
        ] {
            assert_eq!(is_lasting(count, 16), want, "{count}");
        }
    }

    fn node(path: &FsPath, revision: u64, count: u64) -> PlacedNode {
        PlacedNode {
            path: sort_path(path),
            node: IdPart::new(Revnum(0), 1),
            predecessor_count: count,
            id: (Revnum(revision), 4),
            rep: Some((Revnum(revision), 3)),
        }
    }

    #[test]
    fn three_zones() {
        // r21 is the head of /a; its chain goes to r19; r16 lasts.
        let nodes = (16..22).map(|r| node(fspath("/a"), r, r)).collect();
        let bases = HashMap::from([((Revnum(21), 3), (Revnum(19), 3))]);
        let order = order(nodes, &bases, 16);
        let reps: Vec<u64> =
            order.iter().filter(|(_, item)| *item == 3).map(|(revision, _)| revision.0).collect();
        assert_eq!(reps, [16, 21, 19, 20, 18, 17]);
        let nodes: Vec<u64> =
            order.iter().filter(|(_, item)| *item == 4).map(|(revision, _)| revision.0).collect();
        // The head with its text, and all at the end.
        assert_eq!(nodes, [21, 16, 21, 19, 20, 18, 17]);
    }
}
