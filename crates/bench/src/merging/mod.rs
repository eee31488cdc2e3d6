//! Measuring merges and what goes with them: our `svn` and the reference's, on the same branches, at both
//! servers and by `file:`; and how many requests each makes, by the server's own log.
//!
//! [`history`] makes the branches, as a dump, [`entries`] a working copy of 1.6; [`site`] loads them, checks them
//! out and runs what is measured; [`table`] shows the results.
//!
//! Invariants: each run begins with a fresh copy of the working copy, which is not part of its time; the programs take
//! turns within each repetition. The server is a tunnel's, a process of its own for each session, whose time does not
//! count.

mod entries;
mod history;
mod site;
mod table;

use std::path::PathBuf;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use serde::{Deserialize, Serialize};

use crate::axes::System;
use crate::machine;
use crate::programs::Programs;

pub use history::Size;
pub use table::to_markdown;

/// The measurements to make, and where.
#[derive(Debug)]
pub struct Plan {
    /// A folder that everything is made in.
    pub folder: PathBuf,
    /// How large the branches are.
    pub size: Size,
    /// The number of nodes with mergeinfo of their own; each number gives a row of each kind.
    pub subtrees: Vec<u64>,
    /// Our programs.
    pub sapwood: Programs,
    /// The reference's.
    pub reference: Option<Programs>,
    /// Which kinds of work.
    pub work: Vec<Work>,
    /// How often each is measured.
    pub repeat: u32,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// All that a branch lacks is merged into it.
    CatchUp,
    /// One revision is merged.
    CherryPick,
    /// A branch goes back to where it came from.
    Reintegrate,
    /// The revisions of a branch that its trunk lacks are shown.
    Diff,
    /// Tree conflicts are resolved: files that were changed here and moved there.
    Resolve,
    /// A patch of many files is applied.
    Patch,
    /// A working copy of 1.6 is upgraded.
    Upgrade,
}

impl Work {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::CatchUp,
        Self::CherryPick,
        Self::Reintegrate,
        Self::Diff,
        Self::Resolve,
        Self::Patch,
        Self::Upgrade,
    ];

    /// The name that selects it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CatchUp => "catch-up",
            Self::CherryPick => "cherry-pick",
            Self::Reintegrate => "reintegrate",
            Self::Diff => "diff",
            Self::Resolve => "resolve",
            Self::Patch => "patch",
            Self::Upgrade => "upgrade",
        }
    }

    /// Whether mergeinfo of nodes below matters to it.
    const fn counts_subtrees(self) -> bool {
        matches!(self, Self::CatchUp | Self::CherryPick | Self::Reintegrate)
    }

    /// Whether it asks the repository for anything.
    const fn asks(self) -> bool {
        !matches!(self, Self::Patch | Self::Upgrade)
    }
}

/// All runs of one kind of work by one program at one server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The work.
    pub work: Work,
    /// The number of nodes with mergeinfo of their own.
    pub subtrees: u64,
    /// The client's system.
    pub client: System,
    /// The server's system; none for `file:`, and for work without a repository.
    pub server: Option<System>,
    /// Seconds by the clock, a value a run.
    pub seconds: Vec<f64>,
    /// Seconds of the client's processor time.
    pub cpu: Vec<f64>,
    /// Requests of one run, without the opening of sessions.
    pub requests: u64,
    /// Sessions that were opened.
    pub sessions: u64,
    /// The peak memory of a run, in MiB.
    pub peak_mib: f64,
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
/// What making the repositories and working copies meets; E200015 when cancelled. Work that fails is a
/// row that says so.
pub fn run(plan: &Plan, say: &mut dyn FnMut(&str), cancel: &CancelToken) -> SvnResult<Findings> {
    let mut rows = Vec::new();
    for work in &plan.work {
        let numbers: &[u64] = if work.counts_subtrees() { &plan.subtrees } else { &[0] };
        for subtrees in numbers {
            let site = site::prepare(plan, *work, *subtrees, say)?;
            let mut here = Vec::new();
            for server in site.servers() {
                for client in site.systems() {
                    here.push(Row::new(*work, *subtrees, client, server));
                }
            }
            for _ in 0..plan.repeat {
                for row in here.iter_mut().filter(|row| row.failure.is_none()) {
                    if cancel.is_cancelled() {
                        return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
                    }
                    site.measure(row);
                }
            }
            for row in &here {
                say(&table::line(row, &here));
            }
            rows.append(&mut here);
        }
    }
    Ok(Findings { about: about(plan), rows })
}

impl Row {
    const fn new(work: Work, subtrees: u64, client: System, server: Option<System>) -> Self {
        Self {
            work,
            subtrees,
            client,
            server,
            seconds: Vec::new(),
            cpu: Vec::new(),
            requests: 0,
            sessions: 0,
            peak_mib: 0.0,
            failure: None,
        }
    }
}

/// The machine, the branches and the versions.
fn about(plan: &Plan) -> Vec<(String, String)> {
    let mut about = machine::about();
    let Size { files, revisions } = plan.size;
    about.push(("branches".to_owned(), format!("{revisions} revisions over {files} files")));
    let (conflicts, patched, nodes) =
        (plan.size.conflicts(), plan.size.patched(), plan.size.upgraded());
    let beside =
        format!("{conflicts} conflicts, a patch of {patched} files, {nodes} nodes to upgrade");
    about.push(("beside them".to_owned(), beside));
    about.push(("Sapwood".to_owned(), plan.sapwood.version()));
    if let Some(reference) = &plan.reference {
        about.push(("Subversion".to_owned(), reference.version()));
    }
    about
}
