//! Bytes out of values.
//!
//! Encoders append to a `Vec<u8>`, which a connection keeps and reuses. What can grow long is
//! written into a [`Sink`], which takes the bytes away whenever there are enough of them.

use sapwood_core::{Depth, NodeKind, Revnum, SvnResult};

/// Appends protocol items. Every method leaves the white space that ends the item behind it.
pub trait Encode {
    /// Bytes as they are.
    fn raw(&mut self, bytes: &[u8]);
    /// `(`
    fn open(&mut self);
    /// `)`
    fn close(&mut self);
    /// A number.
    fn number(&mut self, n: u64);
    /// The length and colon before a string's bytes; [`Encode::raw`] and a space must follow.
    fn string_head(&mut self, len: usize);
    /// A string.
    fn string(&mut self, bytes: &[u8]);

    /// A string of text: paths, names, URLs. Names that were not UTF-8 on disk go out as they were.
    fn text(&mut self, text: &str) {
        self.string(&sapwood_core::rawname::to_bytes(text));
    }
    /// A word.
    fn word(&mut self, word: &str) {
        self.raw(word.as_bytes());
        self.raw(b" ");
    }
    /// One of the words `true` and `false`.
    fn bool(&mut self, value: bool) {
        self.raw(if value { b"true " } else { b"false " });
    }
    /// A revision number.
    fn rev(&mut self, rev: Revnum) {
        self.number(rev.0);
    }
    /// `( value )` or `( )`.
    fn bracketed(&mut self, value: Option<&[u8]>) {
        self.open();
        if let Some(value) = value {
            self.string(value);
        }
        self.close();
    }
    /// `( value )` or `( )`.
    fn bracketed_text(&mut self, value: Option<&str>) {
        self.open();
        if let Some(value) = value {
            self.text(value);
        }
        self.close();
    }
    /// `( rev )` or `( )`.
    fn bracketed_rev(&mut self, rev: Option<Revnum>) {
        self.open();
        if let Some(rev) = rev {
            self.rev(rev);
        }
        self.close();
    }
    /// A kind of node, `none` when there is none.
    fn kind(&mut self, kind: Option<NodeKind>) {
        self.word(kind.map_or("none", kind_word));
    }
    /// A depth.
    fn depth(&mut self, depth: Depth) {
        self.word(depth.word());
    }
}

/// The protocol's word for a kind.
#[must_use]
pub const fn kind_word(kind: NodeKind) -> &'static str {
    kind.word()
}

impl Encode for Vec<u8> {
    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn open(&mut self) {
        self.extend_from_slice(b"( ");
    }

    #[inline]
    fn close(&mut self) {
        self.extend_from_slice(b") ");
    }

    #[inline]
    fn number(&mut self, n: u64) {
        let mut digits = itoa::Buffer::new();
        self.extend_from_slice(digits.format(n).as_bytes());
        self.push(b' ');
    }

    #[inline]
    fn string_head(&mut self, len: usize) {
        let mut digits = itoa::Buffer::new();
        self.extend_from_slice(digits.format(len).as_bytes());
        self.push(b':');
    }

    #[inline]
    fn string(&mut self, bytes: &[u8]) {
        self.string_head(bytes.len());
        self.extend_from_slice(bytes);
        self.push(b' ');
    }
}

/// Strings at least this long go to [`Sink::write_through`], not through the buffer.
pub const LARGE_STRING: usize = 16 << 10;

/// A buffer on its way to the other side.
#[allow(clippy::missing_errors_doc, reason = "all: errors of sending")]
pub trait Sink {
    /// Where to append.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Sends the buffer, if it holds enough. To be called now and then
    /// while much is written: between the entries of a list, say.
    fn flush_if_large(&mut self) -> SvnResult<()>;

    /// Sends the buffer and then `bytes`, if possible without copying these.
    fn write_through(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.buffer().extend_from_slice(bytes);
        self.flush_if_large()
    }

    /// A string, without a copy when it is large.
    fn put_string(&mut self, bytes: &[u8]) -> SvnResult<()> {
        if bytes.len() < LARGE_STRING {
            self.buffer().string(bytes);
            return self.flush_if_large();
        }
        self.buffer().string_head(bytes.len());
        self.write_through(bytes)?;
        self.buffer().push(b' ');
        Ok(())
    }
}

impl Sink for Vec<u8> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }

    fn flush_if_large(&mut self) -> SvnResult<()> {
        Ok(())
    }
}
