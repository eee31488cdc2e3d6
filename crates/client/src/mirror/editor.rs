//! Between a replay and a commit: paths of copies become URLs of the mirror, properties get their
//! proper form, those that cannot be committed are left out.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, NodeKind, Revnum, SvnResult};
use sapwood_delta::{EditStep, Handle, StepEditor};
use sapwood_ra::{CommitEditor, CommitInfo};

use super::Event;
use super::properties::{Encoding, without_revision_zero};
use crate::context::check_cancel;

/// Which revision goes where.
pub(super) struct At {
    /// The mirror's root.
    pub(super) root_url: UrlBuf,
    pub(super) revision: Revnum,
    pub(super) encoding: Encoding,
}

impl At {
    /// The URL in the mirror of a copy's source.
    fn source(&self, path: &str) -> String {
        match path.strip_prefix('/') {
            Some(relpath) => self.root_url.join(RelPath::trusted(relpath)).into_string(),
            None => path.to_owned(),
        }
    }
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

impl StepEditor for SyncEditor<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        let commit = &mut *self.commit;
        match step {
            EditStep::OpenRoot(_) => self.opened = true,
            EditStep::Open { kind: NodeKind::File, .. } => check_cancel(self.cancel)?,
            EditStep::Add { kind, path, parent, copy_from } => {
                check_cancel(self.cancel)?;
                let from = copy_from.map(|(path, rev)| (self.at.source(path), rev));
                let copy_from = from.as_ref().map(|(url, rev)| (url.as_str(), *rev));
                return EditStep::Add { kind, path, parent, copy_from }.apply(commit);
            }
            EditStep::Prop { kind, node, name, value } => {
                let Some(value) = self.proper(name, value)? else { return Ok(Handle::NONE) };
                let value = value.as_deref();
                return EditStep::Prop { kind, node, name, value }.apply(&mut *self.commit);
            }
            EditStep::Text { .. } => {
                let first = !std::mem::replace(&mut self.texts, true);
                (self.notify)(Event::Text(first))?;
            }
            EditStep::CloseEdit => self.before_close()?,
            _ => {}
        }
        step.apply(&mut *self.commit)
    }
}

impl SyncEditor<'_> {
    fn before_close(&mut self) -> SvnResult<()> {
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
        (self.notify)(Event::Closing)
    }
}
