//! `svnadmin`: looks after repositories. One file a subcommand; the tables are here.

mod build_repcache;
mod crashtest;
pub(crate) mod create;
mod dblogs;
mod delrevprop;
mod deltify;
mod dump;
mod freeze;
mod hotcopy;
mod info;
mod leftovers;
mod load;
mod load_revprops;
mod lock;
pub(crate) mod lslocks;
mod lstxns;
mod pack;
mod recover;
mod rev_size;
mod revprop;
mod rmlocks;
mod rmtxns;
mod setlog;
mod setrevprop;
mod setuuid;
mod unlock;
mod upgrade;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::command::{
    HELP, HELP_MARK, Name, OptionSpec, Program, Subcommand, VERSION, name, take_revision,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNADMIN.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNADMIN.manual()
}

const OPTIONS: &[OptionSpec] = &[
    HELP,
    HELP_MARK,
    VERSION,
    name::REVISION.value(Some('r'), "the revision ARG, or the revisions of a range X:Y"),
    name::TRANSACTION.value(Some('t'), "the transaction called ARG"),
    name::INCREMENTAL.flag(None, "only what is new: of the first revision, or of a copy"),
    name::DELTAS.flag(None, "write changes of texts and properties as deltas"),
    name::BYPASS_HOOKS.flag(None, "do not run the repository's hooks"),
    name::BYPASS_PROP_VALIDATION.flag(None, "take properties that are not valid"),
    name::IGNORE_DATES.flag(None, "do not take the dates that stand in the stream"),
    name::QUIET.flag(Some('q'), "no progress, only errors"),
    name::IGNORE_UUID.flag(None, "do not take the UUID that stands in the stream"),
    name::FORCE_UUID.flag(None, "take the UUID that stands in the stream, if any"),
    name::FS_TYPE.value(None, "kind of repository: 'fsfs' (the default) or 'fsx'"),
    name::PARENT_DIR.value(None, "load below the directory ARG of the repository"),
    name::BDB_TXN_NOSYNC.flag(None, "[Berkeley DB] accepted and ignored"),
    name::BDB_LOG_KEEP.flag(None, "[Berkeley DB] accepted and ignored"),
    name::CONFIG_DIR.value(None, "folder of the user's configuration"),
    name::CLEAN_LOGS.flag(None, "[Berkeley DB] accepted and ignored"),
    name::USE_PRE_COMMIT_HOOK.flag(None, "run pre-commit before each revision"),
    name::USE_POST_COMMIT_HOOK.flag(None, "run post-commit after each revision"),
    name::USE_PRE_REVPROP_CHANGE_HOOK.flag(None, "run the hook before the change"),
    name::USE_POST_REVPROP_CHANGE_HOOK.flag(None, "run the hook after the change"),
    name::WAIT.flag(None, "wait while another process uses the repository"),
    name::PRE_1_4_COMPATIBLE.flag(None, "old form of --compatible-version=1.3"),
    name::PRE_1_5_COMPATIBLE.flag(None, "old form of --compatible-version=1.4"),
    name::PRE_1_6_COMPATIBLE.flag(None, "old form of --compatible-version=1.5"),
    name::KEEP_GOING.flag(None, "go on after something corrupt was found"),
    name::MEMORY_CACHE_SIZE.value(Some('M'), "megabytes of memory for caches"),
    name::COMPATIBLE_VERSION
        .value(None, "a repository that Subversion ARG can use (\"1.5.5\", \"1.7\", ...)"),
    name::FILE.value(Some('F'), "read repository paths from file ARG"),
    name::CHECK_NORMALIZATION.flag(
        None,
        "tell of names in a directory, and of paths in\n                             \
         svn:mergeinfo, that differ only in how their\n                             \
         characters are represented",
    ),
    name::METADATA_ONLY.flag(None, "check only the structure of the repository's files"),
    name::NO_FLUSH_TO_DISK.flag(None, "do not wait for the disk (not safe in a crash)"),
    name::NORMALIZE_PROPS.flag(None, "mend line endings in properties of the stream"),
    name::EXCLUDE.value(None, "leave out paths that start with ARG"),
    name::INCLUDE.value(None, "leave out paths that do not start with ARG"),
    name::PATTERN.flag(
        None,
        "ARG of --include and --exclude is a pattern of\n                             \
         '*', '?', '[]' and '\\', which also match '/'",
    ),
];

/// The options of setrevprop and delrevprop.
const REVPROP_CHANGE: &[Name] = &[
    name::REVISION,
    name::TRANSACTION,
    name::USE_PRE_REVPROP_CHANGE_HOOK,
    name::USE_POST_REVPROP_CHANGE_HOOK,
];
const ONE_REVISION: &[(Name, &str)] = &[(name::REVISION, "the revision ARG")];
const TO_FILE: &[(Name, &str)] = &[(name::FILE, "write to file ARG, not to stdout")];
const FROM_FILE: &[(Name, &str)] = &[(name::FILE, "read from file ARG, not from stdin")];

static SVNADMIN: Program = Program {
    name: "svnadmin",
    of_store: |verb, options, url| crate::store::folder_for("svnadmin", verb, options, url),
    help_header: "general usage: svnadmin SUBCOMMAND REPOS_PATH  [ARGS & OPTIONS ...]\n\
        Looks after Subversion repositories.\n\
        Type 'svnadmin help <subcommand>' for help on a specific subcommand.\n\
        Type 'svnadmin --version' to see the program version and FS modules.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    take: take_revision,
    subcommands: &[
        build_repcache::COMMAND,
        crashtest::COMMAND,
        create::COMMAND,
        delrevprop::COMMAND,
        deltify::COMMAND,
        dump::COMMAND,
        dump::REVPROPS_COMMAND,
        freeze::COMMAND,
        Subcommand::help(
            "usage: svnadmin help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
        ),
        hotcopy::COMMAND,
        info::COMMAND,
        dblogs::COMMAND,
        dblogs::UNUSED_COMMAND,
        load::COMMAND,
        load_revprops::COMMAND,
        lock::COMMAND,
        lslocks::COMMAND,
        lstxns::COMMAND,
        pack::COMMAND,
        recover::COMMAND,
        rev_size::COMMAND,
        rmlocks::COMMAND,
        rmtxns::COMMAND,
        setlog::COMMAND,
        setrevprop::COMMAND,
        setuuid::COMMAND,
        unlock::COMMAND,
        upgrade::COMMAND,
        verify::COMMAND,
    ],
    ..Program::DEFAULT
};

/// The number of threads that may work ahead: as many as there are processors, within reason.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(8)
}
