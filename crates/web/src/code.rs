//! One line of a text in a page: its colours, and the words that are marked in it.
//!
//! Invariant: all of the line is there, once, and escaped.

use std::ops::Range;

use maud::{Markup, html};

use crate::highlight::{Class, Colours};

/// A line with its colours; parts of it are marked. Both are ranges of its bytes, in order.
pub(crate) fn line(text: &str, colours: &Colours, marks: &[Range<usize>]) -> Markup {
    let parts = parts(text, colours, marks);
    let part = |text: &str, class: Option<Class>| {
        html! { @match class { Some(class) => span class=(class.as_str()) { (text) }, None => (text) } }
    };
    html! {
        @for Part { text, class, is_marked } in parts {
            @if is_marked { mark { (part(text, class)) } } @else { (part(text, class)) }
        }
    }
}

/// A part of a line that looks the same.
struct Part<'l> {
    text: &'l str,
    class: Option<Class>,
    is_marked: bool,
}

/// The parts of a line. A range that is none of the line cuts nothing.
fn parts<'l>(text: &'l str, colours: &Colours, marks: &[Range<usize>]) -> Vec<Part<'l>> {
    let of_colours = colours.iter().map(|(range, _)| range);
    let mut cuts: Vec<usize> =
        of_colours.chain(marks).flat_map(|range| [range.start, range.end]).collect();
    cuts.retain(|cut| *cut < text.len() && text.is_char_boundary(*cut));
    cuts.push(text.len());
    cuts.sort_unstable();
    cuts.dedup();
    let (mut colours, mut marks) = (colours.iter().peekable(), marks.iter().peekable());
    let mut parts = Vec::new();
    let mut begin = 0;
    for end in cuts {
        while colours.next_if(|(range, _)| range.end <= begin).is_some() {}
        while marks.next_if(|range| range.end <= begin).is_some() {}
        let class = colours.peek().filter(|(range, _)| range.contains(&begin)).map(|(_, c)| *c);
        let is_marked = marks.peek().is_some_and(|range| range.contains(&begin));
        if let Some(text) = text.get(begin..end).filter(|text| !text.is_empty()) {
            parts.push(Part { text, class, is_marked });
        }
        begin = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn shown(text: &str, colours: Colours, marks: &[Range<usize>]) -> String {
        line(text, &colours, marks).into_string()
    }

    #[test]
    fn all_of_a_line_is_there() {
        let marked = shown("a<b>\u{fc}", vec![], &[1..2, 4..6]);
        assert_eq!(marked, "a<mark>&lt;</mark>b&gt;<mark>\u{fc}</mark>");
        let both =
            shown("if <x>", vec![(0..2, Class::Keyword), (3..6, Class::Text)], from_ref(&(3..4)));
        let expected = "<span class=\"t-k\">if</span> <mark><span class=\"t-s\">&lt;</span></mark>\
            <span class=\"t-s\">x&gt;</span>";
        assert_eq!(both, expected);
        assert_eq!(shown("", vec![], &[]), "");
    }

    /// Whatever the ranges are, the text without its tags is the line.
    #[test]
    fn wrong_ranges_lose_nothing() {
        let text = "a<b>\u{fc}\u{1f332}c";
        for start in 0..14 {
            for end in 0..14 {
                let html = shown(text, vec![(start..end, Class::Number)], &[end..start, start..99]);
                let mut plain = html.clone();
                for tag in ["<mark>", "</mark>", "<span class=\"t-n\">", "</span>"] {
                    plain = plain.replace(tag, "");
                }
                assert_eq!(plain.replace("&lt;", "<").replace("&gt;", ">"), text, "{html}");
            }
        }
    }
}
