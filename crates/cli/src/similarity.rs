//! Words that were probably meant by others: the nearest of a list.

use sapwood_core::exact::Exact;

/// How alike two words are: how much of both is the longest subsequence that they share, in
/// millionths, and how many letters of the longer one are not in it.
pub(crate) fn score(a: &[u8], b: &[u8]) -> (usize, usize) {
    let mut row = vec![0usize; b.len().plus(1)];
    for x in a {
        // The row before it, one to the left.
        let mut corner = 0usize;
        let mut left = 0usize;
        for (above, y) in row.iter_mut().skip(1).zip(b) {
            let here = if x == y { corner.plus(1) } else { left.max(*above) };
            corner = std::mem::replace(above, here);
            left = here;
        }
    }
    let common = row.last().copied().unwrap_or(0);
    let total = a.len().plus(b.len());
    let millionths =
        common.times(2_000_000).plus(total / 2).checked_div(total).unwrap_or(1_000_000);
    (millionths, a.len().max(b.len()).minus(common))
}

/// Words that share less than this are not suggested.
const ENOUGH: usize = 666_667;

/// The best match of a word in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// The word itself.
    Exact(&'static str),
    /// Others, the most alike first; perhaps none.
    Near(Names),
}

/// Words that may have been meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names(pub(crate) Vec<&'static str>);

impl Names {
    /// `'a'`, `'a' or 'b'`, `'a', 'b' or 'c'`; `None` when there are none.
    pub(crate) fn suggestion(&self) -> Option<String> {
        self.suggestion_with("")
    }

    /// The same with something before each word.
    pub(crate) fn suggestion_with(&self, prefix: &str) -> Option<String> {
        match self.0.as_slice() {
            [] => None,
            [one] => Some(format!("'{prefix}{one}'")),
            [one, two] => Some(format!("'{prefix}{one}' or '{prefix}{two}'")),
            [one, two, three, ..] => {
                Some(format!("'{prefix}{one}', '{prefix}{two}' or '{prefix}{three}'"))
            }
        }
    }
}

/// Looks for a word in a list, and for words like it.
pub(crate) fn closest(word: &str, list: &[&'static str]) -> Likeness {
    if let Some(exact) = list.iter().find(|other| **other == word) {
        return Likeness::Exact(exact);
    }
    let mut scored: Vec<(usize, usize, &'static str)> = list
        .iter()
        .map(|other| {
            let (score, difference) = score(word.as_bytes(), other.as_bytes());
            (score, difference, *other)
        })
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let near = scored.into_iter().take_while(|(score, _, _)| *score >= ENOUGH);
    Likeness::Near(Names(near.map(|(_, _, name)| name).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_words() {
        let list = ["ignore", "keywords", "executable", "externals"];
        assert_eq!(closest("ignore", &list), Likeness::Exact("ignore"));
        let near = |word| match closest(word, &list) {
            Likeness::Near(names) => names.suggestion(),
            Likeness::Exact(_) => None,
        };
        assert_eq!(near("ignor").as_deref(), Some("'ignore'"));
        assert_eq!(near("xyz"), None);
    }
}
