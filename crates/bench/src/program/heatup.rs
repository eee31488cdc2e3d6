//! `sapwood-bench heatup`.

use sapwood_bench::axes::{Axis, Format, Request};
use sapwood_bench::heatup;
use sapwood_core::SvnResult;

use super::command::{Invocation, Subcommand, name};
use super::{cancel_token, output, plan};

const HELP: &str = "\
usage: sapwood-bench heatup [--against DIR] FOLDER

Asks one server for the same fifteen times, with a cache just as large as what
is needed and with one 1.7 times as large; what is needed is measured first.
Shows the first, third and fifteenth run, and with --html all of them.  The
repository is packed and of format 8, the requests are null-log -v and
null-export, unless --only names others.
";

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "heatup",
    help: HELP,
    options: &[
        name::AGAINST,
        name::PROGRAM,
        name::CLIENT,
        name::PROFILE,
        name::SEED,
        name::SCALE,
        name::REPOSITORY,
        name::TREE,
        name::FILE,
        name::ONLY,
        name::HTML,
        name::JSON,
        name::QUIET,
    ],
    run,
};

/// `sapwood-bench heatup`.
fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let mut plan = plan::plan(invocation)?;
    let text = invocation.options.values(name::ONLY).join(",");
    if !names_any::<Format>(&text) {
        plan.selection.formats = vec![Format::F8];
    }
    if !names_any::<Request>(&text) {
        plan.selection.requests = vec![Request::NullLog, Request::NullExport];
    }
    let mut say = output::say(invocation.options.has(name::QUIET));
    let results = heatup::run(&plan, &mut say, &cancel_token())?;
    output::write(invocation, &results)
}

/// Whether a list of names has one of an axis.
fn names_any<A: Axis>(list: &str) -> bool {
    list.split(',').any(|name| A::ALL.iter().any(|value| value.name() == name.trim()))
}
