//! What a search finds, as far as the asker may see it.
//!
//! Invariants: the index only names candidates: each hit was read from the repository through the [`View`], which
//! has what may not be read as not there; nothing that was left out is counted.

use std::ops::ControlFlow;

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, NodeKind, Revnum, len64};
use sapwood_search::{Candidates, Index, PathCandidate, Query};

use crate::Request;
use crate::address::Section;
use crate::budget::{self, Budget};
use crate::fault::{Fault, Result};
use crate::text;
use crate::view::{Change, View};

/// A file whose text has the words.
#[derive(Debug)]
pub struct TextHit {
    /// The file.
    pub path: FsPathBuf,
    /// The first lines that have one of them, with their numbers, from 1.
    pub lines: Vec<(u64, String)>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Hits {
    /// Paths whose names have the words.
    pub paths: Vec<PathCandidate>,
    /// Revisions whose messages or authors have them, the youngest first.
    pub revisions: Vec<Change>,
    /// Files whose texts have them.
    pub texts: Vec<TextHit>,
    /// Where the next page of a section begins.
    pub next: Option<String>,
    /// Whether the time was enough.
    pub is_whole: bool,
    /// The revision up to which the index has everything.
    pub complete_to: Option<Revnum>,
}

/// One search, under way.
struct Search<'a> {
    view: &'a View<'a>,
    candidates: Candidates<'a>,
    after: Option<&'a str>,
    /// The most hits of one kind.
    most: usize,
    budget: Budget,
}

impl Hits {
    pub(crate) fn read(request: &Request<'_>) -> Result<Self> {
        let index = request.index.ok_or(Fault::Missing)?;
        let asked = &request.address.query;
        let words = asked.words.as_deref().unwrap_or("");
        Self::find(request.view, index, words, asked.section, asked.after.as_deref())
    }

    /// Searches for `words` ([`Query`]), behind the hit `after`.
    ///
    /// # Errors
    /// [`Fault::Bad`] for a question that means nothing; those of the index and the repository.
    pub fn find(
        view: &View<'_>,
        index: &Index,
        words: &str,
        section: Section,
        after: Option<&str>,
    ) -> Result<Self> {
        let query = Query::parse(words)?;
        let search = Search {
            view,
            candidates: Candidates { index, query: &query },
            after,
            most: if section == Section::All { budget::FEW_HITS } else { budget::HITS },
            budget: Budget::new(),
        };
        let mut hits = Self { complete_to: index.complete_to()?, ..Self::default() };
        let wants = |one: Section| section == one || section == Section::All;
        let (of_files, of_revisions) = (query.is_about_files(), query.is_about_revisions());
        if wants(Section::Paths) && !of_revisions {
            search.paths(&mut hits)?;
        }
        if wants(Section::Revisions) && !of_files {
            search.revisions(&mut hits)?;
        }
        if wants(Section::Texts) && !of_revisions && query.has_words() {
            search.texts(&mut hits)?;
        }
        if section == Section::All {
            hits.next = None;
        }
        hits.is_whole = !search.budget.is_over();
        Ok(hits)
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.revisions.is_empty() && self.texts.is_empty()
    }
}

impl Search<'_> {
    fn paths(&self, hits: &mut Hits) -> Result<()> {
        for candidate in self.candidates.paths()? {
            if hits.paths.len() == self.most || self.budget.is_over() {
                break;
            }
            match self.view.find(&candidate.path, None, None) {
                Ok(_) => hits.paths.push(candidate),
                Err(Fault::Missing) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    fn revisions(&self, hits: &mut Hits) -> Result<()> {
        let before = match self.after {
            Some(text) => {
                let number = Revnum::parse(text.as_bytes());
                Some(number.ok_or(Fault::Bad("There is no such number"))?)
            }
            None => None,
        };
        let mut take = |revision: Revnum| -> Result<ControlFlow<()>> {
            if self.budget.is_over() {
                return Ok(ControlFlow::Break(()));
            }
            let Some(change) = self.change(revision)? else { return Ok(ControlFlow::Continue(())) };
            if hits.revisions.len() == self.most {
                hits.next = hits.revisions.last().map(|last| last.revision.to_string());
                return Ok(ControlFlow::Break(()));
            }
            hits.revisions.push(change);
            Ok(ControlFlow::Continue(()))
        };
        self.candidates.revisions(before, &mut take)
    }

    /// A revision, if what may be seen of it is what is searched for.
    fn change(&self, revision: Revnum) -> Result<Option<Change>> {
        let mut found = None;
        let read = self.view.revision(revision, &mut |entry| {
            found = Change::of_log(entry);
            Ok(())
        });
        match read {
            Ok(()) => {}
            Err(Fault::Missing) => return Ok(None),
            Err(fault) => return Err(fault),
        }
        let query = self.candidates.query;
        Ok(found.filter(|change| {
            let (author, date) = (change.author.as_deref(), change.date.as_deref());
            let message = change.message.as_deref().unwrap_or("");
            // Of a hidden revision nothing can be seen, not even that it is there.
            let is_seen = author.is_some() || date.is_some() || change.message.is_some();
            let text = format!("{message}\n{}", author.unwrap_or(""));
            is_seen && query.is_in(&text) && query.allows_change(author, date)
        }))
    }

    fn texts(&self, hits: &mut Hits) -> Result<()> {
        let after = self.after.map(FsPathBuf::canonicalize);
        let mut take = |path: FsPathBuf| -> Result<ControlFlow<()>> {
            if self.budget.is_over() {
                return Ok(ControlFlow::Break(()));
            }
            let Some(hit) = self.text(&path)? else { return Ok(ControlFlow::Continue(())) };
            if hits.texts.len() == self.most {
                hits.next = hits.texts.last().map(|last| last.path.as_str().to_owned());
                return Ok(ControlFlow::Break(()));
            }
            hits.texts.push(hit);
            Ok(ControlFlow::Continue(()))
        };
        self.candidates.texts(after.as_deref(), &mut take)
    }

    /// A file, if its text has all words.
    fn text(&self, path: &FsPath) -> Result<Option<TextHit>> {
        let found = match self.view.find(path, None, None) {
            Ok(found) if found.node.kind() == NodeKind::File => found,
            Ok(_) | Err(Fault::Missing) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let Some(whole) = sapwood_search::of_file(&found.node)? else { return Ok(None) };
        let query = self.candidates.query;
        if !query.is_in(&whole) {
            return Ok(None);
        }
        let numbered = whole.lines().enumerate();
        let lines = numbered.filter(|(_, line)| query.is_on_line(line)).take(budget::HIT_LINES);
        let lines = lines.map(|(at, line)| {
            let shown = text::shown(line.trim()).into_owned();
            (len64(at.plus(1)), text::cut(shown, budget::HIT_LINE).0)
        });
        Ok(Some(TextHit { path: found.path, lines: lines.collect() }))
    }
}
