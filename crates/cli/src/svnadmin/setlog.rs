//! `svnadmin setlog`.

use sapwood_core::SvnResult;
use sapwood_core::props::names;
use sapwood_repos::RevpropHooks;

use super::revprop::{self, Target};
use crate::command::Invocation;

/// `svnadmin setlog`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(1, 1)?;
    let revision = revprop::revision(&invocation.options)?;
    let run = !invocation.options.has("bypass-hooks");
    let hooks = RevpropHooks { pre: run, post: run };
    let value = revprop::value_in_file(args.first().map_or("", String::as_str))?;
    revprop::change(invocation, &Target::Revision(revision), names::LOG, Some(&value), hooks)
}
