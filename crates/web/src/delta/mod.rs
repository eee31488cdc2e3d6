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
mod tests;
