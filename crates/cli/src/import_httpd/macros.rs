//! mod_macro: `<Macro>` and `Use`.

use std::collections::HashMap;

use sapwood_core::exact::{Cut as _, Exact as _};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// A line of a file, and where it is, for messages.
#[derive(Clone, Debug)]
pub(super) struct SourceLine {
    pub(super) place: String,
    pub(super) text: String,
}

/// A macro: the names of its parameters, and its lines.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    name: String,
    parameters: Vec<String>,
    lines: Vec<SourceLine>,
}

/// The macros that are defined.
#[derive(Debug, Default)]
pub(super) struct Macros {
    known: HashMap<String, Macro>,
    /// Names of which it is not certain what they are.
    doubtful: HashMap<String, bool>,
}

fn wrong(place: &str, why: impl std::fmt::Display) -> SvnError {
    SvnError::new(ErrorCode::BAD_CONFIG_VALUE, format!("{place}: {why}"))
}

impl Macro {
    /// Takes the lines as far as `</Macro>`. `args` are the words of its first line.
    ///
    /// # Errors
    /// When it has no name or does not end.
    pub(super) fn read(
        place: &str,
        args: &[String],
        lines: &mut impl Iterator<Item = SourceLine>,
    ) -> SvnResult<Self> {
        let Some((name, parameters)) = args.split_first() else {
            return Err(wrong(place, "the macro has no name"));
        };
        let mut body = Vec::new();
        let mut inner = 0usize;
        for line in lines {
            let lower = line.text.to_ascii_lowercase();
            if lower.starts_with("</macro>") {
                if inner == 0 {
                    let name = name.to_ascii_lowercase();
                    return Ok(Self { name, parameters: parameters.to_vec(), lines: body });
                }
                inner = inner.minus(1);
            } else if lower.starts_with("<macro ") {
                inner = inner.plus(1);
            }
            body.push(line);
        }
        Err(wrong(place, "<Macro> is not closed"))
    }

    /// A line with the parameters' values in it: where several names match, the longest one counts.
    fn filled(&self, text: &str, args: &[String]) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let here = self.parameters.iter().zip(args);
            let here = here.filter(|(name, _)| !name.is_empty() && rest.starts_with(name.as_str()));
            match here.max_by_key(|(name, _)| name.len()) {
                Some((name, value)) => {
                    out.push_str(value);
                    rest = rest.tail(name.len());
                }
                None => {
                    out.push(c);
                    rest = rest.tail(c.len_utf8());
                }
            }
        }
        out
    }
}

impl Macros {
    /// Takes a macro. With `doubt` it may not have been read: then what was there before may count, too.
    pub(super) fn define(&mut self, mut new: Macro, doubt: bool) {
        if let Some(old) = self.known.remove(&new.name).filter(|_| doubt) {
            new.lines.extend(old.lines);
        }
        self.doubtful.insert(new.name.clone(), doubt);
        self.known.insert(new.name.clone(), new);
    }

    /// Whether a macro can be used with this number of parameters.
    pub(super) fn has(&self, name: &str, parameters: usize) -> bool {
        let found = self.known.get(&name.to_ascii_lowercase());
        found.is_some_and(|found| found.parameters.len() == parameters)
    }

    /// `UndefMacro`. One that may still be there is kept: an error is no answer where httpd reads on.
    pub(super) fn forget(&mut self, name: &str, doubt: bool) {
        let name = name.to_ascii_lowercase();
        if doubt {
            self.doubtful.insert(name, true);
        } else {
            self.known.remove(&name);
        }
    }

    /// The lines that `Use` stands for, and whether that is not certain.
    ///
    /// # Errors
    /// When there is no such macro, or it has another number of parameters.
    pub(super) fn expand(
        &self,
        line: &SourceLine,
        name: &str,
        args: &[String],
    ) -> SvnResult<(Vec<SourceLine>, bool)> {
        let name = name.to_ascii_lowercase();
        let found = self.known.get(&name);
        let found =
            found.ok_or_else(|| wrong(&line.place, format!("there is no macro '{name}'")))?;
        if found.parameters.len() != args.len() {
            return Err(wrong(&line.place, format!("the macro '{name}' has other parameters")));
        }
        let lines = found.lines.iter().map(|inner| SourceLine {
            place: format!("{} (macro of {})", line.place, inner.place),
            text: found.filled(&inner.text, args).trim().to_owned(),
        });
        Ok((lines.collect(), self.doubtful.get(&name).copied().unwrap_or(false)))
    }
}
