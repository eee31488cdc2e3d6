//! Comparing three texts: an original and two that were made from it.
//!
//! The original is aligned with each of the others; where both alignments are in step, all three
//! go on together. What lies between two such places was changed on one side, on both in the same
//! way, or on both in different ways: a conflict. A conflict keeps what both sides have in common
//! within it, for those who want to see smaller conflicts.

use sapwood_core::{Cut, Exact};
use std::collections::HashMap;

use crate::compare::tokens;
use crate::lcs::{Match, align};
use crate::options::Options;
use crate::scan::{EndsOfAll, scan_all, start};

/// Some lines of a text. Line numbers count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first line.
    pub start: usize,
    /// How many lines.
    pub len: usize,
}

/// What happened to a stretch of the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkKind {
    /// Nothing: all three texts are the same.
    Common,
    /// Only the modified text differs.
    Modified,
    /// Only the latest text differs.
    Latest,
    /// Both differ from the original in the same way.
    Both,
    /// Both differ, and from each other. In it is what they have in common
    /// ([`HunkKind::Both`]) and what not (conflicts without anything in them); nothing when that
    /// was not looked for, as within conflicts.
    Conflict(Vec<Hunk>),
}

/// A stretch of the three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// What happened to it.
    pub kind: HunkKind,
    /// Its lines in the original.
    pub original: Span,
    /// Its lines in the modified text.
    pub modified: Span,
    /// Its lines in the latest text.
    pub latest: Span,
}

/// The stretches that three texts consist of, in order and without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff3 {
    /// The stretches.
    pub hunks: Vec<Hunk>,
}

impl Diff3 {
    /// Whether there is a conflict.
    #[must_use]
    pub fn has_conflicts(&self) -> bool {
        self.hunks.iter().any(|hunk| matches!(hunk.kind, HunkKind::Conflict(_)))
    }

    /// Whether anything differs.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.hunks.iter().any(|hunk| hunk.kind != HunkKind::Common)
    }
}

/// Compares an original with the modified text and the latest one, as the reference compares files.
#[must_use]
pub fn diff3(options: &Options, original: &[u8], modified: &[u8], latest: &[u8]) -> Diff3 {
    within(options, [original, modified, latest], scan_all)
}

/// Compares three texts without setting aside their ends first, as the reference compares property
/// values. The hunks may differ from those of [`diff3`], and large texts take longer.
#[must_use]
pub fn diff3_whole(options: &Options, original: &[u8], modified: &[u8], latest: &[u8]) -> Diff3 {
    within(options, [original, modified, latest], |texts| EndsOfAll {
        suffix: texts.iter().map(|text| text.len()).collect(),
        ..EndsOfAll::default()
    })
}

fn within(options: &Options, texts: [&[u8]; 3], scan: fn(&[&[u8]]) -> EndsOfAll) -> Diff3 {
    let ends = scan(&texts);
    let mut numbers = HashMap::new();
    let [original, modified, latest] = [0, 1, 2].map(|at| {
        let text = texts.get(at).copied().unwrap_or_default();
        tokens(options, text, ends.prefix, start(&ends, at, text), &mut numbers)
    });
    of_tokens([&original, &modified, &latest], numbers.len(), &ends)
}

/// Compares three texts of which the lines between the common ends are numbered.
pub(crate) fn of_tokens(texts: [&[u32]; 3], count: usize, ends: &EndsOfAll) -> Diff3 {
    let [original, modified, latest] = texts;
    let with_modified = Runs::of(original, modified, count, ends);
    let with_latest = Runs::of(original, latest, count, ends);
    let merger = Merger { modified, latest, first: ends.prefix_lines, count };
    Diff3 { hunks: merger.merge(with_modified, with_latest) }
}

/// The common runs of the original (`old`) and another text (`new`), and where both end.
struct Runs {
    runs: Vec<Match>,
    at: usize,
}

impl Runs {
    fn of(old: &[u32], new: &[u32], count: usize, ends: &EndsOfAll) -> Self {
        let prefix = ends.prefix_lines;
        let mut runs = Vec::new();
        if prefix > 0 {
            runs.push(Match { old: 0, new: 0, len: prefix });
        }
        runs.extend(align(old, new, count).0.into_iter().map(|run| Match {
            old: run.old.plus(prefix),
            new: run.new.plus(prefix),
            len: run.len,
        }));
        let old_end = prefix.plus(old.len());
        let new_end = prefix.plus(new.len());
        let suffix = ends.suffix_lines;
        if suffix > 0 {
            runs.push(Match { old: old_end, new: new_end, len: suffix });
        }
        let (old, new) = (old_end.plus(suffix), new_end.plus(suffix));
        runs.push(Match { old, new, len: 0 });
        Self { runs, at: 0 }
    }

    /// The run that is looked at; at the end an empty one.
    fn run(&self) -> Match {
        self.peek(0)
    }

    fn peek(&self, ahead: usize) -> Match {
        let at = self.at.saturating_add(ahead).min(self.runs.len().saturating_sub(1));
        self.runs.get(at).copied().unwrap_or(Match { old: 0, new: 0, len: 0 })
    }

    fn step(&mut self) {
        self.at += 1;
    }

    fn old_end(&self) -> usize {
        self.run().old.plus(self.run().len)
    }

    /// Goes on until the run reaches `sync`, a place of the original where a run of the other
    /// text, `other`, begins.
    fn catch_up(&mut self, sync: usize, other: Match) {
        while self.old_end() < sync {
            self.step();
        }
        // At the end of the texts a run that does not reach as far in both does not count.
        let (run, next) = (self.run(), self.peek(1));
        if other.len == 0
            && run.len > 0
            && self.old_end() == sync
            && run.new.plus(run.len) != next.new
        {
            self.step();
        }
    }

    /// Leaves runs behind that end before `original`.
    fn pass(&mut self, original: usize) {
        while original >= self.old_end() && self.run().len > 0 {
            self.step();
        }
    }

    /// The line of the other text that stands at line `original` of the original.
    fn opposite(&self, original: usize) -> usize {
        self.run().new.plus(original.minus(self.run().old))
    }

    /// How much of the run is left from line `original` on.
    fn left(&self, original: usize) -> usize {
        self.run().len.minus(original.minus(self.run().old))
    }
}

/// Where the three texts are.
#[derive(Clone, Copy, Default)]
struct Positions {
    original: usize,
    modified: usize,
    latest: usize,
}

struct Merger<'a> {
    modified: &'a [u32],
    latest: &'a [u32],
    /// The line that the first token stands for.
    first: usize,
    count: usize,
}

fn span(start: usize, end: usize) -> Span {
    Span { start, len: end.minus(start) }
}

impl Merger<'_> {
    fn merge(&self, mut modified: Runs, mut latest: Runs) -> Vec<Hunk> {
        let mut hunks = Vec::new();
        let mut from = Positions::default();
        loop {
            let sync = synchronize(&mut modified, &mut latest);
            let to = Positions {
                original: sync,
                modified: modified.opposite(sync),
                latest: latest.opposite(sync),
            };
            let is_modified =
                modified.run().old > from.original || modified.run().new > from.modified;
            let is_latest = latest.run().old > from.original || latest.run().new > from.latest;
            if is_modified || is_latest {
                let spans = (span(from.modified, to.modified), span(from.latest, to.latest));
                let original = span(from.original, to.original);
                let kind = match (is_modified, is_latest) {
                    (true, true) => self.changed_twice(original, spans.0, spans.1),
                    (true, false) => HunkKind::Modified,
                    _ => HunkKind::Latest,
                };
                hunks.push(Hunk { kind, original, modified: spans.0, latest: spans.1 });
            }
            if modified.run().len == 0 || latest.run().len == 0 {
                return hunks;
            }
            let len = modified.left(sync).min(latest.left(sync));
            if len > 0 {
                hunks.push(Hunk {
                    kind: HunkKind::Common,
                    original: Span { start: to.original, len },
                    modified: Span { start: to.modified, len },
                    latest: Span { start: to.latest, len },
                });
            }
            from = Positions {
                original: to.original.plus(len),
                modified: to.modified.plus(len),
                latest: to.latest.plus(len),
            };
            modified.pass(from.original);
            latest.pass(from.original);
        }
    }

    /// What a stretch is that both texts changed.
    fn changed_twice(&self, original: Span, modified: Span, latest: Span) -> HunkKind {
        let (ours, theirs) = (self.lines(self.modified, modified), self.lines(self.latest, latest));
        let head = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
        if head == ours.len() && head == theirs.len() {
            return HunkKind::Both;
        }
        let rest = |lines: &'_ [u32]| lines.tail(head).to_vec();
        let mut runs = Vec::new();
        if head > 0 {
            runs.push(Match { old: 0, new: 0, len: head });
        }
        runs.extend(align(&rest(ours), &rest(theirs), self.count).0.into_iter().map(|run| Match {
            old: run.old.plus(head),
            new: run.new.plus(head),
            len: run.len,
        }));
        runs.push(Match { old: ours.len(), new: theirs.len(), len: 0 });
        let mut inner = Vec::new();
        let (mut at_ours, mut at_theirs) = (0usize, 0usize);
        let mut add = |kind, ours: Span, theirs: Span| {
            if ours.len > 0 || theirs.len > 0 {
                let shift =
                    |span: Span, by: Span| Span { start: span.start.plus(by.start), len: span.len };
                let (modified, latest) = (shift(ours, modified), shift(theirs, latest));
                inner.push(Hunk { kind, original, modified, latest });
            }
        };
        for run in runs {
            let gap = (span(at_ours, run.old), span(at_theirs, run.new));
            add(HunkKind::Conflict(Vec::new()), gap.0, gap.1);
            let same = |start| Span { start, len: run.len };
            add(HunkKind::Both, same(run.old), same(run.new));
            at_ours = run.old.plus(run.len);
            at_theirs = run.new.plus(run.len);
        }
        HunkKind::Conflict(inner)
    }

    fn lines<'t>(&self, tokens: &'t [u32], span: Span) -> &'t [u32] {
        let start = span.start.minus(self.first);
        tokens.piece(start..start.plus(span.len))
    }
}

/// Goes to the next place of the original at which a run of one text begins and a run of the other
/// one is under way.
fn synchronize(modified: &mut Runs, latest: &mut Runs) -> usize {
    loop {
        if modified.run().old > latest.run().old {
            let sync = modified.run().old;
            latest.catch_up(sync, modified.run());
            if latest.run().old <= sync {
                return sync;
            }
        } else {
            let sync = latest.run().old;
            modified.catch_up(sync, latest.run());
            if modified.run().old <= sync {
                return sync;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(original: &str, modified: &str, latest: &str) -> String {
        let text = |letters: &str| letters.chars().flat_map(|c| [c, '\n']).collect::<String>();
        let diff = diff3(
            &Options::default(),
            text(original).as_bytes(),
            text(modified).as_bytes(),
            text(latest).as_bytes(),
        );
        diff.hunks
            .iter()
            .map(|hunk| match &hunk.kind {
                HunkKind::Common => '=',
                HunkKind::Modified => 'm',
                HunkKind::Latest => 'l',
                HunkKind::Both => 'b',
                HunkKind::Conflict(_) => 'C',
            })
            .collect()
    }

    #[test]
    fn each_kind() {
        for (original, modified, latest, want) in [
            ("", "", "", ""),
            ("abc", "abc", "abc", "="),
            ("abc", "axc", "abc", "=m="),
            ("abc", "abc", "axc", "=l="),
            ("abc", "axc", "axc", "=b="),
            ("abc", "axc", "ayc", "=C="),
            ("abcde", "xbcde", "abcdy", "m=l"),
            ("", "x", "", "m"),
            ("", "x", "y", "C"),
            ("abc", "", "axc", "C"),
            ("abc", "abcx", "abcy", "=C"),
        ] {
            assert_eq!(kinds(original, modified, latest), want, "{original} {modified} {latest}");
        }
    }

    proptest! {
        /// Stretches are in order and without gaps, and what is called common is.
        #[test]
        fn covers_the_texts(
            original in "[abc]{0,12}",
            modified in "[abcx]{0,12}",
            latest in "[abcy]{0,12}",
        ) {
            let text = |letters: &str| -> Vec<Vec<u8>> {
                letters.bytes().map(|b| vec![b, b'\n']).collect()
            };
            let texts = [text(&original), text(&modified), text(&latest)];
            let diff = diff3(
                &Options::default(),
                &texts[0].concat(),
                &texts[1].concat(),
                &texts[2].concat(),
            );
            let mut at = [0, 0, 0];
            for hunk in &diff.hunks {
                let spans = [hunk.original, hunk.modified, hunk.latest];
                for (at, span) in at.iter_mut().zip(spans) {
                    prop_assert_eq!(*at, span.start);
                    *at += span.len;
                }
                let [o, m, l] = [0, 1, 2].map(|n| &texts[n][spans[n].start..at[n]]);
                match &hunk.kind {
                    HunkKind::Common => prop_assert!(o == m && o == l),
                    HunkKind::Modified => prop_assert_eq!(o, l),
                    HunkKind::Latest => prop_assert_eq!(o, m),
                    HunkKind::Both => prop_assert_eq!(m, l),
                    HunkKind::Conflict(inner) => {
                        let lines = |f: fn(&Hunk) -> Span| {
                            inner.iter().map(|h| f(h).len).sum::<usize>()
                        };
                        prop_assert_eq!(lines(|h| h.modified), hunk.modified.len);
                        prop_assert_eq!(lines(|h| h.latest), hunk.latest.len);
                    }
                }
            }
            prop_assert_eq!(at, [0, 1, 2].map(|n| texts[n].len()));
        }
    }
}
