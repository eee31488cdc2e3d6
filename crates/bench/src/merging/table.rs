//! What came of it, as a Markdown table: medians, requests, and ratios of the reference to ours at the same
//! server.

use std::fmt::Write as _;

use super::{Findings, Row};
use crate::axes::{Axis as _, System};
use crate::stats::{Summary, ratio};

/// The table, with the machine above it and failures below.
#[must_use]
pub fn to_markdown(findings: &Findings) -> String {
    let mut out = String::new();
    for (name, value) in &findings.about {
        let _ = writeln!(out, "- {name}: {value}");
    }
    out.push_str(
        "\nSeconds are medians (`~` where runs differ by more than a fifth); the client's processor alone. Ratios: \
         Subversion's client to ours at the same server.\n\n\
         | work | subtrees | server | client | clock | ratio | processor | ratio | requests | ratio | MiB |\n\
         |---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in &findings.rows {
        let _ = writeln!(out, "{}", line(row, &findings.rows));
    }
    for row in &findings.rows {
        if let Some(failure) = &row.failure {
            let _ = writeln!(
                out,
                "\n{} with {} subtrees by {} at {}: {failure}",
                row.work.name(),
                row.subtrees,
                row.client.title(),
                place(row)
            );
        }
    }
    out
}

/// Where a row's repository was asked.
fn place(row: &Row) -> &'static str {
    match row.server {
        Some(server) => server.title(),
        None if row.work.asks() => "file:",
        None => "-",
    }
}

/// One line of the table; ratios stand in our lines.
pub(super) fn line(row: &Row, all: &[Row]) -> String {
    let other = all.iter().find(|other| {
        (other.work, other.subtrees, other.server) == (row.work, row.subtrees, row.server)
            && other.client == System::Reference
            && row.client == System::Sapwood
    });
    let seconds = |values: &[f64]| {
        let summary = Summary::of(values);
        summary.map_or_else(|| "-".to_owned(), |s| format!("{:.2}{}", s.median, s.marks()))
    };
    let quotient = |values: fn(&Row) -> &[f64]| {
        let median = |row: &Row| Summary::of(values(row)).map(|summary| summary.median);
        let found = other.and_then(|other| ratio(median(other)?, median(row)?));
        found.map_or_else(String::new, |r| format!("{r:.2}"))
    };
    let requests = other.filter(|_| row.requests > 0).map_or_else(String::new, |other| {
        let float = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        ratio(float(other.requests), float(row.requests))
            .map_or_else(String::new, |r| format!("{r:.1}"))
    });
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {requests} | {:.0} |",
        row.work.name(),
        row.subtrees,
        place(row),
        row.client.title(),
        seconds(&row.seconds),
        quotient(|row| &row.seconds),
        seconds(&row.cpu),
        quotient(|row| &row.cpu),
        row.requests,
        row.peak_mib,
    )
}

#[cfg(test)]
mod tests {
    use super::super::Work;
    use super::*;

    #[test]
    fn our_lines_have_ratios() {
        let row = |client, seconds: f64, requests| Row {
            seconds: vec![seconds],
            cpu: vec![seconds / 2.0],
            requests,
            ..Row::new(Work::CatchUp, 100, client, Some(System::Sapwood))
        };
        let all = [row(System::Reference, 4.0, 90), row(System::Sapwood, 1.0, 30)];
        assert_eq!(
            line(&all[1], &all),
            "| catch-up | 100 | Sapwood | Sapwood | 1.00 | 4.00 | 0.50 | 4.00 | 30 | 3.0 | 0 |"
        );
        assert!(line(&all[0], &all).ends_with("| 4.00 |  | 2.00 |  | 90 |  | 0 |"));
    }
}
