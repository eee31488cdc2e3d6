//! `svn cleanup`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "cleanup",
    help: "Either recover from an interrupted operation that left the working\n\
        copy locked, or remove unwanted files.\n\
        usage: 1. cleanup [WCPATH...]\n       \
        2. cleanup --remove-unversioned [WCPATH...]\n          \
        cleanup --remove-ignored [WCPATH...]\n       \
        3. cleanup --vacuum-pristines [WCPATH...]\n",
    options: &[
        Opt::RemoveUnversioned,
        Opt::RemoveIgnored,
        Opt::VacuumPristines,
        Opt::IncludeExternals,
        Opt::Quiet,
        Opt::Diff3Cmd,
    ],
    overrides: &[(Opt::Diff3Cmd, "old, and without effect")],
    ..Command::DEFAULT
};
