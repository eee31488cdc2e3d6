//! The alignment of two sequences of line numbers ("tokens").
//!
//! The algorithm is Wu, Manber, Myers and Miller's "An O(NP) sequence comparison algorithm", with
//! one addition: tokens that only one sequence has are stepped over, since they cannot match.
//! States are grouped into diagonals by how much more of the old sequence than of the new one is
//! left (`k`); the goal is `k = 0` with nothing left. On each diagonal only the furthest state
//! is kept. Diagonals are swept from both sides towards 0, again and again, each time with one
//! more of the moves that lead away from 0, until the end is reached.
//!
//! Which of two neighbours a diagonal is reached from when both got equally far, and that lines
//! match as early as they can, decides between alignments that are equally short.

use std::collections::VecDeque;

use sapwood_core::{Cut, Exact};

/// A run of tokens that both sequences have. Positions count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) old: usize,
    pub(crate) new: usize,
    pub(crate) len: usize,
}

/// A run on the way to a state; runs before it are shared between states.
#[derive(Clone, Copy, Debug)]
struct Node {
    run: Match,
    before: Option<usize>,
    /// States and runs that lead here.
    users: usize,
}

/// The furthest state of a diagonal.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    old: usize,
    new: usize,
    /// How far this is; 0 where nothing was reached.
    reach: usize,
    last: Option<usize>,
}

/// Runs of matches; those that no state uses any more are used again.
#[derive(Debug, Default)]
struct Nodes {
    nodes: Vec<Node>,
    free: Vec<usize>,
}

impl Nodes {
    fn retain(&mut self, at: Option<usize>) {
        if let Some(node) = at.and_then(|at| self.nodes.get_mut(at)) {
            node.users += 1;
        }
    }

    /// Gives up one use of a run, and with its last use that of the runs before it.
    fn release(&mut self, mut at: Option<usize>) {
        while let Some(index) = at
            && let Some(node) = self.nodes.get_mut(index)
        {
            node.users = node.users.minus(1);
            if node.users > 0 {
                return;
            }
            at = node.before;
            self.free.push(index);
        }
    }

    /// Adds a run with one user. The use of `before` goes over to it.
    fn add(&mut self, run: Match, before: Option<usize>) -> usize {
        let node = Node { run, before, users: 1 };
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.nodes.get_mut(index)
        {
            *slot = node;
            return index;
        }
        self.nodes.push(node);
        self.nodes.len().minus(1)
    }
}

/// The states of the diagonals that were reached, which are next to each other.
#[derive(Debug, Default)]
struct Diagonals {
    /// The number of the first one.
    first: usize,
    states: VecDeque<State>,
}

impl Diagonals {
    fn get(&self, k: usize) -> State {
        let at = k.checked_sub(self.first);
        at.and_then(|at| self.states.get(at)).copied().unwrap_or_default()
    }

    fn set(&mut self, k: usize, state: State) {
        if self.states.is_empty() {
            self.first = k;
        }
        while k < self.first {
            self.states.push_front(State::default());
            self.first = self.first.minus(1);
        }
        let at = k.minus(self.first);
        while self.states.len() <= at {
            self.states.push_back(State::default());
        }
        if let Some(slot) = self.states.get_mut(at) {
            *slot = state;
        }
    }
}

struct Aligner<'a> {
    old: &'a [u32],
    new: &'a [u32],
    /// How often the old sequence has a token, by token.
    in_old: Vec<u32>,
    in_new: Vec<u32>,
    nodes: Nodes,
    states: Diagonals,
    /// The number of diagonal 0.
    zero: usize,
    /// How many diagonals there are.
    most: usize,
}

/// The runs that an alignment of `old` and `new` keeps, in order, and how many edits were tried at most, one after
/// the other. Tokens are below `tokens`.
pub(crate) fn align(old: &[u32], new: &[u32], tokens: usize) -> (Vec<Match>, usize) {
    if old.is_empty() || new.is_empty() {
        return (Vec::new(), 0);
    }
    let in_old = count(old, tokens);
    let in_new = count(new, tokens);
    let common = |text: &[u32], other: &[u32]| text.iter().filter(|t| get(other, **t) > 0).count();
    let (old_len, new_len) = (common(old, &in_new), common(new, &in_old));
    let most = old_len.plus(new_len).plus(3);
    let zero = new_len.plus(1);
    let (nodes, states) = (Nodes::default(), Diagonals::default());
    Aligner { old, new, in_old, in_new, nodes, states, zero, most }.run(old_len, new_len)
}

fn count(sequence: &[u32], tokens: usize) -> Vec<u32> {
    let mut counts = vec![0u32; tokens];
    for token in sequence {
        if let Some(slot) = usize::try_from(*token).ok().and_then(|t| counts.get_mut(t)) {
            *slot += 1;
        }
    }
    counts
}

fn get(counts: &[u32], token: u32) -> u32 {
    usize::try_from(token).ok().and_then(|t| counts.get(t)).copied().unwrap_or(0)
}

impl Aligner<'_> {
    fn run(mut self, old_len: usize, new_len: usize) -> (Vec<Match>, usize) {
        // Diagonals are numbered so that 0 is `zero` and smaller is negative.
        let start = self.zero.plus(old_len).minus(new_len);
        let (low, high) = (start.min(self.zero), start.max(self.zero));
        // Stands before the first token of `new`, so that a step along it gets there.
        let before = State { old: 0, new: self.new.len(), reach: 0, last: None };
        self.states.set(start.saturating_sub(1), before);
        let mut away = 0usize;
        loop {
            for k in low.saturating_sub(away)..self.zero {
                self.advance(k);
            }
            for k in (self.zero..=high.plus(away)).rev() {
                self.advance(k);
            }
            away += 1;
            let state = self.states.get(self.zero);
            if state.new == self.new.len() || away > self.most {
                return (self.collect(state.last), high.minus(low).plus(away.times(2)));
            }
        }
    }

    fn collect(&self, mut at: Option<usize>) -> Vec<Match> {
        let mut runs = Vec::new();
        while let Some(node) = at.and_then(|at| self.nodes.nodes.get(at)) {
            runs.push(node.run);
            at = node.before;
        }
        runs.reverse();
        runs
    }

    /// Finds the furthest state of a diagonal from those of its neighbours.
    fn advance(&mut self, k: usize) {
        let below = self.states.get(k.saturating_sub(1));
        let above = self.states.get(k.plus(1));
        let replaced = self.states.get(k).last;
        self.nodes.release(replaced);
        // A step past the end of a sequence begins it again: that is how the first state,
        // which stands at the end of `new`, gets to its start.
        let next = |at: usize, len: usize| if at >= len { 0 } else { at.plus(1) };
        let (mut old, mut new, mut last) = if below.reach >= above.reach {
            (below.old, next(below.new, self.new.len()), below.last)
        } else {
            (next(above.old, self.old.len()), above.new, above.last)
        };
        self.nodes.retain(last);
        loop {
            let rest_old = self.old.tail(old);
            let rest_new = self.new.tail(new);
            let len = rest_old.iter().zip(rest_new).take_while(|(a, b)| a == b).count();
            if len > 0 {
                last = Some(self.nodes.add(Match { old, new, len }, last));
                old = old.plus(len);
                new = new.plus(len);
            }
            if self.old.get(old).is_some_and(|t| get(&self.in_new, *t) == 0) {
                old += 1;
            } else if self.new.get(new).is_some_and(|t| get(&self.in_old, *t) == 0) {
                new += 1;
            } else {
                break;
            }
        }
        if k < self.most {
            self.states.set(k, State { old, new, reach: new.plus(1), last });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }

    fn aligned(old: &str, new: &str) -> String {
        let (o, n) = (tokens(old), tokens(new));
        let runs = align(&o, &n, 256).0;
        let mut at = (0, 0);
        for run in &runs {
            assert!(run.len > 0 && run.old >= at.0 && run.new >= at.1);
            at = (run.old + run.len, run.new + run.len);
            assert_eq!(o[run.old..at.0], n[run.new..at.1]);
        }
        assert!(at.0 <= o.len() && at.1 <= n.len());
        runs.iter().flat_map(|r| old[r.old..r.old + r.len].chars()).collect()
    }

    /// The length of the longest common subsequence, by the textbook.
    fn longest(old: &str, new: &str) -> usize {
        let mut row = vec![0usize; new.len() + 1];
        for a in old.bytes() {
            let mut diagonal = 0;
            for (at, b) in new.bytes().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if a == b { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[new.len()]
    }

    #[test]
    fn small_sequences() {
        assert_eq!(aligned("abc", "abc"), "abc");
        assert_eq!(aligned("abc", ""), "");
        assert_eq!(aligned("abc", "xyz"), "");
        assert_eq!(aligned("abcd", "xbyd"), "bd");
        assert_eq!(aligned("aab", "ab"), "ab");
        // The first of several places is taken.
        assert_eq!(align(&tokens("a"), &tokens("aaa"), 256).0, [Match { old: 0, new: 0, len: 1 }]);
    }

    #[test]
    fn always_a_longest_one() {
        let mut state = 7u32;
        let mut word = |len: u32| {
            (0..len)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    char::from(b'a' + u8::try_from((state >> 24) % 5).unwrap())
                })
                .collect::<String>()
        };
        for n in 0..2000 {
            let (old, new) = (word(n % 13), word(n / 13 % 17));
            assert_eq!(aligned(&old, &new).len(), longest(&old, &new), "{old} {new}");
        }
    }
}
