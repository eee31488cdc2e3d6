//! Binary patches as git writes them: each whole text, compressed, in base 85.

use sapwood_core::Exact;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::LargeText;

/// Bytes of compressed data on a line.
const CHUNK: usize = 52;
pub(crate) const LENGTHS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// The second byte of a zlib stream that was made at the usual level.
const USUAL_LEVEL: u8 = 0x9c;

/// Writes the patch that makes `new` of `old` and back. The texts are read piece by piece.
///
/// # Errors
/// Those of reading, and of `out`.
pub fn write_binary(
    out: &mut dyn Write,
    old: &dyn LargeText,
    new: &dyn LargeText,
) -> io::Result<()> {
    out.write_all(b"GIT binary patch\n")?;
    write_literal(out, new)?;
    out.write_all(b"\n")?;
    write_literal(out, old)
}

fn write_literal(out: &mut dyn Write, text: &dyn LargeText) -> io::Result<()> {
    writeln!(out, "literal {}", text.len())?;
    // The reference's zlib looks for short matches at its usual level; ours does at its best one only.
    let mut encoder = ZlibEncoder::new(Lines::new(out), Compression::best());
    io::copy(&mut text.open()?, &mut encoder)?;
    encoder.finish()?.finish()
}

/// Writes compressed data in lines.
struct Lines<'o> {
    out: &'o mut dyn Write,
    /// What is not a whole line yet.
    rest: Vec<u8>,
    /// How many bytes came.
    seen: u64,
}

impl<'o> Lines<'o> {
    fn new(out: &'o mut dyn Write) -> Self {
        Self { out, rest: Vec::with_capacity(CHUNK), seen: 0 }
    }

    fn line(&mut self) -> io::Result<()> {
        let mut line = Vec::with_capacity(CHUNK.times(2));
        line.extend(self.rest.len().checked_sub(1).and_then(|at| LENGTHS.get(at)));
        for four in self.rest.chunks(4) {
            line.extend(digits(four));
        }
        line.push(b'\n');
        self.rest.clear();
        self.out.write_all(&line)
    }

    fn finish(mut self) -> io::Result<()> {
        if self.rest.is_empty() { Ok(()) } else { self.line() }
    }
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.rest.push(if self.seen == 1 { USUAL_LEVEL } else { *byte });
            self.seen = self.seen.plus(1);
            if self.rest.len() == CHUNK {
                self.line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What a digit stands for.
pub(crate) fn value_of(digit: u8) -> Option<u32> {
    DIGITS.iter().position(|known| *known == digit).and_then(|at| u32::try_from(at).ok())
}

/// Up to four bytes as five digits.
fn digits(four: &[u8]) -> [u8; 5] {
    let mut bytes = [0; 4];
    for (to, from) in bytes.iter_mut().zip(four) {
        *to = *from;
    }
    let mut number = u32::from_be_bytes(bytes);
    let mut out = [0; 5];
    for place in out.iter_mut().rev() {
        let digit = usize::try_from(number % 85).unwrap_or_default();
        *place = DIGITS.get(digit).copied().unwrap_or_default();
        number = number.checked_div(85).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_85() {
        assert_eq!(&digits(&[0, 0, 0, 0]), b"00000");
        assert_eq!(&digits(&[0, 0, 0, 84]), b"0000~");
        assert_eq!(&digits(&[255, 255, 255, 255]), b"|NsC0");
        assert_eq!(digits(&[1]), digits(&[1, 0, 0, 0]));
    }

    /// What 1.14 prints of a short text: with a match of three letters in it.
    #[test]
    fn a_short_text() {
        let mut out = Vec::new();
        write_literal(&mut out, &&b"This is the file 'iota'.\n"[..]).unwrap();
        assert_eq!(out, b"literal 25\nec$^E#$ShU>qLPeMg|y6^R0Z|S{E|d<JuU!m{s;*G\n");
    }

    /// What 1.14 prints of a file that was emptied.
    #[test]
    fn an_empty_text() {
        let mut out = Vec::new();
        write_literal(&mut out, &&b""[..]).unwrap();
        assert_eq!(out, b"literal 0\nHc$@<O00001\n");
    }
}
