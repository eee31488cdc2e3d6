//! Manual pages and shell completions, made from the tables that the programs are made of: nothing
//! is written twice. [`Manual`] is the description of a program; [`roff`] makes a page of it, and
//! [`completion`] what `bash` completes.

pub(crate) mod completion;
pub(crate) mod roff;

use crate::command::{Name, OptionSpec, Program};

/// An option and what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OptionText {
    /// `-r [--revision] ARG`.
    pub(crate) shown: String,
    /// `--revision`, `-r`: what is typed.
    pub(crate) typed: Vec<String>,
    pub(crate) about: String,
}

impl OptionText {
    pub(crate) fn of(spec: &OptionSpec) -> Self {
        let mut typed = Vec::new();
        if !spec.long.is_empty() {
            typed.push(format!("--{}", spec.long));
        }
        typed.extend(spec.short.map(|short| format!("-{short}")));
        Self { shown: spec.display(), typed, about: spec.about.to_owned() }
    }

    /// The same where a subcommand explains it otherwise.
    pub(crate) fn explained(self, about: &str) -> Self {
        Self { about: about.to_owned(), ..self }
    }
}

/// A subcommand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Its name with its aliases.
    pub(crate) title: String,
    /// All of its names.
    pub(crate) names: Vec<String>,
    /// Usage lines and explanation, laid out for a terminal.
    pub(crate) text: String,
    pub(crate) options: Vec<OptionText>,
}

/// The description of a program. Its name and its summary stand in the table of programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manual {
    /// Of the manual; 0 stands for 1.
    pub(crate) section: u8,
    pub(crate) synopsis: Vec<String>,
    /// Paragraphs.
    pub(crate) text: String,
    /// Text that is laid out for a terminal, below the paragraphs.
    pub(crate) laid_out: String,
    /// Options of the program itself, or of all subcommands.
    pub(crate) options: Vec<OptionText>,
    pub(crate) parts: Vec<Part>,
    pub(crate) files: Vec<(&'static str, &'static str)>,
}

impl Manual {
    /// That of a program whose help text is laid out by hand: usage lines, an empty line, the rest.
    pub(crate) fn of_help(help: &str) -> Self {
        let (usage, text) = help.split_once("\n\n").unwrap_or((help, ""));
        let plain = |line: &str| line.trim_start_matches("usage:").trim().to_owned();
        Self {
            synopsis: usage.lines().map(plain).collect(),
            laid_out: text.to_owned(),
            ..Self::default()
        }
    }
}

impl Program {
    /// The manual of a program with subcommands.
    pub(crate) fn manual(&self) -> Manual {
        let described = |name: &Name| {
            let spec = self.option(*name);
            debug_assert!(spec.is_some(), "{} has no option --{name}", self.name);
            spec.map(OptionText::of)
        };
        let part = |subcommand: &crate::command::Subcommand| Part {
            title: match subcommand.aliases {
                [] => subcommand.name.to_owned(),
                aliases => format!("{} ({})", subcommand.name, aliases.join(", ")),
            },
            names: [subcommand.name]
                .iter()
                .chain(subcommand.aliases)
                .map(|n| (*n).into())
                .collect(),
            text: subcommand.help.to_owned(),
            options: subcommand
                .options
                .iter()
                .filter_map(|name| {
                    let own = subcommand.overrides.iter().find(|(other, _)| other == name);
                    let option = described(name)?;
                    Some(own.map_or(option.clone(), |(_, about)| option.explained(about)))
                })
                .collect(),
        };
        Manual {
            synopsis: vec![
                format!("{} SUBCOMMAND [ARGS & OPTIONS ...]", self.name),
                format!("{} help SUBCOMMAND", self.name),
                format!("{} --version", self.name),
            ],
            options: self.global_options.iter().filter_map(described).collect(),
            parts: self.subcommands.iter().map(part).collect(),
            ..Manual::default()
        }
    }
}
