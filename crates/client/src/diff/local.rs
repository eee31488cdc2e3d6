//! Comparing a working copy with its BASE: status says where to look.

use std::collections::HashSet;
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, PropList, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{Kind, NodeRow};
use sapwood_wc::status::{self, State, Status};
use sapwood_wc::translate::Translation;
use sapwood_wc::view::{self, View};

use super::sides::{CopySource, Difference, DirSide, FileSide, Processor, Text};
use crate::context::Context;

/// The pristine text of a row.
pub(super) fn pristine_text(wc: &WorkingCopy, row: &NodeRow) -> SvnResult<Text> {
    match row.checksum {
        None => Ok(Text::Empty),
        Some(sha1) => Ok(Text::Base(Rc::new(wc.text_base_file(&row.relpath, &sha1)?))),
    }
}

/// The text of a working file in normal form.
pub(super) fn working_text(
    wc: &WorkingCopy,
    relpath: &RelPath,
    props: &PropList,
) -> SvnResult<Text> {
    let file = wc.abspath(relpath);
    let translation = Translation::of(props, None);
    if !translation.is_needed() {
        return Ok(Text::File(file));
    }
    let kept = Text::keep(&mut translation.normal_form(&file, false)?);
    kept.map_err(|error| match error.code() {
        ErrorCode::IO_INCONSISTENT_EOL => {
            let message = format!("File '{}' has inconsistent newlines", file.display());
            error.wrap(ErrorCode::IO_INCONSISTENT_EOL, message)
        }
        _ => error,
    })
}

/// A directory whose properties changed. It is reported after its children.
struct PendingDir {
    relpath: RelPathBuf,
    sides: Option<(DirSide, DirSide)>,
}

/// What a status says of a node that is worth a look: of many nodes little is kept.
struct Candidate {
    relpath: RelPathBuf,
    /// Whether the status found the text of a file to be another.
    text: bool,
    /// Whether the status shows something about its properties.
    props: bool,
    moved_from: Option<RelPathBuf>,
}

impl Candidate {
    /// `None` where there is nothing to show.
    fn of(status: Status) -> Option<Self> {
        let only_conflict = status.node == State::Conflicted
            && status.text == State::None
            && status.props == State::None;
        let is_one =
            status.versioned && !only_conflict && (status.node != State::Normal || status.copied);
        is_one.then_some(Self {
            text: status.text == State::Modified,
            props: !matches!(status.props, State::None | State::Normal),
            relpath: status.relpath,
            moved_from: status.moved_from,
        })
    }
}

/// A comparison of a node with its BASE.
pub(crate) struct Local<'a> {
    pub(crate) ctx: &'a Context,
    pub(crate) wc: &'a WorkingCopy,
    /// What is compared, below the root.
    pub(crate) target: &'a RelPath,
    pub(crate) ignore_ancestry: bool,
    pub(crate) changelists: &'a HashSet<String>,
    pub(crate) processor: &'a mut dyn Processor,
}

impl Local<'_> {
    pub(crate) fn run(&mut self, depth: Depth) -> SvnResult<()> {
        let mut found = Vec::new();
        let options = status::Options {
            depth,
            // What stands in the place of a node is compared with it.
            layers: self.ignore_ancestry,
            no_ignore: true,
            unversioned: false,
            cancel: self.ctx.cancel().clone(),
            ..status::Options::default()
        };
        self.wc.status(self.target, &options, &mut |status| {
            found.extend(Candidate::of(status));
            Ok(())
        })?;
        if found.is_empty() {
            return Ok(());
        }
        // Texts are read, and what differs is printed: no other program waits for wc.db meanwhile.
        let wc = self.wc;
        wc.db().released(|| self.nodes(found))
    }

    /// Compares the nodes that a status found.
    fn nodes(&mut self, found: Vec<Candidate>) -> SvnResult<()> {
        let mut waiting: Vec<PendingDir> = Vec::new();
        let mut skip: Option<RelPathBuf> = None;
        for candidate in found {
            if skip.as_ref().is_some_and(|skip| candidate.relpath.is_at_or_below(skip)) {
                continue;
            }
            skip = None;
            self.ctx.check_cancel()?;
            self.leave(&mut waiting, Some(&candidate.relpath))?;
            if self.node(&candidate, &mut waiting)? {
                skip = Some(candidate.relpath);
            }
        }
        self.leave(&mut waiting, None)
    }

    /// Reports the directories that are complete.
    fn leave(&mut self, waiting: &mut Vec<PendingDir>, next: Option<&RelPath>) -> SvnResult<()> {
        while let Some(last) = waiting.last() {
            if next.is_some_and(|next| next.is_at_or_below(&last.relpath)) {
                break;
            }
            if let Some(PendingDir { relpath, sides: Some((left, right)) }) = waiting.pop() {
                self.processor.take(self.at(&relpath)?, Difference::DirChanged(&left, &right))?;
            }
        }
        Ok(())
    }

    fn at<'p>(&self, relpath: &'p RelPath) -> SvnResult<&'p RelPath> {
        relpath.rest_below(self.target)
    }

    fn is_listed(&self, relpath: &RelPath) -> SvnResult<bool> {
        if self.changelists.is_empty() {
            return Ok(true);
        }
        let actual = self.wc.db().actual(relpath)?;
        Ok(actual.and_then(|a| a.changelist).is_some_and(|name| self.changelists.contains(&name)))
    }

    /// Compares one node; whether all below it was compared with it.
    fn node(&mut self, candidate: &Candidate, waiting: &mut Vec<PendingDir>) -> SvnResult<bool> {
        let Some(view) = self.wc.view(&candidate.relpath)? else { return Ok(false) };
        let state = view.status();
        let base = view.base().filter(|base| base.presence.is_there());
        let top_kind = view.top().kind;
        let (gone, new) = match (state, base) {
            (view::Status::Deleted, None) => return Ok(false),
            (view::Status::Deleted, Some(_)) => (true, false),
            (_, None) => (false, true),
            (view::Status::Added, Some(base)) => {
                let replaced = base.kind != top_kind || !self.ignore_ancestry;
                (replaced, replaced)
            }
            _ => (false, false),
        };
        if gone && let Some(base) = base {
            self.deleted(base)?;
        }
        if new {
            let anchor = self.target.parent();
            let moved = candidate.moved_from.as_deref();
            let moved = moved.and_then(|from| from.below(anchor));
            self.added(&view, moved)?;
        }
        if gone || new {
            let was_dir = base.is_some_and(|base| base.kind == Kind::Dir);
            return Ok(top_kind == Kind::Dir || was_dir);
        }
        if top_kind == Kind::Dir {
            let sides = base.filter(|_| candidate.props);
            let sides = match sides {
                Some(base) if self.is_listed(&candidate.relpath)? => {
                    let left = DirSide { revision: base.revision, props: base.props()? };
                    Some((left, DirSide { revision: None, props: view.props()? }))
                }
                _ => None,
            };
            waiting.push(PendingDir { relpath: candidate.relpath.clone(), sides });
        } else if let Some(base) = base {
            self.changed_file(base, &view, candidate.text)?;
        }
        Ok(false)
    }

    /// Reports a file, if it is another; `is_modified` where its text was compared before.
    fn changed_file(&mut self, base: &NodeRow, view: &View, is_modified: bool) -> SvnResult<()> {
        if !self.is_listed(&base.relpath)? {
            return Ok(());
        }
        let props = view.props()?;
        let on_disk =
            view::stat_file(&self.wc.abspath(&base.relpath))?.is_some_and(|s| s.file || s.link);
        let is_known = is_modified || view.status() != view::Status::Normal;
        let modified = on_disk && (is_known || self.wc.file_modified(view)?);
        let left_text = pristine_text(self.wc, base)?;
        let text = match modified {
            true => working_text(self.wc, &base.relpath, &props)?,
            false => left_text.clone(),
        };
        let left = FileSide { revision: base.revision, text: left_text, props: base.props()? };
        let right = FileSide { revision: None, text, props };
        let modified = modified && !left.text.is_same(&right.text)?;
        if modified || left.props != right.props {
            self.processor.take(
                self.at(&base.relpath)?,
                Difference::FileChanged { left: &left, right: &right, text: modified },
            )?;
        }
        Ok(())
    }

    /// Reports a node of BASE and everything below it as deleted.
    fn deleted(&mut self, base: &NodeRow) -> SvnResult<()> {
        self.ctx.check_cancel()?;
        if base.kind == Kind::Dir {
            for child in self.wc.db().children_at(&base.relpath, 0)? {
                if child.presence.is_there() {
                    self.deleted(&child)?;
                }
            }
        }
        if !self.is_listed(&base.relpath)? {
            return Ok(());
        }
        let props = base.props()?;
        let at = self.at(&base.relpath)?;
        if base.kind == Kind::Dir {
            return self
                .processor
                .take(at, Difference::DirDeleted(&DirSide { revision: base.revision, props }));
        }
        let text = pristine_text(self.wc, base)?;
        self.processor
            .take(at, Difference::FileDeleted(&FileSide { revision: base.revision, text, props }))
    }

    /// Reports a node and everything below it as added.
    fn added(&mut self, view: &View, moved_from: Option<&RelPath>) -> SvnResult<()> {
        self.ctx.check_cancel()?;
        let row = view.top();
        if row.kind == Kind::Dir {
            for child in self.wc.db().children_top(&row.relpath)? {
                if !child.presence.is_there() {
                    continue;
                }
                // Only the root of a move is shown as one.
                if let Some(view) = self.wc.view(&child.relpath)? {
                    self.added(&view, None)?;
                }
            }
        }
        if !self.is_listed(&row.relpath)? {
            return Ok(());
        }
        let at = self.at(&row.relpath)?;
        let source = match &row.repos_path {
            Some(from) if row.op_depth > 0 => Some(CopySource {
                revision: row.revision,
                repos_relpath: from.clone(),
                moved_from: moved_from.map(RelPath::to_owned),
                text: pristine_text(self.wc, row)?,
                props: view.pristine_props()?,
            }),
            _ => None,
        };
        let props = view.props()?;
        if row.kind == Kind::Dir {
            let right = DirSide { revision: None, props };
            return self.processor.take(at, Difference::DirAdded(source.as_ref(), &right));
        }
        let text = working_text(self.wc, &row.relpath, &props)?;
        let right = FileSide { revision: None, text, props };
        self.processor.take(at, Difference::FileAdded(source.as_ref(), &right))
    }
}
