//! Mergeinfo as the repository has it.

use sapwood_core::paths::RelPath;
use sapwood_core::{Inherit, Revnum, SvnResult, path};
use sapwood_ra::{MergeinfoRequest, Session};

use super::place::{RepoLocation, visit};
use super::{Catalog, Mergeinfo};

/// The mergeinfo of a location (and of what is below it, with `descendants`).
///
/// # Errors
/// E200007 from servers that know nothing of mergeinfo; those of the session.
pub fn catalog(
    session: &dyn Session,
    place: &RepoLocation,
    inherit: Inherit,
    descendants: bool,
) -> SvnResult<Catalog> {
    let request = MergeinfoRequest {
        paths: &[RelPath::ROOT],
        revision: Some(Revnum(place.revision)),
        inherit,
        include_descendants: descendants,
    };
    let found = visit(session, &place.url(), || session.mergeinfo(&request))?;
    Ok(found
        .into_iter()
        .map(|(relpath, mergeinfo)| (path::join(&place.relpath, &relpath), mergeinfo))
        .collect())
}

/// The mergeinfo of one location; `None` when it neither has nor inherits any.
///
/// # Errors
/// As [`catalog`].
pub fn of(
    session: &dyn Session,
    place: &RepoLocation,
    inherit: Inherit,
) -> SvnResult<Option<Mergeinfo>> {
    Ok(catalog(session, place, inherit, false)?.into_values().next())
}

/// A catalog, empty from servers that know nothing of mergeinfo.
///
/// # Errors
/// Those of the session.
pub(super) fn catalog_if_known(
    session: &dyn Session,
    place: &RepoLocation,
    inherit: Inherit,
    descendants: bool,
) -> SvnResult<Catalog> {
    match catalog(session, place, inherit, descendants) {
        Err(error) if error.is_unsupported() => Ok(Catalog::new()),
        other => other,
    }
}

/// The mergeinfo that the session's own location has or inherits; `None` also from servers that know nothing of it.
///
/// # Errors
/// Those of the session.
pub(crate) fn inherited_here(
    session: &dyn Session,
    revision: Revnum,
) -> SvnResult<Option<Mergeinfo>> {
    let request = MergeinfoRequest {
        paths: &[RelPath::ROOT],
        revision: Some(revision),
        inherit: Inherit::Inherited,
        include_descendants: false,
    };
    let found = match session.mergeinfo(&request) {
        Err(error) if error.is_unsupported() => Vec::new(),
        other => other?,
    };
    Ok(found.into_iter().next().map(|(_, info)| info))
}
