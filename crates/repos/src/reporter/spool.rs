//! Report entries on their way from the client to the walk: kept in memory up to a limit, then in
//! a temporary file without a name, so that a report of any length takes bounded memory.
//!
//! Form of an entry: a byte of flags, then the fields that the flags name, numbers as eight bytes
//! little-endian, strings as a number and so many bytes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, len64};

use crate::error::Result;

/// Bytes of entries that stay in memory.
const MEMORY_LIMIT: usize = 1 << 20;
/// The longest string that an entry may hold, in bytes.
const STRING_LIMIT: usize = 1 << 20;

const HAS_LINK: u8 = 1;
const HAS_REVISION: u8 = 2;
const START_EMPTY: u8 = 4;
const HAS_TOKEN: u8 = 8;
const DEPTH_SHIFT: u8 = 4;

/// What the client says about one path of its working copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathInfo {
    /// The path, a relpath below the anchor.
    pub(super) path: String,
    /// The fspath that is there instead of the expected one.
    pub(super) link: Option<FsPathBuf>,
    /// The revision that is there; `None` when nothing is.
    pub(super) revision: Option<Revnum>,
    /// Its depth.
    pub(super) depth: Depth,
    /// Whether a directory has none of its entries and properties.
    pub(super) start_empty: bool,
    /// The token of the lock that the working copy has.
    pub(super) lock_token: Option<String>,
}

/// Entries being written.
#[derive(Debug)]
pub(super) struct Spool {
    memory: Vec<u8>,
    file: Option<BufWriter<File>>,
}

impl Spool {
    pub(super) const fn new() -> Self {
        Self { memory: Vec::new(), file: None }
    }

    pub(super) fn write(&mut self, info: &PathInfo) -> Result<()> {
        let strings = [Some(info.path.as_str()), link_of(info), info.lock_token.as_deref()];
        if strings.into_iter().flatten().any(|s| s.len() > STRING_LIMIT) {
            let message = format!("Report entry is longer than {STRING_LIMIT} bytes");
            return Err(SvnError::new(ErrorCode::REPOS_BAD_REVISION_REPORT, message).into());
        }
        if self.file.is_none() && self.memory.len() >= MEMORY_LIMIT {
            self.file = Some(BufWriter::new(tempfile::tempfile().map_err(failed)?));
        }
        match &mut self.file {
            Some(file) => encode(info, file),
            None => encode(info, &mut self.memory),
        }
        .map_err(failed)
    }

    pub(super) fn read(self) -> Result<Entries> {
        let file = match self.file {
            None => None,
            Some(file) => {
                let mut file = file.into_inner().map_err(|e| failed(e.into_error()))?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                Some(BufReader::new(file))
            }
        };
        Ok(Entries { memory: Cursor::new(self.memory), file })
    }
}

fn failed(error: std::io::Error) -> crate::Error {
    SvnError::io(&error, "Can't store the report in a temporary file").into()
}

/// Entries being read back.
#[derive(Debug)]
pub(super) struct Entries {
    memory: Cursor<Vec<u8>>,
    file: Option<BufReader<File>>,
}

impl Entries {
    /// The next entry, `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<PathInfo>> {
        let found = match decode(&mut self.memory).map_err(failed)? {
            None => self.file.as_mut().map_or(Ok(None), decode).map_err(failed)?,
            found => found,
        };
        Ok(found)
    }
}

fn encode(info: &PathInfo, out: &mut impl Write) -> std::io::Result<()> {
    let depth = match info.depth {
        Depth::Unknown | Depth::Infinity => 0,
        Depth::Exclude => 1,
        Depth::Empty => 2,
        Depth::Files => 3,
        Depth::Immediates => 4,
    };
    let mut flags = depth << DEPTH_SHIFT;
    for (flag, is) in [
        (HAS_LINK, info.link.is_some()),
        (HAS_REVISION, info.revision.is_some()),
        (START_EMPTY, info.start_empty),
        (HAS_TOKEN, info.lock_token.is_some()),
    ] {
        flags |= if is { flag } else { 0 };
    }
    out.write_all(&[flags])?;
    let mut string = |s: &str| {
        out.write_all(&len64(s.len()).to_le_bytes())?;
        out.write_all(s.as_bytes())
    };
    string(&info.path)?;
    link_of(info).map_or(Ok(()), &mut string)?;
    info.lock_token.as_deref().map_or(Ok(()), &mut string)?;
    info.revision.map_or(Ok(()), |r| out.write_all(&r.0.to_le_bytes()))
}

fn link_of(info: &PathInfo) -> Option<&str> {
    info.link.as_ref().map(|link| link.as_str())
}

fn decode(from: &mut impl Read) -> std::io::Result<Option<PathInfo>> {
    let mut flags = [0u8];
    if from.read(&mut flags)? == 0 {
        return Ok(None);
    }
    let [flags] = flags;
    let has = |flag: u8| flags & flag != 0;
    let path = read_string(from)?;
    let link = match has(HAS_LINK) {
        true => Some(FsPathBuf::new(read_string(from)?).map_err(std::io::Error::other)?),
        false => None,
    };
    let lock_token = if has(HAS_TOKEN) { Some(read_string(from)?) } else { None };
    let revision = if has(HAS_REVISION) { Some(Revnum(read_number(from)?)) } else { None };
    let depth = match flags >> DEPTH_SHIFT {
        1 => Depth::Exclude,
        2 => Depth::Empty,
        3 => Depth::Files,
        4 => Depth::Immediates,
        _ => Depth::Infinity,
    };
    Ok(Some(PathInfo { path, link, revision, depth, start_empty: has(START_EMPTY), lock_token }))
}

fn read_number(from: &mut impl Read) -> std::io::Result<u64> {
    let mut bytes = [0u8; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn read_string(from: &mut impl Read) -> std::io::Result<String> {
    let damaged = || std::io::Error::from(std::io::ErrorKind::InvalidData);
    let len = usize::try_from(read_number(from)?).map_err(|_| damaged())?;
    if len > STRING_LIMIT {
        return Err(damaged());
    }
    let mut bytes = vec![0; len];
    from.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| damaged())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_order_also_from_the_file() {
        let mut spool = Spool::new();
        let entry = |n: u64| PathInfo {
            path: format!("dir/{n}/{}", "x".repeat(200)),
            link: n.is_multiple_of(3).then(|| FsPathBuf::canonicalize(&format!("/elsewhere/{n}"))),
            revision: (!n.is_multiple_of(5)).then_some(Revnum(n)),
            depth: [Depth::Infinity, Depth::Exclude, Depth::Empty, Depth::Files, Depth::Immediates]
                [usize::try_from(n % 5).unwrap()],
            start_empty: n.is_multiple_of(2),
            lock_token: n.is_multiple_of(7).then(|| "opaquelocktoken:1".to_owned()),
        };
        let count = 12_000;
        for n in 0..count {
            spool.write(&entry(n)).unwrap();
        }
        assert!(spool.file.is_some());
        let mut entries = spool.read().unwrap();
        for n in 0..count {
            assert_eq!(entries.next().unwrap(), Some(entry(n)));
        }
        assert_eq!(entries.next().unwrap(), None);
    }
}
