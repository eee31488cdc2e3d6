//! The plots, as SVG elements whose colours come from the page's style sheet, so that they change
//! with it. (A plotting library would write its colours into each element.)
//!
//! Invariant: axes of lengths begin at 0; an axis of ratios is logarithmic, with the same way to
//! the left and to the right of 1. Every mark shows its figures when the pointer is over it.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::tables::{Summaries, present};
use super::{seconds, times};
use crate::axes::{Axis as _, Format, Packing, Request, State, System};
use crate::float;
use crate::results::{Cell, HeatSample};
use crate::stats::{Summary, ratio};

/// A coordinate: a tenth of a pixel is enough.
fn at(value: f64) -> String {
    format!("{value:.1}")
}

/// The smallest of 1, 2, 5, 10, ... times a power of ten that is not below `value`.
fn nice(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.iter().map(|s| s * power).find(|n| *n >= value * 0.999).unwrap_or(value)
}

/// The marks of a linear axis from 0 that ends at or above `max`: step and end.
fn axis(max: f64) -> (f64, f64) {
    let step = nice(max / 4.0);
    (step, (max / step).ceil().max(1.0) * step)
}

/// Marks from 0 to `end`.
fn ticks(step: f64, end: f64) -> Vec<f64> {
    let mut out = Vec::new();
    let mut next = 0.0;
    while next <= end * 1.0001 && out.len() < 20 {
        out.push(next);
        next += step;
    }
    out
}

fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bars of one request in one state: a group for each repository, a bar for each system.
pub(super) fn bars(cells: &Summaries, of: Cell) -> Option<Markup> {
    let mut groups: BTreeMap<(Format, Packing), Vec<(System, Summary)>> = BTreeMap::new();
    for (cell, summary) in cells {
        let place = Cell { format: of.format, packing: of.packing, system: of.system, ..*cell };
        if place == of {
            let group = groups.entry((cell.format, cell.packing)).or_default();
            group.push((cell.system, *summary));
        }
    }
    let all = || groups.values().flatten();
    let max = all().map(|(_, s)| s.max).fold(0.0, f64::max);
    all().next()?;
    let (bar, gap, left, width, right) = (12.0, 9.0, 104.0, 400.0, 58.0);
    let (step, end) = axis(max);
    let x = |value: f64| left + value / end * (width - left - right);
    let height = float(all().count()) * bar + float(groups.len()) * gap + 20.0;
    let mut top = 2.0;
    Some(html! {
        svg viewBox=(format!("0 0 {width} {height:.0}")) role="img" {
            @for tick in ticks(step, end) {
                line class="gridline" x1=(at(x(tick))) x2=(at(x(tick))) y1="0" y2=(at(height - 16.0)) {}
                text class="mid" x=(at(x(tick))) y=(at(height - 4.0)) { (short(tick)) }
            }
            @for ((format, packing), bars) in &groups {
                @let middle = top + float(bars.len()) * bar / 2.0 + 4.0;
                text class="end" x=(at(left - 8.0)) y=(at(middle)) { (format.name()) " " (packing.title()) }
                @for (system, summary) in bars {
                    g {
                        title {
                            (system.title()) ": " (seconds(summary.median)) " s ("
                            (seconds(summary.min)) " to " (seconds(summary.max)) ", "
                            (summary.count) " runs)"
                        }
                        rect class=(format!("s-{}", system.name())) x=(at(left)) y=(at(top + 1.0))
                            width=(at((x(summary.median) - left).max(1.0))) height=(at(bar - 2.0)) rx="1.5" {}
                        line class="range" x1=(at(x(summary.min))) x2=(at(x(summary.max)))
                            y1=(at(top + bar / 2.0)) y2=(at(top + bar / 2.0)) {}
                        text class="value" x=(at(x(summary.max) + 5.0)) y=(at(top + bar - 1.8)) {
                            (seconds(summary.median)) (summary.marks())
                        }
                    }
                    ({ top += bar; "" })
                }
                ({ top += gap; "" })
            }
            line class="axis" x1=(at(left)) x2=(at(left)) y1="0" y2=(at(height - 16.0)) {}
        }
    })
}

/// The shape that stands for a state.
pub(super) fn mark(state: State, x: f64, y: f64) -> Markup {
    let class = format!("m-{}", state.name());
    html! {
        @match state {
            State::Cold => {
                path class=(class) d=(format!("M{:.1} {:.1}l5 5l-5 5l-5 -5z", x, y - 5.0)) {}
            }
            State::HotOs => { circle class=(class) cx=(at(x)) cy=(at(y)) r="3.8" {} }
            State::HotServer => { circle class=(class) cx=(at(x)) cy=(at(y)) r="3.4" {} }
        }
    }
}

/// How many times as much the reference takes, for all requests: a dot for each repository, access
/// and set-up, a row for each request.
pub(super) fn overview(cells: &Summaries) -> Option<Markup> {
    let mut dots: BTreeMap<Request, Vec<(Cell, f64)>> = BTreeMap::new();
    for (cell, ours) in cells.iter().filter(|(cell, _)| cell.system == System::Sapwood) {
        let other = cells.get(&Cell { system: System::Reference, ..*cell });
        if let Some(factor) = other.and_then(|other| ratio(other.median, ours.median)) {
            dots.entry(cell.request).or_default().push((*cell, factor));
        }
    }
    let factors = || dots.values().flatten().map(|(_, factor)| factor.max(1e-3));
    let (low, high) = (factors().fold(1.0, f64::min), factors().fold(1.0, f64::max));
    if dots.is_empty() {
        return None;
    }
    let ends = (low.log2().floor().min(-1.0), high.log2().ceil().max(1.0));
    let (left, width, right, row) = (104.0, 1120.0, 20.0, 46.0);
    let x = |factor: f64| {
        left + (factor.max(1e-3).log2() - ends.0) / (ends.1 - ends.0) * (width - left - right)
    };
    let height = float(dots.len()) * row + 26.0;
    let powers: Vec<f64> =
        ticks(1.0, ends.1 - ends.0).iter().map(|n| (n + ends.0).exp2()).collect();
    Some(html! {
        svg viewBox=(format!("0 0 {width} {height:.0}")) role="img" {
            @for factor in powers {
                @let class = if (factor - 1.0).abs() < 1e-9 { "one" } else { "gridline" };
                line class=(class) x1=(at(x(factor))) x2=(at(x(factor))) y1="0" y2=(at(height - 20.0)) {}
                text class="mid" x=(at(x(factor))) y=(at(height - 5.0)) { (short(factor)) "\u{d7}" }
            }
            @for (line, (request, dots)) in dots.iter().enumerate() {
                @let top = float(line) * row;
                text class="end value" x=(at(left - 10.0)) y=(at(top + row / 2.0 + 4.0)) { (request.title()) }
                line class="gridline" x1=(at(left)) x2=(at(width - right)) y1=(at(top + row)) y2=(at(top + row)) {}
                @for (cell, factor) in dots {
                    // One lane for each state keeps the dots apart.
                    @let lane = State::ALL.iter().position(|s| *s == cell.state).unwrap_or(0);
                    g {
                        title {
                            (request.title()) ", " (cell.state.title()) ", " (cell.access.title()) " "
                            (cell.format.title()) " " (cell.packing.title()) ", " (cell.caches.title())
                            ": " (times(*factor)) "\u{d7}"
                        }
                        (mark(cell.state, x(*factor), top + 11.0 + float(lane) * 12.0))
                    }
                }
            }
        }
    })
}

/// A line through points, with a dot at each.
struct Curve {
    system: System,
    dashed: bool,
    points: Vec<(f64, f64, String)>,
}

/// Curves over marks of a horizontal axis.
fn curves(names: &[String], curves: &[Curve]) -> Markup {
    let (left, width, right, height) = (40.0, 400.0, 24.0, 190.0);
    let max = curves.iter().flat_map(|c| &c.points).map(|p| p.1).fold(0.0, f64::max);
    let (step, end) = axis(max);
    let last = float(names.len().saturating_sub(1)).max(1.0);
    let x = |value: f64| left + 10.0 + value / last * (width - left - right - 10.0);
    let y = |value: f64| 8.0 + (1.0 - value / end) * (height - 32.0);
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) role="img" {
            @for tick in ticks(step, end) {
                line class="gridline" x1=(at(left)) x2=(at(width - right)) y1=(at(y(tick))) y2=(at(y(tick))) {}
                text class="end" x=(at(left - 6.0)) y=(at(y(tick) + 4.0)) { (short(tick)) }
            }
            @for (place, name) in names.iter().enumerate() {
                text class="mid" x=(at(x(float(place)))) y=(at(height - 6.0)) { (name) }
            }
            @for curve in curves {
                @let dash = if curve.dashed { " dash" } else { "" };
                @let way: Vec<String> =
                    curve.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
                polyline class=(format!("l-{}{dash}", curve.system.name())) points=(way.join(" ")) {}
                @for (place, value, words) in &curve.points {
                    circle class=(format!("s-{}", curve.system.name())) cx=(at(x(*place))) cy=(at(y(*value))) r="3" {
                        title { (words) }
                    }
                }
            }
        }
    }
}

/// A request in one state with slow, medium and fast caches.
pub(super) fn caches(cells: &Summaries, of: Cell) -> Option<Markup> {
    let setups = present(cells, |c| c.caches);
    let mut out = Vec::new();
    for system in present(cells, |c| c.system) {
        let points: Vec<(f64, f64, String)> = setups
            .iter()
            .enumerate()
            .filter_map(|(place, caches)| {
                let cell = Cell { system, caches: *caches, ..of };
                let summary = cells.get(&cell)?;
                let words = format!(
                    "{}, {}: {} s",
                    system.title(),
                    caches.title(),
                    seconds(summary.median)
                );
                Some((float(place), summary.median, words))
            })
            .collect();
        if points.len() > 1 {
            out.push(Curve { system, dashed: false, points });
        }
    }
    let names: Vec<String> = setups.iter().map(|c| c.name().to_owned()).collect();
    (!out.is_empty()).then(|| curves(&names, &out))
}

/// The heat-up of the servers' caches with one request.
pub(super) fn heat(samples: &[HeatSample], request: Request) -> Markup {
    let mut found: Vec<Curve> = Vec::new();
    let of_request = || samples.iter().filter(|s| s.request == request);
    let runs = of_request().map(|s| s.run).max().unwrap_or(1);
    for first in of_request().filter(|s| s.run == 1) {
        let same =
            |s: &&HeatSample| s.system == first.system && (s.factor - first.factor).abs() < 1e-9;
        let points = of_request().filter(same).map(|s| {
            let words = format!(
                "{}, {:.1} of the cache ({} MB), run {}: {} s",
                s.system.title(),
                s.factor,
                s.cache_mb,
                s.run,
                seconds(s.wall)
            );
            (f64::from(s.run.saturating_sub(1)), s.wall, words)
        });
        let points = points.collect();
        found.push(Curve { system: first.system, dashed: first.factor < 1.2, points });
    }
    let named =
        |run: u32| if run == 1 || run.is_multiple_of(3) { run.to_string() } else { String::new() };
    let names: Vec<String> = (1..=runs).map(named).collect();
    curves(&names, &found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_round() {
        assert_eq!(axis(0.93), (0.5, 1.0));
        assert_eq!(axis(0.0), (1.0, 1.0));
        assert_eq!(axis(37.0), (10.0, 40.0));
        assert_eq!(ticks(10.0, 40.0), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(
            (short(0.5), short(2.0), short(0.125)),
            ("0.5".into(), "2".into(), "0.125".into())
        );
    }
}
