//! `svn checkout`: makes a working copy.

use std::path::Path;

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult};

use crate::context::Context;
use crate::externals::checkout_dir;
use crate::open::locate_following;
use crate::target::Target;
use crate::tree::SharedSessionSlot;
pub use crate::tree::create::{Checkout, Form, STORE_PRISTINE};

/// Checks a directory of a repository out into a local one.
///
/// # Errors
/// E170000 when the URL does not exist; E200007 when it is a file; E155000 when the directory is a
/// working copy of another URL.
pub fn checkout(
    ctx: &Context,
    source: &Target,
    path: &str,
    how: &Checkout,
) -> SvnResult<Option<Revnum>> {
    let abspath = ctx.absolute(path);
    let mut session = None;
    let result = checkout_to(ctx, source, &abspath, how, &mut session);
    ctx.wait_for_clock();
    result
}

/// The same, with a session that may be open already, and without waiting at the end.
pub(crate) fn checkout_to(
    ctx: &Context,
    source: &Target,
    abspath: &Path,
    how: &Checkout,
    session: &mut SharedSessionSlot,
) -> SvnResult<Option<Revnum>> {
    let located = locate_following(ctx, source, how.revision)?;
    let (open, revision) = (&located.session, located.revision);
    let url = open.url();
    match open.check_path(RelPath::ROOT, Some(revision))? {
        Some(NodeKind::Dir) => {}
        None => {
            let message = format!("URL '{url}' doesn't exist");
            return Err(SvnError::new(ErrorCode::RA_ILLEGAL_URL, message));
        }
        Some(NodeKind::File) => {
            let message = format!("URL '{url}' refers to a file, not a directory");
            return Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message));
        }
    }
    *session = Some(located.session);
    checkout_dir(ctx, revision, abspath, how, session)
}
