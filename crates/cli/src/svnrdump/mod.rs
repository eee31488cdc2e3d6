//! `svnrdump`: dump streams out of, and into, repositories that are only reached by URL. One file
//! a subcommand; the table of options is here. The work is done by `sapwood_client::rdump`.

mod dump;
mod load;

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{Session, Settings};

use crate::command::{
    HELP, HELP_MARK, Invocation, OptionSpec, Options, Program, RA_MODULES, Subcommand, VERSION,
    name, take_revision, usage_error,
};
use crate::pegs::{Of, Part};
use crate::remote::target::any_canonical_url;
use crate::remote::{self, Credentials, Manner};
use crate::revision::RevisionSpec;
use crate::{repo, report};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNRDUMP.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNRDUMP.manual()
}

const OPTIONS: &[OptionSpec] = &[
    name::REVISION.value(Some('r'), "the revision ARG, or the revisions of a range X:Y"),
    name::QUIET.flag(Some('q'), "no progress, only errors"),
    name::INCREMENTAL.flag(None, "only what is new in the first revision"),
    name::SKIP_REVPROP.value(None, "leave out the revision property ARG"),
    remote::CONFIG_DIR,
    remote::USERNAME,
    remote::PASSWORD,
    remote::PASSWORD_FROM_STDIN,
    remote::NON_INTERACTIVE,
    remote::FORCE_INTERACTIVE,
    remote::NO_AUTH_CACHE,
    HELP,
    HELP_MARK,
    VERSION,
    remote::CONFIG_OPTION,
    remote::TRUST_SERVER_CERT,
    remote::TRUST_SERVER_CERT_FAILURES,
    name::FILE.value(Some('F'), "use the file ARG, not stdin or stdout"),
];

static SVNRDUMP: Program = Program {
    name: "svnrdump",
    modules: RA_MODULES,
    help_header: "general usage: svnrdump SUBCOMMAND URL [-r LOWER[:UPPER]]\n\
        Dumps and loads repositories over the network.\n\
        Type 'svnrdump help <subcommand>' for help on a specific subcommand.\n\
        Type 'svnrdump --version' to see the program version and RA modules.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    global_options: &[
        name::CONFIG_DIR,
        name::CONFIG_OPTION,
        name::USERNAME,
        name::PASSWORD,
        name::PASSWORD_FROM_STDIN,
        name::TRUST_SERVER_CERT,
        name::TRUST_SERVER_CERT_FAILURES,
        name::NON_INTERACTIVE,
        name::FORCE_INTERACTIVE,
        name::NO_AUTH_CACHE,
    ],
    take: take_revision,
    check: |options| remote::check(options, options.has(name::NON_INTERACTIVE)),
    suggest_help: |_| false,
    subcommands: &[
        dump::COMMAND,
        load::COMMAND,
        Subcommand::help(
            "usage: svnrdump help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
        ),
    ],
    ..Program::DEFAULT
};

/// Opens the session that the one argument names; also how to open more. With `looks_for_terminal`
/// nothing is asked when standard input is no terminal.
fn open(
    invocation: &mut Invocation<'_>,
    looks_for_terminal: bool,
) -> SvnResult<(Box<dyn Session>, Settings)> {
    let args = invocation.take_args(0, usize::MAX)?;
    if args.len() != 1 {
        report::stderr("Type 'svnrdump help' for usage.\n");
        // Everything is printed; this code is the one that is not reported again.
        return Err(SvnError::new(ErrorCode::IO_PIPE_WRITE_ERROR, ""));
    }
    let text = args.first().map_or("", String::as_str);
    if !repo::is_url(text) {
        return Err(usage_error(format!("Target '{text}' is not a URL")));
    }
    let url = any_canonical_url(&Of::all("svnrdump", Part::Target).whole(text)?)?;
    let credentials = Credentials::from_options(&invocation.options)?;
    let manner = Manner {
        prefix: "svnrdump: ",
        makes_folder: true,
        looks_for_terminal,
        unreadable: crate::remote::config::Unreadable::Fails,
    };
    let settings = remote::settings(&invocation.options, credentials, manner)?;
    Ok((sapwood_ra::open(&url, &settings)?, settings))
}

/// The requested range.
fn range(options: &Options, latest: Revnum) -> SvnResult<(Revnum, Revnum)> {
    let unsupported =
        || usage_error("Unsupported revision specifier used; use only integer values or 'HEAD'");
    let exists = |revision: Revnum| {
        if revision > latest {
            return Err(usage_error(format!("Revision '{revision}' does not exist")));
        }
        Ok(revision)
    };
    let given = options.revision;
    let start = match given.start {
        RevisionSpec::Number(revision) => revision,
        RevisionSpec::Head => latest,
        RevisionSpec::Unspecified => Revnum::ZERO,
        _ => return Err(unsupported()),
    };
    let start = exists(start)?;
    let end = match (given.end, given.start) {
        (RevisionSpec::Number(revision), _) => revision,
        (RevisionSpec::Unspecified, RevisionSpec::Number(revision)) => revision,
        (RevisionSpec::Head | RevisionSpec::Unspecified, _) => latest,
        _ => return Err(unsupported()),
    };
    let end = exists(end)?;
    if end < start {
        return Err(usage_error(
            "LOWER revision cannot be greater than UPPER revision; consider reversing your \
             revision range",
        ));
    }
    Ok((start, end))
}
