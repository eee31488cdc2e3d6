//! Text deltas as streams of windows.

use sapwood_core::Exact;
use std::cell::Cell;
use std::io::Read;

use sapwood_core::{SvnError, SvnResult, len64};

use crate::svndiff::{Decoder, Encoder, STREAM_HEADER_LEN, Version};
use crate::window::{WINDOW_MAX, Window};
use crate::xdelta::Xdelta;

/// A text delta that the receiver pulls window by window.
pub trait TextDelta {
    /// The next window, `None` after the last.
    ///
    /// # Errors
    /// Whatever reading the source or the target meets.
    fn next_window(&mut self) -> SvnResult<Option<Window>>;

    /// The same delta as ready-made svndiff bytes, if it is stored in an encoding not newer than
    /// `newest` and nothing was pulled from it yet. A receiver that can pass bytes through asks
    /// for this first and then does not call [`TextDelta::next_window`].
    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        let _ = newest;
        None
    }
}

/// A whole svndiff stream, header included, in pieces.
pub trait EncodedDelta {
    /// The next piece of the stream, never empty; `None` at the end. Pieces need not be whole
    /// windows.
    ///
    /// # Errors
    /// Whatever reading the stored representation meets.
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>>;
}

impl<D: TextDelta + ?Sized> TextDelta for &mut D {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        (**self).next_window()
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        (**self).encoded(newest)
    }
}

impl<D: TextDelta + ?Sized> TextDelta for Box<D> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        (**self).next_window()
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        (**self).encoded(newest)
    }
}

/// Reads until `buf` is full or the reader ends; returns how much was read.
pub(crate) fn read_full(reader: &mut impl Read, buf: &mut [u8]) -> SvnResult<usize> {
    let mut done = 0usize;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(count) => done = done.plus(count),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(SvnError::from_stream(error)),
        }
    }
    Ok(done)
}

/// Reads up to `len` bytes into `buf`, which grows to that at most and never shrinks: how many.
fn read_up_to(reader: &mut impl Read, len: usize, buf: &mut Vec<u8>) -> SvnResult<usize> {
    // Most texts are much shorter than a window: the buffer grows with them.
    let mut done = 0usize;
    loop {
        let size = buf.len().min(len);
        if done == size {
            if size == len {
                return Ok(done);
            }
            buf.resize(size.saturating_mul(4).clamp(FIRST_READ, len.max(FIRST_READ)), 0);
            continue;
        }
        // With no room, the rest of the text would be passed over.
        let room = buf.get_mut(done..size);
        let room = room.ok_or_else(|| SvnError::internal("a buffer ends before its text"))?;
        done = done.plus(read_full(reader, room)?);
        if done < size {
            return Ok(done);
        }
    }
}

/// Reads up to `len` bytes into `buf`, replacing what it holds.
fn read_piece(reader: &mut impl Read, len: usize, buf: &mut Vec<u8>) -> SvnResult<()> {
    let read = read_up_to(reader, len, buf)?;
    buf.truncate(read);
    Ok(())
}

/// How much of a text is read first.
const FIRST_READ: usize = 8 << 10;

/// The delta that makes one text out of another, computed while it is pulled. Window `n` covers
/// the same stretch of both texts.
#[derive(Debug)]
pub struct ComputedDelta<S, T> {
    /// `None` after its end.
    source: Option<S>,
    target: T,
    source_offset: u64,
    /// Bytes of the last source view.
    source_len: usize,
    workshop: Box<Workshop>,
}

/// What it takes to compute windows. Each thread keeps one for the next text, unless it has grown
/// large: most texts are short, and getting memory for them would take longer than they do.
#[derive(Debug, Default)]
struct Workshop {
    source_view: Vec<u8>,
    target_view: Vec<u8>,
    window: Window,
    xdelta: Xdelta,
}

/// Bytes of a view that is kept, at most: a server has hundreds of threads.
const KEPT: usize = 32 << 10;

thread_local! {
    static WORKSHOP: Cell<Option<Box<Workshop>>> = const { Cell::new(None) };
}

impl<S, T> Drop for ComputedDelta<S, T> {
    fn drop(&mut self) {
        let workshop = std::mem::take(&mut self.workshop);
        let Workshop { source_view, target_view, window, .. } = &*workshop;
        let largest = source_view.capacity().max(target_view.capacity());
        if largest.max(window.new_data.capacity()) <= KEPT {
            // When the thread is ending, it is not kept.
            let _ = WORKSHOP.try_with(|kept| kept.set(Some(workshop)));
        }
    }
}

impl<S: Read, T: Read> ComputedDelta<S, T> {
    /// The delta from `source` to `target`, each read once from start to end.
    pub fn new(source: S, target: T) -> Self {
        Self {
            source: Some(source),
            target,
            source_offset: 0,
            source_len: 0,
            workshop: WORKSHOP.take().unwrap_or_default(),
        }
    }

    /// As [`TextDelta::next_window`], for a caller that is done with the window before the next one.
    ///
    /// # Errors
    /// Whatever reading the source or the target meets.
    pub fn next_view(&mut self) -> SvnResult<Option<&Window>> {
        let last_len = len64(self.source_len);
        self.source_offset = self.source_offset.plus(last_len);
        self.source_len = 0;
        let Workshop { source_view, target_view, window, xdelta } = &mut *self.workshop;
        if let Some(source) = &mut self.source {
            self.source_len = read_up_to(source, WINDOW_MAX, source_view)?;
            if self.source_len < WINDOW_MAX {
                self.source = None;
            }
        }
        let target_len = read_up_to(&mut self.target, WINDOW_MAX, target_view)?;
        if target_len == 0 {
            return Ok(None);
        }
        let views = source_view.get(..self.source_len).zip(target_view.get(..target_len));
        let (source, target) =
            views.ok_or_else(|| SvnError::internal("a view ends before what was read"))?;
        xdelta.compute(self.source_offset, source, target, window);
        if window.target_len != target_len {
            return Err(SvnError::internal("a delta does not make its whole target"));
        }
        Ok(Some(window))
    }
}

impl<S: Read, T: Read> TextDelta for ComputedDelta<S, T> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        if self.next_view()?.is_none() {
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.workshop.window)))
    }
}

/// The delta from nothing to a text.
#[derive(Debug)]
pub struct FullText<T> {
    target: T,
    ended: bool,
}

impl<T: Read> FullText<T> {
    /// The delta from nothing to `target`, in the largest windows there may be.
    pub const fn new(target: T) -> Self {
        Self { target, ended: false }
    }
}

impl<T: Read> TextDelta for FullText<T> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        if self.ended {
            return Ok(None);
        }
        let mut data = Vec::new();
        read_piece(&mut self.target, WINDOW_MAX, &mut data)?;
        self.ended = data.len() < WINDOW_MAX;
        Ok(if data.is_empty() { None } else { Some(Window::full_text(data)) })
    }
}

/// A delta that is at hand as svndiff bytes; passes them through where they fit.
#[derive(Debug)]
pub struct StoredDelta<R> {
    reader: R,
    decoder: Decoder,
    piece: Vec<u8>,
    /// An error that [`TextDelta::encoded`] met and could not report.
    failed: Option<SvnError>,
    /// Whether `piece` holds the stream's header for [`EncodedDelta::next_bytes`] to give first.
    header_first: bool,
    ended: bool,
}

/// How much is read at a time, in bytes.
const PIECE: usize = 16 * 1024;

impl<R: Read> StoredDelta<R> {
    /// The delta that `svndiff` holds, from the stream's header on.
    pub fn new(svndiff: R) -> Self {
        Self {
            reader: svndiff,
            decoder: Decoder::new(),
            piece: Vec::new(),
            failed: None,
            header_first: false,
            ended: false,
        }
    }

    /// Reads the stream's header, if nothing was read yet, and gives its encoding.
    fn version(&mut self) -> SvnResult<Option<Version>> {
        if self.piece.is_empty() {
            read_piece(&mut self.reader, STREAM_HEADER_LEN, &mut self.piece)?;
            self.decoder.push(&self.piece);
            if self.decoder.next_window()?.is_some() {
                return Ok(None);
            }
            return Ok(self.decoder.version());
        }
        Ok(None)
    }
}

impl<R: Read> TextDelta for StoredDelta<R> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            if let Some(window) = self.decoder.next_window()? {
                return Ok(Some(window));
            }
            if self.ended {
                return Ok(None);
            }
            read_piece(&mut self.reader, PIECE, &mut self.piece)?;
            if self.piece.is_empty() {
                self.ended = true;
                self.decoder.finish()?;
                return Ok(None);
            }
            self.decoder.push(&self.piece);
        }
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        match self.version() {
            Ok(Some(version)) if version <= newest => {
                self.header_first = true;
                Some(self)
            }
            Ok(_) => None,
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }
}

impl<R: Read> EncodedDelta for StoredDelta<R> {
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>> {
        if !std::mem::take(&mut self.header_first) {
            read_piece(&mut self.reader, PIECE, &mut self.piece)?;
        }
        Ok(if self.piece.is_empty() { None } else { Some(&self.piece) })
    }
}

/// Hands a delta to `sink` as a svndiff stream in an encoding not newer than `version`: as it is
/// stored if it can be passed through, else encoded window by window. `level` is zlib's.
///
/// # Errors
/// Those of the delta and of `sink`.
pub fn write_svndiff(
    delta: &mut dyn TextDelta,
    version: Version,
    level: u8,
    sink: &mut dyn FnMut(&[u8]) -> SvnResult<()>,
) -> SvnResult<()> {
    if let Some(stored) = delta.encoded(version) {
        while let Some(bytes) = stored.next_bytes()? {
            sink(bytes)?;
        }
        return Ok(());
    }
    let mut encoder = Encoder::new(version, level);
    let mut out = Vec::new();
    while let Some(window) = delta.next_window()? {
        out.clear();
        encoder.encode(&window, &mut out);
        sink(&out)?;
    }
    out.clear();
    encoder.finish(&mut out);
    if out.is_empty() { Ok(()) } else { sink(&out) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::ApplyReader;

    fn svndiff(delta: &mut dyn TextDelta, version: Version) -> Vec<u8> {
        let mut out = Vec::new();
        write_svndiff(delta, version, 5, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        out
    }

    fn text(len: usize, salt: usize) -> Vec<u8> {
        (0..len).flat_map(|n| format!("{} ", n / 3 * 7 + n % salt).into_bytes()).take(len).collect()
    }

    #[test]
    fn computed_deltas_of_many_windows() {
        for (a, b) in [(0, 0), (0, 250_000), (250_000, 0), (250_000, 120_000), (102_400, 204_800)] {
            let (source, target) = (text(a, 11), text(b, 13));
            for version in [Version::V0, Version::V1, Version::V2] {
                let mut delta = ComputedDelta::new(&source[..], &target[..]);
                let bytes = svndiff(&mut delta, version);
                let mut made = Vec::new();
                ApplyReader::new(StoredDelta::new(&bytes[..]), &source[..])
                    .read_to_end(&mut made)
                    .unwrap();
                assert!(made == target);
            }
        }
    }

    #[test]
    fn full_text_needs_no_source() {
        let target = text(204_800, 5);
        let mut delta = FullText::new(&target[..]);
        let mut made = Vec::new();
        while let Some(window) = delta.next_window().unwrap() {
            assert!(!window.needs_source());
            made.extend_from_slice(window.as_full_text().unwrap());
        }
        assert!(made == target);
    }

    #[test]
    fn stored_deltas_pass_through_when_the_encoding_fits() {
        let target = text(100_000, 5);
        for (stored, wanted, same) in [
            (Version::V1, Version::V1, true),
            (Version::V0, Version::V2, true),
            (Version::V2, Version::V1, false),
            (Version::V1, Version::V0, false),
        ] {
            let bytes = svndiff(&mut FullText::new(&target[..]), stored);
            let out = svndiff(&mut StoredDelta::new(&bytes[..]), wanted);
            assert_eq!(out == bytes, same);
            let mut made = Vec::new();
            ApplyReader::new(StoredDelta::new(&out[..]), &b""[..]).read_to_end(&mut made).unwrap();
            assert!(made == target);
        }
    }

    #[test]
    fn faults_of_stored_deltas() {
        let mut delta = StoredDelta::new(&b"SVX"[..]);
        assert!(delta.encoded(Version::V2).is_none());
        assert_eq!(
            delta.next_window().unwrap_err().to_string(),
            "E185000: Svndiff has invalid header"
        );
        let mut delta = StoredDelta::new(&b"SVN\0\0"[..]);
        assert_eq!(
            delta.next_window().unwrap_err().to_string(),
            "E185004: Unexpected end of svndiff input"
        );
        let mut delta = StoredDelta::new(&b"SVN\0"[..]);
        assert!(delta.next_window().unwrap().is_none());
        let mut delta = StoredDelta::new(&b""[..]);
        assert!(delta.next_window().is_err());
    }
}
