//! Finding where the lines of a file are from.
//!
//! The revisions are walked from the youngest on: a line belongs to the first one that has it and whose predecessor has
//! not. So the walk ends where every line has its revision, at a revision of which all is known already, or where the page's time is over; then
//! it goes on when the page is asked for again.
//!
//! Invariant: each text is read once, and only while a line has no revision; what was found is kept, whatever ended the walk.

use std::sync::Arc;

use sapwood_core::{FsPath, Revnum};
use sapwood_diff::{Options, compare};
use sapwood_fs::Node;

use super::Walk;
use super::kept::{KnownLines, Maker, Place, Rest};
use super::text_of;
use crate::budget::Budget;
use crate::fault::Result;
use crate::text;
use crate::view::{FoundNode, View};

/// Where each line of a file is from that has the text `text`, as far as `view` may see it.
pub(crate) fn walk(
    view: &View<'_>,
    found: &FoundNode,
    text: Vec<u8>,
    budget: &Budget,
) -> Result<Walk> {
    let (path, revision) = view.last_place(found)?;
    let count = text::lines(&text).count();
    let known = view.kept::<KnownLines>(&path, revision, "");
    let known = known.filter(|known| known.lines.len() == count);
    if let Some(known) = known.as_ref().filter(|known| known.rest.is_none()) {
        return known.seen_by(view, text);
    }
    let history = view.of_all();
    let kept = KnownLines { lines: vec![None; count], ..KnownLines::default() };
    let mut search = Search { history: &history, budget, kept, younger: None };
    search.begin(&path, revision, text.clone());
    if let Some(known) = known {
        let all: Vec<_> = (0..count).map(Some).collect();
        search.take(&known, &all)?;
    }
    search.run()?;
    view.keep(&path, revision, "", search.end()).seen_by(view, text)
}

/// The text of the revision that was visited last, and which lines of the newest text its lines are.
struct Younger {
    at: Place,
    text: Vec<u8>,
    /// For each of its lines the number of the same line in the newest text, while that has no maker.
    lines: Vec<Option<usize>>,
}

/// What ends a walk through the history.
enum Stop {
    /// There is no more time.
    Time,
    /// A comparison is too dear: what is older stays unknown.
    Dear,
    /// Every line has its maker.
    Done,
    /// What is known of the place that was visited last.
    Known(Arc<KnownLines>),
}

/// A walk and what it found.
struct Search<'a> {
    /// The whole history.
    history: &'a View<'a>,
    budget: &'a Budget,
    kept: KnownLines,
    /// `None` where nothing is left to do.
    younger: Option<Younger>,
}

impl Search<'_> {
    /// Begins at the youngest place, of which nothing is known.
    fn begin(&mut self, path: &FsPath, revision: Revnum, text: Vec<u8>) {
        let at = self.kept.visit(path, revision);
        let lines = (0..self.kept.lines.len()).map(Some).collect();
        self.younger = Some(Younger { at, text, lines });
    }

    /// Goes on where the walk ended by which so much is known of the place that was visited last.
    fn take(&mut self, known: &KnownLines, lines: &[Option<usize>]) -> Result<()> {
        self.younger = None;
        let Some(Rest { at, lines }) = self.kept.take_older(known, lines) else { return Ok(()) };
        let Some((revision, path)) = self.kept.origin(at) else { return Ok(()) };
        let text = text_of(&self.history.find(&path, Some(revision), None)?.node, &[])?;
        self.younger = text.map(|text| Younger { at, text, lines });
        Ok(())
    }

    /// Walks as far as there is time.
    fn run(&mut self) -> Result<()> {
        while let Some(at) = self.younger.as_ref().map(|younger| younger.at) {
            match self.pass(at)? {
                Stop::Time => return Ok(()),
                Stop::Dear => self.younger = None,
                Stop::Done => {
                    if let Some(oldest) = self.younger.take() {
                        let maker = Maker { at: oldest.at, before: None };
                        self.kept.attribute(oldest.lines.iter().flatten(), maker);
                    }
                }
                Stop::Known(known) => {
                    if let Some(younger) = self.younger.take() {
                        self.take(&known, &younger.lines)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Walks on from the place that was visited last.
    fn pass(&mut self, from: Place) -> Result<Stop> {
        let Some((revision, path)) = self.kept.origin(from) else { return Ok(Stop::Done) };
        let (mut last, mut stop) = (None, Stop::Done);
        self.history.places(&path, revision, &mut |path, revision, node| {
            // The first one is the place itself.
            if let Some(younger) = last.replace(node.clone()) {
                let is_other = node.contents_differ(&younger)?;
                if let Some(why) = self.older((path, revision), &node, is_other)? {
                    stop = why;
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(stop)
    }

    /// Takes the next older place.
    fn older(
        &mut self,
        (path, revision): (&FsPath, Revnum),
        node: &Node,
        is_other: bool,
    ) -> Result<Option<Stop>> {
        if self.budget.is_over() {
            return Ok(Some(Stop::Time));
        }
        let Some(last) = self.younger.take() else { return Ok(Some(Stop::Done)) };
        let at = self.kept.visit(path, revision);
        let younger = match is_other {
            true => self.compared(last, at, node)?,
            // The lines are older than the revision that was taken for theirs.
            false => Some(Younger { at, ..last }),
        };
        let Some(younger) = younger else { return Ok(Some(Stop::Dear)) };
        let is_done = younger.lines.iter().all(Option::is_none);
        let known = self.history.kept::<KnownLines>(path, revision, "");
        let known = known.filter(|known| known.lines.len() == younger.lines.len());
        self.younger = Some(younger);
        if is_done { Ok(Some(Stop::Done)) } else { Ok(known.map(Stop::Known)) }
    }

    /// Compares a revision with the one before it; `None` where that is too dear.
    fn compared(&mut self, last: Younger, at: Place, node: &Node) -> Result<Option<Younger>> {
        let text = text_of(node, &last.text)?;
        let Some(text) = text else { return Ok(None) };
        let diff = compare(&Options::default(), &text, &last.text);
        let mut lines = Vec::new();
        let mut made = Vec::new();
        for range in &diff.ranges {
            let new = last.lines.iter().skip(range.new_start).take(range.new_len);
            if range.common {
                lines.extend(new.copied());
            } else {
                made.extend(new.flatten());
                lines.extend(std::iter::repeat_n(None, range.old_len));
            }
        }
        self.kept.attribute(made.into_iter(), Maker { at: last.at, before: Some(at) });
        Ok(Some(Younger { at, text, lines }))
    }

    /// What was found.
    fn end(mut self) -> KnownLines {
        self.kept.rest = self.younger.map(|last| Rest { at: last.at, lines: last.lines });
        self.kept
    }
}
