//! The seeded generator of [`sapwood_core::rng`], with what only tests may do: panic.

use std::ops::{Deref, DerefMut};

/// The generator.
#[derive(Clone, Debug)]
pub struct Rng(sapwood_core::rng::Rng);

impl Rng {
    /// A generator for `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(sapwood_core::rng::Rng::new(seed))
    }

    /// One of `items`, which are not empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        self.0.choose(items).expect("something to pick")
    }
}

impl Deref for Rng {
    type Target = sapwood_core::rng::Rng;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Rng {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
