//! A program of Sapwood: its name, its `main` and its manual page.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::manual::Manual;

/// One program.
pub(crate) struct Program {
    /// The word that selects it, and the name of its link if it has one.
    pub(crate) name: &'static str,
    /// Whether `install-links` makes a link of this name (the programs of Subversion).
    pub(crate) linked: bool,
    /// One line for `sapwood help`.
    pub(crate) about: &'static str,
    /// Its `main`: takes the arguments after the program's name.
    pub(crate) run: fn(Vec<OsString>) -> ExitCode,
    /// The content of its manual page.
    pub(crate) manual: Option<fn() -> Manual>,
}

impl Program {
    /// The name of its manual page: programs of our own are `sapwood-NAME`.
    pub(crate) fn page_name(&self) -> String {
        if self.linked { self.name.to_owned() } else { format!("sapwood-{}", self.name) }
    }

    /// Runs the program.
    pub(crate) fn main(&self, args: Vec<OsString>) -> ExitCode {
        crate::signals::called(self.name);
        if self.linked {
            crate::locale::check(self.name);
        }
        crate::output::dies_of_broken_pipes(PIPE_KILLS.contains(&self.name));
        (self.run)(args)
    }
}

/// The programs whose reference dies of SIGPIPE when its output is read no more (a shell sees 141);
/// the others end with an exit code.
const PIPE_KILLS: &[&str] =
    &["svnserve", "svnmucc", "svndumpfilter", "svnauthz", "svnauthz-validate"];

/// The list of programs.
pub(crate) fn list(programs: &[Program]) -> String {
    let mut text = String::from(
        "usage: sapwood PROGRAM [ARGUMENTS]\n\nSubversion in one program. Each of these is a program:\n",
    );
    for program in programs {
        text.push_str(&format!("  {:<18} {}\n", program.name, program.about));
    }
    text.push_str("\nType 'sapwood PROGRAM --help' for the help of one of them.\n");
    text
}
