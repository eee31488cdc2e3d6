//! `format`: the number of the format, and its options.

use crate::error::{Error, Result};
use crate::since;
use crate::text;

/// How items are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// By offset from the start of the revision.
    Physical,
    /// By item index, through the indexes at the end of the file.
    Logical,
}

/// What `format` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatFile {
    /// 1 to 4, or 6 to 8.
    pub number: u32,
    /// Revisions a shard; `None` for the linear layout.
    pub shard_size: Option<u64>,
    /// How items are addressed.
    pub addressing: Addressing,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl FormatFile {
    /// What a missing file stands for.
    pub const MISSING: Self =
        Self { number: 1, shard_size: None, addressing: Addressing::Physical };

    /// Parses the file; `path` is for error sentences.
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self> {
        let bad = |message: String| Error::BadVersionFile(message.into());
        let mut lines = bytes.split(|b| *b == b'\n');
        let first = lines.next().unwrap_or_default();
        if bytes.is_empty() {
            return Err(bad(format!("Can't read first line of format file '{path}'")));
        }
        check_digits(first, 0, path)?;
        let number = text::number(first).and_then(|n| u32::try_from(n).ok());
        let number = number
            .ok_or_else(|| bad(format!("Number '{}' is out of range", text::printable(first))))?;
        check_number(number)?;
        let mut format = Self { number, ..Self::MISSING };
        for line in lines.take_while(|line| !line.is_empty()) {
            match line {
                b"layout linear" if number >= since::LAYOUT => format.shard_size = None,
                _ if number >= since::LAYOUT && line.starts_with(b"layout sharded ") => {
                    check_digits(line, b"layout sharded ".len(), path)?;
                    let size = line.strip_prefix(b"layout sharded ").and_then(text::number);
                    let size = size.filter(|size| i32::try_from(*size).is_ok());
                    let size = size.ok_or_else(|| {
                        let line = text::printable(line);
                        bad(format!("'{path}' contains invalid filesystem format option '{line}'"))
                    })?;
                    // The reference takes 0 for the linear layout.
                    format.shard_size = (size > 0).then_some(size);
                }
                b"addressing physical" if number >= since::LOGICAL => {
                    format.addressing = Addressing::Physical;
                }
                b"addressing logical" if number >= since::LOGICAL => {
                    format.addressing = Addressing::Logical;
                }
                _ => {
                    let line = text::printable(line);
                    return Err(bad(format!(
                        "'{path}' contains invalid filesystem format option '{line}'"
                    )));
                }
            }
        }
        if format.addressing == Addressing::Logical && format.shard_size.is_none() {
            return Err(bad(format!(
                "'{path}' specifies logical addressing for a non-sharded repository"
            )));
        }
        Ok(format)
    }
    /// Appends the file's contents.
    pub fn write(&self, out: &mut Vec<u8>) {
        text::push_display(format_args!("{}\n", self.number), out);
        if self.number >= since::LAYOUT {
            match self.shard_size {
                Some(size) => text::push_display(format_args!("layout sharded {size}\n"), out),
                None => out.extend_from_slice(b"layout linear\n"),
            }
        }
        if self.number >= since::LOGICAL {
            out.extend_from_slice(match self.addressing {
                Addressing::Physical => b"addressing physical\n",
                Addressing::Logical => b"addressing logical\n",
            });
        }
    }
}

/// Refuses the line when anything from `from` on is not a digit.
fn check_digits(line: &[u8], from: usize, path: &str) -> Result<()> {
    let odd = line.iter().skip(from).find(|b| !b.is_ascii_digit());
    match odd {
        None => Ok(()),
        Some(odd) => {
            let odd = text::printable(&[*odd]);
            let line = text::printable(line);
            Err(Error::BadVersionFile(
                format!(
                    "Format file '{path}' contains unexpected non-digit '{odd}' within '{line}'"
                )
                .into(),
            ))
        }
    }
}

fn check_number(number: u32) -> Result<()> {
    match number {
        since::REFUSED => Err(Error::UnsupportedFormat(
            format!(
                "Found format '{number}', only created by unreleased dev builds; see \
                 http://subversion.apache.org/docs/release-notes/1.7#revprop-packing"
            )
            .into(),
        )),
        1..=since::YOUNGEST => Ok(()),
        _ => Err(Error::UnsupportedFormat(
            format!(
                "Expected FS format between '1' and '{}'; found format '{number}'",
                since::YOUNGEST
            )
            .into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<FormatFile> {
        FormatFile::parse(text.as_bytes(), "db/format")
    }

    #[test]
    fn all_forms_round_trip() {
        for text in [
            "1\n",
            "2\n",
            "3\nlayout linear\n",
            "4\nlayout sharded 1000\n",
            "6\nlayout sharded 7\n",
            "7\nlayout linear\naddressing physical\n",
            "8\nlayout sharded 1000\naddressing logical\n",
        ] {
            let mut out = Vec::new();
            parse(text).unwrap().write(&mut out);
            assert_eq!(out, text.as_bytes());
        }
        assert_eq!(parse("8").unwrap().number, 8);
    }

    #[test]
    fn refusals_in_the_words_of_the_reference() {
        for (text, want) in [
            ("", "Can't read first line of format file 'db/format'"),
            ("8x\n", "Format file 'db/format' contains unexpected non-digit 'x' within '8x'"),
            ("9\n", "Expected FS format between '1' and '8'; found format '9'"),
            ("0\n", "Expected FS format between '1' and '8'; found format '0'"),
            (
                "8\nlayout sharded x\n",
                "Format file 'db/format' contains unexpected non-digit 'x' within 'layout sharded x'",
            ),
            (
                "2\nlayout linear\n",
                "'db/format' contains invalid filesystem format option 'layout linear'",
            ),
            (
                "6\naddressing logical\n",
                "'db/format' contains invalid filesystem format option 'addressing logical'",
            ),
            (
                "8\naddressing logical\n",
                "'db/format' specifies logical addressing for a non-sharded repository",
            ),
            ("8\nnew thing\n", "'db/format' contains invalid filesystem format option 'new thing'"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), want);
        }
        assert!(parse("5\n").unwrap_err().to_string().starts_with("Found format '5', only"));
        assert_eq!(parse("9\n").unwrap_err().code().0, 160_043);
        assert_eq!(parse("x\n").unwrap_err().code().0, 125_006);
    }
}
