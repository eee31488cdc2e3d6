//! Special files. Their normal form is a line, `link TARGET` for a symbolic link, without a line
//! ending. A line of any other kind becomes a plain file with that line as its text, so that it
//! can be edited.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use sapwood_core::len64;

/// What the normal form of a symbolic link begins with.
const LINK: &[u8] = b"link ";
/// The most bytes of a target that are read; no system has links to longer ones.
const LONGEST_TARGET: u64 = 64 << 10;

/// The normal form of the file at `path`: of a symbolic link its line, of a plain file its text.
///
/// # Errors
/// When it cannot be read.
pub fn read_normal(path: &Path) -> io::Result<Box<dyn Read>> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Ok(Box::new(io::Cursor::new(link_normal_form(path)?)));
    }
    Ok(Box::new(fs::File::open(path)?))
}

/// The normal form of a symbolic link.
///
/// # Errors
/// When there is no such link.
pub fn link_normal_form(path: &Path) -> io::Result<Vec<u8>> {
    let target = fs::read_link(path)?.into_os_string().into_vec();
    Ok([LINK, &target].concat())
}

/// The target that a normal form names; `None` when it is not a symbolic link's.
#[must_use]
fn link_target(normal: &[u8]) -> Option<&OsStr> {
    let line = memchr::memchr(b'\n', normal).and_then(|at| normal.get(..at)).unwrap_or(normal);
    line.strip_prefix(LINK).map(OsStr::from_bytes)
}

/// Makes the working form of a special file at `path`, which must not exist: a symbolic link, or
/// a plain file with the text as it is.
///
/// # Errors
/// When it cannot be made.
pub fn create_working(path: &Path, normal: &mut dyn Read) -> io::Result<()> {
    let mut text = Vec::new();
    normal.take(len64(LINK.len())).read_to_end(&mut text)?;
    if text == LINK {
        normal.take(LONGEST_TARGET).read_to_end(&mut text)?;
    }
    match link_target(&text) {
        Some(target) => std::os::unix::fs::symlink(target, path),
        None => {
            let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
            io::Write::write_all(&mut file, &text)?;
            io::copy(normal, &mut file).map(drop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        create_working(&path, &mut &b"link a/b c"[..]).unwrap();
        assert_eq!(fs::read_link(&path).unwrap(), Path::new("a/b c"));
        assert_eq!(link_normal_form(&path).unwrap(), b"link a/b c");
        let other = folder.path().join("o");
        create_working(&other, &mut &b"device 1 2"[..]).unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"device 1 2");
        // No text is cut off, however long.
        let long = vec![b'x'; 3 << 20];
        create_working(&folder.path().join("long"), &mut long.as_slice()).unwrap();
        assert_eq!(fs::read(folder.path().join("long")).unwrap(), long);
        let mut text = Vec::new();
        read_normal(&other).unwrap().read_to_end(&mut text).unwrap();
        assert_eq!(text, b"device 1 2");
    }
}
