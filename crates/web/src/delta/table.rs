//! Differences as tables: one line below the other, or both sides beside each other.

use maud::{Markup, html};
use sapwood_core::exact::Exact as _;

use super::Manner;
use super::colours::Sides;
use super::lines::{Hunks, Line, Piece};
use super::marks::{self, Marks};
use crate::budget::Budget;
use crate::highlight::Colours;
use crate::{code, links, text, words};

/// Where a line is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Old,
    New,
    Both,
}

impl Side {
    const fn class(self) -> &'static str {
        match self {
            Self::Old => "del",
            Self::New => "add",
            Self::Both => "same",
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Old => "\u{2212}",
            Self::New => "+",
            Self::Both => "",
        }
    }
}

/// A line as it is shown, with the words that differ.
struct ShownLine<'t> {
    line: Line<'t>,
    text: String,
    marks: Marks,
}

impl<'t> ShownLine<'t> {
    fn of(line: Line<'t>) -> Self {
        Self { line, text: text::line(line.text), marks: Marks::new() }
    }
}

/// How the lines of a difference are shown.
pub(super) struct Table<'a> {
    pub(super) colours: &'a Sides,
    pub(super) manner: Manner,
    /// The page of the newer text.
    pub(super) page: &'a str,
    pub(super) budget: &'a Budget,
}

impl Table<'_> {
    pub(super) fn of(&self, hunks: &Hunks<'_>) -> Markup {
        let is_split = self.manner.is_split;
        let class = if is_split { "delta split" } else { "delta" };
        html! {
            table class=(class) {
                @for (at, hunk) in hunks.all.iter().enumerate() {
                    (self.gap(at.checked_sub(1).and_then(|at| hunks.all.get(at)), hunk))
                    @for piece in hunk {
                        @if is_split { (self.split(piece)) } @else { (self.unified(piece)) }
                    }
                }
            }
        }
    }

    /// The row for the lines between two hunks: a link to them, in whose place the script puts them.
    fn gap(&self, before: Option<&Vec<Piece<'_>>>, after: &[Piece<'_>]) -> Markup {
        let Some((old, new)) = after.first().and_then(Piece::first) else { return html! {} };
        let begins = before.and_then(|hunk| hunk.last()?.end()).unwrap_or((0, 0));
        let count = new.saturating_sub(begins.1);
        if count == 0 || old < begins.0 {
            return html! {};
        }
        let (first, last) = (begins.1.plus(1), new);
        let lines = links::with_field(self.page.to_owned(), &format!("l={first}-{last}"));
        html! {
            tr.gap { td colspan="4" {
                a href={ (lines) "#L" (first) } rel="nofollow" data-old=(begins.0.plus(1)) data-new=(first) data-count=(count) {
                    "\u{22ef} " (words::lines_left_out(count))
                }
            } }
        }
    }

    /// The lines of a change, with the words that differ marked where one took the other's place.
    fn sides<'t>(
        &self,
        olds: &[Line<'t>],
        news: &[Line<'t>],
    ) -> (Vec<ShownLine<'t>>, Vec<ShownLine<'t>>) {
        let shown = |lines: &[Line<'t>]| lines.iter().map(|line| ShownLine::of(*line)).collect();
        let (mut olds, mut news): (Vec<ShownLine<'t>>, Vec<ShownLine<'t>>) =
            (shown(olds), shown(news));
        let ignores_space = self.manner.ignores_space;
        for (old, new) in olds.iter_mut().zip(&mut news) {
            (old.marks, new.marks) = marks::of(&old.text, &new.text, ignores_space, self.budget);
        }
        (olds, news)
    }

    /// The cell with the text of a line. `is_old`: by which text it has its colours.
    fn cell(&self, shown: &ShownLine<'_>, side: Side, is_old: bool) -> Markup {
        let has_end = shown.line.text.ends_with(b"\n") || shown.line.text.ends_with(b"\r");
        let colours = if is_old { &self.colours.old } else { &self.colours.new };
        let plain = Colours::new();
        let colours = colours.get(&shown.line.at).unwrap_or(&plain);
        html! {
            td class={ "c " (side.class()) } {
                (code::line(&shown.text, colours, &shown.marks))
                @if !has_end { span.dim title=(words::LINE_BREAK) { "\u{2205}" } }
            }
        }
    }

    fn unified(&self, piece: &Piece<'_>) -> Markup {
        let row = |shown: &ShownLine<'_>, side: Side, old: Option<Line<'_>>| {
            let new = (side != Side::Old).then_some(shown.line);
            html! {
                tr class=(side.class()) {
                    (number(old)) (number(new)) td.s { (side.sign()) }
                    (self.cell(shown, side, side == Side::Old))
                }
            }
        };
        match piece {
            Piece::Same(old, new) => row(&ShownLine::of(*new), Side::Both, Some(*old)),
            Piece::Change(olds, news) => {
                let (olds, news) = self.sides(olds, news);
                html! {
                    @for old in &olds { (row(old, Side::Old, Some(old.line))) }
                    @for new in &news { (row(new, Side::New, None)) }
                }
            }
        }
    }

    fn split(&self, piece: &Piece<'_>) -> Markup {
        let half = |shown: Option<&ShownLine<'_>>, side: Side, is_old: bool| {
            html! {
                (number(shown.map(|shown| shown.line)))
                @match shown {
                    Some(shown) => (self.cell(shown, side, is_old)),
                    None => td.c.none {},
                }
            }
        };
        match piece {
            Piece::Same(old, new) => {
                let (old, new) = (ShownLine::of(*old), ShownLine::of(*new));
                html! {
                    tr { (half(Some(&old), Side::Both, true)) (half(Some(&new), Side::Both, false)) }
                }
            }
            Piece::Change(olds, news) => {
                let (olds, news) = self.sides(olds, news);
                html! {
                    @for at in 0..olds.len().max(news.len()) {
                        tr { (half(olds.get(at), Side::Old, true)) (half(news.get(at), Side::New, false)) }
                    }
                }
            }
        }
    }
}

fn number(line: Option<Line<'_>>) -> Markup {
    html! { td.n { @if let Some(line) = line { (line.at.plus(1)) } } }
}
