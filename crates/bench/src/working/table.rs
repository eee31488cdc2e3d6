//! The results as a Markdown table: medians, and the ratios that the goals are stated in.

use std::fmt::Write as _;

use super::{Findings, Row, Tool, Work};
use crate::stats::{Summary, ratio};

/// The table, with the machine above it and failures below.
#[must_use]
pub fn to_markdown(findings: &Findings) -> String {
    let mut out = String::new();
    for (name, value) in &findings.about {
        let _ = writeln!(out, "- {name}: {value}");
    }
    out.push_str(
        "\nSeconds by the clock, medians (`~` where runs differ by more than a fifth); system calls of one run.\n\n\
         | work | Subversion | git | Sapwood | Subversion / Sapwood | Sapwood / git | calls, Subversion | calls, Sapwood |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for work in Work::ALL {
        let rows: Vec<Row> = findings.rows.iter().filter(|r| r.work == work).cloned().collect();
        if !rows.is_empty() {
            let _ = writeln!(out, "{}", line(work, &rows));
        }
    }
    for row in &findings.rows {
        if let Some(failure) = &row.failure {
            let _ = writeln!(out, "\n{} by {}: {failure}", row.work.title(), row.tool.title());
        }
    }
    out
}

/// One line of the table.
pub(super) fn line(work: Work, rows: &[Row]) -> String {
    let of = |tool: Tool| rows.iter().find(|row| row.tool == tool);
    let summary = |tool: Tool| of(tool).and_then(|row| Summary::of(&row.seconds));
    let seconds = |tool: Tool| {
        summary(tool).map_or_else(|| "-".to_owned(), |s| format!("{:.3}{}", s.median, s.marks()))
    };
    let quotient = |a: Tool, b: Tool| {
        let found = summary(a).zip(summary(b)).and_then(|(a, b)| ratio(a.median, b.median));
        found.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"))
    };
    let calls = |tool: Tool| {
        let found = of(tool).and_then(|row| row.calls);
        found.map_or_else(|| "-".to_owned(), |n| n.to_string())
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |",
        work.title(),
        seconds(Tool::Reference),
        seconds(Tool::Git),
        seconds(Tool::Sapwood),
        quotient(Tool::Reference, Tool::Sapwood),
        quotient(Tool::Sapwood, Tool::Git),
        calls(Tool::Reference),
        calls(Tool::Sapwood),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_medians_and_ratios() {
        let row = |tool, seconds: &[f64], calls| Row {
            work: Work::Status,
            tool,
            seconds: seconds.to_vec(),
            cpu: Vec::new(),
            peak_mib: 0.0,
            calls,
            failure: None,
        };
        let rows = [
            row(Tool::Reference, &[0.4, 0.41, 0.4], Some(900)),
            row(Tool::Git, &[0.2, 0.2, 0.2], None),
            row(Tool::Sapwood, &[0.1, 0.1, 0.1], Some(300)),
        ];
        assert_eq!(
            line(Work::Status, &rows),
            "| status, hot | 0.400 | 0.200 | 0.100 | 4.00 | 0.50 | 900 | 300 |"
        );
    }
}
