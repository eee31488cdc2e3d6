//! Finds the revisions that changed a set of paths: walks their histories together, youngest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sapwood_core::FsPath;
use sapwood_core::paths::SharedFsPath;
use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError};
use sapwood_fs::History;

use super::{LogRun, unreadable};
use crate::authorizer::PathAuthorizer;
use crate::error::Result;

/// The history of one path.
struct PathHistory {
    history: History,
    /// The path at `revision`, the next location to report.
    path: SharedFsPath,
    revision: Revnum,
    done: bool,
}

impl PathHistory {
    /// Goes to the next older location; ends before `oldest`, or where the path may not be
    /// read.
    fn advance(
        &mut self,
        cross_copies: bool,
        oldest: Revnum,
        authorizer: &dyn PathAuthorizer,
    ) -> Result<()> {
        let Some((path, revision)) = self.history.step(cross_copies)? else {
            self.done = true;
            return Ok(());
        };
        // Most steps stay at the path, which may be read.
        let is_elsewhere = self.path != path;
        self.path = path;
        self.revision = revision;
        self.done = revision < oldest
            || (is_elsewhere
                && !authorizer.everything_readable()
                && !authorizer.readable(&self.path)?);
        Ok(())
    }
}

/// A walk over the histories of several paths.
pub(super) struct Search {
    histories: Vec<PathHistory>,
    /// The histories that have not ended, by the revision that comes next and, where those are
    /// equal, by their number: a step costs the logarithm of how many there are.
    waiting: BinaryHeap<(Revnum, Reverse<usize>)>,
    /// The histories that a step advances: empty between steps, reused to save allocations.
    here: Vec<usize>,
    oldest: Revnum,
    /// The next revision to look at; `None` when all histories have ended.
    current: Option<Revnum>,
    cross_copies: bool,
    /// Whether the revisions found were merged in reverse.
    pub(super) subtractive: bool,
}

impl Search {
    /// Starts at `youngest`. With `lenient`, paths that do not exist there are left out.
    pub(super) fn new(
        run: &LogRun<'_>,
        paths: &[&FsPath],
        oldest: Revnum,
        youngest: Revnum,
        lenient: bool,
    ) -> Result<Self> {
        let cross_copies = !run.request.strict_node_history;
        let root = run.fs.revision_root(youngest)?;
        let mut histories = Vec::with_capacity(paths.len());
        for path in paths {
            run.cancel.check()?;
            if !run.authorizer.everything_readable() && !run.authorizer.readable(path)? {
                return Err(unreadable());
            }
            let opened = root.history(path).map_err(crate::Error::from).and_then(|history| {
                let mut one =
                    PathHistory { history, path: (*path).into(), revision: youngest, done: false };
                one.advance(cross_copies, oldest, run.authorizer)?;
                Ok(one)
            });
            match opened {
                Ok(one) => histories.push(one),
                Err(e) => {
                    let e = SvnError::from(e);
                    let missing = matches!(
                        e.code(),
                        ErrorCode::FS_NOT_FOUND
                            | ErrorCode::FS_NOT_DIRECTORY
                            | ErrorCode::FS_NO_SUCH_REVISION
                    );
                    if !(lenient && missing) {
                        return Err(e.into());
                    }
                }
            }
        }
        let left = histories.iter().enumerate().filter(|(_, one)| !one.done);
        let waiting = left.map(|(number, one)| (one.revision, Reverse(number))).collect();
        let current = Some(youngest);
        let here = Vec::new();
        Ok(Self { histories, waiting, here, oldest, current, cross_copies, subtractive: false })
    }

    /// The next revision that changed one of the paths.
    pub(super) fn next(
        &mut self,
        authorizer: &dyn PathAuthorizer,
        cancel: &CancelToken,
    ) -> Result<Option<Revnum>> {
        while let Some(current) = self.current {
            cancel.check()?;
            let mut changed = false;
            let mut here = std::mem::take(&mut self.here);
            while self.waiting.peek().is_some_and(|(revision, _)| *revision >= current) {
                here.extend(self.waiting.pop().map(|(_, Reverse(number))| number));
            }
            for number in here.drain(..) {
                let Some(one) = self.histories.get_mut(number) else { continue };
                changed = true;
                one.advance(self.cross_copies, self.oldest, authorizer)?;
                if !one.done {
                    self.waiting.push((one.revision, Reverse(number)));
                }
            }
            self.here = here;
            self.current = self.waiting.peek().map(|(revision, _)| *revision);
            if changed {
                return Ok(Some(current));
            }
        }
        Ok(None)
    }

    /// The paths after the last step: the locations that come next, because the reference
    /// reads mergeinfo there.
    pub(super) fn paths(&self) -> Vec<&FsPath> {
        self.histories.iter().map(|one| one.path.as_path()).collect()
    }
}
