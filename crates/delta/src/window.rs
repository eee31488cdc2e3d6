//! One window of a text delta, decoded.

use crate::error::Error;
use sapwood_core::Exact;

/// The most bytes of source view and of target that a window may have, in the reference and
/// therefore everywhere: its decoders refuse more.
pub const WINDOW_MAX: usize = 102_400;

/// One instruction of a [`Window`]. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Copy from the source view.
    Source {
        /// Where to start in the source view.
        offset: usize,
        /// How much to copy.
        len: usize,
    },
    /// Copy from the target view made so far; may run past its present end, which repeats it.
    Target {
        /// Where to start in the target view.
        offset: usize,
        /// How much to copy.
        len: usize,
    },
    /// Copy from the window's new data.
    New {
        /// Where to start in the new data.
        offset: usize,
        /// How much to copy.
        len: usize,
    },
}

impl Op {
    /// How many bytes of target the instruction makes.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Source { len, .. } | Self::Target { len, .. } | Self::New { len, .. } => *len,
        }
    }

    /// Whether it makes nothing. Decoders refuse such instructions.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One window: makes `target_len` bytes of the target out of a view of the source and new data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Where the source view starts in the source, in bytes.
    pub source_offset: u64,
    /// How long the source view is, in bytes.
    pub source_len: usize,
    /// How many bytes of target this window makes.
    pub target_len: usize,
    /// The instructions, in target order; their lengths add up to `target_len`.
    pub ops: Vec<Op>,
    /// The data that [`Op::New`] copies from.
    pub new_data: Vec<u8>,
}

impl Window {
    /// A window that needs no source: all of `data` is new.
    #[must_use]
    pub fn full_text(data: Vec<u8>) -> Self {
        let len = data.len();
        let ops = if len == 0 { Vec::new() } else { vec![Op::New { offset: 0, len }] };
        Self { source_offset: 0, source_len: 0, target_len: len, ops, new_data: data }
    }

    /// Makes the window empty and keeps its memory.
    pub fn clear(&mut self) {
        self.source_offset = 0;
        self.source_len = 0;
        self.target_len = 0;
        self.ops.clear();
        self.new_data.clear();
    }

    /// If the window makes its target without looking at the source or its own target, that
    /// target: the new data as it stands.
    #[must_use]
    pub fn as_full_text(&self) -> Option<&[u8]> {
        match self.ops.as_slice() {
            [] => Some(&[]),
            [Op::New { offset: 0, len }] if *len == self.new_data.len() => Some(&self.new_data),
            _ => None,
        }
    }

    /// Whether any instruction copies from the source view.
    #[must_use]
    pub fn needs_source(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Source { .. }))
    }

    /// Appends a copy from the source view, joined to the last instruction if it goes on there.
    pub fn push_source(&mut self, from: usize, count: usize) {
        self.target_len = self.target_len.plus(count);
        if let Some(Op::Source { offset, len }) = self.ops.last_mut()
            && offset.plus(*len) == from
        {
            *len = len.plus(count);
        } else if count > 0 {
            self.ops.push(Op::Source { offset: from, len: count });
        }
    }

    /// Appends a copy from the target view, joined to the last instruction if it goes on there.
    pub fn push_target(&mut self, from: usize, count: usize) {
        self.target_len = self.target_len.plus(count);
        if let Some(Op::Target { offset, len }) = self.ops.last_mut()
            && offset.plus(*len) == from
        {
            *len = len.plus(count);
        } else if count > 0 {
            self.ops.push(Op::Target { offset: from, len: count });
        }
    }

    /// Appends new data.
    pub fn push_new(&mut self, data: &[u8]) {
        self.target_len = self.target_len.plus(data.len());
        let at = self.new_data.len();
        self.new_data.extend_from_slice(data);
        if let Some(Op::New { len, .. }) = self.ops.last_mut() {
            *len = len.plus(data.len());
        } else if !data.is_empty() {
            self.ops.push(Op::New { offset: at, len: data.len() });
        }
    }

    /// Appends the target to `target`, given the source view (which may be longer than
    /// `source_len`: only its beginning counts).
    ///
    /// # Errors
    /// When an instruction reaches beyond what there is. `target` then holds part of the result.
    pub fn apply(&self, source: &[u8], target: &mut Vec<u8>) -> Result<(), Error> {
        let base = target.len();
        target.reserve(self.target_len);
        let source = source.get(..self.source_len).unwrap_or(source);
        for (number, op) in self.ops.iter().enumerate() {
            match *op {
                Op::Source { offset, len } => {
                    let bytes = piece(source, offset, len).ok_or(Error::SourceOverflow(number))?;
                    target.extend_from_slice(bytes);
                }
                Op::New { offset, len } => {
                    let bytes =
                        piece(&self.new_data, offset, len).ok_or(Error::NewOverflow(number))?;
                    target.extend_from_slice(bytes);
                }
                Op::Target { offset, len } => {
                    let start = base.plus(offset);
                    if start >= target.len() || len > self.target_len {
                        return Err(Error::TargetStart(number));
                    }
                    copy_within(target, start, len);
                }
            }
        }
        if target.len().minus(base) == self.target_len { Ok(()) } else { Err(Error::TargetShort) }
    }
}

fn piece(bytes: &[u8], offset: usize, len: usize) -> Option<&[u8]> {
    bytes.get(offset..)?.get(..len)
}

/// Appends `len` bytes from `start` on, repeating what is appended as needed. `start` must be
/// below the present end.
fn copy_within(target: &mut Vec<u8>, start: usize, len: usize) {
    let mut left = len;
    while left > 0 {
        // From `start` to the end is a whole number of periods, and doubles each time.
        let count = left.min(target.len().minus(start));
        if count == 0 {
            return;
        }
        target.extend_from_within(start..start.plus(count));
        left = left.minus(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(window: &Window, source: &[u8]) -> Result<Vec<u8>, Error> {
        let mut out = b"before".to_vec();
        window.apply(source, &mut out)?;
        Ok(out.split_off(6))
    }

    #[test]
    fn each_kind_of_instruction() {
        let mut w = Window { source_len: 4, ..Window::default() };
        w.push_source(1, 2);
        w.push_source(3, 1);
        w.push_new(b"x");
        w.push_new(b"yz");
        w.push_target(1, 2);
        assert_eq!(w.ops.len(), 3);
        assert_eq!(w.target_len, 8);
        assert_eq!(made(&w, b"abcd").unwrap(), b"bcdxyzcd");
        assert!(w.needs_source());
        assert_eq!(w.as_full_text(), None);
    }

    #[test]
    fn target_copies_repeat() {
        let mut w = Window::default();
        w.push_new(b"abc");
        w.push_target(1, 7);
        assert_eq!(made(&w, b"").unwrap(), b"abcbcbcbcb");
        let mut w = Window::default();
        w.push_new(b"-");
        w.push_target(0, 1000);
        assert_eq!(made(&w, b"").unwrap(), [b'-'; 1001]);
    }

    #[test]
    fn bad_windows_are_errors() {
        let with = |op, target_len| Window {
            source_len: 2,
            target_len,
            ops: vec![op],
            ..Window::default()
        };
        let source = |offset, len| with(Op::Source { offset, len }, len);
        assert_eq!(made(&source(1, 2), b"abc"), Err(Error::SourceOverflow(0)));
        assert_eq!(made(&source(usize::MAX, 2), b"abc"), Err(Error::SourceOverflow(0)));
        assert_eq!(made(&with(Op::New { offset: 0, len: 1 }, 1), b""), Err(Error::NewOverflow(0)));
        assert_eq!(
            made(&with(Op::Target { offset: 0, len: 1 }, 1), b""),
            Err(Error::TargetStart(0))
        );
        assert_eq!(
            made(&with(Op::Source { offset: 0, len: 1 }, 2), b"ab"),
            Err(Error::TargetShort)
        );
    }
}
