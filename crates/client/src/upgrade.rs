//! `svn upgrade`: working copies of older formats, with the externals in them.

use std::path::Path;

use sapwood_core::SvnResult;
use sapwood_core::notify::Action;
use sapwood_core::path;
use sapwood_wc::db::Kind;

use crate::context::Context;
use crate::externals::wrap;
use crate::update::tell_path;

/// Brings a working copy to the present format. What is wrong with an external is told, and no error.
///
/// # Errors
/// Those of [`sapwood_wc::upgrade::upgrade`].
pub fn upgrade(ctx: &Context, target: &str) -> SvnResult<()> {
    upgrade_at(ctx, &ctx.absolute(target))
}

fn upgrade_at(ctx: &Context, abspath: &Path) -> SvnResult<()> {
    ctx.check_cancel()?;
    if sapwood_wc::upgrade::upgrade(abspath, ctx.wc.access)? {
        tell_path(ctx, abspath, Action::UpgradedPath, None);
    }
    let (wc, relpath) = ctx.working_copy(abspath)?;
    let rows = wc.db().externals("")?;
    let below = rows.iter().filter(|row| path::is_ancestor(&relpath, &row.def_relpath));
    for row in below.filter(|row| row.kind == Kind::Dir) {
        let at = wc.abspath(&row.relpath);
        let done = upgrade_at(ctx, &at);
        wrap(ctx, &at, done)?;
    }
    Ok(())
}
