//! Revisions as users write them: `5`, `HEAD`, `{2026-11-22}`, `BASE`, and ranges of them.

use sapwood_core::Revnum;

/// One revision, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Revision {
    /// Nothing was said.
    #[default]
    Unspecified,
    /// A number; one too large for a revision number is kept as the largest.
    Number(Revnum),
    /// A date, in microseconds since 1970.
    Date(i64),
    /// The youngest of the repository.
    Head,
    /// What a working copy has.
    Base,
    /// When that was last changed.
    Committed,
    /// The revision before that.
    Previous,
    /// The working copy, with its changes. No one writes it: it is what an unspecified peg
    /// revision of a path means.
    Working,
}

impl Revision {
    /// Whether the revision means something in a working copy only.
    #[must_use]
    pub const fn needs_working_copy(self) -> bool {
        matches!(self, Self::Base | Self::Committed | Self::Previous | Self::Working)
    }

    /// Whether a working copy has what the revision means of its nodes: no server is asked for it. What
    /// was committed last is what there is in BASE.
    #[must_use]
    pub(crate) const fn is_in_working_copy(self) -> bool {
        matches!(self, Self::Base | Self::Committed | Self::Working)
    }

    /// This revision, or when nothing was said `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self == Self::Unspecified { other } else { self }
    }

    /// Whether something was said.
    #[must_use]
    pub fn is_given(self) -> bool {
        self != Self::Unspecified
    }
}

/// `N` or `N:M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Range {
    /// The first, or only one.
    pub start: Revision,
    /// The last.
    pub end: Revision,
}

/// Understands the text between `{` and `}` as a point in time, in microseconds since 1970.
pub type Dates<'a> = &'a dyn Fn(&str) -> Option<i64>;

impl Range {
    /// Takes `N` or `N:M` apart; `None` when it is neither.
    #[must_use]
    pub fn parse(text: &str, dates: Dates<'_>) -> Option<Self> {
        let (start, rest) = parse_one(text, dates)?;
        if rest.is_empty() {
            return Some(Self { start, end: Revision::Unspecified });
        }
        let (end, rest) = parse_one(rest.strip_prefix(':')?, dates)?;
        rest.is_empty().then_some(Self { start, end })
    }
}

fn parse_one<'a>(text: &'a str, dates: Dates<'_>) -> Option<(Revision, &'a str)> {
    let text = text.trim_start_matches('r');
    if let Some(rest) = text.strip_prefix('{') {
        let (date, rest) = rest.split_once('}')?;
        return Some((Revision::Date(dates(date)?), rest));
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
        let number = Revnum::parse(digits.as_bytes()).unwrap_or(Revnum(i64::MAX.unsigned_abs()));
        return Some((Revision::Number(number), rest));
    }
    let (word, rest) = class(false)?;
    let spec = match word.to_ascii_lowercase().as_str() {
        "head" => Revision::Head,
        "prev" => Revision::Previous,
        "base" => Revision::Base,
        "committed" => Revision::Committed,
        _ => return None,
    };
    Some((spec, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        use Revision::{Date, Head, Number, Previous, Unspecified};
        let parse = |text: &str| Range::parse(text, &|date| date.parse().ok());
        for (text, start, end) in [
            ("5", Number(Revnum(5)), Unspecified),
            ("r5:rr7", Number(Revnum(5)), Number(Revnum(7))),
            ("HEAD:1", Head, Number(Revnum(1))),
            ("prev", Previous, Unspecified),
            ("{77}:head", Date(77), Head),
        ] {
            assert_eq!(parse(text), Some(Range { start, end }), "{text}");
        }
        for text in ["", "x", "5:", ":5", "5x", "5:6:7", "-1", "{bogus}", "{20"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
