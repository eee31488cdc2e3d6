//! The differences between two places: a path in a revision, and the same thing, or another path, in an older one.

use std::sync::Arc;

use maud::{Markup, html};
use sapwood_core::{Exact as _, NodeKind, PropList};
use sapwood_fs::Node;
use serde_json::{Value, json};

use crate::Request;
use crate::budget::Budget;
use crate::delta::Manner;
use crate::fault::{Fault, Result};
use crate::layout::{self, Subject, Tab};
use crate::pictures::{self, Side};
use crate::reply::Reply;
use crate::view::FoundNode;
use crate::{delta, text, words};

pub(crate) fn page(request: &Request<'_>) -> Result<Reply> {
    let new = request.view.at(request.address)?;
    let result = match older(request, &new)? {
        Some(old) => differences(request, &old, &new)?,
        None => layout::note(words::COMPARE_HINT),
    };
    let body = html! {
        h1 { (words::COMPARE) }
        (form(request, &new))
        (result)
    };
    Ok(layout::reply(request, words::COMPARE, Tab::Compare, &Subject::of(&new), &body))
}

/// What a place is compared with, if the address says that.
fn older(request: &Request<'_>, new: &FoundNode) -> Result<Option<FoundNode>> {
    let (view, query) = (request.view, &request.address.query);
    match (&query.with, query.from) {
        (Some(path), from) => view.find(path, from.or(Some(new.revision)), None).map(Some),
        (None, Some(from)) => view.find(&new.path, Some(new.revision), Some(from)).map(Some),
        (None, None) => Ok(None),
    }
}

/// The same as a value.
pub(crate) fn value(request: &Request<'_>) -> Result<Value> {
    let new = request.view.at(request.address)?;
    let old = older(request, &new)?.ok_or(Fault::Bad("A comparison needs 'from' or 'with'"))?;
    let mut walk = Walk::new(request, &value_of_pair);
    walk.pair(Some(&old), Some(&new))?;
    let place =
        |found: &FoundNode| json!({ "path": found.path.as_str(), "revision": found.revision.0 });
    Ok(json!({
        "old": place(&old), "new": place(&new), "files": walk.blocks, "complete": !walk.is_cut,
    }))
}

fn value_of_pair(request: &Request<'_>, pair: &Pair<'_>, budget: &Budget) -> Result<Option<Value>> {
    let text = match pair.differs {
        true => delta::values::text(pair.old_text(), pair.new_text(), Manner::of(request), budget)?,
        false => Value::Null,
    };
    let action = match (pair.old, pair.new) {
        (None, _) => "added",
        (_, None) => "deleted",
        _ => "modified",
    };
    let is_dir = pair.shown.node.kind() == NodeKind::Dir;
    let before = pair.old.map(|old| (&*old.path, old.revision));
    let props = delta::values::properties(&pair.old_props, &pair.new_props);
    Ok(Some(delta::values::file(&pair.shown.path, action, is_dir, before, props, text)))
}

fn form(request: &Request<'_>, new: &FoundNode) -> Markup {
    let query = &request.address.query;
    let (from, with) = (query.from, query.with.as_deref());
    html! {
        form.compare action=(request.links.page("compare", &new.path, None)) {
            label { (words::OLDER_REVISION) " "
                input name="from" inputmode="numeric" size="8" value=[from.map(|from| from.to_string())]; }
            label { (words::OTHER_PATH) " "
                input name="with" size="24" value=[with.map(|path| text::shown(path))]; }
            label { (words::REVISION) " "
                input name="p" inputmode="numeric" size="8" value=(new.revision); }
            (Manner::of(request).fields())
            button { (words::GO) }
        }
    }
}

fn differences(request: &Request<'_>, old: &FoundNode, new: &FoundNode) -> Result<Markup> {
    let pair = |found: &FoundNode| format!("{}@{}", found.path, found.revision);
    let head = html! {
        p { bdi { (text::shown(&pair(old))) } " \u{2192} " bdi { (text::shown(&pair(new))) } }
    };
    let mut walk = Walk::new(request, &shown_pair);
    walk.pair(Some(old), Some(new))?;
    Ok(html! {
        (head)
        @if walk.blocks.is_empty() && !walk.is_cut { (layout::note(words::NO_DIFFERENCES)) }
        @if !walk.blocks.is_empty() {
            (Manner::of(request).links(request, &request.links.compare(old, new)))
        }
        @for block in &walk.blocks { (block) }
        @if walk.is_cut { (layout::note(words::TOO_LONG)) }
    })
}

/// How two nodes that differ are shown, if they are.
type Show<'a, T> = dyn Fn(&Request<'_>, &Pair<'_>, &Budget) -> Result<Option<T>> + 'a;

/// Two trees that are compared.
struct Walk<'a, T> {
    request: &'a Request<'a>,
    show: &'a Show<'a, T>,
    budget: Budget,
    blocks: Vec<T>,
    /// Pairs of nodes that were looked at.
    seen: usize,
    is_cut: bool,
}

/// Pairs of nodes that a comparison looks at.
const PAIRS: usize = 20_000;

impl<'a, T> Walk<'a, T> {
    fn new(request: &'a Request<'a>, show: &'a Show<'a, T>) -> Self {
        Self { request, show, budget: Budget::new(), blocks: Vec::new(), seen: 0, is_cut: false }
    }

    /// Compares two nodes, and what is below them.
    fn pair(&mut self, old: Option<&FoundNode>, new: Option<&FoundNode>) -> Result<()> {
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
            if let Some(pair) = Pair::of(old.as_ref(), new.as_ref())? {
                self.blocks.extend((self.show)(self.request, &pair, &self.budget)?);
            }
            let is_dir = |found: &Option<FoundNode>| {
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
        old: Option<&FoundNode>,
        new: Option<&FoundNode>,
    ) -> Result<Vec<(Option<FoundNode>, Option<FoundNode>)>> {
        let mut names = std::collections::BTreeSet::new();
        for found in [old, new].into_iter().flatten() {
            names.extend(self.request.view.entries(found)?.into_iter().map(|name| name.name));
        }
        let mut pairs = Vec::new();
        for name in names.into_iter().rev() {
            let of = |found: Option<&FoundNode>| -> Result<Option<FoundNode>> {
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
}

/// Two nodes that differ themselves, in their texts or properties.
struct Pair<'f> {
    old: Option<&'f FoundNode>,
    new: Option<&'f FoundNode>,
    /// The one that is named.
    shown: &'f FoundNode,
    old_props: Arc<PropList>,
    new_props: Arc<PropList>,
    /// Whether the texts of files differ, or there is one on one side only.
    differs: bool,
}

impl<'f> Pair<'f> {
    fn of(old: Option<&'f FoundNode>, new: Option<&'f FoundNode>) -> Result<Option<Self>> {
        let Some(shown) = new.or(old) else { return Ok(None) };
        let props = |found: Option<&FoundNode>| -> Result<Arc<PropList>> {
            match found {
                Some(found) => Ok(found.node.props()?),
                None => Ok(Arc::new(PropList::new())),
            }
        };
        let (old_props, new_props) = (props(old)?, props(new)?);
        let (is_old_file, is_new_file) = (is_file(old), is_file(new));
        let differs = match (old, new) {
            (Some(old), Some(new)) if is_old_file && is_new_file => {
                old.node.contents_differ(&new.node)?
            }
            _ => is_old_file || is_new_file,
        };
        let is_one = old.is_none() || new.is_none();
        let is_shown = differs || is_one || old_props != new_props;
        Ok(is_shown.then_some(Self { old, new, shown, old_props, new_props, differs }))
    }

    fn old_file(&self) -> Option<&'f FoundNode> {
        self.old.filter(|_| is_file(self.old))
    }

    fn new_file(&self) -> Option<&'f FoundNode> {
        self.new.filter(|_| is_file(self.new))
    }

    fn old_text(&self) -> Option<&'f Node> {
        self.old_file().map(|found| &found.node)
    }

    fn new_text(&self) -> Option<&'f Node> {
        self.new_file().map(|found| &found.node)
    }
}

fn is_file(found: Option<&FoundNode>) -> bool {
    found.is_some_and(|found| found.node.kind() == NodeKind::File)
}

/// What differs between two nodes, for the page.
fn shown_pair(request: &Request<'_>, pair: &Pair<'_>, budget: &Budget) -> Result<Option<Markup>> {
    let (text, shown) = match pair.differs {
        true => {
            let (old, new) = (pair.old_text(), pair.new_text());
            let page = request.links.tree(&pair.shown.path, Some(pair.shown.revision));
            let place = delta::Place { path: &pair.shown.path, page: &page };
            let text = delta::files(old, new, place, Manner::of(request), budget)?;
            (text, pictures(request, pair.old_file(), pair.new_file())?)
        }
        false => (html! {}, None),
    };
    let word = match (pair.old, pair.new) {
        (None, _) => words::ADDED,
        (_, None) => words::DELETED,
        _ => words::MODIFIED,
    };
    let body = html! {
        (delta::properties(request.links, &pair.old_props, &pair.new_props))
        @if let Some(pictures) = shown { (pictures) }
        (text)
    };
    Ok(Some(block(request, pair.shown, word, &body)))
}

/// The part of the page about one path.
fn block(request: &Request<'_>, shown: &FoundNode, word: &str, body: &Markup) -> Markup {
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
    old: Option<&FoundNode>,
    new: Option<&FoundNode>,
) -> Result<Option<Markup>> {
    let (old, new) = (old.map(side), new.map(side));
    pictures::compared(request.links, old.as_ref(), new.as_ref())
}

fn side(found: &FoundNode) -> Side<'_> {
    Side { node: &found.node, path: &found.path, revision: found.revision }
}

fn copy(found: &FoundNode) -> FoundNode {
    FoundNode {
        root: found.root.clone(),
        node: found.node.clone(),
        path: found.path.clone(),
        revision: found.revision,
        sticky: found.sticky,
    }
}
