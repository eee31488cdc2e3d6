//! Where lines are from when merges are looked into: the revision of the branch that made a line, not the merge that brought it.
//!
//! The revisions come oldest first, with those that were merged between them, and each text is compared with the one before, as
//! `svn blame -g` does. So nothing is known before the end: where the page's time is over, no line has a revision.

use sapwood_core::{FsPath, SvnResult};
use sapwood_diff::{Options, compare};

use super::{Origin, Walk, text_of};
use crate::budget::Budget;
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
    let mut chain = Chain::default();
    let (mut is_cut, mut failed) = (false, None);
    let mut receive = |path: &FsPath, revision, is_other: bool| -> SvnResult<bool> {
        if budget.is_over() {
            is_cut = true;
            return Ok(false);
        }
        if !is_other {
            return Ok(true);
        }
        match text_of(view, path, revision, &chain.text) {
            Ok(Some(text)) => {
                chain.add(text, (revision, path.to_owned()));
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
    let is_whole = !is_cut && chain.text == text;
    let of_line = |at: &usize| chain.origins.get(*at).filter(|_| is_whole).cloned();
    let origins: Vec<Option<Origin>> = match is_whole {
        true => chain.lines.iter().map(of_line).collect(),
        false => vec![None; text::lines(&text).count()],
    };
    Ok(Walk { text, origins, is_whole })
}
