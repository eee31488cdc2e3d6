//! What all histories are written with: transactions on top of the youngest revision, with dates,
//! authors and messages that come from the seed.

use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::date::Timestamp;
use sapwood_core::exact::{Exact, signed};
use sapwood_core::props::names as prop_names;
use sapwood_core::rng::Rng;
use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError, SvnResult, len64};
use sapwood_fs::Filesystem;
use sapwood_fs::txn::{Txn, WriteOptions, Writer};
use sapwood_repos::Repository;

use super::{MakeOptions, Notify, Progress};

/// The date of revision 0: 24 February 2004, in microseconds.
const START: i64 = 1_077_580_800_000_000;
/// The number of transaction names that are reserved at once.
const NUMBERS_AT_ONCE: u64 = 1_000;

/// A history that is being written.
pub(super) struct Build<'a, 'b> {
    pub(super) rng: Rng,
    writer: Arc<Writer>,
    revisions: usize,
    youngest: usize,
    seconds_a_revision: i64,
    notify: &'a mut Notify<'b>,
    cancel: &'a CancelToken,
}

impl<'a, 'b> Build<'a, 'b> {
    pub(super) fn new(
        repository: &Repository,
        options: &MakeOptions,
        notify: &'a mut Notify<'b>,
        cancel: &'a CancelToken,
    ) -> SvnResult<Self> {
        let write = || WriteOptions {
            flush_to_disk: false,
            numbers_at_once: NUMBERS_AT_ONCE,
            batch_reps: true,
        };
        let writer = Writer::new(repository.fs(), write())?.set_uuid(&options.uuid())?;
        let date = Timestamp(START).to_string();
        writer.change_revision_props(Revnum::ZERO, &mut |present| {
            let mut props = present.clone();
            props.set(prop_names::DATE, &date);
            Ok(Some(props))
        })?;
        Ok(Self {
            rng: Rng::new(options.seed),
            writer,
            revisions: options.revisions(),
            youngest: 0,
            seconds_a_revision: 10_000,
            notify,
            cancel,
        })
    }

    /// The filesystem, under its new UUID.
    pub(super) fn filesystem(&self) -> Filesystem {
        self.writer.fs().clone()
    }

    /// How much time passes from one revision to the next.
    pub(super) const fn pace(&mut self, seconds: i64) {
        self.seconds_a_revision = seconds;
    }

    /// The number of revisions in the end.
    pub(super) const fn revisions(&self) -> usize {
        self.revisions
    }

    /// The youngest revision.
    pub(super) const fn youngest(&self) -> usize {
        self.youngest
    }

    /// Whether there is something left to write.
    pub(super) const fn goes_on(&self) -> bool {
        self.youngest < self.revisions
    }

    /// A transaction on top of the youngest revision.
    pub(super) fn begin(&self) -> SvnResult<Txn> {
        Ok(self.writer.begin(Revnum(number(self.youngest)))?)
    }

    /// Makes a revision of it.
    pub(super) fn commit(&mut self, mut txn: Txn, author: &str, message: &str) -> SvnResult<()> {
        if self.cancel.is_cancelled() {
            return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
        }
        self.youngest = self.youngest.plus(1);
        let seconds = signed(len64(self.youngest));
        let passed = seconds.saturating_mul(self.seconds_a_revision).saturating_mul(1_000_000);
        let props = txn.props_mut();
        props.set(prop_names::AUTHOR, author);
        props.set(prop_names::DATE, Timestamp(START.saturating_add(passed)).to_string());
        props.set(prop_names::LOG, message);
        txn.keep_date(true);
        txn.commit()?;
        (self.notify)(Progress::Revision(self.youngest, self.revisions))
    }

    /// The same by a random one of several authors, with a random message.
    pub(super) fn commit_some(&mut self, txn: Txn, authors: usize) -> SvnResult<()> {
        let author = format!("dev{}", self.rng.skewed(authors));
        let lines = self.rng.skewed(8).plus(1);
        let message = String::from_utf8_lossy(&self.rng.lines(lines)).into_owned();
        self.commit(txn, &author, &message)
    }

    /// Copies what the youngest revision has at `from`.
    pub(super) fn copy(&self, txn: &mut Txn, from: &str, to: &str) -> SvnResult<()> {
        let root = self.writer.fs().revision_root(Revnum(number(self.youngest)))?;
        Ok(txn.copy(&root, FsPath::new(from)?, FsPath::new(to)?, true)?)
    }

    /// The text of a file of the youngest revision; empty for a missing file.
    pub(super) fn text(&self, path: &str) -> SvnResult<Option<Vec<u8>>> {
        let root = self.writer.fs().revision_root(Revnum(number(self.youngest)))?;
        let Some(node) = root.find(FsPath::new(path)?)? else { return Ok(None) };
        let mut text = Vec::new();
        node.contents()?
            .read_to_end(&mut text)
            .map_err(|e| SvnError::io(&e, format_args!("Can't read '{path}'")))?;
        Ok(Some(text))
    }
}

/// A new file with a text.
pub(super) fn add_file(txn: &mut Txn, path: &str, mut text: &[u8]) -> SvnResult<()> {
    txn.make_file(FsPath::new(path)?)?;
    Ok(txn.set_text(FsPath::new(path)?, &mut text, None)?)
}

/// A size as a number of the format.
pub(super) fn number(size: usize) -> u64 {
    len64(size)
}

/// Ranges of revisions as `svn:mergeinfo` writes them, one line a source.
pub(super) fn mergeinfo(sources: &[(String, usize, usize)]) -> String {
    let mut sorted: Vec<_> = sources.iter().collect();
    sorted.sort();
    let mut out = String::new();
    for (source, first, last) in sorted {
        let separator = if out.is_empty() { "" } else { "\n" };
        let _ = match first == last {
            true => write!(out, "{separator}/{source}:{first}"),
            false => write!(out, "{separator}/{source}:{first}-{last}"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mergeinfo_is_sorted() {
        let sources = [("trunk".to_owned(), 3, 3), ("branches/b".to_owned(), 4, 9)];
        assert_eq!(mergeinfo(&sources), "/branches/b:4-9\n/trunk:3");
    }
}
