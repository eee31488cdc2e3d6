//! A line of the terminal that says how far work is, and is taken away before anything else is written there.
//!
//! Invariants: nothing is shown unless standard error is a terminal that can move its cursor; the line
//! never wraps, so that taking it away leaves the screen as it was, even in the middle of a line
//! (`Transmitting file data ..`); nothing is shown while a question is asked or an editor has the
//! terminal ([`hold`]).

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sapwood_core::exact::Exact as _;

/// How often the line is renewed, and how long nothing else must have been written before it shows.
pub(crate) const EVERY: Duration = Duration::from_millis(500);
/// Keeps the cursor's place.
const SAVE: &str = "\x1b7";
/// Goes back to it and clears what follows.
const RESTORE: &str = "\x1b8\x1b[K";

/// Whether a line may be shown at all: looked at before the lock is taken.
static ACTIVE: AtomicBool = AtomicBool::new(false);
static LINE: Mutex<ProgressLine> =
    Mutex::new(ProgressLine { column: 0, shown: false, held: 0, written: None });

/// The state of the terminal.
struct ProgressLine {
    /// Where the cursor is, in characters, when our line is not shown.
    column: usize,
    shown: bool,
    /// The number of parts of the program that hold the terminal.
    held: u32,
    /// When something else was written last.
    written: Option<Instant>,
}

fn line() -> MutexGuard<'static, ProgressLine> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProgressLine {
    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            put(RESTORE);
        }
    }

    /// Shows a text, unless there is no room for it or something was written just now.
    fn show(&mut self, text: &str, width: usize) {
        let quiet = self.written.is_none_or(|at| at.elapsed() >= EVERY);
        let fits = self.column.plus(text.len()).plus(2) < width;
        if self.held > 0 || !(self.shown || (quiet && fits)) {
            return;
        }
        self.clear();
        if fits {
            put(&format!("{SAVE}{text}"));
            self.shown = true;
        }
    }
}

/// Writes to the terminal; that this fails is nothing to stop for.
fn put(text: &str) {
    let mut errors = std::io::stderr().lock();
    let _ = errors.write_all(text.as_bytes()).and_then(|()| errors.flush());
}

/// Allows the line from now on; `false` where no user would see it.
pub(crate) fn begin() -> bool {
    let shows = !super::is_dumb() && super::stderr_is_one();
    if shows {
        ACTIVE.store(true, Ordering::Relaxed);
    }
    shows
}

/// Shows a text on the line, unless there is no room for it or something was written just now.
pub(crate) fn show(text: &str) {
    line().show(text, super::stderr_width());
}

/// Takes the line away for good.
pub(crate) fn end() {
    line().clear();
    ACTIVE.store(false, Ordering::Relaxed);
}

/// Takes the line away: something is about to be written to the terminal, which ends with this text.
pub(crate) fn make_room(text: &[u8]) {
    if !ACTIVE.load(Ordering::Relaxed) {
        return;
    }
    let mut line = line();
    line.clear();
    line.written = Some(Instant::now());
    line.column = column(line.column, text);
}

/// Where the cursor is after a text.
fn column(before: usize, text: &[u8]) -> usize {
    let is_start = |b: &&u8| !matches!(**b, 0x80..=0xbf);
    match text.iter().rposition(|b| matches!(b, b'\n' | b'\r')) {
        Some(at) => text.iter().skip(at).skip(1).filter(is_start).count(),
        None => before.plus(text.iter().filter(is_start).count()),
    }
}

/// Keeps the terminal for something else until it is dropped.
#[must_use]
pub(crate) struct TerminalHold;

/// Takes the line away for as long as the value lives.
pub(crate) fn hold() -> TerminalHold {
    let mut line = line();
    line.clear();
    line.held = line.held.plus(1);
    TerminalHold
}

impl Drop for TerminalHold {
    fn drop(&mut self) {
        let mut line = line();
        line.held = line.held.minus(1);
        // An answer ends with a new line, an editor gives an orderly screen back.
        line.column = 0;
        line.written = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_cursor_is() {
        for (before, text, want) in
            [(0, "abc", 3), (3, "..", 5), (5, "done\n", 0), (0, "a\nné", 2), (9, "\rChecking", 8)]
        {
            assert_eq!(column(before, text.as_bytes()), want, "{text:?}");
        }
    }
}
