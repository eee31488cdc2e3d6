//! What a program printed and left behind, and the comparison of two such results.
//!
//! Invariant: a difference is reported with the first differing line of both sides, not with
//! megabytes of output.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// What a program did.
#[derive(Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; -1 if a signal ended it.
    pub code: i32,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained.
    pub stderr: Vec<u8>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cut =
            |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(2_000)]).into_owned();
        write!(f, "exit {}\n{}\n{}", self.code, cut(&self.stdout), cut(&self.stderr))
    }
}

impl Output {
    /// Runs a command to its end.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn of(command: &mut Command) -> Self {
        let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Self { code: out.status.code().unwrap_or(-1), stdout: out.stdout, stderr: out.stderr }
    }

    /// Panics with what was said if the program failed.
    pub fn expect_success(self, what: &str) -> Self {
        assert_eq!(self.code, 0, "{what}: {self:?}");
        self
    }

    /// The output as text.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The complaints as text.
    #[must_use]
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Without the lines of the output that begin with a text: for what depends on the clock.
    #[must_use]
    pub fn without_lines(&self, start: &str) -> Self {
        let lines = self.stdout.split_inclusive(|b| *b == b'\n');
        let stdout =
            lines.filter(|l| !l.starts_with(start.as_bytes())).collect::<Vec<_>>().concat();
        Self { stdout, ..self.clone() }
    }

    /// With every date and time (`2026-11-22T02:54:42.150978Z`, `2026-11-22 02:54:42`) made the same.
    #[must_use]
    pub fn without_times(&self) -> Self {
        let settle = |bytes: &[u8]| {
            let mut out = Vec::with_capacity(bytes.len());
            let mut rest = bytes;
            while let [first, tail @ ..] = rest {
                let digits = |range: std::ops::Range<usize>| {
                    rest.get(range).is_some_and(|b| b.iter().all(u8::is_ascii_digit))
                };
                if digits(0..4) && rest.get(4) == Some(&b'-') && digits(5..7) && digits(17..19) {
                    out.extend_from_slice(b"TIME");
                    let end = rest[19..].iter().position(|b| !b".0123456789Z".contains(b));
                    rest = &rest[end.map_or(rest.len(), |n| 19 + n)..];
                } else {
                    out.push(*first);
                    rest = tail;
                }
            }
            out
        };
        Self { code: self.code, stdout: settle(&self.stdout), stderr: settle(&self.stderr) }
    }

    /// In an order of its own: the reference walks hash tables whose order changes from run to run
    /// in many places (deltas within a folder, property lists, attributes of XML elements), so the
    /// order of such output is no contract. Lines are sorted, XML attributes made lines of their own.
    #[must_use]
    pub fn unordered(&self) -> Self {
        let sort = |bytes: &[u8]| {
            let bytes = replace(bytes, b"\">", b"\"\n>");
            let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
            lines.sort_unstable();
            lines.join(&b'\n')
        };
        Self { code: self.code, stdout: sort(&self.stdout), stderr: sort(&self.stderr) }
    }

    /// With every occurrence of a text in the output replaced: for URLs and paths that differ
    /// between the two sides.
    #[must_use]
    pub fn replacing(&self, from: &str, to: &str) -> Self {
        Self {
            code: self.code,
            stdout: replace(&self.stdout, from.as_bytes(), to.as_bytes()),
            stderr: replace(&self.stderr, from.as_bytes(), to.as_bytes()),
        }
    }
}

/// Replaces each occurrence of `from`.
#[must_use]
pub fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(from.len()).position(|w| w == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// Panics unless two results are the same; `what` says of what.
#[track_caller]
pub fn assert_same(what: &str, reference: &Output, ours: &Output) {
    if let Some(difference) = difference(reference, ours) {
        panic!("{what}\n{difference}");
    }
}

/// How two results differ, if they do.
#[must_use]
pub fn difference(reference: &Output, ours: &Output) -> Option<String> {
    if reference == ours {
        return None;
    }
    let mut out = String::new();
    if reference.code != ours.code {
        let _ = writeln!(out, "exit code: reference {}, ours {}", reference.code, ours.code);
    }
    for (name, a, b) in
        [("stdout", &reference.stdout, &ours.stdout), ("stderr", &reference.stderr, &ours.stderr)]
    {
        if let Some(lines) = first_difference(a, b) {
            let _ = writeln!(out, "{name}: {lines}");
        }
    }
    Some(out)
}

/// The first line in which two texts differ, with the lines before it.
#[must_use]
pub fn first_difference(reference: &[u8], ours: &[u8]) -> Option<String> {
    if reference == ours {
        return None;
    }
    let lines = |bytes: &[u8]| bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (lines(reference), lines(ours));
    let at = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let mut out = format!("line {} of {} (reference) and {} (ours)\n", at + 1, a.len(), b.len());
    let show = |bytes: &[u8]| {
        let cut = &bytes[..bytes.len().min(400)];
        cut.escape_ascii().to_string()
    };
    for line in a.iter().take(at).skip(at.saturating_sub(4)) {
        let _ = writeln!(out, "  both      {}", show(line));
    }
    for (label, side) in [("reference", &a), ("ours     ", &b)] {
        for line in side.iter().skip(at).take(4) {
            let _ = writeln!(out, "  {label} {}", show(line));
        }
        if side.len() <= at {
            let _ = writeln!(out, "  {label} (ends here)");
        }
    }
    Some(out)
}

/// The tree below a folder: kinds, contents, executable bits and links, by relative path.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Trees(BTreeMap<String, String>);

impl Trees {
    /// Reads a folder. The working copy's own folder `.svn` is left out.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        fn walk(dir: &Path, prefix: &str, out: &mut BTreeMap<String, String>) {
            for entry in std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
            {
                let entry = entry.expect("an entry");
                let name = entry.file_name().to_string_lossy().into_owned();
                if name == ".svn" {
                    continue;
                }
                let (path, rel) = (entry.path(), format!("{prefix}{name}"));
                let kind = entry.file_type().expect("a kind");
                if kind.is_dir() {
                    out.insert(rel.clone(), "dir".to_owned());
                    walk(&path, &format!("{rel}/"), out);
                } else if kind.is_symlink() {
                    let target = std::fs::read_link(&path).expect("a link");
                    out.insert(rel, format!("link {}", target.display()));
                } else {
                    let bytes = std::fs::read(&path).expect("a file");
                    let mode = entry.metadata().expect("metadata").permissions().mode();
                    let md5 = sapwood_core::Md5::of(&bytes).to_hex();
                    let run = if mode & 0o100 == 0 { "" } else { " x" };
                    out.insert(rel, format!("file {} {md5}{run}", bytes.len()));
                }
            }
        }
        let mut out = BTreeMap::new();
        if root.is_dir() {
            walk(root, "", &mut out);
        }
        Self(out)
    }

    /// The paths, with what is there.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// The first path in which two trees differ, if they do.
    #[must_use]
    pub fn difference(&self, ours: &Self) -> Option<String> {
        let mut paths: Vec<&String> = self.0.keys().chain(ours.0.keys()).collect();
        paths.sort();
        let path = paths.into_iter().find(|path| self.0.get(*path) != ours.0.get(*path))?;
        let show = |side: &Self| side.0.get(path).cloned().unwrap_or("nothing".to_owned());
        Some(format!("{path}: reference has {}, ours {}", show(self), show(ours)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
        let text = first_difference(b"a\nb\nc\n", b"a\nx\nc\n").unwrap();
        assert!(text.contains("line 2") && text.contains("reference b") && text.contains(" x"));
        assert!(first_difference(b"a\n", b"a\nb\n").unwrap().contains("ends here"));
    }

    #[test]
    fn replacing_replaces_all() {
        assert_eq!(replace(b"xaxxbx", b"x", b"yy"), b"yyayyyybyy");
    }
}
