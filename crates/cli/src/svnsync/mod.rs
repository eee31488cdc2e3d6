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
    HELP, HELP_MARK, Invocation, Name, OptionSpec, Options, Program, RA_MODULES, Subcommand,
    VERSION, name, take_revision, to_text, usage_error,
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
pub(super) fn url_argument(text: &str) -> SvnResult<String> {
    if !repo::is_url(text) {
        return Err(usage_error(format!("Path '{text}' is not a URL")));
    }
    canonical_url(text)
}

/// Opens the mirror, whose root the URL must be.
pub(super) fn open_mirror(invocation: &Invocation<'_>, url: &str) -> SvnResult<Box<dyn Session>> {
    let session = sapwood_ra::open(url, &settings(&invocation.options, &MIRROR)?)?;
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
    sapwood_ra::open(url, &settings(&invocation.options, &SOURCE)?)
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
    if invocation.options.has(name::DISABLE_LOCKING) {
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
    let steal = invocation.options.has(name::STEAL_LOCK);
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
    if invocation.options.has(name::QUIET) {
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
    let skip = all && invocation.options.has(name::SKIP_UNCHANGED);
    let skipped = write_props(mirror, revision, &props, skip.then_some(&existing))?;
    if all {
        remove_props(mirror, revision, &props, &existing)?;
    }
    tell_copied(invocation, revision, skipped)?;
    Ok(normalized)
}
