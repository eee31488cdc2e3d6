//! The command line of `sapwood-bench`: a table of subcommands, options with or without a value, and the help
//! that is made of both.
//!
//! Invariant: an option that a subcommand does not list is refused, before the subcommand does anything.

use std::fmt::Write as _;
use std::io::Write as _;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// The name of an option, without its hyphens.
pub(crate) type Name = &'static str;

/// The names of all options.
pub(crate) mod name {
    use super::Name;

    macro_rules! names {
        ($($constant:ident = $text:literal;)*) => {
            $(pub(crate) const $constant: Name = $text;)*
        };
    }

    names! {
        AGAINST = "against";
        CALLS = "calls";
        CLIENT = "client";
        COMPATIBLE_VERSION = "compatible-version";
        CSV = "csv";
        DIRECTORIES = "directories";
        FILE = "file";
        FILES = "files";
        FORMAT = "format";
        HTML = "html";
        JSON = "json";
        MEGABYTES = "megabytes";
        NO_GIT = "no-git";
        ONLY = "only";
        PACK = "pack";
        PROFILE = "profile";
        PROGRAM = "program";
        QUICK = "quick";
        QUIET = "quiet";
        REPEAT = "repeat";
        REPOSITORY = "repository";
        REVISIONS = "revisions";
        SCALE = "scale";
        SEED = "seed";
        SUBTREES = "subtrees";
        TREE = "tree";
    }
}

/// An option: its name, whether it has a value, and its help.
pub(crate) struct OptionSpec {
    pub(crate) name: Name,
    pub(crate) has_value: bool,
    pub(crate) help: &'static str,
}

/// An option without a value.
pub(crate) const fn flag(name: Name, help: &'static str) -> OptionSpec {
    OptionSpec { name, has_value: false, help }
}

/// An option with a value.
pub(crate) const fn value(name: Name, help: &'static str) -> OptionSpec {
    OptionSpec { name, has_value: true, help }
}

/// A subcommand.
pub(crate) struct Subcommand {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) options: &'static [Name],
    pub(crate) run: fn(&mut Invocation) -> SvnResult<()>,
}

/// The options that were given, in their order.
#[derive(Default)]
pub(crate) struct Options(Vec<(Name, String)>);

impl Options {
    /// Whether an option was given.
    pub(crate) fn has(&self, name: Name) -> bool {
        self.0.iter().any(|(given, _)| *given == name)
    }

    /// The last value of an option.
    pub(crate) fn value(&self, name: Name) -> Option<String> {
        self.values(name).pop()
    }

    /// All values of an option.
    pub(crate) fn values(&self, name: Name) -> Vec<String> {
        self.0.iter().filter(|(given, _)| *given == name).map(|(_, value)| value.clone()).collect()
    }
}

/// The arguments of a subcommand.
pub(crate) struct Invocation {
    pub(crate) options: Options,
    args: Vec<String>,
}

impl Invocation {
    /// The arguments, of which there must be a number within limits.
    ///
    /// # Errors
    /// E205001 for too few, E205000 for too many.
    pub(crate) fn take_args(&mut self, min: usize, max: usize) -> SvnResult<Vec<String>> {
        if self.args.len() < min {
            return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "Not enough arguments"));
        }
        if self.args.len() > max {
            return Err(wrong("Too many arguments"));
        }
        Ok(self.args.split_off(0))
    }
}

/// Parses the arguments after the program's name and runs the subcommand.
///
/// # Errors
/// E205000 for a wrong command line; what the subcommand says.
pub(crate) fn run(table: &[Subcommand], specs: &[OptionSpec], args: Vec<String>) -> SvnResult<()> {
    let mut args = args.into_iter();
    let word = args.next().unwrap_or_else(|| "help".to_owned());
    if ["help", "--help", "-h"].contains(&word.as_str()) {
        let of = args.next();
        return print(&help(table, specs, of.as_deref())?);
    }
    let command = find(table, &word)?;
    let mut invocation = Invocation { options: Options::default(), args: Vec::new() };
    while let Some(arg) = args.next() {
        if ["--help", "-h"].contains(&arg.as_str()) {
            return print(&help(table, specs, Some(&word))?);
        }
        if !arg.starts_with('-') || arg == "-" {
            invocation.args.push(arg);
            continue;
        }
        let (option, joined) = arg.split_once('=').map_or((&*arg, None), |(o, v)| (o, Some(v)));
        let spec = specs.iter().find(|spec| is_named(spec, option));
        let spec = spec.ok_or_else(|| wrong(&format!("invalid option: {option}")))?;
        if !command.options.contains(&spec.name) {
            let text = format!("Subcommand '{word}' doesn't accept option '--{}'", spec.name);
            return Err(wrong(&text));
        }
        let value = match joined {
            _ if !spec.has_value => String::new(),
            Some(value) => value.to_owned(),
            None => args.next().ok_or_else(|| wrong(&format!("missing argument: {option}")))?,
        };
        invocation.options.0.push((spec.name, value));
    }
    (command.run)(&mut invocation)
}

fn is_named(spec: &OptionSpec, given: &str) -> bool {
    given.strip_prefix("--") == Some(spec.name) || spec.name == name::QUIET && given == "-q"
}

fn find<'t>(table: &'t [Subcommand], word: &str) -> SvnResult<&'t Subcommand> {
    let found = table.iter().find(|command| command.name == word);
    found.ok_or_else(|| wrong(&format!("Unknown subcommand: '{word}'")))
}

fn wrong(message: &str) -> SvnError {
    SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, message)
}

/// The help of the program, or of one subcommand with its options.
fn help(table: &[Subcommand], specs: &[OptionSpec], word: Option<&str>) -> SvnResult<String> {
    let mut text = String::new();
    let Some(word) = word else {
        text.push_str(
            "usage: sapwood-bench <subcommand> [options] [args]\n\
             Makes repositories for measurements, and measures.\n\
             Type 'sapwood-bench help <subcommand>' for help on a specific subcommand.\n\n\
             Available subcommands:\n",
        );
        for command in table {
            let _ = writeln!(text, "   {}", command.name);
        }
        return Ok(text);
    };
    let command = find(table, word)?;
    let _ = write!(text, "{}\nValid options:\n", command.help);
    for spec in specs.iter().filter(|spec| command.options.contains(&spec.name)) {
        let option = format!("--{}{}", spec.name, if spec.has_value { " ARG" } else { "" });
        let _ = writeln!(text, "  {option:<25}: {}", spec.help);
    }
    Ok(text)
}

/// Writes to standard output.
///
/// # Errors
/// Errors of the system.
pub(crate) fn print(text: &str) -> SvnResult<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|e| SvnError::io(&e, "Write error"))
}

/// Writes a line to standard error; that it cannot be written is no reason to stop measuring.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Subcommand] = &[Subcommand {
        name: "make",
        help: "usage: make\n",
        options: &[name::QUIET, name::SEED],
        run: |invocation| {
            let given = invocation.options.value(name::SEED);
            let args = invocation.take_args(0, 1)?;
            Err(wrong(&format!("{given:?} {args:?} {}", invocation.options.has(name::QUIET))))
        },
    }];
    const SPECS: &[OptionSpec] =
        &[flag(name::QUIET, "q"), value(name::SEED, "s"), value(name::TREE, "t")];

    fn outcome(line: &str) -> String {
        let args = line.split(' ').map(str::to_owned).collect();
        run(TABLE, SPECS, args).unwrap_err().to_string()
    }

    #[test]
    fn options_and_arguments() {
        for (line, wanted) in [
            ("make --seed 1 a -q --seed=2", "Some(\"2\") [\"a\"] true"),
            ("make a b", "Too many arguments"),
            ("make --seed", "missing argument"),
            ("make --tree x", "doesn't accept option '--tree'"),
            ("make --nonsense", "invalid option: --nonsense"),
            ("bake", "Unknown subcommand: 'bake'"),
        ] {
            let said = outcome(line);
            assert!(said.contains(wanted), "{line}: {said}");
        }
        let text = help(TABLE, SPECS, Some("make")).unwrap();
        assert!(text.contains("--seed ARG") && !text.contains("--tree"), "{text}");
    }
}
