//! The differences between two places: a path in a revision, and the same thing, or another path, in an older one.

use maud::{Markup, html};
use sapwood_core::{Exact as _, NodeKind, PropList, Revnum};

use crate::Request;
use crate::budget::Budget;
use crate::delta::Manner;
use crate::fault::{Fault, Result};
use crate::layout::{self, Subject, Tab};
use crate::pictures::{self, Side};
use crate::reply::Reply;
use crate::view::Found;
use crate::{delta, text, words};

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let new = request.view.at(request.address)?;
    let query = &request.address.query;
    let result = match (&query.with, query.from) {
        (Some(path), from) => {
            let old = request.view.find(path, from.or(Some(new.revision)), None)?;
            differences(request, &old, &new)?
        }
        (None, Some(from)) => {
            let old = request.view.find(&new.path, Some(new.revision), Some(from))?;
            differences(request, &old, &new)?
        }
        (None, None) => layout::note(words::COMPARE_HINT),
    };
    let body = html! {
        h1 { (words::COMPARE) }
        (form(request, &new, query.from))
        (result)
    };
    Ok(layout::reply(request, words::COMPARE, Tab::Compare, &Subject::of(&new), &body))
}

fn form(request: &Request<'_>, new: &Found, from: Option<Revnum>) -> Markup {
    html! {
        form.compare action=(request.links.page("compare", &new.path, None)) {
            label { (words::OLDER_REVISION) " "
                input name="from" inputmode="numeric" size="8" value=[from.map(|from| from.to_string())]; }
            label { (words::REVISION) " "
                input name="p" inputmode="numeric" size="8" value=(new.revision); }
            (Manner::of(request).fields())
            button { (words::GO) }
        }
    }
}

fn differences(request: &Request<'_>, old: &Found, new: &Found) -> Result<Markup> {
    let budget = Budget::new();
    let pair = |found: &Found| format!("{}@{}", found.path, found.revision);
    let head = html! {
        p { bdi { (text::shown(&pair(old))) } " \u{2192} " bdi { (text::shown(&pair(new))) } }
    };
    let mut walk = Walk { request, budget, blocks: Vec::new(), seen: 0, is_cut: false };
    walk.pair(Some(old), Some(new))?;
    Ok(html! {
        (head)
        @if walk.blocks.is_empty() && !walk.is_cut { (layout::note(words::NO_DIFFERENCES)) }
        @if !walk.blocks.is_empty() {
            (Manner::of(request).links(&request.links.compare(old, new)))
        }
        @for block in &walk.blocks { (block) }
        @if walk.is_cut { (layout::note(words::TOO_LONG)) }
    })
}

/// Two trees that are compared.
struct Walk<'a> {
    request: &'a Request<'a>,
    budget: Budget,
    blocks: Vec<Markup>,
    /// Pairs of nodes that were looked at.
    seen: usize,
    is_cut: bool,
}

/// Pairs of nodes that a comparison looks at.
const PAIRS: usize = 20_000;

impl Walk<'_> {
    /// Compares two nodes, and what is below them.
    fn pair(&mut self, old: Option<&Found>, new: Option<&Found>) -> Result<()> {
        let mut waiting = vec![(old.map(copy), new.map(copy))];
        while let Some((old, new)) = waiting.pop() {
            self.seen = self.seen.plus(1);
            if self.seen > PAIRS
                || self.budget.is_used()
                || self.blocks.len() == crate::budget::DELTAS
            {
                self.is_cut = true;
                return Ok(());
            }
            let is_same = match (&old, &new) {
                (Some(old), Some(new)) => old.node.id() == new.node.id(),
                _ => false,
            };
            if is_same {
                continue;
            }
            self.blocks.extend(self.one(old.as_ref(), new.as_ref())?);
            let is_dir = |found: &Option<Found>| {
                found.as_ref().is_some_and(|found| found.node.kind() == NodeKind::Dir)
            };
            if is_dir(&old) && is_dir(&new) {
                waiting.extend(self.children(old.as_ref(), new.as_ref())?);
            }
        }
        Ok(())
    }

    /// The pairs of entries that may differ, the first one last.
    fn children(
        &self,
        old: Option<&Found>,
        new: Option<&Found>,
    ) -> Result<Vec<(Option<Found>, Option<Found>)>> {
        let mut names = std::collections::BTreeSet::new();
        for found in [old, new].into_iter().flatten() {
            names.extend(self.request.view.entries(found)?.into_iter().map(|name| name.name));
        }
        let mut pairs = Vec::new();
        for name in names.into_iter().rev() {
            let of = |found: Option<&Found>| -> Result<Option<Found>> {
                let Some(found) = found else { return Ok(None) };
                let path = found.path.child(&name);
                match self.request.view.find(&path, Some(found.revision), None) {
                    Ok(found) => Ok(Some(found)),
                    Err(Fault::Missing) => Ok(None),
                    Err(fault) => Err(fault),
                }
            };
            let (old, new) = (of(old)?, of(new)?);
            let is_same = match (&old, &new) {
                (Some(old), Some(new)) => old.node.id() == new.node.id(),
                _ => false,
            };
            if !is_same {
                pairs.push((old, new));
            }
        }
        Ok(pairs)
    }

    /// What differs between two nodes themselves.
    fn one(&self, old: Option<&Found>, new: Option<&Found>) -> Result<Option<Markup>> {
        let Some(shown) = new.or(old) else { return Ok(None) };
        let props = |found: Option<&Found>| -> Result<std::sync::Arc<PropList>> {
            match found {
                Some(found) => Ok(found.node.props()?),
                None => Ok(std::sync::Arc::new(PropList::new())),
            }
        };
        let (old_props, new_props) = (props(old)?, props(new)?);
        let is_file = |found: &&Found| found.node.kind() == NodeKind::File;
        let (old_file, new_file) = (old.filter(is_file), new.filter(is_file));
        let differs = match (old_file, new_file) {
            (Some(old), Some(new)) => old.node.contents_differ(&new.node)?,
            (None, None) => old.is_none() || new.is_none(),
            _ => true,
        };
        if !differs && old_props == new_props {
            return Ok(None);
        }
        let text = if differs && (old_file.is_some() || new_file.is_some()) {
            {
                let (old, new) = (old_file.map(|f| &f.node), new_file.map(|f| &f.node));
                delta::files(old, new, &shown.path, Manner::of(self.request), &self.budget)?
            }
        } else {
            html! {}
        };
        let pictures = match differs {
            true => pictures(self.request, old_file, new_file)?,
            false => None,
        };
        let word = match (old, new) {
            (None, _) => words::ADDED,
            (_, None) => words::DELETED,
            _ => words::MODIFIED,
        };
        Ok(Some(block(
            self.request,
            shown,
            word,
            &html! {
                (delta::properties(&old_props, &new_props))
                @if let Some(pictures) = pictures { (pictures) }
                (text)
            },
        )))
    }
}

/// The part of the page about one path.
fn block(request: &Request<'_>, shown: &Found, word: &str, body: &Markup) -> Markup {
    let slash = if shown.node.kind() == NodeKind::Dir && !shown.path.is_root() { "/" } else { "" };
    html! {
        section.file {
            h3 {
                a href=(request.links.tree(&shown.path, Some(shown.revision))) rel="nofollow" {
                    bdi { (text::shown(&shown.path)) (slash) }
                }
                " " span.dim { (word) }
            }
            (body)
        }
    }
}

/// What two files show, if they are pictures.
fn pictures(
    request: &Request<'_>,
    old: Option<&Found>,
    new: Option<&Found>,
) -> Result<Option<Markup>> {
    let (old, new) = (old.map(side), new.map(side));
    pictures::compared(request.links, old.as_ref(), new.as_ref())
}

fn side(found: &Found) -> Side<'_> {
    Side { node: &found.node, path: &found.path, revision: found.revision }
}

fn copy(found: &Found) -> Found {
    Found {
        root: found.root.clone(),
        node: found.node.clone(),
        path: found.path.clone(),
        revision: found.revision,
        sticky: found.sticky,
    }
}
