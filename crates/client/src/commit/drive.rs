//! Drives a commit editor with items.
//!
//! Beside items there may be directories that are only made, and properties that no working copy has
//! ([`Extra`]). Directories are opened and closed on the way from one item to the next; files with changed texts
//! stay open until everything else is sent; their texts follow at the end, in the order of the paths.

use std::collections::HashMap;
use std::path::PathBuf;

use sapwood_core::notify::{Action, Notify, State};
use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{NodeKind, PropList, SvnError, SvnResult, path};
use sapwood_delta::Handle;
use sapwood_ra::CommitEditor;
use sapwood_wc::commit::{Item, OutgoingText, SentText};

use super::errors::explain;
use crate::context::Context;

/// The texts that were sent, by the path of the working file.
pub(crate) type SentTexts = HashMap<PathBuf, SentText>;

/// The state of the edit of a commit.
pub(crate) struct Drive<'a> {
    pub(crate) ctx: &'a Context,
    /// The prefix that is cut off from reported paths.
    pub(crate) prefix: Option<&'a str>,
    /// Changes that are sent beside the items.
    pub(crate) extra: &'a Extra,
}

/// Changes in a commit that no node of a working copy has.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    /// URLs of directories that are made.
    pub(crate) dirs: Vec<UrlBuf>,
    /// Properties of items, by their URLs.
    pub(crate) props: HashMap<UrlBuf, Vec<(String, Vec<u8>)>>,
}

impl Extra {
    /// The properties of an item.
    fn of(&self, item: &Item) -> &[(String, Vec<u8>)] {
        self.props.get(&item.url()).map_or(&[], Vec::as_slice)
    }
}

/// A file whose text is still to come.
struct PendingText<'i> {
    item: &'i Item,
    file: Handle,
}

struct EditRun<'a, 'i> {
    drive: &'a Drive<'a>,
    editor: &'a mut dyn CommitEditor,
    /// Open directories: path below the base and handle.
    open: Vec<(RelPathBuf, Handle)>,
    waiting: Vec<PendingText<'i>>,
    /// All that is sent, by its path below the base.
    steps: &'i [(RelPathBuf, Option<&'i Item>)],
}

impl Drive<'_> {
    /// Sends the whole edit, from its start at `base` to its end.
    pub(crate) fn run(
        &self,
        base: &Url,
        editor: &mut dyn CommitEditor,
        items: &[Item],
    ) -> SvnResult<SentTexts> {
        let mut steps: Vec<(RelPathBuf, Option<&Item>)> = Vec::new();
        for url in &self.extra.dirs {
            steps.push((url.relpath(base)?, None));
        }
        for item in items.iter().filter(|item| !item.changes.only_lock()) {
            steps.push((item.url().relpath(base)?, Some(item)));
        }
        if !self.extra.dirs.is_empty() {
            steps.sort_by(|a, b| path::compare(&a.0, &b.0));
        }
        let steps = &*steps;
        let mut run = EditRun { drive: self, editor, open: Vec::new(), waiting: Vec::new(), steps };
        for (at, item) in steps {
            self.ctx.check_cancel()?;
            let sent = run.reach(at, *item).and_then(|()| match item {
                Some(item) => run.item(item, at).map_err(|e| run.explain(e, Some(item))),
                None => run.make(at),
            });
            sent?;
        }
        while let Some((_, dir)) = run.open.pop() {
            run.editor.close_directory(dir).map_err(|e| run.explain(e, None))?;
        }
        let sent = run.texts()?;
        self.notify(&Notify::of_url(Action::CommitFinalizing, base));
        run.editor.close_edit().map_err(|e| run.explain(e, None))?;
        Ok(sent)
    }

    fn notify(&self, value: &Notify<'_>) {
        self.ctx.notify(value);
    }

    /// Reports what is about to happen to an item.
    pub(crate) fn announce(&self, item: &Item) -> SvnResult<()> {
        let changes = item.changes;
        let copied = item.copy_from.is_some();
        let shown = item.abspath().display().to_string();
        let mime_type;
        let mut value = match (changes.add, changes.delete) {
            (true, true) if copied => Notify::new(Action::CommitCopiedReplaced, &shown),
            (true, true) => Notify::new(Action::CommitReplaced, &shown),
            (false, true) => Notify::new(Action::CommitDeleted, &shown),
            (true, false) => {
                let action = if copied { Action::CommitCopied } else { Action::CommitAdded };
                let mut value = Notify::new(action, &shown);
                if item.kind == Some(NodeKind::File) {
                    mime_type = local_props(item)?.get_str(names::MIME_TYPE).map(str::to_owned);
                    value.mime_type = mime_type.as_deref();
                }
                value
            }
            (false, false) if changes.text || changes.props => {
                let mut value = Notify::new(Action::CommitModified, &shown);
                let state = |changed| if changed { State::Changed } else { State::Unchanged };
                value.content = state(changes.text);
                value.props = state(changes.props);
                value
            }
            (false, false) => return Ok(()),
        };
        value.kind = item.kind;
        value.path_prefix = self.prefix;
        self.notify(&value);
        Ok(())
    }
}

/// The properties that the user sees; empty for a missing node.
fn local_props(item: &Item) -> SvnResult<PropList> {
    Ok(item.wc.view(&item.relpath)?.map(|view| view.props()).transpose()?.unwrap_or_default())
}

impl<'i> EditRun<'_, 'i> {
    /// Closes and opens directories until the parent of `at` is the innermost open one; for the
    /// start of the edit itself nothing is opened.
    fn reach(&mut self, at: &RelPath, item: Option<&Item>) -> SvnResult<()> {
        if at.is_empty() {
            return Ok(());
        }
        if self.open.is_empty() {
            let root = self.editor.open_root(None)?;
            self.open.push((RelPathBuf::default(), root));
        }
        let parent = at.parent();
        while let Some((dir, handle)) = self.open.last() {
            if parent.is_at_or_below(dir) {
                break;
            }
            let closed = self.editor.close_directory(*handle);
            closed.map_err(|e| self.explain(e, None))?;
            self.open.pop();
        }
        let mut dir = self.open.last().map_or(RelPathBuf::default(), |(dir, _)| dir.clone());
        for name in parent.rest_below(&dir)?.names() {
            dir = dir.child(name);
            let opened = self.editor.open_directory(&dir, self.parent(), None);
            let handle = opened.map_err(|e| self.explain(e, item))?;
            self.open.push((dir.clone(), handle));
        }
        Ok(())
    }

    fn make(&mut self, at: &RelPath) -> SvnResult<()> {
        let dir = self.editor.add_directory(at, self.parent(), None);
        let dir = dir.map_err(|e| self.explain(e, None))?;
        self.open.push((at.to_owned(), dir));
        Ok(())
    }

    /// Says of an error which item it is about: the one whose request failed, if it came later than the call for it,
    /// else `now`.
    fn explain(&self, error: SvnError, now: Option<&Item>) -> SvnError {
        let about = match self.editor.late_failure() {
            None => now,
            Some(late) => late.path.as_ref().and_then(|path| {
                let step = self.steps.iter().find(|(at, _)| at == path);
                step.and_then(|(_, item)| *item)
            }),
        };
        match about {
            Some(item) => explain(error, item),
            None => error,
        }
    }

    fn parent(&self) -> Handle {
        self.open.last().map_or(Handle(0), |(_, handle)| *handle)
    }

    fn item(&mut self, item: &'i Item, at: &RelPath) -> SvnResult<()> {
        self.drive.announce(item)?;
        let changes = item.changes;
        let is_file = item.kind == Some(NodeKind::File);
        let mut file = None;
        let mut dir = None;
        if changes.delete {
            self.editor.delete_entry(at, item.revision, self.parent())?;
        }
        if changes.add {
            let from = item.copy_from.as_ref().map(|(from, rev)| (item.root.join(from), *rev));
            let from = from.as_ref().map(|(url, revision)| (url.as_str(), *revision));
            if is_file {
                file = Some(self.editor.add_file(at, self.parent(), from)?);
            } else {
                dir = Some(self.editor.add_directory(at, self.parent(), from)?);
            }
        }
        if (changes.props || changes.text) && is_file && file.is_none() {
            file = Some(self.editor.open_file(at, self.parent(), item.revision)?);
        }
        if changes.props && !is_file && dir.is_none() {
            dir = Some(if at.is_empty() {
                self.editor.open_root(item.revision)?
            } else {
                self.editor.open_directory(at, self.parent(), item.revision)?
            });
        }
        self.props(item, file, dir)?;
        if let Some(dir) = dir {
            self.open.push((at.to_owned(), dir));
        }
        match file {
            Some(file) if changes.text => self.waiting.push(PendingText { item, file }),
            Some(file) => self.editor.close_file(file, None)?,
            None => {}
        }
        Ok(())
    }

    fn props(&mut self, item: &Item, file: Option<Handle>, dir: Option<Handle>) -> SvnResult<()> {
        let extra = self.drive.extra.of(item);
        let mut changes = Vec::new();
        if item.changes.props
            && let Some(view) = item.wc.view(&item.relpath)?
        {
            changes = view.pristine_props()?.diff_to(&view.props()?);
            changes.retain(|(name, _)| !extra.iter().any(|(own, _)| own == name));
        }
        changes.extend(extra.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
        for (name, value) in changes {
            match (file, dir) {
                (Some(file), _) => {
                    self.editor.change_file_prop(file, &name, value.as_deref())?;
                }
                (None, Some(dir)) => {
                    self.editor.change_dir_prop(dir, &name, value.as_deref())?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Sends the texts.
    fn texts(&mut self) -> SvnResult<SentTexts> {
        let mut sent = SentTexts::new();
        for PendingText { item, file } in std::mem::take(&mut self.waiting) {
            self.drive.ctx.check_cancel()?;
            let shown = item.abspath().display().to_string();
            let mut value = Notify::new(Action::CommitPostfixTxdelta, &shown);
            value.kind = Some(NodeKind::File);
            value.path_prefix = self.drive.prefix;
            self.drive.notify(&value);
            let text = self.text(item, file).map_err(|e| self.explain(e, Some(item)))?;
            sent.insert(item.abspath(), text);
        }
        Ok(sent)
    }

    fn text(&mut self, item: &Item, file: Handle) -> SvnResult<SentText> {
        let outgoing = OutgoingText::open(item)?;
        let base = outgoing.base_md5();
        let editor = &mut *self.editor;
        let text =
            outgoing.send(|delta| editor.apply_textdelta(file, base, delta)).map_err(|e| {
                e.context(format!("While preparing '{}' for commit", item.abspath().display()))
            })?;
        self.editor.close_file(file, Some(text.pristine.md5))?;
        Ok(text)
    }
}
