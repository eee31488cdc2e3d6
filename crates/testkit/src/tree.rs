//! A versioned tree in memory: the plain model that repositories are made from and checked
//! against.
//!
//! Invariant: trees are persistent; a change copies the directories on its path and shares the
//! rest, so that every revision's root can be kept.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Properties of a node or revision.
pub type Props = BTreeMap<String, Vec<u8>>;

/// A file or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its properties.
    pub props: Props,
    /// What it holds.
    pub content: Content,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A directory's entries by name.
    Dir(BTreeMap<String, Arc<Node>>),
    /// A file's bytes.
    File(Arc<Vec<u8>>),
}

impl Node {
    /// An empty directory without properties.
    #[must_use]
    pub fn dir() -> Self {
        Self { props: Props::new(), content: Content::Dir(BTreeMap::new()) }
    }

    /// A file without properties.
    #[must_use]
    pub fn file(text: impl Into<Vec<u8>>) -> Self {
        Self { props: Props::new(), content: Content::File(Arc::new(text.into())) }
    }

    /// The entries, if it is a directory.
    #[must_use]
    pub fn entries(&self) -> Option<&BTreeMap<String, Arc<Self>>> {
        match &self.content {
            Content::Dir(entries) => Some(entries),
            Content::File(_) => None,
        }
    }

    /// The bytes, if it is a file.
    #[must_use]
    pub fn text(&self) -> Option<&Arc<Vec<u8>>> {
        match &self.content {
            Content::File(text) => Some(text),
            Content::Dir(_) => None,
        }
    }

    /// The node at a relative path; the empty path is the node itself.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Self> {
        let mut node = self;
        for name in path.split('/').filter(|n| !n.is_empty()) {
            node = node.entries()?.get(name)?;
        }
        Some(node)
    }

    /// This tree with the node at `path` replaced by `new`, or removed.
    ///
    /// # Panics
    /// If the parent of `path` is not a directory of this tree.
    #[must_use]
    pub fn with(&self, path: &str, new: Option<Arc<Self>>) -> Self {
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        let Content::Dir(entries) = &self.content else { panic!("{path}: not a directory") };
        let mut entries = entries.clone();
        if rest.is_empty() {
            match new {
                Some(node) => drop(entries.insert(name.to_owned(), node)),
                None => drop(entries.remove(name)),
            }
        } else {
            let child = entries.get(name).unwrap_or_else(|| panic!("{path}: no {name}"));
            let child = Arc::new(child.with(rest, new));
            entries.insert(name.to_owned(), child);
        }
        Self { props: self.props.clone(), content: Content::Dir(entries) }
    }

    /// All paths below this node in depth-first order, with their nodes; the node itself is "".
    #[must_use]
    pub fn walk(&self) -> Vec<(String, &Self)> {
        fn into<'a>(path: &str, node: &'a Node, out: &mut Vec<(String, &'a Node)>) {
            out.push((path.to_owned(), node));
            for (name, child) in node.entries().into_iter().flatten() {
                let child_path =
                    if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                into(&child_path, child, out);
            }
        }
        let mut out = Vec::new();
        into("", self, &mut out);
        out
    }

    /// The paths of all files below this node.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        self.paths(|n| n.text().is_some())
    }

    /// The paths of all directories below this node, itself (as "") included.
    #[must_use]
    pub fn dirs(&self) -> Vec<String> {
        self.paths(|n| n.entries().is_some())
    }

    fn paths(&self, wanted: impl Fn(&Self) -> bool) -> Vec<String> {
        self.walk().into_iter().filter(|(_, n)| wanted(n)).map(|(p, _)| p).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_share_what_they_do_not_touch() {
        let empty = Node::dir();
        let one = empty.with("a", Some(Arc::new(Node::dir())));
        let one = one.with("b", Some(Arc::new(Node::file("x"))));
        let two = one.with("a/c", Some(Arc::new(Node::file("y"))));
        assert!(one.get("a/c").is_none());
        assert_eq!(two.get("a/c").unwrap().text().unwrap().as_slice(), b"y");
        assert!(Arc::ptr_eq(&one.entries().unwrap()["b"], &two.entries().unwrap()["b"]));
        assert_eq!(two.files(), ["a/c", "b"]);
        assert_eq!(two.with("a", None).dirs(), [""]);
    }
}
