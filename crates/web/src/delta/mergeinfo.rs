//! What a change of `svn:mergeinfo` says, in words.
//!
//! Invariant: no more than the two values say: sources have no links, for they may be hidden or gone.

use maud::{Markup, html};
use sapwood_core::Revnum;
use sapwood_core::exact::Exact as _;
use sapwood_core::mergeinfo::{MergeRange, Mergeinfo, RangeList};

use crate::links::Links;
use crate::{budget, text, words};

/// Bytes of the longest value that is put in words.
const LONGEST: usize = 256 << 10;

/// What was merged, and what was taken back, between two values; `None` where one of them is no mergeinfo.
pub(super) fn said(links: &Links, old: Option<&[u8]>, new: Option<&[u8]>) -> Option<Markup> {
    let (gone, come) = Mergeinfo::diff(&parsed(old)?, &parsed(new)?, false);
    let count = gone.0.len().plus(come.0.len());
    let each = |word: &'static str, info: Mergeinfo| info.0.into_iter().map(move |one| (word, one));
    let all = each(words::MERGED, come).chain(each(words::UNMERGED, gone));
    let all: Vec<_> = all.take(budget::MERGE_SOURCES).collect();
    let more = count.minus(all.len());
    Some(html! {
        ul.merges {
            @for (word, (source, ranges)) in &all {
                li { (word) " " (revisions(links, ranges)) " " (words::OF_PATH) " " bdi { (text::shown(source)) } }
            }
            @if all.is_empty() { li { (words::SAME_MERGES) } }
            @if more > 0 { li { (words::more_sources(more)) } }
        }
    })
}

/// A value that is not there has merged nothing.
fn parsed(value: Option<&[u8]>) -> Option<Mergeinfo> {
    match value {
        None => Some(Mergeinfo::new()),
        Some(value) if value.len() > LONGEST => None,
        Some(value) => Mergeinfo::parse(value).ok(),
    }
}

fn revisions(links: &Links, ranges: &RangeList) -> Markup {
    let shown = ranges.0.iter().take(budget::MERGE_RANGES);
    let more = ranges.0.len().minus(shown.len());
    html! {
        @for (at, range) in shown.enumerate() {
            @if at > 0 { ", " }
            (span(links, range))
        }
        @if more > 0 { " " (words::more_ranges(more)) }
    }
}

/// A range, whose `start` is not part of it.
fn span(links: &Links, range: &MergeRange) -> Markup {
    let (first, last) = (Revnum(range.start.plus(1)), Revnum(range.end));
    let one = |revision: Revnum| html! { a href=(links.revision(revision)) rel="nofollow" { (words::revision(revision)) } };
    html! {
        (one(first))
        @if first < last { "\u{2013}" (one(last)) }
        @if !range.inheritable { " " (words::OF_FOLDER_ITSELF) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prefix;

    fn words_of(old: Option<&str>, new: Option<&str>) -> Option<String> {
        let links = Links::new("/r", Prefix::Short);
        let html = said(&links, old.map(str::as_bytes), new.map(str::as_bytes))?.into_string();
        let mut text = String::new();
        for part in html.replace("<li>", "|").split('<') {
            text += part.split_once('>').map_or(part, |(_, text)| text);
        }
        Some(text)
    }

    #[test]
    fn what_was_merged_and_what_was_taken_back() {
        let said = words_of(Some("/trunk:5-11\n"), Some("/trunk:5-8,10-14,17\n/b:3*\n")).unwrap();
        assert_eq!(
            said,
            "|merged r3 (this folder itself only) from /b|merged r12\u{2013}r14, r17 from /trunk|reversed r9 from /trunk"
        );
        assert_eq!(words_of(None, Some("/t:2")).unwrap(), "|merged r2 from /t");
        assert_eq!(words_of(Some("/t:2"), None).unwrap(), "|reversed r2 from /t");
        assert_eq!(
            words_of(Some("/t:2"), Some("/t:2*")).unwrap(),
            format!("|{}", words::SAME_MERGES)
        );
        assert_eq!(words_of(Some("/t:2"), Some("no mergeinfo")), None);
    }

    #[test]
    fn what_is_long_is_cut_and_what_is_hostile_escaped() {
        let many: String = (0..60).map(|n| format!("/b{n:02}:1\n")).collect();
        let said = words_of(None, Some(&many)).unwrap();
        assert_eq!(said.matches("merged r1 from").count(), budget::MERGE_SOURCES);
        assert!(said.ends_with(&words::more_sources(60 - budget::MERGE_SOURCES)), "{said}");
        let ranges: Vec<String> = (1..=60).map(|n| (n * 2).to_string()).collect();
        let said = words_of(None, Some(&format!("/t:{}", ranges.join(",")))).unwrap();
        assert!(said.contains(&words::more_ranges(60 - budget::MERGE_RANGES)), "{said}");
        let links = Links::new("/r", Prefix::Short);
        let html =
            super::said(&links, None, Some(b"/<script>\xe2\x80\xae:1")).unwrap().into_string();
        assert!(
            html.contains("/&lt;script&gt;\u{27e8}U+202E") && html.contains("/r/-/rev/1"),
            "{html}"
        );
    }
}
