//! Decoding a stream whose bytes come piece by piece.

use crate::error::Error;
use crate::svndiff::{STREAM_HEADER_LEN, Scratch, Version, WindowHeader, decode_window};
use crate::window::Window;
use sapwood_core::{Cut, Exact};

/// Turns svndiff bytes, pushed in pieces of any size, into windows.
///
/// It holds at most one undecoded window beyond the piece pushed last, provided that windows are
/// taken out after each push.
#[derive(Debug, Default)]
pub struct Decoder {
    version: Option<Version>,
    /// Bytes not decoded yet start at `start`.
    buffer: Vec<u8>,
    start: usize,
    /// The header of the window whose body is awaited.
    header: Option<WindowHeader>,
    /// Start and end of the source view of the last window.
    last_view: (u64, u64),
    scratch: Scratch,
}

impl Decoder {
    /// A decoder that expects a stream's header first.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The stream's encoding, once its header was seen.
    #[must_use]
    pub const fn version(&self) -> Option<Version> {
        self.version
    }

    /// Adds the next piece of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        // Moving what is left is put off until it is less than what is gone.
        if self.start >= self.buffer.len().minus(self.start) {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next window that is complete, `None` when more bytes are needed.
    ///
    /// # Errors
    /// When the stream is not valid. The decoder is then of no further use.
    pub fn next_window(&mut self) -> Result<Option<Window>, Error> {
        let mut window = Window::default();
        Ok(self.next_into(&mut window)?.then_some(window))
    }

    /// As [`Decoder::next_window`], into a window whose memory is reused. `false` when more bytes
    /// are needed; `window` is then untouched.
    ///
    /// # Errors
    /// As [`Decoder::next_window`].
    fn next_into(&mut self, window: &mut Window) -> Result<bool, Error> {
        let mut bytes = self.buffer.tail(self.start);
        let version = match self.version {
            Some(version) => version,
            None => {
                let Some(header) = bytes.first_chunk::<STREAM_HEADER_LEN>() else {
                    // As soon as a byte is wrong, waiting for more is no use.
                    return if b"SVN".starts_with(bytes) { Ok(false) } else { Err(Error::Header) };
                };
                let version = Version::of_header(*header)?;
                self.version = Some(version);
                self.start = self.start.plus(STREAM_HEADER_LEN);
                bytes = self.buffer.tail(self.start);
                version
            }
        };
        let header = match self.header {
            Some(header) => header,
            None => {
                let Some((header, len)) = WindowHeader::parse(bytes)? else { return Ok(false) };
                self.check_view(&header)?;
                self.header = Some(header);
                self.start = self.start.plus(len);
                bytes = self.buffer.tail(self.start);
                header
            }
        };
        let Some(body) = bytes.get(..header.body_len()) else { return Ok(false) };
        decode_window(version, &header, body, &mut self.scratch, window)?;
        self.start = self.start.plus(header.body_len());
        self.header = None;
        Ok(true)
    }

    /// Source views must not go backwards at either end.
    fn check_view(&mut self, header: &WindowHeader) -> Result<(), Error> {
        let view = (header.source_offset, header.source_end());
        let backward = view.0 < self.last_view.0 || view.1 < self.last_view.1;
        if header.source_len > 0 && backward {
            return Err(Error::BackwardView);
        }
        self.last_view = view;
        Ok(())
    }

    /// Says that the stream ends here.
    ///
    /// # Errors
    /// When it ends within its header or within a window.
    pub fn finish(&self) -> Result<(), Error> {
        if self.version.is_none() || self.header.is_some() || self.start < self.buffer.len() {
            return Err(Error::UnexpectedEnd);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svndiff::Encoder;

    fn stream(version: Version) -> (Vec<Window>, Vec<u8>) {
        let windows: Vec<_> = (0..4u8)
            .map(|n| {
                let mut w = Window {
                    source_offset: u64::from(n) * 10,
                    source_len: 700,
                    ..Window::default()
                };
                w.push_source(3, 600);
                w.push_new(&vec![n; 700]);
                w
            })
            .collect();
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(version, 5);
        windows.iter().for_each(|w| encoder.encode(w, &mut bytes));
        encoder.finish(&mut bytes);
        (windows, bytes)
    }

    #[test]
    fn pieces_of_any_size() {
        for version in [Version::V0, Version::V1, Version::V2] {
            let (windows, bytes) = stream(version);
            for size in [1, 2, 7, 64, 10_000] {
                let mut decoder = Decoder::new();
                let mut seen = Vec::new();
                for piece in bytes.chunks(size) {
                    decoder.push(piece);
                    while let Some(window) = decoder.next_window().unwrap() {
                        seen.push(window);
                    }
                }
                assert_eq!(decoder.finish(), Ok(()));
                assert_eq!(decoder.version(), Some(version));
                assert_eq!(seen, windows);
            }
        }
    }

    #[test]
    fn an_early_end_is_an_error() {
        let (_, bytes) = stream(Version::V1);
        for end in 0..bytes.len() {
            let mut decoder = Decoder::new();
            decoder.push(&bytes[..end]);
            let mut ends_here = end == STREAM_HEADER_LEN;
            while decoder.next_window().unwrap().is_some() {
                ends_here = decoder.start == decoder.buffer.len();
            }
            assert_eq!(decoder.finish().is_ok(), ends_here, "{end}");
        }
    }

    #[test]
    fn refused_streams() {
        let mut decoder = Decoder::new();
        decoder.push(b"SV");
        assert_eq!(decoder.next_window(), Ok(None));
        decoder.push(b"X");
        assert_eq!(decoder.next_window(), Err(Error::Header));
        let mut decoder = Decoder::new();
        decoder.push(b"SVN\x03");
        assert_eq!(decoder.next_window(), Err(Error::Header));
        // Views 10..12 and then 9..13, 11..12.
        for (offset, len, fine) in [(9, 4, false), (10, 1, false), (10, 2, true), (0, 0, true)] {
            let mut decoder = Decoder::new();
            decoder.push(b"SVN\0\x0a\x02\x01\x02\0\x01\0");
            assert!(decoder.next_window().unwrap().is_some());
            decoder.push(&[offset, len, 1, 1, 1, 0x81, b'x']);
            let next = decoder.next_window();
            assert_eq!(next.is_ok(), fine, "{offset} {len}: {next:?}");
        }
    }
}
