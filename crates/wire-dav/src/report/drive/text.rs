//! A text delta as base64 within an element.

use std::io::Read;

use sapwood_core::SvnResult;
use sapwood_delta::{Decoder, TextDelta, Window};

use crate::error::{Error, Result};
use crate::xml::{Document, Event};
use sapwood_core::base64;

/// The delta in the element that has just begun. [`Text::drain`] must follow.
#[derive(Debug)]
pub struct Text<'d, R> {
    document: &'d mut Document<R>,
    base64: base64::Decoder,
    svndiff: Decoder,
    piece: Vec<u8>,
    bytes: Vec<u8>,
    ended: bool,
    /// Whether there was any byte: an empty delta is no change.
    any: bool,
    failed: bool,
}

impl<'d, R: Read> Text<'d, R> {
    /// The delta that comes next in `document`.
    pub fn new(document: &'d mut Document<R>) -> Self {
        Self {
            document,
            base64: base64::Decoder::default(),
            svndiff: Decoder::new(),
            piece: Vec::new(),
            bytes: Vec::new(),
            ended: false,
            any: false,
            failed: false,
        }
    }

    /// Decodes the next piece; false when the text is over.
    fn fetch(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.piece.clear();
        self.bytes.clear();
        let more = self.document.text_piece(&mut self.piece)?;
        let good = if more {
            self.base64.write(&self.piece, &mut self.bytes)
        } else {
            self.ended = true;
            self.base64.finish()
        };
        self.any |= !self.bytes.is_empty();
        if good { Ok(true) } else { Err(Error::Reply("base64")) }
    }

    /// Skips the rest of the text, and the element's end.
    ///
    /// # Errors
    /// Errors of the source; elements within a text.
    pub fn drain(mut self) -> Result<()> {
        while self.fetch()? {}
        match self.document.next_event()? {
            Some(Event::End) => Ok(()),
            _ => Err(Error::Reply("text delta")),
        }
    }
}

impl<R: Read> TextDelta for Text<'_, R> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        if self.failed {
            return Err(Error::Reply("text delta").into());
        }
        loop {
            if let Some(window) = self.svndiff.next_window()? {
                return Ok(Some(window));
            }
            match self.fetch() {
                Ok(true) => self.svndiff.push(&self.bytes),
                Ok(false) => {
                    if self.any {
                        self.svndiff.finish()?;
                    }
                    return Ok(None);
                }
                Err(error) => {
                    self.failed = true;
                    return Err(error.into());
                }
            }
        }
    }
}
