//! `svnadmin`: looks after repositories. One file a subcommand; the tables are here.

mod build_repcache;
mod crashtest;
mod create;
mod dblogs;
mod delrevprop;
mod deltify;
mod dump;
mod freeze;
mod hotcopy;
mod info;
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
    HELP, HELP_MARK, OptionSpec, Program, Run, Subcommand, VERSION, take_revision,
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
    OptionSpec::value("revision", Some('r'), "the revision ARG, or the revisions of a range X:Y"),
    OptionSpec::value("transaction", Some('t'), "the transaction called ARG"),
    OptionSpec::flag("incremental", None, "only what is new: of the first revision, or of a copy"),
    OptionSpec::flag("deltas", None, "write changes of texts and properties as deltas"),
    OptionSpec::flag("bypass-hooks", None, "do not run the repository's hooks"),
    OptionSpec::flag("bypass-prop-validation", None, "take properties that are not valid"),
    OptionSpec::flag("ignore-dates", None, "do not take the dates that stand in the stream"),
    OptionSpec::flag("quiet", Some('q'), "no progress, only errors"),
    OptionSpec::flag("ignore-uuid", None, "do not take the UUID that stands in the stream"),
    OptionSpec::flag("force-uuid", None, "take the UUID that stands in the stream, if any"),
    OptionSpec::value("fs-type", None, "kind of repository: 'fsfs', the only one that is known"),
    OptionSpec::value("parent-dir", None, "load below the directory ARG of the repository"),
    OptionSpec::flag("bdb-txn-nosync", None, "[Berkeley DB] accepted and ignored"),
    OptionSpec::flag("bdb-log-keep", None, "[Berkeley DB] accepted and ignored"),
    OptionSpec::value("config-dir", None, "folder of the user's configuration"),
    OptionSpec::flag("clean-logs", None, "[Berkeley DB] accepted and ignored"),
    OptionSpec::flag("use-pre-commit-hook", None, "run pre-commit before each revision"),
    OptionSpec::flag("use-post-commit-hook", None, "run post-commit after each revision"),
    OptionSpec::flag("use-pre-revprop-change-hook", None, "run the hook before the change"),
    OptionSpec::flag("use-post-revprop-change-hook", None, "run the hook after the change"),
    OptionSpec::flag("wait", None, "wait while another process uses the repository"),
    OptionSpec::flag("pre-1.4-compatible", None, "old form of --compatible-version=1.3"),
    OptionSpec::flag("pre-1.5-compatible", None, "old form of --compatible-version=1.4"),
    OptionSpec::flag("pre-1.6-compatible", None, "old form of --compatible-version=1.5"),
    OptionSpec::flag("keep-going", None, "go on after something corrupt was found"),
    OptionSpec::value("memory-cache-size", Some('M'), "megabytes of memory for caches"),
    OptionSpec::value(
        "compatible-version",
        None,
        "a repository that Subversion ARG can use (\"1.5.5\", \"1.7\", ...)",
    ),
    OptionSpec::value("file", Some('F'), "read repository paths from file ARG"),
    OptionSpec::flag(
        "check-normalization",
        None,
        "tell of names in a directory, and of paths in\n                             \
         svn:mergeinfo, that differ only in how their\n                             \
         characters are represented",
    ),
    OptionSpec::flag("metadata-only", None, "check only the structure of the repository's files"),
    OptionSpec::flag("no-flush-to-disk", None, "do not wait for the disk (not safe in a crash)"),
    OptionSpec::flag("normalize-props", None, "mend line endings in properties of the stream"),
    OptionSpec::value("exclude", None, "leave out paths that start with ARG"),
    OptionSpec::value("include", None, "leave out paths that do not start with ARG"),
    OptionSpec::flag(
        "pattern",
        None,
        "ARG of --include and --exclude is a pattern of\n                             \
         '*', '?', '[]' and '\\', which also match '/'",
    ),
];

/// What setrevprop and delrevprop take.
const REVPROP_CHANGE: &[&str] =
    &["revision", "transaction", "use-pre-revprop-change-hook", "use-post-revprop-change-hook"];
const ONE_REVISION: &[(&str, &str)] = &[("revision", "the revision ARG")];
const TO_FILE: &[(&str, &str)] = &[("file", "write to file ARG, not to stdout")];
const FROM_FILE: &[(&str, &str)] = &[("file", "read from file ARG, not from stdin")];

static SVNADMIN: Program = Program {
    name: "svnadmin",
    help_header: "general usage: svnadmin SUBCOMMAND REPOS_PATH  [ARGS & OPTIONS ...]\n\
        Looks after Subversion repositories.\n\
        Type 'svnadmin help <subcommand>' for help on a specific subcommand.\n\
        Type 'svnadmin --version' to see the program version and FS modules.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    take: take_revision,
    subcommands: &[
        Subcommand {
            name: "build-repcache",
            aliases: &[],
            help: "usage: svnadmin build-repcache REPOS_PATH [-r LOWER[:UPPER]]\n\n\
             Enter the texts of a range of revisions into the index of shared texts.\n",
            options: &["revision", "quiet", "memory-cache-size"],
            overrides: &[],
            run: Run::Repository(build_repcache::run),
        },
        Subcommand {
            name: "crashtest",
            aliases: &[],
            help: "usage: svnadmin crashtest REPOS_PATH\n\n\
             Open the repository and abort, as a server does that crashes.\n",
            options: &[],
            overrides: &[],
            run: Run::Repository(crashtest::run),
        },
        Subcommand {
            name: "create",
            aliases: &[],
            help: "usage: svnadmin create REPOS_PATH\n\nMake a new, empty repository.\n",
            options: &[
                "bdb-txn-nosync",
                "bdb-log-keep",
                "config-dir",
                "fs-type",
                "compatible-version",
                "pre-1.4-compatible",
                "pre-1.5-compatible",
                "pre-1.6-compatible",
            ],
            overrides: &[],
            run: Run::Repository(create::run),
        },
        Subcommand {
            name: "delrevprop",
            aliases: &[],
            help: "usage: 1. svnadmin delrevprop REPOS_PATH -r REVISION NAME\n                   \
                 2. svnadmin delrevprop REPOS_PATH -t TXN NAME\n\n\
                 Delete a property of a revision (which cannot be undone: its earlier value is\n\
                 kept nowhere) or of a transaction.\n",
            options: REVPROP_CHANGE,
            overrides: ONE_REVISION,
            run: Run::Repository(delrevprop::run),
        },
        Subcommand {
            name: "deltify",
            aliases: &[],
            help: "usage: svnadmin deltify [-r LOWER[:UPPER]] REPOS_PATH\n\n\
             Does nothing for FSFS repositories, whose revisions are never rewritten.\n",
            options: &["revision", "quiet", "memory-cache-size"],
            overrides: &[],
            run: Run::Repository(deltify::run),
        },
        Subcommand {
            name: "dump",
            aliases: &[],
            help: "usage: svnadmin dump REPOS_PATH [-r LOWER[:UPPER] [--incremental]]\n\n\
                 Write revisions to stdout as a stream that 'svnadmin load' reads, and progress\n\
                 to stderr.  All revisions, unless -r says which.\n\n\
                 The first revision of a range is written as a whole tree, so that the stream\n\
                 stands alone; with --incremental it is written as what it changed, like all\n\
                 the others.\n\n\
                 With --exclude and --include, what refers to paths that are left out is\n\
                 rewritten: a copy from such a path becomes an addition.\n",
            options: &[
                "revision",
                "incremental",
                "deltas",
                "quiet",
                "memory-cache-size",
                "file",
                "exclude",
                "include",
                "pattern",
            ],
            overrides: TO_FILE,
            run: Run::Repository(dump::run),
        },
        Subcommand {
            name: "dump-revprops",
            aliases: &[],
            help: "usage: svnadmin dump-revprops REPOS_PATH [-r LOWER[:UPPER]]\n\n\
                 Write the properties of revisions to stdout as a stream that\n\
                 'svnadmin load-revprops' reads, and progress to stderr.  All revisions,\n\
                 unless -r says which.\n",
            options: &["revision", "quiet", "file"],
            overrides: TO_FILE,
            run: Run::Repository(dump::run_revprops),
        },
        Subcommand {
            name: "freeze",
            aliases: &[],
            help: "usage: 1. svnadmin freeze REPOS_PATH -- PROGRAM [ARG...]\n               \
             2. svnadmin freeze -F FILE -- PROGRAM [ARG...]\n\n\
             Run a program while nothing can be committed to the repository, or to those\n\
             that FILE lists one a line.\n",
            options: &["file"],
            overrides: &[],
            run: Run::Arguments(freeze::run),
        },
        Subcommand {
            name: "help",
            aliases: &["?", "h"],
            help: "usage: svnadmin help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
            options: &[],
            overrides: &[],
            run: Run::Help,
        },
        Subcommand {
            name: "hotcopy",
            aliases: &[],
            help: "usage: svnadmin hotcopy REPOS_PATH NEW_REPOS_PATH\n\n\
             Copy a repository that may be in use.  With --incremental, only what the copy\n\
             does not have yet.\n",
            options: &["clean-logs", "incremental", "quiet"],
            overrides: &[],
            run: Run::Repository(hotcopy::run),
        },
        Subcommand {
            name: "info",
            aliases: &[],
            help: "usage: svnadmin info REPOS_PATH\n\n\
                 Tell about the repository: its UUID, formats, layout and configuration.\n",
            options: &[],
            overrides: &[],
            run: Run::Repository(info::run),
        },
        Subcommand {
            name: "list-dblogs",
            aliases: &[],
            help: "usage: svnadmin list-dblogs REPOS_PATH\n\n[Berkeley DB] List all log files.\n",
            options: &[],
            overrides: &[],
            run: Run::Repository(dblogs::run),
        },
        Subcommand {
            name: "list-unused-dblogs",
            aliases: &[],
            help: "usage: svnadmin list-unused-dblogs REPOS_PATH\n\n\
             [Berkeley DB] List log files that are not needed any more.\n",
            options: &[],
            overrides: &[],
            run: Run::Repository(dblogs::run),
        },
        Subcommand {
            name: "load",
            aliases: &[],
            help: "usage: svnadmin load REPOS_PATH\n\n\
                 Read a dump stream from stdin and commit its revisions.  An empty repository\n\
                 takes the stream's UUID.  Progress goes to stdout.  With -r, only revisions\n\
                 of the stream in that range are loaded.\n",
            options: &[
                "quiet",
                "revision",
                "ignore-uuid",
                "force-uuid",
                "ignore-dates",
                "use-pre-commit-hook",
                "use-post-commit-hook",
                "parent-dir",
                "normalize-props",
                "bypass-prop-validation",
                "memory-cache-size",
                "no-flush-to-disk",
                "file",
            ],
            overrides: FROM_FILE,
            run: Run::Repository(load::run),
        },
        Subcommand {
            name: "load-revprops",
            aliases: &[],
            help: "usage: svnadmin load-revprops REPOS_PATH\n\n\
                 Read a dump stream from stdin and set the properties of the revisions that\n\
                 it names, which must exist.  Progress goes to stdout.\n",
            options: &[
                "quiet",
                "revision",
                "force-uuid",
                "normalize-props",
                "bypass-prop-validation",
                "no-flush-to-disk",
                "file",
            ],
            overrides: FROM_FILE,
            run: Run::Repository(load_revprops::run),
        },
        Subcommand {
            name: "lock",
            aliases: &[],
            help: "usage: svnadmin lock REPOS_PATH PATH USERNAME COMMENT-FILE [TOKEN]\n\n\
                 Lock a path for a user, with the comment that stands in a file.\n",
            options: &["bypass-hooks", "quiet"],
            overrides: &[],
            run: Run::Repository(lock::run),
        },
        Subcommand {
            name: "lslocks",
            aliases: &[],
            help: "usage: svnadmin lslocks REPOS_PATH [PATH-IN-REPOS]\n\n\
                 Describe all locks at and below a path of the repository (its root).\n",
            options: &[],
            overrides: &[],
            run: Run::Repository(lslocks::run),
        },
        Subcommand {
            name: "lstxns",
            aliases: &[],
            help: "usage: svnadmin lstxns REPOS_PATH\n\n\
                 Print the names of transactions that were not committed.  With -r, only those\n\
                 that are based on that revision or an older one: they may be forgotten.\n",
            options: &["revision"],
            overrides: &[("revision", "the newest base revision ARG")],
            run: Run::Repository(lstxns::run),
        },
        Subcommand {
            name: "pack",
            aliases: &[],
            help: "usage: svnadmin pack REPOS_PATH\n\n\
                 Gather the revisions of each complete shard in one file.\n",
            options: &["quiet", "memory-cache-size"],
            overrides: &[],
            run: Run::Repository(pack::run),
        },
        Subcommand {
            name: "recover",
            aliases: &[],
            help: "usage: svnadmin recover REPOS_PATH\n\n\
             Mend what a crash may have left behind.\n",
            options: &["wait"],
            overrides: &[],
            run: Run::Repository(recover::run),
        },
        Subcommand {
            name: "rev-size",
            aliases: &[],
            help: "usage: svnadmin rev-size REPOS_PATH -r REVISION\n\n\
                 Print how many bytes a revision takes on disk, with its properties and\n\
                 without indexes.\n",
            options: &["revision", "quiet", "memory-cache-size"],
            overrides: &[
                ("revision", "the revision ARG"),
                ("quiet", "print only the number and a newline"),
            ],
            run: Run::Repository(rev_size::run),
        },
        Subcommand {
            name: "rmlocks",
            aliases: &[],
            help: "usage: svnadmin rmlocks REPOS_PATH LOCKED_PATH...\n\nRemove locks, whoever has them.\n",
            options: &["quiet"],
            overrides: &[],
            run: Run::Repository(rmlocks::run),
        },
        Subcommand {
            name: "rmtxns",
            aliases: &[],
            help: "usage: svnadmin rmtxns REPOS_PATH TXN_NAME...\n\nDelete transactions.\n",
            options: &["quiet"],
            overrides: &[],
            run: Run::Repository(rmtxns::run),
        },
        Subcommand {
            name: "setlog",
            aliases: &[],
            help: "usage: svnadmin setlog REPOS_PATH -r REVISION FILE\n\n\
                 Set the log message of a revision to what stands in a file.  The earlier one\n\
                 is kept nowhere.\n",
            options: &["revision", "bypass-hooks"],
            overrides: ONE_REVISION,
            run: Run::Repository(setlog::run),
        },
        Subcommand {
            name: "setrevprop",
            aliases: &[],
            help: "usage: 1. svnadmin setrevprop REPOS_PATH -r REVISION NAME FILE\n                   \
                 2. svnadmin setrevprop REPOS_PATH -t TXN NAME FILE\n\n\
                 Set a property of a revision (whose earlier value is kept nowhere) or of a\n\
                 transaction to what stands in a file.\n",
            options: REVPROP_CHANGE,
            overrides: ONE_REVISION,
            run: Run::Repository(setrevprop::run),
        },
        Subcommand {
            name: "setuuid",
            aliases: &[],
            help: "usage: svnadmin setuuid REPOS_PATH [NEW_UUID]\n\n\
                 Give the repository another UUID, or a new one.\n",
            options: &[],
            overrides: &[],
            run: Run::Repository(setuuid::run),
        },
        Subcommand {
            name: "unlock",
            aliases: &[],
            help: "usage: svnadmin unlock REPOS_PATH LOCKED_PATH USERNAME TOKEN\n\n\
                 Remove a user's lock, given its token.\n",
            options: &["bypass-hooks", "quiet"],
            overrides: &[],
            run: Run::Repository(unlock::run),
        },
        Subcommand {
            name: "upgrade",
            aliases: &[],
            help: "usage: svnadmin upgrade REPOS_PATH\n\n\
             Bring the repository to the newest format, changing as little as that takes.\n",
            options: &[],
            overrides: &[],
            run: Run::Repository(upgrade::run),
        },
        Subcommand {
            name: "verify",
            aliases: &[],
            help: "usage: svnadmin verify REPOS_PATH\n\n\
                 Check all that the repository holds.\n",
            options: &[
                "transaction",
                "revision",
                "quiet",
                "keep-going",
                "memory-cache-size",
                "check-normalization",
                "metadata-only",
            ],
            overrides: &[],
            run: Run::Repository(verify::run),
        },
    ],
    ..Program::DEFAULT
};

/// How many threads may work ahead: as many as there are processors, within reason.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(8)
}
