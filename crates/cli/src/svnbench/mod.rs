//! `svnbench`: does what a client does, discards the results, and prints how long it took. One
//! file a subcommand; the tables are here.

mod null_blame;
mod null_export;
mod null_info;
mod null_list;
mod null_log;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use sapwood_client::Context;
use sapwood_client::open::{number_at, session_at};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{Session, Settings};

use crate::arguments::{parse_changes, parse_depth, parse_limit};
use crate::command::{
    HELP, HELP_MARK, Invocation, OptionSpec, Options, Program, RA_MODULES, Subcommand, VERSION,
    name, plain_text, usage_error,
};
use crate::pegs::{Of, Part};
use crate::remote::target::{LocatedSession, Target, locate, number_of};
use crate::remote::{self, Credentials, Manner, grouped};
use crate::revision::{RevisionRange, RevisionSpec};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNBENCH.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNBENCH.manual()
}

const OPTIONS: &[OptionSpec] = &[
    HELP,
    HELP_MARK,
    name::QUIET.flag(Some('q'), "print nothing, or only a summary"),
    name::RECURSIVE.flag(Some('R'), "everything below, same as --depth=infinity"),
    name::NON_RECURSIVE.flag(Some('N'), "old; same as --depth=files"),
    name::CHANGE.value(
        Some('c'),
        "the change of revision ARG, like -r ARG-1:ARG;\n                             \
         of -ARG: backwards; of ARG1-ARG2: both and between",
    ),
    name::REVISION.value(
        Some('r'),
        "the revision ARG, or a range ARG1:ARG2, each of:\n                             \
         a number, '{' DATE '}', 'HEAD'",
    ),
    VERSION,
    name::VERBOSE.flag(Some('v'), "ask for more"),
    remote::USERNAME,
    remote::PASSWORD,
    remote::PASSWORD_FROM_STDIN,
    name::TARGETS.value(None, "take more arguments from the file ARG"),
    name::DEPTH.value(None, "how deep: 'empty', 'files', 'immediates', 'infinity'"),
    name::STRICT.flag(None, "accepted and ignored"),
    name::STOP_ON_COPY.flag(None, "do not go on beyond copies"),
    remote::NO_AUTH_CACHE,
    remote::TRUST_SERVER_CERT,
    remote::TRUST_SERVER_CERT_FAILURES,
    remote::NON_INTERACTIVE,
    remote::CONFIG_DIR,
    remote::CONFIG_OPTION,
    name::LIMIT.value(Some('l'), "at most ARG log entries"),
    name::WITH_ALL_REVPROPS.flag(None, "ask for all revision properties"),
    name::WITH_NO_REVPROPS.flag(None, "ask for no revision properties"),
    name::WITH_REVPROP.value(None, "ask for the revision property ARG"),
    name::USE_MERGE_HISTORY.flag(Some('g'), "ask for merged revisions too"),
    name::SEARCH.value(None, "only names that match the pattern ARG"),
];

const HELP_FIRST: &str = "usage: svnbench <subcommand> [options] [args]\n\
    Times what a Subversion server does.\n\
    Type 'svnbench help <subcommand>' for help on a specific subcommand.\n\
    Type 'svnbench --version' to see the program version and RA modules\n  \
    or 'svnbench --version --quiet' to see just the version number.\n\
    \n\
    Most subcommands take URLs. What they ask for is thrown away.\n\
    \n\
    Available subcommands:\n";

static SVNBENCH: Program = Program {
    name: "svnbench",
    modules: RA_MODULES,
    help_header: HELP_FIRST,
    options: OPTIONS,
    global_options: remote::GLOBAL_WITHOUT_FORCE,
    hint_names_subcommand: true,
    version_options: &[name::QUIET, name::VERBOSE, name::CONFIG_DIR],
    no_subcommand: "Subcommand argument required",
    take: take_option,
    check,
    subcommands: &[
        Subcommand::help(
            "usage: svnbench help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
        ),
        null_blame::COMMAND,
        null_export::COMMAND,
        null_list::COMMAND,
        null_log::COMMAND,
        null_info::COMMAND,
    ],
    ..Program::DEFAULT
};

/// Checks an option as it is parsed: an invalid value is reported before anything else.
fn take_option(
    _: &mut Options,
    spec: &'static OptionSpec,
    value: Option<&OsString>,
) -> SvnResult<()> {
    let Some(value) = value else { return Ok(()) };
    match spec.name() {
        name::REVISION => parse_range(&plain_text(value)?).map(|_| ()),
        name::CHANGE => parse_changes(&plain_text(value)?).map(|_| ()),
        name::LIMIT => parse_limit(&plain_text(value)?).map(|_| ()),
        name::DEPTH => parse_depth(&plain_text(value)?).map(|_| ()),
        _ => Ok(()),
    }
}

fn check(options: &Options) -> SvnResult<()> {
    for other in [name::WITH_ALL_REVPROPS, name::WITH_REVPROP] {
        if options.has(other) && options.has(name::WITH_NO_REVPROPS) {
            return Err(usage_error(format!(
                "--{other} and --with-no-revprops are mutually exclusive"
            )));
        }
    }
    remote::check(options, options.has(name::NON_INTERACTIVE))
}

fn parse_range(text: &str) -> SvnResult<RevisionRange> {
    let mut range = RevisionRange::default();
    range.take(text)?;
    Ok(range)
}

/// All ranges of `-r` and `-c`, in their order, and whether there was a `-c`.
fn ranges(options: &Options) -> SvnResult<(Vec<RevisionRange>, bool)> {
    let (mut all, mut changes) = (Vec::new(), false);
    for given in options.iter() {
        match given {
            (name::REVISION, Some(value)) => all.push(parse_range(&plain_text(value)?)?),
            (name::CHANGE, Some(value)) => {
                changes = true;
                all.extend(parse_changes(&plain_text(value)?)?);
            }
            _ => {}
        }
    }
    Ok((all, changes))
}

/// The one range that most subcommands take.
fn one_range(options: &Options) -> SvnResult<RevisionRange> {
    let (all, _) = ranges(options)?;
    if all.len() > 1 {
        return Err(usage_error(
            "Multiple revision arguments encountered; can't specify -c twice, or both -c and -r",
        ));
    }
    Ok(all.into_iter().next().unwrap_or_default())
}

/// The one revision that some subcommands take.
fn one_revision(options: &Options) -> SvnResult<RevisionSpec> {
    let range = one_range(options)?;
    if range.end != RevisionSpec::Unspecified {
        return Err(SvnError::new(ErrorCode::CLIENT_REVISION_RANGE, ""));
    }
    Ok(range.start)
}

/// The requested depth.
fn depth(options: &Options, otherwise: Depth) -> SvnResult<Depth> {
    if options.has(name::NON_RECURSIVE) {
        return Ok(Depth::Files);
    }
    let mut depth = otherwise;
    for given in options.iter() {
        match given {
            (name::RECURSIVE, _) => depth = Depth::Infinity,
            (name::DEPTH, Some(value)) => depth = parse_depth(&plain_text(value)?)?,
            _ => {}
        }
    }
    Ok(depth)
}

/// The arguments, with those of `--targets`; the current folder when there are none and
/// `implicit_dot`.
fn arguments(invocation: &mut Invocation<'_>, implicit_dot: bool) -> SvnResult<Vec<String>> {
    let mut all = invocation.take_args(0, usize::MAX)?;
    if let Some(path) = invocation.options.value(name::TARGETS)? {
        let text = crate::locale::decode(crate::input::contents(&path)?)?;
        all.extend(text.split(['\n', '\r']).filter(|line| !line.is_empty()).map(str::to_owned));
    }
    if all.is_empty() && implicit_dot {
        all.push(".".to_owned());
    }
    Ok(all)
}

fn targets(
    invocation: &mut Invocation<'_>,
    command: &'static str,
    implicit_dot: bool,
) -> SvnResult<Vec<Target>> {
    let of = Of { program: "svnbench", command, part: Part::Target };
    arguments(invocation, implicit_dot)?.iter().map(|text| of.pegged(text)).collect()
}

/// The context for looking up working copies of targets.
fn working_copies(settings: &Settings) -> SvnResult<Context> {
    let here =
        std::env::current_dir().map_err(|e| SvnError::io(&e, "Can't get working directory"))?;
    Ok(Context::new(settings.clone(), here))
}

/// Opens a session to a target as of `wanted`: a URL, or what a node of a working copy is in the
/// repository.
fn located(
    settings: &Settings,
    target: &Target,
    wanted: RevisionSpec,
) -> SvnResult<LocatedSession> {
    if target.is_url() {
        return locate(settings, target, wanted);
    }
    session_at(&working_copies(settings)?, &target.text, target.peg, wanted)
}

/// A revision of a target as a number.
fn number(
    settings: &Settings,
    session: &dyn Session,
    target: &Target,
    revision: RevisionSpec,
) -> SvnResult<Revnum> {
    if target.is_url() || !revision.needs_working_copy() {
        return number_of(session, revision);
    }
    number_at(&working_copies(settings)?, session, &target.text, revision)
}

/// Opens what a subcommand needs, runs it, and prints how long it took. `work` returns the number
/// of bytes that went over the network.
fn timed(
    invocation: &mut Invocation<'_>,
    work: impl FnOnce(&mut Invocation<'_>, &Settings) -> SvnResult<u64>,
) -> SvnResult<()> {
    let credentials = Credentials::from_options(&invocation.options)?;
    let manner = Manner {
        prefix: "svn: ",
        makes_folder: true,
        looks_for_terminal: false,
        unreadable: crate::remote::config::Unreadable::Warns,
    };
    let settings = remote::settings(&invocation.options, credentials, manner)?;
    let begun = Instant::now();
    let bytes = work(invocation, &settings)?;
    if invocation.options.has(name::QUIET) {
        return Ok(());
    }
    let seconds = begun.elapsed().as_secs_f64();
    invocation.out.text(&format!("{seconds:15.6} seconds taken\n"))?;
    if bytes > 0 {
        invocation.out.text(&format!("{:>15} bytes transferred over network\n", grouped(bytes)))?;
    }
    Ok(())
}

/// Prints lines of numbers, right-aligned as the reference has them.
fn table(invocation: &mut Invocation<'_>, rows: &[(u64, &str)]) -> SvnResult<()> {
    for (number, what) in rows {
        invocation.out.text(&format!("{:>15} {what}\n", grouped(*number)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes() {
        for (text, want) in [
            ("5", &[(4, 5)][..]),
            ("-5", &[(5, 4)]),
            ("r5,-r7", &[(4, 5), (7, 6)]),
            ("3-5", &[(2, 5)]),
            ("r5-r3", &[(5, 2)]),
        ] {
            let found: Vec<(u64, u64)> = parse_changes(text)
                .unwrap()
                .into_iter()
                .map(|range| match (range.start, range.end) {
                    (RevisionSpec::Number(a), RevisionSpec::Number(b)) => (a.0, b.0),
                    _ => (0, 0),
                })
                .collect();
            assert_eq!(found, want, "{text}");
        }
        for (text, words) in [
            ("0", "There is no change 0"),
            ("x", "Non-numeric change argument (x) given to -c"),
            ("-3-5", "Negative number in range (-3-5) not supported with -c"),
        ] {
            assert_eq!(parse_changes(text).unwrap_err().message(), words);
        }
        assert_eq!(parse_limit("0").unwrap_err().code(), ErrorCode::INCORRECT_PARAMS);
    }
}
