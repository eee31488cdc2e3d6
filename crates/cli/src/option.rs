//! The options of programs: what each is called and says of itself, and those that a command line has.

pub(crate) mod name;

use std::ffi::OsString;

use sapwood_core::SvnResult;

use crate::revision::RevisionRange;
use crate::usage::plain_text;

pub(crate) use name::Name;

/// One option of a program. Its long name is also its key.
#[derive(Debug)]
pub(crate) struct OptionSpec {
    pub(crate) long: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) takes_value: bool,
    pub(crate) about: &'static str,
}

impl OptionSpec {
    /// An option without a value.
    pub(crate) const fn flag(long: &'static str, short: Option<char>, about: &'static str) -> Self {
        Self { long, short, takes_value: false, about }
    }

    /// An option with a value.
    pub(crate) const fn value(
        long: &'static str,
        short: Option<char>,
        about: &'static str,
    ) -> Self {
        Self { long, short, takes_value: true, about }
    }

    /// The name that selects it.
    pub(crate) const fn name(&self) -> Name {
        Name::of(self)
    }

    /// A line of a help text.
    pub(crate) fn line(&self) -> String {
        format!("  {:<24} : {}\n", self.display(), self.about)
    }

    /// `-r [--revision] ARG`, `--deltas`.
    pub(crate) fn display(&self) -> String {
        let mut out = match self.short {
            Some(short) => format!("-{short} [--{}]", self.long),
            None => format!("--{}", self.long),
        };
        if self.takes_value {
            out.push_str(" ARG");
        }
        out
    }
}

/// The options of a command line.
#[derive(Debug, Default)]
pub(crate) struct Options {
    given: Vec<(Name, Option<OsString>)>,
    /// The parsed `-r`.
    pub(crate) revision: RevisionRange,
}

impl Options {
    /// Whether the option was given.
    pub(crate) fn has(&self, name: Name) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// Adds an option, for programs that take their command line apart themselves.
    pub(crate) fn push(&mut self, name: Name, value: Option<OsString>) {
        self.given.push((name, value));
    }

    /// All options with their values, in the order they were given.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Name, Option<&OsString>)> {
        self.given.iter().map(|(name, value)| (*name, value.as_ref()))
    }

    /// The value of the option that was given last.
    pub(crate) fn os_value(&self, name: Name) -> Option<&OsString> {
        self.given.iter().rev().find(|(given, _)| *given == name)?.1.as_ref()
    }

    /// The same as text.
    pub(crate) fn value(&self, name: Name) -> SvnResult<Option<String>> {
        self.os_value(name).map(plain_text).transpose()
    }

    /// All values of an option that may be given several times.
    pub(crate) fn values(&self, name: Name) -> SvnResult<Vec<String>> {
        self.given
            .iter()
            .filter(|(given, _)| *given == name)
            .filter_map(|(_, value)| value.as_ref())
            .map(plain_text)
            .collect()
    }
}

/// Takes `-r N` and `-r N:M`, for programs whose `-r` is like this.
pub(crate) fn take_revision(
    options: &mut Options,
    spec: &'static OptionSpec,
    value: Option<&OsString>,
) -> SvnResult<()> {
    match value {
        Some(value) if spec.name() == name::REVISION => options.revision.take(&plain_text(value)?),
        _ => Ok(()),
    }
}
