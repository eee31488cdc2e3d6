//! Reading all revisions for [`Stats`].
//!
//! The order of the walk is the reference's, because the first node-revision that uses a
//! representation decides what the representation counts as, and where it is shown.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use std::collections::HashMap;

use sapwood_core::{CancelToken, NodeKind, Revnum, len64};
use sapwood_fsfs_format::changes::Changes;
use sapwood_fsfs_format::{
    ItemType, NodeRev, P2lEntry, RepHeader, RepLocation, Representation, limits,
};

use super::{LargeRep, Stats};
use crate::dump_index::{P2lIndex, check};
use crate::error::Result;
use crate::filesystem::{Filesystem, Fs};
use crate::revfile::RevFile;

/// How many of the largest representations are kept.
const LARGEST: usize = 64;
/// How many changed paths the reference reads at a time.
const CHANGES_BLOCK: u64 = 100;

/// What a representation is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Text(NodeKind),
    Props(NodeKind),
}

/// What is known of one representation.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepInfo {
    pub(super) size: u64,
    pub(super) expanded_size: u64,
    pub(super) header_len: u64,
    pub(super) uses: u64,
    /// At most 255, as in the reference.
    pub(super) chain_len: u8,
    first_use: Use,
}

type RepId = (Revnum, u64);

/// A link of a delta chain, to be followed when the whole file has been read.
struct Link {
    rep: RepId,
    header_len: u64,
    base: Option<RepId>,
}

struct Collector<'a> {
    fs: &'a Filesystem,
    cancel: &'a CancelToken,
    stats: Stats,
    reps: HashMap<RepId, RepInfo>,
}

pub(super) fn collect(
    fs: &Filesystem,
    cancel: &CancelToken,
    progress: &mut dyn FnMut(Revnum),
) -> Result<Stats> {
    fs.fs.refresh_min_unpacked()?;
    let youngest = fs.youngest()?;
    let mut all = Collector { fs, cancel, stats: Stats::default(), reps: HashMap::new() };
    let mut revision = Revnum::ZERO;
    while revision <= youngest {
        check(cancel)?;
        let file = fs.fs.rev_file(revision);
        if fs.fs.layout.is_logical() {
            all.logical(&file).map_err(|error| error.missing_instead_of_gone(file.first))?;
        } else {
            for place in 0..file.count {
                check(cancel)?;
                all.physical(&file, Revnum(file.first.0.saturating_add(place)))?;
            }
        }
        let step = fs.fs.layout.format.shard_size.unwrap_or(1000);
        if file.key.packed || file.first.0.is_multiple_of(step) {
            progress(file.first);
        }
        revision = Revnum(file.first.0.saturating_add(file.count));
    }
    all.stats.revision_count = revision.0;
    Ok(all.finish())
}

impl Collector<'_> {
    fn fs(&self) -> &Fs {
        &self.fs.fs
    }

    /// One revision with physical addressing.
    fn physical(&mut self, file: &RevFile, revision: Revnum) -> Result<()> {
        let (start, end) = self.fs().revision_range(file, revision)?;
        let trailer = *self.fs().trailer(revision)?;
        let mut line = Vec::new();
        trailer.write(&mut line);
        let line_len = u64::try_from(line.len()).unwrap_or(0);
        let len = end.saturating_sub(start);
        let changes_len = len.saturating_sub(trailer.changes).saturating_sub(line_len);
        let count = u64::try_from(self.fs.changed_paths(revision)?.len()).unwrap_or(0);
        self.stats.total_size.tally(len);
        self.stats.change_len.tally(changes_len);
        // The reference keeps the length of the last block only.
        self.stats.change_count.tally(count % CHANGES_BLOCK);
        self.tree(revision, trailer.root)
    }

    /// All node-revisions that a revision made, from its root on, each directory followed by
    /// what it holds.
    fn tree(&mut self, revision: Revnum, root: u64) -> Result<()> {
        let mut todo = vec![root];
        while let Some(item) = todo.pop() {
            check(self.cancel)?;
            let (node, len) = self.fs().with_file(revision, |file| {
                let at = self.fs().item_offset(file, revision, item)?;
                self.node_at(file, revision, at)
            })?;
            // A directory is gone into once only, so that a cycle comes to an end.
            let first_use = self.node(&node, len)?;
            if node.kind == NodeKind::Dir && first_use {
                let entries = self.fs().directory(&node)?;
                let own = entries.iter().filter(|e| e.id.revision() == Some(revision));
                let own = own.filter_map(|e| e.id.item());
                let from = todo.len();
                todo.extend(own);
                if let Some(added) = todo.get_mut(from..) {
                    added.reverse();
                }
            }
        }
        Ok(())
    }

    fn node_at(&self, file: &RevFile, revision: Revnum, at: u64) -> Result<(NodeRev, u64)> {
        let limit = limits::NODEREV_LEN;
        let parse = |bytes: &[u8], _| NodeRev::parse(bytes);
        let (mut node, len) = self.fs().parse_at(file, revision, at, limit, parse)?;
        for rep in [&mut node.text, &mut node.props].into_iter().flatten() {
            self.fs().fix_expanded_size(rep)?;
        }
        Ok((node, len64(len)))
    }

    /// Counts a node-revision; whether it is the first to use its text.
    fn node(&mut self, node: &NodeRev, len: u64) -> Result<bool> {
        let text = match &node.text {
            Some(rep) => Some((rep, self.rep(rep, Use::Text(node.kind))?)),
            None => None,
        };
        let props = match &node.props {
            Some(rep) => Some((rep, self.rep(rep, Use::Props(node.kind))?)),
            None => None,
        };
        for (rep, first_use) in [text, props].into_iter().flatten() {
            if let (Some(first_use), RepLocation::Rev { revision, .. }) = (first_use, rep.location)
            {
                self.count_rep(rep, revision, node, first_use);
            }
        }
        let stats = &mut self.stats;
        match node.kind {
            NodeKind::Dir => stats.dir_node_stats.add(len),
            NodeKind::File => stats.file_node_stats.add(len),
        }
        stats.total_node_stats.add(len);
        Ok(text.is_some_and(|(_, first)| first.is_some()))
    }

    /// Counts a use of a representation: what it counts as, when it is the first.
    fn rep(&mut self, rep: &Representation, used: Use) -> Result<Option<Use>> {
        let RepLocation::Rev { revision, item } = rep.location else { return Ok(None) };
        let id = (revision, item);
        if let Some(known) = self.reps.get_mut(&id) {
            known.uses.tally(1);
            return Ok(None);
        }
        let mut info = RepInfo {
            size: rep.size,
            expanded_size: rep.expanded_size,
            header_len: 0,
            uses: 1,
            chain_len: 0,
            first_use: used,
        };
        // With logical addressing the representations are met by themselves.
        if !self.fs().layout.is_logical() {
            let start = self.fs().rep_start(revision, item)?;
            info.header_len = start.len;
            info.chain_len = self.chain_len(base_of(&start.header));
        }
        self.reps.insert(id, info);
        Ok(Some(used))
    }

    fn chain_len(&self, base: Option<RepId>) -> u8 {
        let below = base.and_then(|base| self.reps.get(&base)).map_or(0, |base| base.chain_len);
        below.plus(1)
    }

    /// Puts a representation into the histograms.
    fn count_rep(&mut self, rep: &Representation, revision: Revnum, node: &NodeRev, used: Use) {
        let Representation { size, expanded_size, .. } = *rep;
        let stats = &mut self.stats;
        let largest = &mut stats.largest_changes;
        let fits = match largest.get(LARGEST.saturating_sub(1)) {
            Some(last) => size >= last.size,
            None => true,
        };
        if fits && size > 0 {
            largest.truncate(LARGEST.saturating_sub(1));
            let at = largest.partition_point(|other| other.size >= size);
            let path = node.created_path.to_string();
            largest.insert(at, LargeRep { size, revision, path });
        }
        stats.rep_size_histogram.add(size);
        stats.node_size_histogram.add(expanded_size);
        if node.predecessor.is_none() {
            stats.added_rep_size_histogram.add(size);
            stats.added_node_size_histogram.add(expanded_size);
        }
        let (reps, texts) = match used {
            Use::Text(NodeKind::File) => (&mut stats.file_rep_histogram, &mut stats.file_histogram),
            Use::Text(NodeKind::Dir) => (&mut stats.dir_rep_histogram, &mut stats.dir_histogram),
            Use::Props(NodeKind::File) => {
                (&mut stats.file_prop_rep_histogram, &mut stats.file_prop_histogram)
            }
            Use::Props(NodeKind::Dir) => {
                (&mut stats.dir_prop_rep_histogram, &mut stats.dir_prop_histogram)
            }
        };
        reps.add(size);
        texts.add(expanded_size);
        if used == Use::Text(NodeKind::File) {
            let extension = extension_of(node.created_path());
            if !stats.by_extension.contains_key(extension) {
                stats.by_extension.insert(extension.to_owned(), super::ExtensionStats::default());
            }
            if let Some(info) = stats.by_extension.get_mut(extension) {
                info.node_histogram.add(expanded_size);
                info.rep_histogram.add(size);
            }
        }
    }

    /// One file with logical addressing, in the order of offsets.
    fn logical(&mut self, file: &RevFile) -> Result<()> {
        let fs = self.fs;
        let index = P2lIndex::open(&fs.fs, file)?;
        self.stats.total_size.tally(index.header.file_size());
        let mut links = Vec::new();
        index.walk(&fs.fs, file, &mut |entry| {
            check(self.cancel)?;
            if entry.size == 0 {
                return Ok(());
            }
            match entry.item_type {
                ItemType::NodeRev => {
                    let (node, _) = self.node_at(file, entry.revision, entry.offset)?;
                    self.node(&node, entry.size).map(|_| ())
                }
                ItemType::Changes => self.changes(file, entry),
                ItemType::Unused => Ok(()),
                _ => {
                    let limit = limits::REP_HEADER_LEN;
                    let parse = |bytes: &[u8], _| RepHeader::parse(bytes);
                    let (header, len) =
                        fs.fs.parse_at(file, entry.revision, entry.offset, limit, parse)?;
                    links.push(Link {
                        rep: (entry.revision, entry.item),
                        header_len: u64::try_from(len).unwrap_or(0),
                        base: base_of(&header),
                    });
                    Ok(())
                }
            }
        })?;
        // Bases are in earlier revisions.
        links.sort_by_key(|link| link.rep.0);
        for link in links {
            let chain_len = self.chain_len(link.base);
            if let Some(rep) = self.reps.get_mut(&link.rep) {
                rep.header_len = link.header_len;
                rep.chain_len = chain_len;
            }
        }
        Ok(())
    }

    fn changes(&mut self, file: &RevFile, entry: &P2lEntry) -> Result<()> {
        let limit = sapwood_core::exact::clamped(entry.size);
        let bytes = self.fs().bytes(file, entry.offset, limit)?;
        let spelt = sapwood_fsfs_format::changes::spell_names(&bytes);
        let list = spelt.as_deref().map_or_else(|| Changes::new(&bytes), Changes::spelt);
        let count = list.filter(std::result::Result::is_ok).count();
        let count = u64::try_from(count).unwrap_or(0);
        self.stats.change_count.tally(count);
        self.stats.change_len.tally(entry.size);
        Ok(())
    }

    fn finish(mut self) -> Stats {
        for rep in self.reps.values() {
            match rep.first_use {
                Use::Text(NodeKind::File) => self.stats.file_rep_stats.add(rep),
                Use::Text(NodeKind::Dir) => self.stats.dir_rep_stats.add(rep),
                Use::Props(NodeKind::File) => self.stats.file_prop_rep_stats.add(rep),
                Use::Props(NodeKind::Dir) => self.stats.dir_prop_rep_stats.add(rep),
            }
            self.stats.total_rep_stats.add(rep);
        }
        self.stats
    }
}

const fn base_of(header: &RepHeader) -> Option<RepId> {
    match header {
        RepHeader::Delta { revision, item, .. } => Some((*revision, *item)),
        RepHeader::Plain | RepHeader::SelfDelta => None,
    }
}

/// The extension of a path's last name with its dot. A dot at the beginning makes none.
fn extension_of(path: &FsPath) -> &str {
    let name = path.name();
    match name.rfind('.') {
        None | Some(0) => "(none)",
        Some(at) => name.get(at..).unwrap_or("(none)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_testkit::fspath;

    #[test]
    fn extensions() {
        for (path, want) in
            [("/a/b.txt", ".txt"), ("/a.d/b", "(none)"), ("/.x", "(none)"), ("/x.tar.gz", ".gz")]
        {
            assert_eq!(extension_of(fspath(path)), want);
        }
    }
}
