//! Digest files in `locks`: the lock on a path, and which paths below it are locked.

use std::collections::BTreeMap;

use sapwood_core::Md5;
use sapwood_core::date::Timestamp;
use sapwood_core::hashdump::{self, END, Entry, Reader};
use sapwood_core::paths::FsPathBuf;

use crate::error::{Error, Result};
use crate::text::{self, fspath};

/// A lock as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLock {
    /// The locked path.
    pub path: FsPathBuf,
    /// `opaquelocktoken:` and a UUID.
    pub token: String,
    /// The user that holds it.
    pub owner: String,
    /// Why; `None` when none was given.
    pub comment: Option<String>,
    /// Whether the comment is a DAV client's XML.
    pub is_dav_comment: bool,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends, `None` for never.
    pub expires: Option<Timestamp>,
}

/// What a digest file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestFile {
    /// The lock on this very path.
    pub lock: Option<StoredLock>,
    /// Digests of locked paths below this one.
    pub children: Vec<Md5>,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl DigestFile {
    /// Parses the file; `path` (the file's) and `db` (the filesystem's) are for error sentences.
    ///
    /// # Errors
    /// `MalformedHash` when it is no hash dump, `BadDate`, and `Corrupt`.
    pub fn parse(bytes: &[u8], path: &str, db: &str) -> Result<Self> {
        let mut fields = BTreeMap::new();
        for entry in Reader::new(bytes, Some(END)) {
            if let Entry::Set { name, value } = entry? {
                fields.insert(name, value);
            }
        }
        let mut file = Self::default();
        if let Some(locked) = fields.get(&b"path"[..]) {
            let corrupt = || {
                let locked = text::printable(locked);
                let message = format!("Corrupt lockfile for path '{locked}' in filesystem '{db}'");
                Error::corrupt(message)
            };
            let text = |name: &[u8]| -> Result<Option<String>> {
                let value = fields.get(name).map(|v| std::str::from_utf8(v));
                Ok(value.transpose().map_err(|_| corrupt())?.map(str::to_owned))
            };
            let time =
                |value: String| Timestamp::parse(value.as_bytes()).map_err(|_| Error::BadDate);
            file.lock = Some(StoredLock {
                path: fspath(locked).ok_or_else(corrupt)?.to_owned(),
                token: text(b"token")?.ok_or_else(corrupt)?,
                owner: text(b"owner")?.ok_or_else(corrupt)?,
                comment: text(b"comment")?,
                is_dav_comment: fields
                    .get(&b"is_dav_comment"[..])
                    .ok_or_else(corrupt)?
                    .starts_with(b"1"),
                created: text(b"creation_date")?.ok_or_else(corrupt).and_then(time)?,
                expires: text(b"expiration_date")?.map(time).transpose()?,
            });
        }
        for child in fields.get(&b"children"[..]).unwrap_or(&&b""[..]).split(|b| *b == b'\n') {
            if !child.is_empty() {
                file.children.push(Md5::parse(child).ok_or_else(|| {
                    Error::corrupt(format!("Malformed child digest in lock file '{path}'"))
                })?);
            }
        }
        Ok(file)
    }

    /// Appends the file's contents.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut fields: Vec<(&str, String)> = Vec::new();
        if !self.children.is_empty() {
            let children = self.children.iter().map(|c| format!("{c}\n")).collect();
            fields.push(("children", children));
        }
        if let Some(lock) = &self.lock {
            if let Some(comment) = &lock.comment {
                fields.push(("comment", comment.clone()));
            }
            fields.push(("creation_date", lock.created.to_string()));
            if let Some(expires) = lock.expires {
                fields.push(("expiration_date", expires.to_string()));
            }
            fields.push(("is_dav_comment", if lock.is_dav_comment { "1" } else { "0" }.into()));
            fields.push(("owner", lock.owner.clone()));
            fields.push(("path", lock.path.clone().into_string()));
            fields.push(("token", lock.token.clone()));
        }
        for (name, value) in &fields {
            hashdump::write_entry(out, name.as_bytes(), value.as_bytes());
        }
        hashdump::write_terminator(out, END);
    }
}

/// The digest of an fspath, which names its file.
#[must_use]
pub fn digest_of(fspath: &str) -> Md5 {
    Md5::of(fspath.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_damage() {
        let file = DigestFile {
            lock: Some(StoredLock {
                path: FsPathBuf::new("/trunk/a b".into()).unwrap(),
                token: "opaquelocktoken:7cb4f3c2-0000-0000-0000-000000000000".into(),
                owner: "jrandom".into(),
                comment: Some("because\nof this".into()),
                is_dav_comment: false,
                created: Timestamp(1_700_000_000_123_456),
                expires: None,
            }),
            children: vec![digest_of("/trunk/a b/c")],
        };
        let mut out = Vec::new();
        file.write(&mut out);
        assert_eq!(DigestFile::parse(&out, "x", "db"), Ok(file));
        for len in 0..out.len() - 1 {
            assert!(DigestFile::parse(&out[..len], "x", "db").is_err());
        }
        let text = String::from_utf8(out).unwrap();
        for (from, to) in [("K 5\ntoken", "K 5\nToken"), ("-", "+"), ("/trunk/a b", "/trunk/a//")] {
            assert!(
                DigestFile::parse(text.replace(from, to).as_bytes(), "x", "db").is_err(),
                "{to}"
            );
        }
        assert_eq!(DigestFile::parse(b"END\n", "x", "db"), Ok(DigestFile::default()));
    }

    #[test]
    fn digest() {
        assert_eq!(digest_of("/").to_hex(), "6666cd76f96956469e7be39d750cc7d9");
    }
}
