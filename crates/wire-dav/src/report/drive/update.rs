//! The reply to an update report drives an editor.

use std::collections::VecDeque;
use std::io::Read;

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Md5, Revnum, SvnResult};
use sapwood_delta::{Editor, Handle, TextDelta, Window};

use super::{Fetch, MAX_DEPTH, MAX_VALUE, Text, child_name, copy_from, md5, revision};
use crate::error::{Error, Result};
use crate::xml::{Document, Element, Event};
use crate::{NS_DAV, NS_SVN, NS_SVN_DAV};

/// An open directory or file.
struct Node {
    handle: Handle,
    path: RelPathBuf,
    is_file: bool,
    added: bool,
    /// Whether it, or a directory that it is in, was added.
    is_new: bool,
    /// The client's revision of it.
    base: Option<Revnum>,
    /// The address of the node's version.
    address: Option<String>,
    /// Whether its properties are to be fetched.
    fetch_props: bool,
    /// Whether its text is to be fetched, with the checksum of the client's text.
    fetch_text: Option<Option<Md5>>,
    /// The checksum that its text must have.
    text: Option<Md5>,
    /// The attributes of the last change, when the report sent them separately.
    entry: Vec<(&'static str, String)>,
}

/// No windows: only the fact that the text changed is sent.
struct NoText;

impl TextDelta for NoText {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        Ok(None)
    }
}

/// One item of a reply.
enum Item {
    /// An element begins whose content is returned item by item.
    Start(Element),
    /// An element with everything in it.
    Whole(Element),
    Text(String),
    End,
}

/// What is known of a node whose end was not read yet.
#[derive(Default)]
struct OpenNode {
    address: Option<String>,
    fetch: bool,
    is_new: bool,
    base: Option<Revnum>,
}

/// Items that were read ahead, to announce what will be fetched.
#[derive(Default)]
struct ReadAhead {
    items: VecDeque<Item>,
    /// The bytes of texts among them.
    bytes: usize,
    open: Vec<OpenNode>,
    over: bool,
}

/// The most items that are read ahead.
const ITEMS: usize = 4096;
/// The most bytes of texts among them; a single text may be longer.
const BYTES: usize = 256 << 10;

/// Drives an editor with a reply.
pub struct Driver<'e, R> {
    document: Document<R>,
    editor: &'e mut dyn Editor,
    fetch: &'e mut dyn Fetch,
    /// Whether the reply holds texts and properties.
    send_all: bool,
    /// Whether it holds properties at least.
    inline_props: bool,
    /// Whether texts are wanted.
    text_deltas: bool,
    nodes: Vec<Node>,
    finished: bool,
    ahead: ReadAhead,
}

impl<R> std::fmt::Debug for Driver<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("send_all", &self.send_all).finish_non_exhaustive()
    }
}

impl<'e, R: Read> Driver<'e, R> {
    /// A driver that has read the reply's root element.
    ///
    /// # Errors
    /// When the root is of another kind.
    pub fn new(
        document: Document<R>,
        text_deltas: bool,
        editor: &'e mut dyn Editor,
        fetch: &'e mut dyn Fetch,
    ) -> Result<Self> {
        let root = document.root();
        if !root.is(NS_SVN, "update-report") {
            return Err(Error::Reply("update-report"));
        }
        let send_all = root.attribute("send-all") == Some("true");
        let inline_props = send_all || root.attribute("inline-props") == Some("true");
        Ok(Self {
            document,
            editor,
            fetch,
            send_all,
            inline_props,
            text_deltas,
            nodes: Vec::new(),
            finished: false,
            ahead: ReadAhead::default(),
        })
    }

    /// Drives the edit to its end, `close_edit` included.
    ///
    /// # Errors
    /// For an invalid reply, and errors of the connection and of the editor. The editor is not aborted here.
    pub fn drive(mut self) -> SvnResult<()> {
        while let Some(item) = self.next_item()? {
            match item {
                Item::Start(element) => self.start(&element)?,
                Item::Whole(element) => self.whole(&element)?,
                Item::Text(_) => {}
                Item::End => self.close()?,
            }
        }
        if !self.nodes.is_empty() || !self.finished {
            return Err(Error::Reply("update-report").into());
        }
        self.editor.close_edit()
    }

    /// Reads the next item from the reply.
    fn read_item(&mut self) -> Result<Option<Item>> {
        let Some(event) = self.document.next_event()? else { return Ok(None) };
        Ok(Some(match event {
            Event::Text(text) => Item::Text(text),
            Event::End => Item::End,
            Event::Start(element) => {
                let streams = element.namespace == NS_SVN
                    && match element.name.as_str() {
                        "open-directory" | "add-directory" | "open-file" | "add-file"
                        | "set-prop" => true,
                        "txdelta" => self.send_all,
                        _ => false,
                    };
                if streams {
                    Item::Start(element)
                } else {
                    Item::Whole(self.document.whole(element)?)
                }
            }
        }))
    }

    /// The next item. Without texts in the reply, it is read ahead as far as texts can be
    /// announced.
    fn next_item(&mut self) -> Result<Option<Item>> {
        if self.send_all || !self.text_deltas {
            return self.read_item();
        }
        while !self.ahead.over
            && (self.ahead.items.is_empty()
                || (self.fetch.has_room()
                    && self.ahead.items.len() < ITEMS
                    && self.ahead.bytes < BYTES))
        {
            match self.read_item()? {
                None => self.ahead.over = true,
                Some(item) => {
                    self.announce(&item);
                    self.ahead.items.push_back(item);
                }
            }
        }
        let item = self.ahead.items.pop_front();
        if let Some(Item::Text(text)) = &item {
            self.ahead.bytes = self.ahead.bytes.minus(text.len());
        }
        Ok(item)
    }

    /// Announces the text of a file that ends with this item.
    fn announce(&mut self, item: &Item) {
        let ahead = &mut self.ahead;
        match item {
            Item::Start(element) => {
                let fetch = element.name == "add-file";
                let is_new = element.name.starts_with("add-")
                    || ahead.open.last().is_some_and(|seen| seen.is_new);
                // Errors in it are reported when it is processed.
                let base = revision(element, "rev").ok().flatten();
                ahead.open.push(OpenNode { address: None, fetch, is_new, base });
            }
            Item::Whole(element) => {
                let Some(seen) = ahead.open.last_mut() else { return };
                if element.is(NS_DAV, "checked-in") {
                    seen.address = address(element);
                }
                seen.fetch |= element.is(NS_SVN, "fetch-file");
            }
            Item::Text(text) => ahead.bytes = ahead.bytes.plus(text.len()),
            Item::End => {
                if let Some(OpenNode { address: Some(address), fetch: true, is_new, base }) =
                    ahead.open.pop()
                {
                    let base = base.filter(|_| !is_new);
                    let base = base.and_then(|base| self.fetch.base(&address, base));
                    self.fetch.announce(&address, base.as_deref());
                }
            }
        }
    }

    fn last(&mut self) -> Result<&mut Node> {
        self.nodes.last_mut().ok_or(Error::Reply("update-report"))
    }

    fn directory(&self) -> Result<(Handle, &RelPath)> {
        match self.nodes.last() {
            Some(node) if !node.is_file => Ok((node.handle, &node.path)),
            _ => Err(Error::Reply("directory")),
        }
    }

    fn start(&mut self, element: &Element) -> SvnResult<()> {
        match element.name.as_str() {
            "txdelta" => self.text(element),
            "set-prop" => self.property(element),
            _ => self.open(element),
        }
    }

    fn whole(&mut self, element: &Element) -> SvnResult<()> {
        if element.is(NS_DAV, "checked-in") {
            self.last()?.address = address(element);
        }
        if element.namespace != NS_SVN {
            return Ok(());
        }
        match element.name.as_str() {
            "target-revision" => {
                let target = revision(element, "rev")?.ok_or(Error::Reply("target-revision"))?;
                self.editor.set_target_revision(target)?;
            }
            "delete-entry" => {
                let (parent, dir) = self.directory()?;
                let path = dir.child(child_name(element)?);
                let base = revision(element, "rev")?;
                self.editor.delete_entry(&path, base, parent)?;
            }
            "absent-directory" | "absent-file" => {
                let (parent, dir) = self.directory()?;
                let path = dir.child(child_name(element)?);
                if element.name == "absent-file" {
                    self.editor.absent_file(&path, parent)?;
                } else {
                    self.editor.absent_directory(&path, parent)?;
                }
            }
            "remove-prop" => {
                let name = element.attribute("name").ok_or(Error::Reply("remove-prop"))?;
                self.change_prop(name, None)?;
            }
            "fetch-props" => self.last()?.fetch_props = true,
            "fetch-file" => {
                let base = element.attribute("base-checksum").map(md5).transpose()?;
                self.last()?.fetch_text = Some(base);
            }
            "prop" => self.facts(element)?,
            // A text in a reply that announced none.
            "txdelta" => return Err(Error::Reply("txdelta").into()),
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, element: &Element) -> SvnResult<()> {
        if self.nodes.len() >= MAX_DEPTH {
            return Err(Error::TooLarge("directories within directories").into());
        }
        let (is_file, added) = match element.name.as_str() {
            "open-directory" => (false, false),
            "add-directory" => (false, true),
            "open-file" => (true, false),
            _ => (true, true),
        };
        let base = revision(element, "rev")?;
        let (handle, path) = if self.nodes.is_empty() {
            if is_file || added || self.finished {
                return Err(Error::Reply("open-directory").into());
            }
            (self.editor.open_root(base)?, RelPathBuf::default())
        } else {
            let (parent, dir) = self.directory()?;
            let path = dir.child(child_name(element)?);
            let copy = copy_from(element)?;
            let handle = match (is_file, added) {
                (false, false) => self.editor.open_directory(&path, parent, base)?,
                (false, true) => self.editor.add_directory(&path, parent, copy)?,
                (true, false) => self.editor.open_file(&path, parent, base)?,
                (true, true) => self.editor.add_file(&path, parent, copy)?,
            };
            (handle, path)
        };
        let is_new = added || self.nodes.last().is_some_and(|node| node.is_new);
        self.nodes.push(Node {
            handle,
            path,
            is_file,
            added,
            is_new,
            base,
            address: None,
            fetch_props: added && !self.inline_props,
            fetch_text: (added && is_file && !self.send_all).then_some(None),
            text: None,
            entry: Vec::new(),
        });
        Ok(())
    }

    fn text(&mut self, element: &Element) -> SvnResult<()> {
        let base = element.attribute("base-checksum").map(md5).transpose()?;
        let node = self.nodes.last().filter(|node| node.is_file);
        let handle = node.ok_or(Error::Reply("txdelta"))?.handle;
        let mut text = Text::new(&mut self.document);
        if self.text_deltas {
            self.editor.apply_textdelta(handle, base, &mut text)?;
        } else {
            self.editor.apply_textdelta(handle, base, &mut NoText)?;
        }
        Ok(text.drain()?)
    }

    fn property(&mut self, element: &Element) -> SvnResult<()> {
        let name = element.attribute("name").ok_or(Error::Reply("set-prop"))?;
        let mut value = Vec::new();
        loop {
            match self.next_item()? {
                Some(Item::Text(text)) => {
                    if value.len().saturating_add(text.len()) > MAX_VALUE {
                        return Err(Error::TooLarge("a property").into());
                    }
                    value.extend_from_slice(text.as_bytes());
                }
                Some(Item::End) => break,
                _ => return Err(Error::Reply("set-prop").into()),
            }
        }
        match element.attribute("encoding") {
            None => {}
            Some("base64") => {
                value = sapwood_core::base64::decode(&value).ok_or(Error::Reply("set-prop"))?;
            }
            Some(_) => return Err(Error::Reply("set-prop").into()),
        }
        self.change_prop(name, Some(&value))
    }

    fn change_prop(&mut self, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        let node = self.nodes.last().ok_or(Error::Reply("set-prop"))?;
        if node.is_file {
            self.editor.change_file_prop(node.handle, name, value)
        } else {
            self.editor.change_dir_prop(node.handle, name, value)
        }
    }

    /// The content of `prop`: the checksum, and from old servers the last change.
    fn facts(&mut self, facts: &Element) -> Result<()> {
        let node = self.last()?;
        for fact in &facts.children {
            let name = match (fact.namespace.as_str(), fact.name.as_str()) {
                (NS_SVN_DAV, "md5-checksum") => {
                    node.text = Some(md5(fact.trimmed())?);
                    continue;
                }
                (NS_DAV, "version-name") => names::ENTRY_COMMITTED_REV,
                (NS_DAV, "creationdate") => names::ENTRY_COMMITTED_DATE,
                (NS_DAV, "creator-displayname") => names::ENTRY_LAST_AUTHOR,
                _ => continue,
            };
            node.entry.push((name, fact.text.clone()));
        }
        Ok(())
    }

    fn close(&mut self) -> SvnResult<()> {
        self.fetch_missing()?;
        let node = self.nodes.pop().ok_or(Error::Reply("update-report"))?;
        if node.is_file {
            self.editor.close_file(node.handle, node.text)?;
        } else {
            self.editor.close_directory(node.handle)?;
        }
        self.finished = self.nodes.is_empty();
        Ok(())
    }

    /// Fetches what the reply only named of the node that ends.
    fn fetch_missing(&mut self) -> SvnResult<()> {
        let node = self.last()?;
        let (handle, is_file, added) = (node.handle, node.is_file, node.added);
        let entry = std::mem::take(&mut node.entry);
        let (fetch_props, fetch_text) = (node.fetch_props, node.fetch_text);
        let had = node.base.filter(|_| !node.is_new);
        let address = node.address.clone();
        for (name, value) in &entry {
            self.change_prop(name, Some(value.as_bytes()))?;
        }
        if !fetch_props && fetch_text.is_none() {
            return Ok(());
        }
        let address = address.ok_or(Error::Reply("checked-in"))?;
        if fetch_props {
            let props = self.fetch.props(&address)?;
            for (name, value) in props.iter() {
                self.change_prop(name, Some(value))?;
            }
        }
        let Some(base) = fetch_text else { return Ok(()) };
        debug_assert!(is_file || !added);
        if !self.text_deltas {
            return self.editor.apply_textdelta(handle, base, &mut NoText);
        }
        let Self { fetch, editor, .. } = self;
        let mut result: SvnResult<()> = Ok(());
        let had = had.and_then(|had| fetch.base(&address, had));
        fetch.text(&address, had.as_deref(), &mut |delta| {
            result = editor.apply_textdelta(handle, base, delta);
            result.clone()
        })?;
        result
    }
}

/// The address in a `checked-in`.
fn address(checked_in: &Element) -> Option<String> {
    checked_in.child(NS_DAV, "href").map(|href| href.trimmed().to_owned())
}

/// Drives `editor` with the reply to an update report. `text_deltas` is as in the request.
///
/// # Errors
/// For an invalid reply, and errors of the connection and of the editor. The editor is not aborted.
pub fn drive<R: Read>(
    document: Document<R>,
    text_deltas: bool,
    editor: &mut dyn Editor,
    fetch: &mut dyn Fetch,
) -> SvnResult<()> {
    Driver::new(document, text_deltas, editor, fetch)?.drive()
}
