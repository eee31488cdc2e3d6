//! What is copied beside revisions: configuration, locks on paths, the database of equal texts.

use std::io::ErrorKind;
use std::path::Path;

use sapwood_core::{Revnum, SvnError};
use sapwood_fsfs_format::layout::names;

use super::{Copier, CopyError, Result};
use crate::rep_cache::{self, Reach, RepCache, Schema};

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Copier<'_> {
    /// The configuration file, first of all: if it is missing, that is reported before the work. A new copy gets it
    /// at the `last`.
    pub fn config(&self, name: &str, last: bool) -> Result<()> {
        let (from, to) = (self.source(name), self.target(name));
        let done = if self.in_use() || last {
            self.renew_copy(&from, &to)
        } else {
            let there = self.storage.stamp(&from).map(drop);
            there.map_err(|e| CopyError::io(e, "Can't open file", &from))
        };
        done.map_err(|error| match error.is_missing_file() {
            true => {
                let parent = |path: &Path| {
                    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                    path.parent().unwrap_or(&path).display().to_string()
                };
                let (to, source) = (parent(self.to), parent(self.from));
                CopyError::Svn(SvnError::from(error).context(format!(
                    "Failed to create hotcopy at '{to}'. The file '{}' is missing from the source \
                     repository. Please create this file, for instance by running 'svnadmin \
                     upgrade {source}'",
                    from.display()
                )))
            }
            false => error,
        })
    }

    /// Locks on paths: those of the source, and no others.
    pub fn locks(&self) -> Result<()> {
        let (from, to) = (self.source(names::LOCKS), self.target(names::LOCKS));
        match self.storage.list(&from) {
            Ok(_) => self.follow_tree(&from, &to),
            Err(e) if e.kind() == ErrorKind::NotFound => self.remove_tree(&to),
            Err(e) => Err(CopyError::io(e, "Can't open directory", &from)),
        }
    }

    /// The database of equal texts, without what is younger than `youngest`. It gets the permissions of the file `like` of
    /// the copy, or of `fs-type` where that is not there yet.
    pub fn rep_cache(&self, youngest: Revnum, schema: Schema, like: &str) -> Result<()> {
        let reps = self.source(rep_cache::NAME);
        if self.storage.stamp(&reps).is_err() {
            return Ok(());
        }
        let to = self.target(rep_cache::NAME);
        let reach = Reach { before: self.known.map(|known| known.youngest), youngest };
        let followed =
            self.in_use() && RepCache::follow(reps.clone(), to.clone(), reach, schema).is_ok();
        // Also over one that is broken.
        if !followed {
            RepCache::hotcopy(reps, to.clone(), youngest)?;
        }
        // The source's may be read-only, which the copy must not be.
        let like = self.target(like);
        let like =
            if self.storage.stamp(&like).is_ok() { like } else { self.target(names::FS_TYPE) };
        let done = self.storage.copy_permissions(&like, &to);
        done.map_err(|e| CopyError::io(e, "Can't set permissions on", &to))
    }
}
