//! `svnfsfs`: looks into the storage of a repository.

mod dump_index;
mod load_index;
mod stats;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use sapwood_core::SvnResult;
use sapwood_fs::Filesystem;

use crate::command::{
    HELP, HELP_MARK, Invocation, OptionSpec, Program, Run, Subcommand, VERSION, take_revision,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNFSFS.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNFSFS.manual()
}

/// The filesystem of the repository argument.
fn open(invocation: &Invocation<'_>) -> SvnResult<Filesystem> {
    let (caches, options) = crate::repo::caches(&invocation.options)?;
    let db = Path::new(&invocation.repository).join("db");
    Ok(Filesystem::open(&db, &caches, &options)?)
}

const OPTIONS: &[OptionSpec] = &[
    HELP,
    HELP_MARK,
    VERSION,
    OptionSpec::flag("quiet", Some('q'), "no progress, only errors"),
    OptionSpec::value("revision", Some('r'), "the revision ARG, or the revisions of a range X:Y"),
    OptionSpec::value("memory-cache-size", Some('M'), "megabytes of memory for caches"),
];

static SVNFSFS: Program = Program {
    name: "svnfsfs",
    help_header: "general usage: svnfsfs SUBCOMMAND REPOS_PATH  [ARGS & OPTIONS ...]\n\
        Looks into the storage of Subversion repositories of the kind FSFS.\n\
        Type 'svnfsfs help <subcommand>' for help on a specific subcommand.\n\
        Type 'svnfsfs --version' to see the program version.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    take: take_revision,
    subcommands: &[
        Subcommand {
            name: "help",
            aliases: &["?", "h"],
            help: "usage: svnfsfs help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
            options: &[],
            overrides: &[],
            run: Run::Help,
        },
        Subcommand {
            name: "dump-index",
            aliases: &[],
            help: "usage: svnfsfs dump-index REPOS_PATH -r REV\n\n\
                 Print the index of the revision file or pack that holds a revision, for formats\n\
                 7 and 8.  After a heading there is one line an item, in the order in which they\n\
                 lie in the file:\n\n\
                 \x20  * where it starts, and its length, in bytes (hexadecimal)\n\
                 \x20  * what it is: none (unused), frep, drep (contents of a file or directory),\n\
                 \x20    fprop, dprop (their properties), node (a node-revision), chgs (changed\n\
                 \x20    paths), rep (contents of any kind), ??? (the index is corrupt)\n\
                 \x20  * its revision, and its number there\n\
                 \x20  * its FNV-1a checksum (hexadecimal)\n",
            options: &["revision", "memory-cache-size"],
            overrides: &[],
            run: Run::Repository(dump_index::run),
        },
        Subcommand {
            name: "load-index",
            aliases: &[],
            help: "usage: svnfsfs load-index REPOS_PATH\n\n\
                 Read what dump-index prints and make it the index.\n",
            options: &["memory-cache-size"],
            overrides: &[],
            run: Run::Repository(load_index::run),
        },
        Subcommand {
            name: "stats",
            aliases: &[],
            help: "usage: svnfsfs stats REPOS_PATH\n\n\
                 Print how many items of each kind there are, and how large they are.\n",
            options: &["memory-cache-size"],
            overrides: &[],
            run: Run::Repository(stats::run),
        },
    ],
    ..Program::DEFAULT
};
