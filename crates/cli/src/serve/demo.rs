//! The demonstration repository: 7 KiB inside the program, unpacked where it can be served.
//!
//! The container (made by `demo/make.sh`) holds for each folder or file a line `PATH LENGTH` and
//! the file's bytes, and is compressed with gzip. It is our own, so what is wrong with it is a
//! mistake of the build; unpacking checks it all the same.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::user_folders;

const PACK: &[u8] = include_bytes!("../../demo/repository.pack");
/// More than the demonstration will ever be.
const MAX_UNPACKED: u64 = 16 << 20;

/// Where the demonstration is kept: in the user's data folder.
pub(super) fn default_place() -> PathBuf {
    user_folders::data().join("demo")
}

/// Unpacks the demonstration to `place`, unless there is a repository already. The last step is
/// a rename, so that an existing one is complete.
pub(super) fn unpack(place: &Path) -> io::Result<()> {
    if place.join("format").is_file() {
        return Ok(());
    }
    let parent = place.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    let partial = parent.join(format!(".demo-{}", std::process::id()));
    let result = unpack_to(&partial).and_then(|()| std::fs::rename(&partial, place));
    if result.is_err() {
        let _ = std::fs::remove_dir_all(&partial);
    }
    result
}

fn unpack_to(folder: &Path) -> io::Result<()> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(PACK).take(MAX_UNPACKED).read_to_end(&mut bytes)?;
    std::fs::create_dir_all(folder)?;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let (path, contents, after) = entry(rest).ok_or_else(damaged)?;
        rest = after;
        let target = folder.join(path);
        if path.ends_with('/') {
            std::fs::create_dir_all(target)?;
        } else {
            std::fs::write(target, contents)?;
        }
    }
    Ok(())
}

/// The first entry: its path, its contents, and what follows.
fn entry(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    let (line, rest) = bytes.split_at_checked(end)?;
    let (path, len) = std::str::from_utf8(line).ok()?.rsplit_once(' ')?;
    let plain = Path::new(path).components().all(|c| matches!(c, Component::Normal(_)));
    let (contents, rest) = rest.get(1..)?.split_at_checked(len.parse().ok()?)?;
    plain.then_some((path, contents, rest))
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the demonstration is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacks_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a/demo");
        unpack(&place).unwrap();
        assert_eq!(std::fs::read_to_string(place.join("db/current")).unwrap(), "12\n");
        assert!(place.join("locks").is_dir());
        std::fs::write(place.join("db/current"), "13\n").unwrap();
        unpack(&place).unwrap();
        assert_eq!(std::fs::read_to_string(place.join("db/current")).unwrap(), "13\n");
        assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn entries_stay_inside() {
        assert!(entry(b"a/b 3\nxyz").is_some());
        for bad in [&b"../b 1\nx"[..], b"/b 1\nx", b"b 2\nx", b"b\n", b"b 1"] {
            assert!(entry(bad).is_none());
        }
    }
}
