//! A mirror's beginning.

use sapwood_core::paths::Url;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::Capability;

use super::{FROM_URL, FROM_UUID, LAST_MERGED, Mirror, invalid, set};

impl Mirror<'_> {
    /// Makes the repository the mirror of another one, `from`; `allowed` says that it may have revisions.
    ///
    /// # Errors
    /// E22 when it is no empty repository, or is a mirror already.
    pub fn initialize(&mut self, from: &Url, allowed: bool) -> SvnResult<()> {
        self.locked(|run| initialize(run, from, allowed))
    }
}

fn initialize(run: &mut Mirror<'_>, from: &Url, allowed: bool) -> SvnResult<()> {
    let mirror = run.session;
    let latest = mirror.latest_revnum()?;
    if latest != Revnum::ZERO && !allowed {
        return Err(invalid(
            "Destination repository already contains revision history; consider using \
             --allow-non-empty if the repository's revisions are known to mirror their respective \
             revisions in the source repository",
        ));
    }
    if let Some(url) = mirror.rev_prop(Revnum::ZERO, FROM_URL)?
        && !allowed
    {
        return Err(invalid(format!(
            "Destination repository is already synchronizing from '{}'",
            String::from_utf8_lossy(&url)
        )));
    }
    let source = (run.open_source)(from)?;
    let source = source.as_ref();
    if *source.root_url() != *from && !source.has_capability(Capability::PartialReplay)? {
        return Err(SvnError::new(ErrorCode::RA_PARTIAL_REPLAY_NOT_SUPPORTED, ""));
    }
    if latest != Revnum::ZERO && source.latest_revnum()? < latest {
        return Err(invalid("Destination repository has more revisions than source repository"));
    }
    set(mirror, FROM_URL, Some(from.as_bytes()))?;
    set(mirror, FROM_UUID, Some(source.uuid().as_bytes()))?;
    set(mirror, LAST_MERGED, Some(latest.to_string().as_bytes()))?;
    let normalized = run.copy_props(source, latest, false)?;
    run.notify_normalized(normalized, 0)
}
