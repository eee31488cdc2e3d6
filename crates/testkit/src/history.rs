//! Histories: a list of revisions, each a tree in memory and its record in a dump stream.
//!
//! Serves dump format 2 (full texts), which the reference's `svnadmin load` turns into revision
//! files with deltas, copies and shared representations of its own choosing. Invariant: the dump
//! stream and the trees say the same.

use crate::tree::{Content, Node, Props};
use std::fmt::Write as _;
use std::sync::Arc;

/// One finished revision.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its tree.
    pub root: Arc<Node>,
    /// Its revision properties.
    pub props: Props,
    /// Its record in the dump stream.
    pub dump: Vec<u8>,
}

/// A history, from revision 0.
#[derive(Clone, Debug)]
pub struct History {
    /// What fixtures made from it are called.
    pub name: String,
    revisions: Vec<Revision>,
}

/// Seconds from the epoch of a history's revision 0: 2004-02-23.
const START: u64 = 1_077_500_000;

impl History {
    /// A history with revision 0 only.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let props = Props::from([("svn:date".to_owned(), date(0).into_bytes())]);
        let mut dump = Vec::new();
        revision_record(&mut dump, 0, &props);
        let zero = Revision { root: Arc::new(Node::dir()), props, dump };
        Self { name: name.into(), revisions: vec![zero] }
    }

    /// The youngest revision's number.
    #[must_use]
    pub fn youngest(&self) -> usize {
        self.revisions.len() - 1
    }

    /// Revision `number`.
    ///
    /// # Panics
    /// If there is no such revision.
    #[must_use]
    pub fn revision(&self, number: usize) -> &Revision {
        &self.revisions[number]
    }

    /// The youngest tree.
    #[must_use]
    pub fn head(&self) -> &Arc<Node> {
        &self.revisions.last().expect("never empty").root
    }

    /// Begins the next revision, with an author, a date and a log message.
    #[must_use]
    pub fn begin(&mut self, author: &str, log: &str) -> Txn<'_> {
        let number = self.youngest() + 1;
        let props = Props::from([
            ("svn:author".to_owned(), author.as_bytes().to_vec()),
            ("svn:date".to_owned(), date(number).into_bytes()),
            ("svn:log".to_owned(), log.as_bytes().to_vec()),
        ]);
        let root = Arc::clone(self.head());
        Txn { history: self, number, root, props, body: Vec::new() }
    }

    /// The head of a dump stream with the given UUID; the records of the revisions follow it.
    #[must_use]
    fn dump_head(&self) -> Vec<u8> {
        format!("SVN-fs-dump-format-version: 2\n\nUUID: {}\n\n", self.uuid()).into_bytes()
    }

    /// A dump stream of a range of revisions.
    #[must_use]
    pub fn dump(&self, range: std::ops::RangeInclusive<usize>) -> Vec<u8> {
        let mut out = self.dump_head();
        range.for_each(|n| out.extend_from_slice(&self.revision(n).dump));
        out
    }

    /// A UUID that depends on the name only.
    #[must_use]
    pub fn uuid(&self) -> String {
        let hex = sapwood_core::Md5::of(self.name.as_bytes()).to_hex();
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

/// A revision being made. Paths are relative to the root, without a slash in front.
#[derive(Debug)]
pub struct Txn<'h> {
    history: &'h mut History,
    number: usize,
    root: Arc<Node>,
    props: Props,
    body: Vec<u8>,
}

impl Txn<'_> {
    /// The number that it will have.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// The tree so far.
    #[must_use]
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The history so far.
    #[must_use]
    pub fn history(&self) -> &History {
        self.history
    }

    /// Sets a revision property.
    pub fn revprop(&mut self, name: &str, value: impl Into<Vec<u8>>) -> &mut Self {
        self.props.insert(name.to_owned(), value.into());
        self
    }

    /// Takes a revision property away.
    pub(crate) fn no_revprop(&mut self, name: &str) -> &mut Self {
        self.props.remove(name);
        self
    }

    /// Makes a directory.
    pub fn mkdir(&mut self, path: &str) -> &mut Self {
        self.put(path, Node::dir())
    }

    /// Adds a file.
    pub fn add(&mut self, path: &str, text: impl Into<Vec<u8>>) -> &mut Self {
        self.put(path, Node::file(text))
    }

    /// Adds a node with all it has; directories must come without entries. What is there already
    /// is replaced, without history.
    pub fn put(&mut self, path: &str, node: Node) -> &mut Self {
        let action = if self.root.get(path).is_some() { "replace" } else { "add" };
        let mut head = node_head(path, Some(&node), action);
        self.node_record(&mut head, Some(&node.props), node.text().map(|t| t.as_slice()));
        self.root = Arc::new(self.root.with(path, Some(Arc::new(node))));
        self
    }

    /// Adds many files to a directory at once: adding one by one copies the directory each time.
    pub(crate) fn put_files(
        &mut self,
        dir: &str,
        files: impl IntoIterator<Item = (String, String)>,
    ) -> &mut Self {
        let mut node = self.node(dir).clone();
        for (name, text) in files {
            let file = Node::file(text);
            let mut head = node_head(&format!("{dir}/{name}"), Some(&file), "add");
            self.node_record(&mut head, Some(&file.props), file.text().map(|t| t.as_slice()));
            let Content::Dir(entries) = &mut node.content else { panic!("{dir}: a file") };
            entries.insert(name, Arc::new(file));
        }
        self.root = Arc::new(self.root.with(dir, Some(Arc::new(node))));
        self
    }

    /// Changes a file's text.
    pub fn edit(&mut self, path: &str, text: impl Into<Vec<u8>>) -> &mut Self {
        let text = Arc::new(text.into());
        let old = self.node(path);
        let node = Node { props: old.props.clone(), content: Content::File(Arc::clone(&text)) };
        let mut head = node_head(path, Some(&node), "change");
        self.node_record(&mut head, None, Some(&text));
        self.root = Arc::new(self.root.with(path, Some(Arc::new(node))));
        self
    }

    /// Changes a file's text as `change` says.
    pub(crate) fn edit_with(
        &mut self,
        path: &str,
        change: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> &mut Self {
        let old = Arc::clone(self.node(path).text().expect("a file"));
        self.edit(path, change(&old))
    }

    /// Sets (or with `None` removes) a property of a node; "" is the root.
    pub fn propset(&mut self, path: &str, name: &str, value: Option<&[u8]>) -> &mut Self {
        let mut node = self.node(path).clone();
        match value {
            Some(value) => drop(node.props.insert(name.to_owned(), value.to_vec())),
            None => drop(node.props.remove(name)),
        }
        let mut head = node_head(path, Some(&node), "change");
        self.node_record(&mut head, Some(&node.props), None);
        self.root = Arc::new(match path {
            "" => node,
            _ => self.root.with(path, Some(Arc::new(node))),
        });
        self
    }

    /// Removes a node and all below it.
    pub fn delete(&mut self, path: &str) -> &mut Self {
        assert!(self.root.get(path).is_some(), "delete {path}: not there");
        let mut head = node_head(path, None, "delete");
        self.node_record(&mut head, None, None);
        self.root = Arc::new(self.root.with(path, None));
        self
    }

    /// Copies a node with its history, from an older revision. What is there already is replaced.
    pub fn copy(&mut self, from: &str, revision: usize, path: &str) -> &mut Self {
        let node = self.history.revision(revision).root.get(from);
        let node = node.unwrap_or_else(|| panic!("copy {from}@{revision}: not there")).clone();
        let action = if self.root.get(path).is_some() { "replace" } else { "add" };
        let mut head = node_head(path, Some(&node), action);
        let _ = write!(head, "Node-copyfrom-rev: {revision}\nNode-copyfrom-path: {from}\n");
        self.node_record(&mut head, None, None);
        self.root = Arc::new(self.root.with(path, Some(Arc::new(node))));
        self
    }

    /// A copy from the youngest revision, and the removal of the original.
    pub fn rename(&mut self, from: &str, path: &str) -> &mut Self {
        let youngest = self.number - 1;
        self.copy(from, youngest, path).delete(from)
    }

    /// Finishes the revision and returns its number.
    pub fn commit(self) -> usize {
        let mut dump = Vec::new();
        revision_record(&mut dump, self.number, &self.props);
        dump.extend_from_slice(&self.body);
        self.history.revisions.push(Revision { root: self.root, props: self.props, dump });
        self.number
    }

    fn node(&self, path: &str) -> &Node {
        self.root.get(path).unwrap_or_else(|| panic!("{path} is not there"))
    }

    fn node_record(&mut self, head: &mut String, props: Option<&Props>, text: Option<&[u8]>) {
        let props = props.map(prop_block);
        if let Some(props) = &props {
            let _ = writeln!(head, "Prop-content-length: {}", props.len());
        }
        if let Some(text) = text {
            let md5 = sapwood_core::Md5::of(text).to_hex();
            let _ = write!(head, "Text-content-length: {}\nText-content-md5: {md5}\n", text.len());
        }
        if props.is_some() || text.is_some() {
            let length = props.as_ref().map_or(0, Vec::len) + text.map_or(0, <[u8]>::len);
            let _ = writeln!(head, "Content-length: {length}");
        }
        head.push('\n');
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend(props.into_iter().flatten());
        self.body.extend_from_slice(text.unwrap_or_default());
        self.body.extend_from_slice(b"\n\n");
    }
}

fn node_head(path: &str, node: Option<&Node>, action: &str) -> String {
    let kind = match node {
        Some(node) if node.text().is_some() => "Node-kind: file\n",
        Some(_) => "Node-kind: dir\n",
        None => "",
    };
    format!("Node-path: {path}\n{kind}Node-action: {action}\n")
}

fn prop_block(props: &Props) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in props {
        out.extend_from_slice(format!("K {}\n{name}\nV {}\n", name.len(), value.len()).as_bytes());
        out.extend_from_slice(value);
        out.push(b'\n');
    }
    out.extend_from_slice(b"PROPS-END\n");
    out
}

fn revision_record(out: &mut Vec<u8>, number: usize, props: &Props) {
    let block = prop_block(props);
    let len = block.len();
    out.extend_from_slice(
        format!("Revision-number: {number}\nProp-content-length: {len}\nContent-length: {len}\n\n")
            .as_bytes(),
    );
    out.extend_from_slice(&block);
    out.push(b'\n');
}

/// The date of a revision: a little under four hours after the one before.
fn date(number: usize) -> String {
    let seconds = START + number as u64 * 14_123;
    let micros = (number as u64 * 777_777) % 1_000_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years: the usual civil calendar arithmetic.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let mday = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{mday:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "2004-02-23T01:33:20.000000Z");
        assert!(date(40).starts_with("2004-02-29T"), "{}", date(40));
        assert!(date(50_000).starts_with("2026-07-"), "{}", date(50_000));
    }

    #[test]
    fn trees_follow_the_changes() {
        let mut history = History::new("t");
        let mut txn = history.begin("a", "one");
        txn.mkdir("d").add("d/f", "x").propset("d/f", "p", Some(b"v"));
        assert_eq!(txn.commit(), 1);
        let mut txn = history.begin("a", "two");
        txn.copy("d", 1, "e").edit("e/f", "y").rename("d", "g");
        txn.commit();
        assert_eq!(history.head().files(), ["e/f", "g/f"]);
        assert_eq!(history.head().get("e/f").unwrap().text().unwrap().as_slice(), b"y");
        assert_eq!(history.head().get("e/f").unwrap().props["p"], b"v");
        assert_eq!(history.revision(1).root.files(), ["d/f"]);
    }
}
