//! Pictures before and after a change, beside each other.
//!
//! Invariant: they come from the plain addresses of files, by the rights of who looks at them. A browser runs no script of a
//! picture, and the plain address of an SVG has a sandbox.

use maud::{Markup, html};
use sapwood_core::props::names;
use sapwood_core::{FsPath, NodeKind, Revnum};
use sapwood_fs::Node;

use crate::fault::Result;
use crate::links::Links;
use crate::{budget, file, text, words};

/// A file and where it is read.
pub(crate) struct Side<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: &'a FsPath,
    pub(crate) revision: Revnum,
}

/// The pictures on both sides of a change; nothing where neither is one.
pub(crate) fn compared(
    links: &Links,
    old: Option<&Side<'_>>,
    new: Option<&Side<'_>>,
) -> Result<Option<Markup>> {
    let (old, new) = (picture(links, old)?, picture(links, new)?);
    if old.is_none() && new.is_none() {
        return Ok(None);
    }
    let side = |word: &str, shown: Option<Markup>| {
        html! {
            figure {
                figcaption { (word) }
                @match shown { Some(shown) => (shown), None => p.dim { (words::NO_PICTURE) } }
            }
        }
    };
    Ok(Some(html! { div.pictures { (side(words::BEFORE, old)) (side(words::AFTER, new)) } }))
}

fn picture(links: &Links, side: Option<&Side<'_>>) -> Result<Option<Markup>> {
    let Some(side) = side.filter(|side| side.node.kind() == NodeKind::File) else {
        return Ok(None);
    };
    let props = side.node.props()?;
    if !file::is_picture(side.path, props.get_str(names::MIME_TYPE)) {
        return Ok(None);
    }
    let (size, raw) = (side.node.length()?, links.raw(side.path, side.revision));
    Ok(Some(html! {
        @if size <= budget::PICTURE {
            a href=(raw) rel="nofollow" { img src=(raw) loading="lazy" alt=(text::shown(side.path.name())); }
        } @else {
            a href=(raw) rel="nofollow" { (words::RAW) }
        }
        p.dim { (text::size(size)) }
    }))
}
