//! The page: one HTML file with its style and its plots inside, no scripts, nothing from elsewhere.

use std::collections::BTreeSet;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::plots;
use super::style::STYLE;
use super::tables::{Summaries, Table, Value, present, summaries, tables};
use super::times;
use crate::axes::{Access, Axis as _, Caches, Format, Packing, Request, Rules, State, System};
use crate::results::{Cell, Results};
use crate::stats::{geometric_mean, ratio};

/// The page as text.
#[must_use]
pub fn page(results: &Results) -> String {
    let elapsed = summaries(results, |s| Some(s.wall));
    let server = summaries(results, |s| s.server_cpu);
    let compared = present(&elapsed, |c| c.system).len() > 1;
    let title = if compared { "Sapwood beside Subversion" } else { "Sapwood, measured" };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    p {
                        "The matrix with which Subversion's developers measured their repository formats: "
                        "every request, by every way, to every repository, with every set-up of caches, cold and hot."
                    }
                    (tiles(&elapsed, &server))
                    (facts(results))
                    (overview(&elapsed, &server))
                    (panels("Elapsed time, seconds",
                        "From the start of the client to its end. Bars are medians, lines reach from the \
                         fastest run to the slowest; ~ marks runs that differ by more than a fifth, ! an outlier.",
                        &elapsed, true))
                    (caches(&elapsed))
                    (panels("The server's processor time, seconds",
                        "User and system time that the server took for one request.", &server, false))
                    (heatup(results))
                    (all_tables(results))
                    footer { "Made by " code { "sapwood-bench" } "." }
                }
            }
        }
    };
    markup.into_string()
}

/// The summary: how many times as much the reference takes, over all requests.
fn tiles(elapsed: &Summaries, server: &Summaries) -> Markup {
    let mut found = Vec::new();
    for (cells, what) in [(elapsed, "elapsed time"), (server, "server's processor time")] {
        for state in present(cells, |c| c.state) {
            let ratios: Vec<f64> = cells
                .iter()
                .filter(|(c, _)| c.system == System::Sapwood && c.state == state)
                .filter_map(|(c, ours)| {
                    let other = cells.get(&Cell { system: System::Reference, ..*c })?;
                    ratio(other.median, ours.median)
                })
                .collect();
            if let Some(mean) = geometric_mean(&ratios) {
                found.push((times(mean), state, what, ratios.len()));
            }
        }
    }
    html! {
        @if !found.is_empty() {
            div class="tiles" {
                @for (mean, state, what, count) in &found {
                    div class="tile" {
                        b { (mean) "\u{d7}" }
                        strong { (state.title()) }
                        span { (what) ", " (count) " figures" }
                    }
                }
            }
            p { "The reference's as a multiple of Sapwood's: geometric means of all requests, repositories, ways "
                "and set-ups of caches below." }
        }
    }
}

fn facts(results: &Results) -> Markup {
    html! {
        dl class="facts" {
            @for (name, value) in &results.about { dt { (name) } dd { (value) } }
        }
        @if !results.notes.is_empty() {
            ul class="notes" { @for note in &results.notes { li { (note) } } }
        }
    }
}

/// Which colour is whose.
fn legend(cells: &Summaries) -> Markup {
    html! {
        div class="legend" {
            @for system in present(cells, |c| c.system) {
                span {
                    svg viewBox="0 0 14 14" { rect class=(format!("s-{}", system.name())) width="14" height="14" rx="2" {} }
                    (system.title())
                }
            }
        }
    }
}

fn overview(elapsed: &Summaries, server: &Summaries) -> Markup {
    let plots: Vec<(&str, Markup)> = [
        ("Elapsed time", plots::overview(elapsed)),
        ("The server's processor time", plots::overview(server)),
    ]
    .into_iter()
    .filter_map(|(name, plot)| Some((name, plot?)))
    .collect();
    html! {
        @if !plots.is_empty() {
            h2 { "How many times as much the reference takes" }
            p { "A mark for each repository, access and set-up of caches. To the right of the broken line "
                "Sapwood is better; the scale doubles from line to line." }
            div class="legend" {
                @for state in present(elapsed, |c| c.state) {
                    span { svg viewBox="0 0 14 14" { (plots::mark(state, 7.0, 7.0)) } (state.title()) }
                }
            }
            div class="grid c1" {
                @for (name, plot) in &plots {
                    figure { figcaption { (name) } div class="scroll wide" { (plot) } }
                }
            }
        }
    }
}

/// Small multiples: a section for each access and set-up of caches, in it a row for each request and
/// a column for each state.
fn panels(title: &str, about: &str, cells: &Summaries, first_open: bool) -> Markup {
    let sections: BTreeSet<(Access, Caches)> = cells.keys().map(|c| (c.access, c.caches)).collect();
    html! {
        @if !cells.is_empty() {
            h2 { (title) }
            p { (about) }
            (legend(cells))
            @for (at, (access, caches)) in sections.iter().enumerate() {
                details open[first_open && at == 0] {
                    summary { (access.title()) ", " (caches.title()) }
                    @for request in present(cells, |c| c.request) {
                        @let row = row(cells, request, *access, *caches);
                        @if !row.is_empty() {
                            h3 { (request.title()) }
                            div class="grid c3" {
                                @for (state, plot) in &row {
                                    figure { figcaption { (state.title()) } (plot) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn row(
    cells: &Summaries,
    request: Request,
    access: Access,
    caches: Caches,
) -> Vec<(State, Markup)> {
    let of = |state| Cell {
        request,
        access,
        rules: Rules::Open,
        caches,
        format: Format::F6,
        packing: Packing::Packed,
        state,
        system: System::Sapwood,
    };
    let states = present(cells, |c| c.state).into_iter();
    states.filter_map(|state| Some((state, plots::bars(cells, of(state))?))).collect()
}

/// The gain of larger caches, for the repository that is youngest in format and packed.
fn caches(cells: &Summaries) -> Markup {
    let mut found = Vec::new();
    let newest = |c: &Cell| (c.format != Format::Fsx).then_some((c.format, c.packing));
    let repository = cells.keys().filter_map(newest).max();
    if let Some((format, packing)) = repository
        && present(cells, |c| c.caches).len() > 1
    {
        for request in present(cells, |c| c.request) {
            let mut row = Vec::new();
            for (access, state) in present(cells, |c| (c.access, c.state)) {
                let caches = Caches::Medium;
                let system = System::Sapwood;
                let rules = Rules::Open;
                let of = Cell { request, access, rules, caches, format, packing, state, system };
                if let Some(plot) = plots::caches(cells, of) {
                    row.push((access, state, plot));
                }
            }
            if !row.is_empty() {
                found.push((request, row));
            }
        }
    }
    html! {
        @if !found.is_empty() {
            h2 { "What larger caches bring" }
            p { "Elapsed seconds with slow, medium and fast caches, in the newest format, packed if there is one." }
            (legend(cells))
            @for (at, (request, row)) in found.iter().enumerate() {
                details open[at == 0] {
                    summary { (request.title()) }
                    div class="grid c3" {
                        @for (access, state, plot) in row {
                            figure { figcaption { (access.title()) " " small { (state.title()) } } (plot) }
                        }
                    }
                }
            }
        }
    }
}

fn heatup(results: &Results) -> Markup {
    let requests: BTreeSet<Request> = results.heatup.iter().map(|s| s.request).collect();
    html! {
        @if !requests.is_empty() {
            h2 { "Heat-up of the server's cache" }
            p { "The same request fifteen times to one server, in elapsed seconds: with 1.7 times the cache that "
                "is needed (line), and with just as much (broken line). A cache that keeps its promise is as fast "
                "in the third run as in the fifteenth, with both." }
            div class="legend" {
                @for system in System::ALL {
                    span {
                        svg viewBox="0 0 14 14" { rect class=(format!("s-{}", system.name())) width="14" height="14" rx="2" {} }
                        (system.title())
                    }
                }
            }
            div class="grid c2" {
                @for request in &requests {
                    figure { figcaption { (request.title()) } (plots::heat(&results.heatup, *request)) }
                }
            }
        }
    }
}

fn all_tables(results: &Results) -> Markup {
    html! {
        h2 { "All figures" }
        @for table in tables(results) {
            details { summary { (table.title) } (one_table(&table)) }
        }
    }
}

fn one_table(table: &Table) -> Markup {
    let better_above_one = table.title.starts_with("Reference against");
    let class = |value: &Value| match value {
        Value::Label(_) => "label",
        Value::Ratio(r) if better_above_one && *r >= 1.25 => "good",
        Value::Ratio(r) if better_above_one && *r <= 0.8 => "bad",
        _ => "",
    };
    let labels = table
        .rows
        .first()
        .map_or(0, |row| row.iter().take_while(|value| matches!(value, Value::Label(_))).count());
    html! {
        p { (table.about) }
        div class="scroll" {
            table {
                thead { tr {
                    @for (at, name) in table.head.iter().enumerate() {
                        th class=(if at < labels { "label" } else { "" }) { (name) }
                    }
                } }
                tbody {
                    @for row in &table.rows {
                        tr { @for value in row { td class=(class(value)) { (value.text()) } } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    /// Fails unless every element that is opened is closed, in order.
    fn assert_balanced(html: &str) {
        let mut open: Vec<&str> = Vec::new();
        let body = html.strip_prefix("<!DOCTYPE html>").unwrap();
        for piece in body.split('<').skip(1) {
            let (tag, _) = piece.split_once('>').unwrap();
            let name = tag.split_ascii_whitespace().next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "{piece}"),
                None if name == "meta" => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn a_page_is_whole_and_needs_nothing() {
        let html = page(&sample::results());
        assert_balanced(&html);
        for forbidden in
            ["<script", "<link", "<img", "src=", "http://", "https://", "@import", "NaN", "inf"]
        {
            assert!(!html.contains(forbidden), "{forbidden}");
        }
        // Text from outside is escaped.
        assert!(
            html.contains("a sample &lt;of&gt; nothing") && html.contains("A note &amp; a half.")
        );
        for part in [
            "prefers-color-scheme: dark",
            "How many times as much the reference takes",
            "svn:, medium caches",
            "file:, medium caches",
            "Heat-up of the server's cache",
            "Ratio of packing",
        ] {
            assert!(html.contains(part), "{part}");
        }
        // Two requests in three states over svn: and in two over file:, and the servers' CPU of the
        // first; two overviews; one heat-up.
        assert_eq!(html.matches("<figure>").count(), (6 + 4) + 6 + 2 + 1);
        assert_eq!(html.matches("<table>").count(), 11);
    }

    #[test]
    fn a_page_of_little() {
        let mut results = sample::results();
        results.samples.retain(|s| s.cell.system == System::Sapwood);
        results.heatup.clear();
        let html = page(&results);
        assert_balanced(&html);
        assert!(html.contains("Sapwood, measured") && !html.contains("Heat-up"));
        assert!(!html.contains("class=\"tiles\""));
        assert_balanced(&page(&Results::default()));
    }
}
