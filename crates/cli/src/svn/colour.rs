//! Colours, for users who asked for them: `color` in section `sapwood` of the `config` file is `never`
//! (the default), `auto` (where standard output is a terminal) or `always`. Without it not one byte of
//! any output is different.

use std::io::{self, Write};

use sapwood_core::config::Config;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wc::status::State;

use crate::terminal::{COLOUR_OPTION, stdout_has_colours};

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const BLUE: &str = "\x1b[34m";
const MAGENTA: &str = "\x1b[35m";
const CYAN: &str = "\x1b[36m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[m";

/// Whether output is to have colours.
///
/// # Errors
/// E125009 for any other value.
pub(super) fn wanted(config: &Config) -> SvnResult<bool> {
    let value = config.get(COLOUR_OPTION.0, COLOUR_OPTION.1).unwrap_or("".into());
    match value.trim() {
        "" | "never" => Ok(false),
        "always" => Ok(true),
        "auto" => Ok(stdout_has_colours()),
        other => Err(SvnError::new(
            ErrorCode::BAD_CONFIG_VALUE,
            format!(
                "Config error: invalid value '{other}' for '[{}] {}'",
                COLOUR_OPTION.0, COLOUR_OPTION.1
            ),
        )),
    }
}

/// A line of `svn status` (without its newline) in the colour of what is most urgent in it.
pub(super) fn status_line(line: &str, states: [State; 2], tree_conflict: bool) -> String {
    let any = |state| states.contains(&state);
    let colour = if tree_conflict || any(State::Conflicted) {
        MAGENTA
    } else if [State::Missing, State::Obstructed, State::Incomplete, State::Deleted]
        .iter()
        .any(|state| states.contains(state))
    {
        RED
    } else if any(State::Added) || any(State::Replaced) {
        GREEN
    } else if any(State::Modified) {
        YELLOW
    } else if any(State::Unversioned) {
        BLUE
    } else {
        return line.to_owned();
    };
    format!("{colour}{line}{PLAIN}")
}

/// Where a line of a diff stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DiffPart {
    #[default]
    Header,
    /// In a hunk: this number of lines of the old and the new text are still to come.
    Hunk { old: u64, new: u64 },
}

/// Gives the lines of a unified diff colours on their way. What is a header and what a changed line that
/// begins with `--` is known from the lengths that hunks have.
pub(super) struct DiffPainter<W> {
    to: W,
    place: DiffPart,
    line: Vec<u8>,
    /// Of a line that is too long to wait for, the rest passes as it is.
    passing: bool,
}

/// No line is kept longer than this before it is passed on, in bytes.
const LONGEST: usize = 64 << 10;

impl<W: Write> DiffPainter<W> {
    /// Passes on to `to`.
    pub(super) fn new(to: W) -> Self {
        Self { to, place: DiffPart::default(), line: Vec::new(), passing: false }
    }

    /// Passes the last line on, which may have no end.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            self.paint()?;
        }
        self.to.flush()
    }

    fn paint(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let (text, end) = match line.strip_suffix(b"\n") {
            Some(text) => (text, &b"\n"[..]),
            None => (&line[..], &b""[..]),
        };
        let colour = self.colour(text);
        match colour {
            Some(colour) if !text.is_empty() => {
                for piece in [colour.as_bytes(), text, PLAIN.as_bytes(), end] {
                    self.to.write_all(piece)?;
                }
            }
            _ => self.to.write_all(&line)?,
        }
        self.line = line;
        self.line.clear();
        Ok(())
    }

    fn colour(&mut self, text: &[u8]) -> Option<&'static str> {
        if let DiffPart::Hunk { old, new } = self.place {
            let (took_old, took_new, colour) = match text.first() {
                Some(b'-') => (1, 0, Some(RED)),
                Some(b'+') => (0, 1, Some(GREEN)),
                // "\ No newline at end of file".
                Some(b'\\') => return None,
                _ => (1, 1, None),
            };
            let left = old.checked_sub(took_old).zip(new.checked_sub(took_new));
            if let Some((old, new)) = left {
                self.place = DiffPart::Hunk { old, new };
                return colour;
            }
            self.place = DiffPart::Header;
        }
        if let Some((old, new)) = hunk(text) {
            self.place = DiffPart::Hunk { old, new };
            return Some(CYAN);
        }
        let header: [&[u8]; 6] = [b"Index: ", b"=====", b"--- ", b"+++ ", b"diff --git ", b"_____"];
        header.iter().any(|start| text.starts_with(start)).then_some(BOLD)
    }
}

/// The lengths of a hunk whose heading this is: `@@ -1,2 +3,4 @@`, of properties with `##`.
fn hunk(text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let ranges = match text.strip_prefix("@@ -") {
        Some(rest) => rest.split_once(" @@")?.0,
        None => text.strip_prefix("## -")?.split_once(" ##")?.0,
    };
    let (old, new) = ranges.split_once(" +")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    length(old).zip(length(new))
}

impl<W: Write> Write for DiffPainter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let ends = piece.ends_with(b"\n");
            if self.passing {
                self.to.write_all(piece)?;
                self.passing = !ends;
                continue;
            }
            self.line.extend_from_slice(piece);
            if ends {
                self.paint()?;
            } else if self.line.len() > LONGEST {
                self.paint()?;
                self.passing = true;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(diff: &str) -> String {
        let mut out = Vec::new();
        let mut painter = DiffPainter::new(&mut out);
        // In pieces that end anywhere.
        for piece in diff.as_bytes().chunks(3) {
            painter.write_all(piece).unwrap();
        }
        painter.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        let names = [(RED, "<r>"), (GREEN, "<g>"), (CYAN, "<c>"), (BOLD, "<b>"), (PLAIN, "<>")];
        names.iter().fold(text, |text, (code, name)| text.replace(code, name))
    }

    #[test]
    fn lines_of_a_diff() {
        let diff = "Index: a\n=====\n--- a\t(revision 1)\n+++ a\t(working copy)\n\
            @@ -1,2 +1,3 @@ fn\n same\n--- not a header\n+++ nor this\n+new\n\
            \\ No newline at end of file\n\nProperty changes on: a\n\
            ___\nAdded: p\n## -0,0 +1 ##\n+value\n--- b\n\n";
        assert_eq!(
            painted(diff),
            "<b>Index: a<>\n<b>=====<>\n<b>--- a\t(revision 1)<>\n<b>+++ a\t(working copy)<>\n\
             <c>@@ -1,2 +1,3 @@ fn<>\n same\n<r>--- not a header<>\n<g>+++ nor this<>\n<g>+new<>\n\
             \\ No newline at end of file\n\nProperty changes on: a\n\
             ___\nAdded: p\n<c>## -0,0 +1 ##<>\n<g>+value<>\n<b>--- b<>\n\n"
        );
        assert_eq!(painted("@@ -1 +1 @@\n-a\n+b"), "<c>@@ -1 +1 @@<>\n<r>-a<>\n<g>+b<>");
    }

    #[test]
    fn the_most_urgent_wins() {
        let line = |states, tree| status_line("x", states, tree);
        assert_eq!(line([State::Normal, State::Modified], false), format!("{YELLOW}x{PLAIN}"));
        assert_eq!(line([State::Added, State::Conflicted], false), format!("{MAGENTA}x{PLAIN}"));
        assert_eq!(line([State::Normal, State::None], true), format!("{MAGENTA}x{PLAIN}"));
        assert_eq!(line([State::External, State::None], false), "x");
    }
}
