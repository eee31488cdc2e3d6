//! Reading dump streams: format versions 1, 2 and 3 (`docs/formats/dump.md`).
//!
//! [`parse`] reads a stream record by record and calls a [`DumpVisitor`] with what it finds. The
//! invariant is bounded memory: a text is handed on in pieces as they come from the input, a
//! property at a time is held, and nothing is allocated because a length in the stream says so:
//! buffers grow with the bytes that really arrive, up to the limits named here.

mod fields;

use sapwood_core::Exact;
use sapwood_core::exact::{clamped, len64};
use std::io::BufRead;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use sapwood_fs::txn::KnownText;

pub use fields::Headers;
use fields::{lenient_length, lenient_number, malformed, ran_dry};

/// The newest format version that is understood.
pub(crate) const NEWEST_VERSION: i64 = 3;
/// The longest header line, in bytes.
pub(crate) const MAX_HEADER_LINE: u64 = 1 << 20;
/// The most headers in one record.
pub const MAX_HEADERS: usize = 1000;
/// The longest property name, in bytes.
const MAX_PROP_NAME: u64 = 1 << 20;
/// The longest property value, in bytes.
const MAX_PROP_VALUE: u64 = 1 << 30;

/// Names of headers.
pub mod header {
    /// First line of every stream.
    pub const MAGIC: &str = "SVN-fs-dump-format-version";
    /// The UUID record.
    pub const UUID: &str = "UUID";
    /// Length of properties and text together.
    pub const CONTENT_LENGTH: &str = "Content-length";
    /// Begins a revision record.
    pub const REVISION_NUMBER: &str = "Revision-number";
    /// Begins a node record.
    pub const NODE_PATH: &str = "Node-path";
    /// `file` or `dir`.
    pub const NODE_KIND: &str = "Node-kind";
    /// `change`, `add`, `delete` or `replace`.
    pub const NODE_ACTION: &str = "Node-action";
    /// Where the node is a copy of.
    pub const COPYFROM_PATH: &str = "Node-copyfrom-path";
    /// And in which revision.
    pub const COPYFROM_REV: &str = "Node-copyfrom-rev";
    /// MD5 of the copy source's text.
    pub(crate) const COPY_SOURCE_MD5: &str = "Text-copy-source-md5";
    /// SHA-1 of the copy source's text.
    pub(crate) const COPY_SOURCE_SHA1: &str = "Text-copy-source-sha1";
    /// MD5 of the node's whole text.
    pub const CONTENT_MD5: &str = "Text-content-md5";
    /// SHA-1 of the node's whole text.
    pub(crate) const CONTENT_SHA1: &str = "Text-content-sha1";
    /// Length of the property block.
    pub const PROP_CONTENT_LENGTH: &str = "Prop-content-length";
    /// Length of the text block.
    pub const TEXT_CONTENT_LENGTH: &str = "Text-content-length";
    /// `true` when the property block is a delta.
    pub const PROP_DELTA: &str = "Prop-delta";
    /// `true` when the text block is svndiff.
    pub const TEXT_DELTA: &str = "Text-delta";
    /// MD5 of the text that the delta applies to.
    pub const DELTA_BASE_MD5: &str = "Text-delta-base-md5";
    /// SHA-1 of the text that the delta applies to.
    pub(crate) const DELTA_BASE_SHA1: &str = "Text-delta-base-sha1";
}

/// Takes what a dump stream holds, in the order of the stream. Every method may end the
/// reading with an error.
#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
pub trait DumpVisitor {
    /// The stream's format version, first of all.
    fn format_version(&mut self, version: i64) -> SvnResult<()>;
    /// A UUID record.
    fn uuid(&mut self, uuid: &[u8]) -> SvnResult<()>;
    /// A revision begins.
    fn revision(&mut self, headers: &Headers) -> SvnResult<()>;
    /// A property of the revision.
    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()>;
    /// The revision, its nodes included, is complete.
    fn close_revision(&mut self) -> SvnResult<()>;
    /// A node begins, within the open revision.
    fn node(&mut self, headers: &Headers) -> SvnResult<()>;
    /// A whole property block follows: it replaces the node's earlier properties.
    fn remove_node_props(&mut self) -> SvnResult<()>;
    /// A property of the node.
    fn node_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()>;
    /// A property that a property delta removes.
    fn delete_node_prop(&mut self, name: &[u8]) -> SvnResult<()>;
    /// The node's text. The rest that the visitor does not read is skipped.
    fn text(&mut self, text: &mut TextBlock<'_>) -> SvnResult<()>;
    /// The node is complete.
    fn close_node(&mut self) -> SvnResult<()>;
}

/// The text block of a node: a fulltext, or svndiff.
pub struct TextBlock<'a> {
    input: &'a mut dyn BufRead,
    left: u64,
    used: usize,
    len: u64,
    is_delta: bool,
    known: Option<KnownText>,
}

impl std::fmt::Debug for TextBlock<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextBlock").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<'a> TextBlock<'a> {
    /// The next `len` bytes of `input`; a fulltext may come with known checksums.
    pub(crate) const fn new(
        input: &'a mut dyn BufRead,
        len: u64,
        is_delta: bool,
        known: Option<KnownText>,
    ) -> Self {
        Self { input, left: len, used: 0, len, is_delta, known }
    }

    /// Reads what the visitor has not read.
    pub(crate) fn finish(mut self) -> SvnResult<()> {
        while self.next_bytes()?.is_some() {}
        Ok(())
    }

    /// The known checksums of a fulltext; returned once.
    pub(crate) const fn take_known(&mut self) -> Option<KnownText> {
        self.known.take()
    }

    /// Bytes in the whole block.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the block has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the block is svndiff, to be applied to the node's earlier text.
    #[must_use]
    pub const fn is_delta(&self) -> bool {
        self.is_delta
    }

    /// The next piece, never empty; `None` at the end. Pieces are the input's own buffers.
    ///
    /// # Errors
    /// E200003 when the stream ends early; errors of reading the input.
    pub fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>> {
        self.input.consume(std::mem::take(&mut self.used));
        if self.left == 0 {
            return Ok(None);
        }
        let have = fields::fill(self.input)?;
        if have.is_empty() {
            return Err(ran_dry());
        }
        let take = clamped(self.left).min(have.len());
        self.used = take;
        self.left = self.left.saturating_sub(len64(take));
        Ok(have.get(..take))
    }

    /// Fills some of `buf`; 0 at the end. Not to be mixed with [`TextBlock::next_bytes`] in one
    /// block.
    ///
    /// # Errors
    /// As [`TextBlock::next_bytes`].
    pub fn read_into(&mut self, buf: &mut [u8]) -> SvnResult<usize> {
        if self.left == 0 || buf.is_empty() {
            return Ok(0);
        }
        let have = fields::fill(self.input)?;
        if have.is_empty() {
            return Err(ran_dry());
        }
        let most = clamped(self.left);
        let take = most.min(have.len()).min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..take), have.get(..take)) {
            to.copy_from_slice(from);
        }
        self.input.consume(take);
        self.left = self.left.saturating_sub(len64(take));
        Ok(take)
    }
}

/// Reads `input` to its end.
///
/// `deltas_are_text` passes svndiff texts on unchanged ([`TextBlock::is_delta`] is then false),
/// for programs that only copy them.
///
/// # Errors
/// E140001 for anything malformed, E200003 for a stream that ends early, in the reference's
/// sentences; E200015 when cancelled; what `visitor` returns.
pub fn parse(
    input: &mut dyn BufRead,
    visitor: &mut dyn DumpVisitor,
    deltas_are_text: bool,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let version = fields::read_magic(input)?;
    visitor.format_version(version)?;
    let mut parser = Parser { input, visitor, deltas_are_text, version, in_revision: false };
    let mut line = Vec::new();
    loop {
        if cancel.is_cancelled() {
            return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
        }
        let ended = fields::read_line(parser.input, &mut line)?;
        if !ended {
            if line.is_empty() {
                break;
            }
            return Err(ran_dry());
        }
        if line.first().is_none_or(u8::is_ascii_whitespace) {
            continue;
        }
        parser.record(&mut line)?;
    }
    if parser.in_revision {
        parser.visitor.close_revision()?;
    }
    Ok(())
}

/// The kind of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Record {
    Revision,
    Node,
    Other,
}

struct Parser<'a> {
    input: &'a mut dyn BufRead,
    visitor: &'a mut dyn DumpVisitor,
    deltas_are_text: bool,
    version: i64,
    in_revision: bool,
}

impl Parser<'_> {
    /// Reads one record, whose first line was read.
    fn record(&mut self, first_line: &mut Vec<u8>) -> SvnResult<()> {
        let headers = Headers::read(self.input, first_line)?;
        let record = self.begin(&headers)?;

        let content_length = headers.get(header::CONTENT_LENGTH);
        let prop_length = headers.get(header::PROP_CONTENT_LENGTH);
        let text_length = headers.get(header::TEXT_CONTENT_LENGTH);
        // Before version 2 the only length was that of the whole content, and a record with
        // content always began it with a property block.
        let old = match (content_length, prop_length, text_length) {
            (Some(length), None, None) if self.version == 1 => Some(length),
            _ => None,
        };

        let mut read_of_props = 0;
        if let Some(length) = prop_length.or(old) {
            let is_delta = headers.is_true(header::PROP_DELTA);
            if record == Record::Node && !is_delta {
                self.visitor.remove_node_props()?;
            }
            read_of_props = self.properties(record, lenient_length(length))?;
        }

        if let Some(length) = text_length {
            let is_delta = !self.deltas_are_text && headers.is_true(header::TEXT_DELTA);
            self.text(record, lenient_length(length), is_delta)?;
        } else if let Some(length) = old {
            // The rest after the properties is the text. A file has one even if the rest is empty.
            let left = lenient_length(length).wrapping_sub(read_of_props);
            if left > 0 || headers.get(header::NODE_KIND) == Some(b"file") {
                self.text(record, left, false)?;
            }
        }

        if let (Some(length), None) = (content_length, old) {
            // In the reference's arithmetic, so that odd lengths end in its words.
            let rest = lenient_number(length)
                .wrapping_sub(lenient_number(prop_length.unwrap_or(b"0")))
                .wrapping_sub(lenient_number(text_length.unwrap_or(b"0")));
            let rest = u64::try_from(rest).map_err(|_| {
                SvnError::new(
                    ErrorCode::STREAM_MALFORMED_DATA,
                    "Sum of subblock sizes larger than total block content length",
                )
            })?;
            fields::skip(self.input, rest)?;
        }
        if record == Record::Node {
            self.visitor.close_node()?;
        }
        Ok(())
    }

    /// Calls the visitor for the record that begins.
    fn begin(&mut self, headers: &Headers) -> SvnResult<Record> {
        if headers.get(header::REVISION_NUMBER).is_some() {
            if std::mem::take(&mut self.in_revision) {
                self.visitor.close_revision()?;
            }
            self.visitor.revision(headers)?;
            self.in_revision = true;
            Ok(Record::Revision)
        } else if headers.get(header::NODE_PATH).is_some() {
            if !self.in_revision {
                return Err(malformed());
            }
            self.visitor.node(headers)?;
            Ok(Record::Node)
        } else if let Some(uuid) = headers.get(header::UUID) {
            self.visitor.uuid(uuid)?;
            Ok(Record::Other)
        } else if let Some(version) = headers.get(header::MAGIC) {
            self.version = fields::parse_version(version)?;
            Ok(Record::Other)
        } else {
            Err(SvnError::new(
                ErrorCode::STREAM_MALFORMED_DATA,
                "Unrecognized record type in stream",
            ))
        }
    }

    /// Reads a property block of `length` bytes. Returns how many bytes were read.
    fn properties(&mut self, record: Record, length: u64) -> SvnResult<u64> {
        let mut read = 0u64;
        let mut line = Vec::new();
        while read != length {
            if !fields::read_line(self.input, &mut line)? {
                return Err(SvnError::new(
                    ErrorCode::STREAM_MALFORMED_DATA,
                    "Incomplete or unterminated property block",
                ));
            }
            count(&mut read, line.len().plus(1))?;
            if line == b"PROPS-END" {
                break;
            }
            let (is_deletion, name_length) = match line.as_slice() {
                [b'K', b' ', digits @ ..] => (false, digits),
                [b'D', b' ', digits @ ..] => (true, digits),
                _ => return Err(malformed()),
            };
            let name_length = fields::parse_name_length(name_length, MAX_PROP_NAME)?;
            let name = fields::read_counted(self.input, name_length)?;
            count(&mut read, name.len().plus(1))?;
            if is_deletion {
                if record != Record::Node {
                    return Err(malformed());
                }
                self.visitor.delete_node_prop(&name)?;
                continue;
            }
            if !fields::read_line(self.input, &mut line)? {
                return Err(ran_dry());
            }
            count(&mut read, line.len().plus(1))?;
            let [b'V', b' ', digits @ ..] = line.as_slice() else { return Err(malformed()) };
            let value_length = fields::parse_value_length(digits, MAX_PROP_VALUE)?;
            let value = fields::read_counted(self.input, value_length)?;
            count(&mut read, value.len().plus(1))?;
            match record {
                Record::Node => self.visitor.node_prop(&name, value)?,
                Record::Revision => self.visitor.revision_prop(&name, value)?,
                Record::Other => {}
            }
        }
        Ok(read)
    }

    /// A text block of `length` bytes.
    fn text(&mut self, record: Record, length: u64, is_delta: bool) -> SvnResult<()> {
        let mut block = TextBlock::new(self.input, length, is_delta, None);
        if record == Record::Node {
            self.visitor.text(&mut block)?;
        }
        block.finish()
    }
}

/// Adds to the number of bytes read of a block.
fn count(read: &mut u64, more: usize) -> SvnResult<()> {
    *read = u64::try_from(more).ok().and_then(|m| read.checked_add(m)).ok_or_else(malformed)?;
    Ok(())
}

#[cfg(test)]
mod tests;
