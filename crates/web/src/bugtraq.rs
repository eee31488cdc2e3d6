//! Links from log messages to issues, by the properties `bugtraq:url`, `bugtraq:logregex`, `bugtraq:message` and
//! `bugtraq:number`, as TortoiseSVN has them.
//!
//! Invariants: a link leads to `http`, `https` or a place of this server, whatever a property says; patterns take time that
//! grows with the text, and all of a page no more than [`TIME`]: what is left then has no links.

use std::ops::Range;
use std::time::{Duration, Instant};

use maud::{Markup, html};
use regex_lite::{Regex, RegexBuilder};
use sapwood_core::FsPath;
use sapwood_core::exact::Exact as _;

use crate::Request;
use crate::fault::Result;
use crate::links;

/// The time that looking for issues may take on one page.
const TIME: Duration = Duration::from_millis(250);
/// Bytes of a compiled pattern.
const PATTERN: usize = 32 << 10;
/// Bytes of a property that are read.
const VALUE: usize = 2_000;
/// Bytes of a message in which issues are looked for.
const MESSAGE: usize = 4_000;
/// Issues of one message.
const ISSUES: usize = 100;
/// What stands for the issue in properties.
const ID: &str = "%BUGID%";

/// How the issues of a message are found.
enum Finder {
    /// The groups of a pattern; in what it finds another pattern may look for the issues.
    Pattern(Regex, Option<Regex>),
    /// A line that begins and ends with something. Whether issues are numbers.
    Line { before: String, after: String, are_numbers: bool },
}

/// Makes links of the issues in messages.
pub(crate) struct Issues {
    url: String,
    finder: Finder,
    until: Instant,
}

impl Issues {
    /// Those of the tracker that is set for `path` or a folder above it in the newest revision. Nothing where none is, or what is
    /// set has no meaning.
    pub(crate) fn of(request: &Request<'_>, path: &FsPath) -> Result<Option<Self>> {
        let names = ["bugtraq:url", "bugtraq:logregex", "bugtraq:message", "bugtraq:number"];
        let [url, pattern, message, number] = request.view.set_above(path, names)?;
        let value = |value: Option<Vec<u8>>| {
            value
                .filter(|value| value.len() <= VALUE)
                .and_then(|value| String::from_utf8(value).ok())
        };
        let Some(url) = value(url).and_then(|url| address(request.links, url.trim())) else {
            return Ok(None);
        };
        let finder = match (value(pattern), value(message)) {
            (Some(pattern), _) if !pattern.trim().is_empty() => by_pattern(&pattern),
            (_, Some(message)) => by_line(&message, value(number).as_deref()),
            _ => None,
        };
        let now = Instant::now();
        let until = now.checked_add(TIME).unwrap_or(now);
        Ok(finder.map(|finder| Self { url, finder, until }))
    }

    /// A message with links.
    pub(crate) fn links(&self, message: &str) -> Markup {
        let mut done = 0;
        let mut parts = Vec::new();
        for range in self.find(message) {
            let (Some(plain), Some(id)) =
                (message.get(done..range.start), message.get(range.clone()))
            else {
                continue;
            };
            parts.push((plain, id));
            done = range.end;
        }
        let rest = message.get(done..).unwrap_or("");
        html! {
            @for (plain, id) in &parts {
                (plain) a.issue href=(self.url.replace(ID, &escaped(id))) rel="nofollow noreferrer" { (id) }
            }
            (rest)
        }
    }

    /// Where the issues of a message are: in order, none within another.
    fn find(&self, message: &str) -> Vec<Range<usize>> {
        let end = (0..=message.len().min(MESSAGE)).rev().find(|end| message.is_char_boundary(*end));
        let text = end.and_then(|end| message.get(..end)).unwrap_or("");
        let mut found = match &self.finder {
            Finder::Pattern(pattern, None) => self.groups(pattern, text, 0),
            Finder::Pattern(outer, Some(inner)) => {
                let outer = self.matches(outer, text);
                let inner = outer.into_iter().filter_map(|range| {
                    Some(self.groups(inner, text.get(range.clone())?, range.start))
                });
                inner.flatten().collect()
            }
            Finder::Line { before, after, are_numbers } => {
                in_lines(text, before, after, *are_numbers)
            }
        };
        found.retain(|range| !range.is_empty());
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let mut last = 0;
        found.retain(|range| {
            let is_free = range.start >= last;
            last = if is_free { range.end } else { last };
            is_free
        });
        found.truncate(ISSUES);
        found
    }

    /// What a pattern finds, as long as there is time.
    fn matches(&self, pattern: &Regex, text: &str) -> Vec<Range<usize>> {
        let all = pattern.find_iter(text).take_while(|_| !self.is_over()).take(ISSUES);
        if self.is_over() { Vec::new() } else { all.map(|found| found.range()).collect() }
    }

    /// The groups of all that a pattern finds; all of it where it has none. `at`: where the text begins in its message.
    fn groups(&self, pattern: &Regex, text: &str, at: usize) -> Vec<Range<usize>> {
        if self.is_over() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for captures in pattern.captures_iter(text).take_while(|_| !self.is_over()).take(ISSUES) {
            let groups = captures.iter().skip(usize::from(captures.len() > 1)).flatten();
            found.extend(groups.map(|group| at.plus(group.start())..at.plus(group.end())));
        }
        found
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// An issue in an address: one name, never a path.
fn escaped(id: &str) -> String {
    links::field(id).replace('/', "%2F")
}

/// The address of an issue, with [`ID`] in it, if it is one that a link may have.
fn address(links: &links::Links, url: &str) -> Option<String> {
    let lower = url.to_ascii_lowercase();
    let is_clean = !url.chars().any(|c| c.is_control() || c.is_whitespace());
    if !is_clean || !url.contains(ID) {
        return None;
    }
    if let Some(below) = url.strip_prefix("^/") {
        return Some(links.below_root(below));
    }
    // The issue must not choose the server.
    let host = |url: &str| url.split(['/', '?', '#']).next().is_some_and(|host| !host.contains(ID));
    let is_web = ["http://", "https://"]
        .iter()
        .any(|scheme| lower.starts_with(scheme) && url.get(scheme.len()..).is_some_and(host));
    let is_here = url.starts_with('/') && !url.starts_with("//") && !url.starts_with("/\\");
    (is_web || is_here).then(|| url.to_owned())
}

fn by_pattern(value: &str) -> Option<Finder> {
    let compiled = |pattern: &str| RegexBuilder::new(pattern).size_limit(PATTERN).build().ok();
    let mut lines = value.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let first = compiled(lines.next()?)?;
    match lines.next() {
        Some(second) => Some(Finder::Pattern(first, Some(compiled(second)?))),
        None => Some(Finder::Pattern(first, None)),
    }
}

fn by_line(value: &str, number: Option<&str>) -> Option<Finder> {
    let (before, after) = value.trim_matches(['\r', '\n']).split_once(ID)?;
    if before.trim().is_empty() && after.trim().is_empty() {
        return None;
    }
    let are_numbers = number.is_none_or(|number| number.trim() != "false");
    Some(Finder::Line { before: before.to_owned(), after: after.to_owned(), are_numbers })
}

/// The issues, with commas between them, of lines that begin and end with something.
fn in_lines(text: &str, before: &str, after: &str, are_numbers: bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0usize;
    for line in text.split_inclusive('\n') {
        let begun = at;
        at = at.plus(line.len());
        let line = line.trim_end_matches(['\r', '\n']);
        let inner = line.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        let Some(inner) = inner else { continue };
        let mut start = begun.plus(before.len());
        for part in inner.split(',') {
            let id = part.trim();
            let skipped = part.len().minus(part.trim_start().len());
            let first = start.plus(skipped);
            let is_issue = !are_numbers || id.bytes().all(|byte| byte.is_ascii_digit());
            if is_issue && !id.is_empty() {
                found.push(first..first.plus(id.len()));
            }
            start = start.plus(part.len()).plus(1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Prefix;

    fn issues(url: &str, finder: Option<Finder>) -> Issues {
        let links = links::Links::new("/svn/repo", Prefix::Short);
        let until = Instant::now().checked_add(Duration::from_secs(60)).unwrap();
        Issues { url: address(&links, url).unwrap(), finder: finder.unwrap(), until }
    }

    fn found(finder: Option<Finder>, message: &str) -> Vec<String> {
        let issues = issues("https://x/%BUGID%", finder);
        issues.find(message).into_iter().map(|range| message[range].to_owned()).collect()
    }

    #[test]
    fn issues_are_found_as_tortoise_finds_them() {
        let one = "[Ii]ssues?:?\\s*#?(\\d+)";
        assert_eq!(found(by_pattern(one), "Issue #12, issues 7\nissue x"), ["12", "7"]);
        let two = "[Ii]ssues?:?(\\s*(,|and)?\\s*#\\d+)+\r\n(\\d+)";
        assert_eq!(found(by_pattern(two), "See issues #1, #2 and #33. In 44"), ["1", "2", "33"]);
        assert_eq!(found(by_pattern("[A-Z]+-\\d+"), "\u{fc} ABC-1x DEF-2"), ["ABC-1", "DEF-2"]);
        let line = || by_line("Bug: %BUGID%.", None);
        assert_eq!(found(line(), "text 5\nBug: 1, 22,x.\r\nBug: 3"), ["1", "22"]);
        assert_eq!(found(by_line("Bug: %BUGID%", Some("false")), "Bug: A-1, b"), ["A-1", "b"]);
        assert!(by_line("%BUGID%", None).is_none() && by_line("Bug", None).is_none());
    }

    #[test]
    fn links_lead_where_they_may_and_are_escaped() {
        let links = links::Links::new("/svn/repo", Prefix::Short);
        for url in [
            "javascript:alert(%BUGID%)",
            "data:text/html,%BUGID%",
            "//elsewhere/%BUGID%",
            "/\\elsewhere/%BUGID%",
            "https://%BUGID%/x",
            "https://%BUGID%.evil/x",
            "https://x/none",
            "java\nscript:%BUGID%",
            "bug/%BUGID%",
        ] {
            assert_eq!(address(&links, url), None, "{url}");
        }
        let at = |url: &str| address(&links, url).unwrap();
        assert_eq!(at("^/bugs/%BUGID%"), "/svn/repo/bugs/%BUGID%");
        assert_eq!(at("/bugs?id=%BUGID%"), "/bugs?id=%BUGID%");
        assert_eq!(at("HTTPS://x/%BUGID%"), "HTTPS://x/%BUGID%");
        let issues = issues("https://x/\"<%BUGID%", by_pattern("bug (\\S+)"));
        let html = issues.links("<b> bug a\"/../?&<").into_string();
        let expected = "&lt;b&gt; bug <a class=\"issue\" href=\"https://x/&quot;&lt;a%22%2F..%2F%3F%26%3C\" \
            rel=\"nofollow noreferrer\">a&quot;/../?&amp;&lt;</a>";
        assert_eq!(html, expected);
    }

    /// A pattern that is made to be slow is no pattern, or ends.
    #[test]
    fn hostile_patterns_end() {
        assert!(by_pattern("((a{200}){200}){200}").is_none());
        assert!(by_pattern("(").is_none());
        let slow = by_pattern("(a|aa|a*)*b|(a+a+)+c").unwrap();
        let mut issues = issues("https://x/%BUGID%", Some(slow));
        assert!(issues.find(&"a".repeat(100_000)).len() <= ISSUES);
        assert_eq!(issues.find("aab").len(), 1);
        issues.until = Instant::now();
        assert!(issues.find("aab").is_empty(), "its time is over");
    }
}
