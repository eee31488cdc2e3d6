//! `svndumpfilter`: lets the wanted part of a dump stream pass from standard input to standard
//! output.

mod exclude;
mod filter;
mod include;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::command::{HELP, HELP_MARK, OptionSpec, Program, Subcommand, VERSION, name};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNDUMPFILTER.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNDUMPFILTER.manual()
}

const OPTIONS: &[OptionSpec] = &[
    HELP,
    HELP_MARK,
    VERSION,
    name::QUIET.flag(None, "do not tell what was done"),
    name::PATTERN.flag(
        None,
        "the prefixes are patterns of '*', '?', '[]' and '\\',\n                             \
         which also match '/': /*/foo matches /a/foo and /a/b/foo",
    ),
    name::DROP_EMPTY_REVS.flag(None, "drop revisions of which nothing is left"),
    name::DROP_ALL_EMPTY_REVS.flag(None, "drop all revisions without nodes, but revision 0"),
    name::RENUMBER_REVS.flag(None, "number the revisions that are left without gaps"),
    name::SKIP_MISSING_MERGE_SOURCES.flag(None, "drop merge sources that are gone"),
    name::PRESERVE_REVPROPS.flag(None, "keep the properties of revisions of which nothing is left"),
    name::TARGETS.value(None, "read more prefixes from file ARG, one a line"),
];

static SVNDUMPFILTER: Program = Program {
    name: "svndumpfilter",
    modules: "",
    help_header: "general usage: svndumpfilter SUBCOMMAND [ARGS & OPTIONS ...]\n\
        Lets the wanted part of a dump stream pass.\n\
        Type 'svndumpfilter help <subcommand>' for help on a specific subcommand.\n\
        Type 'svndumpfilter --version' to see the program version.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    subcommands: &[
        exclude::COMMAND,
        include::COMMAND,
        Subcommand::help(
            "usage: svndumpfilter help [SUBCOMMAND...]\n\n\
                 Explain the program or its subcommands.\n",
        ),
    ],
    ..Program::DEFAULT
};
