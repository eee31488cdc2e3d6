//! `svn switch`: brings a working copy, or a part of it, to another URL of its repository.

use sapwood_core::{Revnum, SvnResult};

use crate::context::Context;
use crate::externals::switch_at;
use crate::target::Target;
use crate::tree::switch::Existence;
pub use crate::tree::switch::Switch;

/// Switches a path.
///
/// # Errors
/// E195012 when the URL is not related; E155025 when it is in another repository; E200007 for nodes
/// that are not in the repository yet.
pub fn switch(ctx: &Context, path: &str, to: &Target, how: &Switch) -> SvnResult<Option<Revnum>> {
    let result = switch_at(ctx, &ctx.absolute(path), to, how, Existence::Unknown);
    ctx.wait_for_clock();
    result
}
