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
mod hints;
mod import;
mod info;
mod invocation;
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
mod option_checks;
mod options;
mod out;
mod patch;
mod prepare;
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

use sapwood_client::{Context, Range};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

pub(crate) use self::help::manual;

use self::given::Options;
use self::hints::decorate;
use self::notify::Notifier;
use self::option_checks::{check_alone, check_together};
use self::options::{GLOBAL, Opt, SPECS};
use self::out::Out;
use self::prepare::prepare;
use self::progress::Progress;
use crate::command::to_text;
use crate::getopt::{Item, Parser};
use crate::remote;
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
