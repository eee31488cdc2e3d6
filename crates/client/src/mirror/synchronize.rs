//! The source's revisions are replayed into commits to the mirror.
//!
//! Invariant: at every moment the properties of the mirror's revision 0 record which revision is
//! being copied and which is complete, in the order that lets the next run find out where this
//! one ended.

use sapwood_core::exact::Exact;
use sapwood_core::paths::Url;
use sapwood_core::props::names;
use sapwood_core::{CancelToken, PropList, Revnum, SvnResult};
use sapwood_delta::Editor as _;
use sapwood_ra::{
    Capability, CommitRequest, ReplayReceiver, ReplayRequest, ReplayedEdit, RevpropChange, Session,
};

use super::editor::{At, SyncEditor};
use super::properties::Encoding;
use super::{COPYING, Event, LAST_MERGED, Mirror, PREFIX, invalid, remove_props, set, write_props};
use crate::context::check_cancel;

/// Takes up what an earlier run has left unfinished; the last merged revision, and how many
/// properties were normalized.
fn take_up(
    run: &mut Mirror<'_>,
    source: &dyn Session,
    mut last: Revnum,
) -> SvnResult<(Revnum, u64)> {
    let mirror = run.session;
    let latest = mirror.latest_revnum()?;
    let copying = mirror.rev_prop(Revnum::ZERO, COPYING)?;
    let Some(copying) = copying.and_then(|value| Revnum::parse(&value)) else {
        if latest != last {
            return Err(invalid(format!(
                "Destination HEAD ({latest}) is not the last merged revision ({last}); have you \
                 committed to the destination without using svnsync?"
            )));
        }
        return Ok((last, 0));
    };
    if copying < last || copying > last.next() || (latest != last && latest != copying) {
        return Err(invalid(format!(
            "Revision being currently copied ({copying}), last merged revision ({last}), and \
             destination HEAD ({latest}) are inconsistent; have you committed to the destination \
             without using svnsync?"
        )));
    }
    let mut normalized = 0;
    if copying == latest {
        if copying > last {
            normalized = run.copy_props(source, latest, true)?;
            last = copying;
        }
        set(mirror, LAST_MERGED, Some(last.to_string().as_bytes()))?;
        set(mirror, COPYING, None)?;
    }
    Ok((last, normalized))
}

impl Mirror<'_> {
    /// Copies all revisions of the source (at `from`, or where the mirror says) that are not there yet.
    ///
    /// # Errors
    /// E22 for a mirror that something else has written to.
    pub fn synchronize(&mut self, from: Option<&Url>) -> SvnResult<()> {
        self.locked(|run| synchronize(run, from))
    }
}

fn synchronize(run: &mut Mirror<'_>, from: Option<&Url>) -> SvnResult<()> {
    let (source, last) = run.source(from)?;
    let source = source.as_ref();
    let (last, normalized) = take_up(run, source, last)?;
    let latest = source.latest_revnum()?;
    if latest <= last {
        return Ok(());
    }
    let mirror = run.session;
    let mut copier = Copier {
        mirror,
        encoding: run.encoding,
        commit_revprops: mirror.has_capability(Capability::CommitRevprops)?,
        atomic: mirror.has_capability(Capability::AtomicRevprops)?,
        revprops: normalized,
        node_props: 0,
        cancel: &run.cancel,
        notify: &mut *run.notify,
    };
    let request = ReplayRequest { low_water_mark: Revnum::ZERO, send_deltas: true };
    source.replay_range(last.next(), latest, &request, &mut copier)?;
    let Copier { revprops, node_props, .. } = copier;
    run.notify_normalized(revprops, node_props)
}

/// Commits one revision after the other.
struct Copier<'a> {
    mirror: &'a dyn Session,
    encoding: Encoding,
    commit_revprops: bool,
    atomic: bool,
    revprops: u64,
    node_props: u64,
    cancel: &'a CancelToken,
    notify: &'a mut dyn FnMut(Event<'_>) -> SvnResult<()>,
}

impl Copier<'_> {
    /// The properties for which `keep` holds, in their proper form.
    fn selected(&mut self, props: &PropList, keep: impl Fn(&str) -> bool) -> SvnResult<PropList> {
        let kept = props.iter().filter(|(name, _)| keep(name));
        let mut kept: PropList = kept.map(|(n, v)| (n.to_owned(), v.to_vec())).collect();
        let count = self.encoding.normalize(&mut kept)?;
        self.revprops.tally(count);
        Ok(kept)
    }

    /// The rest of a revision's properties, once it is committed.
    fn finish(&mut self, revision: Revnum, props: &PropList) -> SvnResult<()> {
        let existing = self.mirror.rev_proplist(revision)?;
        let with_commit = self.commit_revprops;
        let rest =
            self.selected(
                props,
                |name| {
                    if with_commit { goes_after(name) } else { name != names::LOG }
                },
            )?;
        let skipped = write_props(self.mirror, revision, &rest, None)?;
        remove_props(self.mirror, revision, props, &existing)?;
        let number = revision.to_string();
        set(self.mirror, LAST_MERGED, Some(number.as_bytes()))?;
        self.mirror.change_rev_prop(&RevpropChange {
            revision: Revnum::ZERO,
            name: COPYING,
            expected: self.atomic.then_some(Some(number.as_bytes())),
            value: None,
        })?;
        (self.notify)(Event::PropsCopied(revision, skipped))
    }
}

/// Properties that cannot be committed, but only be set afterwards.
fn goes_after(name: &str) -> bool {
    name == names::AUTHOR || name == names::DATE || name.starts_with(PREFIX)
}

impl ReplayReceiver for Copier<'_> {
    fn revision(
        &mut self,
        revision: Revnum,
        props: &PropList,
        edit: &mut dyn ReplayedEdit,
    ) -> SvnResult<()> {
        check_cancel(self.cancel)?;
        set(self.mirror, COPYING, Some(revision.to_string().as_bytes()))?;
        let with_commit = self.commit_revprops;
        let mut first =
            self.selected(
                props,
                |name| {
                    if with_commit { !goes_after(name) } else { name == names::LOG }
                },
            )?;
        if first.get(names::LOG).is_none() {
            first.set(names::LOG, "");
        }
        let request = CommitRequest { revprops: &first, lock_tokens: &[], keep_locks: false };
        let commit = self.mirror.commit(&request)?;
        let at = At { root_url: self.mirror.url(), revision, encoding: self.encoding };
        let mut editor = SyncEditor::new(commit, at, &mut *self.notify, self.cancel);
        if let Err(error) = edit.drive(&mut editor) {
            let _ = editor.abort_edit();
            return Err(error);
        }
        editor.close_edit()?;
        let (committed, node_props) = editor.finish();
        self.node_props.tally(node_props);
        // Without an answer it is not the revision that it should be.
        let committed = committed.unwrap_or_default();
        (self.notify)(Event::Committed(committed.revision))?;
        if committed.revision != revision {
            return Err(invalid(format!(
                "Commit created r{} but should have created r{revision}",
                committed.revision
            )));
        }
        self.finish(revision, props)
    }
}
