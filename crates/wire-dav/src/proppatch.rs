//! PROPPATCH: changes of properties, and the reply.

use std::io::Read;

use sapwood_core::base64;
use sapwood_core::exact::Exact as _;

use crate::error::{Error, Result};
use crate::propfind::{Name, Response, begin, end, propstat};
use crate::xml::{Document, Element, Event, Xml as _};
use crate::{NS_DAV, NS_SVN_DAV};

/// The depth of elements in the value of one property.
const MAX_DEPTH: usize = 32;

/// A change of one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The property.
    pub name: Name,
    /// Its value; none to delete it.
    pub value: Option<Vec<u8>>,
    /// The expected old value, if one is given; the inner `None` means that it must not exist.
    pub expected: Option<Option<Vec<u8>>>,
    /// Whether the value is XML. (Only of properties of other programs.)
    pub is_xml: bool,
}

fn bytes(element: &Element) -> Result<Vec<u8>> {
    match element.attribute("encoding") {
        None => Ok(element.text.clone().into_bytes()),
        Some("base64") => base64::decode(element.text.as_bytes()).ok_or(Error::Element("encoding")),
        Some(_) => Err(Error::Element("encoding")),
    }
}

fn change(element: &Element, remove: bool) -> Result<Change> {
    let expected = match element.child(NS_SVN_DAV, "old-value") {
        Some(old) if old.attribute("absent").is_some() => Some(None),
        Some(old) => Some(Some(bytes(old)?)),
        None => None,
    };
    let absent = element.attribute("absent").is_some();
    // A removed property is marked as absent, too.
    if absent && !remove && expected.is_none() {
        return Err(Error::Element("absent"));
    }
    let value = if remove || absent { None } else { Some(bytes(element)?) };
    let name = Name::new(&element.namespace, &element.name);
    Ok(Change { name, value, expected, is_xml: false })
}

/// Reads the body: the changes, in their order.
///
/// # Errors
/// For invalid bodies.
pub fn read(root: &Element) -> Result<Vec<Change>> {
    if !root.is(NS_DAV, "propertyupdate") {
        return Err(Error::Element("propertyupdate"));
    }
    let mut changes = Vec::new();
    for part in root.children.iter().filter(|part| part.namespace == NS_DAV) {
        let remove = match part.name.as_str() {
            "set" => false,
            "remove" => true,
            _ => continue,
        };
        for prop in part.children.iter().filter(|c| c.is(NS_DAV, "prop")) {
            for element in &prop.children {
                changes.push(change(element, remove)?);
            }
        }
    }
    Ok(changes)
}

/// Reads a body of any program: properties may have elements as their values.
///
/// # Errors
/// For invalid bodies; [`Error::TooLarge`] for elements that are nested too deeply.
pub fn read_any<R: Read>(mut document: Document<R>) -> Result<Vec<Change>> {
    if !document.root().is(NS_DAV, "propertyupdate") {
        return Err(Error::Element("propertyupdate"));
    }
    let mut changes = Vec::new();
    let (mut depth, mut remove, mut counts) = (0usize, false, false);
    while let Some(event) = document.next_event()? {
        match event {
            Event::Start(element) if depth == 0 => {
                remove = element.is(NS_DAV, "remove");
                counts = remove || element.is(NS_DAV, "set");
                depth = 1;
            }
            Event::Start(element) if depth == 1 && counts && element.is(NS_DAV, "prop") => {
                depth = 2;
            }
            Event::Start(element) if depth == 2 => {
                let whole = any_value(&mut document, element)?;
                changes.push(if remove { Change { value: None, ..whole } } else { whole });
            }
            Event::Start(element) => drop(document.whole(element)?),
            Event::End => depth = depth.minus(1),
            Event::Text(_) => {}
        }
    }
    Ok(changes)
}

/// A property with the content of its element: text for Subversion's own, XML for others.
fn any_value<R: Read>(document: &mut Document<R>, element: Element) -> Result<Change> {
    let name = Name::new(&element.namespace, &element.name);
    if name.property().is_some() {
        return change(&document.whole(element)?, false);
    }
    let (mut out, mut is_xml, mut open) = (Vec::new(), false, Vec::new());
    let mut text = String::new();
    loop {
        match document.next_event()?.ok_or(Error::Element("propertyupdate"))? {
            Event::Text(piece) => {
                out.text(&piece);
                text.push_str(&piece);
            }
            Event::Start(element) => {
                is_xml = true;
                if open.len() >= MAX_DEPTH {
                    return Err(Error::TooLarge("elements within elements"));
                }
                out.raw("<");
                out.raw(&element.name);
                out.attribute("xmlns", &element.namespace);
                element.attributes.iter().for_each(|(name, value)| out.attribute(name, value));
                out.raw(">");
                open.push(element.name);
            }
            Event::End => match open.pop() {
                Some(name) => {
                    out.raw("</");
                    out.raw(&name);
                    out.raw(">");
                }
                None => break,
            },
        }
    }
    let value = if is_xml { out } else { text.into_bytes() };
    Ok(Change { name, value: Some(value), expected: None, is_xml })
}

/// Appends the reply that all changes were made.
pub fn success(out: &mut Vec<u8>, href: &str, changes: &[Change]) {
    let mut response = Response::default();
    changes.iter().for_each(|change| response.name(&change.name));
    begin(out);
    response.write(out, href);
    end(out);
}

/// Appends the reply that one of the changes failed, with a status and a message, and so all did.
pub fn failure(
    out: &mut Vec<u8>,
    href: &str,
    changes: &[Change],
    failed: &Change,
    (status, message): (&str, &str),
) {
    begin(out);
    out.raw("<D:response>\n");
    out.element("D:href", href);
    let (mut own, mut others) = <(Response, Response)>::default();
    own.name(&failed.name);
    let rest = changes.iter().filter(|change| change.name != failed.name);
    rest.for_each(|change| others.name(&change.name));
    propstat(out, own.found_props(), status);
    if !others.found_props().is_empty() {
        propstat(out, others.found_props(), "424 Failed Dependency");
    }
    out.element("D:responsedescription", message);
    out.raw("</D:response>\n");
    end(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Document, Limits};
    use crate::{NS_CUSTOM, NS_SVN_PROPS};

    fn parse(inner: &str) -> Result<Vec<Change>> {
        let text = format!(
            "<D:propertyupdate xmlns:D='DAV:' xmlns:S='{NS_SVN_PROPS}' xmlns:C='{NS_CUSTOM}' \
             xmlns:V='{NS_SVN_DAV}'>{inner}</D:propertyupdate>"
        );
        read(&Document::open(text.as_bytes(), Limits::default())?.into_root()?)
    }

    #[test]
    fn changes() {
        let read = parse(
            "<D:set><D:prop><S:log> a\nb </S:log><C:x:y V:encoding='base64'>/w==</C:x:y></D:prop>\
             </D:set><D:remove><D:prop><C:z V:absent='1'/></D:prop></D:remove><D:set><D:prop><C:w V:absent='1'>\
             <V:old-value>q</V:old-value></C:w><C:v><V:old-value V:absent='1'/>new</C:v></D:prop>\
             </D:set>",
        )
        .unwrap();
        let [log, xy, z, w, v] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((log.value.as_deref(), &log.expected), (Some(&b" a\nb "[..]), &None));
        assert_eq!(xy.name.property().as_deref(), Some("x:y"));
        assert_eq!(xy.value.as_deref(), Some(&b"\xff"[..]));
        assert_eq!(z.value, None);
        assert_eq!((&w.value, &w.expected), (&None, &Some(Some(b"q".to_vec()))));
        assert_eq!((v.value.as_deref(), &v.expected), (Some(&b"new"[..]), &Some(None)));
    }

    #[test]
    fn values_of_other_programs() {
        let any = |inner: &str| {
            let text = format!("<D:propertyupdate xmlns:D='DAV:'>{inner}</D:propertyupdate>");
            read_any(Document::open(text.as_bytes(), Limits::default())?)
        };
        let read = any(
            "<D:set><D:prop><a xmlns='n:'>t&amp;u</a><b xmlns='n:'>1<c d='&quot;'><e xmlns=''/></c>2</b>\
             <s:x xmlns:s='http://subversion.tigris.org/xmlns/custom/'>v</s:x></D:prop></D:set>\
             <D:remove><D:prop><z xmlns='q:'/></D:prop></D:remove>",
        )
        .unwrap();
        let [a, b, x, z] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((a.value.as_deref(), a.is_xml), (Some(&b"t&u"[..]), false));
        let xml = "1<c xmlns=\"n:\" d=\"&quot;\"><e xmlns=\"\"></e></c>2";
        assert_eq!((b.value.as_deref(), b.is_xml), (Some(xml.as_bytes()), true));
        assert_eq!(
            (x.name.property().as_deref(), x.value.as_deref()),
            (Some("x"), Some(&b"v"[..]))
        );
        assert_eq!((&z.name, &z.value), (&Name::new("q:", "z"), &None));
        let deep = format!(
            "<D:set><D:prop><a>{}{}</a></D:prop></D:set>",
            "<b>".repeat(40),
            "</b>".repeat(40)
        );
        assert!(matches!(any(&deep), Err(Error::TooLarge(_))));
        assert!(any("<D:set><D:prop><a>").is_err());
    }

    #[test]
    fn what_makes_no_sense() {
        for bad in [
            "<D:set><D:prop><C:a V:encoding='rot13'>x</C:a></D:prop></D:set>",
            "<D:set><D:prop><C:a V:encoding='base64'>*</C:a></D:prop></D:set>",
            "<D:set><D:prop><C:a V:absent='1'/></D:prop></D:set>",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
