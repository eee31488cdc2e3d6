//! Revision properties as one request sees them, and the log entries that are made of them.

use std::sync::Arc;

use sapwood_core::date::Timestamp;
use sapwood_core::props::names::DATE;
use sapwood_core::{ErrorCode, Exact, FormKey, PropList, Revnum, SvnError};

use crate::backend::{self, Backend};
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::of::{each, of};
use crate::{EncodedEntries, LogSpan, SpanEncoder};
use sapwood_fsfs::read_ahead::LogNeeds;

/// Reads revision properties for one request: what another program changes meanwhile may be seen or not. Make a new one for each
/// request; never keep one for long.
#[derive(Debug)]
pub struct RevpropsSnapshot {
    fs: Filesystem,
    pub(crate) of: of!(Revprops),
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Filesystem {
    /// The youngest revision whose date is not after `date` (microseconds since 1970), by the
    /// reference's binary search over `svn:date`.
    pub fn dated_revision(&self, date: i64) -> Result<Revnum> {
        dated_revision(self, date)
    }

    /// A reader of revision properties for one request.
    #[must_use]
    pub fn revprops_snapshot(&self) -> RevpropsSnapshot {
        RevpropsSnapshot::new(self)
    }

    /// The properties of a revision, as they are now (a change by another program is seen).
    pub fn revprops(&self, revision: Revnum) -> Result<Arc<PropList>> {
        self.revprops_snapshot().get(revision)
    }
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl RevpropsSnapshot {
    pub(crate) fn new(fs: &Filesystem) -> Self {
        let of = each!(&fs.0, fs, wrap => wrap(Backend::revprops(fs)));
        Self { fs: fs.clone(), of }
    }

    /// The properties of `revision`.
    pub fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        each!(&mut self.of, props => backend::Revprops::get(props, revision))
    }

    /// Announces that the properties of `revision` will be needed soon. A hint, which never fails.
    pub fn will_need(&mut self, revision: Revnum) {
        each!(&mut self.of, props => backend::Revprops::will_need(props, revision));
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// Date and author of `revision`.
    pub fn date_author(&mut self, revision: Revnum) -> Result<DateAuthor> {
        Ok(DateAuthor(
            each!(&mut self.of, props, wrap => wrap(backend::Revprops::date_author(props, revision)?)),
        ))
    }

    /// The block of `revision`; `None` when nothing may be cached of
    /// it. Revision 0 is in no block.
    pub fn log_span(&mut self, revision: Revnum) -> Result<Option<LogSpan>> {
        let size = self.fs.format().shard_size.unwrap_or(u64::MAX).max(1);
        Ok(self.version(revision)?.and_then(|version| LogSpan::around(revision, size, version)))
    }

    fn version(&mut self, revision: Revnum) -> Result<Option<u64>> {
        each!(&mut self.of, props => backend::Revprops::version(props, revision))
    }

    /// `revision` alone, for a log of some revisions only; as [`RevpropsSnapshot::log_span`]
    /// otherwise.
    pub fn log_span_of_one(&mut self, revision: Revnum) -> Result<Option<LogSpan>> {
        Ok(self.version(revision)?.map(|version| LogSpan::of_one(revision, version)))
    }

    /// The entries of a block in the form `form`, if they are cached.
    #[must_use]
    pub fn encoded_entries(&self, span: &LogSpan, form: FormKey) -> Option<Arc<EncodedEntries>> {
        let (caches, fs) = self.fs.caches();
        span.cached(caches, fs, form)
    }

    /// Caches the entries of a block, made with this snapshot since it returned the block.
    pub fn keep_encoded_entries(&mut self, span: &LogSpan, form: FormKey, entries: EncodedEntries) {
        // If the properties changed in between, what was read may be of either state.
        let now = each!(&mut self.of, props => backend::Revprops::version_now(props, span.oldest));
        if now.is_ok_and(|now| now == Some(span.version())) {
            let (caches, fs) = self.fs.caches();
            span.keep(caches, fs, form, entries);
        }
    }

    /// Makes and caches the entries of a block, unless they are cached. Returns their length in bytes.
    /// `None` where they have to be made one by one.
    pub fn make_entries(
        &mut self,
        span: &LogSpan,
        youngest_first: bool,
        wanted: LogNeeds,
        encoder: &SpanEncoder,
    ) -> Result<Option<usize>> {
        each!(&mut self.of, props => backend::Revprops::make_entries(props, span, youngest_first, wanted, encoder))
    }
}

/// Date and author of a revision, as one request found them.
#[derive(Clone, Debug)]
pub struct DateAuthor(of!(DateAuthor));

impl DateAuthor {
    /// `svn:date` as stored.
    #[must_use]
    pub fn date(&self) -> Option<&[u8]> {
        each!(&self.0, both => backend::DateAuthor::date(both))
    }

    /// `svn:date`, when it is text.
    #[must_use]
    pub fn date_text(&self) -> Option<&str> {
        std::str::from_utf8(self.date()?).ok()
    }

    /// `svn:author` as stored.
    #[must_use]
    pub fn author(&self) -> Option<&[u8]> {
        each!(&self.0, both => backend::DateAuthor::author(both))
    }
}

/// See [`Filesystem::dated_revision`].
pub(crate) fn dated_revision(fs: &Filesystem, date: i64) -> Result<Revnum> {
    let youngest = fs.youngest()?;
    let mut props = fs.revprops_snapshot();
    let mut time = |revision: u64| -> Result<i64> {
        let props = props.get(Revnum(revision))?;
        let text = props.get(DATE).ok_or_else(|| {
            let sentence = format!("Failed to find time on revision {revision}");
            Error::Svn(SvnError::new(ErrorCode::FS_GENERAL, sentence))
        })?;
        let bad = |_| Error::Svn(SvnError::new(ErrorCode::BAD_DATE, ""));
        Ok(Timestamp::parse(text).map_err(bad)?.0)
    };
    let (mut bottom, mut top) = (0u64, youngest.0);
    while bottom <= top {
        let middle = bottom.midpoint(top);
        let here = time(middle)?;
        if here > date {
            let Some(before) = middle.checked_sub(1) else { return Ok(Revnum::ZERO) };
            if time(before)? <= date {
                return Ok(Revnum(before));
            }
            top = before;
        } else if here < date {
            let after = middle.plus(1);
            if after > youngest.0 {
                return Ok(youngest);
            }
            if time(after)? > date {
                return Ok(Revnum(middle));
            }
            bottom = after;
        } else {
            return Ok(Revnum(middle));
        }
    }
    // The dates are not in order: the reference leaves its result unset.
    Ok(Revnum::ZERO)
}
