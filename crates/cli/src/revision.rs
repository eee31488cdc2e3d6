//! `-r` arguments: `N`, `N:M`, `HEAD`, `{DATE}`, `rN`.

use sapwood_core::{Revnum, SvnError, SvnResult};
use sapwood_fsfs::Filesystem;

use crate::command::usage_error;
use crate::user_date;

/// One end of a range, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum RevisionSpec {
    /// Nothing was said.
    #[default]
    Unspecified,
    /// A number; one too large for a revision number is kept as the largest.
    Number(Revnum),
    /// A date, in microseconds since 1970.
    Date(i64),
    /// The youngest.
    Head,
    /// `PREV`, `BASE` or `COMMITTED`, which mean something in a working copy only.
    WorkingCopy,
}

/// A `-r` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct RevisionRange {
    pub(crate) start: RevisionSpec,
    pub(crate) end: RevisionSpec,
}

impl RevisionRange {
    /// Both ends in a repository whose youngest revision is `youngest`, in order.
    pub(crate) fn resolve(
        self,
        fs: &Filesystem,
        youngest: Revnum,
    ) -> SvnResult<(Option<Revnum>, Option<Revnum>)> {
        let (start, end) = (self.start.resolve(fs, youngest)?, self.end.resolve(fs, youngest)?);
        if start.zip(end).is_some_and(|(start, end)| start > end) {
            return Err(usage_error("First revision cannot be higher than second"));
        }
        Ok((start, end))
    }

    /// Takes the value of a `-r` option.
    pub(crate) fn take(&mut self, text: &str) -> SvnResult<()> {
        if self.start != RevisionSpec::Unspecified {
            return Err(usage_error(
                "Multiple revision arguments encountered; try '-r N:M' instead of '-r N -r M'",
            ));
        }
        *self = parse(text)
            .ok_or_else(|| usage_error(format!("Syntax error in revision argument '{text}'")))?;
        Ok(())
    }
}

fn parse(text: &str) -> Option<RevisionRange> {
    let (start, rest) = parse_one(text)?;
    if rest.is_empty() {
        return Some(RevisionRange { start, end: RevisionSpec::Unspecified });
    }
    let (end, rest) = parse_one(rest.strip_prefix(':')?)?;
    rest.is_empty().then_some(RevisionRange { start, end })
}

fn parse_one(text: &str) -> Option<(RevisionSpec, &str)> {
    let text = text.trim_start_matches('r');
    if let Some(rest) = text.strip_prefix('{') {
        let (date, rest) = rest.split_once('}')?;
        return Some((RevisionSpec::Date(user_date::parse(date)?), rest));
    }
    let class = |digits: bool| {
        let end = text
            .bytes()
            .position(|b| if digits { !b.is_ascii_digit() } else { !b.is_ascii_alphabetic() })
            .unwrap_or(text.len());
        text.split_at_checked(end)
    };
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let (digits, rest) = class(true)?;
        let number = Revnum::parse(digits.as_bytes())
            .unwrap_or(Revnum(u64::try_from(i64::MAX).unwrap_or(0)));
        return Some((RevisionSpec::Number(number), rest));
    }
    let (word, rest) = class(false)?;
    let spec = match word.to_ascii_lowercase().as_str() {
        "head" => RevisionSpec::Head,
        "prev" | "base" | "committed" => RevisionSpec::WorkingCopy,
        _ => return None,
    };
    Some((spec, rest))
}

impl RevisionSpec {
    /// The revision in a repository whose youngest is `youngest`; `None` when unspecified.
    pub(crate) fn resolve(self, fs: &Filesystem, youngest: Revnum) -> SvnResult<Option<Revnum>> {
        let revision = match self {
            Self::Unspecified => return Ok(None),
            Self::Number(revision) => revision,
            Self::Head => youngest,
            Self::Date(date) => fs.dated_revision(date).map_err(SvnError::from)?,
            Self::WorkingCopy => return Err(usage_error("Invalid revision specifier")),
        };
        if revision > youngest {
            return Err(usage_error(format!(
                "Revisions must not be greater than the youngest revision ({youngest})"
            )));
        }
        Ok(Some(revision))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        use RevisionSpec::{Head, Number, Unspecified, WorkingCopy};
        for (text, start, end) in [
            ("5", Number(Revnum(5)), Unspecified),
            ("r5:rr7", Number(Revnum(5)), Number(Revnum(7))),
            ("HEAD:1", Head, Number(Revnum(1))),
            ("prev", WorkingCopy, Unspecified),
        ] {
            assert_eq!(parse(text), Some(RevisionRange { start, end }), "{text}");
        }
        for text in ["", "x", "5:", ":5", "5x", "5:6:7", "-1", "{bogus}", "{2000-01-01"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn dates() {
        let range = parse("{2020-01-02T03:04:05Z}:HEAD").unwrap();
        assert_eq!(range.start, RevisionSpec::Date(1_577_934_245_000_000));
    }

    #[test]
    fn two_options() {
        let mut range = RevisionRange::default();
        range.take("1").unwrap();
        assert!(range.take("2").is_err());
    }
}
