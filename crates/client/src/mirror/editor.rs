//! Between a replay and a commit: paths of copies become URLs of the mirror, properties get their
//! proper form, those that cannot be committed are left out.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Md5, Revnum, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta};
use sapwood_ra::{CommitEditor, CommitInfo};

use super::Event;
use super::properties::{Encoding, without_revision_zero};
use crate::context::check_cancel;
use crate::delegate::delegate_editor;

/// Which revision goes where.
pub(super) struct At {
    /// The mirror's root.
    pub(super) root_url: UrlBuf,
    pub(super) revision: Revnum,
    pub(super) encoding: Encoding,
}

/// The editor of one revision.
pub(super) struct SyncEditor<'a> {
    commit: Box<dyn CommitEditor + 'a>,
    at: At,
    notify: &'a mut dyn FnMut(Event<'_>) -> SvnResult<()>,
    cancel: &'a CancelToken,
    opened: bool,
    texts: bool,
    tweaked: bool,
    normalized: u64,
}

impl<'a> SyncEditor<'a> {
    pub(super) fn new(
        commit: Box<dyn CommitEditor + 'a>,
        at: At,
        notify: &'a mut dyn FnMut(Event<'_>) -> SvnResult<()>,
        cancel: &'a CancelToken,
    ) -> Self {
        Self {
            commit,
            at,
            notify,
            cancel,
            opened: false,
            texts: false,
            tweaked: false,
            normalized: 0,
        }
    }

    /// The committed revision, and the number of normalized properties.
    pub(super) fn finish(self) -> (Option<CommitInfo>, u64) {
        (self.commit.committed().cloned(), self.normalized)
    }

    /// The URL in the mirror of a copy's source.
    fn source(&self, path: &str) -> String {
        match path.strip_prefix('/') {
            Some(relpath) => self.at.root_url.join(RelPath::trusted(relpath)).into_string(),
            None => path.to_owned(),
        }
    }

    /// The value to commit; `None` for properties that cannot be committed.
    fn proper(&mut self, name: &str, value: Option<&[u8]>) -> SvnResult<Option<Option<Vec<u8>>>> {
        if name.starts_with(names::ENTRY_PREFIX) || name.starts_with(names::WC_PREFIX) {
            return Ok(None);
        }
        let Some(value) = value else { return Ok(Some(None)) };
        if !name.starts_with(names::PREFIX) {
            return Ok(Some(Some(value.to_vec())));
        }
        let (mut value, normalized) = self.at.encoding.value(value)?;
        if name == names::MERGEINFO
            && let Some(other) = without_revision_zero(&value)?
        {
            self.tweaked = true;
            value = other;
        }
        if normalized {
            self.normalized.tally(1);
        }
        Ok(Some(Some(value)))
    }
}

impl Editor for SyncEditor<'_> {
    delegate_editor!(commit: set_target_revision, delete_entry, open_directory, close_directory,
        absent_directory, close_file, absent_file, abort_edit);

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        self.opened = true;
        self.commit.open_root(base)
    }

    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        check_cancel(self.cancel)?;
        self.commit.open_file(path, parent, base)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        check_cancel(self.cancel)?;
        let from = copy_from.map(|(path, rev)| (self.source(path), rev));
        self.commit.add_directory(
            path,
            parent,
            from.as_ref().map(|(url, rev)| (url.as_str(), *rev)),
        )
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        check_cancel(self.cancel)?;
        let from = copy_from.map(|(path, rev)| (self.source(path), rev));
        self.commit.add_file(path, parent, from.as_ref().map(|(url, rev)| (url.as_str(), *rev)))
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        match self.proper(name, value)? {
            Some(value) => self.commit.change_dir_prop(dir, name, value.as_deref()),
            None => Ok(()),
        }
    }

    fn change_file_prop(
        &mut self,
        file: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        match self.proper(name, value)? {
            Some(value) => self.commit.change_file_prop(file, name, value.as_deref()),
            None => Ok(()),
        }
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let first = !std::mem::replace(&mut self.texts, true);
        (self.notify)(Event::Text(first))?;
        self.commit.apply_textdelta(file, base, delta)
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        if !self.opened {
            // Nothing of this revision may be seen, but it must be there.
            let root = self.commit.open_root(self.at.revision.prev())?;
            self.commit.close_directory(root)?;
        }
        if self.texts {
            (self.notify)(Event::TextsSent)?;
        }
        if self.tweaked {
            (self.notify)(Event::MergeinfoAdjusted)?;
        }
        (self.notify)(Event::Closing)?;
        self.commit.close_edit()
    }
}
