//! Joining two deltas into one: given what makes B out of A and what makes C out of B, what makes
//! C out of A, without making B.

use crate::error::Error;
use crate::window::{Op, Window};
use sapwood_core::Exact;

/// A stretch of the first window's target that comes from one place.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Where the stretch starts in the first window's target.
    start: usize,
    len: usize,
    /// Whether it is new data of the first window, or else its source view.
    new: bool,
    /// Where it starts there.
    from: usize,
}

/// Joins `first`, and `second` whose source view is within the target of `first`: `into` then
/// makes the target of `second` from the source view of `first`. `view_at` is where the source
/// view of `second` starts in the target of `first`, in bytes (0 when windows cover each other
/// exactly).
///
/// The work is at most proportional to the bytes of both targets, and to the number of
/// instructions in the usual case that `first` has no target copies.
///
/// # Errors
/// When the windows do not fit together, or are not valid in themselves.
pub fn compose(
    first: &Window,
    second: &Window,
    view_at: usize,
    into: &mut Window,
) -> Result<(), Error> {
    into.clear();
    let segments = flatten(first)?;
    // Copies mostly go forwards through the source, so the last place is a good guess.
    let mut at = 0;
    for op in &second.ops {
        match *op {
            Op::New { offset, len } => {
                into.push_new(piece(&second.new_data, offset, len)?);
            }
            Op::Target { offset, len } => into.push_target(offset, len),
            Op::Source { offset, len } => {
                let offset = offset.checked_add(view_at).ok_or(Error::Mismatch)?;
                at = copy(first, &segments, at, offset, len, into)?;
            }
        }
    }
    if into.target_len != second.target_len {
        return Err(Error::TargetShort);
    }
    into.source_offset = first.source_offset;
    into.source_len = first.source_len;
    Ok(())
}

fn piece(bytes: &[u8], offset: usize, len: usize) -> Result<&[u8], Error> {
    bytes.get(offset..).and_then(|b| b.get(..len)).ok_or(Error::Mismatch)
}

/// The index of the segment that holds target offset `offset`, given a guess.
fn find(segments: &[Segment], guess: usize, offset: usize) -> usize {
    let holds = |s: &Segment| s.start <= offset && offset.minus(s.start) < s.len;
    for near in [guess, guess.plus(1)] {
        if segments.get(near).is_some_and(holds) {
            return near;
        }
    }
    segments.partition_point(|s| s.start <= offset).saturating_sub(1)
}

/// Appends what makes `len` bytes of the first target from `offset` on. Returns a guess for next
/// time.
fn copy(
    first: &Window,
    segments: &[Segment],
    guess: usize,
    offset: usize,
    len: usize,
    into: &mut Window,
) -> Result<usize, Error> {
    let end = offset.checked_add(len).ok_or(Error::Mismatch)?;
    let mut at = find(segments, guess, offset);
    let mut offset = offset;
    while offset < end {
        let segment = segments.get(at).ok_or(Error::Mismatch)?;
        let skip = offset.checked_sub(segment.start).ok_or(Error::Mismatch)?;
        let left = segment.len.checked_sub(skip).filter(|l| *l > 0).ok_or(Error::Mismatch)?;
        let count = left.min(end.minus(offset));
        let from = segment.from.plus(skip);
        if segment.new {
            into.push_new(piece(&first.new_data, from, count)?);
        } else {
            into.push_source(from, count);
        }
        offset = offset.plus(count);
        if offset < end {
            at += 1;
        }
    }
    Ok(at)
}

/// The segments of a window's target, target copies replaced by what they copy. Every segment
/// makes at least one byte, so there are never more of them than bytes.
fn flatten(window: &Window) -> Result<Vec<Segment>, Error> {
    let mut segments: Vec<Segment> = Vec::with_capacity(window.ops.len());
    let mut start = 0usize;
    for (number, op) in window.ops.iter().enumerate() {
        let len = op.len();
        if start.saturating_add(len) > window.target_len {
            return Err(Error::TargetOverflow(number));
        }
        match *op {
            Op::Source { offset: from, len } => {
                segments.push(Segment { start, len, new: false, from });
            }
            Op::New { offset: from, len } => {
                segments.push(Segment { start, len, new: true, from });
            }
            Op::Target { offset, len } => {
                if offset >= start {
                    return Err(Error::TargetStart(number));
                }
                // Segments appended below may be copied again: that is the repetition.
                let end = start.plus(len);
                let mut made = start;
                let mut from = offset;
                let mut at = find(&segments, segments.len().saturating_sub(1), from);
                while made < end {
                    let segment = *segments.get(at).ok_or(Error::Mismatch)?;
                    let skip = from.checked_sub(segment.start).ok_or(Error::Mismatch)?;
                    let left = segment.len.checked_sub(skip).ok_or(Error::Mismatch)?;
                    let count = left.min(end.minus(made));
                    if count == 0 {
                        return Err(Error::Mismatch);
                    }
                    segments.push(Segment {
                        start: made,
                        len: count,
                        new: segment.new,
                        from: segment.from.plus(skip),
                    });
                    made = made.plus(count);
                    from = from.plus(count);
                    at += 1;
                }
            }
        }
        start = start.plus(len);
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(window: &Window, source: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        window.apply(source, &mut out).unwrap();
        out
    }

    #[test]
    fn joined_is_one_after_the_other() {
        let mut first = Window { source_len: 6, ..Window::default() };
        first.push_source(2, 4);
        first.push_new(b"xy");
        first.push_target(4, 5);
        let mut second = Window { source_len: 11, ..Window::default() };
        second.push_source(1, 9);
        second.push_new(b"!");
        second.push_target(8, 4);
        second.push_source(0, 3);
        let mut joined = Window::default();
        compose(&first, &second, 0, &mut joined).unwrap();
        let middle = apply(&first, b"abcdef");
        assert_eq!(middle, b"cdefxyxyxyx");
        assert_eq!(apply(&joined, b"abcdef"), apply(&second, &middle));
        assert_eq!(joined.source_len, 6);

        second.ops.truncate(1);
        second.target_len = 9;
        compose(&first, &second, 1, &mut joined).unwrap();
        assert_eq!(apply(&joined, b"abcdef"), b"efxyxyxyx");
        assert_eq!(compose(&first, &second, 2, &mut joined), Err(Error::Mismatch));
    }

    #[test]
    fn runs_made_of_one_byte() {
        let mut first = Window::default();
        first.push_new(b"a");
        first.push_target(0, 9999);
        let mut second = Window { source_len: 10_000, ..Window::default() };
        second.push_source(10, 5000);
        let mut joined = Window::default();
        compose(&first, &second, 0, &mut joined).unwrap();
        assert_eq!(apply(&joined, b""), [b'a'; 5000]);
        assert_eq!(joined.ops.len(), 1);
    }
}
