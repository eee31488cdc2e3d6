//! `svn merge`.

use super::options::Opt;
use super::{Command, Revisions};

pub(super) const COMMAND: Command = Command {
    name: "merge",
    help: "Merge changes into a working copy.\n\
        usage: 1. merge SOURCE[@REV] [TARGET_WCPATH]\n          \
        (the 'complete' merge)\n       \
        2. merge [-c M[,N...] | -r N:M ...] SOURCE[@REV] [TARGET_WCPATH]\n          \
        (the 'cherry-pick' merge)\n       \
        3. merge SOURCE1[@REV1] SOURCE2[@REV2] [TARGET_WCPATH]\n          \
        (the '2-URL' merge)\n",
    options: &[
        Opt::Revision,
        Opt::Change,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Quiet,
        Opt::Force,
        Opt::DryRun,
        Opt::Diff3Cmd,
        Opt::RecordOnly,
        Opt::Extensions,
        Opt::IgnoreAncestry,
        Opt::Accept,
        Opt::Reintegrate,
        Opt::AllowMixedRevisions,
        Opt::Verbose,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=files"),
        (Opt::Force, "delete files too whose contents differ"),
    ],
    revisions: Revisions::Ranges,
    ..Command::DEFAULT
};
