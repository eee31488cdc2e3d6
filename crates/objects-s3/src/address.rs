//! Addresses of stores: `s3://bucket/prefix`, `az://container/prefix`, `gs://bucket/prefix`.

use sapwood_objects::{Key, OpenError};

/// How an address looks.
const FORM: &str = "a store: s3://BUCKET/PREFIX, az://CONTAINER/PREFIX and gs://BUCKET/PREFIX are";

/// Whose protocol a store speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// Amazon's S3, and all that speak as it does.
    S3,
    /// Azure's blob storage.
    Azure,
    /// Google's cloud storage.
    Google,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::S3, Self::Azure, Self::Google];

    /// What stands before `://`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Azure => "az",
            Self::Google => "gs",
        }
    }
}

/// A bucket, and what the keys in it begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whose protocol it speaks.
    pub scheme: Scheme,
    /// The bucket; Azure's word is container.
    pub bucket: String,
    /// What the keys begin with.
    pub prefix: Key,
}

impl Address {
    /// Parses an address.
    ///
    /// # Errors
    /// [`OpenError::BadAddress`]
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        let bad = || OpenError::BadAddress { address: text.to_owned(), of: FORM };
        let (scheme, rest) = text.split_once("://").ok_or_else(bad)?;
        let scheme = Scheme::ALL.into_iter().find(|known| known.name() == scheme);
        let scheme = scheme.ok_or_else(bad)?;
        let (bucket, prefix) = rest.split_once('/').ok_or_else(bad)?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(allowed) {
            return Err(bad());
        }
        let prefix = Key::new(prefix.trim_end_matches('/')).map_err(|_| bad())?;
        Ok(Self { scheme, bucket: bucket.to_owned(), prefix })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}/{}", self.scheme.name(), self.bucket, self.prefix)
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
        for text in ["az://container/svn", "gs://bucket/svn"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        let bads = [
            "az:/abc/x",
            "s3://",
            "s3://bucket",
            "s3://bucket/",
            "s3://ab/x",
            "s3://a b c/x",
            "http://abc/x",
            "s3://abc/../x",
        ];
        for bad in bads {
            assert!(matches!(Address::parse(bad), Err(OpenError::BadAddress { .. })), "{bad}");
        }
    }
}
