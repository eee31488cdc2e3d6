//! Revision properties as one request sees them, and the log entries that are made of them.

use std::sync::Arc;

use sapwood_core::date::Timestamp;
use sapwood_core::props::names::{AUTHOR, DATE};
use sapwood_core::{ErrorCode, Exact, FormKey, PropList, Revnum, SvnError};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::of::{Of, each};
use crate::read_ahead::LogNeeds;
use crate::{EncodedEntries, LogSpan, SpanEncoder};

/// Reads revision properties for one request: what another program changes meanwhile may be seen or not. Make a new one for each
/// request; never keep one for long.
#[derive(Debug)]
pub struct RevpropsSnapshot {
    fs: Filesystem,
    pub(crate) of: Of<sapwood_fsfs::RevpropsSnapshot, Seen>,
}

/// The properties as a request sees them: those of one state, in which the caches know them, or newer ones.
#[derive(Debug)]
pub(crate) struct Seen {
    fs: sapwood_fsx::Filesystem,
    /// The state when the first was read; `None` inside while they were being changed.
    generation: Option<Option<u64>>,
}

impl Seen {
    fn generation(&mut self) -> Option<u64> {
        *self.generation.get_or_insert_with(|| self.fs.revprop_generation())
    }

    fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        self.fs.ensure_exists(revision)?;
        Ok(match self.generation() {
            Some(generation) => self.fs.revprops_since(revision, generation)?,
            None => Arc::new(self.fs.revprops(revision)?),
        })
    }

    /// Whether the state is still that of a block.
    fn is_still(&self, span: &LogSpan) -> bool {
        self.fs.revprop_generation() == Some(span.version())
    }
}

#[allow(clippy::missing_errors_doc)]
impl RevpropsSnapshot {
    pub(crate) fn new(fs: &Filesystem) -> Self {
        let of = match &fs.0 {
            Of::Fsfs(fs) => Of::Fsfs(fs.revprops_snapshot()),
            Of::Fsx(fs) => Of::Fsx(Seen { fs: fs.clone(), generation: None }),
        };
        Self { fs: fs.clone(), of }
    }

    /// The properties of `revision`.
    pub fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        Ok(each!(&mut self.of, props => props.get(revision)?))
    }

    /// Announces that the properties of `revision` will be needed soon. A hint, which never fails.
    pub fn will_need(&mut self, revision: Revnum) {
        match &mut self.of {
            Of::Fsfs(props) => props.will_need(revision),
            Of::Fsx(_) => {}
        }
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// Date and author of `revision`.
    pub fn date_author(&mut self, revision: Revnum) -> Result<DateAuthor> {
        Ok(DateAuthor(match &mut self.of {
            Of::Fsfs(props) => Of::Fsfs(props.date_author(revision)?),
            Of::Fsx(props) => Of::Fsx(props.get(revision)?),
        }))
    }

    /// The block of `revision`; `None` when nothing may be cached of
    /// it. Revision 0 is in no block.
    pub fn log_span(&mut self, revision: Revnum) -> Result<Option<LogSpan>> {
        match &mut self.of {
            Of::Fsfs(props) => Ok(props.log_span(revision)?),
            Of::Fsx(props) => Ok(props
                .generation()
                .and_then(|version| LogSpan::around(revision, props.fs.shard_size(), version))),
        }
    }

    /// `revision` alone, for a log of some revisions only; as [`RevpropsSnapshot::log_span`]
    /// otherwise.
    pub fn log_span_of_one(&mut self, revision: Revnum) -> Result<Option<LogSpan>> {
        match &mut self.of {
            Of::Fsfs(props) => Ok(props.log_span_of_one(revision)?),
            Of::Fsx(props) => {
                Ok(props.generation().map(|version| LogSpan::of_one(revision, version)))
            }
        }
    }

    /// The entries of a block in the form `form`, if they are cached.
    #[must_use]
    pub fn encoded_entries(&self, span: &LogSpan, form: FormKey) -> Option<Arc<EncodedEntries>> {
        match &self.of {
            Of::Fsfs(props) => props.encoded_entries(span, form),
            Of::Fsx(props) => {
                let (caches, fs) = props.fs.caches();
                span.cached(caches, fs, form)
            }
        }
    }

    /// Caches the entries of a block, made with this snapshot since it returned the block.
    pub fn keep_encoded_entries(&mut self, span: &LogSpan, form: FormKey, entries: EncodedEntries) {
        match &mut self.of {
            Of::Fsfs(props) => props.keep_encoded_entries(span, form, entries),
            Of::Fsx(props) if props.is_still(span) => {
                let (caches, fs) = props.fs.caches();
                span.keep(caches, fs, form, entries);
            }
            Of::Fsx(_) => {}
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
        match &mut self.of {
            Of::Fsfs(props) => Ok(props.make_entries(span, youngest_first, wanted, encoder)?),
            Of::Fsx(_) => Ok(None),
        }
    }
}

/// Date and author of a revision, as one request found them.
#[derive(Clone, Debug)]
pub struct DateAuthor(Of<sapwood_fsfs::DateAuthor, Arc<PropList>>);

impl DateAuthor {
    /// `svn:date` as stored.
    #[must_use]
    pub fn date(&self) -> Option<&[u8]> {
        match &self.0 {
            Of::Fsfs(both) => both.date(),
            Of::Fsx(props) => props.get(DATE),
        }
    }

    /// `svn:date`, when it is text.
    #[must_use]
    pub fn date_text(&self) -> Option<&str> {
        std::str::from_utf8(self.date()?).ok()
    }

    /// `svn:author` as stored.
    #[must_use]
    pub fn author(&self) -> Option<&[u8]> {
        match &self.0 {
            Of::Fsfs(both) => both.author(),
            Of::Fsx(props) => props.get(AUTHOR),
        }
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
