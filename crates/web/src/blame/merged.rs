//! Where lines are from when merges are looked into: the revision of the branch that made a line, not the merge that brought it.
//!
//! The revisions come oldest first, with those that were merged between them. Each text is compared with the one before, and each of
//! the file's own with its own before; a line is from the older one of what both say, as of `svn blame -g`. So nothing is known before the end: where the page's time is over, no line has a revision.

use sapwood_core::{FileRev, SvnResult};
use sapwood_diff::{Options, compare};

use super::{Origin, Walk, text_of};
use crate::budget::Budget;
use crate::delta::is_cheap;
use crate::fault::Result;
use crate::text;
use crate::view::{Found, View};

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

pub(crate) fn walk(view: &View<'_>, found: &Found, text: Vec<u8>, budget: &Budget) -> Result<Walk> {
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
        match text_of(view, rev.path, rev.revision, &all.text) {
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
    Ok(Walk { text, origins, is_whole })
}

/// The older one of two origins: the own one, where they are of one revision.
fn older(all: Option<&Origin>, own: Option<&Origin>) -> Option<Origin> {
    match (all, own) {
        (Some(all), Some(own)) if all.0 < own.0 => Some(all.clone()),
        (_, own) => own.cloned(),
    }
}
