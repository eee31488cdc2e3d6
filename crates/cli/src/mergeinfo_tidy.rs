//! `sapwood mergeinfo-tidy`: finds mergeinfo that says nothing in a working copy, and removes it on demand.
//! `sapwood_client::mergeinfo::tidy` decides what is redundant; this file has options and messages.

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_client::Context;
use sapwood_client::mergeinfo::tidy::{Counts, Reason, Tidy, tidy};
use sapwood_core::{Exact as _, SvnError, SvnResult, path};

use crate::command::{OptionSpec, Options, name};
use crate::manual::Manual;
use crate::output::Output;
use crate::remote::{self, Credentials, Manner};
use crate::signals;
use crate::tool::Tool;

/// Removes what was found.
const APPLY: OptionSpec = OptionSpec::flag("apply", None, "remove it in the working copy");
/// Deleted branches count as never having existed.
const DELETED: OptionSpec = OptionSpec::flag(
    "deleted-branches",
    None,
    "sources that HEAD has no more count as nonexistent",
);

const OPTIONS: &[OptionSpec] = &[
    APPLY,
    DELETED,
    name::QUIET.flag(Some('q'), "print only the last line"),
    remote::USERNAME,
    remote::PASSWORD,
    remote::PASSWORD_FROM_STDIN,
    remote::NO_AUTH_CACHE,
    remote::NON_INTERACTIVE,
    remote::FORCE_INTERACTIVE,
    remote::TRUST_SERVER_CERT,
    remote::TRUST_SERVER_CERT_FAILURES,
    remote::CONFIG_DIR,
    remote::CONFIG_OPTION,
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
];

const TEXT: &str = "\
Finds svn:mergeinfo that says nothing, at and below each PATH (the current folder if none is
given), and prints why. Without --apply nothing is changed. Each node with mergeinfo of its own
makes merges slower. It says nothing when

  - the node would inherit the same from above,
  - it is empty, and nothing would be inherited either,
  - all that it says beyond what would be inherited names sources that do not exist in the
    repository: neither in HEAD nor in the revisions that are named.

With --apply the property is removed in the working copy; look at 'svn diff', and commit.
A source that was deleted is still a place to merge from in older revisions. With
--deleted-branches such sources count as nonexistent too.
";

static TOOL: Tool = Tool {
    name: "sapwood mergeinfo-tidy",
    arguments: "[PATH...]",
    options: OPTIONS,
    text: TEXT,
    run: tidy_paths,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    TOOL.main(args)
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    TOOL.manual()
}

fn tidy_paths(options: &Options, paths: Vec<String>, out: &mut Output) -> SvnResult<ExitCode> {
    let mut paths = paths;
    let manner = Manner {
        prefix: "sapwood mergeinfo-tidy: ",
        makes_folder: false,
        looks_for_terminal: true,
        unreadable: remote::config::Unreadable::Warns,
    };
    remote::check(options, remote::is_non_interactive(options, manner))?;
    let settings = remote::settings(options, Credentials::from_options(options)?, manner)?;
    let here =
        std::env::current_dir().map_err(|e| SvnError::io(&e, "Can't get working directory"))?;
    let ctx = Context::new(settings, here.clone());
    let how =
        Tidy { apply: options.has(APPLY.name()), deleted_branches: options.has(DELETED.name()) };
    if paths.is_empty() {
        paths.push(String::new());
    }
    let mut sum = Counts::default();
    for target in paths {
        signals::check()?;
        let counts = tidy(&ctx, &target, how, &mut |path, reason| {
            if options.has(name::QUIET) {
                return Ok(());
            }
            out.text(&line(&display_path(&here.to_string_lossy(), path), reason))
        })?;
        sum.all.tally(counts.all);
        sum.needless.tally(counts.needless);
    }
    out.text(&summary(sum, how.apply))?;
    Ok(ExitCode::SUCCESS)
}

/// A path as it is shown: below the current folder.
fn display_path(here: &str, abspath: &str) -> String {
    match path::skip_ancestor(here, abspath) {
        Some("") => ".".to_owned(),
        Some(below) => below.to_owned(),
        None => abspath.to_owned(),
    }
}

/// The line about one node.
fn line(path: &str, reason: &Reason) -> String {
    let why = match reason {
        Reason::Inherited => "the same would be inherited".to_owned(),
        Reason::Empty => "empty, and nothing would be inherited".to_owned(),
        Reason::Sources(sources) => format!("no such source: {}", sources.join(", ")),
        Reason::Unreadable => "no mergeinfo at all; left as it is".to_owned(),
    };
    format!("{path}: {why}\n")
}

/// The last line.
fn summary(counts: Counts, apply: bool) -> String {
    let Counts { all, needless } = counts;
    let end = match (needless, apply) {
        (0, _) => "nothing to remove",
        (_, true) => "removed",
        (_, false) => "not removed: that takes --apply",
    };
    let nodes = if all == 1 { "node" } else { "nodes" };
    format!("{needless} of {all} {nodes} with mergeinfo need none ({end}).\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said() {
        assert_eq!(display_path("/a/b", "/a/b/c d"), "c d");
        assert_eq!(display_path("/a/b", "/a/b"), ".");
        assert_eq!(display_path("/a/b", "/a"), "/a");
        let counts = Counts { all: 3, needless: 2 };
        assert_eq!(
            summary(counts, false),
            "2 of 3 nodes with mergeinfo need none (not removed: that takes --apply).\n"
        );
        assert!(summary(counts, true).ends_with("(removed).\n"));
        let none = Counts { all: 1, needless: 0 };
        assert_eq!(
            summary(none, true),
            "0 of 1 node with mergeinfo need none (nothing to remove).\n"
        );
        let sources = Reason::Sources(vec!["/a".to_owned(), "/b".to_owned()]);
        assert_eq!(line("x", &sources), "x: no such source: /a, /b\n");
    }
}
