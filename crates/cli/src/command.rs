//! What all programs with subcommands share: tables of options and subcommands, help texts,
//! `--version`, and the `main` that finds the subcommand, checks its options and reports errors.
//!
//! Help has the reference's structure in our own words. The sentences about wrong usage are the
//! reference's, because scripts and its test suite look at them.

mod help;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::getopt::{Item, Parser};
use crate::output::Output;
use crate::report;

pub(crate) use crate::option::{Name, OptionSpec, Options, name, take_revision};
pub(crate) use crate::usage::{parse_number, plain_text, to_text, usage_error};
pub(crate) use help::{FS_MODULES, RA_MODULES, version_text};

/// The version of Subversion whose behaviour this is.
pub(crate) const COMPATIBLE_VERSION: &str = "1.14.5";

/// `-h`/`--help`, which every program has.
pub(crate) const HELP: OptionSpec = name::HELP.flag(Some('h'), "explain a subcommand");
/// `-?`, the same without a long name.
pub(crate) const HELP_MARK: OptionSpec = name::HELP_MARK.flag(Some('?'), "explain a subcommand");
/// `--version`.
pub(crate) const VERSION: OptionSpec = name::VERSION.flag(None, "say which version this is");

/// One subcommand.
pub(crate) struct Subcommand {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    /// Usage lines and explanation, ending in a newline.
    pub(crate) help: &'static str,
    /// The options it takes, in the order of its help.
    pub(crate) options: &'static [Name],
    /// Options whose explanation differs for this subcommand.
    pub(crate) overrides: &'static [(Name, &'static str)],
    pub(crate) run: Runner,
}

impl Subcommand {
    /// The subcommand `help`, whose text this is.
    pub(crate) const fn help(text: &'static str) -> Self {
        Self {
            name: "help",
            aliases: &["?", "h"],
            help: text,
            options: &[],
            overrides: &[],
            run: Runner::Help,
        }
    }
}

/// The function of a subcommand.
#[derive(Clone, Copy)]
pub(crate) enum Runner {
    /// Prints help.
    Help,
    /// Works on the repository that its first argument names.
    Repository(fn(&mut Invocation<'_>) -> SvnResult<()>),
    /// Works on whatever its arguments are.
    Arguments(fn(&mut Invocation<'_>) -> SvnResult<()>),
}

/// A program with subcommands.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The start of the general help, up to the list of subcommands.
    pub(crate) help_header: &'static str,
    pub(crate) options: &'static [OptionSpec],
    pub(crate) subcommands: &'static [Subcommand],
    /// The options that every subcommand takes.
    pub(crate) global_options: &'static [Name],
    /// Whether the hint at the help after wrong usage names the subcommand.
    pub(crate) hint_names_subcommand: bool,
    /// The modules in the output of `--version`.
    pub(crate) modules: &'static str,
    /// Options that `--version` takes.
    pub(crate) version_options: &'static [Name],
    /// The exit code for failures: 1, but for some programs 2.
    pub(crate) failure: u8,
    /// Whether starting it without arguments only points to the help (else it first reports that a
    /// subcommand is missing).
    pub(crate) bare_is_help: bool,
    /// The message for a missing subcommand, without newline.
    pub(crate) no_subcommand: &'static str,
    /// Gives the repository argument as a canonical local path, or the failure to end with.
    pub(crate) repository: fn(Option<String>) -> Result<String, Usage>,
    /// Gives the folder to work on for a URL, if that is the address of a repository in a store: with the subcommand and its options.
    pub(crate) of_store: fn(&str, &Options, &str) -> SvnResult<Option<String>>,
    /// Looks at an option as it is taken.
    pub(crate) take: fn(&mut Options, &'static OptionSpec, Option<&OsString>) -> SvnResult<()>,
    /// Looks at all options together, before the subcommand is.
    pub(crate) check: fn(&Options) -> SvnResult<()>,
    /// An additional hint for an unknown subcommand.
    pub(crate) unknown_hint: fn(&str) -> Option<&'static str>,
    /// Whether usage errors are reported in svnsync's manner: an option that the subcommand does not take
    /// as an error, and an unknown subcommand without its name.
    pub(crate) misuse_is_error: bool,
    /// Whether the help is pointed to below an error about arguments.
    pub(crate) suggest_help: fn(&SvnError) -> bool,
    /// The exit code for an error, when it is not [`Program::failure`].
    pub(crate) on_error: fn(&SvnError) -> Option<u8>,
}

impl Program {
    /// The defaults of most programs.
    pub(crate) const DEFAULT: Self = Self {
        name: "",
        help_header: "",
        options: &[],
        subcommands: &[],
        global_options: &[],
        hint_names_subcommand: false,
        modules: FS_MODULES,
        version_options: &[name::QUIET],
        failure: 1,
        bare_is_help: true,
        no_subcommand: "subcommand argument required",
        repository: |arg| match arg {
            Some(arg) => Ok(crate::repo::local_path(&arg)?),
            None => Err(Usage::Error(usage_error("Repository argument required"))),
        },
        of_store: |_, _, _| Ok(None),
        take: |_, _, _| Ok(()),
        check: |_| Ok(()),
        unknown_hint: |_| None,
        misuse_is_error: false,
        suggest_help: |_| true,
        on_error: |_| None,
    };
}

/// How usage errors are reported.
pub(crate) enum Usage {
    /// As an error.
    Error(SvnError),
    /// As a sentence, after which the help is pointed to.
    Sentence(&'static str),
}

impl From<SvnError> for Usage {
    fn from(error: SvnError) -> Self {
        Self::Error(error)
    }
}

/// Options whose values the reference takes as they are.
const TAKEN_AS_THEY_ARE: &[Name] = &[
    name::MEMORY_CACHE_SIZE,
    name::COMPATIBLE_VERSION,
    name::TRANSACTION,
    name::LIMIT,
    name::CHANGE,
    name::EXTENSIONS,
    name::DIFF_CMD,
];

/// One run of a subcommand.
pub(crate) struct Invocation<'a> {
    pub(crate) program: &'a Program,
    pub(crate) options: Options,
    /// The repository argument, for [`Runner::Repository`].
    pub(crate) repository: String,
    /// The other arguments.
    pub(crate) args: VecDeque<OsString>,
    pub(crate) out: Output,
}

impl Invocation<'_> {
    /// All arguments that are left, when their number is right.
    pub(crate) fn take_args(&mut self, min: usize, max: usize) -> SvnResult<Vec<String>> {
        if self.args.len() < min {
            return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "Not enough arguments"));
        }
        if self.args.len() > max {
            return Err(usage_error("Too many arguments"));
        }
        self.args.drain(..).map(|arg| to_text(&arg)).collect()
    }

    /// The prefix of messages.
    pub(crate) fn prefix(&self) -> String {
        format!("{}: ", self.program.name)
    }
}

/// How a run ended.
enum End {
    Success,
    /// Everything is already printed.
    Failure,
    Error(SvnError),
}

impl From<SvnError> for End {
    fn from(error: SvnError) -> Self {
        Self::Error(error)
    }
}

impl Program {
    /// The program's `main`.
    pub(crate) fn main(&'static self, args: Vec<OsString>) -> ExitCode {
        match self.sub_main(args) {
            End::Success => ExitCode::SUCCESS,
            End::Failure => ExitCode::from(self.failure),
            End::Error(error) => {
                report::exit_error(&error, &format!("{}: ", self.name));
                ExitCode::from((self.on_error)(&error).unwrap_or(self.failure))
            }
        }
    }

    fn take_option(
        &self,
        options: &mut Options,
        spec: &'static OptionSpec,
        value: Option<OsString>,
    ) -> SvnResult<()> {
        let as_it_is = TAKEN_AS_THEY_ARE.contains(&spec.name())
            || (spec.name() == name::REVISION && self.name == "svnlook");
        if let Some(value) = &value
            && !as_it_is
        {
            to_text(value)?;
        }
        (self.take)(options, spec, value.as_ref())?;
        match (spec.name(), &value) {
            (name::MEMORY_CACHE_SIZE, Some(value)) => {
                parse_number(&plain_text(value)?).map(drop)?
            }
            (name::CONFIG_OPTION, Some(value)) => {
                crate::remote::config::check(&to_text(value)?, self.name)?;
            }
            _ => {}
        }
        options.push(spec.name(), value);
        Ok(())
    }

    fn point_to_help(&self) -> End {
        report::stderr(&format!("Type '{} help' for usage.\n", self.name));
        End::Failure
    }

    fn find(&self, name: &str) -> Option<&'static Subcommand> {
        self.subcommands.iter().find(|s| s.name == name || s.aliases.contains(&name))
    }

    pub(crate) fn option(&self, name: Name) -> Option<&'static OptionSpec> {
        self.options.iter().find(|o| o.name() == name)
    }

    fn sub_main(&'static self, args: Vec<OsString>) -> End {
        if args.is_empty() && self.bare_is_help {
            return self.point_to_help();
        }
        let mut options = Options::default();
        let mut rest = VecDeque::new();
        let mut parser = Parser::new(self.options, args);
        loop {
            match parser.next() {
                Ok(None) => break,
                Ok(Some(Item::Argument(arg))) => rest.push_back(arg),
                Ok(Some(Item::Option(spec, value))) => {
                    if let Err(error) = self.take_option(&mut options, spec, value) {
                        return End::Error(error);
                    }
                }
                Err(what) => {
                    report::as_it_is(&format!("{}: {what}\n", self.name));
                    return self.point_to_help();
                }
            }
        }
        self.dispatch(options, rest).unwrap_or_else(|end| end)
    }

    fn dispatch(&'static self, options: Options, mut args: VecDeque<OsString>) -> Result<End, End> {
        (self.check)(&options)?;
        let asks_help = options.has(name::HELP) || options.has(name::HELP_MARK);
        let subcommand = match args.pop_front_if(|_| !asks_help) {
            _ if asks_help => self.find("help"),
            Some(first) => Some(self.named(&to_text(&first)?)?),
            None if options.has(name::VERSION) => None,
            None => {
                report::stderr(&format!("{}\n", self.no_subcommand));
                return Err(self.point_to_help());
            }
        };
        let mut repository = String::new();
        if let Some(Subcommand { run: Runner::Repository(_), name, .. }) = subcommand {
            let first = args.pop_front().map(|arg| to_text(&arg)).transpose()?;
            repository = self.take_repository(name, &options, first)?;
        }
        self.check_options(subcommand, &options)?;
        let run = subcommand.map_or(Runner::Help, |s| s.run);
        let mut invocation =
            Invocation { program: self, options, repository, args, out: Output::stdout() };
        let result = match run {
            Runner::Help => self.help(&mut invocation),
            Runner::Repository(run) | Runner::Arguments(run) => run(&mut invocation),
        };
        let flushed = invocation.out.flush();
        let is_help = matches!(run, Runner::Help) && !invocation.options.has(name::VERSION);
        if is_help && result.is_ok() {
            crate::output::help_written(flushed);
            return Ok(End::Success);
        }
        match result.map_err(|e| self.suggest_help(e, subcommand)).and(flushed) {
            Ok(()) => Ok(End::Success),
            Err(error) => Err(End::Error(error)),
        }
    }

    /// The subcommand of a name; an unknown one is reported.
    fn named(&'static self, name: &str) -> Result<&'static Subcommand, End> {
        if let Some(found) = self.find(name) {
            return Ok(found);
        }
        if !self.misuse_is_error {
            report::stderr(&format!("Unknown subcommand: '{name}'\n"));
        }
        let end = self.point_to_help();
        if let Some(hint) = (self.unknown_hint)(name) {
            report::stderr(&format!("{hint}\n"));
        }
        Err(end)
    }

    /// The path of the repository that the first argument of a subcommand is about.
    fn take_repository(
        &'static self,
        subcommand: &str,
        options: &Options,
        first: Option<String>,
    ) -> Result<String, End> {
        let url = first.as_deref().filter(|arg| crate::repo::is_url(arg));
        let of_store = url.map(|url| (self.of_store)(subcommand, options, url)).transpose()?;
        match of_store.flatten().map_or_else(|| (self.repository)(first), Ok) {
            Ok(path) => Ok(path),
            Err(Usage::Error(error)) => Err(error.into()),
            Err(Usage::Sentence(text)) => {
                report::stderr(&format!("{text}\n"));
                Err(self.point_to_help())
            }
        }
    }

    /// Wrong usage is topped by a hint at the help.
    fn suggest_help(&self, error: SvnError, subcommand: Option<&Subcommand>) -> SvnError {
        let usage = [ErrorCode::CL_INSUFFICIENT_ARGS, ErrorCode::CL_ARG_PARSING_ERROR];
        if usage.contains(&error.code()) && (self.suggest_help)(&error) {
            match subcommand.filter(|_| self.hint_names_subcommand) {
                Some(subcommand) => error.context(format!(
                    "Try '{} help {}' for more information",
                    self.name, subcommand.name
                )),
                None => error.context(format!("Try '{} help' for more info", self.name)),
            }
        } else {
            error
        }
    }

    fn check_options(
        &self,
        subcommand: Option<&'static Subcommand>,
        options: &Options,
    ) -> Result<(), End> {
        for (given, _) in options.iter() {
            let accepted = match subcommand {
                _ if matches!(given, name::HELP | name::HELP_MARK) => true,
                Some(_) if self.global_options.contains(&given) => true,
                Some(subcommand) => subcommand.options.contains(&given),
                None => given == name::VERSION || self.version_options.contains(&given),
            };
            if accepted {
                continue;
            }
            let Some(subcommand) = subcommand else { return Err(self.point_to_help()) };
            let shown = self.option(given).map_or_else(|| "?".to_owned(), OptionSpec::display);
            let text = format!(
                "Subcommand '{}' doesn't accept option '{shown}'\nType '{} help {}' for usage.\n",
                subcommand.name, self.name, subcommand.name
            );
            if self.misuse_is_error {
                return Err(usage_error(text).into());
            }
            report::stderr(&text);
            return Err(End::Failure);
        }
        Ok(())
    }
}
