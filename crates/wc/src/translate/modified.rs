//! Whether a working file is modified, by its text.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use sapwood_core::checksum::Sha1Hasher;
use sapwood_core::exact::Exact;
use sapwood_core::{Sha1, SvnError, SvnResult};

use super::stream::TranslatedReader;
use super::{Direction, Translation, special};

/// How much of each text is compared at once.
const CHUNK: usize = 64 << 10;

/// Whether the working file at `path` has the pristine text: compared in normal form, line
/// endings repaired, as a commit that need not be strict would see it. `pristine_len` is the
/// length of the pristine text in bytes; where the two forms are the same the text is read only
/// if the lengths are.
///
/// # Errors
/// When one of them cannot be read, and `E135001` for an unknown `svn:eol-style`.
pub fn same_as_pristine<T: Read>(
    path: &Path,
    translation: &Translation,
    pristine_len: u64,
    pristine: impl FnOnce() -> SvnResult<T>,
) -> SvnResult<bool> {
    let failed = |error: std::io::Error| {
        SvnError::io(&error, format_args!("Can't read file '{}'", path.display()))
    };
    if translation.special {
        let working = special::read_normal(path).map_err(failed)?;
        return same_bytes(working, pristine()?).map_err(SvnError::from_stream);
    }
    let open = || {
        File::open(path).map_err(|error| {
            SvnError::io(&error, format_args!("Can't open file '{}'", path.display()))
        })
    };
    if !translation.is_needed() {
        if fs::symlink_metadata(path).map_err(failed)?.len() != pristine_len {
            return Ok(false);
        }
        return same_bytes(open()?, pristine()?).map_err(SvnError::from_stream);
    }
    let translator = translation.translator(Direction::ToNormal, true)?;
    same_bytes(TranslatedReader::new(open()?, translator), pristine()?)
        .map_err(SvnError::from_stream)
}

/// As [`same_as_pristine`] for a text that is not at hand: by its SHA-1.
///
/// # Errors
/// As there.
pub(crate) fn has_sum(
    path: &Path,
    translation: &Translation,
    pristine_len: u64,
    sha1: &Sha1,
) -> SvnResult<bool> {
    let failed = |error: std::io::Error| {
        SvnError::io(&error, format_args!("Can't read file '{}'", path.display()))
    };
    if !translation.special
        && !translation.is_needed()
        && fs::symlink_metadata(path).map_err(failed)?.len() != pristine_len
    {
        return Ok(false);
    }
    sum_is(&mut translation.normal_form(path, true)?, sha1).map_err(SvnError::from_stream)
}

/// Whether the rest of a stream has this SHA-1.
///
/// # Errors
/// When it cannot be read.
fn sum_is(text: &mut dyn Read, sha1: &Sha1) -> std::io::Result<bool> {
    let mut sum = Sha1Hasher::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        let len = fill(text, &mut buffer)?;
        sum.update(buffer.get(..len).unwrap_or(&buffer));
        if len < CHUNK {
            return Ok(sum.finish() == *sha1);
        }
    }
}

/// Whether two streams give the same bytes.
///
/// # Errors
/// When one of them cannot be read.
pub fn same_bytes(mut a: impl Read, mut b: impl Read) -> std::io::Result<bool> {
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let a_len = fill(&mut a, &mut left)?;
        let b_len = fill(&mut b, &mut right)?;
        if a_len != b_len || left.get(..a_len) != right.get(..b_len) {
            return Ok(false);
        }
        if a_len < CHUNK {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or the stream ends.
fn fill(from: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut len = 0usize;
    while let Some(rest) = buffer.get_mut(len..).filter(|r| !r.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(more) => len = len.plus(more),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use sapwood_core::PropList;

    use super::*;

    #[test]
    fn by_normal_form() {
        let folder = tempfile::tempdir().unwrap();
        let (working, pristine) = (folder.path().join("w"), folder.path().join("p"));
        let check = |props: &[(&str, &str)], text: &str, base: &str| {
            fs::write(&working, text).unwrap();
            fs::write(&pristine, base).unwrap();
            let props: PropList = props.iter().copied().collect();
            let translation = Translation::of(&props, None);
            let len = u64::try_from(base.len()).unwrap();
            same_as_pristine(&working, &translation, len, || Ok(File::open(&pristine).unwrap()))
                .unwrap()
        };
        assert!(check(&[], "a\n", "a\n"));
        assert!(!check(&[], "a\n", "b\n"));
        assert!(!check(&[], "a\n", "a\n\n"));
        assert!(check(&[("svn:eol-style", "native")], "a\r\nb\n", "a\nb\n"));
        assert!(!check(&[("svn:eol-style", "CRLF")], "a\r\n", "a\n"));
        assert!(check(&[("svn:keywords", "Rev")], "$Rev: 5 $\n", "$Rev$\n"));
        assert!(!check(&[("svn:keywords", "Rev")], "$Rev: 5 $.\n", "$Rev$\n"));
    }
}
