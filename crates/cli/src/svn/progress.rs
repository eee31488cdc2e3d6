//! The progress of a transfer or a merge, for a user who waits: files, bytes and rate, and the revisions of a
//! merge, on a line of the terminal that is
//! taken away before anything else is written there. 1.14 shows nothing of the kind.
//!
//! Invariants: nothing is shown unless standard error is a terminal that can move its cursor; the line
//! never wraps, so that taking it away leaves the screen as it was, even in the middle of a line
//! (`Transmitting file data ..`); nothing is shown while a question is asked or an editor has the
//! terminal ([`hold`]).

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sapwood_core::Meter;
use sapwood_core::exact::{Exact, millis};

use crate::remote::grouped;

/// How often the line is renewed, and how long nothing else must have been written before it shows.
const EVERY: Duration = Duration::from_millis(500);
/// Over how many renewals the rate is counted.
const WINDOW: usize = 8;
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

/// Shows a line while it lives.
pub(super) struct Progress {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to show what a meter counts; `None` where no user would see it.
    pub(super) fn start(meter: &Meter) -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if dumb || !std::io::stderr().is_terminal() {
            return None;
        }
        ACTIVE.store(true, Ordering::Relaxed);
        let (stop, stopped) = channel::<()>();
        let meter = meter.clone();
        let work = move || {
            let mut rate = Rate::default();
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                let (files, bytes) = meter.read();
                let speed = rate.take(Instant::now(), bytes);
                let revisions = meter.revisions();
                if files > 0 || bytes > 0 || revisions.is_some() {
                    line().show(&text(revisions, files, bytes, speed), width());
                }
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(work);
        Some(Self { stop: Some(stop), thread: thread.ok() })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        line().clear();
        ACTIVE.store(false, Ordering::Relaxed);
    }
}

/// How wide the terminal is, in characters.
fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let width = size.map_or(0, |size| usize::from(size.ws_col));
    if width == 0 { 80 } else { width }
}

/// Bytes a second over the last few seconds.
#[derive(Default)]
struct Rate {
    seen: std::collections::VecDeque<(Instant, u64)>,
}

impl Rate {
    fn take(&mut self, now: Instant, bytes: u64) -> u64 {
        if self.seen.len() > WINDOW {
            self.seen.pop_front();
        }
        self.seen.push_back((now, bytes));
        let Some((then, before)) = self.seen.front() else { return 0 };
        let millis = millis(now.duration_since(*then));
        let gained = bytes.saturating_sub(*before);
        gained.saturating_mul(1000).checked_div(millis).unwrap_or(0)
    }
}

/// The text of the line. A merge says its revisions, and how many nodes it changed.
fn text(revisions: Option<[(u64, u64); 2]>, files: u64, bytes: u64, speed: u64) -> String {
    let word = match (revisions, files) {
        (None, 1) => "file",
        (None, _) => "files",
        (Some(_), 1) => "node",
        (Some(_), _) => "nodes",
    };
    let range = |(from, to): (u64, u64)| match from == to {
        true => format!("r{to}"),
        false => format!("r{from}-{to}"),
    };
    let merge = match revisions {
        None => String::new(),
        Some([now, all]) if now == all => format!("{}, ", range(now)),
        Some([now, all]) => format!("{} of {}, ", range(now), range(all)),
    };
    format!("{merge}{} {word}, {}, {}/s", grouped(files), size(bytes), size(speed))
}

/// Formats a number of bytes, in steps of a thousand.
fn size(bytes: u64) -> String {
    let mut unit = 1u64;
    let mut name = "B";
    for next in ["kB", "MB", "GB", "TB"] {
        match unit.checked_mul(1000) {
            Some(larger) if bytes >= larger => (unit, name) = (larger, next),
            _ => break,
        }
    }
    let tenths = bytes.saturating_mul(10).checked_div(unit).unwrap_or(0);
    match name {
        "B" => format!("{bytes} B"),
        _ => format!("{}.{} {name}", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_line_says() {
        assert_eq!(text(None, 1, 999, 0), "1 file, 999 B, 0 B/s");
        assert_eq!(text(None, 12_345, 56_780_000, 1_234), "12,345 files, 56.7 MB, 1.2 kB/s");
        let merge = |now| text(Some([now, (4, 40)]), 1, 0, 0);
        assert_eq!(merge((4, 9)), "r4-9 of r4-40, 1 node, 0 B, 0 B/s");
        assert_eq!(merge((5, 5)), "r5 of r4-40, 1 node, 0 B, 0 B/s");
        assert_eq!(merge((4, 40)), "r4-40, 1 node, 0 B, 0 B/s");
        assert_eq!(size(4 << 30), "4.2 GB");
        assert_eq!(size(1000), "1.0 kB");
    }

    #[test]
    fn rates_are_of_the_last_seconds() {
        let start = Instant::now();
        let mut rate = Rate::default();
        let mut last = 0;
        for tick in 0..40u32 {
            // Fast at first, then a thousand bytes each half second.
            let bytes = if tick < 10 {
                u64::from(tick) * 1_000_000
            } else {
                10_000_000 + u64::from(tick) * 1000
            };
            last = rate.take(start + EVERY * tick, bytes);
        }
        assert_eq!(last, 2000);
    }

    #[test]
    fn where_the_cursor_is() {
        for (before, text, want) in
            [(0, "abc", 3), (3, "..", 5), (5, "done\n", 0), (0, "a\nné", 2), (9, "\rChecking", 8)]
        {
            assert_eq!(column(before, text.as_bytes()), want, "{text:?}");
        }
    }
}
