//! Where an external goes, and its row there.

use sapwood_core::SvnResult;
use sapwood_core::paths::{RelPath, RelPathBuf, Url};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{ExternalRow, Kind, Presence};
use sapwood_wc::externals::parse::External;

use super::definition::number_of;

/// Where an external goes.
pub(super) struct ExternalTarget<'a> {
    pub(super) root: &'a Url,
    pub(super) owner: &'a RelPath,
    pub(super) owner_url: &'a Url,
    pub(super) relpath: RelPathBuf,
}

pub(super) fn register(
    wc: &WorkingCopy,
    place: &ExternalTarget<'_>,
    item: &External,
    kind: Kind,
    (root, uuid): (&Url, &str),
    url: &Url,
) -> SvnResult<()> {
    let inside = url.relpath(root)?;
    wc.db().write(|db| {
        let repos_id = db.repository_id(root, uuid)?;
        db.put_external(&ExternalRow {
            relpath: place.relpath.clone(),
            repos_id,
            presence: Presence::Normal,
            kind,
            def_relpath: place.owner.to_owned(),
            def_repos_relpath: inside,
            def_peg: number_of(item.peg),
            def_revision: number_of(item.revision),
        })
    })?;
    Ok(())
}
