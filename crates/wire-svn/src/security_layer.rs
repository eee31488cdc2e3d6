//! The security layer of SASL (RFC 4422, section 3.7): after a login that agreed on one, all bytes of a connection travel in
//! packets, which are signed, or signed and encrypted. A packet is its length in four bytes, then what the mechanism
//! made of the plain bytes ([`Seal`], [`Open`]).
//!
//! Invariants: a packet longer than the limit is refused before memory is taken for it; after the first wrong packet
//! none is read any more; no plain byte is handed out before the packet that it was in was verified.

use std::fmt;
use std::io;

use sapwood_core::ErrorCode;
use sapwood_core::SvnError;
use sapwood_core::exact::{Cut, Exact};

/// The largest packet that we receive, in bytes, without its length: as the reference's client and server announce it.
pub const MAX_PACKET: u32 = 16 << 10;
/// The plain bytes in one of our packets at most, whatever the other side can receive.
const MAX_PLAIN: usize = 16 << 10;
/// How many bytes are sealed at a time.
const PIECE: usize = 64 << 10;
/// How much is read at a time.
const READ: usize = 16 << 10;

/// Why a packet was refused, or could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// Its length is above the limit that we announced.
    #[error("a packet of {0} bytes is too large")]
    TooLarge(u32),
    /// It is shorter than what every packet has.
    #[error("a packet is too short")]
    TooShort,
    /// It is not the next one.
    #[error("a packet is out of sequence")]
    OutOfSequence,
    /// It is not what the other side sent.
    #[error("the signature of a packet is wrong")]
    Wrong,
    /// An earlier packet was wrong.
    #[error("an earlier packet was wrong")]
    Ended,
    /// What the library of the mechanism says.
    #[error("{0}")]
    Mechanism(String),
}

impl From<LayerError> for io::Error {
    fn from(error: LayerError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

impl LayerError {
    /// E170001, when that is what a transport failed with.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<SvnError> {
        let error = error.get_ref()?.downcast_ref::<Self>()?;
        let message = format!("SASL authentication error: {error}");
        Some(SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, message))
    }
}

/// Makes packets, in their order.
pub trait Seal: fmt::Debug + Send {
    /// Appends the packet of `plain`, without its length.
    ///
    /// # Errors
    /// [`LayerError::Mechanism`].
    fn seal(&mut self, plain: &[u8], packet: &mut Vec<u8>) -> Result<(), LayerError>;
}

/// Opens packets, in their order.
pub trait Open: fmt::Debug + Send {
    /// Appends the plain bytes of a packet, after verifying it.
    ///
    /// # Errors
    /// That the packet is wrong; `plain` may have changed then.
    fn open(&mut self, packet: &[u8], plain: &mut Vec<u8>) -> Result<(), LayerError>;
}

/// Both directions of a layer.
#[derive(Debug)]
pub struct Layer {
    /// For what is sent.
    pub sealer: Sealer,
    /// For what is received.
    pub opener: Opener,
}

impl Layer {
    /// A layer whose packets have at most `max_plain` plain bytes.
    #[must_use]
    pub fn new(seal: Box<dyn Seal>, open: Box<dyn Open>, max_plain: usize) -> Self {
        let max_plain = max_plain.clamp(1, MAX_PLAIN);
        Self { sealer: Sealer { seal, max_plain }, opener: Opener::new(open) }
    }
}

/// What is sent.
#[derive(Debug)]
pub struct Sealer {
    seal: Box<dyn Seal>,
    max_plain: usize,
}

impl Sealer {
    /// Sends two pieces, one after the other, as packets. `before` goes out first, and is empty afterwards.
    ///
    /// # Errors
    /// As [`Seal::seal`], and what `send` returns.
    pub fn send_both(
        &mut self,
        before: &mut Vec<u8>,
        first: &[u8],
        second: &[u8],
        mut send: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for piece in first.chunks(PIECE).chain(second.chunks(PIECE)) {
            let mut packets = std::mem::take(before);
            self.seal(piece, &mut packets)?;
            send(&packets)?;
        }
        Ok(())
    }

    /// Appends the packets of these bytes.
    ///
    /// # Errors
    /// As [`Seal::seal`].
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), LayerError> {
        for piece in plain.chunks(self.max_plain) {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            self.seal.seal(piece, out)?;
            let len = u32::try_from(out.len().minus(at.plus(4)));
            let len = len.map_err(|_| LayerError::TooLarge(u32::MAX))?;
            if let Some(place) = out.get_mut(at..at.plus(4)) {
                place.copy_from_slice(&len.to_be_bytes());
            }
        }
        Ok(())
    }
}

/// What is received.
#[derive(Debug)]
pub struct Opener {
    open: Box<dyn Open>,
    /// What has arrived and was not opened.
    raw: Vec<u8>,
    /// What was opened, and of it what was taken.
    plain: Vec<u8>,
    taken: usize,
    has_failed: bool,
}

impl Opener {
    fn new(open: Box<dyn Open>) -> Self {
        Self { open, raw: Vec::new(), plain: Vec::new(), taken: 0, has_failed: false }
    }

    /// Takes bytes that arrived before the layer began to work, but after the message that began it.
    pub fn begin_with(&mut self, raw: &[u8]) {
        self.raw.extend_from_slice(raw);
    }

    /// Whether there are plain bytes, or a whole packet, so that no bytes need to arrive before some can be taken.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.taken < self.plain.len() || self.has_failed || !matches!(self.packet(), Ok(None))
    }

    /// Reads plain bytes; 0 at the end. `read` reads from the transport.
    ///
    /// # Errors
    /// What `read` returns; a [`LayerError`] for wrong packets.
    pub fn read(
        &mut self,
        into: &mut [u8],
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            let got = self.take(into);
            if got > 0 || into.is_empty() {
                return Ok(got);
            }
            if self.open_next()? {
                continue;
            }
            let before = self.raw.len();
            self.raw.resize(before.plus(READ), 0);
            let result = self.raw.get_mut(before..).map_or(Ok(0), &mut read);
            self.raw.truncate(before.plus(result.as_ref().map_or(0, |got| (*got).min(READ))));
            if result? == 0 {
                return Ok(0);
            }
        }
    }

    /// Copies out what was opened; frees its memory with the last byte.
    fn take(&mut self, into: &mut [u8]) -> usize {
        let rest = self.plain.tail(self.taken);
        let len = rest.len().min(into.len());
        if let Some(room) = into.get_mut(..len) {
            room.copy_from_slice(rest.head(len));
        }
        self.taken = self.taken.plus(len);
        if self.taken >= self.plain.len() {
            (self.plain, self.taken) = (Vec::new(), 0);
        }
        len
    }

    /// The end of the first packet, when it has arrived.
    fn packet(&self) -> Result<Option<usize>, LayerError> {
        let Some(len) = self.raw.first_chunk::<4>() else { return Ok(None) };
        let len = u32::from_be_bytes(*len);
        if len > MAX_PACKET {
            return Err(LayerError::TooLarge(len));
        }
        let end = sapwood_core::exact::clamped(len).plus(4);
        Ok((self.raw.len() >= end).then_some(end))
    }

    fn open_next(&mut self) -> Result<bool, LayerError> {
        if self.has_failed {
            return Err(LayerError::Ended);
        }
        let opened = self.try_open_next();
        if opened.is_err() {
            self.has_failed = true;
            (self.raw, self.plain, self.taken) = (Vec::new(), Vec::new(), 0);
        }
        opened
    }

    fn try_open_next(&mut self) -> Result<bool, LayerError> {
        let Some(end) = self.packet()? else { return Ok(false) };
        self.open.open(self.raw.piece(4..end), &mut self.plain)?;
        if end == self.raw.len() {
            self.raw = Vec::new();
        } else {
            self.raw.drain(..end);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds one to each byte, and the number of the packet before.
    #[derive(Debug)]
    struct PlusOne(u8);

    impl Seal for PlusOne {
        fn seal(&mut self, plain: &[u8], packet: &mut Vec<u8>) -> Result<(), LayerError> {
            packet.push(self.0);
            packet.extend(plain.iter().map(|byte| byte.wrapping_add(1)));
            self.0 = self.0.wrapping_add(1);
            Ok(())
        }
    }

    impl Open for PlusOne {
        fn open(&mut self, packet: &[u8], plain: &mut Vec<u8>) -> Result<(), LayerError> {
            let (number, bytes) = packet.split_first().ok_or(LayerError::TooShort)?;
            if *number != self.0 {
                return Err(LayerError::OutOfSequence);
            }
            self.0 = self.0.wrapping_add(1);
            plain.extend(bytes.iter().map(|byte| byte.wrapping_sub(1)));
            Ok(())
        }
    }

    fn layer(max_plain: usize) -> Layer {
        Layer::new(Box::new(PlusOne(0)), Box::new(PlusOne(0)), max_plain)
    }

    #[test]
    fn packets_arrive_in_any_pieces() {
        let plain: Vec<u8> = (0..200).collect();
        let Layer { mut sealer, opener: _ } = layer(7);
        let mut sent = Vec::new();
        sealer.seal(&plain, &mut sent).unwrap();
        assert_eq!(sent.len(), 200 + 29 * 5);
        for step in 1..40 {
            let Layer { sealer: _, mut opener } = layer(7);
            opener.begin_with(&sent[..9]);
            let (mut rest, mut found, mut room) = (&sent[9..], Vec::new(), [0; 11]);
            loop {
                let got = opener.read(&mut room, |room| {
                    let len = room.len().min(step).min(rest.len());
                    room[..len].copy_from_slice(&rest[..len]);
                    rest = &rest[len..];
                    Ok(len)
                });
                match got.unwrap() {
                    0 => break,
                    got => found.extend_from_slice(&room[..got]),
                }
            }
            assert_eq!(found, plain, "step {step}");
            assert!(!opener.is_ready());
        }
    }

    #[test]
    fn lengths_take_no_memory_and_nothing_is_read_after_a_wrong_packet() {
        let mut opener = layer(7).opener;
        opener.begin_with(&[0xff; 4]);
        assert!(opener.is_ready());
        let error = opener.read(&mut [0; 8], |_| Ok(0)).unwrap_err();
        let shown = LayerError::of(&error).unwrap();
        assert_eq!(shown.code(), ErrorCode::RA_NOT_AUTHORIZED);
        assert!(shown.to_string().contains("4294967295 bytes is too large"), "{shown}");
        opener.begin_with(&[0, 0, 0, 2, 0, b'b']);
        let again = opener.read(&mut [0; 8], |_| Ok(0)).unwrap_err();
        assert!(again.to_string().contains("earlier"), "{again}");

        let mut opener = layer(7).opener;
        opener.begin_with(&[0, 0, 0, 2, 0, b'b', 0, 0, 0, 2, 0, b'b']);
        let mut room = [0; 8];
        assert_eq!(opener.read(&mut room, |_| Ok(0)).unwrap(), 1);
        assert_eq!(room[0], b'a');
        let error = opener.read(&mut room, |_| Ok(0)).unwrap_err();
        assert!(error.to_string().contains("sequence"), "{error}");
        assert!(LayerError::of(&io::ErrorKind::TimedOut.into()).is_none());
    }
}
