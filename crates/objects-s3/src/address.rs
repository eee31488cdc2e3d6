//! Addresses of stores: `s3://bucket/prefix`.

use sapwood_objects::Key;

use crate::error::{Error, Result};

/// What an address begins with.
const SCHEME: &str = "s3://";

/// A bucket, and what the keys in it begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The bucket.
    pub bucket: String,
    /// What the keys begin with.
    pub prefix: Key,
}

impl Address {
    /// Whether a text is meant to be one.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Parses an address.
    ///
    /// # Errors
    /// [`Error::BadAddress`]
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || Error::BadAddress(text.to_owned());
        let rest = text.strip_prefix(SCHEME).ok_or_else(bad)?;
        let (bucket, prefix) = rest.split_once('/').ok_or_else(bad)?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(allowed) {
            return Err(bad());
        }
        let prefix = Key::new(prefix.trim_end_matches('/')).map_err(|_| bad())?;
        Ok(Self { bucket: bucket.to_owned(), prefix })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.bucket, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_bucket_and_a_prefix() {
        let address = Address::parse("s3://my-bucket/svn/game/").unwrap();
        assert_eq!(address.bucket, "my-bucket");
        assert_eq!(address.prefix.as_str(), "svn/game");
        assert_eq!(address.to_string(), "s3://my-bucket/svn/game");
        let bads = [
            "s3://",
            "s3://bucket",
            "s3://bucket/",
            "s3://ab/x",
            "s3://a b c/x",
            "http://abc/x",
            "s3://abc/../x",
        ];
        for bad in bads {
            assert!(matches!(Address::parse(bad), Err(Error::BadAddress(_))), "{bad}");
        }
    }
}
