//! What a search finds, as far as the asker may see it.
//!
//! Invariants: the index only names candidates: each hit was read from the repository through the [`View`], which
//! has what may not be read as not there; nothing that was left out is counted.

use std::ops::ControlFlow;

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, NodeKind, Revnum, len64};
use sapwood_search::{Candidates, ChangedFile, Index, PathCandidate, Query, Scope};

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

/// A file or directory whose properties have the words.
#[derive(Debug)]
pub struct PropertyHit {
    /// Where they are.
    pub path: FsPathBuf,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The first lines that have one of them, each with the name of its property.
    pub lines: Vec<String>,
}

/// A file in whose lines that a revision added or removed the words are.
#[derive(Debug)]
pub struct ChangeHit {
    /// The file.
    pub path: FsPathBuf,
    /// Whether the revision deleted it.
    pub is_deleted: bool,
    /// The revision.
    pub change: Change,
    /// The first lines that have one of them, and whether each was added.
    pub lines: Vec<(bool, String)>,
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
    /// What has properties that have them.
    pub properties: Vec<PropertyHit>,
    /// Files that revisions changed, the youngest first, whose lines have them.
    pub changes: Vec<ChangeHit>,
    /// Where the next page of a section begins.
    pub next: Option<String>,
    /// Whether the time was enough.
    pub is_whole: bool,
    /// The revision up to which the index has everything.
    pub complete_to: Option<Revnum>,
    /// The oldest revision whose changed lines it has.
    pub history: Option<Revnum>,
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
        Self::in_section(request, request.address.query.section)
    }

    /// The same in another section than the address names.
    pub(crate) fn in_section(request: &Request<'_>, section: Section) -> Result<Self> {
        let index = request.index.ok_or(Fault::Missing)?;
        let asked = &request.address.query;
        let words = asked.words.as_deref().unwrap_or("");
        Self::find(request.view, index, words, section, asked.after.as_deref())
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
        let (complete_to, history) = (index.complete_to()?, index.history()?);
        let mut hits = Self { complete_to, history, ..Self::default() };
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
        if wants(Section::Properties) && !of_revisions && query.has_words() {
            search.properties(&mut hits)?;
        }
        if wants(Section::Changes) && query.has_words() {
            search.changes(&mut hits)?;
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
        self.paths.is_empty()
            && self.revisions.is_empty()
            && self.texts.is_empty()
            && self.properties.is_empty()
            && self.changes.is_empty()
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
        let lines = lines.map(|(at, line)| (len64(at.plus(1)), shown(line)));
        Ok(Some(TextHit { path: found.path, lines: lines.collect() }))
    }

    fn properties(&self, hits: &mut Hits) -> Result<()> {
        let after = self.after.map(FsPathBuf::canonicalize);
        let mut take = |path: FsPathBuf| -> Result<ControlFlow<()>> {
            if self.budget.is_over() {
                return Ok(ControlFlow::Break(()));
            }
            let Some(hit) = self.property(&path)? else { return Ok(ControlFlow::Continue(())) };
            if hits.properties.len() == self.most {
                hits.next = hits.properties.last().map(|last| last.path.as_str().to_owned());
                return Ok(ControlFlow::Break(()));
            }
            hits.properties.push(hit);
            Ok(ControlFlow::Continue(()))
        };
        self.candidates.properties(after.as_deref(), &mut take)
    }

    /// What is at a path, if its properties have all words.
    fn property(&self, path: &FsPath) -> Result<Option<PropertyHit>> {
        let Some(found) = there(self.view.find(path, None, None))? else { return Ok(None) };
        let whole = sapwood_search::of_properties(&*found.node.props()?);
        let query = self.candidates.query;
        if !query.is_in(&whole) {
            return Ok(None);
        }
        let lines = whole.lines().filter(|line| query.is_on_line(line)).take(budget::HIT_LINES);
        let lines = lines.map(shown).collect();
        let is_dir = found.node.kind() == NodeKind::Dir;
        Ok(Some(PropertyHit { path: found.path, is_dir, lines }))
    }

    /// Files that revisions changed, the last one of each revision first.
    fn changes(&self, hits: &mut Hits) -> Result<()> {
        let scope = self.candidates.index.scope()?;
        let after = self.after.map(position).transpose()?;
        let mut files = LastFileList { view: self.view, scope: &scope, known: None };
        let up_to = match after {
            Some((revision, position)) => {
                Some((revision, sapwood_search::row_of(position, files.of(revision)?.len())))
            }
            None => None,
        };
        let mut last = None;
        let mut take = |(revision, row): (Revnum, u64)| -> Result<ControlFlow<()>> {
            if self.budget.is_over() {
                return Ok(ControlFlow::Break(()));
            }
            let files = files.of(revision)?;
            let change = there(self.view.change_in(revision))?;
            let Some(change) = change.filter(|change| self.allows(change)) else {
                return Ok(ControlFlow::Continue(()));
            };
            for position in sapwood_search::positions(row, files.len()).rev() {
                let is_seen = after.is_some_and(|after| (revision, position) >= after);
                let Some(Some(file)) = files.get(position).filter(|_| !is_seen) else { continue };
                if self.budget.is_over() {
                    return Ok(ControlFlow::Break(()));
                }
                let Some(hit) = self.changed(file, &change)? else { continue };
                if hits.changes.len() == self.most {
                    hits.next = last.take();
                    return Ok(ControlFlow::Break(()));
                }
                hits.changes.push(hit);
                last = Some(format!("{revision}:{position}"));
            }
            Ok(ControlFlow::Continue(()))
        };
        self.candidates.changes(up_to, &mut take)
    }

    fn allows(&self, change: &Change) -> bool {
        let (author, date) = (change.author.as_deref(), change.date.as_deref());
        self.candidates.query.allows_change(author, date)
    }

    /// A file, if the lines that a revision added and removed have all words.
    fn changed(&self, file: &ChangedFile, change: &Change) -> Result<Option<ChangeHit>> {
        let query = self.candidates.query;
        if !query.allows_path(&file.path) {
            return Ok(None);
        }
        let lines = there(self.view.changed_lines(file, change.revision))?;
        let Some(lines) = lines.filter(|lines| query.is_in(&lines.text())) else { return Ok(None) };
        let removed = lines.removed.iter().map(|line| (false, line));
        let all = removed.chain(lines.added.iter().map(|line| (true, line)));
        let found = all.filter(|(_, line)| query.is_on_line(line)).take(budget::HIT_LINES);
        Ok(Some(ChangeHit {
            path: file.path.clone(),
            is_deleted: file.is_deleted,
            change: change.clone(),
            lines: found.map(|(is_added, line)| (is_added, shown(line))).collect(),
        }))
    }
}

/// The files of the revision that was asked for last: a large one has many rows.
struct LastFileList<'a> {
    view: &'a View<'a>,
    scope: &'a Scope,
    known: Option<(Revnum, Vec<Option<ChangedFile>>)>,
}

impl LastFileList<'_> {
    fn of(&mut self, revision: Revnum) -> Result<&[Option<ChangedFile>]> {
        if self.known.as_ref().is_none_or(|(known, _)| *known != revision) {
            let files = there(self.view.changed_files(self.scope, revision))?;
            self.known = Some((revision, files.unwrap_or_else(Vec::new)));
        }
        Ok(self.known.as_ref().map_or(&[], |(_, files)| files))
    }
}

/// The revision and position where a page of changes ends.
fn position(text: &str) -> Result<(Revnum, usize)> {
    let parts = text.split_once(':');
    let parsed = parts.and_then(|(revision, position)| {
        Some((Revnum::parse(revision.as_bytes())?, position.parse().ok()?))
    });
    parsed.ok_or(Fault::Bad("There is no such number"))
}

/// What is there for this user, if anything.
fn there<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Fault::Missing) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// A line as it is shown.
fn shown(line: &str) -> String {
    let shown = text::shown(line.trim()).into_owned();
    text::cut(shown, budget::HIT_LINE).0
}
