//! The replies of the short reports as a client reads them, child by child of the root: the
//! counterpart of [`super::log`] and [`super::reply`].

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{NodeKind, PropList, Revnum, base64};

use crate::error::{Error, Result};
use crate::xml::Element;
use crate::{NS_DAV, NS_SVN};

/// The bytes of an element that may be in base64.
///
/// # Errors
/// For an unknown or invalid encoding.
pub fn value(element: &Element) -> Result<Vec<u8>> {
    match element.attribute("encoding") {
        None => Ok(element.text.clone().into_bytes()),
        Some("base64") => base64::decode(element.text.as_bytes()).ok_or(Error::Reply("encoding")),
        Some(_) => Err(Error::Reply("encoding")),
    }
}

fn number(element: &Element, name: &'static str) -> Result<Revnum> {
    element
        .attribute(name)
        .and_then(|text| Revnum::parse(text.trim().as_bytes()))
        .ok_or(Error::Reply(name))
}

fn leads_down(path: &str) -> bool {
    !path.split('/').any(|part| matches!(part, "." | ".."))
}

fn fspath(path: &str) -> Result<FsPathBuf> {
    match FsPath::new(path) {
        Ok(path) if leads_down(path) => Ok(path.to_owned()),
        _ => Err(Error::ReplyPath(path.to_owned())),
    }
}

/// A canonical relpath without `..`.
fn relpath(path: &str) -> Result<RelPathBuf> {
    match RelPath::new(path) {
        Ok(path) if leads_down(path) => Ok(path.to_owned()),
        _ => Err(Error::ReplyPath(path.to_owned())),
    }
}

/// The replies of `dated-rev-report` and `get-deleted-rev-report`: one revision, or none.
///
/// # Errors
/// When there is no such element.
pub fn one_revision(root: &Element) -> Result<Option<Revnum>> {
    let name = root.child(NS_DAV, "version-name").ok_or(Error::Reply("version-name"))?;
    match name.trimmed() {
        "" | "-1" => Ok(None),
        text => Revnum::parse(text.as_bytes()).map(Some).ok_or(Error::Reply("version-name")),
    }
}

/// A changed path of a log entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: FsPathBuf,
    /// `A`, `D`, `M` or `R`.
    pub action: u8,
    /// Where it was copied from.
    pub copy_from: Option<(FsPathBuf, Revnum)>,
    /// File or directory, if the server sends it.
    pub kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
}

/// An entry of `log-report`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogItem {
    /// The revision; `None` for the end of a list of merged revisions.
    pub revision: Option<Revnum>,
    /// Whether merged revisions follow.
    pub has_children: bool,
    /// Whether the merge was subtractive (a reverse merge).
    pub subtractive_merge: bool,
    /// The changed paths.
    pub changes: Vec<Change>,
    /// The revision properties.
    pub revprops: Vec<(String, Vec<u8>)>,
}

/// Reads an entry of `log-report`; `None` for an element of another kind.
///
/// # Errors
/// For invalid numbers, paths and encodings.
pub fn log_item(element: &Element) -> Result<Option<LogItem>> {
    if !element.is(NS_SVN, "log-item") {
        return Ok(None);
    }
    let mut item = LogItem::default();
    for child in &element.children {
        match (child.namespace.as_str(), child.name.as_str()) {
            (NS_DAV, "version-name") => item.revision = Revnum::parse(child.trimmed().as_bytes()),
            (NS_DAV, "creator-displayname") => {
                item.revprops.push(("svn:author".to_owned(), value(child)?));
            }
            (NS_SVN, "date") => item.revprops.push(("svn:date".to_owned(), value(child)?)),
            (NS_DAV, "comment") => item.revprops.push(("svn:log".to_owned(), value(child)?)),
            (NS_SVN, "revprop") => {
                let name = child.attribute("name").ok_or(Error::Reply("revprop"))?;
                item.revprops.push((name.to_owned(), value(child)?));
            }
            (NS_SVN, "has-children") => item.has_children = true,
            (NS_SVN, "subtractive-merge") => item.subtractive_merge = true,
            (NS_SVN, "added-path") => item.changes.push(change(child, b'A')?),
            (NS_SVN, "replaced-path") => item.changes.push(change(child, b'R')?),
            (NS_SVN, "deleted-path") => item.changes.push(change(child, b'D')?),
            (NS_SVN, "modified-path") => item.changes.push(change(child, b'M')?),
            _ => {}
        }
    }
    Ok(Some(item))
}

fn change(element: &Element, action: u8) -> Result<Change> {
    let copy_from = match element.attribute("copyfrom-path") {
        Some(path) => Some((fspath(path)?, number(element, "copyfrom-rev")?)),
        None => None,
    };
    Ok(Change {
        path: fspath(&element.text)?,
        action,
        copy_from,
        kind: element.attribute("node-kind").and_then(|w| NodeKind::from_word(w.as_bytes())),
        text_mod: element.attribute("text-mods") == Some("true"),
        prop_mod: element.attribute("prop-mods") == Some("true"),
    })
}

/// Reads an element of `get-locations-report`; `None` for another kind.
///
/// # Errors
/// For invalid parts.
pub fn location(element: &Element) -> Result<Option<(Revnum, FsPathBuf)>> {
    if !element.is(NS_SVN, "location") {
        return Ok(None);
    }
    let path = element.attribute("path").ok_or(Error::Reply("path"))?;
    Ok(Some((number(element, "rev")?, fspath(path)?)))
}

/// Reads an element of `get-location-segments-report`: path (none for a gap), first and last
/// revision.
///
/// # Errors
/// For invalid parts.
pub fn segment(element: &Element) -> Result<Option<(Option<RelPathBuf>, Revnum, Revnum)>> {
    if !element.is(NS_SVN, "location-segment") {
        return Ok(None);
    }
    let path = element.attribute("path").map(|p| relpath(p.trim_start_matches('/'))).transpose()?;
    Ok(Some((path, number(element, "range-start")?, number(element, "range-end")?)))
}

/// Reads an element of `mergeinfo-report`: the path as it is sent, and the mergeinfo's text.
///
/// # Errors
/// When a part is missing.
pub fn mergeinfo(element: &Element) -> Result<Option<(String, String)>> {
    if !element.is(NS_SVN, "mergeinfo-item") {
        return Ok(None);
    }
    let part = |name| element.child(NS_SVN, name).map(|child| child.text.clone());
    let path = part("mergeinfo-path").ok_or(Error::Reply("mergeinfo-path"))?;
    // An empty element is skipped, as an unknown one is: it does not mean empty mergeinfo.
    Ok(part("mergeinfo-info").map(|mergeinfo| (path, mergeinfo)))
}

/// Reads an element of `inherited-props-report`: the relpath from the root of the repository, and
/// the properties.
///
/// # Errors
/// For invalid parts.
pub fn inherited(element: &Element) -> Result<Option<(RelPathBuf, PropList)>> {
    if !element.is(NS_SVN, "iprop-item") {
        return Ok(None);
    }
    let (mut path, mut name, mut props) = (RelPathBuf::default(), None, PropList::new());
    for child in &element.children {
        match child.name.as_str() {
            "iprop-path" => path = relpath(child.text.trim_start_matches('/'))?,
            "iprop-propname" => name = Some(child.text.as_str()),
            "iprop-propval" => {
                let name = name.take().ok_or(Error::Reply("iprop-propname"))?;
                props.set(name, value(child)?);
            }
            _ => {}
        }
    }
    Ok(Some((path, props)))
}

/// A lock of `get-locks-report`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The fspath.
    pub path: String,
    /// The token.
    pub token: String,
    /// When it was created.
    pub created: Timestamp,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// The user that owns it.
    pub owner: String,
    /// The comment.
    pub comment: Option<String>,
}

/// Reads an element of `get-locks-report`; `None` for another kind.
///
/// # Errors
/// For invalid parts.
pub fn lock(element: &Element) -> Result<Option<Lock>> {
    if !element.is(NS_SVN, "lock") {
        return Ok(None);
    }
    let (mut lock, mut path) = (Lock::default(), None);
    let text = |element: &Element| {
        String::from_utf8(value(element)?).map_err(|_| Error::Reply("encoding"))
    };
    let date = |element: &Element| {
        Timestamp::parse(element.trimmed().as_bytes()).map_err(|_| Error::Reply("creationdate"))
    };
    for child in &element.children {
        match child.name.as_str() {
            "path" => path = Some(fspath(&child.text)?),
            "token" => child.trimmed().clone_into(&mut lock.token),
            "creationdate" => lock.created = date(child)?,
            "expirationdate" if !child.trimmed().is_empty() => lock.expires = Some(date(child)?),
            "owner" => lock.owner = text(child)?,
            "comment" => lock.comment = Some(text(child)?),
            _ => {}
        }
    }
    lock.path = path.ok_or(Error::Reply("lock"))?.into_string();
    if lock.token.is_empty() {
        return Err(Error::Reply("lock"));
    }
    Ok(Some(lock))
}

/// An entry of `list-report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListItem {
    /// The path.
    pub path: FsPathBuf,
    /// File or directory.
    pub kind: Option<NodeKind>,
    /// A file's length.
    pub size: Option<u64>,
    /// Whether there are properties.
    pub has_props: bool,
    /// The revision of the last change.
    pub created_rev: Option<Revnum>,
    /// Its date.
    pub date: Option<Timestamp>,
    /// Its author.
    pub author: Option<String>,
}

/// Reads an element of `list-report`; `None` for another kind.
///
/// # Errors
/// For invalid parts.
pub fn list_item(element: &Element) -> Result<Option<ListItem>> {
    if !element.is(NS_SVN, "item") {
        return Ok(None);
    }
    let date = match element.attribute("date") {
        None | Some("") => None,
        Some(text) => Some(Timestamp::parse(text.as_bytes()).map_err(|_| Error::Reply("date"))?),
    };
    Ok(Some(ListItem {
        path: fspath(&element.text)?,
        kind: element.attribute("node-kind").and_then(|w| NodeKind::from_word(w.as_bytes())),
        size: element.attribute("size").and_then(|text| text.parse().ok()),
        has_props: element.attribute("has-props") == Some("true"),
        created_rev: element.attribute("created-rev").and_then(|t| Revnum::parse(t.as_bytes())),
        date,
        author: element.child(NS_DAV, "creator-displayname").map(|child| child.text.clone()),
    }))
}

#[cfg(test)]
mod tests;
