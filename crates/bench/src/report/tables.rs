//! The tables that issue 4 asks for, which takes them from a report of Subversion's developers of
//! 2014: elapsed time, ratios of formats, of packing, of access methods, the client's processor
//! time; and those that compare systems.
//!
//! Invariant: every figure of a table is a median of all runs of its cell, with its extremes and
//! the marks of [`Summary::marks`] where there is room. What is the same in all rows has no column;
//! it is printed above the table.

use std::collections::{BTreeMap, BTreeSet};

use super::{seconds, times};
use crate::axes::{Access, Axis as _, Format, Packing, Rules, State, System};
use crate::results::{Cell, HeatSample, Results, Sample};
use crate::stats::{Summary, ratio};

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its heading.
    pub title: String,
    /// A note about it.
    pub about: String,
    /// The names of its columns.
    pub head: Vec<String>,
    /// Its rows, as long as the head.
    pub rows: Vec<Vec<Value>>,
}

/// One field of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The label of the row.
    Label(String),
    /// Seconds.
    Seconds(Summary),
    /// A number of something.
    Count(f64),
    /// The ratio of two figures.
    Ratio(f64),
    /// No value.
    Missing,
}

impl Value {
    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Label(text) => text.clone(),
            Self::Seconds(s) if s.count == 1 => seconds(s.median),
            Self::Seconds(s) => {
                let range = format!("{}-{}", seconds(s.min), seconds(s.max));
                format!("{} ({range}){}", seconds(s.median), s.marks())
            }
            Self::Count(n) => format!("{n:.0}"),
            Self::Ratio(r) => times(*r),
            Self::Missing => "-".to_owned(),
        }
    }
}

impl Table {
    /// As Markdown.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut out = format!("### {}\n\n", self.title);
        if !self.about.is_empty() {
            out.push_str(&format!("{}\n\n", self.about));
        }
        out.push_str(&format!("| {} |\n|", self.head.join(" | ")));
        let first = self.rows.first();
        for at in 0..self.head.len() {
            let label = matches!(first.and_then(|r| r.get(at)), Some(Value::Label(_)));
            out.push_str(if label { "---|" } else { "---:|" });
        }
        out.push('\n');
        for row in &self.rows {
            let fields: Vec<String> = row.iter().map(Value::text).collect();
            out.push_str(&format!("| {} |\n", fields.join(" | ")));
        }
        out
    }
}

/// All tables that the results have something for.
#[must_use]
pub fn tables(results: &Results) -> Vec<Table> {
    let elapsed = summaries(results, |s| Some(s.wall));
    let server = summaries(results, |s| s.server_cpu);
    let client = summaries(results, |s| Some(s.client_cpu));
    let reads = summaries(results, |s| s.server_reads.map(small));
    let peak = summaries(results, |s| s.peak_mib);
    let marks = "Median (smallest-largest) in seconds; ~: the runs differ by more than a fifth, \
                 !: an outlier among them.";
    let mut out = vec![
        figures("Elapsed time", marks, &elapsed, Value::Seconds),
        systems("Reference against Sapwood, elapsed time", &elapsed),
        formats(&elapsed),
        packings(&elapsed),
        accesses(&elapsed),
        rules(&elapsed),
        figures("The client's processor time", marks, &client, Value::Seconds),
        figures("The server's processor time", marks, &server, Value::Seconds),
        systems("Reference against Sapwood, the server's processor time", &server),
        figures("Read calls of the server", "", &reads, |s| Value::Count(s.median)),
        figures("Peak memory, MiB", "Of the server; without one, of the client.", &peak, |s| {
            Value::Count(s.max)
        }),
        heatup(&results.heatup),
    ];
    out.retain(|table| !table.rows.is_empty());
    out
}

/// A number of calls as a figure.
fn small(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The cells that have a figure, with their summaries.
pub(super) type Summaries = BTreeMap<Cell, Summary>;

/// Summaries of one figure of all runs.
pub(super) fn summaries(results: &Results, figure: fn(&Sample) -> Option<f64>) -> Summaries {
    let mut runs: BTreeMap<Cell, Vec<f64>> = BTreeMap::new();
    for sample in &results.samples {
        if let Some(value) = figure(sample) {
            runs.entry(sample.cell).or_default().push(value);
        }
    }
    runs.into_iter().filter_map(|(cell, values)| Some((cell, Summary::of(&values)?))).collect()
}

/// An axis as a column of labels.
struct LabelAxis {
    name: &'static str,
    get: fn(&Cell) -> &'static str,
}

const LABELS: [LabelAxis; 7] = [
    LabelAxis { name: "request", get: |c| c.request.title() },
    LabelAxis { name: "access", get: |c| c.access.title() },
    LabelAxis { name: "rules", get: |c| c.rules.title() },
    LabelAxis { name: "caches", get: |c| c.caches.title() },
    LabelAxis { name: "format", get: |c| c.format.title() },
    LabelAxis { name: "packing", get: |c| c.packing.title() },
    LabelAxis { name: "system", get: |c| c.system.title() },
];

/// The value of an axis that stands for all of them in the key of a row.
const ANY_STATE: State = State::Cold;

/// A column: its name, and its figure for the row with a key.
type Column<'a> = (String, Box<dyn Fn(Cell) -> Value + 'a>);

/// A table whose rows are the cells that are the same to `key`, labelled with the axes on which
/// they differ, except those in `without`.
fn table(
    title: &str,
    about: &str,
    cells: &Summaries,
    key: impl Fn(Cell) -> Cell,
    without: &[&str],
    columns: &[Column<'_>],
) -> Table {
    let keys: BTreeSet<Cell> = cells.keys().map(|cell| key(*cell)).collect();
    let mut said = Vec::new();
    let mut labels = Vec::new();
    for axis in LABELS.iter().filter(|axis| !without.contains(&axis.name)) {
        let values: BTreeSet<&str> = keys.iter().map(|cell| (axis.get)(cell)).collect();
        match values.first() {
            Some(only) if values.len() == 1 => said.push(*only),
            _ => labels.push(axis),
        }
    }
    let mut rows = Vec::new();
    for key in keys {
        let figures: Vec<Value> = columns.iter().map(|(_, figure)| figure(key)).collect();
        if figures.iter().all(|f| *f == Value::Missing) {
            continue;
        }
        let mut row: Vec<Value> =
            labels.iter().map(|axis| Value::Label((axis.get)(&key).to_owned())).collect();
        row.extend(figures);
        rows.push(row);
    }
    let everywhere =
        if said.is_empty() { String::new() } else { format!("Everywhere: {}.", said.join(", ")) };
    let about = [about, &everywhere];
    let about: Vec<&str> = about.into_iter().filter(|text| !text.is_empty()).collect();
    let head = labels.iter().map(|axis| axis.name.to_owned());
    Table {
        title: title.to_owned(),
        about: about.join(" "),
        head: head.chain(columns.iter().map(|(name, _)| name.clone())).collect(),
        rows,
    }
}

/// The values of an axis that occur.
pub(super) fn present<T: Ord>(cells: &Summaries, of: impl Fn(&Cell) -> T) -> Vec<T> {
    cells.keys().map(of).collect::<BTreeSet<T>>().into_iter().collect()
}

/// One figure: a row for each request and repository, a column for each state and system.
fn figures(
    title: &str,
    about: &str,
    cells: &Summaries,
    value: impl Fn(Summary) -> Value + Copy,
) -> Table {
    let mut columns: Vec<Column<'_>> = Vec::new();
    let several = present(cells, |c| c.system).len() > 1;
    for state in present(cells, |c| c.state) {
        for system in present(cells, |c| c.system) {
            let system_name = if several { format!(": {}", system.title()) } else { String::new() };
            let get = move |key: Cell| {
                cells.get(&Cell { state, system, ..key }).map_or(Value::Missing, |s| value(*s))
            };
            columns.push((format!("{}{system_name}", state.title()), Box::new(get)));
        }
    }
    let key = |cell| Cell { state: ANY_STATE, system: System::Sapwood, ..cell };
    table(title, about, cells, key, &["system"], &columns)
}

/// The ratio of two cells' medians.
fn quotient(cells: &Summaries, above: Cell, below: Cell) -> Value {
    let medians = cells.get(&above).zip(cells.get(&below));
    let found = medians.and_then(|(a, b)| ratio(a.median, b.median));
    found.map_or(Value::Missing, Value::Ratio)
}

fn formats(cells: &Summaries) -> Table {
    let present_formats = present(cells, |c| c.format);
    let base = present_formats.first().copied().unwrap_or(Format::F6);
    let mut columns: Vec<Column<'_>> = Vec::new();
    for state in present(cells, |c| c.state) {
        for format in present_formats.iter().copied().skip(1) {
            let name = format!("{}: {}", state.title(), format.title());
            let get = move |key: Cell| {
                let cell = Cell { state, ..key };
                quotient(cells, Cell { format, ..cell }, Cell { format: base, ..cell })
            };
            columns.push((name, Box::new(get)));
        }
    }
    let about = format!("Elapsed time as a multiple of that with {}.", base.title());
    let key = |cell| Cell { state: ANY_STATE, format: base, ..cell };
    table("Ratio of formats", &about, cells, key, &["format"], &columns)
}

fn packings(cells: &Summaries) -> Table {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for state in present(cells, |c| c.state) {
        let get = move |key: Cell| {
            let cell = Cell { state, ..key };
            let (above, below) = (Packing::Unpacked, Packing::Packed);
            quotient(cells, Cell { packing: above, ..cell }, Cell { packing: below, ..cell })
        };
        columns.push((state.title().to_owned(), Box::new(get)));
    }
    let about = "How many times as long it takes when the repository is not packed.";
    let key = |cell| Cell { state: ANY_STATE, packing: Packing::Packed, ..cell };
    table("Ratio of packing", about, cells, key, &["packing"], &columns)
}

/// The cost of path rules.
fn rules(cells: &Summaries) -> Table {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for state in present(cells, |c| c.state) {
        let get = move |key: Cell| {
            let cell = Cell { state, ..key };
            let (above, below) = (Rules::Authz, Rules::Open);
            quotient(cells, Cell { rules: above, ..cell }, Cell { rules: below, ..cell })
        };
        columns.push((state.title().to_owned(), Box::new(get)));
    }
    let about = "Elapsed time with path rules that hide a part, as a multiple of that without.";
    let key = |cell| Cell { state: ANY_STATE, rules: Rules::Open, ..cell };
    table("Ratio of path rules", about, cells, key, &["rules"], &columns)
}

fn accesses(cells: &Summaries) -> Table {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for state in present(cells, |c| c.state) {
        for access in [Access::File, Access::Http, Access::SvnSasl, Access::SvnSsh] {
            let name = format!("{}: {}", state.title(), access.title());
            let get = move |key: Cell| {
                let cell = Cell { state, ..key };
                quotient(cells, Cell { access, ..cell }, Cell { access: Access::Svn, ..cell })
            };
            columns.push((name, Box::new(get)));
        }
    }
    // Columns that stay empty are those of what was not measured.
    let measured = |name: &str| {
        present(cells, |c| (c.state, c.access))
            .iter()
            .any(|(state, access)| name == format!("{}: {}", state.title(), access.title()))
    };
    columns.retain(|(name, _)| measured(name));
    let about = "Elapsed time as a multiple of that over svn:.";
    let key = |cell| Cell { state: ANY_STATE, access: Access::Svn, ..cell };
    table("Ratio of access methods", about, cells, key, &["access"], &columns)
}

fn systems(title: &str, cells: &Summaries) -> Table {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for state in present(cells, |c| c.state) {
        let get = move |key: Cell| {
            let cell = Cell { state, ..key };
            let (above, below) = (System::Reference, System::Sapwood);
            quotient(cells, Cell { system: above, ..cell }, Cell { system: below, ..cell })
        };
        columns.push((state.title().to_owned(), Box::new(get)));
    }
    let about = "How many times as much the reference takes: above 1, Sapwood is better.";
    let key = |cell| Cell { state: ANY_STATE, system: System::Sapwood, ..cell };
    table(title, about, cells, key, &["system"], &columns)
}

/// The third and the fifteenth run.
fn heatup(samples: &[HeatSample]) -> Table {
    let mut rows = Vec::new();
    for first in samples.iter().filter(|s| s.run == 1) {
        let of = |run: u32| {
            samples.iter().find(|s| {
                s.run == run
                    && (s.system, s.request, s.cache_mb)
                        == (first.system, first.request, first.cache_mb)
                    && (s.factor - first.factor).abs() < 1e-9
            })
        };
        let mut row = vec![
            Value::Label(first.request.title().to_owned()),
            Value::Label(first.system.title().to_owned()),
            Value::Label(format!("{:.1} ({} MB)", first.factor, first.cache_mb)),
        ];
        let single = |v: f64| Summary::of(&[v]).map_or(Value::Missing, Value::Seconds);
        for run in [1, 3, 15] {
            row.push(of(run).map_or(Value::Missing, |s| single(s.wall)));
        }
        for run in [3, 15] {
            row.push(of(run).map_or(Value::Missing, |s| single(s.server_cpu)));
        }
        for run in [3, 15] {
            let reads = of(run).and_then(|s| s.server_reads);
            row.push(reads.map_or(Value::Missing, |n| Value::Count(small(n))));
        }
        rows.push(row);
    }
    let head = [
        "request",
        "system",
        "cache, of what is needed",
        "run 1: s",
        "run 3: s",
        "run 15: s",
        "run 3: CPU s",
        "run 15: CPU s",
        "run 3: reads",
        "run 15: reads",
    ];
    Table {
        title: "Heat-up of the cache".to_owned(),
        about:
            "The same request fifteen times to one server. What is needed is what a server with \
                plenty of cache grows by in two runs."
                .to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
    }
}

/// All tables as Markdown, below what one has to know of the measurement.
#[must_use]
pub fn to_markdown(results: &Results) -> String {
    let mut out = String::new();
    for (name, value) in &results.about {
        out.push_str(&format!("- {name}: {value}\n"));
    }
    for note in &results.notes {
        out.push_str(&format!("- Note: {note}\n"));
    }
    for table in tables(results) {
        out.push_str(&format!("\n{}", table.to_markdown()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    /// The lines of the table with a title.
    fn lines(title: &str) -> Vec<String> {
        let text = to_markdown(&sample::results());
        let heading = format!("### {title}");
        let table = text.lines().skip_while(|l| *l != heading).skip(1);
        table.take_while(|l| !l.starts_with("### ")).map(str::to_owned).collect()
    }

    #[test]
    fn elapsed_time() {
        let lines = lines("Elapsed time");
        assert_eq!(
            lines.get(1).unwrap(),
            "Median (smallest-largest) in seconds; ~: the runs differ by more than a fifth, !: an \
             outlier among them. Everywhere: no path rules, medium caches."
        );
        assert_eq!(
            lines.get(3).unwrap(),
            "| request | access | format | packing | cold: Sapwood | cold: reference | \
             hot OS: Sapwood | hot OS: reference | hot server: Sapwood | hot server: reference |"
        );
        assert_eq!(lines.get(4).unwrap(), "|---|---|---|---|---:|---:|---:|---:|---:|---:|");
        assert_eq!(
            lines.get(5).unwrap(),
            "| null-log -v | svn: | format 6 | not packed | 0.112 (0.111-0.113) | \
             0.482 (0.481-0.483) | 0.132 (0.131-0.133) | 0.562 (0.561-0.563) | \
             0.152 (0.151-0.153) | 0.642 (0.641-0.643) |"
        );
        // Two requests, two ways, two formats, packed and not.
        assert_eq!(lines.iter().filter(|l| l.starts_with("| null-")).count(), 16);
    }

    #[test]
    fn ratios() {
        let systems = lines("Reference against Sapwood, elapsed time");
        assert_eq!(
            systems.get(5).unwrap(),
            "| null-log -v | svn: | format 6 | not packed | 4.3 | 4.3 | 4.2 |"
        );
        let formats = lines("Ratio of formats");
        assert_eq!(
            formats.get(3).unwrap(),
            "| request | access | packing | system | cold: format 8 | hot OS: format 8 | hot server: format 8 |"
        );
        assert_eq!(
            formats.get(5).unwrap(),
            "| null-log -v | svn: | not packed | Sapwood | 2.1 | 1.9 | 1.8 |"
        );
        let packing = lines("Ratio of packing");
        assert_eq!(
            packing.get(5).unwrap(),
            "| null-log -v | svn: | format 6 | Sapwood | 0.65 | 0.69 | 0.72 |"
        );
        let access = lines("Ratio of access methods");
        assert_eq!(
            access.get(3).unwrap(),
            "| request | format | packing | system | cold: file: | hot OS: file: |"
        );
    }

    #[test]
    fn what_was_not_measured_has_no_table() {
        let titles: Vec<String> = tables(&sample::results()).into_iter().map(|t| t.title).collect();
        assert_eq!(titles.len(), 11, "{titles:?}");
        assert!(tables(&Results::default()).is_empty());
        let mut few = sample::results();
        few.heatup.clear();
        few.samples.retain(|s| s.cell.access == Access::File && s.cell.system == System::Sapwood);
        let titles: Vec<String> = tables(&few).into_iter().map(|t| t.title).collect();
        assert_eq!(
            titles,
            [
                "Elapsed time",
                "Ratio of formats",
                "Ratio of packing",
                "The client's processor time",
                "Peak memory, MiB"
            ]
        );
    }

    #[test]
    fn heat() {
        let lines = lines("Heat-up of the cache");
        assert_eq!(
            lines.get(5).unwrap(),
            "| null-log -v | Sapwood | 1.0 (40 MB) | 2.000 | 1.333 | 1.067 | 0.167 | 0.033 | 33 | 6 |"
        );
        assert_eq!(lines.iter().filter(|l| l.starts_with("| null-")).count(), 4);
    }

    #[test]
    fn results_survive_json_and_add_up() {
        let results = sample::results();
        let read = Results::from_json(&results.to_json().unwrap()).unwrap();
        assert!(read == results);
        let mut sum = results.clone();
        sum.add(read);
        assert_eq!(sum.samples.len(), results.samples.len() * 2);
        assert_eq!((sum.about.len(), sum.notes.len()), (3, 1));
        let csv = results.to_csv();
        assert_eq!(csv.lines().count(), results.samples.len() + 1);
        assert!(csv.contains(
            "null-log,svn,open,medium,f6,unpacked,cold,sapwood,1,0.111000,0.010000,0.055500,10,12.500000"
        ));
    }
}
