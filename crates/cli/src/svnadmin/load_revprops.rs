//! `svnadmin load-revprops`.

use sapwood_core::SvnResult;
use sapwood_repos::load::{LoadEvent, RevpropsLoadOptions, load_revprops};

use super::load;
use crate::command::Invocation;

/// `svnadmin load-revprops`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let options = &invocation.options;
    let load_options = RevpropsLoadOptions {
        range: load::range(options)?,
        bypass_validation: options.has("bypass-prop-validation"),
        normalize_props: options.has("normalize-props"),
        no_flush: options.has("no-flush-to-disk"),
    };
    let repository = crate::repo::open(&invocation.repository, options)?;
    let mut input = load::input(options)?;
    let quiet = options.has("quiet");
    let out = &mut invocation.out;
    let mut notify = |event: LoadEvent<'_>| if quiet { Ok(()) } else { load::tell(out, event) };
    load_revprops(
        &repository,
        &mut input,
        load_options,
        &mut notify,
        &crate::signals::cancel_token(),
    )
    .map_err(load::explain)
}
