//! Statistics over everything in a filesystem (`svnfsfs stats`).

use sapwood_core::Exact;
use std::collections::BTreeMap;

use sapwood_core::{CancelToken, Revnum};

use crate::error::Result;
use crate::filesystem::Filesystem;

mod collect;

use collect::RepInfo;

/// A number of items and the sum of their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountAndSum {
    /// How many.
    pub count: u64,
    /// Bytes altogether.
    pub sum: u64,
}

/// Sizes by powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// All brackets together.
    pub total: CountAndSum,
    /// Bracket `n` holds the sizes from `2^(n-1)` to below `2^n`; bracket 0 holds 0.
    pub lines: [CountAndSum; 64],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { total: CountAndSum::default(), lines: [CountAndSum::default(); 64] }
    }
}

/// Sizes of a set of representations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepSizes {
    /// How many.
    pub count: u64,
    /// Bytes on disk.
    pub packed_size: u64,
    /// Bytes of the expanded texts.
    pub expanded_size: u64,
    /// Bytes of header lines and trailers.
    pub overhead_size: u64,
}

/// What is known of a set of representations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepStats {
    /// All.
    pub total: RepSizes,
    /// Those that one node-revision uses.
    pub uniques: RepSizes,
    /// Those that several node-revisions share (or none uses).
    pub shared: RepSizes,
    /// How many uses there are.
    pub references: u64,
    /// Bytes of the expanded texts if nothing were shared.
    pub expanded_size: u64,
    /// The sum of the lengths of delta chains.
    pub chain_len: u64,
}

/// One large representation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeRep {
    /// Bytes on disk.
    pub size: u64,
    /// The revision.
    pub revision: Revnum,
    /// The created path of the first node-revision that uses it.
    pub path: String,
}

/// What is known of files with one extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionStats {
    /// Sizes of representations.
    pub rep_histogram: Histogram,
    /// Sizes of expanded texts.
    pub node_histogram: Histogram,
}

/// All figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of all revision and pack files.
    pub total_size: u64,
    /// How many revisions.
    pub revision_count: u64,
    /// How many changed paths (of physically addressed revisions with more than 100, the
    /// remainder of the last hundred, as the reference counts).
    pub change_count: u64,
    /// Bytes of changed-path lists.
    pub change_len: u64,
    /// All representations.
    pub total_rep_stats: RepStats,
    /// Texts of files.
    pub file_rep_stats: RepStats,
    /// Directories.
    pub dir_rep_stats: RepStats,
    /// Properties of files.
    pub file_prop_rep_stats: RepStats,
    /// Properties of directories.
    pub dir_prop_rep_stats: RepStats,
    /// All node-revisions.
    pub total_node_stats: CountAndSum,
    /// Files.
    pub file_node_stats: CountAndSum,
    /// Directories.
    pub dir_node_stats: CountAndSum,
    /// The 64 largest representations, largest first.
    pub largest_changes: Vec<LargeRep>,
    /// Bytes on disk of representations.
    pub rep_size_histogram: Histogram,
    /// Bytes of expanded texts.
    pub node_size_histogram: Histogram,
    /// The same of nodes without predecessor.
    pub added_rep_size_histogram: Histogram,
    /// The same of nodes without predecessor.
    pub added_node_size_histogram: Histogram,
    /// Representations that nothing uses.
    pub unused_rep_histogram: Histogram,
    /// Texts of files, expanded.
    pub file_histogram: Histogram,
    /// Texts of files on disk.
    pub file_rep_histogram: Histogram,
    /// Properties of files, expanded.
    pub file_prop_histogram: Histogram,
    /// Properties of files on disk.
    pub file_prop_rep_histogram: Histogram,
    /// Directories, expanded.
    pub dir_histogram: Histogram,
    /// Directories on disk.
    pub dir_rep_histogram: Histogram,
    /// Properties of directories, expanded.
    pub dir_prop_histogram: Histogram,
    /// Properties of directories on disk.
    pub dir_prop_rep_histogram: Histogram,
    /// By extension with its dot; `(none)` for names without.
    pub by_extension: BTreeMap<String, ExtensionStats>,
}

impl Histogram {
    fn add(&mut self, size: u64) {
        // The number of bits that the size needs; one that needs 64 is in no repository.
        let bracket = usize::try_from(64u32.minus(size.leading_zeros())).unwrap_or(0);
        let last = self.lines.len().minus(1);
        if let Some(line) = self.lines.get_mut(bracket.min(last)) {
            line.add(size);
        }
        self.total.add(size);
    }
}

impl CountAndSum {
    fn add(&mut self, size: u64) {
        self.count.tally(1);
        self.sum.tally(size);
    }
}

impl RepSizes {
    fn add(&mut self, rep: &RepInfo) {
        self.count.tally(1);
        self.packed_size.tally(rep.size);
        self.expanded_size.tally(rep.expanded_size);
        // The header line, and `ENDREP` with its newline.
        self.overhead_size.tally(rep.header_len);
        self.overhead_size.tally(7);
    }
}

impl RepStats {
    fn add(&mut self, rep: &RepInfo) {
        self.total.add(rep);
        if rep.uses == 1 { &mut self.uniques } else { &mut self.shared }.add(rep);
        let expanded = rep.expanded_size.saturating_mul(rep.uses);
        self.references.tally(rep.uses);
        self.expanded_size.tally(expanded);
        self.chain_len.tally(u64::from(rep.chain_len));
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// Reads everything and adds it up. `progress` is called with the first revision of each
    /// shard (every thousandth in the linear layout) when it has been read.
    pub fn stats(&self, cancel: &CancelToken, progress: &mut dyn FnMut(Revnum)) -> Result<Stats> {
        collect::collect(self, cancel, progress)
    }
}
