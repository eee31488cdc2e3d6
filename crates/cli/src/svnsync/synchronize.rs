//! `svnsync synchronize`: the source's revisions are replayed into commits to the mirror.
//!
//! Invariant: at every moment the properties of the mirror's revision 0 tell which revision is
//! being copied and which is there whole, in the order that lets the next run find out where this
//! one ended.

use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::Editor as _;
use sapwood_ra::{
    Capability, CommitRequest, ReplayReceiver, ReplayRequest, ReplayedEdit, RevpropChange, Session,
};

use super::editor::SyncEditor;
use super::properties::Encoding;
use super::{
    COPYING, LAST_MERGED, PREFIX, copy_props, invalid, locked, open_mirror, open_source,
    remove_props, set, tell_copied, tell_normalized, url_argument, write_props,
};
use crate::command::{Invocation, Run, Subcommand, name, usage_error};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "synchronize",
    aliases: &["sync"],
    help: "usage: svnsync synchronize DEST_URL [SOURCE_URL]\n\n\
         Copy all new revisions from the source to the mirror.  SOURCE_URL is where the\n\
         source is now, when that is not where the mirror believes it to be.\n",
    options: &[
        name::CONFIG_OPTION,
        name::SOURCE_PROP_ENCODING,
        name::QUIET,
        name::DISABLE_LOCKING,
        name::STEAL_LOCK,
        name::MEMORY_CACHE_SIZE,
    ],
    overrides: &[],
    run: Run::Arguments(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(0, usize::MAX)?;
    if args.len() > 2 {
        return Err(usage_error(""));
    }
    let Some(to) = args.first() else {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    };
    let to = url_argument(to)?;
    let from = args.get(1).map(|from| url_argument(from)).transpose()?;
    let mirror = open_mirror(invocation, &to)?;
    locked(invocation, mirror.as_ref(), |invocation| {
        synchronize(invocation, mirror.as_ref(), from.as_deref())
    })
}

/// Takes up what an earlier run has left unfinished; the last merged revision, and how many
/// properties were normalized.
fn take_up(
    invocation: &mut Invocation<'_>,
    source: &dyn Session,
    mirror: &dyn Session,
    mut last: Revnum,
) -> SvnResult<(Revnum, u64)> {
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
            normalized = copy_props(invocation, source, mirror, latest, true)?;
            last = copying;
        }
        set(mirror, LAST_MERGED, Some(last.to_string().as_bytes()))?;
        set(mirror, COPYING, None)?;
    }
    Ok((last, normalized))
}

fn synchronize(
    invocation: &mut Invocation<'_>,
    mirror: &dyn Session,
    from: Option<&str>,
) -> SvnResult<()> {
    let (source, last) = open_source(invocation, mirror, from)?;
    let source = source.as_ref();
    let (last, normalized) = take_up(invocation, source, mirror, last)?;
    let latest = source.latest_revnum()?;
    if latest <= last {
        return Ok(());
    }
    let encoding = Encoding::given(&invocation.options)?;
    let mut copier = Copier {
        mirror,
        encoding,
        commit_revprops: mirror.has_capability(Capability::CommitRevprops)?,
        atomic: mirror.has_capability(Capability::AtomicRevprops)?,
        revprops: normalized,
        node_props: 0,
        invocation,
    };
    let request = ReplayRequest { low_water_mark: Revnum::ZERO, send_deltas: true };
    source.replay_range(last.next(), latest, &request, &mut copier)?;
    let Copier { revprops, node_props, invocation, .. } = copier;
    tell_normalized(invocation, revprops, node_props)
}

/// Commits one revision after the other.
struct Copier<'a, 'i> {
    invocation: &'a mut Invocation<'i>,
    mirror: &'a dyn Session,
    encoding: Encoding,
    commit_revprops: bool,
    atomic: bool,
    revprops: u64,
    node_props: u64,
}

impl Copier<'_, '_> {
    /// The properties for which `keep` holds, in their proper form.
    fn selected(&mut self, props: &PropList, keep: impl Fn(&str) -> bool) -> SvnResult<PropList> {
        let kept = props.iter().filter(|(name, _)| keep(name));
        let mut kept: PropList = kept.map(|(n, v)| (n.to_owned(), v.to_vec())).collect();
        let count = self.encoding.normalize(&mut kept)?;
        self.revprops = self.revprops.saturating_add(count);
        Ok(kept)
    }

    /// The rest of a revision's properties, once it is there.
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
        tell_copied(self.invocation, revision, skipped)
    }
}

/// Properties that cannot be committed, but only be set afterwards.
fn goes_after(name: &str) -> bool {
    name == names::AUTHOR || name == names::DATE || name.starts_with(PREFIX)
}

impl ReplayReceiver for Copier<'_, '_> {
    fn revision(
        &mut self,
        revision: Revnum,
        props: &PropList,
        edit: &mut dyn ReplayedEdit,
    ) -> SvnResult<()> {
        crate::signals::check()?;
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
        let quiet = self.invocation.options.has(name::QUIET);
        let root = self.mirror.url();
        let mut editor =
            SyncEditor::new(commit, &mut self.invocation.out, quiet, root, revision, self.encoding);
        if let Err(error) = edit.drive(&mut editor) {
            let _ = editor.abort_edit();
            return Err(error);
        }
        editor.close_edit()?;
        let (committed, node_props) = editor.finish();
        self.node_props = self.node_props.saturating_add(node_props);
        let committed = committed.unwrap_or_default();
        if !quiet {
            self.invocation.out.text(&format!("Committed revision {}.\n", committed.revision))?;
        }
        if committed.revision != revision {
            return Err(invalid(format!(
                "Commit created r{} but should have created r{revision}",
                committed.revision
            )));
        }
        self.finish(revision, props)
    }
}
