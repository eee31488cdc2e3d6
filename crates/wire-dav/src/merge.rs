//! MERGE: a transaction or activity becomes a revision.

use crate::error::{Error, Result};
use crate::xml::{Element, HEADER, Xml as _};
use crate::{NS_DAV, NS_SVN};

/// The request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeRequest {
    /// The address of the transaction or activity.
    pub source: String,
    /// Lock tokens by relative path, for more of them than a header can hold.
    pub locks: Vec<(String, String)>,
}

/// Reads the body.
///
/// # Errors
/// A body of another kind, an invalid source or invalid locks.
pub fn read(root: &Element) -> Result<MergeRequest> {
    if !root.is(NS_DAV, "merge") {
        return Err(Error::Element("merge"));
    }
    let source = root
        .child(NS_DAV, "source")
        .and_then(|source| source.child(NS_DAV, "href"))
        .ok_or(Error::Element("source"))?;
    let mut wanted = MergeRequest { source: source.trimmed().to_owned(), locks: Vec::new() };
    let list = root
        .child(NS_SVN, "lock-token-list")
        .or_else(|| root.children.iter().find(|c| c.name == "lock-token-list"));
    for lock in list.into_iter().flat_map(|list| &list.children).filter(|c| c.name == "lock") {
        let part = |name: &'static str| {
            lock.children.iter().find(|c| c.name == name).ok_or(Error::Element("lock"))
        };
        let path = part("lock-path")?.text.clone();
        wanted.locks.push((path, part("lock-token")?.trimmed().to_owned()));
    }
    Ok(wanted)
}

impl MergeRequest {
    /// The body of a MERGE.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        write(&self.source, &self.locks)
    }
}

/// The body of a MERGE of what is at `source`, with lock tokens by relative path.
#[must_use]
pub fn write<P: AsRef<str>>(source: &str, locks: &[(P, String)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.raw(HEADER);
    out.raw("<D:merge xmlns:D=\"DAV:\"><D:source>");
    out.element("D:href", source);
    out.raw("</D:source><D:no-auto-merge/><D:no-checkout/><D:prop><D:checked-in/>");
    out.raw("<D:version-name/><D:resourcetype/><D:creationdate/><D:creator-displayname/>");
    out.raw("</D:prop>\n");
    if !locks.is_empty() {
        write_locks(&mut out, locks);
    }
    out.raw("</D:merge>\n");
    out
}

/// Appends lock tokens by relative path.
pub fn write_locks<P: AsRef<str>>(out: &mut Vec<u8>, locks: &[(P, String)]) {
    out.raw("<S:lock-token-list xmlns:S=\"svn:\">\n");
    for (path, token) in locks {
        out.raw("<S:lock>");
        out.element("S:lock-path", path.as_ref());
        out.element("S:lock-token", token);
        out.raw("</S:lock>\n");
    }
    out.raw("</S:lock-token-list>\n");
}

/// The content of the reply to a MERGE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeReply {
    /// The new revision.
    pub revision: sapwood_core::Revnum,
    /// Its date.
    pub date: Option<String>,
    /// Its author.
    pub author: Option<String>,
    /// The error after the commit, such as that of a hook.
    pub post_commit_error: Option<String>,
}

/// Reads the reply to a MERGE: the first response is the new revision.
///
/// # Errors
/// When there is no response.
pub fn read_reply(root: &Element) -> Result<MergeReply> {
    let prop = root
        .child(NS_DAV, "updated-set")
        .and_then(|set| set.child(NS_DAV, "response"))
        .and_then(|response| response.child(NS_DAV, "propstat"))
        .and_then(|propstat| propstat.child(NS_DAV, "prop"))
        .ok_or(Error::Reply("merge-response"))?;
    let text = |namespace, name| prop.child(namespace, name).map(|child| child.text.clone());
    let revision = prop
        .child(NS_DAV, "version-name")
        .and_then(|name| sapwood_core::Revnum::parse(name.trimmed().as_bytes()))
        .ok_or(Error::Reply("version-name"))?;
    Ok(MergeReply {
        revision,
        date: text(NS_DAV, "creationdate"),
        author: text(NS_DAV, "creator-displayname"),
        post_commit_error: text(NS_SVN, "post-commit-err"),
    })
}

/// The result of a MERGE.
#[derive(Clone, Copy, Debug)]
pub struct MergeResult<'a> {
    /// The address of the version-controlled configuration.
    pub vcc: &'a str,
    /// The new revision.
    pub revision: u64,
    /// Its date.
    pub date: Option<&'a str>,
    /// Its author.
    pub author: Option<&'a str>,
    /// The error after the commit, such as that of a hook.
    pub post_commit_error: Option<&'a str>,
}

/// Appends the beginning of the reply. Responses for changed nodes may follow, then [`end`].
pub fn begin(out: &mut Vec<u8>, made: &MergeResult<'_>) {
    out.raw(HEADER);
    out.raw("<D:merge-response xmlns:D=\"DAV:\"");
    if made.post_commit_error.is_some() {
        out.raw(" xmlns:S=\"svn:\"");
    }
    out.raw(">\n<D:updated-set>\n<D:response>\n");
    out.element("D:href", made.vcc);
    out.raw("<D:propstat><D:prop>\n<D:resourcetype><D:baseline/></D:resourcetype>\n");
    if let Some(error) = made.post_commit_error {
        out.element("S:post-commit-err", &crate::xml::write::fuzzy(error.as_bytes()));
    }
    out.raw("<D:version-name>");
    out.number(made.revision);
    out.raw("</D:version-name>\n");
    if let Some(date) = made.date {
        out.element("D:creationdate", date);
    }
    if let Some(author) = made.author {
        out.element("D:creator-displayname", &crate::xml::write::fuzzy(author.as_bytes()));
    }
    out.raw("</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n</D:response>\n");
}

/// Appends the response for a changed node: its address and that of its new version.
pub fn changed(out: &mut Vec<u8>, href: &str, version: &str, is_dir: bool) {
    out.raw("<D:response>\n");
    out.element("D:href", href);
    out.raw("<D:propstat><D:prop>\n");
    out.raw(if is_dir {
        "<D:resourcetype><D:collection/></D:resourcetype>\n"
    } else {
        "<D:resourcetype/>\n"
    });
    out.raw("<D:checked-in>");
    out.element("D:href", version);
    out.raw("</D:checked-in>\n</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n");
    out.raw("</D:propstat>\n</D:response>\n");
}

/// Appends the end.
pub fn end(out: &mut Vec<u8>) {
    out.raw("</D:updated-set>\n</D:merge-response>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Document, Limits};

    #[test]
    fn the_clients_side() {
        let parse =
            |body: &[u8]| Document::open(body, Limits::default()).unwrap().into_root().unwrap();
        let wanted = MergeRequest {
            source: "/r/!svn/txn/1-1".to_owned(),
            locks: vec![("a & b".to_owned(), "t:1".to_owned())],
        };
        assert_eq!(read(&parse(&wanted.write())).unwrap(), wanted);
        let mut out = Vec::new();
        let made = MergeResult {
            vcc: "/r/!svn/vcc/default",
            revision: 7,
            date: Some("then"),
            author: Some("me"),
            post_commit_error: Some("oh"),
        };
        begin(&mut out, &made);
        end(&mut out);
        let reply = read_reply(&parse(&out)).unwrap();
        assert_eq!(reply.revision.0, 7);
        let parts = [reply.date, reply.author, reply.post_commit_error];
        assert_eq!(parts.map(Option::unwrap), ["then", "me", "oh"]);
    }

    #[test]
    fn a_request() {
        let text = "<D:merge xmlns:D='DAV:'><D:source><D:href>/r/!svn/txn/1-1</D:href></D:source>\
            <D:no-auto-merge/><S:lock-token-list xmlns:S='svn:'><S:lock><S:lock-path>a b</S:lock-path>\
            <S:lock-token>t:1</S:lock-token></S:lock></S:lock-token-list></D:merge>";
        let root = Document::open(text.as_bytes(), Limits::default()).unwrap().into_root().unwrap();
        let wanted = read(&root).unwrap();
        assert_eq!(wanted.source, "/r/!svn/txn/1-1");
        assert_eq!(wanted.locks, [("a b".to_owned(), "t:1".to_owned())]);
    }
}
