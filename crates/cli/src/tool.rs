//! Programs of Sapwood's own without subcommands (`sapwood convert`, `sapwood mergeinfo-tidy`): their command line, help text
//! and manual page, from one table of options.

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_core::SvnResult;

use crate::command::{OptionSpec, Options, name, to_text};
use crate::getopt::{Item, Parser};
use crate::manual::{Manual, OptionText};
use crate::output::{self, Output};
use crate::{remote, report};

/// One such program.
pub(crate) struct Tool {
    /// As messages name it: `sapwood convert`.
    pub(crate) name: &'static str,
    /// Its arguments, for the usage line.
    pub(crate) arguments: &'static str,
    pub(crate) options: &'static [OptionSpec],
    /// What it does, as it is laid out in the help text.
    pub(crate) text: &'static str,
    /// Does it. The options have no request for help.
    pub(crate) run: fn(&Options, Vec<String>, &mut Output) -> SvnResult<ExitCode>,
}

impl Tool {
    /// The program's `main`.
    pub(crate) fn main(&self, args: Vec<OsString>) -> ExitCode {
        let mut out = Output::stdout();
        let result = self.sub_main(args, &mut out);
        match result.and_then(|code| out.flush().map(|()| code)) {
            Ok(code) => code,
            Err(error) => {
                // Earlier output comes before the error.
                let _ = out.flush();
                report::exit_error(&error, &format!("{}: ", self.name));
                ExitCode::FAILURE
            }
        }
    }

    fn sub_main(&self, args: Vec<OsString>, out: &mut Output) -> SvnResult<ExitCode> {
        let (mut options, mut arguments) = (Options::default(), Vec::new());
        let mut parser = Parser::new(self.options, args);
        loop {
            match parser.next() {
                Ok(None) => break,
                Ok(Some(Item::Argument(arg))) => arguments.push(to_text(&arg)?),
                Ok(Some(Item::Option(spec, value))) => {
                    let is_config = spec.name() == name::CONFIG_OPTION;
                    if let Some(value) = value.as_ref().filter(|_| is_config) {
                        remote::config::check(&to_text(value)?, self.name)?;
                    }
                    options.push(spec.name(), value);
                }
                Err(what) => return Ok(self.wrong_usage(&what.to_string())),
            }
        }
        if options.has(name::HELP) || options.has(name::HELP_MARK) {
            output::help(&self.help());
            return Ok(ExitCode::SUCCESS);
        }
        (self.run)(&options, arguments, out)
    }

    /// Reports a wrong command line.
    pub(crate) fn wrong_usage(&self, what: &str) -> ExitCode {
        let name = self.name;
        report::as_it_is(&format!("{name}: {what}\nType '{name} --help' for usage.\n"));
        ExitCode::FAILURE
    }

    /// The options that help texts show: those with a long name.
    fn shown(&self) -> impl Iterator<Item = &OptionSpec> {
        self.options.iter().filter(|option| !option.long.is_empty())
    }

    fn usage(&self) -> String {
        format!("{} [OPTIONS] {}", self.name, self.arguments)
    }

    fn help(&self) -> String {
        let options: String = self.shown().map(OptionSpec::line).collect();
        format!("usage: {}\n\n{}\nValid options:\n{options}", self.usage(), self.text)
    }

    /// The manual page.
    pub(crate) fn manual(&self) -> Manual {
        Manual {
            synopsis: vec![self.usage()],
            laid_out: self.text.to_owned(),
            options: self.shown().map(OptionText::of).collect(),
            ..Manual::default()
        }
    }
}
