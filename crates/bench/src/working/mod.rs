//! Measuring everyday work on a working copy: our `svn`, the reference's and git, on the same files.
//!
//! [`site`] makes what is worked on (a repository and a working copy for each system), [`work`]
//! lists the kinds of work and how each is made ready and run, [`table`] shows what came of it.
//! Invariant: the systems take turns within each repetition, and what makes a run ready is never
//! part of its time.

mod site;
mod table;
mod work;

use std::path::PathBuf;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use serde::{Deserialize, Serialize};

use crate::machine;
use crate::programs::Programs;
use crate::tree::TreeOptions;

pub use table::to_markdown;
pub use work::Work;

/// The measurements to make, and where.
#[derive(Debug)]
pub struct Plan {
    /// A folder that everything is made in; what an earlier measurement left there is used again
    /// when it was of the same tree.
    pub folder: PathBuf,
    /// The files.
    pub tree: TreeOptions,
    /// Our programs.
    pub sapwood: Programs,
    /// The reference's.
    pub reference: Option<Programs>,
    /// Whether git is measured too.
    pub git: bool,
    /// Which kinds of work; each in its turn.
    pub work: Vec<Work>,
    /// How often each is measured.
    pub repeat: u32,
    /// Whether system calls are counted, in one more run under `strace`.
    pub calls: bool,
}

/// The systems, in the order of the table's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// The reference's `svn`.
    Reference,
    /// `git`.
    Git,
    /// Our `svn`.
    Sapwood,
}

/// All runs of one kind of work by one system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The work.
    pub work: Work,
    /// By whom.
    pub tool: Tool,
    /// Seconds by the clock, a value a run.
    pub seconds: Vec<f64>,
    /// Seconds of processor time.
    pub cpu: Vec<f64>,
    /// The peak memory of a run, in MiB.
    pub peak_mib: f64,
    /// System calls of one run, threads and children included.
    pub calls: Option<u64>,
    /// Why there are no figures, or fewer.
    pub failure: Option<String>,
}

/// The results of a measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Findings {
    /// The machine and the programs: name and value.
    pub about: Vec<(String, String)>,
    /// The figures.
    pub rows: Vec<Row>,
}

impl Findings {
    /// The figures as JSON, to be kept.
    ///
    /// # Errors
    /// None that a value of this type can cause.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

/// Measures.
///
/// # Errors
/// What making the repositories and working copies meets; E200015 when cancelled. Work that fails
/// is a row that says so.
pub fn run(plan: &Plan, say: &mut dyn FnMut(&str), cancel: &CancelToken) -> SvnResult<Findings> {
    let mut sites = site::prepare(plan, say, cancel)?;
    let mut rows = Vec::new();
    for work in &plan.work {
        let mut here: Vec<Row> = Vec::new();
        for (place, site) in sites.iter_mut().enumerate() {
            if work.is_for(site.tool) {
                here.push(Row::new(*work, site.tool));
                // From the second run on the caches are hot.
                if work.is_hot() {
                    note(here.last_mut(), work.run(site, place));
                }
            }
        }
        for repetition in 0..plan.repeat {
            if cancel.is_cancelled() {
                return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
            }
            let count = sites.len().max(1);
            for turn in 0..count {
                // The first of one repetition is the last of the next.
                let place = turn.wrapping_add(usize::try_from(repetition).unwrap_or(0)) % count;
                let Some(site) = sites.get_mut(place) else { continue };
                let Some(row) = here.iter_mut().find(|row| row.tool == site.tool) else { continue };
                if row.failure.is_none() {
                    row.add(work.run(site, place));
                }
            }
        }
        if plan.calls {
            for row in here.iter_mut().filter(|row| row.failure.is_none()) {
                let site = sites.iter_mut().find(|site| site.tool == row.tool);
                row.calls = site.and_then(|site| work.count_calls(site).ok());
            }
        }
        say(&table::line(*work, &here));
        rows.append(&mut here);
    }
    Ok(Findings { about: about(plan), rows })
}

/// Keeps the reason when a run failed.
fn note<T>(row: Option<&mut Row>, result: SvnResult<T>) {
    if let (Some(row), Err(error)) = (row, result) {
        row.failure = Some(error.message().to_owned());
    }
}

impl Row {
    const fn new(work: Work, tool: Tool) -> Self {
        Self {
            work,
            tool,
            seconds: Vec::new(),
            cpu: Vec::new(),
            peak_mib: 0.0,
            calls: None,
            failure: None,
        }
    }

    fn add(&mut self, run: SvnResult<crate::programs::Usage>) {
        match run {
            Ok(usage) => {
                self.seconds.push(usage.wall);
                self.cpu.push(usage.cpu);
                self.peak_mib = self.peak_mib.max(usage.peak_mib);
            }
            Err(error) => self.failure = Some(error.message().to_owned()),
        }
    }
}

/// The machine, the tree and the versions.
fn about(plan: &Plan) -> Vec<(String, String)> {
    let mut about = machine::about();
    let tree = &plan.tree;
    let size = tree.bytes / 1_000_000;
    about.push((
        "tree".to_owned(),
        format!("{} files in {} directories, {size} MB", tree.files, tree.directories),
    ));
    about.push(("Sapwood".to_owned(), plan.sapwood.version()));
    if let Some(reference) = &plan.reference {
        about.push(("Subversion".to_owned(), reference.version()));
    }
    about
}
