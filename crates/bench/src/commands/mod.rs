//! Measuring every command once: ours beside the reference's, on a working copy of many files and on large files.
//!
//! [`rows`] and [`more`] list the commands, [`site`] makes what they work on, `run` runs one and keeps what it took, [`output`]
//! compares what both systems print, [`floor`] measures the calls to the kernel that no program can save, [`table`] shows
//! what came of it.
//!
//! Invariant: each system has a repository and a working copy of its own, which begin equal; the systems take turns; what
//! makes a row ready, or puts things back, is never part of its time.

mod floor;
mod more;
mod output;
mod rows;
mod run;
mod site;
mod table;

use std::path::PathBuf;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};

use crate::axes::System;
use crate::machine;
use crate::programs::Programs;

pub use output::Comparison;
pub use rows::{Row, Wire};
pub use table::{to_markdown, to_tsv};

use floor::Floors;
use site::Site;

/// All rows, in the order in which they are run.
pub fn all_rows() -> impl Iterator<Item = &'static Row> {
    rows::ROWS.iter().chain(more::MORE)
}

/// What is measured, and where.
#[derive(Debug)]
pub struct Plan {
    /// A folder that everything is made in; what was there is removed.
    pub folder: PathBuf,
    /// Folders of the tree.
    pub directories: usize,
    /// Files in each of them, of some 300 bytes.
    pub files: usize,
    /// The length of the large files, in MiB.
    pub mebibytes: usize,
    /// Our programs.
    pub sapwood: Programs,
    /// The reference's.
    pub reference: Option<Programs>,
    /// How the repositories are reached.
    pub wires: Vec<Wire>,
    /// A row whose name has one of these in it is measured; every row when there are none.
    pub only: Vec<String>,
    /// How often each row is run by each system.
    pub repeat: u32,
}

/// What one system took for a row.
#[derive(Clone, Debug, Default)]
pub struct RowTimes {
    /// The least seconds by the clock.
    pub seconds: f64,
    /// The least seconds of processor time of the command.
    pub cpu: f64,
    /// The least of the peaks of its memory, in MiB.
    pub peak_mib: f64,
    /// The exit code of the last run; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The first line that it complained with.
    pub complaint: String,
}

/// A row that was measured.
#[derive(Clone, Debug)]
pub struct MeasuredRow {
    /// The name of the row.
    pub name: &'static str,
    /// How the repository was reached.
    pub wire: Wire,
    /// What our program took.
    pub ours: RowTimes,
    /// What the reference's took.
    pub reference: Option<RowTimes>,
    /// How the outputs differ.
    pub output: Comparison,
    /// The seconds of the calls to the kernel that the row cannot do without.
    pub floor: Option<f64>,
}

impl MeasuredRow {
    /// What the row is marked with: `slower` (more than 1.05 times the reference's seconds and 20 ms), `memory` (more than
    /// 64 MiB and twice the reference's), `differs` (the output), `code` (the exit code).
    #[must_use]
    pub fn marks(&self) -> Vec<&'static str> {
        let Some(reference) = &self.reference else { return Vec::new() };
        let ours = &self.ours;
        let mut marks = Vec::new();
        if ours.seconds > reference.seconds.mul_add(1.05, 0.02) {
            marks.push("slower");
        }
        if ours.peak_mib > 64.0 && ours.peak_mib > 2.0 * reference.peak_mib {
            marks.push("memory");
        }
        if self.output == Comparison::Differs {
            marks.push("differs");
        }
        if ours.code != reference.code {
            marks.push("code");
        }
        marks
    }
}

/// What came of a measurement.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The machine and the programs: name and value.
    pub about: Vec<(String, String)>,
    /// The rows, in their order.
    pub rows: Vec<MeasuredRow>,
}

/// Measures.
///
/// # Errors
/// What making the repositories and working copies meets, or making a row ready; E200015 when cancelled. A command that
/// fails is a row with its exit code.
pub fn run(plan: &Plan, say: &mut dyn FnMut(&str), cancel: &CancelToken) -> SvnResult<Findings> {
    say("making the repositories");
    let common = site::prepare(plan)?;
    let mut measured = Vec::new();
    for wire in &plan.wires {
        say(&format!("making the working copies ({})", wire.name()));
        let mut sites = site::sites(plan, &common, *wire)?;
        let floors = match sites.first() {
            Some(site) => Floors::measure(&common, site)?,
            None => continue,
        };
        let chosen = all_rows().filter(|row| row.is_on(*wire) && plan.wants(row));
        for row in chosen {
            if cancel.is_cancelled() {
                return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
            }
            let mut done = measure(plan, row, *wire, &mut sites)?;
            done.floor = row.floor.map(|floor| floors.seconds(floor));
            say(&table::line(&done));
            measured.push(done);
        }
    }
    Ok(Findings { about: about(plan), rows: measured })
}

impl Plan {
    fn wants(&self, row: &Row) -> bool {
        self.only.is_empty() || self.only.iter().any(|words| row.name.contains(words.as_str()))
    }
}

/// Runs a row by each system in turn.
fn measure(plan: &Plan, row: &Row, wire: Wire, sites: &mut [Site]) -> SvnResult<MeasuredRow> {
    let mut taken: Vec<(System, RowTimes)> = Vec::new();
    for repetition in 0..plan.repeat {
        // The first of one repetition is the last of the next.
        let backwards = repetition % 2 == 1;
        let mut order: Vec<&mut Site> = sites.iter_mut().collect();
        if backwards {
            order.reverse();
        }
        for site in order {
            let one = run::once(row, site, repetition)?;
            match taken.iter_mut().find(|(system, _)| *system == site.system) {
                Some((_, known)) => known.add(one),
                None => taken.push((site.system, one)),
            }
        }
    }
    let mut of = |system| {
        let at = taken.iter().position(|(one, _)| *one == system)?;
        Some(taken.swap_remove(at).1)
    };
    let (ours, reference) = (of(System::Sapwood), of(System::Reference));
    let ours = ours.ok_or_else(|| SvnError::internal("a row that our program did not run"))?;
    let output = match (reference.is_some(), sites) {
        (true, [first, second, ..]) => output::compare(row, first, second)?,
        _ => Comparison::None,
    };
    Ok(MeasuredRow { name: row.name, wire, ours, reference, output, floor: None })
}

impl RowTimes {
    /// Keeps the least of what two runs took.
    fn add(&mut self, other: Self) {
        self.seconds = self.seconds.min(other.seconds);
        self.cpu = self.cpu.min(other.cpu);
        self.peak_mib = self.peak_mib.min(other.peak_mib);
        self.code = other.code;
        self.complaint = other.complaint;
    }
}

fn about(plan: &Plan) -> Vec<(String, String)> {
    let mut about = machine::about();
    about.push((
        "files".to_owned(),
        format!(
            "{} in each of {} folders; large ones of {} MiB",
            plan.files, plan.directories, plan.mebibytes
        ),
    ));
    about.push(("Sapwood".to_owned(), plan.sapwood.version()));
    if let Some(reference) = &plan.reference {
        about.push(("Subversion".to_owned(), reference.version()));
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(seconds: f64, peak_mib: f64, code: i32) -> RowTimes {
        RowTimes { seconds, cpu: seconds, peak_mib, code: Some(code), complaint: String::new() }
    }

    #[test]
    fn names_are_there_once() {
        let mut names: Vec<&str> = all_rows().map(|row| row.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(count > 190);
    }

    #[test]
    fn marks_of_rows() {
        let row = |ours, reference, output| MeasuredRow {
            name: "x",
            wire: Wire::File,
            ours,
            reference: Some(reference),
            output,
            floor: None,
        };
        let same = Comparison::Same;
        assert!(row(taken(1.05, 60.0, 0), taken(1.0, 10.0, 0), same).marks().is_empty());
        let all = row(taken(1.2, 65.0, 0), taken(1.0, 30.0, 1), Comparison::Differs);
        assert_eq!(all.marks(), ["slower", "memory", "differs", "code"]);
        // A few milliseconds are the machine's.
        assert!(row(taken(0.02, 9.0, 0), taken(0.005, 9.0, 0), same).marks().is_empty());
    }
}
