//! `svn import`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "import",
    help: "Commit an unversioned file or tree into the repository.\n\
        usage: import [PATH] URL\n",
    options: &[
        Opt::Quiet,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::AutoProps,
        Opt::Force,
        Opt::NoAutoProps,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::NoIgnore,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=files")],
    ..Command::DEFAULT
};
