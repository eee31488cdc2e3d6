//! Differences as JSON: the lines that the pages show, with the same limits.
//!
//! Invariant: texts are as pages have them, control characters spelt out; numbers of lines count from 1.

use sapwood_core::exact::Exact as _;
use sapwood_core::{FsPath, PropList, Revnum};
use sapwood_fs::Node;
use serde_json::{Value, json};

use super::lines::{self, Line, Piece};
use super::{Manner, Texts};
use crate::budget::{self, Budget};
use crate::fault::Result;
use crate::{file, text};

/// What differs at one path. `before`: where its older side is.
pub(crate) fn file(
    path: &FsPath,
    action: &str,
    is_dir: bool,
    before: Option<(&FsPath, Revnum)>,
    properties: Value,
    text: Value,
) -> Value {
    let before = before.map(|(path, at)| json!({ "path": path.as_str(), "revision": at.0 }));
    json!({
        "path": path.as_str(), "action": action, "kind": if is_dir { "directory" } else { "file" },
        "old": before, "properties": properties, "text": text,
    })
}

/// The properties that differ.
pub(crate) fn properties(old: &PropList, new: &PropList) -> Value {
    let value = |value: Option<&[u8]>| value.map(file::value_text);
    let changes = old.diff_to(new);
    let one = |(name, after): &(String, Option<Vec<u8>>)| json!({ "name": text::shown(name), "before": value(old.get(name)), "after": value(after.as_deref()) });
    changes.iter().take(budget::PROPERTIES).map(one).collect()
}

/// The lines of two files that differ, or why they are not compared.
pub(crate) fn text(
    old: Option<&Node>,
    new: Option<&Node>,
    manner: Manner,
    budget: &Budget,
) -> Result<Value> {
    let (old, new) = match Texts::of(old, new)? {
        Texts::Not(why) => {
            return Ok(json!({ "refused": why, "complete": false, "hunks": [] }));
        }
        Texts::Both(old, new) => (old, new),
    };
    let found = lines::hunks(&old, &new, manner.ignores_space, budget);
    let hunks: Vec<Value> =
        found.all.iter().map(|hunk| hunk.iter().flat_map(piece).collect()).collect();
    Ok(json!({ "refused": null, "complete": !found.is_cut, "hunks": hunks }))
}

fn piece(piece: &Piece<'_>) -> Vec<Value> {
    match piece {
        Piece::Same(old, new) => vec![line("same", Some(old), Some(new), new)],
        Piece::Change(olds, news) => {
            let olds = olds.iter().map(|old| line("deleted", Some(old), None, old));
            let news = news.iter().map(|new| line("added", None, Some(new), new));
            olds.chain(news).collect()
        }
    }
}

fn line(kind: &str, old: Option<&Line<'_>>, new: Option<&Line<'_>>, shown: &Line<'_>) -> Value {
    let number = |line: &Line<'_>| line.at.plus(1);
    let has_end = shown.text.ends_with(b"\n") || shown.text.ends_with(b"\r");
    json!({
        "kind": kind, "old": old.map(number), "new": new.map(number), "text": text::line(shown.text),
        "newline": has_end,
    })
}
