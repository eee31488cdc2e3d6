//! What targets have not taken yet.

use std::sync::Arc;

use crate::position::Position;
use crate::shared::NotifierState;
use crate::target::Target;

/// What a target has not taken yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetQueue {
    /// The target's name.
    pub target: String,
    /// The revisions that are to be looked at and sent, of all its repositories.
    pub revisions: u64,
    /// Whether its last answer was a failure.
    pub is_down: bool,
}

/// Looks into the queue. It may be used while messages are sent.
#[derive(Clone)]
pub struct QueueReader(pub(crate) Arc<NotifierState>);

impl std::fmt::Debug for QueueReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("QueueReader").field(&self.0.folder).finish()
    }
}

impl QueueReader {
    /// What waits, by target. The youngest revision of each repository is read from its disk; those that cannot be read
    /// count as having nothing new.
    #[must_use]
    pub fn waiting(&self) -> Vec<TargetQueue> {
        let targets = self.0.state.lock().targets.clone();
        let of_target = |target: &Arc<Target>| {
            let behind = |position: &Position| {
                let youngest = self.0.source.youngest(&position.repository).ok()?;
                youngest.next().0.checked_sub(position.next().0)
            };
            TargetQueue {
                target: target.name().to_owned(),
                revisions: self.0.positions(target).iter().filter_map(behind).sum(),
                is_down: self.0.state.lock().down.contains(target.name()),
            }
        };
        targets.iter().map(of_target).collect()
    }
}
