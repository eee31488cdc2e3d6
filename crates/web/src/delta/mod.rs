//! Differences of two texts, as lines with their numbers.

mod colours;
mod lines;
mod marks;
mod mergeinfo;
mod table;
pub(crate) mod values;

use maud::{Markup, html};
use sapwood_core::exact::{Cut as _, Exact as _};
use sapwood_core::props::names;
use sapwood_core::{FsPath, NodeKind, PropList};
use sapwood_fs::Node;

use crate::Request;
use crate::address::Wrap;
use crate::budget::{self, Budget};
use crate::fault::Result;
use crate::links::Links;
use crate::{file, links, text, words, wrapping};
use table::Table;

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
            if file::is_other(node)? {
                return Ok(Self::Not(words::BINARY_DELTA));
            }
            if node.length()? > budget::TEXT {
                return Ok(Self::Not(words::TOO_LARGE));
            }
            match file::text_of(node)? {
                Some(found) => *text = found,
                None => return Ok(Self::Not(words::BINARY_DELTA)),
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
    let (old, new) = without_common_ends(old, new);
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

/// What is between the whole lines, ended by line feeds, that two texts have in common at both ends.
fn without_common_ends<'t>(old: &'t [u8], new: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    let is_same = |(old, new): &(&u8, &u8)| old == new;
    let head = old.iter().zip(new).take_while(is_same).count();
    let is_end = |byte: &u8| *byte == b'\n';
    let head = old.head(head).iter().rposition(is_end).map_or(0, |at| at.plus(1));
    let (old, new) = (old.tail(head), new.tail(head));
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(is_same).count();
    let common = old.tail(old.len().minus(tail));
    // A line begins behind the first line feed of it.
    let tail = common.iter().position(is_end).map_or(0, |at| common.len().minus(at).minus(1));
    (old.head(old.len().minus(tail)), new.head(new.len().minus(tail)))
}

/// How differences are shown.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Both sides beside each other.
    pub(crate) is_split: bool,
    /// Lines that differ in white space only are the same.
    pub(crate) ignores_space: bool,
    /// What becomes of long lines.
    pub(crate) wrap: Wrap,
}

impl Manner {
    pub(crate) fn of(request: &Request<'_>) -> Self {
        let query = &request.address.query;
        Self { is_split: query.is_split, ignores_space: query.ignores_space, wrap: query.wrap }
    }

    /// Links to the same page in other manners. `address` is that of the page without one.
    pub(crate) fn links(self, request: &Request<'_>, address: &str) -> Markup {
        let one = |manner: Self, word: &str| {
            let is_current = manner == self;
            html! {
                a.button href=(manner.at(address)) rel="nofollow"
                    aria-current=[is_current.then_some("true")] { (word) }
            }
        };
        html! {
            nav.manner aria-label=(words::DIFFERENCES) {
                (one(Self { is_split: false, ..self }, words::UNIFIED))
                (one(Self { is_split: true, ..self }, words::SPLIT))
                span.gap {}
                @if self.ignores_space { (one(Self { ignores_space: false, ..self }, words::COUNT_SPACE)) }
                @else { (one(Self { ignores_space: true, ..self }, words::IGNORE_SPACE)) }
                (wrapping::switch(request, Self { wrap: Wrap::Below, ..self }.at(address)))
            }
        }
    }

    /// An address with this manner.
    fn at(self, address: &str) -> String {
        let mut address = address.to_owned();
        let is_beside = self.wrap == Wrap::Beside;
        let fields = [
            (self.is_split, "view=split"),
            (self.ignores_space, "w=1"),
            (is_beside, wrapping::BESIDE),
        ];
        for (is_set, field) in fields {
            if is_set {
                address = links::with_field(address, field);
            }
        }
        address
    }

    /// The same as fields of a form.
    pub(crate) fn fields(self) -> Markup {
        html! {
            @if self.is_split { input type="hidden" name="view" value="split"; }
            @if self.ignores_space { input type="hidden" name="w" value="1"; }
            @if self.wrap == Wrap::Beside { input type="hidden" name="wrap" value="0"; }
        }
    }
}

/// What a difference is of.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The path, whose name says which language the texts are in.
    pub(crate) path: &'a FsPath,
    /// The page of the newer text.
    pub(crate) page: &'a str,
}

/// The differences of two files, or a sentence.
pub(crate) fn files(
    old: Option<&Node>,
    new: Option<&Node>,
    place: Place<'_>,
    manner: Manner,
    budget: &Budget,
) -> Result<Markup> {
    Ok(match Texts::of(old, new)? {
        Texts::Not(words) => html! { p.note { (words) } },
        Texts::Both(before, after) if before == after && old.is_some() && new.is_some() => {
            html! { p.note { (words::ONLY_ENCODING) } }
        }
        Texts::Both(old, new) => texts(&old, &new, place, manner, budget),
    })
}

/// The differences of two texts.
fn texts(old: &[u8], new: &[u8], place: Place<'_>, manner: Manner, budget: &Budget) -> Markup {
    let hunks = lines::hunks(old, new, manner.ignores_space, budget);
    if manner.ignores_space && !hunks.has_changes {
        return html! { p.note { (words::ONLY_SPACE) } };
    }
    let colours = colours::of(place.path, (old, new), &hunks, budget);
    let table = Table { colours: &colours, manner, page: place.page, budget };
    html! {
        (wrapping::lines(manner.wrap, &table.of(&hunks)))
        @if hunks.is_cut { p.note { (words::TOO_MANY_LINES) } }
        @if colours.is_cut { p.dim { (words::PLAIN_LINES) } }
    }
}

/// The differences of two lists of properties; empty where there are none.
pub(crate) fn properties(links: &Links, old: &PropList, new: &PropList) -> Markup {
    let changes = old.diff_to(new);
    if changes.is_empty() {
        return html! {};
    }
    let value = |value: Option<&[u8]>| {
        html! {
            @match value {
                Some(value) => pre { (file::value_text(value)) },
                None => span.dim { (words::NOT_SET) },
            }
        }
    };
    let merges = |name: &str, after: Option<&[u8]>| {
        let is_mergeinfo = name == names::MERGEINFO;
        if is_mergeinfo { mergeinfo::said(links, old.get(name), after) } else { None }
    };
    html! {
        table.propdelta {
            thead { tr { th { (words::PROPERTY) } th { (words::BEFORE) } th { (words::AFTER) } } }
            tbody {
                @for (name, after) in changes.iter().take(budget::PROPERTIES) {
                    tr {
                        th { bdi { (text::shown(name)) } }
                        @match merges(name, after.as_deref()) {
                            Some(said) => td colspan="2" {
                                (said)
                                details {
                                    summary { (words::AS_STORED) }
                                    p.dim { (words::BEFORE) } (value(old.get(name)))
                                    p.dim { (words::AFTER) } (value(after.as_deref()))
                                }
                            },
                            None => {
                                td { (value(old.get(name))) }
                                td { (value(after.as_deref())) }
                            },
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place<'_> {
        Place { path: FsPath::trusted(path), page: "/-/tree/x?p=2" }
    }

    fn shown_as(old: &str, new: &str) -> String {
        texts(old.as_bytes(), new.as_bytes(), place("/x"), Manner::default(), &Budget::new())
            .into_string()
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
        assert!(html.contains("\"c same\">7<") && html.contains("\"c same\">13<"), "{html}");
        assert!(!html.contains("\"c same\">6<") && !html.contains("\"c same\">14<"), "{html}");
        // What is left out above is a link to it, from which a script knows what to put in its place.
        assert!(
            html.contains(
                "<a href=\"/-/tree/x?p=2&amp;l=1-6#L1\" rel=\"nofollow\" data-old=\"1\" data-new=\"1\" data-count=\"6\">"
            ),
            "{html}"
        );
        let two = old.replace("10\n", "ten\nmore\n").replace("19\n", "last\n");
        let html = shown_as(&old, &two);
        assert!(
            html.contains(
                "l=15-16#L15\" rel=\"nofollow\" data-old=\"14\" data-new=\"15\" data-count=\"2\""
            ),
            "{html}"
        );
        // Where nothing differs there is no hunk, however a comparison divides it.
        let old: String = (1..=400).map(|n| format!("{n}\n")).collect();
        let html = shown_as(&old, &old.replace("200\n", "two hundred\n"));
        assert_eq!(html.matches("<tr class=\"same\">").count(), 6, "{html}");
        // Lines are those that the comparison counts.
        let html = shown_as("a\rb\rc\r", "a\rb\rd\r");
        assert!(
            html.contains("<tr class=\"add\"><td class=\"n\"></td><td class=\"n\">3</td>"),
            "{html}"
        );
        assert_eq!(
            shown_as("a\n", "a\n"),
            "<div class=\"lines\"><table class=\"delta\"></table></div>"
        );
    }

    #[test]
    fn both_sides_beside_each_other() {
        let manner = Manner { is_split: true, ..Manner::default() };
        let split = |old: &str, new: &str| {
            texts(old.as_bytes(), new.as_bytes(), place("/x"), manner, &Budget::new()).into_string()
        };
        let html = split("a\nlet x = 1;\nz\n", "a\nlet <y> = 1;\nmore\nz\n");
        let rows: Vec<&str> = html.split("<tr").skip(1).collect();
        assert_eq!(rows.len(), 4, "{html}");
        let changed = "<td class=\"n\">2</td><td class=\"c del\">let <mark>x</mark> = 1;</td>\
            <td class=\"n\">2</td><td class=\"c add\">let <mark>&lt;y&gt;</mark> = 1;</td>";
        assert!(rows[1].contains(changed), "{html}");
        let added = "<td class=\"n\"></td><td class=\"c none\"></td><td class=\"n\">3</td>\
            <td class=\"c add\">more</td>";
        assert!(rows[2].contains(added), "{html}");
        assert!(rows[3].contains("<td class=\"n\">3</td>") && rows[3].contains(">4<"), "{html}");
    }

    /// A line has the colour that it has in its text, not the one that it would have by itself.
    #[test]
    fn lines_have_the_colours_of_their_texts() {
        let long: String = (0..20).map(|n| format!("line {n}\n")).collect();
        let (old, new) = (format!("/*\n{long}x */\n"), format!("/*\n{long}y */\n"));
        let shown = |path: &str, budget: &Budget| {
            texts(old.as_bytes(), new.as_bytes(), place(path), Manner::default(), budget)
                .into_string()
        };
        let html = shown("/a.c", &Budget::new());
        assert!(html.contains("<span class=\"t-c\">line 19</span>"), "{html}");
        assert!(!shown("/a", &Budget::new()).contains("t-c"));
        let used = Budget::new();
        while used.take_coloured(1 << 20) {}
        let plain = shown("/a.c", &used);
        assert!(!plain.contains("t-c") && plain.contains(words::PLAIN_LINES), "{plain}");
    }

    #[test]
    fn white_space_can_be_left_out() {
        let manner = Manner { ignores_space: true, ..Manner::default() };
        let html = |old: &str, new: &str| {
            texts(old.as_bytes(), new.as_bytes(), place("/x"), manner, &Budget::new()).into_string()
        };
        assert!(html("a b\n", "a    b\n").contains(words::ONLY_SPACE));
        let both = html("a b\nc\n", "a    b\nd\n");
        assert_eq!(both.matches("<tr class=\"del\">").count(), 1, "{both}");
        assert!(both.contains(">a    b<"), "the new text is shown: {both}");
        assert!(shown_as("a b\n", "a    b\n").contains("<tr class=\"del\">"));
        assert_eq!(manner.at("/x?p=1"), "/x?p=1&w=1");
        assert_eq!(Manner { is_split: true, ..manner }.at("/x"), "/x?view=split&w=1");
    }

    #[test]
    fn a_page_has_so_many_lines() {
        let new: String = (0..5_000).map(|n| format!("{n}\n")).collect();
        let budget = Budget::new();
        let html =
            texts(b"", new.as_bytes(), place("/x"), Manner::default(), &budget).into_string();
        assert_eq!(html.matches("<tr").count(), budget::DELTA_LINES_OF_FILE);
        assert!(html.contains(words::TOO_MANY_LINES));
        budget.take(budget::DELTA_LINES, 0);
        assert!(
            !texts(b"", new.as_bytes(), place("/x"), Manner::default(), &budget)
                .into_string()
                .contains("<tr")
        );
    }

    #[test]
    fn texts_without_common_lines_are_too_dear() {
        let many = |word: &str| (0..5_000).map(|n| format!("{word}{n}\n")).collect::<String>();
        assert!(!is_cheap(many("a").as_bytes(), many("b").as_bytes()));
        assert!(is_cheap(many("a").as_bytes(), (many("a") + "more\n").as_bytes()));
        assert!(is_cheap(b"", many("a").as_bytes()));
        let (old, new) = without_common_ends(b"a\nb\nx\nb\nc\n", b"a\nb\nb\nc\n");
        assert_eq!((old, new), (&b"x\nb\n"[..], &b"b\n"[..]));
        let (old, new) = without_common_ends(b"a1\nsame", b"a2\nsame");
        assert_eq!((old, new), (&b"a1\n"[..], &b"a2\n"[..]));
        assert_eq!(without_common_ends(b"xa", b"ya"), (&b"xa"[..], &b"ya"[..]));
    }
}
