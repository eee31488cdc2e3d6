//! A text that is hashed and counted while it is read.

use std::io::{self, Read};

use sapwood_core::checksum::{Md5Hasher, Sha1Hasher};
use sapwood_core::{Cut as _, Exact as _, Md5, Sha1, len64};

/// Which checksums of a text are computed while it is stored.
#[derive(Clone, Copy, Debug)]
pub enum Hashes {
    /// Of directories, which are not shared.
    Md5,
    /// Of texts that an equal one may stand for.
    Both,
    /// None: these are they.
    Known((Md5, Sha1)),
}

/// A text as [`Read`].
#[derive(Debug)]
pub struct HashedText<'a, R: ?Sized> {
    inner: &'a mut R,
    hashes: Hashes,
    md5: Md5Hasher,
    sha1: Sha1Hasher,
    len: u64,
    /// What was read, while it is not longer than so many bytes.
    kept: Option<(Vec<u8>, usize)>,
}

/// What is known of a text that was read.
#[derive(Debug)]
pub struct TextRead {
    /// Its bytes.
    pub len: u64,
    /// Its MD5.
    pub md5: Md5,
    /// Its SHA-1, if that was wanted or known.
    pub sha1: Option<Sha1>,
    /// The text itself, if it was wanted and is short enough.
    pub text: Option<Vec<u8>>,
}

impl<'a, R: Read + ?Sized> HashedText<'a, R> {
    /// Hashes what is read of `inner`; a text of at most `keep` bytes is kept.
    pub fn new(inner: &'a mut R, hashes: Hashes, keep: Option<usize>) -> Self {
        let (md5, sha1) = (Md5Hasher::new(), Sha1Hasher::new());
        Self { inner, hashes, md5, sha1, len: 0, kept: keep.map(|most| (Vec::new(), most)) }
    }

    /// What was read, all of which was the text.
    #[must_use]
    pub fn finish(self) -> TextRead {
        let (md5, sha1) = match self.hashes {
            Hashes::Md5 => (self.md5.finish(), None),
            Hashes::Both => (self.md5.finish(), Some(self.sha1.finish())),
            Hashes::Known((md5, sha1)) => (md5, Some(sha1)),
        };
        TextRead { len: self.len, md5, sha1, text: self.kept.map(|(text, _)| text) }
    }
}

impl<R: Read + ?Sized> Read for HashedText<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buf)?;
        if got > buf.len() {
            let message = "a reader says that it read more than there is room for";
            return Err(io::Error::other(message));
        }
        let bytes = buf.piece(..got);
        if !matches!(self.hashes, Hashes::Known(_)) {
            self.md5.update(bytes);
        }
        if matches!(self.hashes, Hashes::Both) {
            self.sha1.update(bytes);
        }
        self.len = self.len.plus(len64(got));
        match &mut self.kept {
            Some((kept, most)) if kept.len().plus(got) <= *most => kept.extend_from_slice(bytes),
            kept => *kept = None,
        }
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], hashes: Hashes, keep: Option<usize>) -> TextRead {
        let mut inner = text;
        let mut hashed = HashedText::new(&mut inner, hashes, keep);
        io::copy(&mut hashed, &mut io::sink()).unwrap();
        hashed.finish()
    }

    #[test]
    fn texts_are_hashed_and_short_ones_kept() {
        let (md5, sha1) = (Md5::of(b"text"), Sha1::of(b"text"));
        let both = read(b"text", Hashes::Both, Some(4));
        assert_eq!((both.len, both.md5, both.sha1), (4, md5, Some(sha1)));
        assert_eq!(both.text.as_deref(), Some(&b"text"[..]));
        let one = read(b"text", Hashes::Md5, Some(3));
        assert_eq!((one.md5, one.sha1, one.text), (md5, None, None));
        // What is known is believed: the caller has computed it.
        let known = (Md5::of(b"other"), Sha1::of(b"other"));
        let named = read(b"text", Hashes::Known(known), None);
        assert_eq!((named.len, named.md5, named.sha1), (4, known.0, Some(known.1)));
    }
}
