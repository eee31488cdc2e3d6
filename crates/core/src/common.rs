//! What two byte strings have in common at their ends: the first question of text deltas and of line
//! diffs. Compared in steps that the compiler turns into vector instructions.

use crate::{Cut, Exact};

/// How many bytes at the start of both are equal.
#[must_use]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 32;
    let whole = a
        .chunks_exact(STEP)
        .zip(b.chunks_exact(STEP))
        .take_while(|(x, y)| x == y)
        .count()
        .times(STEP);
    let (a, b) = (a.tail(whole), b.tail(whole));
    whole.plus(a.iter().zip(b).take_while(|(x, y)| x == y).count())
}

/// How many bytes at the end of both are equal.
#[must_use]
pub fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 32;
    let whole = a
        .rchunks_exact(STEP)
        .zip(b.rchunks_exact(STEP))
        .take_while(|(x, y)| x == y)
        .count()
        .times(STEP);
    let rest = |s: &[u8]| s.len().minus(whole);
    let a = a.head(rest(a));
    let b = b.head(rest(b));
    whole.plus(a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_around_the_step() {
        for len in [0, 1, 31, 32, 33, 64, 100] {
            let a = vec![b'x'; len];
            assert_eq!((common_prefix(&a, &a), common_suffix(&a, &a)), (len, len));
            for at in 0..len {
                let mut b = a.clone();
                b[at] = b'y';
                assert_eq!(common_prefix(&a, &b), at);
                assert_eq!(common_suffix(&a, &b), len - at - 1);
            }
        }
        assert_eq!(common_prefix(b"abc", b"ab"), 2);
        assert_eq!(common_suffix(b"abc", b"bc"), 2);
    }
}
