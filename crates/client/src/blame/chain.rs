//! Stretches of lines, each with the revision that it is from, kept up while lines are deleted and
//! inserted. Invariant: the first stretch starts at line 0, and starts increase.

use sapwood_core::exact::Exact;
use std::rc::Rc;

use super::Change;

/// A stretch, up to where the next one starts; the last has no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) change: Option<Rc<Change>>,
}

/// All stretches of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pieces: Vec<Piece>,
}

impl Chain {
    /// Whether no text was seen yet.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The stretches, in order.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// All lines are from `change`.
    pub(super) fn begin(&mut self, change: Option<Rc<Change>>) {
        self.pieces = vec![Piece { start: 0, change }];
    }

    /// The number of stretches that start before or at a line, less one: where the line is.
    fn place(&self, line: u64) -> usize {
        self.pieces.partition_point(|piece| piece.start <= line).minus(1)
    }

    /// Makes a stretch start at `line`, and gives its place.
    fn cut(&mut self, line: u64) -> usize {
        let at = self.place(line);
        match self.pieces.get(at) {
            Some(piece) if piece.start != line => {
                let change = piece.change.clone();
                let next = at.plus(1);
                self.pieces.insert(next, Piece { start: line, change });
                next
            }
            _ => at,
        }
    }

    fn shift(&mut self, from: usize, by: impl Fn(u64) -> u64) {
        for piece in self.pieces.iter_mut().skip(from) {
            piece.start = by(piece.start);
        }
    }

    /// `len` lines from `start` on go away.
    pub(super) fn delete(&mut self, start: u64, len: u64) {
        let first = self.cut(start);
        let last = self.cut(start.plus(len));
        self.pieces.drain(first..last);
        self.shift(first, |at| at.minus(len));
    }

    /// Inserts `len` lines from `change` at `start`.
    pub(super) fn insert(&mut self, start: u64, len: u64, change: Option<Rc<Change>>) {
        let at = self.cut(start);
        self.shift(at, |line| line.plus(len));
        self.pieces.insert(at, Piece { start, change });
    }
}

/// Makes the stretches of two chains of one text start at the same lines.
pub(super) fn normalize(a: &mut Chain, b: &mut Chain) {
    let starts = |chain: &Chain| chain.pieces.iter().map(|piece| piece.start).collect::<Vec<_>>();
    for start in starts(a) {
        b.cut(start);
    }
    for start in starts(b) {
        a.cut(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::{PropList, Revnum};

    fn change(number: u64) -> Option<Rc<Change>> {
        let (revision, path) = (Some(Revnum(number)), "/f".to_owned());
        Some(Rc::new(Change { revision, props: PropList::new(), path }))
    }

    fn shown(chain: &Chain) -> Vec<(u64, u64)> {
        let number = |piece: &Piece| piece.change.as_ref().unwrap().revision.unwrap().0;
        chain.pieces.iter().map(|piece| (piece.start, number(piece))).collect()
    }

    #[test]
    fn lines_come_and_go() {
        let mut chain = Chain::default();
        chain.begin(change(1));
        chain.insert(2, 3, change(2));
        assert_eq!(shown(&chain), [(0, 1), (2, 2), (5, 1)]);
        chain.delete(1, 2);
        assert_eq!(shown(&chain), [(0, 1), (1, 2), (3, 1)]);
        chain.insert(0, 1, change(3));
        assert_eq!(shown(&chain), [(0, 3), (1, 1), (2, 2), (4, 1)]);
        chain.delete(0, 4);
        assert_eq!(shown(&chain), [(0, 1)]);
    }

    #[test]
    fn two_chains_of_one_text() {
        let (mut a, mut b) = (Chain::default(), Chain::default());
        a.begin(change(1));
        b.begin(change(2));
        a.insert(3, 1, change(3));
        b.insert(5, 2, change(4));
        normalize(&mut a, &mut b);
        let starts = |chain: &Chain| shown(chain).into_iter().map(|(s, _)| s).collect::<Vec<_>>();
        assert_eq!(starts(&a), [0, 3, 4, 5, 7]);
        assert_eq!(starts(&b), starts(&a));
    }
}
