//! Bytes that have arrived and wait to be taken item by item.
//!
//! Both ends of a connection read through an [`InputBuffer`]. It does no I/O of its own: it hands
//! out room, and the owner of the transport fills it. Invariant: memory is taken as bytes arrive,
//! whatever lengths the other side announces, and given back after an item that needed much.

use sapwood_core::SvnError;
use sapwood_core::exact::{Cut, Exact};
use std::io::{self, IoSlice, Write};

use crate::decode::{Decoder, Item, Limits, Progress, Tuple};
use crate::error::Result;

/// How an [`InputBuffer`] grows and shrinks, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// How much is read at a time, at least.
    pub read: usize,
    /// How much room a large string that was announced gets ahead of its arrival, at most.
    pub trust: usize,
    /// The room that is kept when the buffer has run empty.
    pub keep: usize,
}

/// What has arrived and was not taken yet, and the decoder of the item that is on its way.
#[derive(Debug)]
pub struct InputBuffer {
    sizes: Sizes,
    /// All of it can be read into: what is behind `end` is left over from earlier.
    bytes: Vec<u8>,
    /// Where the unread part begins.
    start: usize,
    /// Where it ends.
    end: usize,
    decoder: Decoder,
}

impl InputBuffer {
    /// An empty buffer for items within `limits`.
    #[must_use]
    pub fn new(limits: Limits, sizes: Sizes) -> Self {
        Self { sizes, bytes: Vec::new(), start: 0, end: 0, decoder: Decoder::new(limits) }
    }

    /// What has arrived and was not taken.
    #[must_use]
    pub fn unread(&self) -> &[u8] {
        self.bytes.piece(self.start..self.end)
    }

    /// Whether nothing has arrived that was not taken.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// The memory that is held, in bytes.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The memory that is held when `missing` more bytes have been read, in bytes: room for them,
    /// and what is known of the item.
    #[must_use]
    pub fn memory_with(&self, missing: usize) -> usize {
        let unread = self.end.minus(self.start);
        let needed = unread.plus(self.room_for(missing));
        self.capacity_for(needed).plus(self.decoder.memory_used())
    }

    /// The capacity that the buffer has when it holds so many bytes: it grows by a quarter, for a
    /// doubling would hold twice of what large requests are.
    fn capacity_for(&self, needed: usize) -> usize {
        let capacity = self.bytes.capacity();
        let larger = capacity.plus(capacity / 4);
        if needed <= capacity { capacity } else { needed.max(larger) }
    }

    fn room_for(&self, missing: usize) -> usize {
        missing.clamp(self.sizes.read, self.sizes.trust)
    }

    /// Frees memory beyond so many bytes, when nothing unread is in it.
    pub fn give_back(&mut self, keep: usize) {
        if self.is_empty() && self.bytes.len() > keep {
            self.bytes.truncate(keep);
            self.bytes.shrink_to(keep);
        }
    }

    /// Drops the item that was decoded, and waits for the first byte of the next.
    pub fn begin(&mut self) {
        self.decoder.reset();
    }

    /// How far the item that began at the first unread byte is.
    ///
    /// # Errors
    /// As [`Decoder::advance`].
    pub fn advance(&mut self) -> Result<Progress> {
        self.decoder.advance(self.bytes.piece(self.start..self.end))
    }

    /// The item of `len` bytes that [`InputBuffer::advance`] found complete.
    ///
    /// # Errors
    /// As [`Decoder::item`].
    pub fn item(&self, len: usize) -> Result<Item<'_>> {
        self.decoder.item(self.first(len))
    }

    /// As [`InputBuffer::item`], when it is a list.
    ///
    /// # Errors
    /// When it is no list.
    pub fn tuple(&self, len: usize) -> Result<Tuple<'_>> {
        self.decoder.tuple(self.first(len))
    }

    /// Takes out the complete item of `len` bytes: its bytes into `bytes`, in place of what is
    /// there, and what is known of it into `decoder`.
    pub fn take(&mut self, len: usize, bytes: &mut Vec<u8>, decoder: &mut Decoder) {
        bytes.clear();
        bytes.shrink_to(self.sizes.keep);
        std::mem::swap(decoder, &mut self.decoder);
        if self.start == 0 && len == self.end && len > self.sizes.keep {
            // Nothing else is there: what is large changes hands without a copy.
            std::mem::swap(bytes, &mut self.bytes);
            bytes.truncate(len);
        } else {
            bytes.extend_from_slice(self.first(len));
        }
        self.consume(len);
    }

    fn first(&self, len: usize) -> &[u8] {
        self.unread().head(len)
    }

    /// Passes over white space; true when nothing else was there.
    pub fn skip_blank(&mut self) -> bool {
        let unread = self.unread();
        let blank = unread.iter().take_while(|b| matches!(b, b' ' | b'\n')).count();
        let all_blank = blank == unread.len();
        self.consume(blank);
        all_blank
    }

    /// Passes over `len` unread bytes.
    pub fn consume(&mut self, len: usize) {
        self.start = self.start.plus(len);
        if self.start >= self.end {
            self.start = 0;
            self.end = 0;
            self.bytes.truncate(self.sizes.keep);
            self.bytes.shrink_to(self.sizes.keep);
        }
    }

    /// Receives more: `read` fills the room that it is given and returns how many bytes that
    /// was, which is returned. At least `missing` bytes are known to come.
    ///
    /// # Errors
    /// What `read` returns.
    pub fn read_more(
        &mut self,
        missing: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end = self.end.minus(self.start);
            self.start = 0;
        }
        let room = self.room_for(missing);
        let needed = self.end.plus(room);
        if self.bytes.len() < needed {
            let more = self.capacity_for(needed).minus(self.bytes.len());
            self.bytes.reserve_exact(more);
            self.bytes.resize(needed, 0);
        }
        let Some(room) = self.bytes.get_mut(self.end..needed) else {
            return Err(io::Error::other(SvnError::internal("no room to read into")));
        };
        let got = read(room)?;
        self.end = needed.min(self.end.plus(got));
        Ok(got)
    }
}

/// Writes two pieces, one after the other, in as few calls as can be.
///
/// # Errors
/// System errors.
pub fn write_both(out: &mut dyn Write, first: &[u8], second: &[u8]) -> io::Result<()> {
    let mut done = 0usize;
    while done < first.len() && !second.is_empty() {
        let pieces = [IoSlice::new(first.tail(done)), IoSlice::new(second)];
        match out.write_vectored(&pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done = done.plus(n),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    match done.checked_sub(first.len()) {
        Some(of_second) => out.write_all(second.tail(of_second)),
        None => {
            out.write_all(first.tail(done))?;
            out.write_all(second)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    const SIZES: Sizes = Sizes { read: 8, trust: 32, keep: 16 };

    /// Takes every item out of `all`, which arrives `step` bytes at a time.
    fn items(all: &[u8], step: usize) -> Vec<Vec<u8>> {
        let mut buffer = InputBuffer::new(Limits::default(), SIZES);
        let mut decoder = Decoder::new(Limits::default());
        let mut found = Vec::new();
        let mut rest = all;
        loop {
            buffer.begin();
            loop {
                let missing = match buffer.advance().unwrap() {
                    Progress::Complete(len) => {
                        let mut bytes = Vec::new();
                        buffer.take(len, &mut bytes, &mut decoder);
                        found.push(bytes);
                        break;
                    }
                    Progress::NeedMore(missing) => missing,
                };
                let got = buffer.read_more(missing, |room| {
                    let most = room.len().min(step);
                    rest.read(&mut room[..most])
                });
                if got.unwrap() == 0 {
                    return found;
                }
            }
        }
    }

    #[test]
    fn items_arrive_in_any_pieces() {
        let all = b"( success ( ) ) 5:hello ( 40:0123456789012345678901234567890123456789 x ) 7 ";
        let whole: [&[u8]; 4] = [&all[..16], &all[16..24], &all[24..74], &all[74..]];
        for step in 1..all.len() {
            assert_eq!(items(all, step), whole, "step {step}");
        }
    }

    #[test]
    fn memory_is_given_back() {
        let mut buffer = InputBuffer::new(Limits::default(), SIZES);
        for _ in 0..10 {
            assert_eq!(buffer.read_more(1_000_000, |room| Ok(room.len())).unwrap(), 32);
        }
        assert_eq!(buffer.unread().len(), 320);
        buffer.consume(319);
        assert_eq!(buffer.unread().len(), 1);
        buffer.consume(1);
        assert!(buffer.is_empty());
        assert!(buffer.capacity() <= 16);
    }

    #[test]
    fn two_pieces_through_a_writer_of_few_bytes() {
        struct Few(Vec<u8>);
        impl Write for Few {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let n = bytes.len().min(3);
                self.0.extend_from_slice(&bytes[..n]);
                Ok(n)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for (first, second) in [("abcdefgh", "ijkl"), ("", "ijkl"), ("abc", ""), ("ab", "c")] {
            let mut out = Few(Vec::new());
            write_both(&mut out, first.as_bytes(), second.as_bytes()).unwrap();
            assert_eq!(out.0, format!("{first}{second}").into_bytes());
        }
    }
}
