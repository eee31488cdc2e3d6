//! Values of options that several programs take: `-c`, `--depth`, `--limit`.

use sapwood_core::exact::Exact;
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};

use crate::command::usage_error;
use crate::revision::{RevisionRange, RevisionSpec};

/// The value of `--limit`.
pub(crate) fn parse_limit(text: &str) -> SvnResult<u64> {
    match text.trim().parse::<i32>() {
        Err(_) => Err(SvnError::new(
            ErrorCode::INCORRECT_PARAMS,
            format!("Could not convert '{text}' into a number"),
        )
        .wrap(ErrorCode::CL_ARG_PARSING_ERROR, "Non-numeric limit argument given")),
        Ok(limit) => u64::try_from(limit).ok().filter(|limit| *limit > 0).ok_or_else(|| {
            SvnError::new(ErrorCode::INCORRECT_PARAMS, "Argument to --limit must be positive")
        }),
    }
}

/// The value of `--depth`.
pub(crate) fn parse_depth(text: &str) -> SvnResult<Depth> {
    match Depth::from_word(text.as_bytes()) {
        Depth::Unknown | Depth::Exclude => Err(usage_error(format!(
            "'{text}' is not a valid depth; try 'empty', 'files', 'immediates', or 'infinity'"
        ))),
        depth => Ok(depth),
    }
}

/// The ranges of a `-c`: from the older side of the change to the younger, or back.
pub(crate) fn parse_changes(text: &str) -> SvnResult<Vec<RevisionRange>> {
    let parts = text.split([',', ' ', '\n', '\r', '\t', '\x0b']).filter(|part| !part.is_empty());
    parts.map(parse_change).collect()
}

fn parse_change(text: &str) -> SvnResult<RevisionRange> {
    let not_a_number = || usage_error(format!("Non-numeric change argument ({text}) given to -c"));
    let negative = text.starts_with('-');
    let rest = text.strip_prefix('-').unwrap_or(text).trim_start_matches('r');
    let (back, rest) = match rest.strip_prefix('-') {
        Some(_) if negative => return Err(not_a_number()),
        Some(rest) => (true, rest),
        None => (negative, rest),
    };
    let number = |digits: &str| digits.parse::<u64>().map_err(|_| not_a_number());
    let (first, last) = match rest.split_once('-') {
        Some(_) if back => {
            return Err(usage_error(format!(
                "Negative number in range ({text}) not supported with -c"
            )));
        }
        Some((first, last)) => (number(first)?, number(last.trim_start_matches('r'))?),
        None => (number(rest)?, number(rest)?),
    };
    if first == 0 || last == 0 {
        return Err(usage_error("There is no change 0"));
    }
    let before = |number: u64| number.minus(1);
    let (start, end) = if back {
        (first, before(first))
    } else if first <= last {
        (before(first), last)
    } else {
        (first, before(last))
    };
    Ok(RevisionRange {
        start: RevisionSpec::Number(Revnum(start)),
        end: RevisionSpec::Number(Revnum(end)),
    })
}
