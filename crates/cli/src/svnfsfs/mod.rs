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
    HELP, HELP_MARK, Invocation, OptionSpec, Program, Subcommand, VERSION, name, take_revision,
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
    name::QUIET.flag(Some('q'), "no progress, only errors"),
    name::REVISION.value(Some('r'), "the revision ARG, or the revisions of a range X:Y"),
    name::MEMORY_CACHE_SIZE.value(Some('M'), "megabytes of memory for caches"),
];

static SVNFSFS: Program = Program {
    name: "svnfsfs",
    of_store: |verb, options, url| crate::store::folder_for("svnfsfs", verb, options, url),
    help_header: "general usage: svnfsfs SUBCOMMAND REPOS_PATH  [ARGS & OPTIONS ...]\n\
        Looks into the storage of Subversion repositories of the kind FSFS.\n\
        Type 'svnfsfs help <subcommand>' for help on a specific subcommand.\n\
        Type 'svnfsfs --version' to see the program version.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    take: take_revision,
    subcommands: &[
        Subcommand::help(
            "usage: svnfsfs help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
        ),
        dump_index::COMMAND,
        load_index::COMMAND,
        stats::COMMAND,
    ],
    ..Program::DEFAULT
};
