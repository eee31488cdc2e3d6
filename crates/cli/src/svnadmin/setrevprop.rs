//! `svnadmin setrevprop`.

use sapwood_core::SvnResult;

use super::revprop;
use crate::command::Invocation;

/// `svnadmin setrevprop`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(2, 2)?;
    let [name, file] = args.as_slice() else { return Ok(()) };
    let target = revprop::target(&invocation.options)?;
    let value = revprop::value_in_file(file)?;
    let hooks = revprop::hooks(&invocation.options);
    revprop::change(invocation, &target, name, Some(&value), hooks)
}
