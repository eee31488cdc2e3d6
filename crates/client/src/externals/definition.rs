//! What the property says of an external, and the paths that it may name.

use std::path::Path;

use sapwood_core::date::Timestamp;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, path};
use sapwood_wc::externals::parse::{External, Revision as Spec, parse};

use crate::context::Context;
use crate::revision::Revision;

/// The externals of a value.
pub(crate) fn items(value: &str, owner: &Path) -> SvnResult<Vec<External>> {
    parse(value, &owner.to_string_lossy(), &date)
}

/// Peg and operative revision of an external.
pub(crate) const fn revisions(item: &External) -> (Revision, Revision) {
    (revision_of(item.peg), revision_of(item.revision))
}

/// What stands between the braces of a date.
fn date(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text.as_bytes()).ok()
}

const fn revision_of(spec: Spec) -> Revision {
    match spec {
        Spec::Head => Revision::Head,
        Spec::Number(number) => Revision::Number(number),
        Spec::Date(at) => Revision::Date(at.0),
        Spec::WorkingCopy => Revision::Base,
    }
}

pub(crate) const fn number_of(spec: Spec) -> Option<Revnum> {
    match spec {
        Spec::Number(number) => Some(number),
        _ => None,
    }
}

/// Reports a failure and returns success.
pub(crate) fn wrap(ctx: &Context, at: &Path, done: SvnResult<()>) -> SvnResult<()> {
    match done {
        Err(error) if !error.is_cancelled() => {
            let shown = at.to_string_lossy();
            let value =
                Notify { error: Some(&error), ..Notify::new(Action::FailedExternal, &shown) };
            ctx.notify(&value);
            Ok(())
        }
        other => other,
    }
}

/// Refuses locations that a property must not lead to: administrative files, and whatever lies behind a link.
/// The last name of a known external may be a link, which the external itself created.
pub(crate) fn check_place(owner: &Path, target: &str, known: bool) -> SvnResult<()> {
    let mut at = owner.to_owned();
    let mut names = path::components(target).peekable();
    while let Some(name) = names.next() {
        at.push(name);
        let may_be_link = known && names.peek().is_none();
        if name == sapwood_wc::layout::ADM || (!may_be_link && at.is_symlink()) {
            let message = format!("Path '{}' is no place for an external", at.display());
            return Err(SvnError::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message));
        }
    }
    Ok(())
}
