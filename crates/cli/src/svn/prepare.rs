//! What a subcommand runs with: the configuration, as options and the environment change it, and where its words go.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sapwood_client::Context;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::given::Options;
use super::notify::Notifier;
use super::option_checks::choose_conflicts;
use super::options::Opt;
use super::out::Out;
use super::{Command, Invocation, MANNER, diff3, logmsg};
use crate::remote::{self, Credentials};

/// Set to `yes`, operations do not wait until the clock of the file system has moved on. A change that
/// follows at once may then be missed.
const NO_WAIT: &str = "SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS";
/// With `yes` in it a relocation is not compared with the server: tests want URLs that lead nowhere.
const NO_CHECK: &str = "SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_RELOCATE_VALIDATION";

/// Reads the configuration and makes the context.
pub(super) fn prepare(
    command: &'static Command,
    mut opt: Options,
    args: VecDeque<OsString>,
) -> SvnResult<Invocation> {
    let credentials = Credentials::from_options(&opt.session)?;
    let mut settings = remote::settings(&opt.session, credentials, MANNER)?;
    let config = Arc::make_mut(&mut settings.config);
    let exclusive = config.get("working-copy", "exclusive-locking-clients");
    if exclusive.is_some_and(|names| names.split([' ', ',']).any(|name| name == "svn")) {
        config.set("working-copy", "exclusive-locking", b"true");
    }
    for (section, name, value) in [
        ("helpers", "diff-cmd", opt.diff_cmd.as_deref()),
        ("helpers", "diff3-cmd", opt.diff3_cmd.as_deref()),
    ] {
        if let Some(value) = value {
            config.set(section, name, value.as_encoded_bytes());
        }
    }
    if opt.has(Opt::AutoProps) && opt.has(Opt::NoAutoProps) {
        return Err(SvnError::new(
            ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "--auto-props and --no-auto-props are mutually exclusive",
        ));
    }
    if opt.has(Opt::AutoProps) || opt.has(Opt::NoAutoProps) {
        let value: &[u8] = if opt.has(Opt::AutoProps) { b"yes" } else { b"no" };
        config.set("miscellany", "enable-auto-props", value);
    }
    if opt.has(Opt::NoUnlock) {
        config.set("miscellany", "no-unlock", b"yes");
    }
    let interactive_conflicts = config.get_bool("miscellany", "interactive-conflicts", true)?;
    choose_conflicts(command, &mut opt, interactive_conflicts)?;
    let out = Out::stdout();
    let notifier = Rc::new(Notifier::new(out.clone()));
    let here =
        std::env::current_dir().map_err(|e| SvnError::io(&e, "Can't get working directory"))?;
    let mut ctx = Context::new(settings, here);
    ctx.wc = working_copy_options(&ctx)?;
    ctx.relocates_unchecked = std::env::var_os(NO_CHECK).is_some_and(|value| value == "yes");
    ctx.merge_text = diff3::program(ctx.config());
    if !opt.has(Opt::ForceLog) && command.name != "propset" {
        logmsg::check_source(&ctx, command, &opt)?;
    }
    let silent = match command.name {
        "status" => opt.has(Opt::Quiet) && !opt.has(Opt::Verbose),
        _ => opt.has(Opt::Quiet),
    } || opt.has(Opt::Xml);
    let printer = Rc::clone(&notifier);
    ctx.notify = Some(if silent {
        Rc::new(move |value| printer.count_only(value))
    } else {
        Rc::new(move |value| printer.print(value))
    });
    Ok(Invocation { command, opt, args, out, ctx, notifier, messages: None })
}

/// The configuration of working copies.
fn working_copy_options(ctx: &Context) -> SvnResult<sapwood_wc::Options> {
    let config = ctx.config();
    let extensions = config.get("miscellany", "preserved-conflict-file-exts");
    let extensions = extensions.unwrap_or_default();
    let timeout = config.get_i64("working-copy", "busy-timeout", 10_000)?;
    let no_wait = std::env::var_os(NO_WAIT).is_some_and(|value| value == "yes");
    Ok(sapwood_wc::Options {
        wait_for_tick: !no_wait,
        recorded: sapwood_wc::clock::RecordedTimes::default(),
        access: sapwood_wc::db::Access {
            exclusive: config.get_bool("working-copy", "exclusive-locking", false)?,
            busy_timeout: Duration::from_millis(u64::try_from(timeout).unwrap_or(0)),
        },
        use_commit_times: config.get_bool("miscellany", "use-commit-times", false)?,
        preserved_extensions: extensions
            .split([' ', ',', '\n', '\r', '\t', '\u{b}'])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect(),
        zone: crate::user_date::zone(),
        monitor: Some(crate::watch::socket()),
        meter: sapwood_core::Meter::default(),
    })
}
