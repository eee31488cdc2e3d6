//! The rules that matter to one user in one repository, as a tree of path components.
//!
//! Each node knows the rights that rules give there and the range of rights anywhere below, so a
//! lookup ends as soon as the answer cannot change any more. Patterns make several nodes apply to
//! one path; of all rules that do, the one that comes last in the file wins.
//!
//! Invariant: some rule always applies to the root, node 0: its own, or a later `**` right below
//! it. `**` never has `**` as its next component (rules are normalized).

use std::collections::BTreeMap;

use sapwood_core::glob;

use super::model::{Access, Acl, Asker, Model, Range};
use super::rule::Segment;

type Id = usize;

/// Rights that a rule gives, and the rule's place in the file, which decides between rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Local {
    sequence: usize,
    access: Access,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Rights {
    local: Option<Local>,
    range: Range,
}

/// Children that are patterns.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
struct Patterns {
    any: Option<Id>,
    recursive: Option<Id>,
    prefixes: BTreeMap<Box<[u8]>, Id>,
    suffixes: BTreeMap<Box<[u8]>, Id>,
    complex: BTreeMap<Box<[u8]>, Id>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Node {
    rights: Rights,
    literals: BTreeMap<Box<[u8]>, Id>,
    patterns: Option<Box<Patterns>>,
    /// The node is a `**`: it still matches at every deeper component.
    repeats: bool,
}

impl Node {
    fn new(repeats: bool) -> Self {
        Self {
            rights: Rights { local: None, range: Range::EMPTY },
            literals: BTreeMap::new(),
            patterns: None,
            repeats,
        }
    }

    fn children(&self) -> Vec<Id> {
        let mut out: Vec<Id> = self.literals.values().copied().collect();
        if let Some(patterns) = &self.patterns {
            out.extend(patterns.any);
            out.extend(patterns.recursive);
            out.extend(patterns.prefixes.values());
            out.extend(patterns.suffixes.values());
            out.extend(patterns.complex.values());
        }
        out
    }
}

/// The compiled rules of one user in one repository.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// The state of a walk: the nodes that apply to the path so far, and the rights there.
struct Walk<'a> {
    tree: &'a Tree,
    current: Vec<Id>,
    next: Vec<Id>,
    local: Option<Local>,
    range: Range,
}

impl<'a> Walk<'a> {
    fn combine(&mut self, id: Id) -> Option<&'a Node> {
        let node = self.tree.nodes.get(id)?;
        if let Some(local) = node.rights.local
            && self.local.is_none_or(|mine| mine.sequence < local.sequence)
        {
            self.local = Some(local);
        }
        self.range.join(node.rights.range);
        Some(node)
    }

    /// Adds `id` to the next level, and with it the `**` below it, which also matches no component.
    fn add(&mut self, id: Id) {
        if self.next.contains(&id) {
            return;
        }
        let Some(node) = self.combine(id) else { return };
        let recursive = node.patterns.as_ref().and_then(|p| p.recursive);
        self.next.push(id);
        if let Some(id) = recursive
            && !self.next.contains(&id)
        {
            self.combine(id);
            self.next.push(id);
        }
    }

    fn step(&mut self, name: &[u8]) {
        self.next.clear();
        self.local = None;
        self.range = Range::EMPTY;
        let current = std::mem::take(&mut self.current);
        let tree = self.tree;
        for node in current.iter().filter_map(|id| tree.nodes.get(*id).map(|n| (*id, n))) {
            let (id, node) = node;
            if let Some(child) = node.literals.get(name) {
                self.add(*child);
            }
            if node.repeats {
                self.add(id);
            }
            let Some(patterns) = &node.patterns else { continue };
            if let Some(child) = patterns.any {
                self.add(child);
            }
            for (prefix, child) in &patterns.prefixes {
                if name.starts_with(prefix) {
                    self.add(*child);
                }
            }
            for (suffix, child) in &patterns.suffixes {
                if name.ends_with(suffix) {
                    self.add(*child);
                }
            }
            for (pattern, child) in &patterns.complex {
                if glob::matches(pattern, name) {
                    self.add(*child);
                }
            }
        }
        self.current = current;
    }
}

impl Tree {
    /// Selects and compiles what `model` says about `user` in
    /// `repos`.
    pub(super) fn new(model: &Model, repos: &[u8], user: Asker<'_>) -> Self {
        let mut tree = Self { nodes: vec![Node::new(false)] };
        for acl in relevant(model, repos, user) {
            if let Some(access) = acl.access(user) {
                tree.insert(&acl.rule.path, Local { sequence: acl.sequence, access });
            }
        }
        if let Some(root) = tree.nodes.first_mut() {
            root.rights.local.get_or_insert(Local { sequence: 0, access: Access::NONE });
        }
        let order = tree.preorder();
        tree.trim(&order);
        tree.sum_up(&order);
        tree
    }

    fn child(&mut self, at: Id, segment: &Segment) -> Option<Id> {
        let fresh = self.nodes.len();
        let node = self.nodes.get_mut(at)?;
        let id = match segment {
            Segment::Literal(name) => *node.literals.entry(name.clone()).or_insert(fresh),
            _ => {
                let patterns = node.patterns.get_or_insert_default();
                match segment {
                    Segment::Any => *patterns.any.get_or_insert(fresh),
                    Segment::AnyRecursive => *patterns.recursive.get_or_insert(fresh),
                    Segment::Prefix(p) => *patterns.prefixes.entry(p.clone()).or_insert(fresh),
                    Segment::Suffix(p) => *patterns.suffixes.entry(p.clone()).or_insert(fresh),
                    Segment::Pattern(p) | Segment::Literal(p) => {
                        *patterns.complex.entry(p.clone()).or_insert(fresh)
                    }
                }
            }
        };
        if id == fresh {
            self.nodes.push(Node::new(*segment == Segment::AnyRecursive));
        }
        Some(id)
    }

    fn insert(&mut self, path: &[Segment], local: Local) {
        let mut at = 0;
        for segment in path {
            let Some(id) = self.child(at, segment) else { return };
            at = id;
        }
        if let Some(node) = self.nodes.get_mut(at)
            && node.rights.local.is_none_or(|mine| mine.sequence < local.sequence)
        {
            node.rights.local = Some(local);
        }
    }

    /// All nodes with their parents, parents first. No recursion: rule paths may be deep.
    fn preorder(&self) -> Vec<(Id, Option<Id>)> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut stack = vec![(0, None)];
        while let Some((id, parent)) = stack.pop() {
            order.push((id, parent));
            if let Some(node) = self.nodes.get(id) {
                stack.extend(node.children().into_iter().map(|child| (child, Some(id))));
            }
        }
        order
    }

    /// Removes rules that a later `**` rule at or above them overrules completely, and nodes
    /// that are left without any rule at or below them.
    fn trim(&mut self, order: &[(Id, Option<Id>)]) {
        // The latest `**` rule at or above each node; 0 when there is none.
        let mut latest = vec![0_usize; self.nodes.len()];
        for (id, parent) in order {
            let inherited = parent.and_then(|p| latest.get(p).copied()).unwrap_or(0);
            let own = self
                .nodes
                .get(*id)
                .and_then(|n| n.patterns.as_ref()?.recursive)
                .and_then(|r| self.nodes.get(r)?.rights.local)
                .map_or(0, |local| local.sequence);
            let bound = inherited.max(own);
            if let Some(slot) = latest.get_mut(*id) {
                *slot = bound;
            }
            if let Some(node) = self.nodes.get_mut(*id)
                && node.rights.local.is_some_and(|local| local.sequence < bound)
            {
                node.rights.local = None;
            }
        }
        let mut empty = vec![true; self.nodes.len()];
        for (id, parent) in order.iter().rev() {
            let Some(node) = self.nodes.get_mut(*id) else { continue };
            let gone = |child: &Id| empty.get(*child).copied().unwrap_or(true);
            node.literals.retain(|_, child| !gone(child));
            let mut bare = node.literals.is_empty();
            if let Some(patterns) = &mut node.patterns {
                patterns.any = patterns.any.filter(|c| !gone(c));
                patterns.recursive = patterns.recursive.filter(|c| !gone(c));
                patterns.prefixes.retain(|_, child| !gone(child));
                patterns.suffixes.retain(|_, child| !gone(child));
                patterns.complex.retain(|_, child| !gone(child));
                bare = bare
                    && patterns.any.is_none()
                    && patterns.recursive.is_none()
                    && patterns.prefixes.is_empty()
                    && patterns.suffixes.is_empty()
                    && patterns.complex.is_empty();
            }
            let is_empty = bare && node.rights.local.is_none();
            if bare {
                node.patterns = None;
            }
            if let (Some(_), Some(slot)) = (parent, empty.get_mut(*id)) {
                *slot = is_empty;
            }
        }
    }

    /// Computes the range of rights at and below each node, children first.
    fn sum_up(&mut self, order: &[(Id, Option<Id>)]) {
        for (id, _) in order.iter().rev() {
            let Some(node) = self.nodes.get(*id) else { continue };
            let mut range = match node.rights.local {
                Some(local) => Range::of(local.access),
                None => Range::EMPTY,
            };
            for child in node.children() {
                if let Some(child) = self.nodes.get(child) {
                    range.join(child.rights.range);
                }
            }
            if let Some(node) = self.nodes.get_mut(*id) {
                node.rights.range = range;
            }
        }
    }

    fn walk(&self) -> (Walk<'_>, Access) {
        let mut walk = Walk {
            tree: self,
            current: Vec::with_capacity(4),
            next: Vec::with_capacity(4),
            local: None,
            range: Range::EMPTY,
        };
        walk.add(0);
        std::mem::swap(&mut walk.current, &mut walk.next);
        // Only the root's own rule is inherited here; a `**` applies by itself.
        let root = self.nodes.first().and_then(|n| n.rights.local);
        (walk, root.map_or(Access::NONE, |l| l.access))
    }

    /// Whether `required` is given at `path`, and everywhere below it when `recursive`.
    ///
    /// The path of the root counts as one empty component here, as in the reference: `*` matches
    /// it, and the recursive answer for the root looks at the root's own rule only.
    pub(super) fn allows(&self, path: &[u8], required: Access, recursive: bool) -> bool {
        let (mut walk, mut inherited) = self.walk();
        let mut access = walk.local.map_or(Access::NONE, |l| l.access);
        let mut names = trim_slashes(path).split(|b| *b == b'/').peekable();
        let mut first = true;
        while let Some(name) = names.next() {
            if name.is_empty() && !first {
                continue;
            }
            first = false;
            if walk.current.is_empty() {
                break;
            }
            if !walk.range.max.contains(required) {
                return false;
            }
            if walk.range.min.contains(required) {
                return true;
            }
            walk.step(name);
            access = match walk.local {
                Some(local) => local.access,
                None => {
                    walk.range.join(Range::of(inherited));
                    inherited
                }
            };
            if names.peek().is_some() {
                std::mem::swap(&mut walk.current, &mut walk.next);
                inherited = access;
            }
        }
        if recursive { walk.range.min.contains(required) } else { access.contains(required) }
    }

    /// The range of rights at `path` and below it: never too narrow.
    pub(super) fn range(&self, path: &[u8]) -> Range {
        let (mut walk, mut inherited) = self.walk();
        for name in trim_slashes(path).split(|b| *b == b'/').filter(|n| !n.is_empty()) {
            if walk.range.min == walk.range.max {
                break;
            }
            walk.step(name);
            match walk.local {
                Some(local) => inherited = local.access,
                None => walk.range.join(Range::of(inherited)),
            }
            std::mem::swap(&mut walk.current, &mut walk.next);
        }
        walk.range
    }
}

fn trim_slashes(mut path: &[u8]) -> &[u8] {
    while let Some(rest) = path.strip_prefix(b"/") {
        path = rest;
    }
    while let Some(rest) = path.strip_suffix(b"/") {
        path = rest;
    }
    path
}

/// The rules that apply to `repos`. Where a general rule and the repository's own rule are for
/// the same path, only one counts: the repository's own, unless only the general one mentions
/// the user.
fn relevant<'a>(model: &'a Model, repos: &[u8], user: Asker<'_>) -> Vec<&'a Acl> {
    let mut out: Vec<&Acl> = Vec::new();
    for acl in model.acls.iter().filter(|a| a.applies_to(repos)) {
        match out.last_mut() {
            Some(general) if general.rule.path == acl.rule.path => {
                if general.access(user).is_none() || acl.access(user).is_some() {
                    *general = acl;
                }
            }
            _ => out.push(acl),
        }
    }
    out
}
