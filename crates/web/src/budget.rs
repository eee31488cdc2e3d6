//! What one page may cost. Each limit has its name here; a page that meets one says so, and how to see the rest.

use std::cell::Cell;
use std::time::{Duration, Instant};

use sapwood_core::exact::Exact as _;

/// The time in which a page has to be made; what is not found by then is left out.
const TIME: Duration = Duration::from_secs(2);
/// The time after which a page is given up, whatever it does: long before that, pages end with what they have.
pub(crate) const END: Duration = Duration::from_secs(8);
/// Entries of a directory on one page.
pub(crate) const ENTRIES: usize = 500;
/// Revisions on a page of a history.
pub(crate) const REVISIONS: u64 = 50;
/// Changed paths on the page of a revision.
pub(crate) const PATHS: usize = 500;
/// Changed paths that are one list; more are folded by their folders.
pub(crate) const PATHS_UNFOLDED: usize = 20;
/// Changed paths that are looked at for that: hidden ones take time too.
pub(crate) const PATHS_SEEN: usize = 100_000;
/// Lines of a file on one page.
pub(crate) const LINES: u64 = 2_000;
/// Bytes of a file on one page.
pub(crate) const PIECE: usize = 512 << 10;
/// Bytes of one text that are coloured.
pub(crate) const COLOURED: usize = 256 << 10;
/// Bytes of all texts of a page that are.
const COLOURED_OF_PAGE: usize = 4 << 20;
/// Bytes of a file that are passed over to reach the lines of a page.
pub(crate) const PASSED_OVER: u64 = 64 << 20;
/// Characters of one line.
pub(crate) const LINE: usize = 4_000;
/// Bytes of a text that is compared with another, or whose lines are attributed.
pub(crate) const TEXT: u64 = 512 << 10;
/// Pairs of lines that a comparison may have to look at.
pub(crate) const PAIRS: usize = 16_000_000;
/// Lines of differences on one page, and of one file in them.
pub(crate) const DELTA_LINES: usize = 6_000;
/// The same for one file.
pub(crate) const DELTA_LINES_OF_FILE: usize = 1_500;
/// Bytes of these lines.
pub(crate) const DELTA_BYTES: usize = 2 << 20;
/// Words of a line that are compared with those of another.
pub(crate) const WORDS: usize = 400;
/// Pairs of words that are compared for one page.
const WORD_PAIRS: usize = 10_000_000;
/// Files whose differences are on one page.
pub(crate) const DELTAS: usize = 100;
/// Bytes of a picture that is shown within a difference.
pub(crate) const PICTURE: u64 = 20 << 20;
/// Branches, and tags, on their page.
pub(crate) const BRANCHES: usize = 200;
/// Revisions of a history in which those are looked for that a branch lacks.
pub(crate) const LACKING: u64 = 500;
/// Branches in one graph, beside the trunk.
pub(crate) const LANES: usize = 12;
/// Events in one graph.
pub(crate) const EVENTS: usize = 60;
/// Changes of a branch that are followed for it.
pub(crate) const LANE_STEPS: usize = 2_000;
/// Sources that a change of mergeinfo names in words, and ranges of revisions of each.
pub(crate) const MERGE_SOURCES: usize = 40;
pub(crate) const MERGE_RANGES: usize = 20;
/// Sources of one merge.
pub(crate) const SOURCES: usize = 8;
/// Hits of each kind, where a page has them all, and where it has one kind only.
pub(crate) const FEW_HITS: usize = 8;
pub(crate) const HITS: usize = 50;
/// Lines of one file that are shown of a search.
pub(crate) const HIT_LINES: usize = 3;
/// Characters of such a line.
pub(crate) const HIT_LINE: usize = 300;
/// Bytes of a README that is shown below its directory.
pub(crate) const README: u64 = 128 << 10;
/// Characters of a log message.
pub(crate) const MESSAGE: usize = 20_000;
/// Characters of an author's name.
pub(crate) const NAME: usize = 200;
/// Characters of a property's value.
pub(crate) const VALUE: usize = 2_000;
/// Files and folders of an archive: the list at the end of a `.zip` is in memory, and has no room for more names.
pub(crate) const ARCHIVE_ENTRIES: usize = 60_000;
/// Bytes of their paths, and of one: encoded, it has thrice as many at most, where a `.zip` has room for 65,535.
pub(crate) const ARCHIVE_NAMES: usize = 16 << 20;
pub(crate) const ARCHIVE_NAME: usize = 16 << 10;
/// Bytes of their texts.
pub(crate) const ARCHIVE_BYTES: u64 = 2 << 30;
/// How hard an archive is compressed: it is made while it is sent, and twice the work saves a twentieth of its bytes.
pub(crate) const ARCHIVE_LEVEL: u32 = 3;
/// Properties of a node on its page.
pub(crate) const PROPERTIES: usize = 100;

/// What is left of a page's time and lines.
#[derive(Debug)]
pub(crate) struct Budget {
    until: Instant,
    lines: Cell<usize>,
    bytes: Cell<usize>,
    word_pairs: Cell<usize>,
    coloured: Cell<usize>,
    /// How often the time is asked for until it is over.
    #[cfg(test)]
    asks: Cell<usize>,
}

impl Budget {
    /// One that is whole.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            until: now.checked_add(TIME).unwrap_or(now),
            lines: Cell::new(DELTA_LINES),
            bytes: Cell::new(DELTA_BYTES),
            word_pairs: Cell::new(WORD_PAIRS),
            coloured: Cell::new(COLOURED_OF_PAGE),
            #[cfg(test)]
            asks: Cell::new(usize::MAX),
        }
    }

    /// One whose time is over.
    #[cfg(test)]
    pub(crate) fn of_no_time() -> Self {
        Self { until: Instant::now(), ..Self::new() }
    }

    /// One whose time is over when it has been asked for so often.
    #[cfg(test)]
    pub(crate) fn of_asks(asks: usize) -> Self {
        Self { asks: Cell::new(asks), ..Self::new() }
    }

    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        #[cfg(test)]
        if let Some(left) = self.asks.get().checked_sub(1) {
            self.asks.set(left);
        } else {
            return true;
        }
        Instant::now() >= self.until
    }

    /// How many lines one more file may have, and how many bytes.
    pub(crate) fn left(&self) -> (usize, usize) {
        (self.lines.get().min(DELTA_LINES_OF_FILE), self.bytes.get())
    }

    /// Whether nothing more fits on the page.
    pub(crate) fn is_used(&self) -> bool {
        self.is_over() || self.lines.get() == 0 || self.bytes.get() == 0
    }

    /// Takes lines with so many bytes.
    pub(crate) fn take(&self, lines: usize, bytes: usize) {
        self.lines.set(self.lines.get().minus(lines.min(self.lines.get())));
        self.bytes.set(self.bytes.get().minus(bytes.min(self.bytes.get())));
    }

    /// Takes so many pairs of the words of two lines; `false` where that is too much for the lines or what is left.
    pub(crate) fn take_words(&self, pairs: usize) -> bool {
        let left = self.word_pairs.get().checked_sub(pairs);
        let left = left.filter(|_| pairs <= WORDS.times(WORDS) && !self.is_over());
        self.word_pairs.set(left.unwrap_or(self.word_pairs.get()));
        left.is_some()
    }

    /// Takes so many bytes that are coloured; `false` where that is too much.
    pub(crate) fn take_coloured(&self, bytes: usize) -> bool {
        let left = self.coloured.get().checked_sub(bytes).filter(|_| !self.is_over());
        self.coloured.set(left.unwrap_or(0));
        left.is_some()
    }
}
