//! The colours of the lines of a difference: each text is coloured from its beginning, and the lines that are shown are kept.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::FsPath;

use super::lines::{Hunks, Piece};
use crate::budget::Budget;
use crate::highlight::{Colours, Highlighter};
use crate::text;

/// The colours of the lines of one text, by their numbers from 0.
pub(super) type ByLine = BTreeMap<usize, Colours>;

/// The colours of both texts.
#[derive(Debug, Default)]
pub(super) struct Sides {
    pub(super) old: ByLine,
    pub(super) new: ByLine,
    /// Whether a text was too long, or the page has no time or room for more.
    pub(super) is_cut: bool,
}

/// The colours of the lines that are shown.
pub(super) fn of(
    path: &FsPath,
    (old, new): (&[u8], &[u8]),
    hunks: &Hunks<'_>,
    budget: &Budget,
) -> Sides {
    let (mut olds, mut news) = (BTreeSet::new(), BTreeSet::new());
    for piece in hunks.all.iter().flatten() {
        match piece {
            Piece::Same(old, new) => {
                olds.insert(old.at);
                news.insert(new.at);
            }
            Piece::Change(old, new) => {
                olds.extend(old.iter().map(|line| line.at));
                news.extend(new.iter().map(|line| line.at));
            }
        }
    }
    let mut sides = Sides::default();
    for (text, wanted, colours) in [(old, olds, &mut sides.old), (new, news, &mut sides.new)] {
        sides.is_cut |= side(path, text, &wanted, colours, budget);
    }
    sides
}

/// Whether lines stay plain that would have colours.
fn side(
    path: &FsPath,
    text: &[u8],
    wanted: &BTreeSet<usize>,
    colours: &mut ByLine,
    budget: &Budget,
) -> bool {
    let Some(last) = wanted.last() else { return false };
    let first_line = text::lines(text).next().unwrap_or(&[]);
    let mut highlighter = Highlighter::new(path, first_line);
    if !highlighter.is_on() {
        return false;
    }
    for (at, line) in text::lines(text).enumerate() {
        if at > *last {
            break;
        }
        if !budget.take_coloured(line.len()) {
            return true;
        }
        let of_line = highlighter.line(&text::line(line));
        if wanted.contains(&at) {
            colours.insert(at, of_line);
        }
    }
    highlighter.is_cut()
}
