//! `-r` arguments: `N`, `N:M`, `HEAD`, `{DATE}`, `rN`.

use sapwood_client::Range;
pub(crate) use sapwood_client::Revision as RevisionSpec;
use sapwood_core::{Revnum, SvnError, SvnResult};
use sapwood_fs::Filesystem;

use crate::usage::usage_error;
use crate::user_date;

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
        let (start, end) = (resolve(self.start, fs, youngest)?, resolve(self.end, fs, youngest)?);
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
    let Range { start, end } = Range::parse(text, &user_date::parse)?;
    Some(RevisionRange { start, end })
}

/// The revision in a repository whose youngest is `youngest`; `None` when unspecified.
pub(crate) fn resolve(
    spec: RevisionSpec,
    fs: &Filesystem,
    youngest: Revnum,
) -> SvnResult<Option<Revnum>> {
    let revision = match spec {
        RevisionSpec::Unspecified => return Ok(None),
        RevisionSpec::Number(revision) => revision,
        RevisionSpec::Head => youngest,
        RevisionSpec::Date(date) => fs.dated_revision(date).map_err(SvnError::from)?,
        _ => return Err(usage_error("Invalid revision specifier")),
    };
    if revision > youngest {
        return Err(usage_error(format!(
            "Revisions must not be greater than the youngest revision ({youngest})"
        )));
    }
    Ok(Some(revision))
}

#[cfg(test)]
mod tests {
    use super::*;

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
