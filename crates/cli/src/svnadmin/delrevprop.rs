//! `svnadmin delrevprop`.

use sapwood_core::SvnResult;

use super::revprop;
use crate::command::Invocation;

/// `svnadmin delrevprop`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(1, 1)?;
    let name = args.first().map_or("", String::as_str);
    let target = revprop::target(&invocation.options)?;
    let hooks = revprop::hooks(&invocation.options);
    revprop::change(invocation, &target, name, None, hooks)
}
