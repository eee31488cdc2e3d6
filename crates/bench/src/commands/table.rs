//! What was measured, as a Markdown table and as a table of tabs.

use std::fmt::Write as _;

use super::{Comparison, Findings, MeasuredRow, RowTimes};
use crate::stats::ratio;

const HEAD: [&str; 11] = [
    "command",
    "wire",
    "ours s",
    "1.14 s",
    "times",
    "CPU: ours",
    "1.14",
    "MiB: ours",
    "1.14",
    "floor s",
    "marks",
];

/// The table, with the machine above it and a summary below.
#[must_use]
pub fn to_markdown(findings: &Findings) -> String {
    let mut out = String::new();
    for (name, value) in &findings.about {
        let _ = writeln!(out, "- {name}: {value}");
    }
    let _ = write!(out, "\n| {} |\n|{}\n", HEAD.join(" | "), "---|".repeat(HEAD.len()));
    for row in &findings.rows {
        let _ = writeln!(out, "{}", line(row));
    }
    let _ = writeln!(out, "\n{}", summary(findings));
    out
}

/// The same with tabs, without the summary.
#[must_use]
pub fn to_tsv(findings: &Findings) -> String {
    let mut out = HEAD.join("\t") + "\n";
    for row in &findings.rows {
        let _ = writeln!(out, "{}", fields(row).join("\t"));
    }
    out
}

/// One line of the table.
pub(super) fn line(row: &MeasuredRow) -> String {
    format!("| {} |", fields(row).join(" | "))
}

fn fields(row: &MeasuredRow) -> [String; 11] {
    let none = || "-".to_owned();
    let of = |take: fn(&RowTimes) -> String| row.reference.as_ref().map_or_else(none, take);
    let seconds = |taken: &RowTimes| format!("{:.3}", taken.seconds);
    let cpu = |taken: &RowTimes| format!("{:.2}", taken.cpu);
    let peak = |taken: &RowTimes| format!("{:.0}", taken.peak_mib);
    let mut marks: Vec<String> = row.marks().into_iter().map(str::to_owned).collect();
    if row.output == Comparison::Order {
        marks.push("(order)".to_owned());
    }
    if row.ours.code != Some(0) {
        marks.push(format!("(code {:?}: {})", row.ours.code.unwrap_or(-1), row.ours.complaint));
    }
    [
        row.name.to_owned(),
        row.wire.name().to_owned(),
        seconds(&row.ours),
        of(seconds),
        times(row).map_or_else(none, |times| format!("{times:.1}")),
        cpu(&row.ours),
        of(cpu),
        peak(&row.ours),
        of(peak),
        row.floor.map_or_else(none, |floor| format!("{floor:.3}")),
        marks.join(" "),
    ]
}

fn times(row: &MeasuredRow) -> Option<f64> {
    ratio(row.reference.as_ref()?.seconds, row.ours.seconds)
}

/// How many rows there are, and how many of them are marked.
fn summary(findings: &Findings) -> String {
    let mut all: Vec<f64> = findings.rows.iter().filter_map(times).collect();
    all.sort_by(f64::total_cmp);
    let median = all.get(all.len() / 2).copied().unwrap_or(0.0);
    let slow = all.iter().filter(|times| **times < 1.5).count();
    let marked = findings.rows.iter().filter(|row| !row.marks().is_empty()).count();
    format!(
        "{} rows, median {median:.1} times, {slow} below 1.5, {marked} marked.",
        findings.rows.len()
    )
}

#[cfg(test)]
mod tests {
    use super::super::rows::Wire;
    use super::*;

    #[test]
    fn a_line_has_all_fields() {
        let taken = |seconds, code| RowTimes {
            seconds,
            cpu: 0.5,
            peak_mib: 10.0,
            code: Some(code),
            complaint: "no".to_owned(),
        };
        let row = MeasuredRow {
            name: "status",
            wire: Wire::Svn,
            ours: taken(0.5, 1),
            reference: Some(taken(1.0, 0)),
            output: Comparison::Same,
            floor: Some(0.25),
        };
        assert_eq!(
            line(&row),
            "| status | svn | 0.500 | 1.000 | 2.0 | 0.50 | 0.50 | 10 | 10 | 0.250 | code (code 1: no) |"
        );
        let findings = Findings { about: Vec::new(), rows: vec![row] };
        assert!(
            to_markdown(&findings).ends_with("1 rows, median 2.0 times, 0 below 1.5, 1 marked.\n")
        );
        assert_eq!(to_tsv(&findings).lines().count(), 2);
    }
}
