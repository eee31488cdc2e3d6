//! Binary texts in a patch: each whole, compressed, in base 85.

use sapwood_core::{Cut, Exact};
use std::io::{self, BufReader, Read, Seek};

use flate2::bufread::ZlibDecoder;
use sapwood_core::SvnResult;

use super::header::utf8;
use super::{BinaryPatch, Literal, PatchFile, Source, failed, unexpected};
use crate::binary::{LENGTHS, value_of};

/// The longest line: its length and 65 digits.
const LONGEST: usize = 66;

impl<R: Read + Seek> PatchFile<R> {
    /// Both texts below `GIT binary patch`, if they are there and whole.
    pub(super) fn binary_patch(&mut self) -> SvnResult<Option<BinaryPatch>> {
        let mut found = [Literal::default(); 2];
        let mut which = 0_usize;
        let mut inside = false;
        let mut line = Vec::new();
        loop {
            let here = self.at;
            let read = self.line_at(here, &mut line)?;
            self.at = read.next;
            let Some(literal) = found.get_mut(which) else { break };
            let blank = line.iter().all(u8::is_ascii_whitespace);
            let whole = if !inside {
                match literal_size(&line) {
                    Some(size) => {
                        *literal = Literal { start: read.next, end: read.next, size };
                        inside = true;
                        None
                    }
                    None => Some(false),
                }
            } else if is_digits(&line) {
                literal.end = read.next;
                None
            } else if which == 1 {
                // What comes after digits may follow at once.
                Some(blank || literal.start < here)
            } else {
                inside = false;
                which = 1;
                (!blank).then_some(false)
            };
            if let Some(whole) = whole
                && (whole || !read.eof)
            {
                if !read.eof {
                    self.at = here;
                }
                return Ok(whole.then_some(in_order(found)));
            }
            if read.eof {
                break;
            }
        }
        let [_, before] = found;
        let whole = which == 1 && (before.end > before.start || before.size == 0);
        Ok(whole.then_some(in_order(found)))
    }

    /// The text that a literal stands for, a piece at a time.
    pub fn literal(&mut self, literal: &Literal) -> impl Read {
        let digits = Base85 {
            source: &mut self.source,
            at: literal.start,
            end: literal.end,
            line: Vec::new(),
            bytes: Vec::new(),
            given: 0,
        };
        ExactLength { inner: ZlibDecoder::new(BufReader::new(digits)), left: literal.size }
    }
}

/// git writes the text after first.
const fn in_order([after, before]: [Literal; 2]) -> BinaryPatch {
    BinaryPatch { before, after }
}

fn literal_size(line: &[u8]) -> Option<u64> {
    let text = utf8(line.strip_prefix(b"literal ")?).ok()?;
    text.parse().ok().filter(|size| i64::try_from(*size).is_ok())
}

fn is_digits(line: &[u8]) -> bool {
    line.first().is_some_and(u8::is_ascii_alphabetic)
        && line.len() <= LONGEST
        && !line.iter().any(|b| matches!(b, b':' | b' '))
}

/// Bytes of lines in base 85.
struct Base85<'s, R> {
    source: &'s mut Source<R>,
    at: u64,
    end: u64,
    line: Vec<u8>,
    bytes: Vec<u8>,
    given: usize,
}

impl<R: Read + Seek> Base85<'_, R> {
    fn next_line(&mut self) -> SvnResult<()> {
        let read = self.source.line(self.at, u64::MAX, &mut self.line).map_err(failed)?;
        self.at = if read.eof { self.end } else { read.next };
        let Some((first, digits)) = self.line.split_first() else {
            return Err(unexpected("Unexpected data in base85 section"));
        };
        let len = LENGTHS.iter().position(|mark| mark == first);
        let Some(len) = len.map(|at| at.plus(1)) else {
            return Err(unexpected("Unexpected data in base85 section"));
        };
        // A line that is not full is the last one.
        if len < LENGTHS.len() {
            self.at = self.end;
        }
        if digits.len() != len.div_ceil(4).times(5) {
            return Err(unexpected("Unexpected base85 line length"));
        }
        self.bytes.clear();
        self.given = 0;
        for five in digits.chunks_exact(5) {
            let mut number = 0_u32;
            for digit in five {
                let value = value_of(*digit).ok_or_else(|| unexpected("Invalid base85 value"))?;
                number = number.wrapping_mul(85).wrapping_add(value);
            }
            self.bytes.extend_from_slice(&number.to_be_bytes());
        }
        self.bytes.truncate(len);
        Ok(())
    }
}

impl<R: Read + Seek> Read for Base85<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given >= self.bytes.len() {
            if self.at >= self.end {
                return Ok(0);
            }
            self.next_line().map_err(io::Error::other)?;
        }
        let left = self.bytes.tail(self.given);
        let count = left.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), left.get(..count)) {
            to.copy_from_slice(from);
        }
        self.given = self.given.plus(count);
        Ok(count)
    }
}

/// Holds a text to the length that was said.
struct ExactLength<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for ExactLength<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let wrong = |what| Err(io::Error::other(unexpected(what)));
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(sapwood_core::exact::len64(count)) {
            None => wrong("Base85 data expands to longer than declared filesize"),
            Some(left) if count == 0 && left > 0 => {
                wrong("Base85 data expands to smaller than declared filesize")
            }
            Some(left) => {
                self.left = left;
                Ok(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::How;
    use crate::write_binary;

    fn both(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut file = PatchFile::new(io::Cursor::new(text), How::default());
        let binary = file.next_patch().unwrap()?.binary?;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        file.literal(&binary.before).read_to_end(&mut before).ok()?;
        file.literal(&binary.after).read_to_end(&mut after).ok()?;
        Some((before, after))
    }

    fn patch(old: &[u8], new: &[u8]) -> Vec<u8> {
        let mut text = b"diff --git a/x b/x\nindex 1..2 100644\n".to_vec();
        write_binary(&mut text, &old, &new).unwrap();
        text
    }

    #[test]
    fn there_and_back() {
        let long: Vec<u8> =
            (0..100_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for (old, new) in [(&b""[..], &b"x\0y"[..]), (b"abc", b""), (&long, b"short"), (b"", &long)]
        {
            let mut text = patch(old, new);
            assert_eq!(both(&text), Some((old.to_vec(), new.to_vec())));
            text.extend_from_slice(b"\nIndex: y\n");
            assert_eq!(both(&text), Some((old.to_vec(), new.to_vec())));
        }
    }

    #[test]
    fn lengths_and_digits_are_checked() {
        let text = String::from_utf8(patch(b"abcdef", b"ghijkl")).unwrap();
        assert!(both(text.replace("literal 6", "literal 5").as_bytes()).is_none());
        assert!(both(text.replace("literal 6", "literal 7").as_bytes()).is_none());
        assert!(both(text.replace("literal 6", "delta 6").as_bytes()).is_none());
        assert!(both(text.replace('c', "'").as_bytes()).is_none());
    }
}
