//! A piece of a reply's body: bytes that were written for it, and bytes that are kept elsewhere and go out from where
//! they are.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};
use sapwood_core::exact::Exact as _;

/// Runs of bytes, in order, none of them empty.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    runs: VecDeque<Bytes>,
    left: usize,
}

impl Piece {
    /// Appends a run.
    pub(super) fn push(&mut self, run: Bytes) {
        if !run.is_empty() {
            self.left = self.left.plus(run.len());
            self.runs.push_back(run);
        }
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Self {
        let mut piece = Self::default();
        piece.push(Bytes::from(bytes));
        piece
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.left
    }

    fn chunk(&self) -> &[u8] {
        self.runs.front().map_or(&[], |run| run)
    }

    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0usize;
        for (place, run) in out.iter_mut().zip(&self.runs) {
            *place = IoSlice::new(run);
            count = count.plus(1);
        }
        count
    }

    fn advance(&mut self, mut bytes: usize) {
        self.left = self.left.minus(bytes);
        while let Some(first) = self.runs.front_mut() {
            if bytes < first.len() {
                first.advance(bytes);
                return;
            }
            bytes = bytes.minus(first.len());
            self.runs.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_one_text() {
        let runs = ["abc", "", "d", "efgh"];
        for taken in 0..=8 {
            let mut piece = Piece::default();
            runs.iter().for_each(|run| piece.push(Bytes::from_static(run.as_bytes())));
            assert_eq!(piece.remaining(), 8);
            piece.advance(taken);
            assert_eq!(piece.remaining(), 8 - taken);
            let mut slices = [IoSlice::new(&[]); 4];
            let count = piece.chunks_vectored(&mut slices);
            let shown: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.to_vec()).collect();
            assert_eq!(shown, &b"abcdefgh"[taken..]);
            assert!(slices[..count].iter().all(|slice| !slice.is_empty()));
            assert_eq!(piece.copy_to_bytes(8 - taken), b"abcdefgh"[taken..]);
        }
        let mut few = Piece::from(b"x".to_vec());
        few.push(Bytes::from_static(b"y"));
        assert_eq!(few.chunks_vectored(&mut [IoSlice::new(&[])]), 1);
    }
}
