//! Which file systems are mounted below a directory, which inotify does not report: a watched directory that
//! something is mounted on still reports what is below the mount.
//!
//! Of `/proc/self/mountinfo` (proc(5)) the fifth field counts: where something is mounted, with spaces, tabs, line
//! ends and backslashes as three octal digits.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The lines of a `mountinfo` whose place is below `root`.
pub(crate) fn below(mountinfo: &[u8], root: &Path) -> Vec<Vec<u8>> {
    let root = root.as_os_str().as_bytes();
    let is_below = |line: &&[u8]| {
        let place = line.split(|byte| *byte == b' ').nth(4).map(unescaped);
        place.is_some_and(|place| {
            let rest = place.strip_prefix(root);
            rest.is_some_and(|rest| root == b"/" || rest.starts_with(b"/"))
        })
    };
    let lines = mountinfo.split(|byte| *byte == b'\n');
    lines.filter(is_below).map(<[u8]>::to_vec).collect()
}

/// A field without its octal escapes.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let number = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = after.get(3..).unwrap_or(&[]);
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        23 22 0:5 / /home/ada/wc rw shared:1 - tmpfs tmpfs rw\n\
        24 22 0:6 / /home/ada/wc/a\\040b rw - tmpfs tmpfs rw\n\
        25 22 0:7 / /home/ada/wc2/x rw - tmpfs tmpfs rw\n\
        short line\n";

    fn mount_points(root: &str) -> Vec<String> {
        let lines = below(LINES, Path::new(root));
        lines
            .iter()
            .map(|line| String::from_utf8_lossy(line).split(' ').take(1).collect())
            .collect()
    }

    #[test]
    fn only_what_is_below() {
        assert_eq!(mount_points("/home/ada/wc"), ["24"]);
        assert_eq!(mount_points("/home/ada"), ["23", "24", "25"]);
        assert_eq!(mount_points("/home/ada/wc/a b"), [""; 0]);
        assert_eq!(mount_points("/home/ada/wc/a b/c"), [""; 0]);
    }

    #[test]
    fn escapes() {
        assert_eq!(unescaped(b"a\\040b\\134\\x\\04"), b"a b\\\\x\\04");
    }
}
