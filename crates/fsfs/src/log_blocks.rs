//! Log entries as a receiver encodes them, of revisions of this engine: see [`sapwood_fs_common::log_blocks`].

use std::sync::Arc;

use sapwood_core::{Exact, FormKey, PropList, Revnum};
pub use sapwood_fs_common::log_blocks::{EncodedEntries, LogNeeds, LogSpan};

use crate::error::Result;
use crate::revprop_shards::StableVersion;
use crate::revprops_snapshot::RevpropsSnapshot;
use sapwood_fs_common::changes::ChangedPaths;

/// Appends the entry of a revision with these changed paths and properties. Returns false
/// when the entry needs more than that.
pub type EncodeEntry =
    dyn Fn(Revnum, &ChangedPaths, Option<&PropList>, &mut Vec<u8>) -> bool + Send + Sync;

/// How a receiver encodes log entries, for threads that read ahead for it.
pub struct SpanEncoder {
    /// The form.
    pub form: FormKey,
    /// What makes an entry.
    pub encode: Box<EncodeEntry>,
}

impl std::fmt::Debug for SpanEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpanEncoder").field("form", &self.form).finish_non_exhaustive()
    }
}

impl RevpropsSnapshot {
    /// The block of `revision`; `None` when nothing may be cached of
    /// it, because its properties changed only just now. Revision 0 is in no block.
    ///
    /// # Errors
    /// System errors.
    pub fn log_span(&mut self, revision: Revnum) -> Result<Option<LogSpan>> {
        let Some(version) = self.stable(revision)? else { return Ok(None) };
        let size = self.fs().format().shard_size.unwrap_or(u64::MAX).max(1);
        Ok(LogSpan::around(revision, size, version.version()))
    }

    /// The entries of a block in the form `form`, if they are cached.
    #[must_use]
    pub fn encoded_entries(&self, span: &LogSpan, form: FormKey) -> Option<Arc<EncodedEntries>> {
        let fs = &self.fs().fs;
        span.cached(&fs.caches, fs.id, form)
    }

    /// Caches the entries of a block, made with this snapshot since it returned the block.
    pub fn keep_encoded_entries(&mut self, span: &LogSpan, form: FormKey, entries: EncodedEntries) {
        // If the folder changed in between, what was read may be of either version.
        let is_version = |now: StableVersion| now.version() == span.version();
        if self.stable(span.oldest).is_ok_and(|now| now.is_some_and(is_version)) {
            let fs = &self.fs().fs;
            span.keep(&fs.caches, fs.id, form, entries);
        }
    }

    /// Makes and caches the entries of a block, unless they are cached. Returns their length in bytes.
    /// Their parts are not cached. `None` where they have to be made one by one.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn make_entries(
        &mut self,
        span: &LogSpan,
        youngest_first: bool,
        wanted: LogNeeds,
        encoder: &SpanEncoder,
    ) -> Result<Option<usize>> {
        if let Some(known) = self.encoded_entries(span, encoder.form) {
            return Ok(Some(known.weight()));
        }
        let fs = self.fs().clone();
        let none = Arc::new(ChangedPaths::default());
        let mut entries = EncodedEntries::new(youngest_first);
        let count = span.youngest.0.minus(span.oldest.0).plus(1);
        for i in 0..count {
            let revision = Revnum(if youngest_first {
                span.youngest.0.minus(i)
            } else {
                span.oldest.0.plus(i)
            });
            let changes = match wanted.changes {
                true => fs.fs.changed_paths_for_once(revision)?,
                false => Arc::clone(&none),
            };
            let props = if wanted.revprops { Some(self.get_uncached(revision)?) } else { None };
            let mut complete = true;
            entries.push(|out| {
                complete = (encoder.encode)(revision, &changes, props.as_deref(), out);
            });
            if !complete || entries.is_long() {
                return Ok(None);
            }
        }
        let weight = entries.weight();
        self.keep_encoded_entries(span, encoder.form, entries);
        Ok(Some(weight))
    }
}
