//! LOCK: the request, and how a lock is written.

use crate::NS_DAV;
use crate::error::{Error, Result};
use crate::xml::write::fuzzy;
use crate::xml::{Element, HEADER, Xml as _};

/// What a LOCK asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockRequest {
    /// The owner: from Subversion's clients the lock's comment as text; from others the XML of the
    /// element itself.
    pub owner: Option<String>,
    /// Whether the owner element is more than text.
    pub is_xml: bool,
    /// Whether the lock is shared: other users may hold one, too.
    pub is_shared: bool,
}

/// Reads the body.
///
/// # Errors
/// For other lock types than write, and for a body of another kind.
pub fn read(root: &Element) -> Result<LockRequest> {
    if !root.is(NS_DAV, "lockinfo") {
        return Err(Error::Element("lockinfo"));
    }
    let scope = root.child(NS_DAV, "lockscope").ok_or(Error::Element("lockscope"))?;
    let is_shared = scope.child(NS_DAV, "shared").is_some();
    if !is_shared && scope.child(NS_DAV, "exclusive").is_none() {
        return Err(Error::Element("lockscope"));
    }
    let kind = root.child(NS_DAV, "locktype").ok_or(Error::Element("locktype"))?;
    if kind.child(NS_DAV, "write").is_none() {
        return Err(Error::Element("locktype"));
    }
    let owner = root.child(NS_DAV, "owner");
    let is_xml = owner.is_some_and(|owner| !owner.children.is_empty());
    Ok(LockRequest { owner: owner.map(whole), is_xml, is_shared })
}

/// An element's text, or the XML of its children without the white space between them.
fn whole(element: &Element) -> String {
    if element.children.is_empty() {
        return element.text.clone();
    }
    let mut out = Vec::new();
    write(&mut out, element);
    String::from_utf8_lossy(&out).into_owned()
}

/// The seconds of a `Timeout` header: those of its first valid word. `None` is for
/// ever.
#[must_use]
pub fn timeout(header: &str) -> Option<u64> {
    header.split(',').map(str::trim).find_map(|word| match word.strip_prefix("Second-") {
        Some(seconds) => seconds.parse().ok().map(Some),
        None => word.eq_ignore_ascii_case("infinite").then_some(None),
    })?
}

fn write(out: &mut Vec<u8>, element: &Element) {
    out.raw("<");
    out.raw(&element.name);
    out.attribute("xmlns", &element.namespace);
    out.raw(">");
    out.text(&element.text);
    // The reader has limited the depth.
    for child in &element.children {
        write(out, child);
    }
    out.raw("</");
    out.raw(&element.name);
    out.raw(">");
}

/// The body of a LOCK.
#[must_use]
pub fn write_request(comment: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.raw(HEADER);
    out.raw("<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope>");
    out.raw("<D:locktype><D:write/></D:locktype>");
    if let Some(comment) = comment {
        out.raw("<D:owner>");
        out.text(comment);
        out.raw("</D:owner>");
    }
    out.raw("</D:lockinfo>\n");
    out
}

/// The content of the reply to a LOCK.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockReply {
    /// The token.
    pub token: String,
    /// The comment.
    pub comment: Option<String>,
    /// Seconds until it expires; `None` for never.
    pub timeout: Option<u64>,
}

/// Reads the reply to a LOCK.
///
/// # Errors
/// When it has no lock.
pub fn read_reply(root: &Element) -> Result<LockReply> {
    let active = root
        .child(NS_DAV, "lockdiscovery")
        .and_then(|discovery| discovery.child(NS_DAV, "activelock"))
        .ok_or(Error::Reply("activelock"))?;
    let token = active
        .child(NS_DAV, "locktoken")
        .and_then(|token| token.child(NS_DAV, "href"))
        .ok_or(Error::Reply("locktoken"))?;
    let timeout = active.child(NS_DAV, "timeout").map_or("", Element::trimmed);
    Ok(LockReply {
        token: token.trimmed().to_owned(),
        comment: active.child(NS_DAV, "owner").map(|owner| owner.text.clone()),
        timeout: timeout.strip_prefix("Second-").and_then(|seconds| seconds.parse().ok()),
    })
}

/// A lock to be written.
#[derive(Clone, Copy, Debug, Default)]
pub struct ActiveLock<'a> {
    /// The token.
    pub token: &'a str,
    /// The text of the owner element, or its XML.
    pub owner: Option<&'a str>,
    /// Whether it is XML.
    pub is_xml: bool,
    /// The percent-encoded path of the locked resource.
    pub root: &'a str,
    /// Seconds until it expires; `None` for never.
    pub timeout: Option<u64>,
    /// Whether the lock is shared.
    pub is_shared: bool,
    /// Whether everything below is locked, too.
    pub is_deep: bool,
}

/// Appends an `activelock`.
pub fn active(out: &mut Vec<u8>, lock: &ActiveLock<'_>) {
    out.raw("<D:activelock>\n<D:locktype><D:write/></D:locktype>\n");
    let scope = if lock.is_shared { "shared" } else { "exclusive" };
    let depth = if lock.is_deep { "infinity" } else { "0" };
    out.raw("<D:lockscope><D:");
    out.raw(scope);
    out.raw("/></D:lockscope>\n");
    out.element("D:depth", depth);
    if let Some(owner) = lock.owner {
        if lock.is_xml {
            out.raw(owner);
            out.raw("\n");
        } else {
            out.element("D:owner", &fuzzy(owner.as_bytes()));
        }
    }
    match lock.timeout {
        Some(seconds) => {
            out.raw("<D:timeout>Second-");
            out.number(seconds);
            out.raw("</D:timeout>\n");
        }
        None => out.raw("<D:timeout>Infinite</D:timeout>\n"),
    }
    out.raw("<D:locktoken>\n");
    out.element("D:href", lock.token);
    out.raw("</D:locktoken>\n");
    out.raw("<D:lockroot>\n");
    out.element("D:href", lock.root);
    out.raw("</D:lockroot>\n</D:activelock>\n");
}

/// Appends the reply to a LOCK.
pub fn reply(out: &mut Vec<u8>, lock: &ActiveLock<'_>) {
    out.raw(HEADER);
    out.raw("<D:prop xmlns:D=\"DAV:\">\n<D:lockdiscovery>\n");
    active(out, lock);
    out.raw("</D:lockdiscovery>\n</D:prop>\n");
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
        let body = |scope: &str, owner: &str| {
            parse(&format!(
                "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:{scope}/></D:lockscope>\
                 <D:locktype><D:write/></D:locktype>{owner}</D:lockinfo>"
            ))
        };
        let wanted = read(&body("exclusive", "<D:owner>why\nnot</D:owner>")).unwrap();
        assert_eq!(wanted.owner.as_deref(), Some("why\nnot"));
        assert!(!wanted.is_xml);
        let wanted = read(&body("exclusive", "<D:owner><D:href>m&amp;e</D:href></D:owner>"));
        assert_eq!(
            wanted.unwrap().owner.unwrap(),
            "<owner xmlns=\"DAV:\"><href xmlns=\"DAV:\">m&amp;e</href></owner>"
        );
        assert!(read(&body("shared", "")).unwrap().is_shared);
        assert!(read(&body("none", "")).is_err());
        assert!(read(&parse("<a/>")).is_err());
    }

    #[test]
    fn timeouts() {
        assert_eq!(timeout("Infinite, Second-4100000000"), None);
        assert_eq!(timeout("Extend, Second-60"), Some(60));
        assert_eq!(timeout("Second-x"), None);
    }

    #[test]
    fn the_clients_side() {
        let wanted = read(&parse(std::str::from_utf8(&write_request(Some("a<b"))).unwrap()));
        assert_eq!(wanted.unwrap().owner.as_deref(), Some("a<b"));
        let shown = ActiveLock {
            token: "t:1",
            owner: Some("why"),
            root: "/r",
            timeout: Some(9),
            ..ActiveLock::default()
        };
        let mut out = Vec::new();
        reply(&mut out, &shown);
        let reply = read_reply(&parse(std::str::from_utf8(&out).unwrap())).unwrap();
        let expected = LockReply {
            token: "t:1".to_owned(),
            comment: Some("why".to_owned()),
            timeout: Some(9),
        };
        assert_eq!(reply, expected);
    }

    #[test]
    fn a_reply() {
        let lock =
            ActiveLock { token: "t:1", owner: Some("a<b"), root: "/r", ..ActiveLock::default() };
        let mut out = Vec::new();
        reply(&mut out, &lock);
        let root = parse(std::str::from_utf8(&out).unwrap());
        let active = &root.child(NS_DAV, "lockdiscovery").unwrap().children[0];
        assert_eq!(active.child(NS_DAV, "owner").unwrap().text, "a<b");
    }
}
