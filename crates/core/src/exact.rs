//! Sums, differences and pieces that fit unless there is a slip of ours: what `saturating_sub` and
//! `get(..).unwrap_or_default()` would hide.
//!
//! A slip stops a debug build, and so a test, at the place that asked. A release build goes on with the
//! nearest value there is (never more than there is, never a panic). Where a wrong answer could leave the
//! function, an error of [`crate::SvnError::internal`] is right instead of these.
//!
//! `saturating_*` itself stays for what may go over: numbers from disk or wire that are compared with a
//! limit afterwards, "what is left, or nothing", durations. [`Exact::tally`] is for statistics.

use std::ops::{Bound, RangeBounds};
use std::time::Duration;

/// A length in memory as a number of 64 bits: `usize` has no more on any system that Rust supports.
#[inline]
#[must_use]
pub fn len64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// A number of 64 bits as a length in memory, to be compared with what there is: where lengths have fewer
/// bits, a number that has no place is as long as a length can be.
#[inline]
#[must_use]
pub fn clamped(number: impl Into<u64>) -> usize {
    usize::try_from(number.into()).unwrap_or(usize::MAX)
}

/// A number as a signed one, as databases keep them: one that has no place is as large as they can be.
#[inline]
#[must_use]
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A duration in whole milliseconds, to be shown or to be divided by: one that has no place (584 million years) is as
/// long as they can be.
#[inline]
#[must_use]
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Numbers whose sums and differences fit.
pub trait Exact: Copy {
    /// The sum, which fits.
    #[must_use]
    fn plus(self, more: Self) -> Self;

    /// What is left; `less` is not more than there is.
    #[must_use]
    fn minus(self, less: Self) -> Self;

    /// The product, which fits.
    #[must_use]
    fn times(self, factor: Self) -> Self;

    /// Adds to a number that people read, or that a budget is compared with: as much as the type can hold
    /// is as good as the number.
    fn tally(&mut self, more: Self);
}

macro_rules! exact {
    ($($number:ty),*) => {$(
        impl Exact for $number {
            #[inline]
            #[track_caller]
            fn plus(self, more: Self) -> Self {
                debug_assert!(self.checked_add(more).is_some(), "{self} + {more}");
                self.saturating_add(more)
            }

            #[inline]
            #[track_caller]
            fn minus(self, less: Self) -> Self {
                debug_assert!(self >= less, "{self} - {less}");
                self.saturating_sub(less)
            }

            #[inline]
            #[track_caller]
            fn times(self, factor: Self) -> Self {
                debug_assert!(self.checked_mul(factor).is_some(), "{self} * {factor}");
                self.saturating_mul(factor)
            }

            #[inline]
            fn tally(&mut self, more: Self) {
                *self = self.saturating_add(more);
            }
        }
    )*};
}

exact!(u8, u16, u32, u64, usize);

/// Texts and slices of which a piece is there.
pub trait Cut {
    /// What is left of it behind `at`, which is not behind its end.
    #[must_use]
    fn tail(&self, at: usize) -> &Self;

    /// Its first `len`, which it has.
    #[must_use]
    fn head(&self, len: usize) -> &Self;

    /// The piece at `range`, which is within it.
    #[must_use]
    fn piece(&self, range: impl RangeBounds<usize>) -> &Self;
}

/// Where a range begins and ends in what has `len`.
fn bounds(range: &impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(at) => *at,
        Bound::Excluded(at) => at.plus(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(at) => at.plus(1),
        Bound::Excluded(at) => *at,
        Bound::Unbounded => len,
    };
    (start, end)
}

macro_rules! cut {
    ($({$($of:tt)*} $whole:ty),*) => {$(
        impl $($of)* Cut for $whole {
            #[inline]
            #[track_caller]
            fn tail(&self, at: usize) -> &Self {
                let piece = self.get(at..);
                debug_assert!(piece.is_some(), "{at} of {}", self.len());
                piece.unwrap_or_default()
            }

            #[inline]
            #[track_caller]
            fn head(&self, len: usize) -> &Self {
                let piece = self.get(..len);
                debug_assert!(piece.is_some(), "{len} of {}", self.len());
                piece.unwrap_or_default()
            }

            #[inline]
            #[track_caller]
            fn piece(&self, range: impl RangeBounds<usize>) -> &Self {
                let (start, end) = bounds(&range, self.len());
                let piece = self.get(start..end);
                debug_assert!(piece.is_some(), "{start} to {end} of {}", self.len());
                piece.unwrap_or_default()
            }
        }
    )*};
}

cut!({<T>} [T], {} str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits() {
        assert_eq!(3_usize.plus(4), 7);
        assert_eq!(7_u64.minus(7), 0);
        assert_eq!(7_u32.times(6), 42);
        let mut sum = u64::MAX - 1;
        sum.tally(5);
        assert_eq!(sum, u64::MAX);
        assert_eq!("abc".tail(3), "");
        assert_eq!("abc".head(2), "ab");
        assert_eq!([1, 2, 3].piece(1..=2), [2, 3]);
        assert_eq!([1, 2, 3].piece(..1), [1]);
    }

    #[test]
    fn conversions_end_at_the_largest_number() {
        assert_eq!(len64(7), 7);
        assert_eq!(clamped(7_u32), 7);
        assert_eq!(signed(u64::MAX), i64::MAX);
        assert_eq!(millis(Duration::from_micros(1999)), 1);
        assert_eq!(millis(Duration::MAX), u64::MAX);
    }

    /// Tests are debug builds: there a slip is heard.
    #[test]
    #[cfg(debug_assertions)]
    fn slips_are_heard() {
        let heard = |slip: fn() -> bool| assert!(std::panic::catch_unwind(slip).is_err());
        heard(|| u64::MAX.plus(1) > 0);
        heard(|| 3_usize.minus(4) > 0);
        heard(|| u32::MAX.times(2) > 0);
        heard(|| "abc".tail(4).is_empty());
        heard(|| [1_u8].head(2).is_empty());
        heard(|| "äb".piece(1..).is_empty());
    }
}
