//! Words, patterns and texts of httpd's configuration language.
//!
//! Invariant: where it is not certain what a pattern matches, [`Pattern::could_match`] says that it could.

use std::path::Path;

use sapwood_core::exact::{Cut as _, Exact as _};

/// The name of a file, which may be relative, in quotes.
pub(super) fn file(root: &Path, name: &str) -> String {
    if sapwood_core::uri::is_url(name) {
        return quoted(name);
    }
    quoted(&root.join(name).to_string_lossy())
}

/// The words of a line. Only a word that begins with a quote is quoted, as in httpd.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let quote = Some(first).filter(|c| matches!(c, '"' | '\''));
        let body = if quote.is_some() { rest.tail(1) } else { rest };
        let (word, after) = one_word(body, quote);
        found.push(word);
        rest = after.trim_start();
    }
    found
}

/// A word up to its end, and what follows it.
fn one_word(body: &str, quote: Option<char>) -> (String, &str) {
    let mut word = String::new();
    let mut chars = body.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        match quote {
            _ if c == '\\' && (next == Some('\\') || (quote.is_some() && next == quote)) => {
                word.extend(chars.next().map(|(_, c)| c));
            }
            Some(quote) if c == quote => return (word, body.tail(at.plus(1))),
            None if c.is_whitespace() => return (word, body.tail(at)),
            _ => word.push(c),
        }
    }
    (word, "")
}

/// Text as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Text that fits in one line of a comment.
pub(super) fn in_comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Whether a word has characters of a file pattern in it.
pub(super) fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '[', '\\'])
}

/// Whether a name fits a pattern with `*`, `?` and `[...]`, where `*` takes no slash.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    fits_from(&pattern, &name)
}

fn fits_from(pattern: &[char], name: &[char]) -> bool {
    // Where the last star stands, and what it has taken so far.
    let (mut pattern, mut name) = (pattern, name);
    let mut star: Option<(&[char], &[char])> = None;
    loop {
        let step = match (pattern.split_first(), name.split_first()) {
            (None, None) => return true,
            (Some(('*', rest)), _) => {
                star = Some((rest, name));
                Some((rest, name))
            }
            (Some((_, _)), Some((c, name))) => one_fits(pattern, *c).map(|rest| (rest, name)),
            _ => None,
        };
        if let Some(next) = step {
            (pattern, name) = next;
            continue;
        }
        let Some((rest, taken)) = star else { return false };
        let Some((c, taken)) = taken.split_first() else { return false };
        if *c == '/' {
            return false;
        }
        star = Some((rest, taken));
        (pattern, name) = (rest, taken);
    }
}

/// The rest of a pattern after the part that matches one character, if it matches.
fn one_fits(pattern: &[char], c: char) -> Option<&[char]> {
    let (first, rest) = pattern.split_first()?;
    match first {
        '?' => (c != '/').then_some(rest),
        '\\' => rest.split_first().filter(|(own, _)| **own == c).map(|(_, rest)| rest),
        '[' => {
            let end = rest.iter().skip(1).position(|c| *c == ']')?.plus(1);
            let (set, rest) = rest.split_at_checked(end)?;
            let (not, set) = match set.split_first() {
                Some(('!' | '^', set)) => (true, set),
                _ => (false, set),
            };
            (in_set(set, c) != not && c != '/').then(|| rest.get(1..)).flatten()
        }
        own => (*own == c).then_some(rest),
    }
}

fn in_set(set: &[char], c: char) -> bool {
    match set {
        [from, '-', to, rest @ ..] => (*from..=*to).contains(&c) || in_set(rest, c),
        [one, rest @ ..] => *one == c || in_set(rest, c),
        [] => false,
    }
}

/// A pattern of addresses, as far as it is certain what it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The prefix of every address, in lower case.
    begin: String,
    /// Whether that is all of it.
    whole: bool,
}

impl Pattern {
    /// A file pattern, as `<Location "/a*">` has it.
    pub(super) fn of_file(pattern: &str) -> Self {
        let begin = pattern.split(['*', '?', '[', '\\']).next().unwrap_or("");
        Self { begin: begin.to_ascii_lowercase(), whole: false }
    }

    /// A regular expression.
    pub(super) fn of_regex(regex: &str) -> Self {
        let unknown = Self { begin: String::new(), whole: false };
        let Some(rest) = regex.strip_prefix('^').filter(|rest| !rest.contains('|')) else {
            return unknown;
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_ %~!@#&=:,;'\"<>".contains(c);
        let end = rest.find(|c| !is_plain(c)).unwrap_or(rest.len());
        let (mut begin, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let whole = rest == "$";
        if rest.starts_with(['*', '?', '{']) {
            // The last character may not be there.
            let mut chars = begin.chars();
            chars.next_back();
            begin = chars.as_str();
        }
        Self { begin: begin.to_ascii_lowercase(), whole }
    }

    /// Whether it could match an address at or below `path` (which has no slash at its end; the top is empty).
    pub(super) fn could_match(&self, path: &str) -> bool {
        let path = path.to_ascii_lowercase();
        let below = format!("{path}/");
        let starts_within = self.begin == path || self.begin.starts_with(&below);
        starts_within || (!self.whole && below.starts_with(&self.begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(words(r#"AuthName "a \"b\" c" 'd e' f"#), ["AuthName", "a \"b\" c", "d e", "f"]);
        assert_eq!(words(r#"X "" a"b c"#), ["X", "", "a\"b", "c"]);
        assert_eq!(words(r#"X "a"b"#), ["X", "a", "b"]);
    }

    #[test]
    fn file_patterns() {
        for (pattern, name) in [
            ("*.conf", "a.conf"),
            ("a*b*c", "axbyc"),
            ("x", "x"),
            ("[a-c]?", "bz"),
            ("[!a]", "b"),
            ("*", ""),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*.conf", "a.load"),
            ("x", "xy"),
            ("a*b", "xab"),
            ("*", "a/b"),
            ("[a-c]", "d"),
            ("[a", "[a"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn what_could_match() {
        for (regex, path, could) in [
            ("^/svn/[^/]+/secret", "/svn", true),
            ("^/svn/[^/]+/secret", "/svn/a", true),
            ("^/svn/x", "/svn", true),
            ("^/other", "/svn", false),
            ("^/(a|b)", "/svn", true),
            ("^/svnx?", "/svn", true),
            ("^/$", "/svn", false),
            ("^/$", "", true),
            ("secret", "/svn", true),
            ("^/SVN", "/svn", true),
            ("^/svn-old", "/svn", false),
            ("^/s.n", "/svn", true),
            ("^*", "/svn", true),
            ("^?x", "/svn", true),
        ] {
            assert_eq!(Pattern::of_regex(regex).could_match(path), could, "{regex} {path}");
        }
        assert!(Pattern::of_file("/s*/x").could_match("/svn"));
        assert!(!Pattern::of_file("/t*/x").could_match("/svn"));
    }
}
