//! Holds a process to its memory.
//!
//! The budget of a cache counts the values put in. The process takes more: the holes between
//! values that the allocator cannot fill, and all that requests need while they run. A thread that fills
//! the caches now and then measures the memory of the process. When that grows beyond the limit, the
//! budget shrinks by as much: the memory of evicted values serves the next allocations.
//!
//! The allocator gives memory back to the system late or never, so growth is what counts, not size: a
//! process that stays as large as it is keeps its caches.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Returns how many bytes of memory the process takes now, if that is known.
pub type Resident = fn() -> Option<usize>;

/// Bytes that are put in between two measurements.
const BETWEEN: usize = 2 << 20;
/// Bytes over the limit for which the caches are not shrunk.
const BESIDE: usize = 16 << 20;
/// The budget grows again when the process is so many bytes below the limit.
const MARGIN: usize = 8 << 20;

#[derive(Debug)]
struct State {
    /// The present budget of the caches, in bytes.
    budget: usize,
    /// The largest size that the budget was shrunk for, or the limit.
    answered: usize,
}

/// Sets the budget of caches by the memory of their process.
#[derive(Debug)]
pub(super) struct Governor {
    resident: Option<Resident>,
    /// The budget where memory is no matter.
    full: usize,
    limit: usize,
    put: AtomicUsize,
    state: Mutex<State>,
}

impl Governor {
    /// For caches of a budget of `full` bytes in a process that was given `capacity` for them.
    pub(super) fn new(full: usize, capacity: usize, resident: Option<Resident>) -> Self {
        let limit = capacity.saturating_add(BESIDE);
        let state = Mutex::new(State { budget: full, answered: limit });
        Self { resident, full, limit, put: AtomicUsize::new(0), state }
    }

    /// Counts bytes that were put in. Returns the new budget, if it changed.
    pub(super) fn put(&self, bytes: usize) -> Option<usize> {
        let resident = self.resident?;
        if self.put.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) < BETWEEN {
            return None;
        }
        // One looks, the others go on.
        let mut state = self.state.try_lock()?;
        self.put.store(0, Ordering::Relaxed);
        let budget = self.next(&mut state, resident()?);
        (std::mem::replace(&mut state.budget, budget) != budget).then_some(budget)
    }

    /// The budget for a process of this size.
    fn next(&self, state: &mut State, resident: usize) -> usize {
        if let Some(growth) = resident.checked_sub(state.answered).filter(|growth| *growth > 0) {
            state.answered = resident;
            let least = self.full.div_euclid(4);
            return state.budget.saturating_sub(growth).max(least);
        }
        if resident.saturating_add(MARGIN) < self.limit {
            state.answered = self.limit;
            let step = self.full.div_euclid(64);
            return state.budget.saturating_add(step).min(self.full);
        }
        state.budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn sizes(governor: &Governor, resident: &[usize]) -> Vec<usize> {
        let mut state = governor.state.lock();
        let mut one = |mib: &usize| {
            state.budget = governor.next(&mut state, mib * MIB);
            state.budget / MIB
        };
        resident.iter().map(&mut one).collect()
    }

    #[test]
    fn growth_beyond_the_limit_is_taken_from_the_budget_once() {
        let governor = Governor::new(200 * MIB, 256 * MIB, None);
        assert_eq!(
            sizes(&governor, &[100, 271, 272, 280, 280, 290]),
            [200, 200, 200, 192, 192, 182]
        );
        assert_eq!(sizes(&governor, &[285, 272, 263, 291]), [182, 182, 185, 166]);
    }

    #[test]
    fn the_budget_comes_back_in_steps_and_never_goes_below_a_quarter() {
        let governor = Governor::new(256 * MIB, 256 * MIB, None);
        assert_eq!(sizes(&governor, &[1000, 2000]), [64, 64]);
        assert_eq!(sizes(&governor, &[263, 263]), [68, 72]);
        assert_eq!(sizes(&governor, &[263; 60]).last(), Some(&256));
        // It is answered again, from the limit on.
        assert_eq!(sizes(&governor, &[282]), [246]);
    }

    #[test]
    fn it_looks_only_now_and_then() {
        fn large() -> Option<usize> {
            Some(300 * MIB)
        }
        let governor = Governor::new(200 * MIB, 256 * MIB, Some(large));
        assert_eq!(governor.put(BETWEEN - 1), None);
        assert_eq!(governor.put(1), Some(172 * MIB));
        assert_eq!(governor.put(BETWEEN), None);
        assert_eq!(Governor::new(200 * MIB, 0, None).put(1 << 40), None);
    }
}
