//! The order in which the reference walks its hash tables.
//!
//! Some of what the reference writes (the first revision of a dump that starts late, deletions
//! of an update, `svnlook`'s trees) follows the order of an in-memory hash table. Its hash is
//! fixed, so the order is reproducible, and scripts compare such output. This module computes
//! that order for a list of names.

use crate::Exact;

/// The places of `names` in the order in which a table walks them after they were put in one by
/// one. The names must be distinct.
#[must_use]
pub fn order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let hashes: Vec<u32> = names.map(|name| hash(name.as_bytes())).collect();
    let mut table = Table::new(INITIAL_MASK);
    for (at, hash) in hashes.iter().enumerate() {
        let Ok(at) = u32::try_from(at) else { break };
        table.append(at, *hash);
        if table.len > table.mask {
            table = table.doubled(&hashes);
        }
    }
    table.walk()
}

/// Buckets less one of a new table.
const INITIAL_MASK: u32 = 15;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// Buckets of chains; the chains are linked through `next`, by places.
struct Table {
    mask: u32,
    heads: Vec<u32>,
    tails: Vec<u32>,
    next: Vec<u32>,
    len: u32,
}

impl Table {
    fn new(mask: u32) -> Self {
        let buckets = usize::try_from(mask).unwrap_or(0).plus(1);
        Self {
            mask,
            heads: vec![NONE; buckets],
            tails: vec![NONE; buckets],
            next: Vec::new(),
            len: 0,
        }
    }

    fn bucket(&self, hash: u32) -> usize {
        usize::try_from(hash & self.mask).unwrap_or(0)
    }

    /// Adds the entry at place `at`, which must be the next one, at the end of its chain.
    fn append(&mut self, at: u32, hash: u32) {
        let bucket = self.bucket(hash);
        self.next.push(NONE);
        self.len += 1;
        if let (Some(head), Some(tail)) = (self.heads.get_mut(bucket), self.tails.get_mut(bucket)) {
            let last = crate::exact::clamped(*tail);
            match self.next.get_mut(last) {
                Some(link) if *head != NONE => *link = at,
                _ => *head = at,
            }
            *tail = at;
        }
    }

    /// The same entries in twice the buckets: moved in walking order, each to the front of its
    /// new chain.
    fn doubled(&self, hashes: &[u32]) -> Self {
        let mut out = Self::new(self.mask.wrapping_mul(2).wrapping_add(1));
        out.next = vec![NONE; self.next.len()];
        out.len = self.len;
        for at in self.walk() {
            let place = crate::exact::clamped(at);
            let bucket = out.bucket(hashes.get(place).copied().unwrap_or(0));
            if let (Some(head), Some(tail), Some(link)) =
                (out.heads.get_mut(bucket), out.tails.get_mut(bucket), out.next.get_mut(place))
            {
                if *head == NONE {
                    *tail = at;
                }
                *link = *head;
                *head = at;
            }
        }
        out
    }

    fn walk(&self) -> Vec<u32> {
        let mut out = Vec::with_capacity(self.next.len());
        for head in &self.heads {
            let mut at = *head;
            while at != NONE {
                out.push(at);
                let place = crate::exact::clamped(at);
                at = self.next.get(place).copied().unwrap_or(NONE);
            }
        }
        out
    }
}

/// The hash of the reference's own tables: four bytes at a time, little-endian.
fn hash(key: &[u8]) -> u32 {
    const STEP: u32 = 33 * 33 * 33 * 33;
    let (chunks, rest) = key.as_chunks::<4>();
    let whole = chunks.iter().fold(0u32, |hash, chunk| {
        let chunk = u32::from_le_bytes(*chunk);
        hash.wrapping_mul(STEP).wrapping_add(chunk).wrapping_add(chunk >> 17)
    });
    rest.iter().fold(whole, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_dump_by_the_reference() {
        // Names of one directory in the order in which `svnadmin dump -r 2` of Subversion 1.14.2
        // wrote them.
        let want = [
            "config.in",
            "n20",
            "n21",
            "n22",
            "yy",
            "n23",
            "n24",
            "n25",
            "n26",
            "f1",
            "n27",
            "f2",
            "n28",
            "f3",
            "n29",
            "trunk",
            "alpha",
            "f4",
            "beta",
            "dirA",
            "dirB",
            "n0",
            "gamma",
            "n1",
            "n2",
            "n3",
            "n4",
            "n5",
            "README",
            "n6",
            "e",
            "n7",
            "n8",
            "branches",
            "f10",
            "n9",
            "tags",
            "zzz",
            "n10",
            "n11",
            "long-name-here",
            "n12",
            "n30",
            "n13",
            "main.c",
            "n31",
            "n14",
            "n32",
            "n15",
            "n33",
            "n16",
            "n34",
            "n17",
            "n35",
            "n18",
            "n36",
            "n19",
            "n37",
            "x",
            "n38",
            "file with space",
            "n39",
            "delta",
        ];
        let mut names = want.to_vec();
        names.sort_unstable();
        let got: Vec<&str> = order(names.iter().copied())
            .into_iter()
            .map(|at| names[usize::try_from(at).unwrap()])
            .collect();
        assert_eq!(got, want);
    }
}
