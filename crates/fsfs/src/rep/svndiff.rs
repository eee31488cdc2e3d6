//! Windows of stored svndiff: finding their ends without decoding them, and decoding.

use sapwood_core::Exact;
use std::cell::RefCell;

use sapwood_core::{ErrorCode, SvnError, len64};
use sapwood_delta::svndiff::{Scratch, WINDOW_HEADER_MAX, WindowHeader, decode_window};
use sapwood_delta::{Version, Window};

use crate::error::Result;
use crate::filesystem::Fs;
use crate::rep::header::RepData;

/// The most bytes of target, of source view and of new data in a window.
pub(crate) const WINDOW: usize = sapwood_delta::window::WINDOW_MAX;

thread_local! {
    /// Decompressors are large: one a thread is enough.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// Reads the windows of one stored svndiff, in order or skipping some.
#[derive(Debug)]
pub(crate) struct Windows {
    pub(crate) data: RepData,
    version: Option<Version>,
    /// Number of the next window, and where it begins.
    next: u64,
    pos: u64,
}

impl Windows {
    pub(crate) const fn new(data: RepData) -> Self {
        Self { data, version: None, next: 0, pos: 0 }
    }

    fn corrupt<T>(&self) -> Result<T> {
        Err(self.data.place.error(
            ErrorCode::FS_CORRUPT,
            "Reading one svndiff window read beyond the end of the representation",
        ))
    }

    fn failed(&self, error: sapwood_delta::Error) -> crate::Error {
        let error = SvnError::from(error);
        self.data.place.error(error.code(), error.message())
    }

    /// Which svndiff it is.
    pub(crate) fn version(&mut self, fs: &Fs) -> Result<Version> {
        if let Some(version) = self.version {
            return Ok(version);
        }
        let head = self.data.read(fs, 0, 4)?;
        let header = <[u8; 4]>::try_from(&*head).unwrap_or_default();
        let version = Version::of_header(header).map_err(|e| self.failed(e))?;
        self.version = Some(version);
        (self.next, self.pos) = (0, 4);
        Ok(version)
    }

    /// The header of the next window, and its length.
    fn header(&mut self, fs: &Fs) -> Result<(WindowHeader, usize)> {
        let bytes = self.data.read(fs, self.pos, WINDOW_HEADER_MAX)?;
        match WindowHeader::parse(&bytes) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => self.corrupt(),
            Err(e) => Err(self.failed(e)),
        }
    }

    /// Goes to window `number`; false when there are not that many.
    fn seek(&mut self, fs: &Fs, number: u64) -> Result<bool> {
        self.version(fs)?;
        if self.next > number {
            (self.next, self.pos) = (0, 4);
        }
        while self.next < number {
            if self.pos >= self.data.size {
                return Ok(false);
            }
            let (header, len) = self.header(fs)?;
            self.step(len.saturating_add(header.body_len()));
        }
        Ok(self.pos < self.data.size)
    }

    fn step(&mut self, len: usize) {
        self.pos = self.pos.plus(len64(len));
        self.next += 1;
    }

    /// Window `number` of the delta, `None` behind the last.
    pub(crate) fn window(&mut self, fs: &Fs, number: u64) -> Result<Option<Window>> {
        if !self.seek(fs, number)? {
            return Ok(None);
        }
        let version = self.version(fs)?;
        let (header, len) = self.header(fs)?;
        let at = self.pos.saturating_add(len64(len));
        let body = self.data.read(fs, at, header.body_len())?;
        if body.len() < header.body_len() {
            return self.corrupt();
        }
        let mut window = Window::default();
        SCRATCH
            .with_borrow_mut(|scratch| decode_window(version, &header, &body, scratch, &mut window))
            .map_err(|e| self.failed(e))?;
        self.step(len.saturating_add(header.body_len()));
        Ok(Some(window))
    }
}
