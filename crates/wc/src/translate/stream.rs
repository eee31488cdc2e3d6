//! Translating a stream: line endings and keywords in one pass.
//!
//! The translator is in one of three states: between interesting bytes, after a carriage return
//! that may be half of a line ending, or inside what may be a keyword, which is kept until the
//! closing dollar sign, a line ending, or [`MAX_LEN`] bytes decide. It keeps at most that much.

use std::io::{self, Read, Write};
use std::sync::Arc;

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::eol::Eol;
use super::keyword::{MAX_LEN, name, substitute};
use super::keywords::Keywords;

/// How much is read from a stream at once.
const CHUNK: usize = 64 << 10;

/// Translates a text piece by piece.
#[derive(Clone, Debug)]
pub struct Translator {
    eol: Option<Eol>,
    repair: bool,
    keywords: Option<Arc<Keywords>>,
    expand: bool,
    /// A carriage return was the last byte.
    after_cr: bool,
    /// What may be a keyword, from its dollar sign on.
    keyword: Vec<u8>,
    /// Where in it another one may begin.
    next_sign: Option<usize>,
    /// The first line ending of the text.
    seen: Option<Eol>,
}

fn inconsistent() -> SvnError {
    SvnError::new(ErrorCode::IO_INCONSISTENT_EOL, "")
}

/// The error of mixed line endings in a file. As in the reference it appears twice: for the text, and
/// for its end.
pub(crate) fn inconsistent_file() -> SvnError {
    inconsistent().with_cause(SvnError::new(ErrorCode::COMPOSED_ERROR, ""))
}

/// An error of a translation in a stream.
fn in_stream(error: SvnError) -> io::Error {
    io::Error::other(match error.code() {
        ErrorCode::IO_INCONSISTENT_EOL => inconsistent_file(),
        _ => error,
    })
}

impl Translator {
    /// A translator that makes line endings into `eol` (or leaves them alone), with an error for
    /// mixed ones unless `repair` is set, and expands keywords or contracts them.
    #[must_use]
    pub fn new(
        eol: Option<Eol>,
        repair: bool,
        keywords: Option<Arc<Keywords>>,
        expand: bool,
    ) -> Self {
        Self {
            eol,
            repair,
            keywords: keywords.filter(|k| !k.is_empty()),
            expand,
            after_cr: false,
            keyword: Vec::new(),
            next_sign: None,
            seen: None,
        }
    }

    /// Whether the translation changes nothing.
    #[must_use]
    pub const fn is_identity(&self) -> bool {
        self.eol.is_none() && self.keywords.is_none()
    }

    /// Translates a piece; appends the part that is certain so far.
    ///
    /// # Errors
    /// `E135000` for a line ending that differs from the first one.
    pub fn push(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> SvnResult<()> {
        while let Some((byte, rest)) = input.split_first() {
            if self.after_cr {
                self.after_cr = false;
                let crlf = *byte == b'\n';
                self.newline(if crlf { Eol::CrLf } else { Eol::Cr }, out)?;
                if crlf {
                    input = rest;
                }
            } else if self.keyword.is_empty() {
                input = self.plain(input, out)?;
            } else if *byte == b'$' {
                if self.closing_sign(out) {
                    input = rest;
                }
            } else if self.keyword.len() >= MAX_LEN - 1 || matches!(byte, b'\r' | b'\n') {
                self.no_keyword(out)?;
            } else {
                self.keyword.push(*byte);
                input = rest;
            }
        }
        Ok(())
    }

    /// Ends the text; appends what was kept back.
    ///
    /// # Errors
    /// As [`Translator::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        if std::mem::take(&mut self.after_cr) {
            self.newline(Eol::Cr, out)?;
        }
        out.append(&mut self.keyword);
        self.next_sign = None;
        Ok(())
    }

    /// Translates a whole text.
    ///
    /// # Errors
    /// As [`Translator::push`].
    pub fn whole(mut self, text: &[u8]) -> SvnResult<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        self.push(text, &mut out)?;
        self.finish(&mut out)?;
        Ok(out)
    }

    /// Copies up to the next interesting byte, and takes that in; returns what follows.
    fn plain<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>) -> SvnResult<&'a [u8]> {
        let found = match (self.keywords.is_some(), self.eol.is_some()) {
            (true, true) => memchr::memchr3(b'$', b'\r', b'\n', input),
            (true, false) => memchr::memchr(b'$', input),
            (false, true) => memchr::memchr2(b'\r', b'\n', input),
            (false, false) => None,
        };
        let (before, rest) = input.split_at(found.unwrap_or(input.len()));
        out.extend_from_slice(before);
        let Some((byte, rest)) = rest.split_first() else { return Ok(rest) };
        match byte {
            b'$' => self.keyword.push(b'$'),
            b'\r' => self.after_cr = true,
            _ => self.newline(Eol::Lf, out)?,
        }
        Ok(rest)
    }

    fn newline(&mut self, found: Eol, out: &mut Vec<u8>) -> SvnResult<()> {
        let wanted = self.eol.unwrap_or(found);
        let first = *self.seen.get_or_insert(found);
        if !self.repair && first != found {
            return Err(inconsistent());
        }
        out.extend_from_slice(wanted.bytes());
        Ok(())
    }

    /// A dollar sign after what may be a keyword. Whether it was used: otherwise it begins
    /// another one.
    fn closing_sign(&mut self, out: &mut Vec<u8>) -> bool {
        self.keyword.push(b'$');
        let name = name(&self.keyword).to_vec();
        let value = self.keywords.as_ref().and_then(|k| k.get(&name));
        let Some(value) = value else {
            self.keyword.pop();
            out.append(&mut self.keyword);
            self.next_sign = None;
            return false;
        };
        let value = self.expand.then_some(value);
        if substitute(&mut self.keyword, &name, value) || self.keyword.len() >= MAX_LEN {
            out.append(&mut self.keyword);
            self.next_sign = None;
        } else {
            self.next_sign.get_or_insert(self.keyword.len().minus(1));
        }
        true
    }

    /// The buffered bytes are no keyword; perhaps their end, from an inner dollar sign on, is one.
    fn no_keyword(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        let mut kept = std::mem::take(&mut self.keyword);
        let Some(at) = self.next_sign.take() else {
            out.append(&mut kept);
            return Ok(());
        };
        let again = kept.split_off(at.min(kept.len()));
        out.append(&mut kept);
        // Shorter than what was kept and without line endings, so this comes here no second time.
        self.push(&again, out)
    }
}

/// A reader that gives the translation of another.
#[derive(Debug)]
pub struct TranslatedReader<R> {
    inner: R,
    translator: Translator,
    input: Vec<u8>,
    output: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> TranslatedReader<R> {
    /// Translates what `inner` gives. Errors of the translation come as [`io::Error::other`] with
    /// an [`SvnError`] inside.
    pub const fn new(inner: R, translator: Translator) -> Self {
        Self { inner, translator, input: Vec::new(), output: Vec::new(), at: 0, ended: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.output.clear();
        self.at = 0;
        self.input.resize(CHUNK, 0);
        while self.output.is_empty() && !self.ended {
            let len = match self.inner.read(&mut self.input) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let piece = self.input.head(len);
            let result = if len == 0 {
                self.ended = true;
                self.translator.finish(&mut self.output)
            } else {
                self.translator.push(piece, &mut self.output)
            };
            result.map_err(in_stream)?;
        }
        Ok(())
    }
}

impl<R: Read> Read for TranslatedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.output.len() && !self.ended {
            self.fill()?;
        }
        let rest = self.output.tail(self.at);
        let len = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..len), rest.get(..len)) {
            to.copy_from_slice(from);
        }
        self.at = self.at.plus(len);
        Ok(len)
    }
}

/// A writer that writes the translation of what it is given. [`TranslatedWriter::finish`] has to
/// be called at the end.
#[derive(Debug)]
pub struct TranslatedWriter<W> {
    inner: W,
    translator: Translator,
    output: Vec<u8>,
}

impl<W: Write> TranslatedWriter<W> {
    /// Translates into `inner`.
    pub const fn new(inner: W, translator: Translator) -> Self {
        Self { inner, translator, output: Vec::new() }
    }

    /// Writes what was kept back and gives the inner writer.
    ///
    /// # Errors
    /// When the inner writer fails, or line endings are mixed.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.clear();
        self.translator.finish(&mut self.output).map_err(in_stream)?;
        self.inner.write_all(&self.output)?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for TranslatedWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        for piece in buffer.chunks(CHUNK) {
            self.output.clear();
            self.translator.push(piece, &mut self.output).map_err(in_stream)?;
            self.inner.write_all(&self.output)?;
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keywords() -> Arc<Keywords> {
        Arc::new(Keywords::names(b"Rev Author My="))
    }

    fn contract(text: &[u8]) -> Vec<u8> {
        Translator::new(None, true, Some(keywords()), false).whole(text).unwrap()
    }

    #[test]
    fn line_endings() {
        let to =
            |eol, repair, text: &[u8]| Translator::new(Some(eol), repair, None, true).whole(text);
        assert_eq!(to(Eol::CrLf, true, b"a\nb\r\nc\rd\r").unwrap(), b"a\r\nb\r\nc\r\nd\r\n");
        assert_eq!(to(Eol::Lf, false, b"a\r\nb\r\n").unwrap(), b"a\nb\n");
        let error = to(Eol::Lf, false, b"a\nb\r\n").unwrap_err();
        assert_eq!(error.code(), ErrorCode::IO_INCONSISTENT_EOL);
        assert_eq!(to(Eol::Lf, true, b"\r\r\n\n").unwrap(), b"\n\n\n");
    }

    #[test]
    fn where_keywords_begin() {
        for (text, want) in [
            ("$Rev: 1 $", "$Rev$"),
            ("$x$Rev: 1 $", "$x$Rev$"),
            ("$Rev: a$Rev: 1 $", "$Rev$"),
            ("$Rev: a$Rev: b\n", "$Rev: a$Rev: b\n"),
            ("$Rev: a$ $Rev: 2 $", "$Rev$Rev: 2 $"),
            ("$$Rev: 1 $$", "$$Rev$$"),
            ("$Rev: 1 \n$", "$Rev: 1 \n$"),
            ("$Rev", "$Rev"),
        ] {
            assert_eq!(contract(text.as_bytes()), want.as_bytes(), "{text}");
        }
        // Too long to be one, but there is one inside.
        let text = |inner: &str| format!("$Rev: {}{inner}{}", "x".repeat(100), "y".repeat(200));
        let expand = Translator::new(None, true, Some(keywords()), true);
        let got = expand.whole(text("$Author$").as_bytes()).unwrap();
        assert_eq!(got, text("$Author: $").as_bytes());
    }

    proptest! {
        /// Pieces of any size give what the whole gives, through each kind of stream.
        #[test]
        fn pieces(
            text in "([$a \r\n]|\\$Rev:? |\\$Author\\$|::  x \\$|[a-z]{90}){0,40}",
            size in 1usize..7,
            eol in 0usize..4,
            expand: bool,
        ) {
            let eol = [None, Some(Eol::Lf), Some(Eol::Cr), Some(Eol::CrLf)][eol];
            let translator = Translator::new(eol, true, Some(keywords()), expand);
            let whole = translator.clone().whole(text.as_bytes()).unwrap();
            let mut pieces = TranslatedWriter::new(Vec::new(), translator.clone());
            for piece in text.as_bytes().chunks(size) {
                pieces.write_all(piece).unwrap();
            }
            prop_assert_eq!(&pieces.finish().unwrap(), &whole);
            let mut read = Vec::new();
            TranslatedReader::new(text.as_bytes(), translator).read_to_end(&mut read).unwrap();
            prop_assert_eq!(&read, &whole);
        }

        /// What was expanded contracts to what it was.
        #[test]
        fn there_and_back(text in "([a-z# \n]|\\$Rev\\$|\\$Author\\$|\\$My::  x \\$|\\$no){0,40}") {
            let normal = contract(text.as_bytes());
            let values = Arc::new(Keywords::names(b"Rev Author=jo My=%_%%value"));
            let expand = Translator::new(Some(Eol::CrLf), true, Some(values), true);
            let working = expand.whole(&normal).unwrap();
            let back = Translator::new(Some(Eol::Lf), false, Some(keywords()), false);
            prop_assert_eq!(back.whole(&working).unwrap(), normal);
        }
    }
}
