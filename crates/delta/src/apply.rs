//! Applying a text delta to the text it was made for.

use sapwood_core::Exact;
use std::io::{self, Read};

use sapwood_core::{SvnError, SvnResult, len64};

use crate::error::Error;
use crate::stream::{TextDelta, read_full};
use crate::window::Window;

/// Applies windows in order to a source that is read from start to end once.
#[derive(Debug)]
pub struct Applier<S> {
    source: S,
    /// The source from `view_offset` on, as far as it was read and may be needed again.
    view: Vec<u8>,
    view_offset: u64,
    target: Vec<u8>,
}

impl<S: Read> Applier<S> {
    /// Nothing read yet.
    pub const fn new(source: S) -> Self {
        Self { source, view: Vec::new(), view_offset: 0, target: Vec::new() }
    }

    /// The target that a window makes. Source views must not go backwards.
    ///
    /// # Errors
    /// When the window is not valid, the source is too short, or it cannot be read.
    pub fn apply(&mut self, window: &Window) -> SvnResult<&[u8]> {
        if window.source_len > 0 {
            self.move_view(window)?;
        }
        self.target.clear();
        let view = if window.source_len > 0 { self.view.as_slice() } else { &[] };
        window.apply(view, &mut self.target)?;
        Ok(&self.target)
    }

    /// Makes `view` the window's source view, keeping what overlaps.
    fn move_view(&mut self, window: &Window) -> SvnResult<()> {
        let skip = window.source_offset.checked_sub(self.view_offset).ok_or(Error::BackwardView)?;
        match usize::try_from(skip) {
            Ok(skip) if skip <= self.view.len() => {
                self.view.drain(..skip);
            }
            _ => {
                let gap = skip.saturating_sub(len64(self.view.len()));
                self.view.clear();
                let skipped = io::copy(&mut (&mut self.source).take(gap), &mut io::sink())
                    .map_err(SvnError::from_stream)?;
                if skipped < gap {
                    return Err(Error::SourceEnd.into());
                }
            }
        }
        self.view_offset = window.source_offset;
        let have = self.view.len();
        if have > window.source_len {
            return Err(Error::BackwardView.into());
        }
        self.view.resize(window.source_len, 0);
        let rest = self.view.get_mut(have..);
        let rest = rest.ok_or_else(|| SvnError::internal("a view ends before it begins"))?;
        let read = read_full(&mut self.source, rest)?;
        if have.plus(read) < window.source_len {
            return Err(Error::SourceEnd.into());
        }
        Ok(())
    }
}

/// The text that a delta makes, as a reader.
#[derive(Debug)]
pub struct ApplyReader<D, S> {
    delta: D,
    applier: Applier<S>,
    /// How much of the target of the last window was read.
    at: usize,
    ended: bool,
}

impl<D: TextDelta, S: Read> ApplyReader<D, S> {
    /// Applies `delta` to `source` while it is read.
    pub const fn new(delta: D, source: S) -> Self {
        Self { delta, applier: Applier::new(source), at: 0, ended: false }
    }

    /// Fills some of `buf`; 0 at the end.
    ///
    /// # Errors
    /// Those of the delta, of the source, and of applying one to the other.
    pub fn read_some(&mut self, buf: &mut [u8]) -> SvnResult<usize> {
        while self.at >= self.applier.target.len() && !self.ended && !buf.is_empty() {
            match self.delta.next_window()? {
                Some(window) => {
                    self.at = 0;
                    self.applier.apply(&window)?;
                }
                None => self.ended = true,
            }
        }
        let left = self.applier.target.get(self.at..);
        let left = left.ok_or_else(|| SvnError::internal("a target was read beyond its end"))?;
        let count = left.len().min(buf.len());
        for (slot, from) in buf.get_mut(..count).into_iter().zip(left.get(..count)) {
            slot.copy_from_slice(from);
        }
        self.at = self.at.plus(count);
        Ok(count)
    }
}

impl<D: TextDelta, S: Read> Read for ApplyReader<D, S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_some(buf).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(source_offset: u64, source_len: usize) -> Window {
        let mut w = Window { source_offset, source_len, ..Window::default() };
        w.push_source(0, source_len);
        w
    }

    #[test]
    fn views_slide_forwards() {
        let mut applier = Applier::new(&b"0123456789"[..]);
        assert_eq!(applier.apply(&window(0, 4)).unwrap(), b"0123");
        assert_eq!(applier.apply(&window(2, 4)).unwrap(), b"2345");
        assert_eq!(applier.apply(&Window::full_text(b"x".to_vec())).unwrap(), b"x");
        assert_eq!(applier.apply(&window(2, 4)).unwrap(), b"2345");
        assert_eq!(applier.apply(&window(8, 1)).unwrap(), b"8");
        assert_eq!(applier.apply(&window(8, 2)).unwrap(), b"89");
        assert!(applier.apply(&window(7, 2)).is_err());
        assert!(applier.apply(&window(8, 1)).is_err());
        assert_eq!(
            applier.apply(&window(9, 2)).unwrap_err().message(),
            "Delta source ended unexpectedly"
        );
        let mut applier = Applier::new(&b"0123456789"[..]);
        assert!(applier.apply(&window(11, 1)).is_err());
    }
}
