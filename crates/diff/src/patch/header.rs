//! The lines above the hunks: which file a patch is about, and what is done to it as a whole.

use sapwood_core::{Cut, Exact};
use std::io::{Read, Seek};

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::{Mode, Operation, Patch, PatchFile};

/// What was seen of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderState {
    Nothing,
    /// `--- NAME`.
    Minus,
    /// `diff --git`.
    Git,
    /// The line that says what is done to the whole file, and its names.
    Tree,
    OldMode,
    Mode,
    MoveFrom,
    CopyFrom,
    /// `--- a/NAME`.
    GitMinus,
    /// All of it: hunks follow.
    Whole,
    /// All of it: a binary text follows.
    Binary,
}

/// A header as it is read. Names are kept apart: what is not said stays unknown.
#[derive(Debug, Default)]
struct Header {
    patch: Patch,
    old: Option<String>,
    new: Option<String>,
}

impl<R: Read + Seek> PatchFile<R> {
    /// The next header, and whether a binary text comes below it.
    pub(super) fn header(&mut self) -> SvnResult<Option<(Patch, bool)>> {
        let mut header = Header::default();
        let mut seen = HeaderState::Nothing;
        let mut inside_tree = false;
        let mut line = Vec::new();
        loop {
            let here = self.at;
            let read = self.line_at(here, &mut line)?;
            self.at = read.next;
            let next = header.take(seen, &line)?;
            seen = next.unwrap_or(seen);
            let tree = matches!(seen, HeaderState::Tree | HeaderState::Mode);
            if matches!(seen, HeaderState::Whole | HeaderState::Binary) {
                break;
            }
            if tree && inside_tree && next.is_none() {
                // Nothing but the whole file changes; the line may belong to the next patch.
                self.at = here;
                break;
            }
            if tree {
                inside_tree = true;
            } else if next.is_none() && !matches!(seen, HeaderState::Nothing | HeaderState::Git) {
                // Not a header after all, but the line may begin one.
                seen = HeaderState::Nothing;
                if !read.eof {
                    self.at = here;
                }
            }
            if read.eof {
                break;
            }
        }
        let (Some(old), Some(new)) = (header.old, header.new) else { return Ok(None) };
        let patch = Patch { old_name: old, new_name: new, ..header.patch };
        Ok(Some((patch, seen == HeaderState::Binary)))
    }
}

impl Header {
    /// Takes a line, if it has its place after what was seen; what is seen now.
    fn take(&mut self, seen: HeaderState, line: &[u8]) -> SvnResult<Option<HeaderState>> {
        let after = |mark: &str| line.strip_prefix(mark.as_bytes());
        match seen {
            HeaderState::Nothing => {
                if let Some(rest) = after("--- ") {
                    self.old = Some(name(before_tab(rest))?);
                    return Ok(Some(HeaderState::Minus));
                }
                if after("diff --git").is_some() {
                    return self.git_start(line).map(Some);
                }
            }
            HeaderState::Minus => {
                if let Some(rest) = after("+++ ") {
                    self.new = Some(name(before_tab(rest))?);
                    return Ok(Some(HeaderState::Whole));
                }
            }
            HeaderState::GitMinus => {
                if let Some(found) = git_name(line, "+++ b/", "+++ /dev/null")? {
                    self.new = Some(found);
                    return Ok(Some(HeaderState::Whole));
                }
            }
            HeaderState::OldMode => {
                if let Some(rest) = after("new mode ") {
                    self.patch.new_mode = mode(rest)?;
                    return Ok(Some(HeaderState::Mode));
                }
            }
            HeaderState::MoveFrom | HeaderState::CopyFrom => {
                let (mark, operation) = match seen {
                    HeaderState::MoveFrom => ("rename to ", Operation::Moved),
                    _ => ("copy to ", Operation::Copied),
                };
                if let Some(rest) = after(mark) {
                    self.new = Some(name(rest)?);
                    self.patch.operation = operation;
                    return Ok(Some(HeaderState::Tree));
                }
            }
            HeaderState::Git | HeaderState::Tree | HeaderState::Mode => {
                return self.take_inside(seen, line);
            }
            HeaderState::Whole | HeaderState::Binary => {}
        }
        Ok(None)
    }

    /// The lines between `diff --git` and the names above the hunks.
    fn take_inside(&mut self, seen: HeaderState, line: &[u8]) -> SvnResult<Option<HeaderState>> {
        let after = |mark: &str| line.strip_prefix(mark.as_bytes());
        // Only below a change of the whole file the other side may be missing.
        let nothing = if seen == HeaderState::Git { "--- a/" } else { "--- /dev/null" };
        if let Some(found) = git_name(line, "--- a/", nothing)? {
            self.old = Some(found);
            return Ok(Some(HeaderState::GitMinus));
        }
        if let Some(rest) = after("index ") {
            self.index(rest)?;
            return Ok(Some(seen));
        }
        if after("GIT binary patch").is_some() {
            return Ok(Some(HeaderState::Binary));
        }
        if seen != HeaderState::Tree {
            for (mark, next) in
                [("rename from ", HeaderState::MoveFrom), ("copy from ", HeaderState::CopyFrom)]
            {
                if let Some(rest) = after(mark) {
                    self.old = Some(name(rest)?);
                    return Ok(Some(next));
                }
            }
        }
        if seen != HeaderState::Git {
            return Ok(None);
        }
        if let Some(rest) = after("old mode ") {
            self.patch.old_mode = mode(rest)?;
            return Ok(Some(HeaderState::OldMode));
        }
        if after("new file ").is_some() {
            self.patch.new_mode = mode(after("new file mode ").unwrap_or_default())?;
            self.patch.operation = Operation::Added;
            return Ok(Some(HeaderState::Tree));
        }
        if after("deleted file ").is_some() {
            self.patch.old_mode = mode(after("deleted file mode ").unwrap_or_default())?;
            self.patch.operation = Operation::Deleted;
            return Ok(Some(HeaderState::Tree));
        }
        Ok(None)
    }

    /// `diff --git a/NAME b/NAME`. The names are certain only where they are equal: spaces are not
    /// marked in them. Other lines say them where they matter and differ.
    fn git_start(&mut self, line: &[u8]) -> SvnResult<HeaderState> {
        let find = |text: &[u8], mark: &[u8]| memchr::memmem::find(text, mark);
        let rest = |text, at: usize| -> &[u8] { <[u8]>::get(text, at..).unwrap_or_default() };
        let Some(old) = find(line, b" a/") else { return Ok(HeaderState::Nothing) };
        if rest(line, old.plus(3)).is_empty() {
            return Ok(HeaderState::Nothing);
        }
        let Some(new) = find(rest(line, old), b" b/").map(|at| at.plus(old)) else {
            return Ok(HeaderState::Nothing);
        };
        if rest(line, new.plus(3)).is_empty() {
            return Ok(HeaderState::Nothing);
        }
        let names = rest(line, "diff --git a/".len());
        // Equal names have the mark in their middle.
        let half = names.len().saturating_sub(3) / 2;
        let (left, right) = (names.get(..half), rest(names, half).strip_prefix(b" b/"));
        if let (Some(left), Some(right)) = (left, right)
            && left == right
            && !left.is_empty()
        {
            self.old = Some(name(left)?);
            self.new = Some(name(right)?);
        }
        self.patch.operation = Operation::Modified;
        Ok(HeaderState::Git)
    }

    /// `index SHA..SHA MODE`: the mode of a file that keeps it.
    fn index(&mut self, rest: &[u8]) -> SvnResult<()> {
        let Some(at) = memchr::memchr(b' ', rest) else { return Ok(()) };
        let whole = matches!(self.patch.operation, Operation::Added | Operation::Deleted);
        if self.patch.new_mode == Mode::default() && !whole {
            self.patch.new_mode = mode(rest.tail(at.plus(1)))?;
            self.patch.old_mode = self.patch.new_mode;
        }
        Ok(())
    }
}

fn git_name(line: &[u8], mark: &str, nothing: &str) -> SvnResult<Option<String>> {
    let line = before_tab(line);
    if let Some(rest) = line.strip_prefix(mark.as_bytes()) {
        return name(rest).map(Some);
    }
    Ok(line.starts_with(nothing.as_bytes()).then(|| "/dev/null".to_owned()))
}

fn before_tab(text: &[u8]) -> &[u8] {
    memchr::memchr(b'\t', text).and_then(|at| text.get(..at)).unwrap_or(text)
}

/// A name in canonical form: no doubled slashes, no `.`, no slash at its end.
fn name(text: &[u8]) -> SvnResult<String> {
    let text = utf8(text)?;
    let mut out = String::with_capacity(text.len());
    if text.starts_with('/') {
        out.push('/');
    }
    for part in text.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if !out.is_empty() && !out.ends_with('/') {
            out.push('/');
        }
        out.push_str(part);
    }
    Ok(out)
}

pub(super) fn utf8(text: &[u8]) -> SvnResult<&str> {
    std::str::from_utf8(text).map_err(|e| {
        let (valid, bad) = text.split_at_checked(e.valid_up_to()).unwrap_or_default();
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!(" {b:02x}")).collect::<String>();
        let valid = valid.get(valid.len().saturating_sub(24)..).unwrap_or_default();
        let bad = bad.get(..bad.len().min(4)).unwrap_or_default();
        SvnError::new(
            ErrorCode::EINVAL,
            format!(
                "Valid UTF-8 data\n(hex:{})\nfollowed by invalid UTF-8 sequence\n(hex:{})",
                hex(valid),
                hex(bad)
            ),
        )
    })
}

/// The largest mode: six octal digits.
const MAX_MODE: u32 = 0o777_777;

/// A mode as git writes it. Only the two that it gives plain files say anything of execution.
fn mode(text: &[u8]) -> SvnResult<Mode> {
    let text = utf8(text)?;
    let bad = |what| SvnError::new(ErrorCode::INCORRECT_PARAMS, what);
    let digits = text.trim_start().trim_start_matches('+');
    if digits.is_empty() || !digits.bytes().all(|b| matches!(b, b'0'..=b'7')) {
        return Err(bad(format!("Could not convert '{text}' into a number")));
    }
    let number = u32::from_str_radix(digits, 8).ok().filter(|n| *n <= MAX_MODE);
    let number =
        number.ok_or_else(|| bad(format!("Number '{text}' is out of range '[0, {MAX_MODE}]'")))?;
    Ok(Mode {
        executable: match number & 0o777 {
            0o644 => Some(false),
            0o755 => Some(true),
            _ => None,
        },
        symlink: match number & 0o170_000 {
            0o120_000 => Some(true),
            0o100_000 | 0o040_000 => Some(false),
            _ => None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::How;

    fn first(text: &str) -> Option<Patch> {
        PatchFile::new(std::io::Cursor::new(text), How::default()).next_patch().unwrap()
    }

    #[test]
    fn names() {
        let of =
            |text: &str| first(text).map(|patch| (patch.old_name, patch.new_name, patch.operation));
        let pair = |old: &str, new: &str, op| Some((old.to_owned(), new.to_owned(), op));
        assert_eq!(
            of("junk\nIndex: x\n--- .//x/y\t(old)\n+++ x/y/\t(new)\n"),
            pair("x/y", "x/y", Operation::Unchanged)
        );
        assert_eq!(of("--- a\njunk\n--- b\n+++ c\n"), pair("b", "c", Operation::Unchanged));
        assert_eq!(
            of("diff --git a/x b/y b/x b/y\nnew file mode 100644\n"),
            pair("x b/y", "x b/y", Operation::Added)
        );
        assert_eq!(
            of("diff --git a/x b/y\nrename from x\nrename to y\n"),
            pair("x", "y", Operation::Moved)
        );
        assert_eq!(
            of("diff --git a/x b/x\ndeleted file mode 100755\n--- a/x\n+++ /dev/null\n"),
            pair("x", "/dev/null", Operation::Deleted)
        );
        // Names that differ and are said nowhere else.
        assert_eq!(of("diff --git a/x b/y\nnew file mode 100644\n"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn modes() {
        let of = |text: &str| {
            first(&format!("diff --git a/x b/x\n{text}"))
                .map(|patch| (patch.old_mode, patch.new_mode))
        };
        let plain = Mode { executable: Some(false), symlink: Some(false) };
        let run = Mode { executable: Some(true), symlink: Some(false) };
        let link = Mode { executable: None, symlink: Some(true) };
        assert_eq!(of("old mode 100644\nnew mode 100755\n"), Some((plain, run)));
        assert_eq!(of("index 12..34 120000\n--- a/x\n+++ b/x\n"), Some((link, link)));
        assert_eq!(of("new file mode 100755\n"), Some((Mode::default(), run)));
        assert!(mode(b"10064x").is_err());
        assert!(mode(b"7777777").is_err());
        assert!(mode(b"").is_err());
    }
}
