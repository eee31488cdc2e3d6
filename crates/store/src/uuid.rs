//! Random UUIDs, for repositories and lock tokens; and the file that holds a repository's.

use std::fs::File;
use std::io::{self, Read as _};

/// A new random UUID (version 4) in its text form.
///
/// # Errors
/// When the system has no random numbers to give.
pub fn generate() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut number = u128::from_be_bytes(bytes);
    // Version 4, variant 1.
    number = number & !(0xf << 76) | (0x4 << 76);
    number = number & !(0x3 << 62) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let mut text = String::with_capacity(36);
    for (at, digit) in hex.chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(digit);
    }
    Ok(text)
}

/// Where the dashes of a UUID are.
const DASHES: [usize; 4] = [8, 13, 18, 23];

/// Whether `text` has the form of a UUID, as leniently as the reference looks at it: digits may
/// stand in the place of dashes.
#[must_use]
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, b)| b.is_ascii_hexdigit() || (b == b'-' && DASHES.contains(&at)))
}

/// The most bytes of the first line of a repository's `uuid` file, with its end: of longer ones the reference says that
/// they are damaged.
const LINE: usize = 38;

/// The UUID in a repository's `uuid` file; `None` for a file without a first line that may be one.
#[must_use]
pub fn of_file(bytes: &[u8]) -> Option<String> {
    let line = bytes.get(..LINE).unwrap_or(bytes);
    let end = line.iter().position(|byte| *byte == b'\n')?;
    let uuid = String::from_utf8_lossy(line.get(..end)?).trim_end_matches('\r').to_owned();
    (!uuid.is_empty()).then_some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_and_difference() {
        let (a, b) = (generate().unwrap(), generate().unwrap());
        assert_ne!(a, b);
        assert!(!is_uuid("") && !is_uuid(&a[1..]) && !is_uuid(&a.replace('-', "x")));
        for uuid in [a, b] {
            assert!(is_uuid(&uuid) && is_uuid(&uuid.to_uppercase()));
            let parts: Vec<_> = uuid.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12]);
            assert_eq!(&uuid[14..15], "4");
            assert!("89ab".contains(&uuid[19..20]));
        }
    }

    #[test]
    fn the_first_line_of_a_file_and_no_longer_one() {
        let uuid = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(of_file(format!("{uuid}\n{uuid}\n").as_bytes()).as_deref(), Some(uuid));
        assert_eq!(of_file(b"short\nrest").as_deref(), Some("short"));
        assert_eq!(of_file(format!("{uuid}x\n").as_bytes()), Some(format!("{uuid}x")));
        for damaged in [String::new(), "\n".to_owned(), uuid.to_owned(), format!("{uuid}xx\n")] {
            assert_eq!(of_file(damaged.as_bytes()), None, "{damaged:?}");
        }
    }
}
