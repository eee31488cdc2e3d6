//! How far the comparison came: the target's file `converted-revision`. It is replaced when a batch of revisions or of the
//! nodes of the tree was found equal, and is on disk then, so that a comparison that ended in the middle goes on there.
//!
//! It names source and target with the identity of each copy. What was said of others counts for nothing, and so does what is
//! not understood, or where the last revision that is named differs by now: then all is compared again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum, SvnError, SvnResult};
use sapwood_fs::{Filesystem, WriteStorage as _};

use super::same::same_changes;
use super::{Pair, STORAGE};

/// The file's name in the folder of a target.
pub(super) const NAME: &str = "converted-revision";

/// What was found equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// The revisions to this one.
    revision: Option<Revnum>,
    /// The tree of a revision, or what comes in it before this path.
    tree: Option<(Revnum, Option<FsPathBuf>)>,
}

/// How far the comparison of a source and a target came.
#[derive(Debug)]
pub(super) struct ComparisonState {
    path: PathBuf,
    /// The lines that name source and target.
    of: Vec<u8>,
    state: State,
}

impl ComparisonState {
    /// What the file in the folder `to` of the target, whose youngest revision is `youngest`, says. Where the target has lost revisions, it says
    /// less from now on.
    ///
    /// # Errors
    /// System errors, and those of reading the last revision that was compared.
    pub(super) fn read(pair: &Pair<'_>, to: &Path, youngest: Revnum) -> SvnResult<Self> {
        let (source, target) = (pair.source, pair.target());
        let path = to.join(NAME);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io(&error, "Can't open file", &path)),
        };
        let of = lines_of(source, target)?;
        let state = State::parse(&text, &of).unwrap_or_default();
        let mut compared = Self { path, of, state };
        let last = compared.state.revision.map(|revision| revision.min(youngest));
        if last < compared.state.revision {
            compared.replace(State { revision: last, tree: None })?;
        }
        if let Some(last) = last
            && !same_changes(source, target, last)?
        {
            compared.state = State::default();
        }
        Ok(compared)
    }

    /// The first revision that was not compared.
    pub(super) fn next(&self) -> Revnum {
        self.state.revision.map_or(Revnum::ZERO, Revnum::next)
    }

    /// Notes that the revisions to this one are equal.
    pub(super) fn revisions_to(&mut self, revision: Revnum) -> SvnResult<()> {
        self.replace(State { revision: Some(revision), ..self.state.clone() })
    }

    /// Where the comparison of the tree of a revision begins; `None` when all of it was compared.
    pub(super) fn tree_from(&self, revision: Revnum) -> Option<FsPathBuf> {
        match &self.state.tree {
            Some((of, next)) if *of == revision => next.clone(),
            _ => Some(FsPath::ROOT.to_owned()),
        }
    }

    /// Notes that what comes in the tree of a revision before the path `next`, or all of it, is equal.
    pub(super) fn tree_to(&mut self, revision: Revnum, next: Option<&FsPath>) -> SvnResult<()> {
        let tree = Some((revision, next.map(FsPath::to_owned)));
        self.replace(State { tree, ..self.state.clone() })
    }

    fn replace(&mut self, state: State) -> SvnResult<()> {
        let text = state.text(&self.of);
        let replaced = STORAGE.replace(&self.path, &text, None, true);
        replaced.map_err(|error| io(&error, "Can't write", &self.path))?;
        self.state = state;
        Ok(())
    }
}

fn io(error: &std::io::Error, what: &str, path: &Path) -> SvnError {
    SvnError::io(error, format_args!("{what} '{}'", path.display()))
}

/// The lines that name source and target.
fn lines_of(source: &Filesystem, target: &Filesystem) -> SvnResult<Vec<u8>> {
    let mut lines = Vec::new();
    for (name, fs) in [("source", source), ("target", target)] {
        lines.extend_from_slice(name.as_bytes());
        for word in fs.instance()?.trim_ascii().split(|byte| *byte == b'\n') {
            lines.push(b' ');
            lines.extend_from_slice(word);
        }
        lines.push(b'\n');
    }
    Ok(lines)
}

impl State {
    /// The file, whose last lines are `of`.
    fn text(&self, of: &[u8]) -> Vec<u8> {
        let mut lines = String::new();
        if let Some(revision) = self.revision {
            lines += &format!("revision {revision}\n");
        }
        match &self.tree {
            Some((revision, Some(next))) => lines += &format!("tree {revision} {next}\n"),
            Some((revision, None)) => lines += &format!("tree {revision}\n"),
            None => {}
        }
        [lines.as_bytes(), of].concat()
    }

    /// What a file says that ends with the lines `of`; `None` for any other.
    fn parse(text: &[u8], of: &[u8]) -> Option<Self> {
        let lines = std::str::from_utf8(text.strip_suffix(of)?).ok()?;
        let mut state = Self::default();
        for line in lines.lines() {
            match line.split_once(' ')? {
                ("revision", number) => state.revision = Revnum::parse(number.as_bytes()),
                ("tree", rest) => {
                    let (number, next) = match rest.split_once(' ') {
                        Some((number, path)) => (number, Some(FsPath::new(path).ok()?.to_owned())),
                        None => (rest, None),
                    };
                    state.tree = Some((Revnum::parse(number.as_bytes())?, next));
                }
                _ => return None,
            }
        }
        // What is written otherwise is not understood.
        (state.text(of) == text).then_some(state)
    }
}

/// When what was found equal is noted: after so many, or a second.
pub(super) struct Pace {
    at_once: u64,
    gathered: u64,
    since: Instant,
}

impl Pace {
    const LONGEST: Duration = Duration::from_secs(1);

    pub(super) fn new(at_once: u64) -> Self {
        Self { at_once, gathered: 0, since: Instant::now() }
    }

    /// Whether it is time to note what was compared, now that there are `more`.
    pub(super) fn is_due(&mut self, more: u64) -> bool {
        self.gathered = self.gathered.saturating_add(more);
        let is_due = self.gathered >= self.at_once || self.since.elapsed() >= Self::LONGEST;
        if is_due {
            *self = Self::new(self.at_once);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: &[u8] = b"source a b\ntarget a c\n";

    #[test]
    fn what_is_written_is_read_again() {
        let path = |text: &str| Some(FsPathBuf::trusted(text.to_owned()));
        for revision in [None, Some(Revnum(0)), Some(Revnum(47_191))] {
            for tree in [None, Some(None), Some(path("/")), Some(path("/a b/tree 3"))] {
                let tree = tree.map(|next| (Revnum(7), next));
                let state = State { revision, tree };
                let text = state.text(OF);
                assert_eq!(State::parse(&text, OF), Some(state));
                // Of another source, or not all of it.
                assert_eq!(State::parse(&text, b"source b b\ntarget a c\n"), None);
                for end in 0..text.len() {
                    assert_eq!(State::parse(&text[..end], OF), None, "{end} bytes");
                }
            }
        }
    }

    #[test]
    fn what_is_not_understood_counts_for_nothing() {
        for lines in [
            "47191\n",
            "revision\n",
            "revision x\n",
            "revision 1",
            "revision 1\r\n",
            "revision 01\n",
            "revision 2\nrevision 1\n",
            "tree 1 a\n",
            "tree 1 /\nrevision 1\n",
            "trees 1\n",
            "\n",
        ] {
            assert_eq!(State::parse(&[lines.as_bytes(), OF].concat(), OF), None, "{lines:?}");
        }
        assert_eq!(State::parse(b"revision \xff\nsource a b\ntarget a c\n", OF), None);
    }
}
