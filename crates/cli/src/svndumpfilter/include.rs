//! `svndumpfilter include`.

use super::filter;
use crate::command::{Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "include",
    aliases: &[],
    help: "usage: svndumpfilter include PATH_PREFIX...\n\n\
         Drop the nodes whose paths do not start with one of the prefixes.\n",
    options: filter::OPTIONS,
    overrides: &[],
    run: Runner::Arguments(|invocation| filter::filter(invocation, false)),
};
