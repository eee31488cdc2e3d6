//! Groups of three characters: the words of the index.
//!
//! SQLite's tokenizer `trigram` makes them of texts, and of what is asked; here a question is only cut into such groups, for an
//! index that does not say where in a text they are takes no longer ones.

/// Groups of one word that are asked for: more say nothing more.
const MOST_OF_WORD: usize = 24;

/// The expression that finds what may have all these words; `None` when they are too short for that.
pub(crate) fn expression(words: &[String]) -> Option<String> {
    let mut groups: Vec<String> = Vec::new();
    for word in words {
        let characters: Vec<char> = word.chars().filter(|c| *c != '\0').collect();
        let windows = characters.windows(3);
        // Those of a long word from all parts of it.
        let step = windows.len().div_ceil(MOST_OF_WORD).max(1);
        groups.extend(windows.step_by(step).map(|group| group.iter().collect()));
    }
    groups.sort_unstable();
    groups.dedup();
    let quoted: Vec<String> =
        groups.iter().map(|group| format!("\"{}\"", group.replace('"', "\"\""))).collect();
    (!quoted.is_empty()).then(|| quoted.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Option<String> {
        expression(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_cut() {
        assert_eq!(of(&["abcd", "bcd"]), Some("\"abc\" AND \"bcd\"".to_owned()));
        assert_eq!(of(&["ab", "x"]), None);
        assert_eq!(of(&["a\"b"]), Some("\"a\"\"b\"".to_owned()));
        assert_eq!(of(&["äöü"]), Some("\"äöü\"".to_owned()));
        let long: String = ('a'..='z').chain('0'..='9').chain('A'..='Z').collect();
        assert!(of(&[&long]).unwrap().matches(" AND ").count() < MOST_OF_WORD);
    }
}
