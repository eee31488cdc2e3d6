//! What a line is compared as.

use std::borrow::Cow;

use crate::options::{IgnoreSpace, Options};

/// White space in C's sense, line endings excepted: those are never ignored as space.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

/// A line without what the options ignore. Runs of space become one space or nothing; trailing
/// space is treated like any other.
pub(crate) fn normalize<'a>(line: &'a [u8], options: &Options) -> Cow<'a, [u8]> {
    let spaces = options.ignore_space != IgnoreSpace::None && line.iter().any(|b| is_space(*b));
    let endings = options.ignore_eol_style && line.contains(&b'\r');
    if !spaces && !endings {
        return Cow::Borrowed(line);
    }
    let mut out = Vec::with_capacity(line.len());
    let (mut in_space, mut after_cr) = (false, false);
    for byte in line {
        match *byte {
            b'\r' => {
                out.push(if options.ignore_eol_style { b'\n' } else { b'\r' });
                (in_space, after_cr) = (false, true);
            }
            b'\n' => {
                if !(after_cr && options.ignore_eol_style) {
                    out.push(b'\n');
                }
                (in_space, after_cr) = (false, false);
            }
            space if is_space(space) && options.ignore_space != IgnoreSpace::None => {
                if !in_space && options.ignore_space == IgnoreSpace::Change {
                    out.push(b' ');
                }
                (in_space, after_cr) = (true, false);
            }
            other => {
                out.push(other);
                (in_space, after_cr) = (false, false);
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option() {
        let with = |ignore_space, ignore_eol_style, line: &'static [u8]| {
            let options = Options { ignore_space, ignore_eol_style, ..Options::default() };
            normalize(line, &options).into_owned()
        };
        let line = b"\t a  b \r\n";
        assert_eq!(with(IgnoreSpace::None, false, line), line);
        assert_eq!(with(IgnoreSpace::Change, false, line), b" a b \r\n");
        assert_eq!(with(IgnoreSpace::All, false, line), b"ab\r\n");
        assert_eq!(with(IgnoreSpace::None, true, line), b"\t a  b \n");
        assert_eq!(with(IgnoreSpace::All, true, b" a\r"), b"a\n");
    }
}
