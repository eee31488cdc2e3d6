//! `svn`: the client. Here is the table of its subcommands and what they have in common; each
//! subcommand is a file of its own, with its options and help text beside its code.

mod add;
mod auth;
mod blame;
mod cat;
mod changelist;
mod checkout;
mod cleanup;
mod colour;
mod commit;
mod conflicts;
mod copy;
mod delete;
mod diff;
mod diff3;
mod experiments;
mod export;
mod external_merge;
mod given;
mod help;
mod import;
mod info;
mod list;
mod lock;
mod log;
mod logmsg;
mod merge;
mod merge_tool;
mod mergeinfo;
mod mkdir;
mod move_;
mod notify;
mod options;
mod out;
mod patch;
mod progress;
mod prop_tools;
mod propdel;
mod propedit;
mod propget;
mod proplist;
mod propset;
mod questions;
mod relocate;
mod resolve;
mod resolved;
mod revert;
mod shelves;
mod size;
mod status;
mod switch;
mod targets;
mod tree_options;
mod tree_questions;
mod tree_words;
mod unlock;
mod update;
mod upgrade;
mod usual;
mod x_shelf_diff;
mod x_shelf_drop;
mod x_shelf_list;
mod x_shelf_list_by_paths;
mod x_shelf_log;
mod x_shelf_save;
mod x_shelve;
mod x_unshelve;
mod x_wc_copy_mods;
mod xml_out;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sapwood_client::{Context, Range};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

pub(crate) use self::help::manual;

use self::given::{Accept, Options};
use self::notify::Notifier;
use self::options::{GLOBAL, Opt, SPECS};
use self::out::Out;
use self::progress::Progress;
use crate::command::{name, to_text, usage_error};
use crate::getopt::{Item, Parser};
use crate::remote::{self, Credentials};
use crate::report;

/// The number of revisions that a subcommand takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revisions {
    /// One `-r N`.
    One,
    /// One `-r N:M` or `-c N`.
    Range,
    /// Any number of ranges.
    Ranges,
}

/// One subcommand.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    /// First line, usage lines and explanation, ending in a newline.
    pub(crate) help: &'static str,
    /// The options it takes, in the order of its help.
    pub(crate) options: &'static [Opt],
    /// Options whose explanation differs for this subcommand.
    pub(crate) overrides: &'static [(Opt, &'static str)],
    pub(crate) revisions: Revisions,
    /// The meaning of `-N`.
    pub(crate) non_recursive: Depth,
    /// Whether a person may have to wait for many files.
    pub(crate) shows_progress: bool,
    pub(crate) run: fn(&mut Invocation) -> SvnResult<()>,
}

impl Command {
    /// The defaults of most subcommands.
    pub(crate) const DEFAULT: Self = Self {
        name: "",
        aliases: &[],
        help: "",
        options: &[],
        overrides: &[],
        revisions: Revisions::One,
        non_recursive: Depth::Files,
        shows_progress: false,
        run: not_there,
    };

    fn takes(&self, opt: Opt) -> bool {
        self.options.contains(&opt) || GLOBAL.contains(&opt)
    }
}

/// All subcommands, in the order that help lists them: one line each.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[Command] = &[
    add::COMMAND,
    auth::COMMAND,
    blame::COMMAND,
    cat::COMMAND,
    changelist::COMMAND,
    checkout::COMMAND,
    cleanup::COMMAND,
    commit::COMMAND,
    copy::COMMAND,
    delete::COMMAND,
    diff::COMMAND,
    export::COMMAND,
    help::COMMAND,
    import::COMMAND,
    info::COMMAND,
    list::COMMAND,
    lock::COMMAND,
    log::COMMAND,
    merge::COMMAND,
    mergeinfo::COMMAND,
    mkdir::COMMAND,
    move_::COMMAND,
    patch::COMMAND,
    propdel::COMMAND,
    propedit::COMMAND,
    propget::COMMAND,
    proplist::COMMAND,
    propset::COMMAND,
    relocate::COMMAND,
    resolve::COMMAND,
    resolved::COMMAND,
    revert::COMMAND,
    status::COMMAND,
    switch::COMMAND,
    unlock::COMMAND,
    update::COMMAND,
    upgrade::COMMAND,
];

/// The options of `--version` without a subcommand.
static VERSION: Command = Command {
    name: "--version",
    options: &[Opt::Version, Opt::Quiet, Opt::Verbose],
    run: help::COMMAND.run,
    ..Command::DEFAULT
};

/// The subcommand of this name or alias.
fn find(name: &str) -> Option<&'static Command> {
    let mut all = COMMANDS.iter().chain(experiments::commands());
    all.find(|c| c.name == name || c.aliases.contains(&name))
}

/// The action of a subcommand that is in the table but has no code yet.
fn not_there(invocation: &mut Invocation) -> SvnResult<()> {
    Err(not_yet(invocation.command.name))
}

/// The error for a subcommand or an option of one whose code is not there: it is never passed over.
fn not_yet(what: &str) -> SvnError {
    SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, format!("This svn cannot do '{what}' yet"))
}

/// One run of a subcommand.
pub(crate) struct Invocation {
    pub(crate) command: &'static Command,
    pub(crate) opt: Options,
    /// The arguments that are left.
    pub(crate) args: VecDeque<OsString>,
    pub(crate) out: Out,
    pub(crate) ctx: Context,
    /// Prints the notifications of operations; reached through the context.
    pub(crate) notifier: Rc<Notifier>,
    /// Writes the log message; there after [`Invocation::ask_for_message`].
    messages: Option<Rc<logmsg::Messages>>,
}

/// How a run ended without an error to report.
enum End {
    Success,
    /// Everything is already printed.
    Failure,
}

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    match sub_main(args) {
        Ok(End::Success) => ExitCode::SUCCESS,
        Ok(End::Failure) => ExitCode::FAILURE,
        Err(error) => {
            report::exit_error(&error, "svn: ");
            ExitCode::FAILURE
        }
    }
}

fn wrong_usage() -> End {
    help::point_to();
    End::Failure
}

fn sub_main(args: Vec<OsString>) -> SvnResult<End> {
    if args.is_empty() {
        return Ok(wrong_usage());
    }
    let mut opt = Options::default();
    let mut rest = VecDeque::new();
    let mut parser = Parser::new(SPECS, args);
    loop {
        match parser.next() {
            Ok(None) => break,
            Ok(Some(Item::Argument(arg))) => rest.push_back(arg),
            Ok(Some(Item::Option(spec, value))) => opt.take(Opt::of(spec), value)?,
            Err(what) => {
                report::as_it_is(&format!("svn: {what}\n"));
                return Ok(wrong_usage());
            }
        }
    }
    remote::check_questions(&opt.session)?;
    opt.non_interactive = remote::is_non_interactive(&opt.session, MANNER);
    remote::ensure_folder(&opt.session);
    let Some(command) = choose(&opt, &mut rest)? else { return Ok(End::Failure) };
    if let Some(wrong) = opt.order.iter().find(|o| **o != Opt::Help && !command.takes(**o)) {
        if command.name.starts_with('-') {
            return Ok(wrong_usage());
        }
        let (name, shown) = (command.name, wrong.display(false));
        report::stderr(&format!(
            "Subcommand '{name}' doesn't accept option '{shown}'\nType 'svn help {name}' for usage.\n"
        ));
        return Ok(End::Failure);
    }
    check_together(command, &opt)?;
    if opt.ranges.is_empty() {
        opt.ranges.push(Range::default());
    }
    check_alone(command, &mut opt)?;
    let mut invocation = prepare(command, opt, rest)?;
    let progress = match command.shows_progress {
        true => Progress::start(&invocation.ctx.wc.meter),
        false => None,
    };
    let result = (command.run)(&mut invocation);
    drop(progress);
    let flushed = invocation.out.flush();
    // Most operations that record times of files have waited; of what others record, or one that failed, the
    // program's end is the last chance.
    if invocation.ctx.wc.wait_for_tick {
        invocation.ctx.wc.recorded.wait();
    }
    match result {
        Ok(()) => flushed.map(|()| End::Success),
        Err(error) => Err(decorate(error, &invocation)),
    }
}

/// How this program sees its user.
const MANNER: remote::Manner = remote::Manner {
    prefix: "svn: ",
    makes_folder: false,
    looks_for_terminal: true,
    unreadable: remote::config::Unreadable::Warns,
};

/// The subcommand on the command line; `None` when it was wrong, which is already reported.
fn choose(opt: &Options, rest: &mut VecDeque<OsString>) -> SvnResult<Option<&'static Command>> {
    if opt.has(Opt::Help) {
        return Ok(find("help"));
    }
    let Some(first) = rest.pop_front() else {
        if opt.has(Opt::Version) {
            return Ok(Some(&VERSION));
        }
        report::stderr("Subcommand argument required\n");
        help::point_to();
        return Ok(None);
    };
    let first = to_text(&first)?;
    let found = find(&first);
    if found.is_none() {
        report::stderr(&format!("Unknown subcommand: '{first}'\n"));
        help::point_to();
        if first == "undo" {
            report::stderr(
                "Undo is done using either the 'svn revert' or the 'svn merge' command.\n",
            );
        }
    }
    Ok(found)
}

/// Checks options that do not go together.
fn check_together(command: &Command, opt: &Options) -> SvnResult<()> {
    let exclusive = |text: &str| Err(usage_error(text));
    if command.revisions != Revisions::Ranges && opt.ranges.len() > 1 {
        return exclusive(
            "Multiple revision arguments encountered; can't specify -c twice, or both -c and -r",
        );
    }
    if opt.depth.is_some() && opt.set_depth.is_some() {
        return exclusive("--depth and --set-depth are mutually exclusive");
    }
    if opt.has(Opt::WithAllRevprops) && opt.has(Opt::WithNoRevprops) {
        return exclusive("--with-all-revprops and --with-no-revprops are mutually exclusive");
    }
    if opt.revprops.is_some() && opt.has(Opt::WithNoRevprops) {
        return exclusive("--with-revprop and --with-no-revprops are mutually exclusive");
    }
    if opt.file_data.is_some() && opt.message.is_some() && command.name != "propset" {
        return exclusive("--message (-m) and --file (-F) are mutually exclusive");
    }
    remote::check(&opt.session, opt.non_interactive)?;
    if opt.diff_cmd.is_some() && opt.has(Opt::InternalDiff) {
        return exclusive("--diff-cmd and --internal-diff are mutually exclusive");
    }
    Ok(())
}

/// Checks options that need the subcommand to be understood.
fn check_alone(command: &Command, opt: &mut Options) -> SvnResult<()> {
    if opt.has(Opt::Relocate) {
        let with = if opt.depth.is_some() {
            Some("--depth")
        } else if opt.has(Opt::NonRecursive) {
            Some("--non-recursive (-N)")
        } else {
            None
        };
        if let Some(with) = with {
            return Err(SvnError::new(
                ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS,
                format!("--relocate and {with} are mutually exclusive"),
            ));
        }
    }
    if command.revisions == Revisions::One && opt.range().end.is_given() {
        return Err(SvnError::new(ErrorCode::CLIENT_REVISION_RANGE, ""));
    }
    if opt.has(Opt::NonRecursive) {
        opt.depth = Some(command.non_recursive);
    }
    Ok(())
}

/// Set to `yes`, operations do not wait until the clock of the file system has moved on. A change that
/// follows at once may then be missed.
const NO_WAIT: &str = "SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS";
/// With `yes` in it a relocation is not compared with the server: tests want URLs that lead nowhere.
const NO_CHECK: &str = "SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_RELOCATE_VALIDATION";

/// Reads the configuration and makes the context.
fn prepare(
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

/// The default for conflicts without `--accept`.
fn choose_conflicts(command: &Command, opt: &mut Options, interactive: bool) -> SvnResult<()> {
    if opt.non_interactive {
        let asks = match opt.accept {
            Some(Accept::Edit) => Some("edit"),
            Some(Accept::Launch) => Some("launch"),
            _ => None,
        };
        if let Some(word) = asks {
            return Err(usage_error(format!(
                "--accept={word} incompatible with --non-interactive"
            )));
        }
        opt.accept.get_or_insert(Accept::Recommended);
    }
    if !interactive {
        if command.name == "resolve" {
            opt.non_interactive = true;
        }
        opt.accept.get_or_insert(Accept::Postpone);
    }
    Ok(())
}

/// Adds a hint to errors that the user can do something about.
fn decorate(error: SvnError, invocation: &Invocation) -> SvnError {
    let mut error = error;
    let code = error.code();
    if [ErrorCode::CL_INSUFFICIENT_ARGS, ErrorCode::CL_ARG_PARSING_ERROR].contains(&code) {
        error = error
            .context(format!("Try 'svn help {}' for more information", invocation.command.name));
    }
    if code == ErrorCode::WC_UPGRADE_REQUIRED {
        error = error.context("Please see the 'svn upgrade' command");
    }
    if code == ErrorCode::AUTHN_FAILED && invocation.opt.non_interactive {
        error = error.context(
            "Authentication failed and interactive prompting is disabled; see the \
             --force-interactive option",
        );
        if invocation.opt.file_name.as_deref() == Some("-") {
            error = error.context(
                "Reading file from standard input because of -F option; this can interfere with \
                 interactive prompting",
            );
        }
    }
    if error.has_code(ErrorCode::WC_LOCKED) {
        error = error
            .context("Run 'svn cleanup' to remove locks (type 'svn help cleanup' for details)");
    }
    if code == ErrorCode::SQLITE_BUSY {
        error = error.context(
            "Another process is blocking the working copy database, or the underlying filesystem \
             does not support file locking; if the working copy is on a network filesystem, make \
             sure file locking has been enabled on the file server",
        );
    }
    let session = &invocation.opt.session;
    if error.has_code(ErrorCode::RA_CANNOT_CREATE_TUNNEL)
        && (session.has(name::USERNAME) || session.has(name::PASSWORD))
    {
        error = error.context(
            "When using svn+ssh:// URLs, keep in mind that the --username and --password options \
             are ignored because authentication is performed by SSH, not Subversion",
        );
    }
    error
}

/// E205009: what is not committed takes no message.
fn local_operation_has_no_message() -> SvnError {
    SvnError::new(
        ErrorCode::CL_UNNECESSARY_LOG_MESSAGE,
        "Local, non-commit operations do not take a log message or revision properties",
    )
}

impl Invocation {
    /// An error when an external could not be fetched: the cause is already reported.
    pub(crate) fn check_externals(&self) -> SvnResult<()> {
        if !self.notifier.externals_failed() {
            return Ok(());
        }
        Err(SvnError::new(
            ErrorCode::CL_ERROR_PROCESSING_EXTERNALS,
            "Failure occurred processing one or more externals definitions",
        ))
    }

    /// Whether an option was given.
    pub(crate) fn has(&self, opt: Opt) -> bool {
        self.opt.has(opt)
    }

    /// Passes over an error of one target, as a warning, when its code is one of those that are no
    /// reason to stop; `Ok(None)` then.
    pub(crate) fn tolerate<T>(
        &self,
        result: SvnResult<T>,
        codes: &[ErrorCode],
        seen: &mut Vec<ErrorCode>,
    ) -> SvnResult<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if codes.contains(&error.code()) => {
                if !seen.contains(&error.code()) {
                    seen.push(error.code());
                }
                if !self.has(Opt::Quiet) {
                    self.out.warn(&error);
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Has committed revisions reported, unless that is not wanted.
    pub(crate) fn notify_commits(&mut self) {
        if !self.has(Opt::Quiet) {
            self.always_notify_commits(String::new());
        }
    }

    /// Has committed revisions reported, after another line.
    pub(crate) fn always_notify_commits(&mut self, before: String) {
        let out = self.out.clone();
        self.ctx.committed = Some(Box::new(move |info| {
            out.text(&before)?;
            let gargle = "SVN_I_LOVE_PANGALACTIC_GARGLE_BLASTERS";
            let answer = if info.revision.0 == 42 && std::env::var_os(gargle).is_some() {
                " (the answer to life, the universe, and everything)"
            } else {
                ""
            };
            out.text(&format!("Committed revision {}{answer}.\n", info.revision))?;
            if let Some(warning) = &info.post_commit_error {
                out.text(&format!("\nWarning: {warning}\n"))?;
            }
            out.show()
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pegs::TABLE;

    #[test]
    fn names_are_unique_and_options_consistent() {
        let mut names: Vec<&str> = Vec::new();
        for command in COMMANDS.iter().chain(experiments::all_commands()) {
            names.push(command.name);
            names.extend(command.aliases);
            assert!(command.help.ends_with('\n') && command.help.contains("usage: "));
            for (opt, _) in command.overrides {
                assert!(command.options.contains(opt), "{}: {opt:?}", command.name);
            }
        }
        for command in COMMANDS.iter().chain(experiments::all_commands()) {
            // These take no targets.
            let none = ["auth", "help", "x-shelf-diff", "x-unshelve"];
            let mut rows = TABLE.iter().filter(|row| row.program == "svn");
            let has_rule = rows.any(|row| row.command == command.name);
            assert_ne!(has_rule, none.contains(&command.name), "peg revisions of {}", command.name);
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(COMMANDS.iter().map(|c| c.name).is_sorted());
        assert!(experiments::all_commands().iter().map(|c| c.name).is_sorted());
    }
}
