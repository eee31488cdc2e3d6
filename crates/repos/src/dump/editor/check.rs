//! What is odd or wrong about a change: warnings of dumps, errors and warnings of verifying.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::{
    ErrorCode, NodeKind, Revnum, SvnError, hashorder, mergeinfo::Mergeinfo, path, props::names,
    rawname,
};
use unicode_normalization::UnicodeNormalization as _;

use super::{NodeDumper, fspath};
use crate::dump::tracker::Origin;
use crate::dump::{WarningKind, check_cancelled};
use crate::error::Result;

/// The number that the reference prints for a kind.
const fn kind_number(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::File => 1,
        NodeKind::Dir => 2,
    }
}

fn normal(text: &str) -> String {
    text.nfc().collect()
}

impl NodeDumper<'_> {
    /// Names that no client can have made.
    pub(super) fn check_path(&mut self, relpath: &str) -> Result<()> {
        let is_raw = rawname::is_raw(relpath);
        let relpath = &*rawname::printable(relpath);
        let message = if is_raw {
            format!("Path '{relpath}' is not in UTF-8")
        } else if relpath.split('/').any(|name| matches!(name, "." | "..")) {
            format!("Path '{relpath}' contains '.' or '..' element")
        } else {
            return Ok(());
        };
        let error = SvnError::new(ErrorCode::FS_PATH_SYNTAX, message);
        let text =
            format!("{}: While validating fspath '{relpath}': {}", error.code(), error.message());
        self.warn(WarningKind::InvalidPath, text);
        if self.settings.verify { Err(error.into()) } else { Ok(()) }
    }

    /// Where a path is to be looked for at this point of the revision.
    fn origin(&mut self, relpath: &str, revision: Revnum) -> Origin {
        match &mut self.tracker {
            Some(tracker) if tracker.revision() == revision => tracker.lookup(relpath),
            _ => Origin::At(relpath.to_owned(), revision),
        }
    }

    fn kind_at(&mut self, origin: &Origin) -> Result<Option<NodeKind>> {
        match origin {
            Origin::At(path, revision) => Ok(self.root_of(*revision)?.kind(&fspath(path))?),
            Origin::Nowhere => Ok(None),
        }
    }

    /// An error when there is no node of this kind (of any kind, when `None`) at `relpath`.
    pub(super) fn must_exist(
        &mut self,
        relpath: &str,
        revision: Revnum,
        expected: Option<NodeKind>,
    ) -> std::result::Result<(), SvnError> {
        let origin = self.origin(relpath, revision);
        let (path, revision) = match &origin {
            Origin::At(path, revision) => (path.as_str(), revision.to_string()),
            // The reference prints its invalid values here, and so do we.
            Origin::Nowhere => ("(null)", "-1".to_owned()),
        };
        match (self.kind_at(&origin)?, expected) {
            (None, _) => Err(SvnError::new(
                ErrorCode::FS_NOT_FOUND,
                format!("Path '{path}' not found in r{revision}."),
            )),
            (Some(kind), Some(expected)) if kind != expected => Err(SvnError::new(
                ErrorCode::NODE_UNEXPECTED_KIND,
                format!(
                    "Unexpected node kind {} for '{path}' at r{revision}. Expected kind was {}.",
                    kind_number(kind),
                    kind_number(expected)
                ),
            )),
            _ => Ok(()),
        }
    }

    /// When verifying: an error, under a sentence that starts with `what`, when there is no node
    /// of this kind at `relpath`.
    pub(super) fn expect_there(
        &mut self,
        relpath: &str,
        revision: Revnum,
        expected: Option<NodeKind>,
        what: &str,
    ) -> Result<()> {
        if self.tracker.is_none() {
            return Ok(());
        }
        Ok(self
            .must_exist(relpath, revision, expected)
            .map_err(|e| e.context(format!("{what} '{relpath}' in r{revision}")))?)
    }

    /// When verifying: an error when there is something at `relpath`.
    pub(super) fn expect_not_there(&mut self, relpath: &str) -> Result<()> {
        if self.tracker.is_none() {
            return Ok(());
        }
        let origin = self.origin(relpath, self.revision);
        if self.kind_at(&origin)?.is_none() {
            return Ok(());
        }
        let Origin::At(path, revision) = origin else { return Ok(()) };
        Err(SvnError::new(
            ErrorCode::FS_ALREADY_EXISTS,
            format!("Path '{path}' exists in r{revision}."),
        )
        .context(format!("Adding already existing path '{relpath}' in r{}", self.revision))
        .into())
    }

    /// Warns of mergeinfo from before the first dumped revision.
    pub(super) fn check_old_mergeinfo(&mut self, value: &[u8]) {
        // Mergeinfo that cannot be read is no reason not to dump it.
        let Ok(mergeinfo) = Mergeinfo::parse(value) else { return };
        let oldest = self.settings.oldest;
        let Some(before) = oldest.prev() else { return };
        if mergeinfo.0.values().any(|list| list.0.iter().any(|range| range.start < before.0)) {
            self.warn(
                WarningKind::OldMergeinfo,
                format!(
                    "Mergeinfo referencing revision(s) prior to the oldest dumped revision \
                     (r{oldest}). Loading this dump may result in invalid mergeinfo."
                ),
            );
            self.found.old_mergeinfo = true;
        }
    }

    /// Warns of paths in new mergeinfo that differ only in the representation of characters.
    pub(super) fn check_mergeinfo_normalization(
        &mut self,
        relpath: &str,
        new: &[u8],
        old: Option<&[u8]>,
    ) -> Result<()> {
        let new = Mergeinfo::parse(new)?;
        let old = old.map(Mergeinfo::parse).transpose()?;
        // Whether a collision with this normal form was already reported.
        let mut seen: BTreeMap<String, bool> = BTreeMap::new();
        for path in old.iter().flat_map(|old| old.0.keys()) {
            seen.insert(normal(path), false);
        }
        let added = new.0.keys().filter(|p| !old.as_ref().is_some_and(|o| o.0.contains_key(*p)));
        for path in added {
            let path = normal(path);
            match seen.get_mut(&path) {
                None => {
                    seen.insert(path, false);
                }
                Some(true) => {}
                Some(reported) => {
                    *reported = true;
                    self.warn(
                        WarningKind::MergeinfoCollision,
                        format!(
                            "Duplicate representation of path '{path}' in {} property of \
                             '{relpath}'",
                            names::MERGEINFO
                        ),
                    );
                }
            }
        }
        Ok(())
    }

    /// Checks that every entry of a directory leads to a node of the kind that the entry says, and
    /// where names were added, that no two of them differ only in the representation of
    /// characters.
    pub(super) fn check_entries(&mut self, relpath: &str, new_names: bool) -> Result<()> {
        let dir = self.root.node(&fspath(relpath))?;
        if let Some((name, kind)) = dir.entry_of_wrong_kind(self.cancel)? {
            let path = path::join(relpath, &name);
            let what = match kind {
                NodeKind::Dir => "directory",
                NodeKind::File => "file",
            };
            return Err(SvnError::new(
                ErrorCode::NODE_UNEXPECTED_KIND,
                format!("Node '{path}' is not a {what}."),
            )
            .into());
        }
        if !new_names || !self.settings.notices {
            return Ok(());
        }
        let entries = dir.entries()?;
        let mut seen = BTreeSet::new();
        let mut reported = BTreeSet::new();
        for at in hashorder::order(entries.iter().map(|e| e.name)) {
            let entry = usize::try_from(at).ok().and_then(|at| entries.get(at));
            let Some(entry) = entry else { continue };
            check_cancelled(self.cancel)?;
            let name = normal(entry.name);
            if !seen.insert(name.clone()) && reported.insert(name.clone()) {
                let path = normal(&path::join(relpath, &name));
                self.warn(
                    WarningKind::NameCollision,
                    format!("Duplicate representation of path '{path}'"),
                );
            }
        }
        Ok(())
    }
}
