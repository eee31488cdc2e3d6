//! Where lines are from when merges are looked into: the revision of the branch that made a line, not the merge that brought it.
//!
//! The revisions come oldest first, with those that were merged between them. Each text is compared with the one before, and each of
//! the file's own with its own before; a line is from the older one of what both say, as of `svn blame -g`. So nothing is known before the end: where the page's time is over, no line has a revision.
//!
//! What is merged depends on what may be read, so a whole result is kept for the readers of the same rules.

use std::collections::BTreeMap;

use sapwood_core::exact::Exact as _;
use sapwood_core::{FileRev, Revnum, SvnResult};
use sapwood_diff::{Options, compare};
use sapwood_fs::HistoryValue;

use super::{Origin, Walk, text_of};
use crate::budget::Budget;
use crate::delta::is_cheap;
use crate::fault::Result;
use crate::text;
use crate::view::{FoundNode, View};

/// The text of the revision that came last, and where each of its lines is from.
#[derive(Default)]
struct Chain {
    text: Vec<u8>,
    /// For each line the number of its origin.
    lines: Vec<usize>,
    origins: Vec<Origin>,
}

impl Chain {
    /// The origin of each line.
    fn each(&self) -> impl Iterator<Item = Option<&Origin>> {
        self.lines.iter().map(|at| self.origins.get(*at))
    }

    fn add(&mut self, text: Vec<u8>, origin: Origin) {
        let own = self.origins.len();
        self.origins.push(origin);
        let diff = compare(&Options::default(), &self.text, &text);
        let mut lines = Vec::with_capacity(text::lines(&text).count());
        for range in &diff.ranges {
            if range.common {
                lines.extend(self.lines.iter().skip(range.old_start).take(range.old_len));
            } else {
                lines.extend(std::iter::repeat_n(own, range.new_len));
            }
        }
        (self.text, self.lines) = (text, lines);
    }
}

/// A whole result.
struct MergedBlame {
    origins: Vec<Option<Origin>>,
    before: BTreeMap<Revnum, Origin>,
}

impl HistoryValue for MergedBlame {
    fn weight(&self) -> usize {
        let all = self.origins.iter().flatten().chain(self.before.values());
        let paths = all.map(|(_, path)| path.as_str().len()).fold(0usize, |sum, len| sum.plus(len));
        let rows = self.origins.len().plus(self.before.len());
        paths.plus(rows.times(size_of::<Option<Origin>>()))
    }
}

/// Where each line of a file is from that has the text `text`, as far as `view` may see it.
pub(crate) fn walk(
    view: &View<'_>,
    found: &FoundNode,
    text: Vec<u8>,
    budget: &Budget,
) -> Result<Walk> {
    let (path, revision) = view.last_place(found)?;
    let form = view.rules().map(|rules| format!("merges {rules}"));
    let known = form.as_ref().and_then(|form| view.kept::<MergedBlame>(&path, revision, form));
    if let Some(MergedBlame { origins, before }) = known.as_deref() {
        let (origins, before) = (origins.clone(), before.clone());
        return Ok(Walk { text, origins, before, is_whole: true, goes_on: false });
    }
    let mut walk = search(view, found, text, budget)?;
    walk.before = before(view, &walk)?;
    if let Some(form) = form.filter(|_| walk.is_whole) {
        let (origins, before) = (walk.origins.clone(), walk.before.clone());
        view.keep(&path, revision, &form, MergedBlame { origins, before });
    }
    Ok(walk)
}

/// Where the file was before each revision that lines are from.
fn before(view: &View<'_>, walk: &Walk) -> Result<BTreeMap<Revnum, Origin>> {
    let (budget, mut before) = (Budget::new(), BTreeMap::new());
    for (revision, path) in walk.origins.iter().flatten() {
        // Links are left out where there are too many to be made in time.
        let Some(older) = revision.prev().filter(|_| !budget.is_over()) else { continue };
        if !before.contains_key(revision)
            && let Some(path) = view.path_in(path, *revision, older)?
        {
            before.insert(*revision, (older, path));
        }
    }
    Ok(before)
}

pub(crate) fn search(
    view: &View<'_>,
    found: &FoundNode,
    text: Vec<u8>,
    budget: &Budget,
) -> Result<Walk> {
    let (mut all, mut own) = (Chain::default(), Chain::default());
    let (mut is_cut, mut failed) = (false, None);
    let mut receive = |rev: &FileRev<'_>, is_other: bool| -> SvnResult<bool> {
        if budget.is_over() {
            is_cut = true;
            return Ok(false);
        }
        if !is_other && rev.merged_revision {
            return Ok(true);
        }
        let origin = (rev.revision, rev.path.to_owned());
        let found = view.find(rev.path, Some(rev.revision), None);
        match found.and_then(|found| text_of(&found.node, &all.text)) {
            Ok(Some(text)) => {
                if !rev.merged_revision {
                    if !is_cheap(&text, &own.text) {
                        is_cut = true;
                        return Ok(false);
                    }
                    own.add(text.clone(), origin.clone());
                }
                all.add(text, origin);
                Ok(true)
            }
            Ok(None) => {
                is_cut = true;
                Ok(false)
            }
            Err(fault) => {
                failed = Some(fault);
                Ok(false)
            }
        }
    };
    view.file_revisions(&found.path, found.revision, true, &mut receive)?;
    if let Some(fault) = failed {
        return Err(fault);
    }
    let is_whole = !is_cut && all.text == text && own.text == text;
    let origins = match is_whole {
        true => all.each().zip(own.each()).map(|(all, own)| older(all, own)).collect(),
        false => vec![None; text::lines(&text).count()],
    };
    Ok(Walk { text, origins, before: BTreeMap::new(), is_whole, goes_on: false })
}

/// The older one of two origins: the own one, where they are of one revision.
fn older(all: Option<&Origin>, own: Option<&Origin>) -> Option<Origin> {
    match (all, own) {
        (Some(all), Some(own)) if all.0 < own.0 => Some(all.clone()),
        (_, own) => own.cloned(),
    }
}
