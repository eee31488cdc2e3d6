//! `svn log`.

use super::options::Opt;
use super::{Command, Revisions};

pub(super) const COMMAND: Command = Command {
    name: "log",
    help: "Show the log messages for a set of revision(s) and/or path(s).\n\
        usage: 1. log [PATH][@REV]\n       \
        2. log URL[@REV] [PATH...]\n",
    options: &[
        Opt::Revision,
        Opt::Change,
        Opt::Quiet,
        Opt::Verbose,
        Opt::UseMergeHistory,
        Opt::Targets,
        Opt::StopOnCopy,
        Opt::Incremental,
        Opt::Xml,
        Opt::Limit,
        Opt::WithAllRevprops,
        Opt::WithNoRevprops,
        Opt::WithRevprop,
        Opt::Depth,
        Opt::Diff,
        Opt::DiffCmd,
        Opt::InternalDiff,
        Opt::Extensions,
        Opt::Search,
        Opt::SearchAnd,
    ],
    overrides: &[
        (Opt::Change, "the change made in revision ARG"),
        (Opt::Quiet, "leave log messages out"),
        (Opt::Verbose, "show the changed paths too"),
        (Opt::WithRevprop, "show the property ARG of revisions"),
    ],
    revisions: Revisions::Ranges,
    ..Command::DEFAULT
};
