//! All watched working copies, which share one queue of events ([`Queue`]).
//!
//! Invariant: when [`Trees::catch_up`] returns, each working copy knows of everything that was done before the call;
//! one that cannot know it, or is gone, is not watched any more, and has no watch left.

use std::os::fd::OwnedFd;
use std::path::Path;

use crate::Result;
use crate::protocol::{ChangedDir, Identity, Token};
use crate::queue::{Owner, Queue};
use crate::tree::Tree;

/// The working copies.
#[derive(Debug)]
pub struct Trees {
    queue: Queue,
    trees: Vec<Tree>,
    /// The number of the next one.
    next: Owner,
    /// How often events were lost.
    #[cfg(test)]
    pub(crate) overflows: u32,
}

impl Trees {
    /// None yet.
    ///
    /// # Errors
    /// Those of the system: its limit of inotify instances, most often.
    pub fn new() -> Result<Self> {
        Ok(Self {
            queue: Queue::new()?,
            trees: Vec::new(),
            next: 1,
            #[cfg(test)]
            overflows: 0,
        })
    }

    /// What becomes readable when there is news of any.
    #[must_use]
    pub const fn events(&self) -> &OwnedFd {
        self.queue.events()
    }

    /// The working copies.
    pub fn iter(&self) -> impl Iterator<Item = &Tree> {
        self.trees.iter()
    }

    /// Begins to watch a working copy, up to a limit of directories; again, if it is watched already.
    ///
    /// # Errors
    /// As [`Tree::watch`].
    pub fn add(&mut self, path: &Path, identity: Identity, most: usize) -> Result<()> {
        self.remove(identity);
        let owner = self.next;
        self.next = self.next.wrapping_add(1);
        let tree = Tree::watch(path, most, owner, &mut self.queue)?;
        self.trees.push(tree);
        Ok(())
    }

    /// Watches one no longer; whether it was watched.
    pub fn remove(&mut self, identity: Identity) -> bool {
        let before = self.trees.len();
        self.retain(|tree, _| tree.identity() != identity);
        self.trees.len() != before
    }

    /// Keeps only some of them.
    fn retain(&mut self, mut keep: impl FnMut(&mut Tree, &mut Queue) -> bool) {
        let queue = &mut self.queue;
        self.trees.retain_mut(|tree| {
            let stays = keep(tree, queue);
            if !stays {
                tree.end(queue);
            }
            stays
        });
    }

    /// Whether one is watched.
    #[must_use]
    pub fn has(&self, identity: Identity) -> bool {
        self.trees.iter().any(|tree| tree.identity() == identity)
    }

    /// What changed in one since a token, as [`Tree::since`] says it; `None` when it is not watched, or can no longer
    /// be.
    ///
    /// # Errors
    /// When no events can be read.
    pub fn since(
        &mut self,
        identity: Identity,
        token: Token,
    ) -> Result<Option<(Option<Vec<ChangedDir>>, Token)>> {
        self.catch_up()?;
        let Some(tree) = self.trees.iter_mut().find(|tree| tree.identity() == identity) else {
            return Ok(None);
        };
        let answer = tree.since(token, &mut self.queue).ok();
        if answer.is_none() {
            self.remove(identity);
        }
        Ok(answer)
    }

    /// Reads all events of the kernel, and removes trees that are gone.
    ///
    /// # Errors
    /// When no events can be read.
    pub fn catch_up(&mut self) -> Result<()> {
        loop {
            let (seen, overflowed) = self.queue.read()?;
            if overflowed {
                #[cfg(test)]
                self.note_overflow();
                // Whose events were lost is not known.
                self.retain(|tree, queue| tree.begin_again(queue).is_ok());
                continue;
            }
            if seen.is_empty() {
                self.retain(|tree, _| !tree.is_gone());
                if self.queue.remove_some() {
                    continue;
                }
                return Ok(());
            }
            for event in seen {
                let owners = self.queue.owners(&event);
                if owners.is_empty() {
                    continue;
                }
                self.retain(|tree, queue| {
                    !owners.contains(&tree.owner()) || tree.take(&event, queue).is_ok()
                });
            }
        }
    }

    #[cfg(test)]
    const fn note_overflow(&mut self) {
        self.overflows = self.overflows.saturating_add(1);
    }

    #[cfg(test)]
    pub(crate) fn begin_again(&mut self) {
        self.retain(|tree, queue| tree.begin_again(queue).is_ok());
    }

    #[cfg(test)]
    pub(crate) fn only(&mut self) -> &mut Tree {
        self.trees.first_mut().unwrap()
    }
}
