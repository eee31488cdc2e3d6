//! Commits for webhooks and mail, read from the repositories.
//!
//! Invariant: a message says all that the revision has, whatever access rules say: the administrator chose its target.

use std::path::Path;
use std::sync::Arc;

use sapwood_core::exact::Exact as _;
use sapwood_core::props::names;
use sapwood_core::{FsPath, Revnum, SvnResult};
use sapwood_fs::{Caches, ChangeKind, OpenOptions};
use sapwood_notify::{Action, ChangedPath, Commit, MOST_MESSAGE, MOST_PATHS, Source};
use sapwood_repos::Repository;

/// The repositories of a server.
#[derive(Debug)]
pub(crate) struct CommitSource {
    pub(crate) caches: Arc<Caches>,
    pub(crate) options: OpenOptions,
}

impl CommitSource {
    fn open(&self, repository: &Path) -> SvnResult<Repository> {
        Ok(Repository::open(repository, &self.caches, &self.options)?)
    }
}

impl Source for CommitSource {
    fn youngest(&self, repository: &Path) -> SvnResult<Revnum> {
        Ok(self.open(repository)?.fs().youngest()?)
    }

    fn commit(
        &self,
        repository: &Path,
        name: &str,
        revision: Revnum,
        concerns: &dyn Fn(&FsPath) -> bool,
    ) -> SvnResult<Option<Commit>> {
        let repository = self.open(repository)?;
        let changes = repository.fs().changed_paths(revision)?;
        if !changes.iter().any(|change| concerns(change.path)) {
            return Ok(None);
        }
        let props = repository.fs().revprops(revision)?;
        let text =
            |name: &str| props.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let paths: Vec<ChangedPath> = changes
            .iter()
            .take(MOST_PATHS)
            .map(|change| ChangedPath {
                path: change.path.to_owned(),
                action: action(change.kind),
                copied_from: change.copy_from.map(|(from, path)| (path.to_owned(), from)),
            })
            .collect();
        let mut message = text(names::LOG).unwrap_or_else(String::new);
        let end = message.floor_char_boundary(MOST_MESSAGE);
        message.truncate(end);
        Ok(Some(Commit {
            repository: name.to_owned(),
            uuid: repository.fs().uuid()?,
            revision,
            author: text(names::AUTHOR),
            date: text(names::DATE),
            message,
            more_paths: changes.iter().count().minus(paths.len()),
            paths,
        }))
    }
}

const fn action(kind: ChangeKind) -> Action {
    match kind {
        ChangeKind::Add => Action::Add,
        ChangeKind::Delete => Action::Delete,
        ChangeKind::Replace => Action::Replace,
        ChangeKind::Modify => Action::Modify,
    }
}
