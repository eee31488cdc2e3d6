//! The file `db/format`: the format number, and how many revisions a shard has.

use sapwood_core::Revnum;

use crate::NEWEST;
use crate::error::{Error, Result};

/// What `db/format` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatFile {
    /// [`NEWEST`].
    pub number: u64,
    /// Revisions in a shard; not zero.
    pub shard_size: u64,
}

impl FormatFile {
    /// Parses the file.
    ///
    /// # Errors
    /// E160043 for other formats; E125006 for anything that is not such a file.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let wrong =
            |what: &str| Error::BadVersionFile(format!("Format file of FSX: {what}").into());
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("not text"))?;
        let mut lines = text.lines();
        let number = lines.next().unwrap_or_default();
        let number = number.parse().map_err(|_| wrong("first line contains a non-digit"))?;
        if number < NEWEST {
            return Err(Error::OldFormat(number));
        }
        if number > NEWEST {
            return Err(Error::NewFormat(number));
        }
        let layout = lines.next().and_then(|line| line.strip_prefix("layout sharded "));
        let shard_size = layout.and_then(|size| size.parse().ok()).filter(|size| *size > 0);
        let shard_size = shard_size.ok_or_else(|| wrong("no line 'layout sharded N'"))?;
        match lines.next() {
            None => Ok(Self { number, shard_size }),
            Some(line) => Err(wrong(&format!("invalid format file option '{line}'"))),
        }
    }

    /// The contents of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{}\nlayout sharded {}\n", self.number, self.shard_size)
    }

    /// The shard of a revision.
    #[must_use]
    pub const fn shard(&self, revision: Revnum) -> u64 {
        match revision.0.checked_div(self.shard_size) {
            Some(shard) => shard,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let file = FormatFile { number: 2, shard_size: 1000 };
        assert_eq!(FormatFile::parse(file.to_text().as_bytes()), Ok(file));
        assert_eq!(file.shard(Revnum(1999)), 1);
        assert_eq!(FormatFile::parse(b"3\nlayout sharded 9\n"), Err(Error::NewFormat(3)));
        assert_eq!(FormatFile::parse(b"1\nlayout sharded 9\n"), Err(Error::OldFormat(1)));
        for wrong in [
            "",
            "x\n",
            "2\n",
            "2\nlayout linear\n",
            "2\nlayout sharded 0\n",
            "2\nlayout sharded 9\nmore\n",
        ] {
            assert!(FormatFile::parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
