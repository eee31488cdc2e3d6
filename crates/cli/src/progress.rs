//! Progress lines: rate and time left, on a terminal only, beside the lines that scripts know.

use std::time::{Duration, Instant};

use sapwood_core::Revnum;
use sapwood_core::exact::millis;

use crate::{report, terminal};

/// How often the line is renewed.
const EVERY: Duration = Duration::from_millis(500);

/// A line at the bottom of the terminal, shown only when stderr is one.
pub(crate) struct Progress {
    first: Revnum,
    last: Revnum,
    started: Instant,
    renewed: Instant,
    on_terminal: bool,
    shown: bool,
}

impl Progress {
    /// Progress through a range of revisions.
    pub(crate) fn new(first: Revnum, last: Revnum) -> Self {
        let now = Instant::now();
        let on_terminal = terminal::stderr_is_one();
        Self { first, last, started: now, renewed: now, on_terminal, shown: false }
    }

    /// Takes the line away, before something else is printed.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            report::stderr("\r\x1b[K");
            self.shown = false;
        }
    }

    /// Shows the line, when it is due and there is something to show.
    pub(crate) fn show(&mut self, done: Revnum) {
        if !self.on_terminal || done >= self.last {
            return;
        }
        let now = Instant::now();
        if now.duration_since(self.renewed) < EVERY {
            return;
        }
        self.renewed = now;
        let count = done.0.saturating_sub(self.first.0).saturating_add(1);
        let left = self.last.0.saturating_sub(done.0);
        report::stderr(&line(count, left, now.duration_since(self.started)));
        self.shown = true;
    }
}

/// The text of the line.
fn line(done: u64, left: u64, elapsed: Duration) -> String {
    let millis = millis(elapsed).max(1);
    let rate = done.saturating_mul(1000).checked_div(millis).unwrap_or(0);
    let seconds =
        left.saturating_mul(millis).checked_div(done.saturating_mul(1000).max(1)).unwrap_or(0);
    let minutes = seconds / 60;
    format!("{rate} revisions/s, {left} to go, about {minutes}:{:02} left", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left() {
        assert_eq!(
            line(1000, 65_000, Duration::from_secs(2)),
            "500 revisions/s, 65000 to go, about 2:10 left"
        );
    }
}
