//! `svn auth`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "auth",
    help: "Manage cached authentication credentials.\n\
        usage: 1. svn auth [PATTERN ...]\n       \
        2. svn auth --remove PATTERN [PATTERN ...]\n",
    options: &[Opt::Remove, Opt::ShowPasswords],
    overrides: &[(Opt::Remove, "remove the credentials that match")],
    ..Command::DEFAULT
};
