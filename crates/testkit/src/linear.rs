//! Whether what several clients saw of one thing can have happened in one order: linearizability, by trying orders.
//!
//! Each operation has happened at one moment between its beginning and its end; one whose answer never came may have happened at any
//! moment since its beginning, or never. A history is right if there is an order in which each answer is the one that the operation gets.
//!
//! Invariant: [`check`] says `Ok` only with such an order at hand, and an error only when all orders were tried.

use std::collections::HashSet;
use std::hash::Hash;

/// An operation of a client.
#[derive(Clone, Debug)]
pub struct Event<O> {
    /// What was done, and what was answered.
    pub op: O,
    /// When it began: in any unit, the same for all.
    pub begun: u64,
    /// When its answer was there; `None` when it is not known whether it happened.
    pub ended: Option<u64>,
}

/// There is no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotLinear {
    /// The longest order that was found: positions of events.
    pub longest: Vec<usize>,
}

/// A set of positions.
type Bits = Vec<u64>;

fn set(bits: &mut Bits, at: usize, on: bool) {
    let mask = 1 << (at % 64);
    match on {
        true => bits[at / 64] |= mask,
        false => bits[at / 64] &= !mask,
    }
}

fn has(bits: &Bits, at: usize) -> bool {
    bits[at / 64] & (1 << (at % 64)) != 0
}

/// One step of the order that is tried.
struct Step<S> {
    state: S,
    /// The event that was taken last, none in the first step.
    taken: Option<usize>,
    /// Those that may come next, the last first.
    next: Vec<usize>,
}

/// Looks for an order. `step` makes the state after an operation, or none where it cannot have had its answer.
///
/// # Errors
/// [`NotLinear`] when there is no order.
pub fn check<S: Clone + Eq + Hash, O>(
    initial: S,
    events: &[Event<O>],
    step: impl Fn(&S, &O) -> Option<S>,
) -> Result<(), NotLinear> {
    let mut done: Bits = vec![0; events.len().div_ceil(64).max(1)];
    let mut seen: HashSet<(Bits, S)> = HashSet::new();
    let mut longest = Vec::new();
    let first = candidates(events, &done);
    let mut steps = vec![Step { state: initial, taken: None, next: first }];
    while let Some(last) = steps.last_mut() {
        if (0..events.len()).all(|at| has(&done, at) || events[at].ended.is_none()) {
            return Ok(());
        }
        let Some(at) = last.next.pop() else {
            if let Some(taken) = last.taken {
                set(&mut done, taken, false);
            }
            steps.pop();
            continue;
        };
        let Some(state) = step(&last.state, &events[at].op) else { continue };
        set(&mut done, at, true);
        if !seen.insert((done.clone(), state.clone())) {
            set(&mut done, at, false);
            continue;
        }
        let next = candidates(events, &done);
        steps.push(Step { state, taken: Some(at), next });
        if steps.len() > longest.len() + 1 {
            longest = steps.iter().filter_map(|step| step.taken).collect();
        }
    }
    Err(NotLinear { longest })
}

/// Events that may come next: those that had begun before the first of the others had ended. What is sure comes last, to be tried first.
fn candidates<O>(events: &[Event<O>], done: &Bits) -> Vec<usize> {
    let left = || (0..events.len()).filter(|at| !has(done, *at));
    let end = left().filter_map(|at| events[at].ended).min().unwrap_or(u64::MAX);
    let mut found: Vec<usize> = left().filter(|at| events[*at].begun <= end).collect();
    found.sort_by_key(|at| std::cmp::Reverse(events[*at].ended.unwrap_or(u64::MAX)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register that is written and read.
    #[derive(Clone, Copy, Debug)]
    enum Op {
        Put(u32),
        Get(u32),
    }

    fn step(state: &u32, op: &Op) -> Option<u32> {
        match op {
            Op::Put(value) => Some(*value),
            Op::Get(value) => (value == state).then_some(*state),
        }
    }

    fn is_linear(events: &[(Op, u64, u64)]) -> bool {
        let events: Vec<_> = events
            .iter()
            .map(|(op, begun, ended)| Event {
                op: *op,
                begun: *begun,
                ended: (*ended > 0).then_some(*ended),
            })
            .collect();
        check(0, &events, step).is_ok()
    }

    use Op::{Get, Put};

    #[test]
    fn what_can_have_happened_is_right() {
        assert!(is_linear(&[]));
        assert!(is_linear(&[(Put(1), 1, 2), (Get(1), 3, 4)]));
        // Beside each other: either order.
        assert!(is_linear(&[(Put(1), 1, 5), (Get(0), 2, 3), (Get(1), 3, 4)]));
        assert!(is_linear(&[(Put(1), 1, 9), (Put(2), 1, 9), (Get(2), 2, 3), (Get(1), 4, 5)]));
        // Without an answer: it happened late, or never.
        assert!(is_linear(&[(Put(1), 1, 0), (Get(0), 2, 3), (Get(1), 4, 5), (Get(1), 6, 7)]));
        assert!(is_linear(&[(Put(1), 1, 0), (Get(0), 2, 3), (Put(2), 4, 5), (Get(2), 6, 7)]));
    }

    #[test]
    fn what_cannot_have_happened_is_found() {
        // A write that was answered is lost.
        assert!(!is_linear(&[(Put(1), 1, 2), (Get(0), 3, 4)]));
        // A reader goes back.
        assert!(!is_linear(&[(Put(1), 1, 9), (Get(1), 2, 3), (Get(0), 4, 5)]));
        // Two readers see two orders.
        let both = [(Put(1), 1, 2), (Put(2), 1, 2)];
        let orders = [(Get(1), 3, 4), (Get(2), 5, 6)];
        assert!(!is_linear(&[both.as_slice(), &orders].concat()));
        // Something that was never written.
        assert!(!is_linear(&[(Put(1), 1, 2), (Get(3), 3, 4)]));
        // Without an answer, and twice: there, gone, there again.
        let twice =
            [(Put(1), 1, 0), (Get(1), 2, 3), (Put(2), 4, 5), (Get(2), 6, 7), (Get(1), 8, 9)];
        assert!(!is_linear(&twice));
        // Read before it was begun.
        assert!(!is_linear(&[(Get(1), 1, 2), (Put(1), 3, 4)]));
    }

    #[test]
    fn many_without_an_answer_do_not_take_for_ever() {
        let mut events = Vec::new();
        for n in 0..12 {
            events.push((Put(100 + n), u64::from(n * 10) + 1, 0));
        }
        for n in 0..150 {
            let at = u64::from(n) * 10 + 200;
            events.push((Put(n + 1), at, at + 15));
            events.push((Get(n + 1), at + 16, at + 17));
        }
        assert!(is_linear(&events));
    }
}
