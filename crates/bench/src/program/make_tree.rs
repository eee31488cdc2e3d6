//! `sapwood-bench make-tree`.

use std::path::Path;

use sapwood_bench::tree::{TreeOptions, make_tree};
use sapwood_core::SvnResult;

use super::command::{Invocation, Options, Subcommand, name, say};
use super::{cancel_token, parsed};

const HELP: &str = "\
usage: sapwood-bench make-tree [--files N] [--directories N] [--megabytes N] PATH

Makes files in the new folder PATH from a seed: the same options make the same
files.  Without options they are 40,908 in 5,334 directories, 250 MB, as in the
published measurement of 'svn status'.
";

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "make-tree",
    help: HELP,
    options: &[name::SEED, name::FILES, name::DIRECTORIES, name::MEGABYTES, name::QUIET],
    run,
};

/// `sapwood-bench make-tree`.
fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let options = tree_options(&invocation.options)?;
    let args = invocation.take_args(1, 1)?;
    let path = args.first().map_or("", String::as_str);
    let quiet = invocation.options.has(name::QUIET);
    let mut written = |count: usize| {
        if !quiet && count.is_multiple_of(10_000) {
            say(&format!("{count} of {} files", options.files));
        }
    };
    make_tree(Path::new(path), &options, &mut written, &cancel_token())
}

/// The options that say which tree it is.
pub(super) fn tree_options(options: &Options) -> SvnResult<TreeOptions> {
    let mut tree = TreeOptions::default();
    let number = "use a whole number";
    tree.seed = parsed(options, name::SEED, number)?.unwrap_or(tree.seed);
    tree.files = parsed(options, name::FILES, number)?.unwrap_or(tree.files);
    tree.directories = parsed(options, name::DIRECTORIES, number)?.unwrap_or(tree.directories);
    if let Some(megabytes) = parsed::<u64>(options, name::MEGABYTES, number)? {
        tree.bytes = megabytes.saturating_mul(1_000_000);
    }
    Ok(tree)
}
