//! The hash-dump form: names and values with their lengths, as property lists, old-style
//! directories and several small files are stored.
//!
//! ```text
//! K 5            length of the name
//! color
//! V 3            length of the value
//! red
//! D 4            (incremental form only) a name that is gone
//! size
//! END            the terminator, absent in some uses
//! ```
//!
//! Reading copies nothing: entries borrow from the input, so every length is checked against
//! what is there before it is used, and no length can make the reader allocate.

use crate::Cut;
use thiserror::Error;

use crate::error::{ErrorCode, SvnError};
use crate::props::PropList;
use crate::revnum::parse_u64;

/// The terminator of most hash dumps.
pub const END: &str = "END";
/// The terminator of the property blocks of dump streams and of rev files.
pub const PROPS_END: &str = "PROPS-END";

/// Why bytes are not a hash dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The input ends before the terminator.
    #[error("Serialized hash missing terminator")]
    Terminator,
    /// The length of a name is not a number.
    #[error("Serialized hash malformed key length")]
    KeyLength,
    /// A name is cut short or not followed by a newline.
    #[error("Serialized hash malformed key data")]
    KeyData,
    /// The length of a value is not a number.
    #[error("Serialized hash malformed value length")]
    ValueLength,
    /// A value is cut short or not followed by a newline.
    #[error("Serialized hash malformed value data")]
    ValueData,
    /// A line is none of those that may stand there.
    #[error("Serialized hash malformed")]
    Malformed,
    /// A name of a property list is not UTF-8.
    #[error("Serialized hash has a key that is not UTF-8")]
    NotUtf8,
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        Self::new(ErrorCode::MALFORMED_FILE, error.to_string())
    }
}

/// One entry of a hash dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A name and its value.
    Set {
        /// The name, any bytes.
        name: &'a [u8],
        /// The value, any bytes.
        value: &'a [u8],
    },
    /// A name that the incremental form takes away.
    Delete {
        /// The name, any bytes.
        name: &'a [u8],
    },
}

/// Reads the entries of a hash dump one by one.
///
/// As an iterator it ends after the terminator, or after the first error.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    terminator: Option<&'a str>,
    incremental: bool,
    done: bool,
}

impl<'a> Reader<'a> {
    /// A reader of the plain form. Without a terminator the dump ends where the input does.
    #[must_use]
    pub const fn new(bytes: &'a [u8], terminator: Option<&'a str>) -> Self {
        Self { rest: bytes, terminator, incremental: false, done: false }
    }

    /// A reader that takes `D` entries as well.
    #[must_use]
    pub const fn incremental(bytes: &'a [u8], terminator: Option<&'a str>) -> Self {
        Self { rest: bytes, terminator, incremental: true, done: false }
    }

    /// What follows the part that was read so far; after the last entry, what follows the
    /// terminator's line.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next line without its newline, and whether the newline was there.
    fn line(&mut self) -> (&'a [u8], bool) {
        match memchr::memchr(b'\n', self.rest).and_then(|at| self.rest.split_at_checked(at)) {
            Some((line, rest)) => {
                self.rest = rest.tail(1);
                (line, true)
            }
            None => (std::mem::take(&mut self.rest), false),
        }
    }

    /// Takes `len` bytes and the newline after them.
    fn counted(&mut self, len: u64) -> Option<&'a [u8]> {
        let (data, rest) = self.rest.split_at_checked(usize::try_from(len).ok()?)?;
        self.rest = rest.strip_prefix(b"\n")?;
        Some(data)
    }

    fn name(&mut self, length: &[u8]) -> Result<&'a [u8], Error> {
        self.counted(parse_u64(length).ok_or(Error::KeyLength)?).ok_or(Error::KeyData)
    }

    /// The next entry, `None` after the last.
    ///
    /// # Errors
    /// When the input is not a hash dump of the kind asked for.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'a>>, Error> {
        if self.done {
            return Ok(None);
        }
        let (line, whole) = self.line();
        let ends = match self.terminator {
            Some(word) => line == word.as_bytes(),
            None => line.is_empty() && !whole,
        };
        if ends {
            self.done = true;
            return Ok(None);
        }
        if !whole {
            return Err(Error::Terminator);
        }
        if let Some(length) = line.strip_prefix(b"K ") {
            let name = self.name(length)?;
            let (line, _) = self.line();
            let length = line.strip_prefix(b"V ").ok_or(Error::Malformed)?;
            let length = parse_u64(length).ok_or(Error::ValueLength)?;
            let value = self.counted(length).ok_or(Error::ValueData)?;
            return Ok(Some(Entry::Set { name, value }));
        }
        match line.strip_prefix(b"D ") {
            Some(length) if self.incremental => {
                Ok(Some(Entry::Delete { name: self.name(length)? }))
            }
            _ => Err(Error::Malformed),
        }
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_entry();
        self.done |= next.is_err();
        next.transpose()
    }
}

/// Reads a property list that fills `bytes` up to the terminator; what follows is ignored, as in
/// the reference. A name that comes twice has its last value.
///
/// # Errors
/// When the input is not a hash dump in the plain form, or a name is not UTF-8.
pub fn parse(bytes: &[u8], terminator: Option<&str>) -> Result<PropList, Error> {
    let mut props = PropList::new();
    apply(&mut props, Reader::new(bytes, terminator))?;
    Ok(props)
}

/// Changes `props` by the entries of an incremental hash dump.
///
/// # Errors
/// As [`parse`]; the entries before the faulty one are then already applied.
pub fn parse_incremental(
    props: &mut PropList,
    bytes: &[u8],
    terminator: Option<&str>,
) -> Result<(), Error> {
    apply(props, Reader::incremental(bytes, terminator))
}

fn apply(props: &mut PropList, mut reader: Reader<'_>) -> Result<(), Error> {
    let text = |name| std::str::from_utf8(name).map_err(|_| Error::NotUtf8);
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Entry::Set { name, value } => {
                props.set(text(name)?, value);
            }
            Entry::Delete { name } => {
                props.remove(text(name)?);
            }
        }
    }
    Ok(())
}

/// Writes one entry of the plain form.
pub fn write_entry(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    counted(out, b"K ", name);
    counted(out, b"V ", value);
}

/// Writes one deletion of the incremental form.
pub fn write_deletion(out: &mut Vec<u8>, name: &[u8]) {
    counted(out, b"D ", name);
}

/// Writes a terminator's line.
pub fn write_terminator(out: &mut Vec<u8>, terminator: &str) {
    out.extend_from_slice(terminator.as_bytes());
    out.push(b'\n');
}

/// Writes a property list in the order of its names, and the terminator if there is one.
pub fn write(out: &mut Vec<u8>, props: &PropList, terminator: Option<&str>) {
    for (name, value) in props.iter() {
        write_entry(out, name.as_bytes(), value);
    }
    if let Some(terminator) = terminator {
        write_terminator(out, terminator);
    }
}

/// Writes what makes `old` into `new`: first the values that are new or other, then the
/// deletions, each in the order of names.
pub fn write_incremental(
    out: &mut Vec<u8>,
    old: &PropList,
    new: &PropList,
    terminator: Option<&str>,
) {
    for (name, value) in new.iter().filter(|(name, value)| old.get(name) != Some(*value)) {
        write_entry(out, name.as_bytes(), value);
    }
    for (name, _) in old.iter().filter(|(name, _)| new.get(name).is_none()) {
        write_deletion(out, name.as_bytes());
    }
    if let Some(terminator) = terminator {
        write_terminator(out, terminator);
    }
}

fn counted(out: &mut Vec<u8>, letter: &[u8], bytes: &[u8]) {
    out.extend_from_slice(letter);
    out.extend_from_slice(itoa::Buffer::new().format(bytes.len()).as_bytes());
    out.push(b'\n');
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"K 5\ncolor\nV 3\nred\nK 1\nb\nV 4\na\nb\n\nEND\n";

    #[test]
    fn reads_and_writes_the_plain_form() {
        let props = parse(TWO, Some(END)).unwrap();
        assert_eq!(props.get("color"), Some(&b"red"[..]));
        assert_eq!(props.get("b"), Some(&b"a\nb\n"[..]));
        let mut out = Vec::new();
        write(&mut out, &props, Some(END));
        assert_eq!(out, b"K 1\nb\nV 4\na\nb\n\nK 5\ncolor\nV 3\nred\nEND\n");
        assert_eq!(parse(&out, Some(END)), Ok(props));
    }

    #[test]
    fn terminators() {
        assert_eq!(parse(b"END\n", Some(END)), Ok(PropList::new()));
        assert_eq!(parse(b"END", Some(END)), Ok(PropList::new()));
        assert_eq!(parse(b"PROPS-END\nmore", Some(PROPS_END)), Ok(PropList::new()));
        assert_eq!(parse(b"", None), Ok(PropList::new()));
        assert_eq!(parse(b"", Some(END)), Err(Error::Terminator));
        assert_eq!(parse(b"END\n", None), Err(Error::Malformed));
        let mut reader = Reader::new(b"K 1\na\nV 0\n\nEND\nmore", Some(END));
        assert_eq!(reader.next_entry(), Ok(Some(Entry::Set { name: b"a", value: b"" })));
        assert_eq!(reader.next_entry(), Ok(None));
        assert_eq!(reader.next_entry(), Ok(None));
        assert_eq!(reader.rest(), b"more");
    }

    #[test]
    fn each_fault_has_its_sentence() {
        for (input, fault) in [
            (&b"K x\n"[..], Error::KeyLength),
            (b"K -1\n", Error::KeyLength),
            (b"K 99999999999999999999\n", Error::KeyLength),
            (b"K 18446744073709551615\nab", Error::KeyData),
            (b"K 2\na\nV 1\nb\nEND\n", Error::KeyData),
            (b"K 1\nab\nV 1\nb\nEND\n", Error::KeyData),
            (b"K 1\na\nV \nb\nEND\n", Error::ValueLength),
            (b"K 1\na\nV 9\nb\nEND\n", Error::ValueData),
            (b"K 1\na\nEND\n", Error::Malformed),
            (b"D 1\na\nEND\n", Error::Malformed),
            (b"\n", Error::Malformed),
            (b"K 1\na\nV 1\nb\n", Error::Terminator),
            (b"K 1\n\xff\nV 1\nb\nEND\n", Error::NotUtf8),
        ] {
            assert_eq!(parse(input, Some(END)), Err(fault), "{:?}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn incremental_form_turns_one_list_into_the_other() {
        let list = |pairs: &[(&str, &str)]| -> PropList {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec())).collect()
        };
        let old = list(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let new = list(&[("b", "2"), ("c", "4"), ("d", "5")]);
        let mut out = Vec::new();
        write_incremental(&mut out, &old, &new, Some(PROPS_END));
        assert_eq!(out, b"K 1\nc\nV 1\n4\nK 1\nd\nV 1\n5\nD 1\na\nPROPS-END\n");
        let mut made = old;
        parse_incremental(&mut made, &out, Some(PROPS_END)).unwrap();
        assert_eq!(made, new);
    }
}
