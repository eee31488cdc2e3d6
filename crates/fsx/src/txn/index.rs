//! What is known of the items of a revision file that is being written, and the indexes that say it.

use sapwood_core::{Exact, Md5, Revnum, len64};
use sapwood_fsfs_format::Footer;
use sapwood_fsx_format::l2p::{self, Location};
use sapwood_fsx_format::limits::ITEMS_PER_REVISION;
use sapwood_fsx_format::p2l::{self, Entry, ItemType};
use sapwood_fsx_format::{ChangeSet, Id};

use crate::config::WriteConfig;
use crate::error::{Error, Result};

/// The items of a revision file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RevisionIndex {
    /// Where they begin, by number.
    pub(super) offsets: Vec<Option<Location>>,
    /// What they are, in their order in the file; their change set is none.
    pub(super) entries: Vec<Entry>,
}

impl RevisionIndex {
    /// Adds an item of a kind and number, at an offset and of a size, with its checksum. It follows the one before.
    pub(crate) fn add(
        &mut self,
        (kind, number): (ItemType, u64),
        (offset, size): (u64, u64),
        checksum: u32,
    ) -> Result<()> {
        if number >= ITEMS_PER_REVISION {
            let message = format!("Item index {number} too large in transaction");
            return Err(Error::Corrupt(message));
        }
        let at = usize::try_from(number).map_err(|_| Error::internal("an item number"))?;
        if self.offsets.len() <= at {
            self.offsets.resize(at.plus(1), None);
        }
        if let Some(slot) = self.offsets.get_mut(at) {
            *slot = Some(Location { offset, sub_item: 0 });
        }
        let items = vec![Id { change_set: ChangeSet::None, number }];
        self.entries.push(Entry { offset, size, kind, checksum, items });
        Ok(())
    }

    /// Where an item begins.
    pub(super) fn offset_of(&self, number: u64) -> Option<u64> {
        let at = usize::try_from(number).ok()?;
        self.offsets.get(at).copied().flatten().map(|location| location.offset)
    }

    /// Appends indexes and footer of a revision file whose items are `data_len` bytes.
    pub(crate) fn write(
        &self,
        revision: Revnum,
        data_len: u64,
        config: &WriteConfig,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut entries = self.entries.clone();
        for id in entries.iter_mut().flat_map(|entry| &mut entry.items) {
            id.change_set = ChangeSet::Revision(revision);
        }
        let offsets = std::slice::from_ref(&self.offsets);
        write_indexes(revision, offsets, &entries, data_len, config, out)
    }
}

/// Appends indexes and footer of a file whose items are `data_len` bytes.
pub(crate) fn write_indexes(
    first: Revnum,
    offsets: &[Vec<Option<Location>>],
    entries: &[Entry],
    data_len: u64,
    config: &WriteConfig,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (mut l2p, mut p2l) = (Vec::new(), Vec::new());
    l2p::write(first, offsets, config.l2p_page_size, &mut l2p)?;
    p2l::write(first, entries, data_len, config.p2l_page_size, &mut p2l)?;
    let p2l_offset = data_len.plus(len64(l2p.len()));
    let footer = Footer {
        l2p_offset: data_len,
        l2p_md5: Md5::of(&l2p),
        p2l_offset,
        p2l_md5: Md5::of(&p2l),
        footer_offset: p2l_offset.plus(len64(p2l.len())),
    };
    out.extend_from_slice(&l2p);
    out.extend_from_slice(&p2l);
    footer.write(out);
    Ok(())
}
