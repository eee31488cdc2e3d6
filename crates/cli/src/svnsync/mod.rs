//! `svnsync`: keeps a repository the mirror of another. One file a subcommand; the table of options, and what
//! the subcommands have in common, are here. The work is done by `sapwood_client::mirror`.

mod copy_revprops;
mod info;
mod initialize;
mod synchronize;

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_client::mirror::{self, Encoding, Event, LockNotice, Mirror, PREFIX};
use sapwood_core::paths::{Url, UrlBuf};
use sapwood_core::{SvnError, SvnResult};
use sapwood_ra::{Session, Settings};

use crate::command::{
    HELP, HELP_MARK, Invocation, Name, OptionSpec, Options, Program, RA_MODULES, Subcommand,
    VERSION, name, take_revision, to_text, usage_error,
};
use crate::output::Output;
use crate::pegs::{Of, Part};
use crate::remote::target::canonical_url;
use crate::remote::{self, Credentials, Manner};
use crate::revision::RevisionSpec;
use crate::{repo, report};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNSYNC.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNSYNC.manual()
}

const OPTIONS: &[OptionSpec] = &[
    name::QUIET.flag(Some('q'), "print as little as possible"),
    name::REVISION.value(Some('r'), "the revision ARG, or a range ARG1:ARG2; 'HEAD'"),
    name::ALLOW_NON_EMPTY.flag(None, "the mirror may have revisions already"),
    name::SKIP_UNCHANGED.flag(None, "leave properties alone that are the same already"),
    remote::NON_INTERACTIVE,
    remote::FORCE_INTERACTIVE,
    remote::NO_AUTH_CACHE,
    name::USERNAME.value(None, "old form of --source-username and --sync-username"),
    name::PASSWORD.value(None, "old form of --source-password and --sync-password"),
    remote::TRUST_SERVER_CERT,
    name::SOURCE_TRUST_SERVER_CERT_FAILURES.value(
        None,
        "take certificates of the source that fail in the\n                             \
         ways that ARG lists with commas",
    ),
    name::SYNC_TRUST_SERVER_CERT_FAILURES.value(None, "the same of the mirror"),
    name::SOURCE_USERNAME.value(None, "log in to the source as ARG"),
    name::SOURCE_PASSWORD.value(None, "log in to the source with the password ARG"),
    name::SYNC_USERNAME.value(None, "log in to the mirror as ARG"),
    name::SYNC_PASSWORD.value(None, "log in to the mirror with the password ARG"),
    remote::CONFIG_DIR,
    remote::CONFIG_OPTION,
    name::SOURCE_PROP_ENCODING.value(
        None,
        "properties of the source are text in the encoding\n                             \
         ARG, not in UTF-8",
    ),
    name::DISABLE_LOCKING.flag(
        None,
        "do not lock the mirror: only safe when no other\n                             \
         svnsync can run on it",
    ),
    name::STEAL_LOCK.flag(
        None,
        "take the lock from whoever has it: only safe when\n                             \
         it was left behind",
    ),
    name::MEMORY_CACHE_SIZE.value(Some('M'), "megabytes of memory for caches"),
    VERSION,
    HELP,
    HELP_MARK,
];

const DEFAULT: [Name; 13] = [
    name::NON_INTERACTIVE,
    name::FORCE_INTERACTIVE,
    name::NO_AUTH_CACHE,
    name::USERNAME,
    name::PASSWORD,
    name::TRUST_SERVER_CERT,
    name::SOURCE_TRUST_SERVER_CERT_FAILURES,
    name::SYNC_TRUST_SERVER_CERT_FAILURES,
    name::SOURCE_USERNAME,
    name::SOURCE_PASSWORD,
    name::SYNC_USERNAME,
    name::SYNC_PASSWORD,
    name::CONFIG_DIR,
];

static SVNSYNC: Program = Program {
    name: "svnsync",
    modules: RA_MODULES,
    help_header: "general usage: svnsync SUBCOMMAND DEST_URL  [ARGS & OPTIONS ...]\n\
        Makes a repository the mirror of another, and keeps it so.\n\
        Type 'svnsync help <subcommand>' for help on a specific subcommand.\n\
        Type 'svnsync --version' to see the program version and RA modules.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    global_options: &DEFAULT,
    take,
    check,
    misuse_is_error: true,
    subcommands: &[
        initialize::COMMAND,
        synchronize::COMMAND,
        copy_revprops::COMMAND,
        info::COMMAND,
        Subcommand::help(
            "usage: svnsync help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
        ),
    ],
    ..Program::DEFAULT
};

fn take(
    options: &mut Options,
    spec: &'static OptionSpec,
    value: Option<&OsString>,
) -> SvnResult<()> {
    take_revision(options, spec, value)?;
    let Some(value) = value else { return Ok(()) };
    if spec.long.ends_with("trust-server-cert-failures") {
        remote::failures(&to_text(value)?)?;
    }
    let range = options.revision;
    let allowed = |end| {
        matches!(end, RevisionSpec::Number(_) | RevisionSpec::Head | RevisionSpec::Unspecified)
    };
    if spec.name() == name::REVISION && !(allowed(range.start) && allowed(range.end)) {
        return Err(usage_error(format!("Invalid revision range '{}' provided", to_text(value)?)));
    }
    Ok(())
}

fn check(options: &Options) -> SvnResult<()> {
    let any = |names: &[Name]| names.iter().any(|name| options.has(*name));
    if any(&[name::USERNAME, name::PASSWORD])
        && any(&[
            name::SOURCE_USERNAME,
            name::SOURCE_PASSWORD,
            name::SYNC_USERNAME,
            name::SYNC_PASSWORD,
        ])
    {
        return Err(usage_error(
            "Cannot use --username or --password with any of --source-username, \
             --source-password, --sync-username, or --sync-password.\n",
        ));
    }
    if any(&[name::STEAL_LOCK]) && any(&[name::DISABLE_LOCKING]) {
        return Err(usage_error("--disable-locking and --steal-lock are mutually exclusive"));
    }
    remote::check_questions(options)?;
    if any(&[
        name::TRUST_SERVER_CERT,
        name::SOURCE_TRUST_SERVER_CERT_FAILURES,
        name::SYNC_TRUST_SERVER_CERT_FAILURES,
    ]) && !remote::is_non_interactive(options, MANNER)
    {
        return Err(usage_error(
            "--source-trust-server-cert-failures and --sync-trust-server-cert-failures require \
             --non-interactive",
        ));
    }
    Ok(())
}

const MANNER: Manner = Manner {
    prefix: "svnsync: ",
    makes_folder: true,
    looks_for_terminal: true,
    unreadable: crate::remote::config::Unreadable::Fails,
};

/// The options that say how one of the two sides is reached.
struct Side {
    username: Name,
    password: Name,
    trust: Name,
}

const SOURCE: Side = Side {
    username: name::SOURCE_USERNAME,
    password: name::SOURCE_PASSWORD,
    trust: name::SOURCE_TRUST_SERVER_CERT_FAILURES,
};
const MIRROR: Side = Side {
    username: name::SYNC_USERNAME,
    password: name::SYNC_PASSWORD,
    trust: name::SYNC_TRUST_SERVER_CERT_FAILURES,
};

/// How to reach one of the two sides.
fn settings(options: &Options, side: &Side) -> SvnResult<Settings> {
    let value = |own: Name, both: Name| {
        let own = options.value(own)?;
        Ok::<_, SvnError>(match own {
            Some(value) => Some(value),
            None => options.value(both)?,
        })
    };
    let credentials = Credentials {
        username: value(side.username, name::USERNAME)?,
        password: value(side.password, name::PASSWORD)?,
        trust: remote::trusted(options, side.trust)?,
    };
    remote::settings(options, credentials, MANNER)
}

/// A URL argument.
pub(super) fn url_argument(text: &str) -> SvnResult<UrlBuf> {
    let text = &Of::all("svnsync", Part::Target).whole_canonical(text)?;
    if !repo::is_url(text) {
        return Err(usage_error(format!("Path '{text}' is not a URL")));
    }
    canonical_url(text)
}

/// Opens the mirror, whose root the URL must be.
fn open_mirror(invocation: &Invocation<'_>, url: &Url) -> SvnResult<Box<dyn Session>> {
    mirror::open(url, &settings(&invocation.options, &MIRROR)?)
}

/// Does some work on a mirror, and prints what happens.
fn on_mirror(
    invocation: &mut Invocation<'_>,
    url: &Url,
    work: impl FnOnce(&mut Mirror<'_>) -> SvnResult<()>,
) -> SvnResult<()> {
    let session = open_mirror(invocation, url)?;
    let options = &invocation.options;
    let locks = !options.has(name::DISABLE_LOCKING);
    let encoding = options.value(name::SOURCE_PROP_ENCODING)?;
    let locking = locks.then(|| remote::locking::locking(options.has(name::STEAL_LOCK)));
    let locking = locking.transpose()?;
    let out = &mut invocation.out;
    let quiet = options.has(name::QUIET);
    work(&mut Mirror {
        session: session.as_ref(),
        open_source: &|url| sapwood_ra::open(url, &settings(options, &SOURCE)?),
        encoding: encoding.map_or(Encoding::Utf8, |name| Encoding::named(&name)),
        skip_unchanged: options.has(name::SKIP_UNCHANGED),
        locking,
        cancel: crate::signals::cancel_token(),
        notify: &mut |event| print_event(out, quiet, event),
    })
}

/// Prints what happens, in the reference's words.
fn print_event(out: &mut Output, quiet: bool, event: Event<'_>) -> SvnResult<()> {
    match event {
        Event::LocksAreWeak(warning) => {
            report::warning(warning, "svnsync: ");
            Ok(())
        }
        Event::Lock(notice) => {
            out.text(&match notice {
                LockNotice::HeldBy(holder) => format!(
                    "Failed to get lock on destination repos, currently held by '{holder}'\n"
                ),
                LockNotice::StolenFrom(holder) => {
                    format!("Stole lock previously held by '{holder}'\n")
                }
            })?;
            out.flush()
        }
        Event::Normalized(revprops, node_props) => out.text(&format!(
            "NOTE: Normalized svn:* properties to LF line endings ({revprops} rev-props, \
             {node_props} node-props).\n"
        )),
        _ if quiet => Ok(()),
        Event::Text(first) => out.text(if first { "Transmitting file data ." } else { "." }),
        Event::TextsSent => out.text("\n"),
        Event::MergeinfoAdjusted => {
            out.text("NOTE: Adjusted Subversion mergeinfo in this revision.\n")
        }
        Event::Closing => out.flush(),
        Event::Committed(revision) => out.text(&format!("Committed revision {revision}.\n")),
        Event::PropsCopied(revision, true) => out.text(&format!(
            "Copied properties for revision {revision} ({PREFIX}* properties skipped).\n"
        )),
        Event::PropsCopied(revision, false) => {
            out.text(&format!("Copied properties for revision {revision}.\n"))
        }
    }
}
