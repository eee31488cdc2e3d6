//! Reading XML from untrusted peers: the root, and its children one after the other; or, where children
//! are nested without limit (the reply to an update report), one start or end tag after the other.
//!
//! A report of a large working copy has a child for each entry: only one of them is in memory at
//! a time. Document types and entities are refused (a few lines of them can stand for gigabytes),
//! and depth, attributes, and bytes of a child are limited.

use std::io::{BufRead as _, BufReader, Read};

use quick_xml::events::{BytesStart, Event as Parsed};
use quick_xml::name::ResolveResult;
use quick_xml::{NsReader, XmlVersion};
use sapwood_core::SvnError;
use sapwood_core::exact::{Cut, Exact};

use crate::error::{Error, Result};

/// The limits of a body.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the whole body.
    pub bytes: u64,
    /// Bytes from the beginning of one child of the root to its end.
    pub child_bytes: u64,
    /// The depth of elements.
    pub depth: usize,
    /// Attributes of an element, namespace declarations included.
    pub attributes: usize,
    /// Elements of one child of the root, itself included.
    pub elements: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1 << 30, child_bytes: 64 << 20, depth: 32, attributes: 64, elements: 100_000 }
    }
}

/// An element with everything in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its namespace; empty for none.
    pub namespace: String,
    /// Its name without prefix.
    pub name: String,
    /// Attributes by their names without prefix; namespace declarations are not among them.
    pub attributes: Vec<(String, String)>,
    /// The text that is directly in it.
    pub text: String,
    /// The elements that are directly in it.
    pub children: Vec<Self>,
}

impl Element {
    /// Whether it has this namespace and name.
    #[must_use]
    pub fn is(&self, namespace: &str, name: &str) -> bool {
        self.namespace == namespace && self.name == name
    }

    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The first child of this name.
    #[must_use]
    pub fn child(&self, namespace: &str, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.is(namespace, name))
    }

    /// The text without white space around it.
    #[must_use]
    pub fn trimmed(&self) -> &str {
        self.text.trim()
    }
}

/// Counts the bytes read, and stops at a limit that is set again for each child.
struct LimitedReader<R> {
    inner: R,
    left: u64,
    left_of_child: u64,
}

/// In an [`std::io::Error`]: the limit was reached.
#[derive(Debug, thiserror::Error)]
#[error("limit reached")]
struct LimitReached;

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let most = self.left.min(self.left_of_child);
        if most == 0 && !buf.is_empty() {
            // At the very end of a body there may be nothing more to read.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(std::io::Error::other(LimitReached)),
            };
        }
        let room = sapwood_core::exact::clamped(most).min(buf.len());
        let Some(buf) = buf.get_mut(..room) else {
            return Err(std::io::Error::other(SvnError::internal("no room to read into")));
        };
        let count = self.inner.read(buf)?;
        let counted = sapwood_core::exact::len64(count);
        self.left = self.left.minus(counted);
        self.left_of_child = self.left_of_child.minus(counted);
        Ok(count)
    }
}

/// Bytes that are read from the source at a time.
const BUFFER: usize = 16 << 10;

/// A body that is being read.
pub struct Document<R> {
    reader: NsReader<BufReader<LimitedReader<R>>>,
    buffer: Vec<u8>,
    limits: Limits,
    root: Element,
    /// The root is empty, or its end was read.
    ended: bool,
    /// Elements that are open below the root, while events are read.
    open: u64,
    /// The start of an element without content was returned: its end is next.
    end_is_due: bool,
}

/// A piece of a body that is read as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An element begins: its name and attributes.
    Start(Element),
    /// Text within the element that began last.
    Text(String),
    /// That element ends.
    End,
}

impl<R> std::fmt::Debug for Document<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("root", &self.root).finish_non_exhaustive()
    }
}

/// One step of reading.
enum Step {
    Start(Element),
    Empty(Element),
    Text(String),
    End,
    /// The body is over.
    Over,
    Skip,
}

impl<R: Read> Document<R> {
    /// Reads up to the root's start.
    ///
    /// # Errors
    /// [`Error::Malformed`] when there is none, and the limits.
    pub fn open(source: R, limits: Limits) -> Result<Self> {
        let metered =
            LimitedReader { inner: source, left: limits.bytes, left_of_child: limits.child_bytes };
        let reader = NsReader::from_reader(BufReader::with_capacity(BUFFER, metered));
        let mut document = Self {
            reader,
            buffer: Vec::new(),
            limits,
            root: Element::default(),
            ended: false,
            open: 0,
            end_is_due: false,
        };
        loop {
            match document.step()? {
                Step::Start(root) => {
                    document.root = root;
                    return Ok(document);
                }
                Step::Empty(root) => {
                    document.root = root;
                    document.ended = true;
                    return Ok(document);
                }
                Step::Text(text) if !text.trim().is_empty() => {
                    return Err(Error::Malformed("text before the first element".to_owned()));
                }
                Step::Over | Step::End => {
                    return Err(Error::Malformed("no element at all".to_owned()));
                }
                Step::Text(_) | Step::Skip => {}
            }
        }
    }

    /// The root: its name and attributes.
    #[must_use]
    pub fn root(&self) -> &Element {
        &self.root
    }

    /// Whether nothing follows the root, once it was read to its end.
    #[must_use]
    pub fn is_over(&mut self) -> bool {
        self.ended
            && loop {
                match self.step() {
                    Ok(Step::Over) => break true,
                    Ok(Step::Skip) => {}
                    Ok(Step::Text(text)) if text.trim().is_empty() => {}
                    _ => break false,
                }
            }
    }

    /// The next child of the root, whole; `None` after the last. Text between children is skipped.
    ///
    /// # Errors
    /// [`Error::Malformed`] and the limits.
    pub fn next_child(&mut self) -> Result<Option<Element>> {
        // What the source buffered already counts for this child, but for no more than a buffer.
        self.reader.get_mut().get_mut().left_of_child = self.limits.child_bytes;
        while !self.ended {
            match self.step()? {
                Step::Start(element) => return self.rest_of(element).map(Some),
                Step::Empty(element) => return Ok(Some(element)),
                Step::End => self.ended = true,
                Step::Over => return Err(Error::Malformed("it ends too soon".to_owned())),
                Step::Text(_) | Step::Skip => {}
            }
        }
        Ok(None)
    }

    /// The next event within the root; `None` at the root's end. The limit of a child is here a limit
    /// of a single event; the caller limits the depth of elements.
    ///
    /// # Errors
    /// [`Error::Malformed`] and the limits.
    pub(crate) fn next_event(&mut self) -> Result<Option<Event>> {
        if std::mem::take(&mut self.end_is_due) {
            return Ok(Some(Event::End));
        }
        self.reader.get_mut().get_mut().left_of_child = self.limits.child_bytes;
        while !self.ended {
            match self.step()? {
                Step::Start(element) => {
                    self.open = self.open.plus(1);
                    return Ok(Some(Event::Start(element)));
                }
                Step::Empty(element) => {
                    self.end_is_due = true;
                    return Ok(Some(Event::Start(element)));
                }
                Step::Text(text) => return Ok(Some(Event::Text(text))),
                Step::End if self.open == 0 => self.ended = true,
                Step::End => {
                    self.open = self.open.minus(1);
                    return Ok(Some(Event::End));
                }
                Step::Over => return Err(Error::Malformed("it ends too soon".to_owned())),
                Step::Skip => {}
            }
        }
        Ok(None)
    }

    /// The element whose start was the last event, with everything in it.
    ///
    /// # Errors
    /// As [`Document::next_child`].
    pub fn whole(&mut self, start: Element) -> Result<Element> {
        if std::mem::take(&mut self.end_is_due) {
            return Ok(start);
        }
        self.open = self.open.minus(1);
        self.rest_of(start)
    }

    /// Appends to `out` the buffered part of the text that comes next, without unescaping
    /// (base64 needs none); false when the text is over. For texts of any length.
    ///
    /// # Errors
    /// When the body ends within the text, and errors of the source.
    pub(crate) fn text_piece(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if self.end_is_due || self.ended {
            return Ok(false);
        }
        let source = self.reader.get_mut();
        source.get_mut().left_of_child = self.limits.child_bytes;
        let ready = source.fill_buf().map_err(|e| refuse(e.into()))?;
        if ready.is_empty() {
            return Err(Error::Malformed("it ends too soon".to_owned()));
        }
        let len = memchr::memchr(b'<', ready).unwrap_or(ready.len());
        out.extend_from_slice(ready.head(len));
        source.consume(len);
        Ok(len > 0)
    }

    /// The root with all its children.
    ///
    /// # Errors
    /// As [`Document::next_child`]; the limit of one child is for all of them together.
    pub fn into_root(mut self) -> Result<Element> {
        if self.ended {
            return Ok(self.root);
        }
        let root = std::mem::take(&mut self.root);
        self.rest_of(root)
    }

    /// Reads to the end of an element that has begun.
    fn rest_of(&mut self, element: Element) -> Result<Element> {
        let mut open = vec![element];
        let mut elements = 1usize;
        loop {
            let step = self.step()?;
            let Some(top) = open.last_mut() else { return Err(bug()) };
            match step {
                Step::Start(child) => {
                    if open.len() >= self.limits.depth {
                        return Err(Error::TooLarge("elements within elements"));
                    }
                    elements = elements.plus(1);
                    open.push(child);
                }
                Step::Empty(child) => {
                    elements = elements.plus(1);
                    top.children.push(child);
                }
                Step::Text(text) => top.text.push_str(&text),
                Step::End => {
                    let Some(done) = open.pop() else { return Err(bug()) };
                    match open.last_mut() {
                        Some(parent) => parent.children.push(done),
                        None => return Ok(done),
                    }
                }
                Step::Over => return Err(Error::Malformed("it ends too soon".to_owned())),
                Step::Skip => {}
            }
            if elements > self.limits.elements {
                return Err(Error::TooLarge("elements"));
            }
        }
    }

    fn step(&mut self) -> Result<Step> {
        self.buffer.clear();
        // Names are resolved below: an event and the resolver cannot be borrowed at one time.
        let event = self.reader.read_event_into(&mut self.buffer).map_err(refuse)?;
        let step = match event {
            Parsed::Start(start) => {
                Step::Start(element(self.reader.resolver(), &start, &self.limits)?)
            }
            Parsed::Empty(start) => {
                Step::Empty(element(self.reader.resolver(), &start, &self.limits)?)
            }
            Parsed::End(_) => Step::End,
            Parsed::Text(text) => Step::Text(text.xml10_content().into_owned()),
            Parsed::CData(text) => Step::Text(text.xml10_content().into_owned()),
            Parsed::GeneralRef(reference) => Step::Text(character(&reference)?),
            Parsed::DocType(_) => return Err(Error::Refused("a document type")),
            Parsed::Comment(_) | Parsed::Decl(_) | Parsed::PI(_) => Step::Skip,
            Parsed::Eof => Step::Over,
        };
        Ok(step)
    }
}

/// The character of a reference: a number, or one of the five names.
fn character(reference: &quick_xml::events::BytesRef<'_>) -> Result<String> {
    if let Some(c) = reference.resolve_char_ref().map_err(refuse)? {
        return Ok(c.to_string());
    }
    let name: &str = reference;
    match quick_xml::escape::resolve_predefined_entity(name) {
        Some(text) => Ok(text.to_owned()),
        None => Err(Error::Refused("an entity")),
    }
}

fn element(
    resolver: &quick_xml::name::NamespaceResolver,
    start: &BytesStart<'_>,
    limits: &Limits,
) -> Result<Element> {
    let (namespace, name) = resolver.resolve_element(start.name());
    let namespace = match namespace {
        ResolveResult::Bound(namespace) => namespace.0.to_owned(),
        ResolveResult::Unbound => String::new(),
        ResolveResult::Unknown(prefix) => {
            return Err(Error::Malformed(format!("prefix '{prefix}' stands for nothing")));
        }
    };
    let mut attributes = Vec::new();
    let mut count = 0usize;
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|e| Error::Malformed(e.to_string()))?;
        count = count.plus(1);
        if count > limits.attributes {
            return Err(Error::TooLarge("attributes"));
        }
        if attribute.key.as_namespace_binding().is_some() {
            continue;
        }
        let value = attribute.normalized_value(XmlVersion::Explicit1_0).map_err(refuse)?;
        let name: &str = attribute.key.local_name().into_inner();
        attributes.push((name.to_owned(), value.into_owned()));
    }
    let name: &str = name.into_inner();
    Ok(Element { namespace, name: name.to_owned(), attributes, ..Element::default() })
}

fn refuse(error: quick_xml::Error) -> Error {
    if let quick_xml::Error::Io(io) = &error {
        if io.get_ref().is_some_and(|inner| inner.is::<LimitReached>()) {
            return Error::TooLarge("bytes");
        }
        let copy = match io.get_ref().and_then(|inner| inner.downcast_ref::<SvnError>()) {
            Some(error) => error.clone(),
            None => SvnError::io(io, "Can't read request body"),
        };
        return Error::Svn(copy);
    }
    Error::Malformed(error.to_string())
}

/// An end tag without a start tag cannot come: the reader checks that names match.
fn bug() -> Error {
    Error::Malformed("an end without a start".to_owned())
}

#[cfg(test)]
mod tests;
