//! Tree conflicts explained by the log, and the ways out of them.
//!
//! | file | holds |
//! | --- | --- |
//! | `repository` | questions to a repository, each asked once |
//! | `moves` | moves that the log shows |
//! | `deletion` | when a node was deleted or moved away |
//! | `details` | what a conflict gets to know of both sides |
//! | `targets` | nodes of the working copy that a move leads to |
//! | `options` | which ways out there are, and the recommended one |
//! | `act`, `additions`, `deletions`, `both_moved` | going them |
//!
//! What is asked of a repository is kept for all conflicts of one walk ([`Knowledge`]).

mod act;
mod additions;
mod both_moved;
mod deletion;
mod deletions;
mod details;
mod moves;
mod options;
mod repository;
mod targets;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use sapwood_core::notify::{Action as NotifyAction, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::{NodeKind, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::{Action, Conflict, Location, Operation, Reason};

pub use self::details::{
    Addition, Deletion, Edit, IncomingDetails, Local, MissingDetails, Targets,
};
pub use self::moves::Move;
pub use self::options::Resolution;

use self::repository::Repository;
use crate::context::Context;

/// The repositories' answers in one walk through conflicts.
#[derive(Default)]
pub struct Knowledge(RefCell<Vec<(Option<UrlBuf>, Rc<Repository>)>>);

impl std::fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Knowledge").finish_non_exhaustive()
    }
}

impl Knowledge {
    fn of(
        &self,
        ctx: &Context,
        wc: &WorkingCopy,
        root: Option<UrlBuf>,
        uuid: &str,
    ) -> Rc<Repository> {
        let mut known = self.0.borrow_mut();
        if let Some((_, repository)) = known.iter().find(|(url, _)| *url == root) {
            return Rc::clone(repository);
        }
        let history = ctx.history(wc.root(), uuid);
        let repository = Rc::new(Repository::new(root.clone(), uuid, history));
        known.push((root, Rc::clone(&repository)));
        repository
    }
}

/// A search of the log for one conflict.
struct Search<'s> {
    ctx: &'s Context,
    repository: &'s Repository,
    /// The path that progress is reported for.
    victim: PathBuf,
}

/// A tree conflict, and what is known of it.
pub struct TreeConflict<'c> {
    ctx: &'c Context,
    repository: Rc<Repository>,
    /// The working copy.
    pub wc: WorkingCopy,
    /// The node in conflict, below the working copy's root.
    pub relpath: RelPathBuf,
    /// The operation that met the conflict.
    pub operation: Option<Operation>,
    /// The incoming change.
    pub action: Action,
    /// The local change or state.
    pub reason: Reason,
    /// The node before the incoming change.
    pub old: Option<Location>,
    /// The node after it.
    pub new: Option<Location>,
    /// The local node's kind.
    pub victim: Option<NodeKind>,
    /// The details of the incoming change, from the log.
    pub incoming: Option<IncomingDetails>,
    /// The details of the local change, from the log and the working copy.
    pub local: Option<Local>,
    /// The default resolution.
    pub recommended: Option<Resolution>,
}

impl std::fmt::Debug for TreeConflict<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeConflict").field("relpath", &self.relpath).finish_non_exhaustive()
    }
}

/// What is in conflict: nothing for what is missing, and for what is not under version control what is
/// on disk.
fn victim(
    wc: &WorkingCopy,
    relpath: &RelPath,
    conflict: &Conflict,
    reason: Reason,
    action: Action,
) -> SvnResult<Option<NodeKind>> {
    let update = matches!(conflict.operation, Some(Operation::Update | Operation::Switch));
    match reason {
        Reason::Missing => Ok(None),
        Reason::Unversioned | Reason::Obstructed => {
            let found = std::fs::symlink_metadata(wc.abspath(relpath));
            Ok(found.ok().map(|m| if m.is_dir() { NodeKind::Dir } else { NodeKind::File }))
        }
        Reason::Deleted | Reason::MovedAway if update && action == Action::Delete => {
            match conflict.locations.first().and_then(Option::as_ref) {
                Some(old) => Ok(old.kind),
                None => Ok(wc.view(relpath)?.and_then(|view| view.kind())),
            }
        }
        _ => Ok(wc.view(relpath)?.and_then(|view| view.kind())),
    }
}

impl<'c> TreeConflict<'c> {
    /// The tree conflict of a node; `None` when it has none.
    ///
    /// # Errors
    /// Those of the database; a malformed record.
    pub fn of(
        ctx: &'c Context,
        knowledge: &Knowledge,
        wc: &WorkingCopy,
        relpath: &RelPath,
    ) -> SvnResult<Option<Self>> {
        let record = wc.db().actual(relpath)?.and_then(|actual| actual.conflict_data);
        let Some(record) = record else { return Ok(None) };
        let conflict = Conflict::parse(&record)?;
        let Some(tree) = &conflict.tree else { return Ok(None) };
        let (reason, action) = (tree.reason, tree.action);
        let mut locations = conflict.locations.iter().cloned();
        let (old, new) = (locations.next().flatten(), locations.next().flatten());
        let (root, uuid) = match old.as_ref().or(new.as_ref()) {
            Some(known) => {
                (Some(UrlBuf::canonicalize(&known.root)?), known.uuid.as_deref().unwrap_or(""))
            }
            None => (None, ""),
        };
        Ok(Some(Self {
            ctx,
            repository: knowledge.of(ctx, wc, root, uuid),
            wc: wc.clone(),
            relpath: relpath.to_owned(),
            operation: conflict.operation,
            action,
            reason,
            victim: victim(wc, relpath, &conflict, reason, action)?,
            old,
            new,
            incoming: None,
            local: None,
            recommended: None,
        }))
    }

    /// Whether it comes from a merge.
    #[must_use]
    pub fn is_merge(&self) -> bool {
        self.operation == Some(Operation::Merge)
    }

    /// Whether it comes from an update or switch.
    #[must_use]
    pub(crate) fn is_update_or_switch(&self) -> bool {
        matches!(self.operation, Some(Operation::Update | Operation::Switch))
    }

    /// Path and revision of the node before the incoming change.
    #[must_use]
    pub fn old_place(&self) -> Option<(&RelPath, u64)> {
        self.old.as_ref().and_then(place)
    }

    /// Path and revision of the node after the incoming change.
    #[must_use]
    pub fn new_place(&self) -> Option<(&RelPath, u64)> {
        self.new.as_ref().and_then(place)
    }

    /// What the node was before the incoming change.
    #[must_use]
    pub fn old_kind(&self) -> Option<NodeKind> {
        self.old.as_ref().and_then(|location| location.kind)
    }

    /// What the node is after the incoming change.
    #[must_use]
    pub fn new_kind(&self) -> Option<NodeKind> {
        self.new.as_ref().and_then(|location| location.kind)
    }

    fn search(&self) -> Search<'_> {
        let victim = self.wc.abspath(&self.relpath);
        Search { ctx: self.ctx, repository: &self.repository, victim }
    }

    /// Asks the repository what happened. Where this user may not read, less is known.
    ///
    /// # Errors
    /// Those of the session.
    pub fn find_details(&mut self) -> SvnResult<()> {
        self.notify(NotifyAction::BeginSearchTreeConflictDetails, &self.relpath);
        let incoming = readable(self.incoming_details())?.flatten();
        let moved = incoming.as_ref().is_some_and(|incoming| incoming.targets().is_some());
        self.incoming = incoming;
        if moved {
            self.recommend_incoming();
        }
        self.local = readable(self.local_details())?.flatten();
        self.recommend_local();
        self.notify(NotifyAction::EndSearchTreeConflictDetails, &self.relpath);
        Ok(())
    }

    fn notify(&self, action: NotifyAction, relpath: &RelPath) {
        let path = self.wc.abspath(relpath);
        self.ctx.notify(&Notify::new(action, &path.to_string_lossy()));
    }
}

fn place(location: &Location) -> Option<(&RelPath, u64)> {
    Some((location.relpath.as_path(), location.revision?.0))
}

/// `None` in place of errors that say that something may not be read.
fn readable<T>(result: SvnResult<T>) -> SvnResult<Option<T>> {
    let hidden = |error: &SvnError| error.any(SvnError::is_hidden);
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if hidden(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
