//! `sapwood-bench commands`.

use std::path::PathBuf;

use sapwood_bench::commands::{Plan, Wire, run as measure, to_markdown, to_tsv};
use sapwood_core::SvnResult;

use super::command::{Invocation, Subcommand, name, print};
use super::{cancel_token, output, parsed, plan};

const HELP: &str = "\
usage: sapwood-bench commands [--against DIR] FOLDER

Measures every command once, by our programs and by those in DIR: 20,000 files in
40 folders ('--files', '--directories') and two files of 200 MB ('--megabytes'),
over file:, svn: and http:.  What both print is compared.  '--only' takes wires and
parts of the names of rows: 'file,status,diff'.  '--quick' is a small tree, once.
Everything is made in FOLDER, after what an earlier measurement left is removed.
";

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "commands",
    help: HELP,
    options: &[
        name::AGAINST,
        name::PROGRAM,
        name::FILES,
        name::DIRECTORIES,
        name::MEGABYTES,
        name::ONLY,
        name::QUICK,
        name::REPEAT,
        name::CSV,
        name::QUIET,
    ],
    run,
};

/// `sapwood-bench commands`.
fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let args = invocation.take_args(1, 1)?;
    let options = &invocation.options;
    let number = |option, usual: usize, quick: usize| {
        let usual = if options.has(name::QUICK) { quick } else { usual };
        parsed(options, option, "use a whole number").map(|given| given.unwrap_or(usual).max(1))
    };
    let directories = number(name::DIRECTORIES, 40, 4)?.max(4);
    let only = options.values(name::ONLY).join(",");
    let only = only.split(',').map(str::trim).filter(|word| !word.is_empty());
    let (wires, only): (Vec<&str>, Vec<&str>) =
        only.partition(|word| Wire::ALL.iter().any(|wire| wire.name() == *word));
    let plan = Plan {
        folder: PathBuf::from(args.first().map_or("", String::as_str)),
        directories,
        files: number(name::FILES, 20_000, 100)?.div_ceil(directories),
        mebibytes: number(name::MEGABYTES, 200, 2)?,
        sapwood: plan::own_programs(options)?,
        reference: plan::reference(options, "svn")?,
        wires: Wire::ALL
            .into_iter()
            .filter(|wire| wires.is_empty() || wires.contains(&wire.name()))
            .collect(),
        only: only.into_iter().map(str::to_owned).collect(),
        repeat: u32::try_from(number(name::REPEAT, 3, 1)?).unwrap_or(u32::MAX),
    };
    let mut say = output::say(options.has(name::QUIET));
    let findings = measure(&plan, &mut say, &cancel_token())?;
    if let Some(path) = options.value(name::CSV) {
        output::file(&path, &to_tsv(&findings))?;
    }
    print(&to_markdown(&findings))
}
