//! `svnadmin load-revprops`.

use sapwood_core::SvnResult;
use sapwood_repos::load::{LoadEvent, RevpropsLoadOptions, load_revprops};

use super::load;
use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "load-revprops",
    aliases: &[],
    help: "usage: svnadmin load-revprops REPOS_PATH\n\n\
         Read a dump stream from stdin and set the properties of the revisions that\n\
         it names, which must exist.  Progress goes to stdout.\n",
    options: &[
        name::QUIET,
        name::REVISION,
        name::FORCE_UUID,
        name::NORMALIZE_PROPS,
        name::BYPASS_PROP_VALIDATION,
        name::NO_FLUSH_TO_DISK,
        name::FILE,
    ],
    overrides: super::FROM_FILE,
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let options = &invocation.options;
    let load_options = RevpropsLoadOptions {
        range: load::range(options)?,
        bypass_validation: options.has(name::BYPASS_PROP_VALIDATION),
        normalize_props: options.has(name::NORMALIZE_PROPS),
        no_flush: options.has(name::NO_FLUSH_TO_DISK),
    };
    let repository = crate::repo::open(&invocation.repository, options)?;
    let mut input = load::input(options)?;
    let quiet = options.has(name::QUIET);
    let out = &mut invocation.out;
    let mut notify =
        |event: LoadEvent<'_>| if quiet { Ok(()) } else { load::print_event(out, event) };
    load_revprops(
        &repository,
        &mut input,
        load_options,
        &mut notify,
        &crate::signals::cancel_token(),
    )
    .map_err(load::explain)
}
