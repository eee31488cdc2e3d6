//! Properties of revisions.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::Url;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult};
use sapwood_ra::{Capability, RevpropChange};

use crate::context::Context;
use crate::open::number_of;
use crate::revision::Revision;

/// All properties of a revision, and its number.
///
/// # Errors
/// Those of sessions.
pub fn list(ctx: &Context, url: &Url, revision: Revision) -> SvnResult<(PropList, Revnum)> {
    let session = sapwood_ra::open(url, &ctx.ra)?;
    let revision = number_of(session.as_ref(), revision)?;
    Ok((session.rev_proplist(revision)?, revision))
}

/// One property of a revision, and its number.
///
/// # Errors
/// Those of sessions.
pub fn get(
    ctx: &Context,
    url: &Url,
    name: &str,
    revision: Revision,
) -> SvnResult<(Option<Vec<u8>>, Revnum)> {
    let session = sapwood_ra::open(url, &ctx.ra)?;
    let revision = number_of(session.as_ref(), revision)?;
    Ok((session.rev_prop(revision, name)?, revision))
}

/// A change of a property of a revision.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The property.
    pub name: &'a str,
    /// The new value, `None` to delete it.
    pub value: Option<&'a [u8]>,
    /// The value that it must have had until now (`Some(None)`: none).
    pub expected: Option<Option<&'a [u8]>>,
    /// Leaves out the check that `--force` leaves out.
    pub force: bool,
}

/// Changes a property of a revision, and gives its number.
///
/// # Errors
/// E195011 for names that no property can have, E195010 for an author of several lines, E170004 when
/// the value is not the expected one; those of sessions.
pub fn set(ctx: &Context, url: &Url, revision: Revision, change: &Change<'_>) -> SvnResult<Revnum> {
    let Change { name, value, expected, force } = *change;
    if name == names::AUTHOR && !force && value.is_some_and(|value| value.contains(&b'\n')) {
        return Err(SvnError::new(
            ErrorCode::CLIENT_REVISION_AUTHOR_CONTAINS_NEWLINE,
            "Author name should not contain a newline; value will not be set unless forced",
        ));
    }
    if !names::is_valid(name) {
        return Err(SvnError::new(
            ErrorCode::CLIENT_PROPERTY_NAME,
            format!("Bad property name: '{name}'"),
        ));
    }
    let session = sapwood_ra::open(url, &ctx.ra)?;
    let revision = number_of(session.as_ref(), revision)?;
    let mut atomic = None;
    if let Some(expected) = expected {
        let current = session.rev_prop(revision, name)?;
        check_unchanged(name, revision, expected, current.as_deref())?;
        if session.has_capability(Capability::AtomicRevprops)? {
            atomic = Some(expected);
        }
    }
    session.change_rev_prop(&RevpropChange { revision, name, expected: atomic, value })?;
    let action = if value.is_some() { Action::RevpropSet } else { Action::RevpropDeleted };
    let mut notice = Notify::of_url(action, url);
    notice.prop_name = Some(name);
    notice.revision = Some(revision);
    ctx.notify(&notice);
    Ok(revision)
}

fn check_unchanged(
    name: &str,
    revision: Revnum,
    expected: Option<&[u8]>,
    current: Option<&[u8]>,
) -> SvnResult<()> {
    let what = match (expected, current) {
        (Some(_), None) => "is unexpectedly absent in repository (maybe someone else deleted it?)",
        (Some(a), Some(b)) if a != b => {
            "has unexpected value in repository (maybe someone else changed it?)"
        }
        (None, Some(_)) => "is unexpectedly present in repository (maybe someone else set it?)",
        _ => return Ok(()),
    };
    Err(SvnError::new(ErrorCode::RA_OUT_OF_DATE, format!("revprop '{name}' in r{revision} {what}")))
}
