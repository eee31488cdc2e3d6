//! The properties of the revisions of a shard in a few files, with a manifest. Those of revision 0 stay in a file of their own.

use sapwood_core::{PropList, Revnum};
use sapwood_fsx_format::revprops::{ManifestEntry, RevpropPack, write_manifest};

use super::Shard;
use crate::error::{Error, Result};
use crate::txn::stored_len;

impl Shard<'_> {
    /// Writes the packs and the manifest. The write lock is held.
    pub(super) fn pack_revprops(&self) -> Result<()> {
        let fs = &self.writer.fs.0;
        let like = fs.file(&fs.layout.revision(self.first()));
        let mut first = self.first();
        if first == Revnum::ZERO {
            let (from, to) = (fs.layout.revprops(first, false), fs.layout.revprops(first, true));
            let (from, to) = (fs.file(&from), fs.file(&to));
            let copied = self.writer.storage.copy(&from, &to, self.writer.flush);
            copied.map_err(|error| Error::io("Can't copy file", &from, error))?;
            first = first.next();
        }
        let (mut lists, mut len) = (Vec::new(), 0u64);
        let mut manifest = Vec::new();
        let mut write = |start: Revnum, lists: &mut Vec<PropList>| {
            let entry = ManifestEntry { start, tag: 0 };
            let path = fs.file(&fs.layout.revprop_pack(self.number, entry));
            manifest.push(entry);
            let bytes = RevpropPack::write(lists)?;
            lists.clear();
            self.writer.write_new(&path, &bytes, &like)
        };
        let mut start = first;
        for revision in (first.0..self.end().0).map(Revnum) {
            let list = fs.revprops(revision)?;
            let more = stored_len(&list);
            // There is some room left for changes.
            let limit = self.writer.config.revprop_pack_size;
            if !lists.is_empty() && len.saturating_add(more) > limit.saturating_sub(limit / 10) {
                write(start, &mut lists)?;
                (start, len) = (revision, 0);
            }
            len = len.saturating_add(more);
            lists.push(list);
        }
        if !lists.is_empty() {
            write(start, &mut lists)?;
        }
        let path = fs.file(&fs.layout.manifest(self.number));
        self.writer.write_new(&path, &write_manifest(&manifest)?, &like)
    }
}
