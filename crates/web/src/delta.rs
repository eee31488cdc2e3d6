//! Differences of two texts, as lines with their numbers.

use maud::{Markup, html};
use sapwood_core::exact::Exact as _;
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_core::{NodeKind, PropList};
use sapwood_diff::{Options, Range, compare};
use sapwood_fs::Node;

use crate::budget::{self, Budget};
use crate::fault::Result;
use crate::{file, text, words};

/// Unchanged lines around changes.
const CONTEXT: usize = 3;

/// Two texts that can be compared, or why they cannot.
pub(crate) enum Texts {
    Both(Vec<u8>, Vec<u8>),
    Not(&'static str),
}

impl Texts {
    /// The texts of two files; nothing is an empty text.
    pub(crate) fn of(old: Option<&Node>, new: Option<&Node>) -> Result<Self> {
        let mut texts = [Vec::new(), Vec::new()];
        for (node, text) in [old, new].into_iter().zip(&mut texts) {
            let Some(node) = node.filter(|node| node.kind() == NodeKind::File) else { continue };
            if node.props()?.get(names::MIME_TYPE).is_some_and(is_binary_mime_type) {
                return Ok(Self::Not(words::BINARY_DELTA));
            }
            if node.length()? > budget::TEXT {
                return Ok(Self::Not(words::TOO_LARGE));
            }
            *text = file::whole(node)?;
            if text::is_binary(text) {
                return Ok(Self::Not(words::BINARY_DELTA));
            }
        }
        let [old, new] = texts;
        if !is_cheap(&old, &new) {
            return Ok(Self::Not(words::TOO_LARGE));
        }
        Ok(Self::Both(old, new))
    }
}

/// Whether two texts have few lines that may differ.
pub(crate) fn is_cheap(old: &[u8], new: &[u8]) -> bool {
    let (mut old, mut new): (Vec<&[u8]>, Vec<&[u8]>) =
        (text::lines(old).collect(), text::lines(new).collect());
    while old.last().is_some() && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let pairs = old.len().minus(same).checked_mul(new.len().minus(same));
    pairs.is_some_and(|pairs| pairs <= budget::PAIRS)
}

/// One line of a difference.
struct Line<'t> {
    old: Option<usize>,
    new: Option<usize>,
    text: &'t [u8],
}

/// The differences of two files, or a sentence.
pub(crate) fn files(old: Option<&Node>, new: Option<&Node>, budget: &Budget) -> Result<Markup> {
    Ok(match Texts::of(old, new)? {
        Texts::Not(words) => html! { p.note { (words) } },
        Texts::Both(old, new) => texts(&old, &new, budget),
    })
}

/// The differences of two texts.
pub(crate) fn texts(old: &[u8], new: &[u8], budget: &Budget) -> Markup {
    let options = Options { context: CONTEXT, ..Options::default() };
    let diff = compare(&options, old, new);
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) =
        (text::lines(old).collect(), text::lines(new).collect());
    let (most, most_bytes) = budget.left();
    let mut hunks: Vec<Vec<Line<'_>>> = Vec::new();
    let (mut count, mut bytes, mut is_cut) = (0usize, 0usize, false);
    let ranges = diff.ranges.iter().enumerate();
    'ranges: for (at, range) in ranges {
        let is_last = at.plus(1) == diff.ranges.len();
        for line in shown(range, at == 0, is_last, &old, &new) {
            let Some(line) = line else {
                hunks.push(Vec::new());
                continue;
            };
            if count == most || bytes >= most_bytes {
                is_cut = true;
                break 'ranges;
            }
            count = count.plus(1);
            bytes = bytes.plus(line.text.len().min(budget::LINE));
            match hunks.last_mut() {
                Some(hunk) => hunk.push(line),
                None => hunks.push(vec![line]),
            }
        }
    }
    budget.take(count, bytes);
    hunks.retain(|hunk| !hunk.is_empty());
    html! {
        table.delta {
            @for (at, hunk) in hunks.iter().enumerate() {
                @if at > 0 { tr.gap { td colspan="4" { "\u{22ef}" } } }
                @for line in hunk { (row(line)) }
            }
        }
        @if is_cut { p.note { (words::TOO_MANY_LINES) } }
    }
}

/// The lines of a range that are shown; `None` between those that are not neighbours.
fn shown<'t>(
    range: &Range,
    is_first: bool,
    is_last: bool,
    old: &[&'t [u8]],
    new: &[&'t [u8]],
) -> Vec<Option<Line<'t>>> {
    let line = |text: &[&'t [u8]], at: usize| text.get(at).copied().unwrap_or(&[]);
    let mut lines = Vec::new();
    if !range.common {
        for at in range.old_start..range.old_start.plus(range.old_len) {
            lines.push(Some(Line { old: Some(at), new: None, text: line(old, at) }));
        }
        for at in range.new_start..range.new_start.plus(range.new_len) {
            lines.push(Some(Line { old: None, new: Some(at), text: line(new, at) }));
        }
        return lines;
    }
    let len = range.new_len;
    let head = if is_first { 0 } else { CONTEXT.min(len) };
    let tail = if is_last { 0 } else { CONTEXT.min(len) };
    let common = |at: usize| {
        let (old_at, new_at) = (range.old_start.plus(at), range.new_start.plus(at));
        Some(Line { old: Some(old_at), new: Some(new_at), text: line(new, new_at) })
    };
    if head.plus(tail) >= len {
        lines.extend((0..len).map(common));
    } else {
        lines.extend((0..head).map(common));
        lines.push(None);
        lines.extend((len.minus(tail)..len).map(common));
    }
    lines
}

fn row(line: &Line<'_>) -> Markup {
    let number = |at: Option<usize>| html! { td.n { @if let Some(at) = at { (at.plus(1)) } } };
    let (class, sign) = match (line.old, line.new) {
        (Some(_), None) => ("del", "\u{2212}"),
        (None, Some(_)) => ("add", "+"),
        _ => ("same", ""),
    };
    let has_end = line.text.ends_with(b"\n") || line.text.ends_with(b"\r");
    html! {
        tr class=(class) {
            (number(line.old)) (number(line.new)) td.s { (sign) }
            td.c { (text::line(line.text)) @if !has_end { span.dim title=(words::LINE_BREAK) { "\u{2205}" } } }
        }
    }
}

/// The differences of two lists of properties; empty where there are none.
pub(crate) fn properties(old: &PropList, new: &PropList) -> Markup {
    let changes = old.diff_to(new);
    if changes.is_empty() {
        return html! {};
    }
    let value = |value: Option<&[u8]>| {
        html! {
            td { @match value {
                Some(value) => pre { (file::value_text(value)) },
                None => span.dim { (words::NOT_SET) },
            } }
        }
    };
    html! {
        table.propdelta {
            thead { tr { th { (words::PROPERTY) } th { (words::BEFORE) } th { (words::AFTER) } } }
            tbody {
                @for (name, after) in changes.iter().take(budget::PROPERTIES) {
                    tr { th { bdi { (text::shown(name)) } } (value(old.get(name))) (value(after.as_deref())) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_as(old: &str, new: &str) -> String {
        texts(old.as_bytes(), new.as_bytes(), &Budget::new()).into_string()
    }

    #[test]
    fn lines_with_their_numbers() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let html = shown_as(&old, &old.replace("10\n", "<ten>\n"));
        assert!(
            html.contains("<tr class=\"del\"><td class=\"n\">10</td><td class=\"n\"></td>"),
            "{html}"
        );
        assert!(html.contains("&lt;ten&gt;"), "{html}");
        // Three lines around it, and no more.
        assert!(html.contains("\"c\">7<") && html.contains("\"c\">13<"), "{html}");
        assert!(!html.contains("\"c\">6<") && !html.contains("\"c\">14<"), "{html}");
        // Lines are those that the comparison counts.
        let html = shown_as("a\rb\rc\r", "a\rb\rd\r");
        assert!(
            html.contains("<tr class=\"add\"><td class=\"n\"></td><td class=\"n\">3</td>"),
            "{html}"
        );
        assert_eq!(shown_as("a\n", "a\n"), "<table class=\"delta\"></table>");
    }

    #[test]
    fn a_page_has_so_many_lines() {
        let new: String = (0..5_000).map(|n| format!("{n}\n")).collect();
        let budget = Budget::new();
        let html = texts(b"", new.as_bytes(), &budget).into_string();
        assert_eq!(html.matches("<tr").count(), budget::DELTA_LINES_OF_FILE);
        assert!(html.contains(words::TOO_MANY_LINES));
        budget.take(budget::DELTA_LINES, 0);
        assert!(!texts(b"", new.as_bytes(), &budget).into_string().contains("<tr"));
    }

    #[test]
    fn texts_without_common_lines_are_too_dear() {
        let many = |word: &str| (0..5_000).map(|n| format!("{word}{n}\n")).collect::<String>();
        assert!(!is_cheap(many("a").as_bytes(), many("b").as_bytes()));
        assert!(is_cheap(many("a").as_bytes(), (many("a") + "more\n").as_bytes()));
        assert!(is_cheap(b"", many("a").as_bytes()));
    }
}
