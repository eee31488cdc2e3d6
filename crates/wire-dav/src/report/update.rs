//! The update report: checkout, update, switch, status and diff.
//!
//! The request says what is wanted and, with an `entry` for each node that differs from its
//! parent, what the client has. The reply is a tree of elements. With `send-all` ("bulk") texts
//! and properties are in it; without ("skelta") the client fetches texts one by one.

use sapwood_core::exact::Exact;
use sapwood_core::path::{basename, canonical_relpath};
use sapwood_core::{Depth, Md5, NodeKind, Revnum, Sha1, SvnResult, uri};
use sapwood_delta::{EditStep, EditTarget, Handle, StepEditor, TextDelta, Version};

use super::{Sink, replay, reply};
use crate::NS_SVN;
use crate::error::{Error, Result};
use crate::xml::{Element, HEADER, Xml as _};

/// The parameters of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateRequest {
    /// The target revision; `None` for the youngest.
    pub revision: Option<Revnum>,
    /// The URL, or its path, of the directory that the client has.
    pub source: String,
    /// The URL, or its path, to switch to or compare with.
    pub destination: Option<String>,
    /// The one name below the source to update; empty for the source itself.
    pub target: String,
    /// The depth.
    pub depth: Depth,
    /// Whether an unrelated node counts as a change and not as a replacement.
    pub ignore_ancestry: bool,
    /// Whether additions may be sent as copies.
    pub copyfrom: bool,
    /// Whether texts are wanted at all.
    pub text_deltas: bool,
    /// Whether texts come in the reply.
    pub send_all: bool,
    /// Whether properties of additions come in the reply.
    pub include_props: bool,
}

/// One entry of the client's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The client has a node.
    Entry {
        /// Where, relative to the target.
        path: String,
        /// The fspath of the node, if that does not follow from its parent.
        link: Option<String>,
        /// The revision.
        revision: Revnum,
        /// The depth.
        depth: Depth,
        /// Whether the client has nothing below it.
        start_empty: bool,
        /// The token of the lock that the client has.
        lock_token: Option<String>,
    },
    /// The client has nothing at a path.
    Missing(String),
}

/// Reads a request, child by child of its root.
#[derive(Debug)]
pub struct ReportReader {
    wanted: UpdateRequest,
    seen_source: bool,
    seen_depth: bool,
    seen_recursive: bool,
}

impl ReportReader {
    /// Begins with the root element.
    #[must_use]
    pub fn new(root: &Element) -> Self {
        let send_all = root.attribute("send-all") == Some("true");
        Self {
            wanted: UpdateRequest {
                revision: None,
                source: String::new(),
                destination: None,
                target: String::new(),
                depth: Depth::Unknown,
                ignore_ancestry: false,
                copyfrom: false,
                text_deltas: true,
                send_all,
                include_props: send_all,
            },
            seen_source: false,
            seen_depth: false,
            seen_recursive: false,
        }
    }

    /// Reads a child. Entries of the client's report are returned; the first of them ends the parameters.
    ///
    /// # Errors
    /// For invalid elements.
    pub fn child(&mut self, element: &Element) -> Result<Option<Item>> {
        if element.namespace != NS_SVN {
            return Ok(None);
        }
        let text = element.trimmed();
        let word =
            |name: &'static str| if text.is_empty() { Err(Error::Element(name)) } else { Ok(text) };
        let wanted = &mut self.wanted;
        match element.name.as_str() {
            "target-revision" => {
                wanted.revision = Revnum::parse(word("target-revision")?.as_bytes());
            }
            "src-path" => {
                wanted.source = word("src-path")?.to_owned();
                self.seen_source = true;
            }
            "dst-path" => wanted.destination = Some(word("dst-path")?.to_owned()),
            "update-target" => wanted.target = super::request::relpath(element)?,
            "depth" => {
                wanted.depth = Depth::from_word(word("depth")?.as_bytes());
                self.seen_depth = true;
            }
            "recursive" if !self.seen_depth => {
                let all = word("recursive")? != "no";
                wanted.depth = if all { Depth::Infinity } else { Depth::Files };
                self.seen_recursive = true;
            }
            "ignore-ancestry" => wanted.ignore_ancestry = word("ignore-ancestry")? != "no",
            "send-copyfrom-args" => wanted.copyfrom = word("send-copyfrom-args")? != "no",
            "text-deltas" => wanted.text_deltas = word("text-deltas")? != "no",
            "include-props" => wanted.include_props |= word("include-props")? != "no",
            "entry" => return entry(element).map(Some),
            "missing" => return Ok(Some(Item::Missing(entry_path(element)?))),
            _ => {}
        }
        Ok(None)
    }

    /// The parameters, once all of them were read.
    ///
    /// # Errors
    /// When the source is missing.
    pub fn wanted(&self) -> Result<UpdateRequest> {
        if !self.seen_source {
            return Err(Error::Address(
                "The request did not contain the '<src-path>' element.\nThis may indicate that \
                 your client is too old",
            ));
        }
        let mut wanted = self.wanted.clone();
        if !self.seen_depth && !self.seen_recursive {
            wanted.depth = Depth::Infinity;
        }
        wanted.text_deltas &= wanted.send_all;
        Ok(wanted)
    }
}

/// The path of an entry. Leading and trailing spaces belong to it.
fn entry_path(element: &Element) -> Result<String> {
    let path = element.text.as_str();
    if *canonical_relpath(path) == *path && !path.split('/').any(|part| part == "..") {
        return Ok(path.to_owned());
    }
    Err(Error::NotCanonical(path.to_owned()))
}

fn entry(element: &Element) -> Result<Item> {
    let revision = element.attribute("rev").ok_or(Error::Element("entry"))?;
    let depth = element.attribute("depth");
    Ok(Item::Entry {
        path: entry_path(element)?,
        link: element.attribute("linkpath").map(str::to_owned),
        revision: Revnum::parse(revision.as_bytes()).ok_or(Error::Element("entry"))?,
        depth: depth.map_or(Depth::Infinity, |word| Depth::from_word(word.as_bytes())),
        start_empty: element.attribute("start-empty").is_some(),
        lock_token: element.attribute("lock-token").map(str::to_owned),
    })
}

/// How a reply is written.
#[derive(Clone, Debug)]
pub struct Style {
    /// Whether texts are in it.
    pub send_all: bool,
    /// Whether properties of additions are in it.
    pub include_props: bool,
    /// The newest svndiff that the client reads.
    pub svndiff: Version,
    /// How hard to compress, 0 to 9.
    pub compression: u8,
    /// Whether addresses are those of HTTPv2.
    pub v2: bool,
    /// The percent-encoded path of the repository's URL, without a slash at its end.
    pub root: String,
    /// The special name.
    pub special: String,
}

/// An open directory or file.
#[derive(Clone, Debug, Default)]
struct Open {
    added: bool,
    copied: bool,
    removed: Vec<String>,
    base: Option<Md5>,
    text_changed: bool,
    sha1: Option<Sha1>,
}

/// What the driver has announced of the node that comes next.
#[derive(Debug)]
struct NodeAttributes {
    /// Its path, percent-encoded; empty for the root.
    path: String,
    revision: Revnum,
    sha1: Option<Sha1>,
    /// Whether the node has been opened: then this is not used again.
    is_used: bool,
}

/// The parts that are the same for all nodes: the XML before an address, and the address up to the revision.
struct Begins {
    /// Of a version.
    checked_in: String,
    /// Of a directory's place in a revision.
    directory: String,
}

impl Begins {
    fn of(style: &Style) -> Self {
        let begin = |before: &str, kind: &str| {
            let mut out = before.as_bytes().to_vec();
            out.attribute_text(&style.root);
            out.raw("/");
            out.attribute_text(&style.special);
            out.raw(kind);
            String::from_utf8_lossy(&out).into_owned()
        };
        let kind = if style.v2 { "/rvr/" } else { "/ver/" };
        Self {
            checked_in: begin("<D:checked-in><D:href>", kind),
            directory: begin(" bc-url=\"", "/bc/"),
        }
    }
}

/// Writes an edit as an `update-report`.
pub struct UpdateEditor<S> {
    sink: S,
    style: Style,
    begins: Begins,
    next_node: NodeAttributes,
    open: Vec<Open>,
    started: bool,
}

impl<S> std::fmt::Debug for UpdateEditor<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpdateEditor").field("style", &self.style).finish_non_exhaustive()
    }
}

impl<S: Sink> UpdateEditor<S> {
    /// An editor that has written nothing.
    pub fn new(sink: S, style: Style) -> Self {
        let next_node = NodeAttributes {
            path: String::new(),
            revision: Revnum::ZERO,
            sha1: None,
            is_used: true,
        };
        let begins = Begins::of(&style);
        Self { sink, style, begins, next_node, open: Vec::new(), started: false }
    }

    fn out(&mut self) -> SvnResult<&mut Vec<u8>> {
        self.sink.flush_if_large()?;
        let out = self.sink.buffer();
        if !self.started {
            self.started = true;
            out.raw(HEADER);
            out.raw("<S:update-report xmlns:S=\"svn:\" xmlns:V=\"");
            out.raw(crate::NS_SVN_DAV);
            out.raw("\" xmlns:D=\"DAV:\"");
            if self.style.send_all {
                out.raw(" send-all=\"true\"");
            }
            if self.style.include_props {
                out.raw(" inline-props=\"true\"");
            }
            out.raw(">\n");
        }
        Ok(out)
    }

    fn find(&mut self, handle: Handle) -> SvnResult<&mut Open> {
        let at = sapwood_core::exact::clamped(handle.0);
        self.open.get_mut(at).ok_or_else(out_of_order)
    }

    /// Opens the announced node below `parent`.
    fn child(&mut self, parent: Handle, added: bool, copied: bool) -> SvnResult<Handle> {
        if std::mem::replace(&mut self.next_node.is_used, true) {
            return Err(out_of_order());
        }
        // Siblings that are still open would be an error of the driver.
        let level = sapwood_core::exact::clamped(parent.0).plus(1);
        self.open.truncate(level);
        self.find(parent)?;
        Ok(self.push(Open { added, copied, sha1: self.next_node.sha1, ..Open::default() }))
    }

    fn push(&mut self, open: Open) -> Handle {
        self.open.push(open);
        Handle(sapwood_core::exact::len64(self.open.len().minus(1)))
    }

    /// Writes `before` and the rest of the address of the announced node: as
    /// `Resource::path` makes it, without texts in between, since there is one of each node.
    fn address(sink: &mut S, next_node: &NodeAttributes, before: &str) {
        let out = sink.buffer();
        out.raw(before);
        out.number(next_node.revision.0);
        out.attribute_text(&next_node.path);
    }

    /// Writes the address of a node's version.
    fn checked_in(&mut self) {
        Self::address(&mut self.sink, &self.next_node, &self.begins.checked_in);
        self.sink.buffer().raw("</D:href></D:checked-in>\n");
    }

    fn add(
        &mut self,
        kind: NodeKind,
        path: &str,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        let is_dir = kind == NodeKind::Dir;
        let child = self.child(parent, true, copy_from.is_some())?;
        let sha1 = self.next_node.sha1;
        let out = self.out()?;
        out.raw(if is_dir { "<S:add-directory" } else { "<S:add-file" });
        out.attribute("name", basename(path));
        if is_dir {
            Self::address(&mut self.sink, &self.next_node, &self.begins.directory);
            self.sink.buffer().raw("\"");
        } else if let Some(sha1) = sha1 {
            out.raw(" sha1-checksum=\"");
            out.extend_from_slice(sha1.hex_digits().as_flattened());
            out.raw("\"");
        }
        let out = self.sink.buffer();
        if let Some((from, revision)) = copy_from {
            out.attribute("copyfrom-path", from);
            out.raw(" copyfrom-rev=\"");
            out.number(revision.0);
            out.raw("\"");
        }
        out.raw(">\n");
        self.checked_in();
        Ok(child)
    }

    fn reopen(
        &mut self,
        kind: NodeKind,
        path: &str,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let child = self.child(parent, false, false)?;
        let out = self.out()?;
        out.raw(match kind {
            NodeKind::Dir => "<S:open-directory",
            NodeKind::File => "<S:open-file",
        });
        out.attribute("name", basename(path));
        replay::revision(out, base);
        out.raw(">\n");
        self.checked_in();
        Ok(child)
    }

    fn prop(&mut self, node: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        let (send_all, include_props) = (self.style.send_all, self.style.include_props);
        let open = self.find(node)?;
        let sends = if send_all || !open.added {
            true
        } else {
            // Clients fetch all properties of an addition themselves, unless they asked for them
            // here; removed properties of a copy must be sent.
            if open.copied && value.is_none() {
                open.removed.push(name.to_owned());
            }
            value.is_some() && include_props
        };
        if sends {
            reply::prop(self.out()?, "S:set-prop", name, value);
        }
        Ok(())
    }

    fn close(&mut self, kind: NodeKind, node: Handle) -> SvnResult<()> {
        let open = self.find(node)?;
        let (added, removed) = (open.added, std::mem::take(&mut open.removed));
        let at = sapwood_core::exact::clamped(node.0);
        self.open.truncate(at);
        let out = self.out()?;
        for name in removed {
            reply::prop(out, "S:set-prop", &name, None);
        }
        out.raw(match (added, kind) {
            (true, NodeKind::Dir) => "</S:add-directory>\n",
            (true, NodeKind::File) => "</S:add-file>\n",
            (false, NodeKind::Dir) => "</S:open-directory>\n",
            (false, NodeKind::File) => "</S:open-file>\n",
        });
        Ok(())
    }

    fn absent(&mut self, kind: NodeKind, path: &str) -> SvnResult<()> {
        let out = self.out()?;
        out.raw(match kind {
            NodeKind::Dir => "<S:absent-directory",
            NodeKind::File => "<S:absent-file",
        });
        out.attribute("name", basename(path));
        out.raw("/>\n");
        Ok(())
    }

    fn target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:target-revision");
        replay::revision(out, Some(revision));
        out.raw("/>\n");
        Ok(())
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        let out = self.out()?;
        out.raw("<S:open-directory");
        replay::revision(out, base);
        out.raw(">\n");
        self.open.clear();
        // Where one name below the root is meant, nothing is sent of the root.
        if !std::mem::replace(&mut self.next_node.is_used, true) {
            self.checked_in();
        }
        Ok(self.push(Open::default()))
    }

    fn delete(&mut self, path: &str, rev: Option<Revnum>) -> SvnResult<()> {
        let out = self.out()?;
        out.raw("<S:delete-entry");
        out.attribute("name", basename(path));
        replay::revision(out, rev);
        out.raw("/>\n");
        Ok(())
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let open = self.find(file)?;
        open.base = base;
        open.text_changed = true;
        if !self.style.send_all {
            return Ok(());
        }
        let (version, level) = (self.style.svndiff, self.style.compression);
        let out = self.out()?;
        out.raw("<S:txdelta");
        if let Some(base) = base {
            out.attribute("base-checksum", &base.to_hex());
        }
        out.raw(">");
        reply::text_delta(&mut self.sink, delta, version, level)?;
        self.sink.buffer().raw("</S:txdelta>");
        Ok(())
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        let send_all = self.style.send_all;
        let open = self.find(file)?;
        if !send_all && !open.added && open.text_changed {
            let (base, sha1) = (open.base, open.sha1);
            let out = self.out()?;
            out.raw("<S:fetch-file");
            if let Some(base) = base {
                out.attribute("base-checksum", &base.to_hex());
            }
            if let Some(sha1) = sha1 {
                out.attribute("sha1-checksum", &sha1.to_hex());
            }
            out.raw("/>\n");
        }
        if let Some(text) = text {
            let out = self.out()?;
            out.raw("<S:prop><V:md5-checksum>");
            out.extend_from_slice(text.hex_digits().as_flattened());
            out.raw("</V:md5-checksum></S:prop>\n");
        }
        self.close(NodeKind::File, file)
    }
}

fn out_of_order() -> sapwood_core::SvnError {
    sapwood_core::SvnError::new(
        sapwood_core::ErrorCode::INCORRECT_PARAMS,
        "Editor commands out of order",
    )
}

impl<S: Sink> StepEditor for UpdateEditor<S> {
    fn announced(&mut self, target: &EditTarget<'_>) {
        let next_node = &mut self.next_node;
        next_node.path.clear();
        if !target.path.is_root() {
            next_node.path.push_str(&uri::encode(target.path));
        }
        (next_node.revision, next_node.sha1, next_node.is_used) =
            (target.revision, target.sha1, false);
    }

    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::TargetRevision(revision) => self.target_revision(revision)?,
            EditStep::OpenRoot(base) => return self.open_root(base),
            EditStep::Add { kind, path, parent, copy_from } => {
                return self.add(kind, path, parent, copy_from);
            }
            EditStep::Open { kind, path, parent, base } => {
                return self.reopen(kind, path, parent, base);
            }
            EditStep::Delete { path, revision, .. } => self.delete(path, revision)?,
            EditStep::Absent { kind, path, .. } => self.absent(kind, path)?,
            EditStep::Prop { node, name, value, .. } => self.prop(node, name, value)?,
            EditStep::Text { file, base, delta } => self.apply_textdelta(file, base, delta)?,
            EditStep::CloseDirectory(dir) => self.close(NodeKind::Dir, dir)?,
            EditStep::CloseFile { file, text } => self.close_file(file, text)?,
            EditStep::CloseEdit => self.out()?.raw("</S:update-report>\n"),
            EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}

/// The path of a URL or of an absolute path, percent-encoded, without a query.
#[must_use]
pub fn path_of(address: &str) -> &str {
    let path = if uri::is_url(address) {
        let rest = address.split_once("://").map_or("", |(_, rest)| rest);
        rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/")
    } else {
        address
    };
    path.split(['?', '#']).next().unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use sapwood_core::FsPath;
    use sapwood_core::paths::RelPath;

    use sapwood_delta::Editor;

    use super::*;
    use crate::xml::{Document, Limits};

    /// Announces the next node to an editor.
    fn drive(editor: &mut dyn Editor, path: &str, revision: u64) {
        let path = FsPath::new(path).unwrap();
        editor.leads_to(&EditTarget { path, revision: Revnum(revision), sha1: None });
    }

    fn style(send_all: bool) -> Style {
        Style {
            send_all,
            include_props: send_all,
            svndiff: Version::V0,
            compression: 5,
            v2: true,
            root: "/r".to_owned(),
            special: "!svn".to_owned(),
        }
    }

    fn reply(send_all: bool, drive: impl FnOnce(&mut UpdateEditor<&mut Vec<u8>>)) -> String {
        let mut out = Vec::new();
        let mut editor = UpdateEditor::new(&mut out, style(send_all));
        drive(&mut editor);
        editor.close_edit().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request() {
        let text = "<S:update-report xmlns:S=\"svn:\" send-all=\"true\"><S:src-path>/r/a</S:src-path>\
            <S:target-revision>5</S:target-revision><S:depth>unknown</S:depth>\
            <S:entry rev=\"4\" start-empty=\"true\" depth=\"infinity\"></S:entry>\
            <S:entry rev=\"3\" linkpath=\"/b/x\" lock-token=\"t\">c d/e</S:entry>\
            <S:missing>f</S:missing></S:update-report>";
        let mut document = Document::open(text.as_bytes(), Limits::default()).unwrap();
        let mut reading = ReportReader::new(document.root());
        let mut items = Vec::new();
        while let Some(child) = document.next_child().unwrap() {
            items.extend(reading.child(&child).unwrap());
        }
        let wanted = reading.wanted().unwrap();
        assert!(wanted.send_all && wanted.text_deltas);
        assert_eq!((wanted.revision, wanted.depth), (Some(Revnum(5)), Depth::Unknown));
        assert_eq!(items.len(), 3);
        assert_eq!(items.last(), Some(&Item::Missing("f".to_owned())));
        assert!(matches!(&items[1], Item::Entry { link: Some(l), .. } if l == "/b/x"));
    }

    #[test]
    fn addresses_are_those_that_the_driver_names() {
        let text = reply(false, |editor| {
            editor.set_target_revision(Revnum(9)).unwrap();
            drive(editor, "/b", 3);
            let root = editor.open_root(Some(Revnum(1))).unwrap();
            drive(editor, "/b/x y", 7);
            let file = editor.open_file(RelPath::trusted("x y"), root, Some(Revnum(1))).unwrap();
            editor.change_file_prop(file, "p", Some(b"v")).unwrap();
            editor.close_file(file, None).unwrap();
            editor.delete_entry(RelPath::trusted("y"), Some(Revnum(2)), root).unwrap();
            editor.close_directory(root).unwrap();
        });
        assert!(text.contains("<D:href>/r/!svn/rvr/3/b</D:href>"), "{text}");
        assert!(text.contains("<D:href>/r/!svn/rvr/7/b/x%20y</D:href>"), "{text}");
        assert!(text.contains("<S:set-prop name=\"p\">v</S:set-prop>"), "{text}");
        assert!(text.contains("<S:delete-entry name=\"y\" rev=\"2\"/>"), "{text}");
    }

    #[test]
    fn additions_and_copies() {
        let text = reply(true, |editor| {
            drive(editor, "/", 9);
            let root = editor.open_root(Some(Revnum(1))).unwrap();
            drive(editor, "/d", 3);
            let dir = editor.open_directory(RelPath::trusted("d"), root, Some(Revnum(1))).unwrap();
            drive(editor, "/b/x", 7);
            let file = editor.add_file(RelPath::trusted("d/x"), dir, None).unwrap();
            editor.close_file(file, Some(Md5::of(b""))).unwrap();
            editor.close_directory(dir).unwrap();
            drive(editor, "/a/e", 3);
            let other =
                editor.add_directory(RelPath::trusted("e"), root, Some(("/z", Revnum(2)))).unwrap();
            editor.close_directory(other).unwrap();
            editor.close_directory(root).unwrap();
        });
        assert!(text.contains("<D:href>/r/!svn/rvr/9</D:href>"), "{text}");
        assert!(text.contains("<D:href>/r/!svn/rvr/7/b/x</D:href>"), "{text}");
        assert!(text.contains("bc-url=\"/r/!svn/bc/3/a/e\""), "{text}");
        assert!(text.contains("copyfrom-path=\"/z\" copyfrom-rev=\"2\""), "{text}");
        assert!(Document::open(text.as_bytes(), Limits::default()).unwrap().into_root().is_ok());
    }

    #[test]
    fn an_unannounced_root_has_no_address_and_each_announcement_counts_once() {
        let text = reply(true, |editor| {
            let root = editor.open_root(Some(Revnum(1))).unwrap();
            assert!(editor.add_file(RelPath::trusted("f"), root, None).is_err());
            drive(editor, "/f", 3);
            let file = editor.add_file(RelPath::trusted("f"), root, None).unwrap();
            editor.close_file(file, None).unwrap();
            assert!(editor.open_file(RelPath::trusted("f"), root, None).is_err());
        });
        assert_eq!(text.matches("<D:href>").count(), 1, "{text}");
    }

    #[test]
    fn paths_of_addresses() {
        assert_eq!(path_of("http://h:1/r/a%20b?p=1"), "/r/a%20b");
        assert_eq!(path_of("http://h"), "/");
        assert_eq!(path_of("/r/a"), "/r/a");
    }
}
