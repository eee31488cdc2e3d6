//! The graph as an SVG: a line for each branch, time from left to right, and curves for copies and merges.
//!
//! Invariants: the picture says nothing that the table does not; screen readers get the table alone. It has no links and no style of its own.

use maud::{Markup, html};
use sapwood_core::exact::Exact as _;

use super::{Event, Graph, What};
use crate::{text, words};

/// Points between two events, and between two branches.
const STEP: usize = 36;
const HEIGHT: usize = 30;
/// Points for the names of branches.
const NAMES: usize = 180;
/// Points of a line before the first event.
const BEFORE: usize = 12;
/// Characters of such a name.
const NAME: usize = 22;
/// Points above the first branch.
const TOP: usize = 18;

/// The picture.
pub(super) fn of(graph: &Graph) -> Markup {
    let columns = graph.events.len();
    let (width, height) = (x(columns).plus(8), y(graph.lanes.len()).plus(6));
    // The oldest is the first.
    let events = || graph.events.iter().rev().enumerate();
    html! {
        svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } aria-hidden="true" focusable="false" {
            @for (lane, path) in graph.lanes.iter().enumerate() {
                text.name x="4" y=(y(lane).plus(4)) { (text::cut(text::shown(path.name()).into_owned(), NAME).0) }
                (line(graph, lane))
            }
            @for (at, event) in events() { (curves(graph, at, event)) }
            @for (at, event) in events() { (mark(at, event)) }
            @for (at, event) in events() {
                text.at x=(x(at)) y=(height.minus(8)) text-anchor="middle" { (words::revision(event.change.revision)) }
            }
        }
    }
}

fn x(column: usize) -> usize {
    column.times(STEP).plus(NAMES).plus(STEP / 2)
}

fn y(lane: usize) -> usize {
    lane.times(HEIGHT).plus(TOP)
}

/// The life of a branch: from its copy on, or from before the picture.
fn line(graph: &Graph, lane: usize) -> Markup {
    let mut events = graph.events.iter().rev().enumerate();
    let born =
        events.find(|(_, event)| event.lane == lane && matches!(event.what, What::Copied(_)));
    let from = born.map_or(NAMES.minus(BEFORE), |(at, _)| x(at));
    html! { line.life x1=(from) x2=(x(graph.events.len()).minus(STEP / 2)) y1=(y(lane)) y2=(y(lane)) {} }
}

/// From where something was copied or merged.
fn curves(graph: &Graph, at: usize, event: &Event) -> Markup {
    let (class, sources) = match &event.what {
        What::Copied(Some(source)) => ("copy", std::slice::from_ref(source)),
        What::Merged(sources) => ("merge", sources.as_slice()),
        What::Copied(None) | What::Changed => return html! {},
    };
    let lanes = sources.iter().filter_map(|source| graph.lane(&source.path));
    let (to_x, to_y) = (x(at), y(event.lane));
    let from_x = to_x.minus(STEP.times(3) / 4);
    html! {
        @for from_y in lanes.filter(|lane| *lane != event.lane).map(y) {
            path class=(class) d={
                "M" (from_x) " " (from_y) " C" (to_x) " " (from_y) " " (from_x) " " (to_y) " " (to_x) " " (to_y)
            } {}
        }
    }
}

/// Copies are rings, merges squares, other changes dots: they differ in shape, not in colour alone.
fn mark(at: usize, event: &Event) -> Markup {
    let (x, y) = (x(at), y(event.lane));
    match event.what {
        What::Copied(_) => html! { circle.copy cx=(x) cy=(y) r="5" {} },
        What::Merged(_) => html! {
            rect.merge x=(x.minus(5)) y=(y.minus(5)) width="10" height="10" {}
        },
        What::Changed => html! { circle.change cx=(x) cy=(y) r="4" {} },
    }
}
