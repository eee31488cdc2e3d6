//! What the [`Notifier`](crate::Notifier), its thread and those who look into the queue have in common.
//!
//! Invariant: no lock is held while a disk or a target is waited for, but for the disk of the queue itself.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::exact::Exact as _;
use sapwood_core::{Revnum, SvnError};
use tokio::sync::watch;

use crate::commit::Source;
use crate::error::{Error, Result};
use crate::position::Position;
use crate::target::Target;

/// Gets what is worth a line in a log.
pub type Report = dyn Fn(&SvnError) + Send + Sync;

/// What the notifier and its thread have in common.
pub(crate) struct NotifierState {
    pub(crate) folder: PathBuf,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) report: Mutex<Arc<Report>>,
    pub(crate) state: Mutex<State>,
    /// Changes at each commit, and with the targets.
    pub(crate) changed: watch::Sender<Change>,
}

/// What happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    commits: u64,
    pub(crate) targets: u64,
    pub(crate) ends: bool,
}

/// Whom messages go to, and how far they have gone.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) targets: Vec<Arc<Target>>,
    /// By the names of targets and the folders of repositories.
    positions: HashMap<String, HashMap<PathBuf, Position>>,
    /// The names of targets whose last answer was a failure.
    pub(crate) down: HashSet<String>,
}

impl NotifierState {
    pub(crate) fn report(&self, error: Error) {
        let report = Arc::clone(&self.report.lock());
        report(&error.into());
    }

    pub(crate) fn set_targets(&self, targets: Vec<Target>) {
        let mut state = self.state.lock();
        for target in &targets {
            if state.positions.contains_key(target.name()) {
                continue;
            }
            let (positions, errors) = Position::read_all(&self.folder.join(target.name()));
            errors.into_iter().for_each(|error| self.report(error));
            let by_folder = positions.into_iter().map(|p| (p.repository.clone(), p)).collect();
            state.positions.insert(target.name().to_owned(), by_folder);
        }
        state.targets = targets.into_iter().map(Arc::new).collect();
        state.down.clear();
        drop(state);
        self.changed.send_modify(|change| change.targets = change.targets.plus(1));
    }

    pub(crate) fn committed(&self, repository: &Path, name: &str, revision: Revnum) {
        let mut state = self.state.lock();
        let State { targets, positions, .. } = &mut *state;
        for target in targets.iter().filter(|target| target.filter.has_repository(name)) {
            let of_target = positions.entry(target.name().to_owned()).or_default();
            if of_target.contains_key(repository) {
                continue;
            }
            // The first commit that this target gets a message of.
            let position = Position::before(repository.to_owned(), name.to_owned(), revision);
            if let Err(error) = position.write(&self.folder.join(target.name())) {
                self.report(error);
            }
            of_target.insert(repository.to_owned(), position);
        }
        drop(state);
        self.changed.send_modify(|change| change.commits = change.commits.plus(1));
    }

    /// The positions of a target.
    pub(crate) fn positions(&self, target: &Target) -> Vec<Position> {
        let state = self.state.lock();
        let own = state.positions.get(target.name()).into_iter().flat_map(HashMap::values);
        own.filter(|position| target.filter.has_repository(&position.name)).cloned().collect()
    }

    pub(crate) fn set_down(&self, target: &Target, is_down: bool) {
        let mut state = self.state.lock();
        if is_down {
            state.down.insert(target.name().to_owned());
        } else {
            state.down.remove(target.name());
        }
    }

    /// Writes how far a target has come.
    pub(crate) fn go_on(&self, target: &Target, position: &Position) -> Result<()> {
        position.write(&self.folder.join(target.name()))?;
        let mut state = self.state.lock();
        if let Some(of_target) = state.positions.get_mut(target.name()) {
            of_target.insert(position.repository.clone(), position.clone());
        }
        Ok(())
    }
}
