//! The changed paths of a source's revisions, requested in one log where many nodes below the target need
//! ranges of their own. It answers for each of them where 1.14 asks the server each time: whether a slice
//! changes anything at all, and whether a node's source exists in all of its revisions.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Exact as _, Revnum, SvnResult, path};
use sapwood_ra::{DirentFields, Session};

use super::Merge;
use super::source::MergeSource;
use super::trim::plain_log;
use crate::mergeinfo::place::{RepoLocation, visit};

/// The least number of nodes with other ranges than the target's for which the log is requested: of many
/// revisions, and of one.
pub(super) const WORTH: [usize; 2] = [3, 2];
/// The most changed paths that are kept; of a longer log, none is.
const LIMIT: usize = 1_000_000;

/// The changes of the source of a merge between two revisions.
#[derive(Debug, Default)]
pub struct Changes {
    /// The source, as mergeinfo has it.
    fspath: String,
    /// After this revision.
    oldest: u64,
    /// Up to and with this one.
    youngest: u64,
    /// By revision: changed paths, each with whether it was added, deleted or replaced.
    revisions: BTreeMap<u64, Vec<(FsPathBuf, bool)>>,
    /// Names in directories of the source, in the youngest revision.
    listed: RefCell<HashMap<RelPathBuf, HashSet<String>>>,
}

impl Changes {
    /// Asks for those of a source after one revision, up to and with another; `None` when they are too many.
    pub(super) fn ask(
        session: &dyn Session,
        source: &RepoLocation,
        (oldest, youngest): (u64, u64),
    ) -> SvnResult<Option<Self>> {
        let mut changes = Self { fspath: source.fspath(), oldest, youngest, ..Self::default() };
        let mut count = 0usize;
        let range = (youngest, oldest.plus(1));
        visit(session, &source.url(), || {
            plain_log(session, RelPath::ROOT, range, true, &mut |entry| {
                count = count.plus(entry.changes.len());
                if let Some(revision) = entry.revision.filter(|_| count <= LIMIT) {
                    let all = entry.changes.iter();
                    let all = all.map(|change| (change.path.to_owned(), change.action != b'M'));
                    changes.revisions.insert(revision.0, all.collect());
                }
                Ok(())
            })
        })?;
        Ok((count <= LIMIT).then_some(changes))
    }

    /// Whether an edit up to a revision is empty, which begins at `start`, and with other revisions for
    /// some paths below.
    pub(super) fn are_none(&self, start: u64, below: &[(RelPathBuf, u64)], end: u64) -> bool {
        let floor = below.iter().map(|(_, start)| *start).fold(start, u64::min);
        if floor < self.oldest || end > self.youngest || floor >= end {
            return false;
        }
        let starts: HashMap<&RelPath, u64> =
            below.iter().map(|(path, start)| (path.as_path(), *start)).collect();
        let begins = |relpath: &RelPath| {
            let mut at = relpath;
            loop {
                if let Some(start) = starts.get(at) {
                    return *start;
                }
                if at.is_empty() {
                    return start;
                }
                at = at.parent();
            }
        };
        self.revisions.range(floor.plus(1)..=end).all(|(revision, changes)| {
            // Without any path, something is hidden from this user.
            !changes.is_empty()
                && changes.iter().all(|(changed, moved)| {
                    match path::skip_ancestor(&self.fspath, changed) {
                        Some(below) => {
                            RelPath::new(below).is_ok_and(|below| begins(below) >= *revision)
                        }
                        None => !*moved || path::skip_ancestor(changed, &self.fspath).is_none(),
                    }
                })
        })
    }

    /// Whether a path of the source, as long as it exists, is the same node in all revisions.
    fn is_steady(&self, fspath: &str) -> bool {
        self.revisions
            .values()
            .flatten()
            .all(|(changed, moved)| !*moved || path::skip_ancestor(changed, fspath).is_none())
    }

    /// Whether a change shows that a path exists.
    fn is_touched(&self, fspath: &str) -> bool {
        let all = self.revisions.values().flatten();
        all.into_iter().any(|(changed, _)| path::skip_ancestor(fspath, changed).is_some())
    }

    /// Whether a path exists in the youngest revision: its directory is listed once for all.
    fn is_listed(&self, session: &dyn Session, place: &RepoLocation) -> SvnResult<bool> {
        let (dir, name) = place.relpath.parent_and_name();
        if let Some(names) = self.listed.borrow().get(dir) {
            return Ok(names.contains(name));
        }
        let fields = DirentFields { kind: true, ..DirentFields::default() };
        let above = place.at(dir, place.revision);
        let listed = visit(session, &above.url(), || {
            session.get_dir(RelPath::ROOT, Some(Revnum(place.revision)), Some(fields), false)
        });
        let names: HashSet<String> = match listed {
            Ok(found) => found.entries.into_iter().map(|(name, _)| name).collect(),
            Err(error)
                if [ErrorCode::FS_NOT_FOUND, ErrorCode::FS_NOT_DIRECTORY]
                    .contains(&error.code()) =>
            {
                HashSet::new()
            }
            Err(error) => return Err(error),
        };
        let found = names.contains(name);
        self.listed.borrow_mut().insert(dir.to_owned(), names);
        Ok(found)
    }

    /// Whether the source of a node exists in all of the revisions (its history is cached then) or in
    /// none of them; `None` when the server has to be asked.
    pub(super) fn presence(
        &self,
        session: &dyn Session,
        place: &RepoLocation,
    ) -> SvnResult<Option<bool>> {
        let fspath = place.fspath();
        if place.revision != self.youngest || !self.is_steady(&fspath) {
            return Ok(None);
        }
        Ok(Some(self.is_touched(&fspath) || self.is_listed(session, place)?))
    }

    /// The revisions that are known: after the first, up to and with the second.
    pub(super) const fn bounds(&self) -> (u64, u64) {
        (self.oldest, self.youngest)
    }
}

impl Merge<'_> {
    /// Asks what the missing revisions of the source changed, where that spares more questions.
    pub(super) fn learn_changes(&mut self, source: &MergeSource) -> SvnResult<()> {
        self.changes = None;
        let Some((target, below)) = self.paths.split_first() else { return Ok(()) };
        let same = source.left.relpath == source.right.relpath;
        if source.is_reverse() || !same || self.gap.is_some() || self.options.record_only {
            return Ok(());
        }
        let others = below.iter().filter(|entry| {
            !entry.absent && entry.remaining.is_some() && entry.remaining != target.remaining
        });
        let ranges = || self.paths.iter().filter_map(|entry| entry.remaining.as_ref());
        let oldest = ranges().filter_map(|list| list.bounds()).map(|bounds| bounds.0).min();
        let youngest = source.right.revision;
        let Some(oldest) = oldest.filter(|oldest| *oldest < youngest) else { return Ok(()) };
        let [many, one] = WORTH;
        if others.count() < if youngest == oldest.plus(1) { one } else { many } {
            return Ok(());
        }
        let session = self.primary_session(source);
        self.changes = Changes::ask(session.as_ref(), &source.right, (oldest, youngest))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(list: &[(u64, &[(&str, bool)])]) -> Changes {
        let revisions = list.iter().map(|(revision, paths)| {
            (
                *revision,
                paths.iter().map(|(path, moved)| (FsPathBuf::canonicalize(path), *moved)).collect(),
            )
        });
        let fspath = "/t/b".to_owned();
        Changes {
            fspath,
            oldest: 3,
            youngest: 9,
            revisions: revisions.collect(),
            ..Changes::default()
        }
    }

    #[test]
    fn edits_that_would_be_empty() {
        let found = changes(&[
            (4, &[("/t/b/d/f", false), ("/elsewhere", true)]),
            (5, &[("/t/b/d/f", false), ("/t", false)]),
            (6, &[("/t/b/g", false)]),
            (7, &[("/t", true)]),
            (8, &[]),
        ]);
        let d = |revision| vec![(RelPath::trusted("d").to_owned(), revision)];
        assert!(found.are_none(3, &d(4), 4));
        assert!(!found.are_none(3, &[], 4));
        assert!(found.are_none(3, &d(5), 5) && !found.are_none(3, &d(4), 5));
        assert!(!found.are_none(3, &d(6), 6), "g");
        assert!(!found.are_none(6, &[], 7), "what is above was replaced");
        assert!(!found.are_none(7, &[], 8), "hidden");
        assert!(found.are_none(8, &[], 9));
        assert!(!found.are_none(2, &d(4), 4) && !found.are_none(8, &[], 10), "not known");
    }

    #[test]
    fn nodes_that_stay() {
        let found = changes(&[(4, &[("/t/b/d", true), ("/t/b/e/f", false)])]);
        assert!(!found.is_steady("/t/b/d") && !found.is_steady("/t/b/d/x"));
        assert!(found.is_steady("/t/b/e") && found.is_steady("/t/b/dd"));
        assert!(found.is_touched("/t/b/e") && !found.is_touched("/t/b/x"));
    }
}
