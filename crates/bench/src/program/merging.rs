//! `sapwood-bench merge`.

use std::path::PathBuf;

use sapwood_bench::merging::{Plan, Size, Work, run as measure, to_markdown};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::command::{Invocation, Options, Subcommand, name, print};
use super::{bad_value, cancel_token, output, parsed, plan, selected};

/// Files and revisions of the branches unless said otherwise.
const FILES: u64 = 2000;
const REVISIONS: u64 = 500;
/// Numbers of nodes with mergeinfo of their own.
const SUBTREES: [u64; 3] = [1, 100, 1000];

const HELP: &str = "\
usage: sapwood-bench merge [--against DIR] FOLDER

Measures merges by our 'svn' and by the one in DIR, each by file: and at both
servers: a catch-up of a branch, a cherry pick, a branch that goes back (with 1,
100 and 1,000 nodes that have mergeinfo of their own), the difference of two
branches, 100 tree conflicts that are resolved; and a patch of 5,000 files and
the upgrade of 40,000 nodes, which ask no repository.  Counts requests by the
server's log.  Branches are made in FOLDER and stay there for the next
measurement.  '--only catch-up,diff' measures only that, '--files 100
--revisions 50 --subtrees 1,10' smaller branches, patches and upgrades.
";

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "merge",
    help: HELP,
    options: &[
        name::AGAINST,
        name::PROGRAM,
        name::FILES,
        name::REVISIONS,
        name::SUBTREES,
        name::ONLY,
        name::REPEAT,
        name::JSON,
        name::QUIET,
    ],
    run,
};

/// `sapwood-bench merge`.
fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let args = invocation.take_args(1, 1)?;
    let options = &invocation.options;
    let number = |option, default: u64| -> SvnResult<u64> {
        Ok(parsed(options, option, "use a whole number")?.unwrap_or(default).max(1))
    };
    let plan = Plan {
        folder: PathBuf::from(args.first().map_or("", String::as_str)),
        size: Size {
            files: number(name::FILES, FILES)?,
            revisions: number(name::REVISIONS, REVISIONS)?,
        },
        subtrees: subtrees(options)?,
        sapwood: plan::own_programs(options)?,
        reference: plan::reference(options, "svn")?,
        work: selected(options, &Work::ALL, Work::name)?,
        repeat: parsed(options, name::REPEAT, "use a whole number")?.unwrap_or(plan::REPEAT).max(1),
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

fn subtrees(options: &Options) -> SvnResult<Vec<u64>> {
    let Some(text) = options.value(name::SUBTREES) else { return Ok(SUBTREES.to_vec()) };
    let numbers: Result<Vec<u64>, _> = text.split(',').map(|word| word.trim().parse()).collect();
    numbers.map_err(|_| bad_value(name::SUBTREES, &text, "use whole numbers, as '1,100'"))
}
