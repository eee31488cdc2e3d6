//! Peg revisions of targets: what [`table`] says of each, and targets taken by it. A command that asks
//! for a part that is not in the table gets E235000, so that no target is taken without a rule.

mod table;

use sapwood_client::target::{canonical_path, canonical_url, is_url, parse_peg, split_peg};
use sapwood_client::{Revision, Target};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use table::Peg;
pub(crate) use table::{Part, TABLE};

use crate::user_date;

/// A part of the command line of one subcommand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of {
    pub(crate) program: &'static str,
    /// The name in the table, not an alias; `""` for programs whose subcommands are alike.
    pub(crate) command: &'static str,
    pub(crate) part: Part,
}

impl Of {
    /// A part of a program whose subcommands are alike.
    pub(crate) const fn all(program: &'static str, part: Part) -> Self {
        Self { program, command: "", part }
    }

    fn rule(self) -> SvnResult<Peg> {
        let row = TABLE.iter().find(|row| {
            row.program == self.program && row.command == self.command && row.part == self.part
        });
        row.map(|row| row.peg).ok_or_else(|| {
            SvnError::internal(&format!("no rule for peg revisions of {self:?} is there"))
        })
    }

    /// The name that an argument stands for; `head` and `peg` are its two halves, the second one
    /// begins with the `@`.
    ///
    /// # Errors
    /// E200009 for a peg revision where none is allowed.
    pub(crate) fn name(self, head: &str, peg: &str) -> SvnResult<String> {
        match self.rule()? {
            Peg::NotLookedFor => Ok(format!("{head}{peg}")),
            Peg::Refused if peg.len() > 1 => Err(refused(&format!("{head}{peg}"))),
            Peg::Refused => Ok(head.to_owned()),
            Peg::ReadAndRefused => {
                let text = format!("{head}{peg}");
                match parse_peg(&text, peg, &user_date::parse)? {
                    Revision::Unspecified => Ok(head.to_owned()),
                    _ => Err(refused(&text)),
                }
            }
            Peg::Allowed => Err(SvnError::internal(&format!("{self:?} has a peg revision"))),
        }
    }

    /// The name that an argument as it was typed stands for.
    ///
    /// # Errors
    /// E200009 for a peg revision where none is allowed.
    pub(crate) fn whole(self, word: &str) -> SvnResult<String> {
        let (head, peg) = split_peg(word);
        self.name(head, peg)
    }

    /// The same of an argument that is made canonical first.
    ///
    /// # Errors
    /// Those of [`canonical`], and E200009.
    pub(crate) fn whole_canonical(self, word: &str) -> SvnResult<String> {
        self.whole(&canonical(word)?)
    }

    /// The target of an argument as it was typed.
    ///
    /// # Errors
    /// E125001 for nothing but a peg revision, E205000 for an invalid peg revision, E125002 for
    /// a URL with `..`.
    pub(crate) fn pegged(self, word: &str) -> SvnResult<Target> {
        self.pegged_canonical(&canonical_target(word)?)
    }

    /// The target of an argument from [`canonical_target`].
    ///
    /// # Errors
    /// E205000 for an invalid peg revision.
    pub(crate) fn pegged_canonical(self, text: &str) -> SvnResult<Target> {
        let (head, peg) = split_peg(text);
        self.target(head, peg)
    }

    /// The target and its peg revision; `head` as in [`Of::name`], canonical.
    ///
    /// # Errors
    /// E205000 for an invalid peg revision.
    pub(crate) fn target(self, head: &str, peg: &str) -> SvnResult<Target> {
        match self.rule()? {
            Peg::Allowed => {
                let peg = parse_peg(&format!("{head}{peg}"), peg, &user_date::parse)?;
                Ok(Target { text: head.to_owned(), peg })
            }
            _ => Err(SvnError::internal(&format!("{self:?} takes no peg revision"))),
        }
    }
}

fn refused(text: &str) -> SvnError {
    let words = format!("'{text}': a peg revision is not allowed here");
    SvnError::new(ErrorCode::ILLEGAL_TARGET, words)
}

/// An argument in its canonical form, but for what follows the `@` of its last component. As in the
/// reference that can bring another `@` into the last component, which counts then: `dir@1/` becomes
/// `dir@1`, and `%40` of a URL becomes `@`.
///
/// # Errors
/// E125002 for a URL with `..`.
pub(crate) fn canonical(word: &str) -> SvnResult<String> {
    let (head, peg) = split_peg(word);
    let head = if is_url(head) { canonical_url(head)?.into_string() } else { canonical_path(head) };
    Ok(format!("{head}{peg}"))
}

/// The same, of the clients.
///
/// # Errors
/// E125001 for an argument that is nothing but a peg revision, E125002 for a URL with `..`.
pub(crate) fn canonical_target(word: &str) -> SvnResult<String> {
    match split_peg(word) {
        ("", peg) if !peg.is_empty() => Err(SvnError::new(
            ErrorCode::BAD_FILENAME,
            format!("'{word}' is just a peg revision. Maybe try '{word}@' instead?"),
        )),
        _ => canonical(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &'static str, part: Part) -> Of {
        Of { program: "svn", command, part }
    }

    #[test]
    fn names_by_rule() {
        let refused = of("commit", Part::Target);
        assert_eq!(refused.name("a", "").unwrap(), "a");
        assert_eq!(refused.name("a@2x.png", "@").unwrap(), "a@2x.png");
        let error = refused.name("img", "@2x.png").unwrap_err();
        assert_eq!(error.code(), ErrorCode::ILLEGAL_TARGET);
        assert_eq!(error.message(), "'img@2x.png': a peg revision is not allowed here");
        assert_eq!(of("switch", Part::Folder).name("b", "@1").unwrap(), "b@1");
        assert_eq!(Of::all("svnmucc", Part::Target).whole("a/b@1").unwrap(), "a/b@1");
    }

    #[test]
    fn canonical_forms_can_have_another_peg() {
        for (word, text) in
            [("dir@1/", "dir@1"), ("a/@", "a@"), ("file:///r/a%40b", "file:///r/a@b")]
        {
            assert_eq!(canonical(word).unwrap(), text);
        }
        assert_eq!(
            canonical_target("@x").unwrap_err().message(),
            "'@x' is just a peg revision. Maybe try '@x@' instead?"
        );
        let copied = of("copy", Part::Destination);
        assert_eq!(copied.name("a", "@5").unwrap_err().code(), ErrorCode::ILLEGAL_TARGET);
        assert_eq!(copied.name("a", "@5x").unwrap_err().code(), ErrorCode::CL_ARG_PARSING_ERROR);
    }

    #[test]
    fn each_part_has_one_rule() {
        let mut keys: Vec<_> = TABLE
            .iter()
            .map(|row| format!("{} {} {:?}", row.program, row.command, row.part))
            .collect();
        let all = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
