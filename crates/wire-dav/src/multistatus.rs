//! The multistatus reply as a client reads it, and the properties of a repository in it: the
//! counterpart of [`crate::propfind`] and [`crate::proppatch`].

use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, SvnError, base64};

use crate::error::{Error, Result};
use crate::propfind::{Name, PropfindRequest};
use crate::proppatch::Change;
use crate::status;
use crate::xml::{Element, HEADER, Xml as _, is_xml_safe};
use crate::{NS_CUSTOM, NS_DAV, NS_SVN_DAV, NS_SVN_PROPS};

/// The reply for one resource.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// Its address as it is sent: a percent-encoded path, perhaps a URL.
    pub href: String,
    /// The properties that were found, as elements.
    pub props: Vec<Element>,
    /// The first status that is no success, with its property and its
    /// description.
    pub failed: Option<(u16, Option<Name>, String)>,
}

/// The number in `HTTP/1.1 200 OK`.
fn status(element: &Element) -> Result<u16> {
    let word = element.trimmed().split_whitespace().nth(1);
    word.and_then(|word| word.parse().ok()).ok_or(Error::Reply("status"))
}

/// Reads a child of the root; `None` for one of another kind.
///
/// # Errors
/// For invalid elements.
pub fn resource(response: Element) -> Result<Option<Resource>> {
    if !response.is(NS_DAV, "response") {
        return Ok(None);
    }
    let mut read = Resource::default();
    let described = response
        .child(NS_DAV, "responsedescription")
        .map_or(String::new(), |element| element.text.clone());
    for part in response.children {
        match part.name.as_str() {
            "href" => part.trimmed().clone_into(&mut read.href),
            "status" => {
                let status = status(&part)?;
                if !(200..300).contains(&status) && read.failed.is_none() {
                    read.failed = Some((status, None, described.clone()));
                }
            }
            "propstat" => propstat(part, &described, &mut read)?,
            _ => {}
        }
    }
    Ok(Some(read))
}

fn propstat(part: Element, described: &str, read: &mut Resource) -> Result<()> {
    let status = status(part.child(NS_DAV, "status").ok_or(Error::Reply("status"))?)?;
    let said = part.child(NS_DAV, "responsedescription").map(|element| element.text.clone());
    let props = part.children.into_iter().filter(|child| child.is(NS_DAV, "prop"));
    let mut props = props.flat_map(|prop| prop.children);
    if (200..300).contains(&status) {
        read.props.extend(props);
    } else if read.failed.is_none() {
        let name = props.next().map(|prop| Name::new(&prop.namespace, &prop.name));
        read.failed = Some((status, name, said.unwrap_or_else(|| described.to_owned())));
    }
    Ok(())
}

impl Resource {
    /// A property's element.
    #[must_use]
    pub fn prop(&self, namespace: &str, name: &str) -> Option<&Element> {
        self.props.iter().find(|prop| prop.is(namespace, name))
    }

    /// File or directory.
    #[must_use]
    pub fn kind(&self) -> Option<NodeKind> {
        let kind = self.prop(NS_DAV, "resourcetype")?;
        let is_dir = kind.child(NS_DAV, "collection").is_some();
        Some(if is_dir { NodeKind::Dir } else { NodeKind::File })
    }

    /// The repository's properties among them, and those of the last change as `svn:entry:...`.
    ///
    /// # Errors
    /// Invalid encodings.
    pub fn properties(&self) -> Result<PropList> {
        let mut list = PropList::new();
        for prop in &self.props {
            let name = match (prop.namespace.as_str(), prop.name.as_str()) {
                (NS_DAV, "version-name") => names::ENTRY_COMMITTED_REV,
                (NS_DAV, "creationdate") => names::ENTRY_COMMITTED_DATE,
                (NS_DAV, "creator-displayname") => names::ENTRY_LAST_AUTHOR,
                (NS_SVN_DAV, "repository-uuid") => names::ENTRY_UUID,
                (NS_SVN_PROPS | NS_CUSTOM, _) => {
                    let name = Name::new(&prop.namespace, &prop.name);
                    let name = name.property().ok_or(Error::Reply("prop"))?;
                    list.set(name, crate::report::answer::value(prop)?);
                    continue;
                }
                _ => continue,
            };
            list.set(name, prop.text.as_bytes());
        }
        Ok(list)
    }

    /// The failure, as an error; `what` names the resource.
    #[must_use]
    pub fn error(&self, what: &str) -> Option<SvnError> {
        let (status, name, said) = self.failed.as_ref()?;
        let code = match *status {
            412 => ErrorCode::FS_PROP_BASEVALUE_MISMATCH,
            status => status::code_of(status),
        };
        let property = name.as_ref().and_then(Name::property);
        let said = said.trim();
        let message = match (&property, said.is_empty()) {
            (_, false) => said.to_owned(),
            (Some(property), true) => format!("Property operation on '{property}' failed"),
            (None, true) => format!("'{what}': status {status}"),
        };
        let error = SvnError::new(code, message);
        Some(match property {
            Some(property) => {
                let text = format!("While handling the '{property}' property on '{what}':");
                error.wrap(code, text)
            }
            None => error,
        })
    }
}

impl PropfindRequest {
    /// The body of a PROPFIND.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.raw(HEADER);
        out.raw("<D:propfind xmlns:D=\"DAV:\">");
        match self {
            Self::All => out.raw("<D:allprop/>"),
            Self::Names => out.raw("<D:propname/>"),
            Self::These(names) => {
                out.raw("<D:prop>");
                for name in names {
                    out.raw("<");
                    out.raw(&name.name);
                    out.attribute("xmlns", &name.namespace);
                    out.raw("/>");
                }
                out.raw("</D:prop>");
            }
        }
        out.raw("</D:propfind>\n");
        out
    }
}

/// Appends the text of a value, with the attributes in front of it and the end of the start tag.
fn value(out: &mut Vec<u8>, value: &[u8]) {
    match std::str::from_utf8(value) {
        Ok(text) if is_xml_safe(value) => {
            out.raw(">");
            out.text(text);
        }
        _ => {
            out.raw(" V:encoding=\"base64\">");
            out.raw(&base64::encode(value));
        }
    }
}

fn change(out: &mut Vec<u8>, change: &Change) {
    let prefix = if change.name.namespace == NS_SVN_PROPS { "S:" } else { "C:" };
    // With an expected value a removal is sent as a setting to an empty value.
    let part = if change.value.is_none() && change.expected.is_none() { "remove" } else { "set" };
    out.raw("<D:");
    out.raw(part);
    out.raw("><D:prop><");
    out.raw(prefix);
    out.raw(&change.name.name);
    match (&change.expected, &change.value) {
        (None, None) => out.raw(">"),
        (None, Some(new)) => value(out, new),
        (Some(expected), new) => {
            match new.as_deref() {
                None => out.raw(" V:absent=\"1\">"),
                Some(new) if std::str::from_utf8(new).is_ok() && is_xml_safe(new) => out.raw(">"),
                Some(_) => out.raw(" V:encoding=\"base64\">"),
            }
            out.raw("<V:old-value");
            match expected.as_deref() {
                None => out.raw(" V:absent=\"1\">"),
                Some(expected) => value(out, expected),
            }
            out.raw("</V:old-value>");
            match new.as_deref() {
                None => {}
                Some(new) => match std::str::from_utf8(new) {
                    Ok(text) if is_xml_safe(new) => out.text(text),
                    _ => out.raw(&base64::encode(new)),
                },
            }
        }
    }
    out.raw("</");
    out.raw(prefix);
    out.raw(&change.name.name);
    out.raw("></D:prop></D:");
    out.raw(part);
    out.raw(">\n");
}

/// The body of a PROPPATCH.
#[must_use]
pub fn proppatch(changes: &[Change]) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.raw(HEADER);
    out.raw("<D:propertyupdate xmlns:D=\"DAV:\"");
    out.attribute("xmlns:V", NS_SVN_DAV);
    out.attribute("xmlns:C", NS_CUSTOM);
    out.attribute("xmlns:S", NS_SVN_PROPS);
    out.raw(">\n");
    changes.iter().for_each(|c| change(&mut out, c));
    out.raw("</D:propertyupdate>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propfind;
    use crate::xml::{Document, Limits};

    fn root(body: &[u8]) -> Element {
        Document::open(body, Limits::default()).unwrap().into_root().unwrap()
    }

    #[test]
    fn what_is_asked_is_read() {
        for wanted in [
            PropfindRequest::All,
            PropfindRequest::Names,
            PropfindRequest::These(vec![Name::new(NS_DAV, "resourcetype"), Name::new("x:", "y")]),
        ] {
            assert_eq!(PropfindRequest::read(Some(&root(&wanted.write()))).unwrap(), wanted);
        }
    }

    #[test]
    fn changes_there_and_back() {
        let bytes = |text: &[u8]| Some(text.to_vec());
        let mut changes = Vec::new();
        for (at, (value, expected)) in [
            (bytes(b" a<b "), None),
            (bytes(b"\xff"), None),
            (None, None),
            (bytes(b"new"), Some(None)),
            (bytes(b"\x01"), Some(bytes(b"\x02"))),
            (None, Some(bytes(b"old"))),
        ]
        .into_iter()
        .enumerate()
        {
            let name = if at % 2 == 0 { "svn:log" } else { "mine" };
            let name = Name::of_property(name);
            changes.push(Change { name, value, expected, is_xml: false });
        }
        assert_eq!(crate::proppatch::read(&root(&proppatch(&changes))).unwrap(), changes);
    }

    #[test]
    fn replies() {
        let mut response = propfind::Response::default();
        response.property("svn:eol-style", b"native");
        response.property("mine", b"\xff");
        response.elements(&Name::new(NS_DAV, "resourcetype"), "<D:collection/>");
        response.text(&Name::new(NS_DAV, "version-name"), "7");
        response.missing(&Name::new(NS_DAV, "getcontentlength"));
        let mut out = Vec::new();
        propfind::begin(&mut out);
        response.write(&mut out, "/r/a%20b");
        propfind::end(&mut out);
        let read = resource(root(&out).children.remove(0)).unwrap().unwrap();
        assert_eq!((read.href.as_str(), read.kind()), ("/r/a%20b", Some(NodeKind::Dir)));
        let props = read.properties().unwrap();
        assert_eq!(props.get("svn:eol-style"), Some(&b"native"[..]));
        assert_eq!(props.get("mine"), Some(&b"\xff"[..]));
        assert_eq!(props.get(names::ENTRY_COMMITTED_REV), Some(&b"7"[..]));
        assert!(read.failed.is_some());
    }

    #[test]
    fn failures() {
        let mut out = Vec::new();
        let changes = ["svn:log", "other"].map(|name| {
            let name = Name::of_property(name);
            Change { name, value: None, expected: None, is_xml: false }
        });
        let why = ("403 Forbidden", "no way");
        crate::proppatch::failure(&mut out, "/r", &changes, &changes[0], why);
        let read = resource(root(&out).children.remove(0)).unwrap().unwrap();
        let error = read.error("/r").unwrap();
        assert_eq!(error.code(), ErrorCode::RA_DAV_FORBIDDEN);
        assert_eq!(error.message(), "While handling the 'svn:log' property on '/r':");
        let cause = error.cause().unwrap();
        assert_eq!((cause.code(), cause.message()), (ErrorCode::RA_DAV_FORBIDDEN, "no way"));
    }
}
