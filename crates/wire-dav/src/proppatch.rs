//! PROPPATCH: changes of properties, and the reply.

use sapwood_core::base64;

use crate::error::{Error, Result};
use crate::propfind::{Name, begin, end, propstat};
use crate::xml::{Element, Xml as _};
use crate::{NS_DAV, NS_SVN_DAV};

/// A change of one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The property.
    pub name: Name,
    /// Its value; none to delete it.
    pub value: Option<Vec<u8>>,
    /// What it must have been before (nothing, within), when that matters.
    pub expected: Option<Option<Vec<u8>>>,
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
    // A property that is removed is told to be absent, too.
    if absent && !remove && expected.is_none() {
        return Err(Error::Element("absent"));
    }
    let value = if remove || absent { None } else { Some(bytes(element)?) };
    Ok(Change { name: Name::new(&element.namespace, &element.name), value, expected })
}

/// Reads the body: the changes, in their order.
///
/// # Errors
/// What makes no sense.
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

/// Appends the reply that all changes were made.
pub fn success(out: &mut Vec<u8>, href: &str, changes: &[Change]) {
    let mut response = crate::propfind::Response::default();
    changes.iter().for_each(|change| response.name(&change.name));
    begin(out);
    response.write(out, href);
    end(out);
}

/// Appends the reply that one change failed, and with it all. `status` goes with `message`; the
/// other changes depended on it.
pub fn failure(out: &mut Vec<u8>, href: &str, failed: &Name, status: &str, message: &str) {
    begin(out);
    out.raw("<D:response>\n");
    out.element("D:href", href);
    let mut props = crate::propfind::Response::default();
    props.name(failed);
    propstat(out, props.found(), status);
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
