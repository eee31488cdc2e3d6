//! `sapwood repo`: the repositories of a folder: makes, lists, archives, deletes and restores them. This file has the
//! command line; each duty has a file.
//!
//! Invariant: only `empty-bin` removes anything that was in a repository; `delete` and `archive` move it.

mod bin;
mod create;
mod layout;
mod list;
mod owner;
mod stamp;
mod template;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use sapwood_core::date::Timestamp;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::command::{OptionSpec, Options, name};
use crate::manual::Manual;
use crate::output::Output;
use crate::tool::Tool;
use bin::Bin;

const TEMPLATE: OptionSpec =
    OptionSpec::value("template", None, "copy the files of ARG/conf and ARG/hooks; see above");
const LAYOUT: OptionSpec =
    OptionSpec::flag("layout", None, "make trunk, branches and tags in revision 1");
const DAYS: OptionSpec =
    OptionSpec::value("days", None, "remove what was deleted more than ARG days ago");
const FORCE: OptionSpec =
    OptionSpec::flag("force", None, "move it, although transactions are not finished");

const OPTIONS: &[OptionSpec] = &[
    TEMPLATE,
    LAYOUT,
    name::FS_TYPE.value(None, "type of a new repository: 'fsfs' (the default) or 'fsx'"),
    name::COMPATIBLE_VERSION.value(None, "a new repository can be used by version ARG, too"),
    FORCE,
    DAYS,
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
];

const TEXT: &str = "\
Looks after the repositories of a folder.

  create PATH            make a repository
  list FOLDER            list the repositories of a folder, and what is in its bin and archive
  delete PATH            move a repository to the bin: FOLDER/.bin/NAME-YYYYMMDDTHHMMSSZ
  archive PATH           the same with FOLDER/.archive, which 'empty-bin' does not look at
  restore FOLDER NAME    move back what was deleted or archived last under this name
  empty-bin FOLDER       remove what was deleted more than '--days' days ago

A template is a folder with any of these:

  conf/     files that are copied into the new repository's 'conf'
  hooks/    the same for 'hooks'; a script must be executable here
  layout    a text file with one path a line: folders that revision 1 has

Deleted and archived repositories have a file 'format.deleted' in place of 'format', so that no
program opens or serves them. A commit that is being written is waited for; where transactions are
not finished, 'delete' and 'archive' refuse: commits may be in progress.

A repository that root makes belongs to the owner of the folder that it is in, and so do its bin and
archive when root makes them.
";

static TOOL: Tool = Tool {
    name: "sapwood repo",
    arguments: "ACTION [ARG...]",
    options: OPTIONS,
    text: TEXT,
    run: run_action,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    TOOL.main(args)
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    TOOL.manual()
}

fn run_action(options: &Options, arguments: Vec<String>, out: &mut Output) -> SvnResult<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["create", path] => {
            let template = options.value(TEMPLATE.name())?;
            create::create(options, path, template.as_deref(), options.has(LAYOUT.name()))?;
        }
        ["list", folder] => return list::list(Path::new(folder), out),
        ["delete", path] => {
            let moved = bin::put(Path::new(path), Bin::Deleted, options.has(FORCE.name()))?;
            out.text(&format!("Moved to {}\n", moved.display()))?;
        }
        ["archive", path] => {
            let moved = bin::put(Path::new(path), Bin::Archived, options.has(FORCE.name()))?;
            out.text(&format!("Moved to {}\n", moved.display()))?;
        }
        ["restore", folder, name] => {
            let from = bin::restore(Path::new(folder), name)?;
            out.text(&format!("Restored from {}\n", from.display()))?;
        }
        ["empty-bin", folder] => {
            let Some(days) = options.value(DAYS.name())? else {
                return Ok(TOOL.wrong_usage("'empty-bin' needs '--days'"));
            };
            let before = stamp::days_before(Timestamp::now(), &days)?;
            bin::empty(Path::new(folder), before, &mut |path| {
                out.text(&format!("Removed {}\n", path.display()))
            })?;
        }
        [] => return Ok(TOOL.wrong_usage("an action is needed")),
        [action, ..] => {
            let what = format!("wrong arguments, or no action: '{action}'");
            return Ok(TOOL.wrong_usage(&what));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The error of arguments that cannot be used.
fn refused(message: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::REPOS_BAD_ARGS, message.into())
}

/// An error of the system about a path.
fn cannot(error: &std::io::Error, what: &str, path: &Path) -> SvnError {
    SvnError::io(error, format_args!("{what} '{}'", path.display()))
}
