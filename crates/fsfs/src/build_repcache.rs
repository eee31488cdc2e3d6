//! Entering the texts of revisions into `rep-cache.db`, as their commits would have done.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use std::sync::Arc;

use sapwood_core::{CancelToken, ErrorCode, NodeKind, Revnum, Sha1, hashdump};
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{Directory, RepLocation, Representation};

use crate::ancestors::Ancestors;
use crate::dump_index::check;
use crate::error::{Error, Result, part};
use crate::filesystem::Filesystem;
use crate::node::Node;
use crate::txn::WriteConfig;
use sapwood_fs_common::rep_cache::Row;

/// Rows after which those of a store become an entry.
const AT_ONCE: usize = 4096;

impl Filesystem {
    /// Enters the texts of revisions `first` to `last`. `progress` is called for each revision before
    /// its turn.
    ///
    /// # Errors
    /// E160070 in formats without sharing; E160069 when sharing is switched off; corruption.
    pub fn build_rep_cache(
        &self,
        first: Revnum,
        last: Revnum,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum) -> Result<()>,
    ) -> Result<()> {
        let shared = &self.fs.shared;
        let format = shared.layout.format.number;
        if format < since::PACKING {
            return Err(Error::new(
                ErrorCode::FS_REP_SHARING_NOT_SUPPORTED,
                format!(
                    "FSFS format ({format}) too old for rep-sharing; please upgrade the filesystem."
                ),
            ));
        }
        let config = WriteConfig::new(&shared.read_config(&*shared.storage)?, format)?;
        if !config.rep_sharing {
            return Err(Error::new(
                ErrorCode::FS_REP_SHARING_NOT_ALLOWED,
                "Filesystem does not allow rep-sharing.",
            ));
        }
        if first > last {
            return Ok(());
        }
        if self.fs.revisions.as_log().is_some() {
            return self.build_stored_reps((first, last), cancel, progress);
        }
        let mut cache = shared.open_rep_cache(&*shared.storage)?;
        for revision in (first.0..=last.0).map(Revnum) {
            progress(revision)?;
            let mut rows = Vec::new();
            self.rows_made_by(revision, cancel, &mut rows)?;
            cache.add(&rows)?;
        }
        Ok(())
    }

    /// The same where revisions are in a store: what is not found there becomes entries of its log.
    fn build_stored_reps(
        &self,
        (first, last): (Revnum, Revnum),
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum) -> Result<()>,
    ) -> Result<()> {
        let Some(log) = self.fs.revisions.as_log() else { return Ok(()) };
        let mut rows = Vec::new();
        for revision in (first.0..=last.0).map(Revnum) {
            progress(revision)?;
            self.rows_made_by(revision, cancel, &mut rows)?;
            if rows.len() >= AT_ONCE {
                log.add_reps(&std::mem::take(&mut rows))?;
            }
        }
        log.add_reps(&rows)
    }

    fn rows_made_by(
        &self,
        revision: Revnum,
        cancel: &CancelToken,
        rows: &mut Vec<Row>,
    ) -> Result<()> {
        let root = self.revision_root(revision)?.node(FsPath::ROOT)?;
        self.rows_below(&root, revision, cancel, rows)
    }

    /// The texts and properties that a revision made at a node and below, children first. The
    /// directories in work lie on a stack of our own: trees may be deep.
    fn rows_below(
        &self,
        top: &Node,
        revision: Revnum,
        cancel: &CancelToken,
        rows: &mut Vec<Row>,
    ) -> Result<()> {
        let mut stack: Vec<(Node, Option<Arc<Directory>>, usize)> = Vec::new();
        let mut above = Ancestors::default();
        let mut next = Some(top.clone());
        loop {
            check(cancel)?;
            if let Some(node) = next.take().filter(|node| node.rev.id.revision() == Some(revision))
            {
                above.enter(stack.len(), &node.rev.id)?;
                let is_dir = node.rev.kind == NodeKind::Dir;
                let entries = if is_dir { Some(node.entries()?) } else { None };
                stack.push((node, entries, 0));
            }
            let Some((node, entries, at)) = stack.last_mut() else { return Ok(()) };
            if let Some(entry) = entries.as_ref().and_then(|entries| entries.get(*at)) {
                at.tally(1);
                if entry.id.revision() == Some(revision) {
                    next = Some(node.child_of(&entry)?);
                }
                continue;
            }
            self.rows_of(node, revision, rows)?;
            above.leave();
            stack.pop();
        }
    }

    /// The text and properties that a revision made at one node.
    fn rows_of(&self, node: &Node, revision: Revnum, rows: &mut Vec<Row>) -> Result<()> {
        let noderev = &node.rev;
        let text = noderev.text.filter(|_| noderev.kind == NodeKind::File);
        for (mut rep, is_text) in
            [(text, true), (noderev.props, false)].into_iter().filter_map(|(r, t)| Some((r?, t)))
        {
            let RepLocation::Rev { revision: made, item } = rep.location else { continue };
            if made != revision {
                continue;
            }
            self.fs.fix_expanded_size(&mut rep)?;
            let sha1 = match rep.sha1 {
                Some(sha1) => sha1,
                None => self.sha1_of(node, is_text)?,
            };
            let Representation { size, expanded_size, .. } = rep;
            rows.push(Row { sha1, revision, item, size, expanded_size });
        }
        Ok(())
    }

    /// The SHA-1 of a text or of serialised properties, where it is not recorded.
    fn sha1_of(&self, node: &Node, is_text: bool) -> Result<Sha1> {
        use std::io::Read as _;
        if !is_text {
            let mut text = Vec::new();
            let props = node.props()?;
            hashdump::write(&mut text, &props, Some(hashdump::END));
            return Ok(Sha1::of(&text));
        }
        let mut contents = node.contents()?;
        let mut hash = sapwood_core::checksum::Sha1Hasher::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let n = contents.read(&mut buffer).map_err(|e| {
                Error::io(
                    e,
                    "Can't read text of",
                    std::path::Path::new(node.created_path().as_str()),
                )
            })?;
            if n == 0 {
                return Ok(hash.finish());
            }
            hash.update(part(&buffer, ..n)?);
        }
    }
}
