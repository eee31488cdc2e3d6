//! Where the lines of a file are from, as far as its whole history says: what is kept for all readers.
//!
//! Invariant: it is made without a look at rules, so nothing of it is shown but what [`KnownLines::seen_by`] lets through. That ends
//! the history where the reader's ends: at the first path that may not be read. What is older is from the last place before.

use std::collections::BTreeMap;

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum};
use sapwood_fs::HistoryValue;

use super::{Origin, Walk};
use crate::fault::Result;
use crate::view::View;

/// A stretch of the history in which the file has one path.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) path: FsPathBuf,
    /// The oldest revision of it that was looked at.
    pub(super) oldest: Revnum,
}

/// A place in the history: the number of its run, and the revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) run: usize,
    pub(super) revision: Revnum,
}

/// A place that made lines, and the one before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maker {
    pub(super) at: Place,
    pub(super) before: Option<Place>,
}

/// The place where the walk goes on that had no more time.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    pub(super) at: Place,
    /// For each of its lines the number of the same line in the newest text, while that has no maker.
    pub(super) lines: Vec<Option<usize>>,
}

/// What is known of the lines of a file.
#[derive(Debug, Default)]
pub(super) struct KnownLines {
    /// The youngest first.
    pub(super) runs: Vec<Run>,
    pub(super) makers: Vec<Maker>,
    /// For each line the number of its maker, once that is known.
    pub(super) lines: Vec<Option<usize>>,
    /// What is left to do.
    pub(super) rest: Option<Rest>,
}

impl HistoryValue for KnownLines {
    fn weight(&self) -> usize {
        let paths: usize = self.runs.iter().map(|run| run.path.as_str().len()).sum();
        let rest = self.rest.as_ref().map_or(0, |rest| rest.lines.len());
        let lines = self.lines.len().plus(rest).times(size_of::<Option<usize>>());
        let makers = self.makers.len().times(size_of::<Maker>());
        paths.plus(self.runs.len().times(size_of::<Run>())).plus(makers).plus(lines)
    }
}

impl KnownLines {
    /// Goes on to an older place of the history.
    pub(super) fn visit(&mut self, path: &FsPath, revision: Revnum) -> Place {
        match self.runs.last_mut().filter(|run| *run.path == *path) {
            Some(run) => run.oldest = revision,
            None => self.runs.push(Run { path: path.to_owned(), oldest: revision }),
        }
        Place { run: self.runs.len().minus(1), revision }
    }

    /// Says of lines which place made them.
    pub(super) fn attribute<'n>(&mut self, lines: impl Iterator<Item = &'n usize>, maker: Maker) {
        let number = self.makers.len();
        let mut is_new = false;
        for line in lines {
            if let Some(place) = self.lines.get_mut(*line) {
                *place = Some(number);
                is_new = true;
            }
        }
        if is_new {
            self.makers.push(maker);
        }
    }

    /// Takes what is known of the older place that was visited last. `lines` has for each of its lines the number of the same line
    /// here, while that has no maker. Returns where the walk goes on.
    pub(super) fn take_older(&mut self, older: &Self, lines: &[Option<usize>]) -> Option<Rest> {
        let first = self.runs.len().minus(1);
        let here = |place: Place| Place { run: place.run.plus(first), ..place };
        if let (Some(run), Some(known)) = (self.runs.last_mut(), older.runs.first()) {
            run.oldest = known.oldest;
        }
        self.runs.extend(older.runs.iter().skip(1).cloned());
        let mut numbers = BTreeMap::new();
        for (line, number) in lines.iter().zip(&older.lines) {
            let (Some(line), Some(number)) = (line, number) else { continue };
            let Some(maker) = older.makers.get(*number) else { continue };
            let number = *numbers.entry(*number).or_insert_with(|| {
                self.makers.push(Maker { at: here(maker.at), before: maker.before.map(here) });
                self.makers.len().minus(1)
            });
            if let Some(place) = self.lines.get_mut(*line) {
                *place = Some(number);
            }
        }
        let rest = older.rest.as_ref()?;
        let ours = |line: &Option<usize>| line.and_then(|line| lines.get(line).copied().flatten());
        Some(Rest { at: here(rest.at), lines: rest.lines.iter().map(ours).collect() })
    }

    /// The path and revision of a place.
    pub(super) fn origin(&self, place: Place) -> Option<Origin> {
        self.runs.get(place.run).map(|run| (place.revision, run.path.clone()))
    }

    /// What the reader of `view` may see of it.
    pub(super) fn seen_by(&self, view: &View<'_>, text: Vec<u8>) -> Result<Walk> {
        let mut end = self.runs.len();
        for (number, run) in self.runs.iter().enumerate() {
            if !view.may_read(&run.path)? {
                end = number;
                break;
            }
        }
        // What is older than the reader's history is from its last place.
        let last = match end < self.runs.len() {
            true => end.checked_sub(1).and_then(|run| self.runs.get(run)),
            false => None,
        };
        let last = last.map(|run| (run.oldest, run.path.clone()));
        let mut before = BTreeMap::new();
        let mut origin = |line: &Option<usize>| -> Option<Origin> {
            let maker = line.and_then(|number| self.makers.get(number));
            let Some(maker) = maker.filter(|maker| maker.at.run < end) else { return last.clone() };
            let older = maker.before.filter(|place| place.run < end);
            if let Some(older) = older.and_then(|place| self.origin(place)) {
                before.insert(maker.at.revision, older);
            }
            self.origin(maker.at)
        };
        let origins: Vec<_> = self.lines.iter().map(&mut origin).collect();
        let is_whole = origins.iter().all(Option::is_some);
        let goes_on = !is_whole && self.rest.is_some();
        Ok(Walk { text, origins, before, is_whole, goes_on })
    }
}
