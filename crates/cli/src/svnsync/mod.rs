//! `svnsync`: keeps a repository the mirror of another. One file a subcommand; the tables, and
//! what the subcommands have in common, are here.
//!
//! All state is in properties of the mirror's revision 0, so that a run that was interrupted
//! anywhere can be taken up again by whichever program comes next.

mod copy_revprops;
mod editor;
mod info;
mod initialize;
mod properties;
mod synchronize;

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult};
use sapwood_ra::{Capability, RevpropChange, Session, Settings};

use crate::command::{
    HELP, HELP_MARK, Invocation, OptionSpec, Options, Program, RA_MODULES, Run, Subcommand,
    VERSION, take_revision, to_text, usage_error,
};
use crate::remote::oplock::{OperationalLock, Told};
use crate::remote::target::canonical_url;
use crate::remote::{self, Credentials, Manner};
use crate::revision::RevisionSpec;
use crate::{repo, report};

/// What all properties of svnsync's own begin with.
pub(super) const PREFIX: &str = "svn:sync-";
/// The URL that is mirrored.
pub(super) const FROM_URL: &str = "svn:sync-from-url";
/// The UUID of its repository.
pub(super) const FROM_UUID: &str = "svn:sync-from-uuid";
/// The last revision that is there whole.
pub(super) const LAST_MERGED: &str = "svn:sync-last-merged-rev";
/// The revision that is being copied.
pub(super) const COPYING: &str = "svn:sync-currently-copying";
/// Who is at work.
const LOCK: &str = "svn:sync-lock";

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNSYNC.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNSYNC.manual()
}

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::flag("quiet", Some('q'), "print as little as possible"),
    OptionSpec::value("revision", Some('r'), "the revision ARG, or a range ARG1:ARG2; 'HEAD'"),
    OptionSpec::flag("allow-non-empty", None, "the mirror may have revisions already"),
    OptionSpec::flag("skip-unchanged", None, "leave properties alone that are the same already"),
    remote::NON_INTERACTIVE,
    remote::FORCE_INTERACTIVE,
    remote::NO_AUTH_CACHE,
    OptionSpec::value("username", None, "old form of --source-username and --sync-username"),
    OptionSpec::value("password", None, "old form of --source-password and --sync-password"),
    remote::TRUST_SERVER_CERT,
    OptionSpec::value(
        "source-trust-server-cert-failures",
        None,
        "take certificates of the source that fail in the\n                             \
         ways that ARG lists with commas",
    ),
    OptionSpec::value("sync-trust-server-cert-failures", None, "the same of the mirror"),
    OptionSpec::value("source-username", None, "log in to the source as ARG"),
    OptionSpec::value("source-password", None, "log in to the source with the password ARG"),
    OptionSpec::value("sync-username", None, "log in to the mirror as ARG"),
    OptionSpec::value("sync-password", None, "log in to the mirror with the password ARG"),
    remote::CONFIG_DIR,
    remote::CONFIG_OPTION,
    OptionSpec::value(
        "source-prop-encoding",
        None,
        "properties of the source are text in the encoding\n                             \
         ARG, not in UTF-8",
    ),
    OptionSpec::flag(
        "disable-locking",
        None,
        "do not lock the mirror: only safe when no other\n                             \
         svnsync can run on it",
    ),
    OptionSpec::flag(
        "steal-lock",
        None,
        "take the lock from whoever has it: only safe when\n                             \
         it was left behind",
    ),
    OptionSpec::value("memory-cache-size", Some('M'), "megabytes of memory for caches"),
    VERSION,
    HELP,
    HELP_MARK,
];

const DEFAULT: [&str; 13] = [
    "non-interactive",
    "force-interactive",
    "no-auth-cache",
    "username",
    "password",
    "trust-server-cert",
    "source-trust-server-cert-failures",
    "sync-trust-server-cert-failures",
    "source-username",
    "source-password",
    "sync-username",
    "sync-password",
    "config-dir",
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
        Subcommand {
            name: "initialize",
            aliases: &["init"],
            help: "usage: svnsync initialize DEST_URL SOURCE_URL\n\n\
                 Make DEST_URL, the root of a repository, the mirror of SOURCE_URL, a repository\n\
                 or a part of one.  DEST_URL must allow changes of revision properties and have\n\
                 no revisions; with --allow-non-empty, those that it has must be the source's.\n\
                 From then on, nobody but svnsync should commit to it.\n",
            options: &[
                "config-option",
                "source-prop-encoding",
                "quiet",
                "allow-non-empty",
                "disable-locking",
                "steal-lock",
                "memory-cache-size",
            ],
            overrides: &[],
            run: Run::Arguments(initialize::run),
        },
        Subcommand {
            name: "synchronize",
            aliases: &["sync"],
            help: "usage: svnsync synchronize DEST_URL [SOURCE_URL]\n\n\
                 Copy all new revisions from the source to the mirror.  SOURCE_URL is where the\n\
                 source is now, when that is not where the mirror believes it to be.\n",
            options: &[
                "config-option",
                "source-prop-encoding",
                "quiet",
                "disable-locking",
                "steal-lock",
                "memory-cache-size",
            ],
            overrides: &[],
            run: Run::Arguments(synchronize::run),
        },
        Subcommand {
            name: "copy-revprops",
            aliases: &[],
            help: "usage: 1. svnsync copy-revprops DEST_URL [SOURCE_URL]\n       \
                 2. svnsync copy-revprops DEST_URL REV[:REV2]\n\n\
                 Copy the revision properties of revisions (-r; else of all) once more from the\n\
                 source to the mirror.  The second form is old, and the same as -r.\n",
            options: &[
                "config-option",
                "source-prop-encoding",
                "quiet",
                "revision",
                "disable-locking",
                "steal-lock",
                "skip-unchanged",
                "memory-cache-size",
            ],
            overrides: &[],
            run: Run::Arguments(copy_revprops::run),
        },
        Subcommand {
            name: "info",
            aliases: &[],
            help: "usage: svnsync info DEST_URL\n\nSay what DEST_URL is a mirror of.\n",
            options: &["config-option"],
            overrides: &[],
            run: Run::Arguments(info::run),
        },
        Subcommand {
            name: "help",
            aliases: &["?", "h"],
            help: "usage: svnsync help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
            options: &[],
            overrides: &[],
            run: Run::Help,
        },
    ],
    ..Program::DEFAULT
};

/// The error for mirrors that are not as they should be.
pub(super) fn invalid(text: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::EINVAL, text)
}

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
    if spec.long == "revision" && !(allowed(range.start) && allowed(range.end)) {
        return Err(usage_error(format!("Invalid revision range '{}' provided", to_text(value)?)));
    }
    Ok(())
}

fn check(options: &Options) -> SvnResult<()> {
    let any = |names: &[&str]| names.iter().any(|name| options.has(name));
    if any(&["username", "password"])
        && any(&["source-username", "source-password", "sync-username", "sync-password"])
    {
        return Err(usage_error(
            "Cannot use --username or --password with any of --source-username, \
             --source-password, --sync-username, or --sync-password.\n",
        ));
    }
    if any(&["steal-lock"]) && any(&["disable-locking"]) {
        return Err(usage_error("--disable-locking and --steal-lock are mutually exclusive"));
    }
    remote::check_questions(options)?;
    if any(&[
        "trust-server-cert",
        "source-trust-server-cert-failures",
        "sync-trust-server-cert-failures",
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

/// How to reach one of the two sides.
fn settings(options: &Options, side: &str) -> SvnResult<Settings> {
    let value = |what: &str| {
        let own = options.value(&format!("{side}-{what}"))?;
        Ok::<_, SvnError>(match own {
            Some(value) => Some(value),
            None => options.value(what)?,
        })
    };
    let credentials = Credentials {
        username: value("username")?,
        password: value("password")?,
        trust: remote::trusted(options, &format!("{side}-"))?,
    };
    remote::settings(options, credentials, MANNER)
}

/// A URL argument.
pub(super) fn url_argument(text: &str) -> SvnResult<String> {
    if !repo::is_url(text) {
        return Err(usage_error(format!("Path '{text}' is not a URL")));
    }
    canonical_url(text)
}

/// Opens the mirror, whose root the URL must be.
pub(super) fn open_mirror(invocation: &Invocation<'_>, url: &str) -> SvnResult<Box<dyn Session>> {
    let session = sapwood_ra::open(url, &settings(&invocation.options, "sync")?)?;
    let root = session.root_url();
    if url != root {
        return Err(invalid(format!(
            "Session is rooted at '{url}' but the repos root is '{root}'"
        )));
    }
    Ok(session)
}

/// Opens a source at a URL.
pub(super) fn open_at(invocation: &Invocation<'_>, url: &str) -> SvnResult<Box<dyn Session>> {
    sapwood_ra::open(url, &settings(&invocation.options, "source")?)
}

/// The source of a mirror, at `url` or where the mirror says; also the last merged revision.
pub(super) fn open_source(
    invocation: &Invocation<'_>,
    mirror: &dyn Session,
    url: Option<&str>,
) -> SvnResult<(Box<dyn Session>, Revnum)> {
    let props = mirror.rev_proplist(Revnum::ZERO)?;
    let (Some(from_url), Some(uuid), Some(last)) =
        (props.get_str(FROM_URL), props.get_str(FROM_UUID), props.get(LAST_MERGED))
    else {
        return Err(invalid("Destination repository has not been initialized"));
    };
    let url = match url {
        Some(url) => url.to_owned(),
        None => canonical_url(from_url)?,
    };
    let source = open_at(invocation, &url)?;
    let is = source.uuid();
    if is != uuid {
        return Err(SvnError::new(
            ErrorCode::RA_UUID_MISMATCH,
            format!("Repository UUID '{is}' doesn't match expected UUID '{uuid}'"),
        ));
    }
    // Like the reference: whatever does not begin with a number counts as 0.
    let digits = last.iter().take_while(|b| b.is_ascii_digit()).count();
    let last = last.get(..digits).and_then(Revnum::parse).unwrap_or(Revnum::ZERO);
    Ok((source, last))
}

/// Does some work on a mirror, locked unless the options say otherwise.
pub(super) fn locked(
    invocation: &mut Invocation<'_>,
    mirror: &dyn Session,
    work: impl FnOnce(&mut Invocation<'_>) -> SvnResult<()>,
) -> SvnResult<()> {
    if invocation.options.has("disable-locking") {
        return work(invocation);
    }
    if !mirror.has_capability(Capability::AtomicRevprops)? {
        report::warning(
            &SvnError::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                "Target server does not support atomic revision property edits; consider \
                 upgrading it to 1.7 or using an external locking program",
            ),
            "svnsync: ",
        );
    }
    let steal = invocation.options.has("steal-lock");
    let out = &mut invocation.out;
    let lock = OperationalLock::take(mirror, LOCK, steal, &mut |told| {
        out.text(&match told {
            Told::HeldBy(holder) => {
                format!("Failed to get lock on destination repos, currently held by '{holder}'\n")
            }
            Told::StolenFrom(holder) => format!("Stole lock previously held by '{holder}'\n"),
        })?;
        out.flush()
    })?;
    lock.hold(|| work(invocation))
}

/// Sets a property of revision 0 of the mirror.
pub(super) fn set(mirror: &dyn Session, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
    mirror.change_rev_prop(&RevpropChange { revision: Revnum::ZERO, name, expected: None, value })
}

/// Writes properties of a revision, all but svnsync's own; `existing` are those that need not be
/// written again. Whether any were left out.
pub(super) fn write_props(
    mirror: &dyn Session,
    revision: Revnum,
    props: &PropList,
    existing: Option<&PropList>,
) -> SvnResult<bool> {
    let mut skipped = false;
    for (name, value) in props.iter() {
        if name.starts_with(PREFIX) {
            skipped = true;
            continue;
        }
        if existing.is_some_and(|existing| existing.get(name) == Some(value)) {
            continue;
        }
        mirror.change_rev_prop(&RevpropChange {
            revision,
            name,
            expected: None,
            value: Some(value),
        })?;
    }
    Ok(skipped)
}

/// Deletes properties that the source does not have.
pub(super) fn remove_props(
    mirror: &dyn Session,
    revision: Revnum,
    source: &PropList,
    existing: &PropList,
) -> SvnResult<()> {
    for (name, _) in existing.iter() {
        let own = revision == Revnum::ZERO && name.starts_with(PREFIX);
        if !own && source.get(name).is_none() {
            mirror.change_rev_prop(&RevpropChange {
                revision,
                name,
                expected: None,
                value: None,
            })?;
        }
    }
    Ok(())
}

/// Tells that a revision's properties were copied.
pub(super) fn tell_copied(
    invocation: &mut Invocation<'_>,
    revision: Revnum,
    skipped: bool,
) -> SvnResult<()> {
    if invocation.options.has("quiet") {
        return Ok(());
    }
    invocation.out.text(&if skipped {
        format!("Copied properties for revision {revision} ({PREFIX}* properties skipped).\n")
    } else {
        format!("Copied properties for revision {revision}.\n")
    })
}

/// Tells how many properties were normalized.
pub(super) fn tell_normalized(
    invocation: &mut Invocation<'_>,
    revprops: u64,
    node_props: u64,
) -> SvnResult<()> {
    if revprops == 0 && node_props == 0 {
        return Ok(());
    }
    invocation.out.text(&format!(
        "NOTE: Normalized svn:* properties to LF line endings ({revprops} rev-props, {node_props} \
         node-props).\n"
    ))
}

/// Copies all properties of one revision; with `all`, those that the source does not have go away. How many
/// were normalized.
pub(super) fn copy_props(
    invocation: &mut Invocation<'_>,
    source: &dyn Session,
    mirror: &dyn Session,
    revision: Revnum,
    all: bool,
) -> SvnResult<u64> {
    let existing = if all { mirror.rev_proplist(revision)? } else { PropList::new() };
    let mut props = source.rev_proplist(revision)?;
    let encoding = properties::Encoding::given(&invocation.options)?;
    let normalized = encoding.normalize(&mut props)?;
    let skip = all && invocation.options.has("skip-unchanged");
    let skipped = write_props(mirror, revision, &props, skip.then_some(&existing))?;
    if all {
        remove_props(mirror, revision, &props, &existing)?;
    }
    tell_copied(invocation, revision, skipped)?;
    Ok(normalized)
}
