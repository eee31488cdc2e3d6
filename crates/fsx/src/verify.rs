//! Whether what is on disk is whole: the files with their indexes, and all that a revision brought.

use std::ops::Range;

use sapwood_core::checksum::{Md5Hasher, Sha1Hasher};
use sapwood_core::date::Timestamp;
use sapwood_core::props::names::DATE;
use sapwood_core::{ErrorCode, Exact, FsPath, Md5, NodeKind, Revnum, SvnError};
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsx_format::Error as FormatError;
use sapwood_fsx_format::limits::PATH_LEN;
use sapwood_fsx_format::p2l::{Entry, ItemType};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::node::Node;
use crate::revfile::{FileKey, RevFile, read_at};
use crate::tree::Root;

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

fn corrupt(message: String) -> Error {
    Error::Corrupt(message)
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// Checks the indexes and the checksums of all items in the files that hold revisions from `start` (0 when
    /// `None`) to `end` (the youngest). Stops at the first thing that is wrong, or when `step` fails, which is called
    /// with the first revision of each shard, and with `None` when all files are done.
    pub fn verify_metadata(
        &self,
        start: Option<Revnum>,
        end: Option<Revnum>,
        step: &mut dyn FnMut(Option<Revnum>) -> Result<()>,
    ) -> Result<()> {
        let first = start.unwrap_or(Revnum::ZERO);
        let last = end.map_or_else(|| self.youngest(), Ok)?;
        self.ensure_exists(first)?;
        self.ensure_exists(last)?;
        self.min_unpacked_rev()?;
        let shard_size = self.shard_size();
        let mut revision = first;
        while revision <= last {
            if revision == first || revision.0.checked_rem(shard_size) == Some(0) {
                step(Some(revision))?;
            }
            revision = self.0.while_packed(|| self.verify_file(revision))?;
        }
        step(None)
    }

    /// Checks the file that holds a revision, and returns the first revision that it does not hold.
    fn verify_file(&self, revision: Revnum) -> Result<Revnum> {
        let (key, file) = self.0.revision_file(revision)?;
        if self.0.is_packed(revision) && matches!(key, FileKey::Revision(_)) {
            self.0.open_revfile(FileKey::Pack(self.0.layout.0.shard(revision)))?;
        }
        file.verify()?;
        let next = match key {
            FileKey::Revision(revision) => revision.0.checked_add(1),
            FileKey::Pack(shard) => {
                shard.checked_add(1).and_then(|n| n.checked_mul(self.shard_size()))
            }
        };
        next.map(Revnum).ok_or_else(|| corrupt("Revision numbers overflow".into()))
    }

    /// Checks the tree of a revision as [`Root::verify`] does, and reads all that the
    /// revision brought: node-revisions, directories, properties and texts with all their
    /// checksums, the list of changed paths, and revision properties.
    pub fn verify_revision(&self, revision: Revnum) -> Result<()> {
        let root = self.revision_root(revision)?;
        root.verify_and(&mut verify_node)?;
        self.changes(revision)?;
        if let Some(date) = self.revprops(revision)?.get(DATE) {
            Timestamp::parse(date).map_err(|error| Error::Svn(error.into()))?;
        }
        Ok(())
    }
}

/// Reads what a node-revision brought.
fn verify_node(node: &Node) -> Result<()> {
    node.props()?;
    if node.kind() == NodeKind::Dir {
        node.entries()?;
        return Ok(());
    }
    // Reading checks length and MD5.
    let expected = node.sha1()?;
    let mut sha1 = Sha1Hasher::new();
    let mut contents = node.contents()?;
    while let Some(piece) = contents.next_piece()? {
        sha1.update(piece);
    }
    let actual = sha1.finish();
    match expected {
        Some(expected) if expected != actual => {
            let id = node.id();
            let message = format!(
                "SHA1 checksum mismatch of node-revision '{id}':\n   expected:  {expected}\n     \
                 actual:  {actual}\n"
            );
            Err(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message).into())
        }
        _ => Ok(()),
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Root {
    /// Checks the node-revisions that this revision made: predecessor counts, mergeinfo counts, and the root's
    /// predecessor.
    pub fn verify(&self) -> Result<()> {
        self.verify_and(&mut |_| Ok(()))
    }

    fn verify_and(&self, each: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        let top = self.node(FsPath::ROOT)?;
        let expected = self.revision.prev();
        let found = top.predecessor()?.and_then(|node| node.created_rev());
        if expected != found {
            let shown = |revision: Option<Revnum>| {
                revision.map_or_else(|| "-1".to_owned(), |revision| revision.to_string())
            };
            return Err(corrupt(format!(
                "r{}'s root node's predecessor is r{} but should be r{}",
                self.revision,
                shown(found),
                shown(expected)
            )));
        }
        let mut todo = vec![top];
        while let Some(node) = todo.pop() {
            verify_counts(&node)?;
            each(&node)?;
            if node.kind() != NodeKind::Dir {
                continue;
            }
            let mut mergeinfo = u64::from(node.has_mergeinfo());
            for entry in &*node.entries()? {
                let child = node.child_at(&entry.name, entry.id)?;
                mergeinfo = mergeinfo.saturating_add(child.mergeinfo_count());
                if child.created_rev() == Some(self.revision) {
                    // A directory inside of itself would be longer than any path can be.
                    if child.path().len() > PATH_LEN {
                        let id = node.id();
                        let message = format!("Node is its own direct or indirect parent '{id}'");
                        return Err(corrupt(message));
                    }
                    todo.push(child);
                }
            }
            if mergeinfo != node.mergeinfo_count() {
                return Err(corrupt(format!(
                    "Mergeinfo-count discrepancy on '{}': expected {}, counted {mergeinfo}",
                    node.id(),
                    node.mergeinfo_count()
                )));
            }
        }
        Ok(())
    }
}

/// The counts that a node-revision has by itself.
fn verify_counts(node: &Node) -> Result<()> {
    let (id, count) = (node.id(), node.predecessor_count());
    if let Some(before) = node.predecessor()?
        && before.predecessor_count().checked_add(1) != Some(count)
    {
        return Err(corrupt(format!(
            "Predecessor count mismatch: {id} has {count}, but {} has {}",
            before.id(),
            before.predecessor_count()
        )));
    }
    let (own, all) = (u64::from(node.has_mergeinfo()), node.mergeinfo_count());
    if node.kind() == NodeKind::File && own != all {
        return Err(corrupt(format!(
            "File node '{id}' has inconsistent mergeinfo: has_mergeinfo={own}, mergeinfo_count={all}"
        )));
    }
    Ok(())
}

impl RevFile {
    /// Checks both indexes, that they say the same, and the checksums of all items.
    fn verify(&self) -> Result<()> {
        let footer = &self.footer;
        self.verify_md5("L2P", footer.l2p_offset..footer.p2l_offset, footer.l2p_md5)?;
        self.verify_md5("P2L", footer.p2l_offset..footer.footer_offset, footer.p2l_md5)?;
        let mut described = 0u64;
        for (start, len) in &self.p2l.pages {
            for entry in &*self.p2l_page(*start, *len)? {
                if entry.offset != described {
                    return Err(self.not_described(described));
                }
                described = entry.offset.plus(entry.size);
                self.verify_item(entry)?;
            }
        }
        if described < footer.l2p_offset {
            return Err(self.not_described(described));
        }
        self.verify_numbers()
    }

    fn not_described(&self, offset: u64) -> Error {
        let message = format!("The item at offset {offset} is not described");
        self.wrong(offset, FormatError::index(message))
    }

    /// Shows a part of the file piece by piece.
    fn pieces(&self, range: Range<u64>, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut at = range.start;
        while at < range.end {
            let len = range.end.minus(at).min(PIECE);
            each(&read_at(&*self.file, &self.path, at, len)?);
            at = at.plus(len);
        }
        Ok(())
    }

    fn verify_md5(&self, index: &str, range: Range<u64>, expected: Md5) -> Result<()> {
        let mut hasher = Md5Hasher::new();
        self.pieces(range, &mut |piece| hasher.update(piece))?;
        let actual = hasher.finish();
        if actual == expected {
            return Ok(());
        }
        let message = format!(
            "{index} index checksum mismatch in '{}':\n   expected:  {expected}\n     actual:  {actual}\n",
            self.path.display()
        );
        Err(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message).into())
    }

    /// Checks the bytes that an entry describes, and that each item in it is found by its number.
    fn verify_item(&self, entry: &Entry) -> Result<()> {
        let end = entry.offset.plus(entry.size);
        if entry.kind == ItemType::Unused {
            // The last one goes on to the end of the last page.
            let mut is_zero = true;
            let range = entry.offset..end.min(self.footer.l2p_offset);
            self.pieces(range, &mut |piece| is_zero &= piece.iter().all(|byte| *byte == 0))?;
            let error = || FormatError::index("Bytes that no item uses are not zero");
            return if is_zero { Ok(()) } else { Err(self.wrong(entry.offset, error())) };
        }
        if end > self.footer.l2p_offset {
            let error = FormatError::index("Item beyond the items of its file");
            return Err(self.wrong(entry.offset, error));
        }
        let mut sum = Fnv1a32x4::new();
        self.pieces(entry.offset..end, &mut |piece| sum.update(piece))?;
        let (expected, actual) = (entry.checksum, sum.finish());
        if expected != actual {
            let error = FormatError::Checksum { what: "item", expected, actual };
            return Err(self.wrong(entry.offset, error));
        }
        for (at, id) in entry.items.iter().enumerate() {
            let found = match id.change_set.revision() {
                Some(revision) => Some(self.find(revision, id.number)?),
                None => None,
            };
            if found.is_none_or(|item| (item.offset, item.sub_item) != (entry.offset, at)) {
                let message = format!("Indexes disagree about item '{id}'");
                return Err(self.wrong(entry.offset, FormatError::index(message)));
            }
        }
        Ok(())
    }

    /// Checks that what is found by each number in use is the item of that number.
    fn verify_numbers(&self) -> Result<()> {
        for revision in self.revisions() {
            let pages = self.l2p.pages_of(revision);
            let pages = pages.map_err(|error| self.wrong(self.footer.l2p_offset, error))?;
            for (number, page) in (0u64..).zip(pages) {
                for (at, location) in (0u64..).zip(self.l2p_page(page)?.iter()) {
                    if location.is_some() {
                        let first = number.checked_mul(self.l2p.page_size);
                        let item = first.and_then(|first| first.checked_add(at));
                        let overflow = || corrupt("Item numbers overflow".into());
                        self.find(revision, item.ok_or_else(overflow)?)?;
                    }
                }
            }
        }
        Ok(())
    }
}
