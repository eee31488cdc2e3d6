//! The trees of a few revisions, held while a request looks into them.
//!
//! A revision with 10,000 copies needs 10,000 sources, mostly in one tree. A [`Root`] caches
//! the way to what was looked up last and the directories on it; a caller that makes a new one for
//! each look-up reads the same directories again for each.

use sapwood_core::{Exact, Revnum};

use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::root::Root;

/// How many trees are kept: a search by halves comes by a dozen, the same ones first each time.
const KEPT: usize = 64;
/// Large directories are held only for so many trees, those used last: enough for trees that
/// are used in turn, and few enough to cost little memory.
const HELD: usize = 4;

/// The trees that were used last.
#[derive(Debug)]
pub struct Roots {
    fs: Filesystem,
    /// The one used last comes first.
    recent: Vec<Root>,
}

impl Roots {
    /// Of a filesystem.
    #[must_use]
    pub fn new(fs: &Filesystem) -> Self {
        Self { fs: fs.clone(), recent: Vec::new() }
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// The tree of a revision.
    ///
    /// # Errors
    /// E160006 when there is no such revision; corruption and system errors.
    pub fn get(&mut self, revision: Revnum) -> Result<Root> {
        let root = match self.recent.iter().position(|root| root.revision() == Some(revision)) {
            Some(at) => self.recent.remove(at),
            None => self.fs.revision_root(revision)?,
        };
        self.recent.truncate(KEPT.minus(1));
        self.recent.insert(0, root.clone());
        if let Some(root) = self.recent.get(HELD) {
            root.rest();
        }
        Ok(root)
    }
}
