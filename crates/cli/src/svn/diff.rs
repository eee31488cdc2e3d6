//! `svn diff`.

use super::options::Opt;
use super::{Command, Revisions};

pub(super) const COMMAND: Command = Command {
    name: "diff",
    aliases: &["di"],
    help: "Display local changes or differences between two revisions or paths.\n\
        usage: 1. diff\n       \
        2. diff [-c M | -r N[:M]] [TARGET[@REV]...]\n       \
        3. diff [-r N[:M]] --old=OLD-TGT[@OLDREV] [--new=NEW-TGT[@NEWREV]] \\n               \
        [PATH...]\n       \
        4. diff OLD-URL[@OLDREV] NEW-URL[@NEWREV]\n       \
        5. diff OLD-URL[@OLDREV] NEW-PATH[@NEWREV]\n       \
        6. diff OLD-PATH[@OLDREV] NEW-URL[@NEWREV]\n",
    options: &[
        Opt::Revision,
        Opt::Change,
        Opt::Old,
        Opt::New,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::DiffCmd,
        Opt::InternalDiff,
        Opt::Extensions,
        Opt::NoDiffAdded,
        Opt::NoDiffDeleted,
        Opt::IgnoreProperties,
        Opt::PropertiesOnly,
        Opt::ShowCopiesAsAdds,
        Opt::NoticeAncestry,
        Opt::Summarize,
        Opt::Changelist,
        Opt::Force,
        Opt::Xml,
        Opt::Git,
        Opt::PatchCompatible,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=files")],
    revisions: Revisions::Range,
    ..Command::DEFAULT
};
