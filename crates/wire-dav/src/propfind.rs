//! PROPFIND: which properties of which resources, and the multistatus reply.

use crate::dead;
use crate::error::{Error, Result};
pub use crate::property_name::Name;
use crate::property_name::is_name;
use crate::xml::write::fuzzy;
use crate::xml::{Element, HEADER, Xml, is_xml_safe};
use crate::{NS_CUSTOM, NS_DAV, NS_SVN_DAV, NS_SVN_PROPS};
use sapwood_core::base64;

/// The most properties that one request may name.
const MAX_NAMES: usize = 1000;

/// What the request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropfindRequest {
    /// All properties.
    All,
    /// The names of all properties.
    Names,
    /// These.
    These(Vec<Name>),
}

impl PropfindRequest {
    /// Reads the body; no body asks for everything.
    ///
    /// # Errors
    /// A body of another kind, too many names.
    pub fn read(root: Option<&Element>) -> Result<Self> {
        let Some(root) = root else { return Ok(Self::All) };
        if !root.is(NS_DAV, "propfind") {
            return Err(Error::Element("propfind"));
        }
        if root.child(NS_DAV, "allprop").is_some() {
            return Ok(Self::All);
        }
        if root.child(NS_DAV, "propname").is_some() {
            return Ok(Self::Names);
        }
        let prop = root.child(NS_DAV, "prop").ok_or(Error::Element("propfind"))?;
        if prop.children.len() > MAX_NAMES {
            return Err(Error::TooLarge("properties"));
        }
        Ok(Self::These(prop.children.iter().map(|c| Name::new(&c.namespace, &c.name)).collect()))
    }
}

/// Appends the beginning of a multistatus reply.
pub fn begin(out: &mut Vec<u8>) {
    out.raw(HEADER);
    out.raw("<D:multistatus xmlns:D=\"DAV:\" xmlns:S=\"");
    out.raw(NS_SVN_PROPS);
    out.raw("\" xmlns:C=\"");
    out.raw(NS_CUSTOM);
    out.raw("\" xmlns:V=\"");
    out.raw(NS_SVN_DAV);
    out.raw("\">\n");
}

/// Appends its end.
pub fn end(out: &mut Vec<u8>) {
    out.raw("</D:multistatus>\n");
}

/// Collects the properties of one resource.
#[derive(Debug, Default)]
pub struct Response {
    found: Vec<u8>,
    missing: Vec<u8>,
}

/// Appends the qualified name with its prefix, and a declaration where the prefix is not known.
fn tag(out: &mut Vec<u8>, name: &Name, declare: bool) {
    let prefix = match name.namespace.as_str() {
        NS_DAV => "D:",
        NS_SVN_PROPS => "S:",
        NS_CUSTOM => "C:",
        NS_SVN_DAV => "V:",
        "" => "",
        _ => "x:",
    };
    out.raw(prefix);
    out.raw(&name.name);
    if declare && prefix == "x:" {
        out.attribute("xmlns:x", &name.namespace);
    }
}

impl Response {
    /// A property with a value that is text.
    pub fn text(&mut self, name: &Name, value: &str) {
        self.wrapped(name, |out| out.text(value));
    }

    /// A property whose value is elements, ready made.
    pub fn elements(&mut self, name: &Name, xml: &str) {
        self.wrapped(name, |out| out.raw(xml));
    }

    fn wrapped(&mut self, name: &Name, write: impl FnOnce(&mut Vec<u8>)) {
        let out = &mut self.found;
        out.raw("<");
        tag(out, name, true);
        out.raw(">");
        write(out);
        out.raw("</");
        tag(out, name, false);
        out.raw(">\n");
    }

    /// A property of the repository. One that XML cannot name is left out.
    pub fn property(&mut self, property: &str, value: &[u8]) {
        let name = Name::of_property(property);
        if !is_name(&name.name) {
            return;
        }
        match std::str::from_utf8(value) {
            Ok(text) if is_xml_safe(value) => self.text(&name, text),
            _ => {
                let out = &mut self.found;
                out.raw("<");
                tag(out, &name, true);
                // Clients look for this prefix, not for its namespace.
                out.raw(" V:encoding=\"base64\">");
                out.raw(&base64::encode(value));
                out.raw("</");
                tag(out, &name, false);
                out.raw(">\n");
            }
        }
    }

    /// A property of the repository under the name that another program gave it, if such a program
    /// set it; else as [`Response::property`].
    pub fn foreign_property(&mut self, property: &str, value: &[u8]) {
        let Some((name, is_xml)) = dead::name_of(property) else {
            return self.property(property, value);
        };
        match std::str::from_utf8(value) {
            Ok(xml) if is_xml && dead::is_sound(value) => self.elements(&name, xml),
            Ok(text) if is_xml_safe(value) => self.text(&name, text),
            // Only Subversion's clients know this base64: they see the property under its own name.
            _ => {}
        }
    }

    /// A property's name alone.
    pub fn name(&mut self, name: &Name) {
        if is_name(&name.name) {
            self.found.raw("<");
            tag(&mut self.found, name, true);
            self.found.raw("/>\n");
        }
    }

    /// A requested property that does not exist.
    pub fn missing(&mut self, name: &Name) {
        self.missing.raw("<");
        tag(&mut self.missing, name, true);
        self.missing.raw("/>\n");
    }

    /// The properties that were found, as elements.
    pub(crate) fn found_props(&self) -> &[u8] {
        &self.found
    }

    /// Appends everything as the response for the resource at `href`, a percent-encoded path.
    pub fn write(&self, out: &mut Vec<u8>, href: &str) {
        out.raw("<D:response>\n");
        out.element("D:href", href);
        if !self.found.is_empty() || self.missing.is_empty() {
            propstat(out, &self.found, "200 OK");
        }
        if !self.missing.is_empty() {
            propstat(out, &self.missing, "404 Not Found");
        }
        out.raw("</D:response>\n");
    }
}

pub(crate) fn propstat(out: &mut Vec<u8>, props: &[u8], status: &str) {
    out.raw("<D:propstat>\n<D:prop>\n");
    out.extend_from_slice(props);
    out.raw("</D:prop>\n<D:status>HTTP/1.1 ");
    out.raw(status);
    out.raw("</D:status>\n</D:propstat>\n");
}

/// An author's name as XML can carry it, for live properties have no base64: without the control
/// characters that XML cannot hold.
#[must_use]
pub fn author(name: &[u8]) -> String {
    let kept: Vec<u8> =
        name.iter().copied().filter(|b| !matches!(b, 0..=8 | 11 | 12 | 14..=31 | 127)).collect();
    fuzzy(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Document, Limits};

    fn parse(text: &str) -> Element {
        Document::open(text.as_bytes(), Limits::default()).unwrap().into_root().unwrap()
    }

    #[test]
    fn requests() {
        let body = |inner: &str| parse(&format!("<D:propfind xmlns:D='DAV:'>{inner}</D:propfind>"));
        assert_eq!(PropfindRequest::read(None).unwrap(), PropfindRequest::All);
        assert_eq!(
            PropfindRequest::read(Some(&body("<D:allprop/>"))).unwrap(),
            PropfindRequest::All
        );
        assert_eq!(
            PropfindRequest::read(Some(&body("<D:propname/>"))).unwrap(),
            PropfindRequest::Names
        );
        let named = body("<D:prop><D:getetag/><x xmlns='y:'/></D:prop>");
        let names = vec![Name::new("DAV:", "getetag"), Name::new("y:", "x")];
        assert_eq!(PropfindRequest::read(Some(&named)).unwrap(), PropfindRequest::These(names));
        assert!(PropfindRequest::read(Some(&body(""))).is_err());
        assert!(PropfindRequest::read(Some(&parse("<a/>"))).is_err());
    }

    #[test]
    fn replies_are_read_again() {
        let mut response = Response::default();
        response.property("svn:eol-style", b"native");
        response.property("a:b", b"\xff");
        response.property("not a name", b"x");
        response.elements(&Name::new(NS_DAV, "resourcetype"), "<D:collection/>");
        response.missing(&Name::new("other:", "p"));
        let mut out = Vec::new();
        begin(&mut out);
        response.write(&mut out, "/r/a%20b");
        end(&mut out);
        let root = parse(std::str::from_utf8(&out).unwrap());
        let response = root.child(NS_DAV, "response").unwrap();
        assert_eq!(response.child(NS_DAV, "href").unwrap().text, "/r/a%20b");
        let props = response.children[1].child(NS_DAV, "prop").unwrap();
        assert_eq!(props.child(NS_SVN_PROPS, "eol-style").unwrap().text, "native");
        let encoded = props.child(NS_CUSTOM, "a:b").unwrap();
        assert_eq!(
            (encoded.text.as_str(), encoded.attribute("encoding")),
            ("/w==", Some("base64"))
        );
        assert_eq!(props.children.len(), 3);
        let missing = response.children[2].child(NS_DAV, "prop").unwrap();
        assert!(missing.child("other:", "p").is_some());
    }

    #[test]
    fn names_there_and_back() {
        for name in ["svn:log", "mine", "a:b"] {
            assert_eq!(Name::of_property(name).property().as_deref(), Some(name));
        }
        assert_eq!(Name::new("z:", "x").property(), None);
    }
}
