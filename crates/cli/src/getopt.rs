//! Taking a command line apart, in the manner and with the messages that Subversion's programs
//! have: options and other arguments in any order, `-rN`, `-r N`, `--revision N`,
//! `--revision=N`, a lone `--` that ends the options, long names in full only.

use sapwood_core::exact::Exact;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::option::OptionSpec;

/// The next item on a command line.
pub(crate) enum Item {
    /// An option, and its value if it takes one.
    Option(&'static OptionSpec, Option<OsString>),
    /// Any other argument.
    Argument(OsString),
}

/// A command line that is being parsed.
pub(crate) struct Parser {
    specs: &'static [OptionSpec],
    args: VecDeque<OsString>,
    /// The rest of a group of short options.
    run: Vec<u8>,
    only_arguments: bool,
}

impl Parser {
    pub(crate) fn new(specs: &'static [OptionSpec], args: Vec<OsString>) -> Self {
        Self { specs, args: args.into(), run: Vec::new(), only_arguments: false }
    }

    /// The next item; a sentence about what is wrong when there is something wrong.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, String> {
        if !self.run.is_empty() {
            return self.short().map(Some);
        }
        let Some(arg) = self.args.pop_front() else { return Ok(None) };
        let bytes = arg.as_bytes();
        if self.only_arguments || !bytes.starts_with(b"-") {
            return Ok(Some(Item::Argument(arg)));
        }
        match bytes {
            b"-" => Err("invalid option: ".to_owned()),
            b"--" => {
                self.only_arguments = true;
                self.next()
            }
            [b'-', b'-', name @ ..] => self.long(&arg, name).map(Some),
            [_, run @ ..] => {
                self.run = run.to_vec();
                self.short().map(Some)
            }
            [] => Ok(Some(Item::Argument(arg))),
        }
    }

    fn long(&mut self, arg: &OsString, text: &[u8]) -> Result<Item, String> {
        let (name, inline) = match text.iter().position(|b| *b == b'=') {
            Some(at) => (text.get(..at), text.get(at.plus(1)..)),
            None => (Some(text), None),
        };
        let spec = self
            .specs
            .iter()
            .find(|s| !s.long.is_empty() && Some(s.long.as_bytes()) == name)
            .ok_or_else(|| format!("invalid option: {}", arg.display()))?;
        if !spec.takes_value {
            return match inline {
                None => Ok(Item::Option(spec, None)),
                Some(_) => Err(format!("erroneous argument: {}", arg.display())),
            };
        }
        let value = match inline {
            Some(value) => OsString::from_vec(value.to_vec()),
            None => self
                .args
                .pop_front()
                .ok_or_else(|| format!("missing argument: {}", arg.display()))?,
        };
        Ok(Item::Option(spec, Some(value)))
    }

    fn short(&mut self) -> Result<Item, String> {
        let letter = self.run.remove(0);
        let shown = char::from(letter);
        let spec = self
            .specs
            .iter()
            .find(|s| s.short.is_some_and(|c| u32::from(c) == u32::from(letter)))
            .ok_or_else(|| format!("invalid option character: {shown}"))?;
        if !spec.takes_value {
            return Ok(Item::Option(spec, None));
        }
        let value = if self.run.is_empty() {
            self.args.pop_front().ok_or_else(|| format!("missing argument: {shown}"))?
        } else {
            OsString::from_vec(std::mem::take(&mut self.run))
        };
        Ok(Item::Option(spec, Some(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[OptionSpec] = &[
        OptionSpec::flag("quiet", Some('q'), ""),
        OptionSpec::value("revision", Some('r'), ""),
        OptionSpec::flag("xml", None, ""),
    ];

    fn parse(line: &str) -> Result<String, String> {
        let mut parser = Parser::new(SPECS, line.split_whitespace().map(OsString::from).collect());
        let mut out = Vec::new();
        while let Some(item) = parser.next()? {
            out.push(match item {
                Item::Option(spec, Some(value)) => format!("{}={}", spec.long, value.display()),
                Item::Option(spec, None) => spec.long.to_owned(),
                Item::Argument(arg) => format!("<{}>", arg.display()),
            });
        }
        Ok(out.join(" "))
    }

    #[test]
    fn every_way_to_write_an_option() {
        assert_eq!(
            parse("a -qr5 --revision 6 --revision=7 b -r 8 --xml -- -q").unwrap(),
            "<a> quiet revision=5 revision=6 revision=7 <b> revision=8 xml <-q>"
        );
    }

    #[test]
    fn mistakes() {
        for (line, want) in [
            ("-x", "invalid option character: x"),
            ("--rev 5", "invalid option: --rev"),
            ("-r", "missing argument: r"),
            ("--revision", "missing argument: --revision"),
            ("--quiet=1", "erroneous argument: --quiet=1"),
            ("-", "invalid option: "),
        ] {
            assert_eq!(parse(line).unwrap_err(), want);
        }
    }
}
