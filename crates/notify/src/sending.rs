//! Sends the messages of the queue, target by target.
//!
//! Invariants: while a target is down, its messages wait and those of others go out; one that is down for [`GIVE_UP`] gets
//! nothing of what waited until then, and the log says so.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sapwood_core::exact::Exact as _;
use sapwood_core::{Revnum, SvnError};
use tokio::task::JoinSet;

use crate::error::{Error, Result};
use crate::position::Position;
use crate::shared::{Change, NotifierState};
use crate::target::Target;

/// The wait after the first failure; each one in a row doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait.
const MOST_WAIT: Duration = Duration::from_secs(600);
/// How long a target may be down.
const GIVE_UP: Duration = Duration::from_secs(3 * 24 * 3600);
/// The most revisions of a repository that are sent one after the other: those before, of a `svnadmin load` perhaps, are
/// left out.
const MOST_BEHIND: u64 = 1000;
/// Serves all targets, until the end.
pub(crate) async fn serve(shared: Arc<NotifierState>) {
    let mut changes = shared.changed.subscribe();
    loop {
        let now = *changes.borrow_and_update();
        if now.ends {
            return;
        }
        let targets = shared.state.lock().targets.clone();
        let mut tasks = JoinSet::new();
        for target in targets {
            tasks.spawn(serve_target(Arc::clone(&shared), target));
        }
        // Tasks end when the targets are others: what they were sending is sent again.
        let differs = |change: &Change| change.ends || change.targets != now.targets;
        if changes.wait_for(differs).await.is_err() {
            return;
        }
    }
}

/// Sends what is new to a target, and waits for more.
async fn serve_target(shared: Arc<NotifierState>, target: Arc<Target>) {
    let mut changes = shared.changed.subscribe();
    let mut down: Option<(Instant, Duration)> = None;
    let mut unreadable = HashSet::new();
    loop {
        changes.borrow_and_update();
        let result = send_waiting(&shared, &target, &mut unreadable).await;
        shared.set_down(&target, result.is_err());
        let Err(error) = result else {
            down = None;
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        let (since, wait) = down.unwrap_or((Instant::now(), FIRST_WAIT));
        if down.is_none() {
            // One line for the fault, not one for each message.
            shared.report(error);
        }
        down = Some((since, wait.saturating_mul(2).min(MOST_WAIT)));
        if since.elapsed() > GIVE_UP {
            give_up(&shared, &target).await;
            down = None;
        }
        tokio::time::sleep(wait).await;
    }
}

/// Sends all that waits for a target.
///
/// # Errors
/// The first fault of the target. What is wrong with one repository is reported once, and the others go on; `unreadable`
/// are those of which it was reported.
async fn send_waiting(
    shared: &Arc<NotifierState>,
    target: &Arc<Target>,
    unreadable: &mut HashSet<PathBuf>,
) -> Result<()> {
    for mut position in shared.positions(target) {
        loop {
            match send_next(shared, target, &mut position).await {
                Ok(has_more) => {
                    unreadable.remove(&position.repository);
                    if !has_more {
                        break;
                    }
                }
                Err(error) if error.is_of_target() => return Err(error),
                Err(error) => {
                    if unreadable.insert(position.repository.clone()) {
                        shared.report(error);
                    }
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Sends the next message of a repository; `false` if there is none.
async fn send_next(
    shared: &Arc<NotifierState>,
    target: &Arc<Target>,
    position: &mut Position,
) -> Result<bool> {
    let (within, asked, about) = (Arc::clone(shared), Arc::clone(target), position.clone());
    let read = tokio::task::spawn_blocking(move || read_next(&within, &asked, about)).await;
    let fault = |_| SvnError::internal("reading a commit has panicked");
    let Some((next, commit)) = read.map_err(fault)?? else { return Ok(false) };
    if let Some(commit) = commit {
        match target.send(&commit).await {
            Ok(()) => {}
            // It would be refused again.
            Err(error @ Error::Refused { .. }) => shared.report(error),
            Err(error) => return Err(error),
        }
    }
    position.go_on_to(next);
    let (within, asked, about) = (Arc::clone(shared), Arc::clone(target), position.clone());
    let written = tokio::task::spawn_blocking(move || within.go_on(&asked, &about)).await;
    written.map_err(|_| SvnError::internal("writing a position has panicked"))??;
    Ok(true)
}

/// The next commit of a repository, if it concerns the target, and the revision after it; `None` if there is no next one.
fn read_next(
    shared: &NotifierState,
    target: &Target,
    position: Position,
) -> Result<Option<(Revnum, Option<crate::commit::Commit>)>> {
    let youngest = shared.source.youngest(&position.repository)?;
    let mut next = position.next();
    if next > youngest {
        return Ok(None);
    }
    if let Some(first @ 1..) = youngest.0.checked_sub(MOST_BEHIND).filter(|first| *first > next.0) {
        shared.report(left_out(target, &position, first, "they are too many"));
        next = Revnum(first);
    }
    let concerns = |path: &_| target.filter.has_path(path);
    let commit = shared.source.commit(&position.repository, &position.name, next, &concerns)?;
    Ok(Some((next.next(), commit)))
}

/// Leaves out all that waits for a target.
async fn give_up(shared: &Arc<NotifierState>, target: &Arc<Target>) {
    for mut position in shared.positions(target) {
        let (within, asked) = (Arc::clone(shared), Arc::clone(target));
        let skip = move || -> Result<()> {
            let after = within.source.youngest(&position.repository)?.next();
            if after > position.next() {
                let why = "it was down for three days";
                within.report(left_out(&asked, &position, after.0, why));
                position.go_on_to(after);
                within.go_on(&asked, &position)?;
            }
            Ok(())
        };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(skip).await {
            shared.report(error);
        }
    }
}

/// The revisions before `first` get no messages.
fn left_out(target: &Target, position: &Position, first: u64, why: &'static str) -> Error {
    Error::GivenUp {
        target: target.name().to_owned(),
        repository: position.name.clone(),
        from: position.next().0,
        to: first.minus(1),
        why,
    }
}
