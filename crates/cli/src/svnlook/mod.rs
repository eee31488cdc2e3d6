//! `svnlook`: looks into a repository. The tables are here, and what all subcommands share.

mod author;
mod cat;
mod change_tree;
mod changed;
mod date;
mod diff;
mod dirs_changed;
mod filesize;
mod history;
mod info;
mod lock;
mod log;
mod propget;
mod proplist;
mod revprop_text;
mod tree;
mod uuid;
mod youngest;

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_fs::{Filesystem, Node, Root};
use sapwood_repos::Repository;

use crate::command::{
    HELP, HELP_MARK, Invocation, Name, OptionSpec, Options, Program, Subcommand, Usage, VERSION,
    name, plain_text, usage_error,
};
use crate::pegs::{Of, Part};
use crate::revision::{RevisionRange, RevisionSpec};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNLOOK.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNLOOK.manual()
}

/// The revision or transaction that is looked at.
pub(super) enum Subject {
    Revision(Revnum),
    Transaction(String),
}

/// A repository, and what is looked at in it.
pub(super) struct Context {
    pub(super) repository: Repository,
    pub(super) subject: Subject,
}

impl Context {
    pub(super) fn open(invocation: &Invocation<'_>) -> SvnResult<Self> {
        let options = &invocation.options;
        let repository = crate::repo::open(&invocation.repository, options)?;
        let fs = repository.fs();
        let subject = match (options.value(name::TRANSACTION)?, options.revision.start) {
            (Some(name), _) => {
                fs.txn_root(&name)?;
                Subject::Transaction(name)
            }
            (None, RevisionSpec::Number(revision)) => Subject::Revision(revision),
            (None, _) => Subject::Revision(fs.youngest()?),
        };
        Ok(Self { repository, subject })
    }

    pub(super) fn fs(&self) -> &Filesystem {
        self.repository.fs()
    }

    pub(super) fn root(&self) -> SvnResult<Root> {
        Ok(match &self.subject {
            Subject::Revision(revision) => self.fs().revision_root(*revision)?,
            Subject::Transaction(name) => self.fs().txn_root(name)?,
        })
    }

    /// The properties of the revision or transaction.
    pub(super) fn revprops(&self) -> SvnResult<PropList> {
        Ok(match &self.subject {
            Subject::Revision(revision) => (*self.fs().revprops(*revision)?).clone(),
            Subject::Transaction(name) => {
                let mut props = self.fs().txn_props(name)?;
                // The transaction's internal properties are not the user's.
                for name in ["svn:check-locks", "svn:check-ood", "svn:client-date"] {
                    props.remove(name);
                }
                props
            }
        })
    }

    /// The revision that the changes are against; `None` for revision 0.
    pub(super) fn base(&self) -> SvnResult<Option<Revnum>> {
        Ok(match &self.subject {
            Subject::Revision(revision) => revision.prev(),
            Subject::Transaction(name) => Some(self.fs().txn_root(name)?.base_revision()),
        })
    }
}

/// The node at a path as the user wrote it.
pub(super) fn existing(root: &Root, arg: &str) -> SvnResult<Node> {
    let path = Of::all("svnlook", Part::Target).whole(arg)?;
    root.find(&FsPathBuf::canonicalize(&path))?.ok_or_else(|| {
        let message = if crate::repo::is_url(arg) {
            format!("'{arg}' is a URL, probably should be a path")
        } else {
            format!("Path '{arg}' does not exist")
        };
        SvnError::new(ErrorCode::FS_NOT_FOUND, message)
    })
}

/// The same for a file.
pub(super) fn existing_file(root: &Root, arg: &str) -> SvnResult<Node> {
    let node = existing(root, arg)?;
    if node.kind() == NodeKind::File {
        return Ok(node);
    }
    Err(SvnError::new(ErrorCode::FS_NOT_FILE, format!("Path '{arg}' is not a file")))
}

/// The arguments after the repository, each in the form of a canonical local path: at most two,
/// more are ignored unless the subcommand looks.
pub(super) fn arguments(invocation: &mut Invocation<'_>) -> SvnResult<Vec<String>> {
    let args = invocation.take_args(0, usize::MAX)?;
    Ok(args.iter().map(|arg| crate::repo::canonical_path(arg)).collect())
}

fn too_many() -> SvnError {
    usage_error("Too many arguments given")
}

/// For subcommands without further arguments.
pub(super) fn no_argument(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    if arguments(invocation)?.is_empty() { Ok(()) } else { Err(too_many()) }
}

/// For subcommands with exactly one further argument.
pub(super) fn one_argument(invocation: &mut Invocation<'_>) -> SvnResult<String> {
    match arguments(invocation)?.as_slice() {
        [] => {
            Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "Missing repository path argument"))
        }
        [one] => Ok(one.clone()),
        _ => Err(too_many()),
    }
}

/// For subcommands with one further argument or none.
pub(super) fn maybe_argument(invocation: &mut Invocation<'_>) -> SvnResult<Option<String>> {
    match arguments(invocation)?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => Err(too_many()),
    }
}

/// A number as C's `strtol` reads it, all of it.
fn parse_long(text: &str) -> Option<i64> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let negative = text.starts_with('-');
    let value = digits.parse::<i64>().unwrap_or(i64::MAX);
    Some(if negative { value.saturating_neg() } else { value })
}

fn take(
    options: &mut Options,
    spec: &'static OptionSpec,
    value: Option<&OsString>,
) -> SvnResult<()> {
    let Some(value) = value else { return Ok(()) };
    let bad = |text| Err(usage_error(text));
    match spec.name() {
        name::REVISION => {
            let number = parse_long(&plain_text(value)?).and_then(|n| u64::try_from(n).ok());
            let Some(number) = number else { return bad("Invalid revision number supplied") };
            options.revision = RevisionRange {
                start: RevisionSpec::Number(Revnum(number)),
                end: RevisionSpec::Unspecified,
            };
            Ok(())
        }
        name::LIMIT => match parse_long(&plain_text(value)?) {
            None => bad("Non-numeric limit argument given"),
            Some(0) => Err(SvnError::new(
                ErrorCode::INCORRECT_PARAMS,
                "Argument to --limit must be positive",
            )),
            Some(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

fn check(options: &Options) -> SvnResult<()> {
    let exclusive = |text| Err(SvnError::new(ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS, text));
    if options.has(name::REVISION) && options.has(name::TRANSACTION) {
        return exclusive(
            "The '--transaction' (-t) and '--revision' (-r) arguments cannot co-exist",
        );
    }
    if options.has(name::SHOW_INHERITED_PROPS) && options.has(name::REVPROP) {
        return exclusive(
            "Cannot use the '--show-inherited-props' option with the '--revprop' option",
        );
    }
    Ok(())
}

fn repository(arg: Option<String>) -> Result<String, Usage> {
    match arg {
        None => Err(Usage::Sentence("Repository argument required")),
        // A URL is taken for a path here, as the reference does.
        Some(arg) => Ok(crate::repo::canonical_path(&arg)),
    }
}

const OPTIONS: &[OptionSpec] = &[
    HELP_MARK,
    name::COPY_INFO.flag(None, "say where copies come from"),
    name::DIFF_COPY_FROM.flag(None, "compare copies with what they are copies of"),
    name::FULL_PATHS.flag(None, "print whole paths, without indenting"),
    HELP,
    name::LIMIT.value(Some('l'), "print no more than ARG places"),
    name::NO_DIFF_ADDED.flag(None, "leave out the contents of added files"),
    name::NO_DIFF_DELETED.flag(None, "leave out the contents of deleted files"),
    name::DIFF_CMD.value(None, "compare with the program ARG"),
    name::IGNORE_PROPERTIES.flag(None, "leave out properties"),
    name::PROPERTIES_ONLY.flag(None, "show nothing but properties"),
    name::MEMORY_CACHE_SIZE.value(Some('M'), "megabytes of memory for caches"),
    name::NO_NEWLINE.flag(None, "print no newline at the end"),
    name::NON_RECURSIVE.flag(Some('N'), "one directory only"),
    name::REVISION.value(Some('r'), "the revision ARG"),
    name::REVPROP.flag(None, "a property of the revision or transaction itself"),
    name::SHOW_IDS.flag(None, "print the ids of node-revisions too"),
    name::SHOW_INHERITED_PROPS.flag(None, "also what is inherited from directories above"),
    name::TRANSACTION.value(Some('t'), "the transaction called ARG"),
    name::VERBOSE.flag(Some('v'), "print more"),
    VERSION,
    name::XML.flag(None, "print XML"),
    name::EXTENSIONS.value(
        Some('x'),
        "options for the comparison, '-u' if there are none.\n                             \
         Without --diff-cmd, these are known:\n                             \
         \x20 -u, --unified: unified diffs, which there are\n                             \
         \x20   always\n                             \
         \x20 -b, --ignore-space-change: how much white space\n                             \
         \x20   there is does not count\n                             \
         \x20 -w, --ignore-all-space: white space does not count\n                             \
         \x20 --ignore-eol-style: line endings do not count\n                             \
         \x20 -U ARG, --context ARG: show ARG lines around\n                             \
         \x20   changes\n                             \
         \x20 -p, --show-c-function: show what function it is in",
    ),
    name::QUIET.flag(Some('q'), "print less"),
];

const SUBJECT: &[Name] = &[name::REVISION, name::TRANSACTION];

static SVNLOOK: Program = Program {
    name: "svnlook",
    of_store: |verb, options, url| crate::store::folder_for("svnlook", verb, options, url),
    help_header: "general usage: svnlook SUBCOMMAND REPOS_PATH [ARGS & OPTIONS ...]\n\
        Looks into Subversion repositories.\n\
        Type 'svnlook help <subcommand>' for help on a specific subcommand.\n\
        Type 'svnlook --version' to see the program version and FS modules.\n\
        Subcommands that take '--revision' and '--transaction' look at the youngest\n\
        \x20     revision when they are given neither.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    version_options: &[name::QUIET, name::VERBOSE],
    no_subcommand: "Subcommand argument required",
    take,
    check,
    repository,
    unknown_hint: |name| (name == "verify").then_some("Try 'svnadmin verify' instead."),
    subcommands: &[
        author::COMMAND,
        cat::COMMAND,
        changed::COMMAND,
        date::COMMAND,
        diff::COMMAND,
        dirs_changed::COMMAND,
        filesize::COMMAND,
        Subcommand::help(
            "usage: svnlook help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
        ),
        history::COMMAND,
        info::COMMAND,
        lock::COMMAND,
        log::COMMAND,
        propget::COMMAND,
        proplist::COMMAND,
        tree::COMMAND,
        uuid::COMMAND,
        youngest::COMMAND,
    ],
    ..Program::DEFAULT
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_like_strtol() {
        for (text, want) in [
            ("5", Some(5)),
            (" +5", Some(5)),
            ("-5", Some(-5)),
            ("", None),
            ("5x", None),
            ("-", None),
        ] {
            assert_eq!(parse_long(text), want, "{text}");
        }
    }
}
