//! Names of properties that look like one of Subversion's own, misspelled.

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wc::props::rules;

/// What is done with the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Set,
    Edit,
}

impl Use {
    const fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Edit => "edit",
        }
    }
}

const PREFIX: &str = "svn:";

/// Likeness of equal words.
const RANGE: usize = 1_000_000;

/// Refuses a name in the reserved part that is none of Subversion's own.
///
/// # Errors
/// E195011, with the names that were maybe meant.
pub(super) fn check(name: &str, revision: bool, how: Use) -> SvnResult<()> {
    let known: Vec<&str> = if revision {
        rules::known_revision_props().collect()
    } else {
        rules::known_node_props().collect()
    };
    let (Some(head), Some(rest)) = (name.get(..PREFIX.len()), name.get(PREFIX.len()..)) else {
        return Ok(());
    };
    if !head.ends_with(':') {
        return Ok(());
    }
    let force = || format!("Use '--force' to {} the '{name}' property.", how.word());
    let error = |text: String| SvnError::new(ErrorCode::CLIENT_PROPERTY_NAME, text);
    let same = common_subsequence(head.as_bytes(), PREFIX.as_bytes());
    if same < PREFIX.len().saturating_sub(1) {
        return Ok(());
    }
    if same < PREFIX.len() {
        let meant = known.iter().find(|k| k.get(PREFIX.len()..) == Some(rest));
        return meant.map_or(Ok(()), |meant| {
            let text =
                format!("'{name}' is not a valid {PREFIX} property name; did you mean '{meant}'?");
            Err(error(text).context(force()))
        });
    }
    if known.contains(&name) {
        return Ok(());
    }
    let meant = similar(rest, &known);
    let list = match meant.as_slice() {
        [] => {
            return Err(error(format!(
                "'{name}' is not a valid {PREFIX} property name; use '--force' to {} it",
                how.word()
            )));
        }
        [one] => format!("'{one}'"),
        [one, two] => format!("'{one}' or '{two}'"),
        [one, two, three, ..] => format!("'{one}', '{two}' or '{three}'"),
    };
    let text = format!("'{name}' is not a valid {PREFIX} property name; did you mean {list}?");
    Err(error(text).context(force()))
}

/// The known names that are most like a word, best first; none when none is like it.
fn similar<'k>(word: &str, known: &[&'k str]) -> Vec<&'k str> {
    let mut scored: Vec<(usize, usize, &str)> = known
        .iter()
        .map(|name| {
            let rest = name.get(PREFIX.len()..).unwrap_or_default();
            let lcs = common_subsequence(word.as_bytes(), rest.as_bytes());
            let total = word.len().saturating_add(rest.len());
            let score = lcs.saturating_mul(2 * RANGE).saturating_add(total / 2);
            let diff = word.len().max(rest.len()).saturating_sub(lcs);
            (score.checked_div(total).unwrap_or(RANGE), diff, *name)
        })
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.iter().filter(|s| s.0 >= (2 * RANGE + 1) / 3).take(3).map(|s| s.2).collect()
}

/// The length of the longest common subsequence.
fn common_subsequence(a: &[u8], b: &[u8]) -> usize {
    let mut row = vec![0usize; b.len().saturating_add(1)];
    for x in a {
        let mut diagonal = 0;
        let mut left = 0;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            left = if x == y { diagonal + 1 } else { above.max(left) };
            diagonal = above;
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions() {
        let told = |name: &str| check(name, false, Use::Set).map_err(|e| e.to_string());
        assert!(told("svn:eol-style").is_ok() && told("anything").is_ok());
        assert!(told("svn:executble").unwrap_err().contains("did you mean 'svn:executable'?"));
        assert!(told("svm:ignore").unwrap_err().contains("did you mean 'svn:ignore'?"));
        assert!(told("svn:zzzzz").is_err());
    }
}
