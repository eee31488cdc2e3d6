//! `sapwood-bench matrix`.

use sapwood_bench::matrix;
use sapwood_core::SvnResult;

use super::command::{Invocation, Subcommand, name};
use super::{cancel_token, output, plan};

const HELP: &str = "\
usage: sapwood-bench matrix [--against DIR] FOLDER

Measures, in the manner of Subversion's own developers in 2014:

  repositories  formats 6, 7, 8 and FSX; not packed, packed
  access        svn:, http:, file:
  path rules    none (open), some hundred, which hide a part (authz); svn: only
  caches        slow (the defaults), medium (-M 256), fast (-M 1024 and more)
  states        cold (the system's caches dropped, the server new), hot OS (the
                server new), hot server (the third time it is asked)
  requests      log -v, null-log -v, export, null-export, null-blame,
                null-list -R; svnadmin dump

of Sapwood and, with --against, of the reference's programs in the folder DIR
(svnserve, svnbench, svn, svnadmin), in turn.  Both servers are asked by the
same clients: the reference's when they are there, unless --client says
otherwise.  Over file: each system uses its own client.

The repositories are made in FOLDER and found there by the next run.  The
tables go to standard output, as Markdown.  What cannot be measured here is
left out, and the notes say so: dropping the system's caches takes root.
";

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "matrix",
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
        name::QUICK,
        name::REPEAT,
        name::HTML,
        name::JSON,
        name::CSV,
        name::QUIET,
    ],
    run,
};

/// `sapwood-bench matrix`.
fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let plan = plan::plan(invocation)?;
    let mut say = output::say(invocation.options.has(name::QUIET));
    let results = matrix::run(&plan, &mut say, &cancel_token())?;
    output::write(invocation, &results)
}
