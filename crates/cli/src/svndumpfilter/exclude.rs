//! `svndumpfilter exclude`.

use super::filter;
use crate::command::{Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "exclude",
    aliases: &[],
    help: "usage: svndumpfilter exclude PATH_PREFIX...\n\n\
         Drop the nodes whose paths start with one of the prefixes.\n",
    options: filter::OPTIONS,
    overrides: &[],
    run: Runner::Arguments(|invocation| filter::filter(invocation, true)),
};
