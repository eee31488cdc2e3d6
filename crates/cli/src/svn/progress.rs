//! The progress of a transfer or a merge, for a user who waits: files, bytes and rate, and the revisions of a
//! merge, on the line of the terminal that [`progress_line`] keeps. 1.14 shows nothing of the kind.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use sapwood_core::Meter;
use sapwood_core::exact::millis;

use crate::remote::grouped;
use crate::terminal::progress_line::{self, EVERY};

/// Over how many renewals the rate is counted.
const WINDOW: usize = 8;
/// Shows a line while it lives.
pub(super) struct Progress {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to show what a meter counts; `None` where no user would see it.
    pub(super) fn start(meter: &Meter) -> Option<Self> {
        if !progress_line::begin() {
            return None;
        }
        let (stop, stopped) = channel::<()>();
        let meter = meter.clone();
        let work = move || {
            let mut rate = Rate::default();
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                let (files, bytes) = meter.read();
                let speed = rate.take(Instant::now(), bytes);
                let revisions = meter.revisions();
                if files > 0 || bytes > 0 || revisions.is_some() {
                    progress_line::show(&text(revisions, files, bytes, speed));
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
        progress_line::end();
    }
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
}
