//! `sapwood-bench working-copy`.

use std::path::PathBuf;

use sapwood_bench::working::{Plan, Work, run as measure, to_markdown};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::command::{Invocation, Subcommand, name, print};
use super::{cancel_token, make_tree, output, parsed, plan, selected};

const HELP: &str = "\
usage: sapwood-bench working-copy [--against DIR] FOLDER

Measures everyday work on a working copy: status, update, commit, diff, revert,
switch, export and checkout, by our 'svn', by the one in DIR and by git, on the
same files (see 'make-tree' for the options that say which).  Repositories and
working copies are made in FOLDER; the tree and the first repository stay there
for the next measurement.  '--only status,commit-named' measures only that.
Cold figures need root, and drop the machine's caches.
";

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "working-copy",
    help: HELP,
    options: &[
        name::AGAINST,
        name::PROGRAM,
        name::SEED,
        name::FILES,
        name::DIRECTORIES,
        name::MEGABYTES,
        name::ONLY,
        name::NO_GIT,
        name::CALLS,
        name::REPEAT,
        name::JSON,
        name::QUIET,
    ],
    run,
};

/// `sapwood-bench working-copy`.
fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let args = invocation.take_args(1, 1)?;
    let options = &invocation.options;
    let plan = Plan {
        folder: PathBuf::from(args.first().map_or("", String::as_str)),
        tree: make_tree::tree_options(options)?,
        sapwood: plan::own_programs(options)?,
        reference: plan::reference(options, "svn")?,
        git: !options.has(name::NO_GIT),
        work: selected(options, &Work::ALL, Work::name)?,
        repeat: parsed(options, name::REPEAT, "use a whole number")?.unwrap_or(plan::REPEAT).max(1),
        calls: options.has(name::CALLS),
    };
    let mut say = output::say(options.has(name::QUIET));
    let findings = measure(&plan, &mut say, &cancel_token())?;
    if let Some(path) = options.value(name::JSON) {
        let text = findings
            .to_json()
            .map_err(|e| SvnError::new(ErrorCode::BASE, format!("Can't write '{path}': {e}")))?;
        output::file(&path, &text)?;
    }
    print(&to_markdown(&findings))
}
