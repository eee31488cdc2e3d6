//! GET and HEAD: files, text deltas, and pages for directories.

use sapwood_core::FsPath;
use sapwood_core::exact::Exact as _;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Revnum, SvnError, SvnResult};
use sapwood_delta::write_svndiff;
use sapwood_fs::{Node, Root};
use sapwood_repos::committed_info;
use sapwood_wire_dav::{Resource, headers};

use super::browse;
use super::entity::{etag, http_date, is_same, media_type, revision_of, tags};
use super::exchange::{CHUNK, Exchange};
use super::fail::{DavResult, Fail};
use super::session::Session;
use crate::common::access::Action;
use crate::common::operation_log::Operation;
use sapwood_core::NodeKind;
use sapwood_wire_dav::report::Sink as _;

pub(super) fn get(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let Some(GetTarget { root, path, is_fixed }) = get_target(session)? else {
        return Err(Fail::status(404, "There is nothing to be got here"));
    };
    session.must(Action::Read, Some(&path))?;
    let node = root.node(&path)?;
    match node.kind() {
        NodeKind::Dir => browse::directory(session, &root, &node, exchange),
        NodeKind::File => file(session, exchange, &root, &node, is_fixed),
    }
}

/// What a GET is about.
struct GetTarget {
    root: Root,
    path: FsPathBuf,
    /// Whether the address always refers to the same contents.
    is_fixed: bool,
}

/// The number in `r=` or `p=`.
fn number(text: &str) -> DavResult<Revnum> {
    Revnum::parse(text.as_bytes())
        .ok_or_else(|| Fail::status(400, "invalid revision in query string"))
}

fn get_target(session: &Session<'_>) -> DavResult<Option<GetTarget>> {
    let fs = session.repository.fs();
    if let (Resource::Public(path), Some(query)) = (&session.resource, &session.head.query) {
        let (mut peg, mut rev) = (None, None);
        for part in query.split('&') {
            match part.split_once('=') {
                Some(("p", text)) => peg = Some(number(text)?),
                Some(("r", text)) => rev = Some(number(text)?),
                _ => {}
            }
        }
        if peg.is_some() || rev.is_some() {
            let is_pegged = peg.is_some();
            let peg = peg.unwrap_or(fs.youngest()?);
            let rev = rev.unwrap_or(peg);
            let places = sapwood_repos::locations(
                &session.repository,
                path,
                peg,
                &[rev],
                &session.access,
                &session.shared.server.cancel,
            )?;
            let Some((_, path)) = places.into_iter().next() else {
                return Err(not_found(path, rev));
            };
            let root = fs.revision_root(rev)?;
            // Without a peg revision the address may later refer to another node.
            return Ok(Some(GetTarget { root, path, is_fixed: is_pegged }));
        }
    }
    let is_fixed = !matches!(session.resource, Resource::Public(_));
    Ok(session.tree()?.map(|(root, path)| GetTarget { root, path, is_fixed }))
}

fn not_found(path: &FsPath, rev: Revnum) -> Fail {
    let message = format!("'{path}' is not there in revision {rev}");
    SvnError::new(sapwood_core::ErrorCode::FS_NOT_FOUND, message).into()
}

fn file(
    session: &Session<'_>,
    exchange: &mut Exchange,
    root: &Root,
    node: &Node,
    is_fixed: bool,
) -> DavResult {
    if is_asked_as_script(session) {
        return Err(Fail::status(403, "What is stored here is no script of a page of this server"));
    }
    let caching = if is_fixed { "max-age=604800" } else { "max-age=0" };
    exchange.header("cache-control", caching);
    let tag = etag(node)?;
    exchange.header("etag", &tag);
    exchange.header("accept-ranges", "bytes");
    if !is_fixed {
        let info = committed_info(&mut root.fs().revprops_snapshot(), node)?;
        if let Some(date) = info.date().and_then(http_date) {
            exchange.header("last-modified", &date);
        }
    }
    let is_named = |list: &str| tags(list).any(|said| said == "*" || said == tag);
    if session.head.header("if-match").is_some_and(|list| !is_named(list)) {
        return Err(Fail::status(412, "A condition of the request does not hold"));
    }
    if session
        .head
        .header("if-none-match")
        .is_some_and(|list| tags(list).any(|said| is_same(said, &tag)))
    {
        exchange.status(304);
        return Ok(());
    }
    session.log_command(&Operation::GetFile {
        path: node.path(),
        revision: revision_of(root)?,
        text: true,
        props: false,
    });
    if let Some(base) = session.head.header(headers::VR_BASE)
        && let Some(version) = session.svndiff()
        && let Ok(Resource::RevisionRoot(rev, path) | Resource::Version(rev, path)) =
            session.resource_at(base)
        && session.must(Action::Read, Some(&path)).is_ok()
    {
        return delta(session, exchange, node, (rev, &path), base, version);
    }
    describe(session, exchange, node)?;
    whole(session, exchange, node, &tag)
}

/// Whether a page of this server asks for a stored file as a script. Our own pages have one script, which is not stored; a place that
/// the configuration trusts may have pages of its own.
fn is_asked_as_script(session: &Session<'_>) -> bool {
    const SCRIPTS: [&str; 6] =
        ["script", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet"];
    let is_trusted = session.location.is_some_and(|location| location.trusted);
    let said = |name: &str| session.head.header(name).unwrap_or("");
    !is_trusted
        && SCRIPTS.contains(&said("sec-fetch-dest"))
        && said("sec-fetch-site") == "same-origin"
}

/// Sets the headers for a text's media type, and for what a browser may do with it.
fn describe(session: &Session<'_>, exchange: &mut Exchange, node: &Node) -> DavResult {
    let mut media = media_type(node)?;
    // Clients of Subversion ignore both.
    if !session.is_svn_client() {
        if !session.location.is_some_and(|location| location.trusted) {
            if is_active(&media) {
                // A committer's page must not act as the server: no scripts, no forms, no cookies of its
                // origin.
                exchange.header("content-security-policy", "sandbox");
            }
            // What is no page and no script by its type is none by a browser's guess.
            exchange.header("x-content-type-options", "nosniff");
        }
        let is_text = media.starts_with("text/") && !media.contains(';');
        if is_text && begins_as_utf8(node)? {
            media.push_str("; charset=utf-8");
        }
    }
    exchange.header("content-type", &media);
    Ok(())
}

/// Whether browsers run scripts in texts of a media type.
fn is_active(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let (kind, name) = essence.split_once('/').unwrap_or((&essence, ""));
    name == "html"
        || name == "xml"
        || name.ends_with("+xml")
        || name.contains("svg")
        || (kind == "text" && name.starts_with("xsl"))
        || kind == "multipart"
        || name == "x-shockwave-flash"
}

/// Whether the beginning of a text is UTF-8.
fn begins_as_utf8(node: &Node) -> SvnResult<bool> {
    let mut contents = node.contents()?;
    let Some(piece) = contents.next_piece()? else { return Ok(true) };
    let is_whole = u64::try_from(piece.len()).ok() == Some(node.length()?);
    Ok(match std::str::from_utf8(piece) {
        Ok(text) => !text.contains('\0'),
        // A character may be cut in two where the piece ends.
        Err(error) => error.error_len().is_none() && !is_whole && !piece.contains(&0),
    })
}

/// Sends a file as the difference to what the client has.
fn delta(
    session: &Session<'_>,
    exchange: &mut Exchange,
    node: &Node,
    base: (Revnum, &FsPath),
    base_address: &str,
    version: sapwood_delta::Version,
) -> DavResult {
    exchange.header("vary", "X-SVN-VR-Base");
    // An unknown base is ignored: the client accepts the whole text, too.
    let source = match session.repository.fs().revision_root(base.0) {
        Ok(root) => root.find(base.1)?,
        Err(sapwood_fs::Error::NoSuchRevision(..)) => None,
        Err(error) => return Err(error.into()),
    };
    let source = source.filter(|source| source.kind() == NodeKind::File);
    if source.is_none() {
        exchange.header("content-type", &media_type(node)?);
        let tag = etag(node)?;
        return whole(session, exchange, node, &tag);
    }
    exchange.header("content-type", headers::SVNDIFF_TYPE);
    exchange.header(headers::VR_BASE, base_address);
    if session.head.method == "HEAD" {
        return Ok(());
    }
    let mut delta = node.delta_from(source.as_ref())?;
    let level = session.shared.server.settings.compression;
    write_svndiff(&mut delta, version, level, &mut |bytes| {
        exchange.out().extend_from_slice(bytes);
        exchange.relieve()
    })?;
    Ok(())
}

/// The first and the last byte of a range that http calls satisfiable; the outer `None` for no
/// range, or one that may be passed over.
fn range(header: Option<&str>, length: u64) -> Option<Result<(u64, u64), ()>> {
    let spec = header?.strip_prefix("bytes=")?;
    if spec.contains(',') {
        return None;
    }
    let (first, last) = spec.trim().split_once('-')?;
    let end = length.checked_sub(1);
    let (first, last) = if first.is_empty() {
        let count: u64 = last.parse().ok()?;
        if count == 0 {
            return Some(Err(()));
        }
        (length.saturating_sub(count), end?)
    } else {
        let first: u64 = first.parse().ok()?;
        let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
        if last < first {
            return None;
        }
        (first, last.min(end.unwrap_or(0)))
    };
    Some(if first < length { Ok((first, last)) } else { Err(()) })
}

/// Sends a file's text, or a part of it.
fn whole(session: &Session<'_>, exchange: &mut Exchange, node: &Node, tag: &str) -> DavResult {
    let length = node.length()?;
    let head = session.head;
    let same = head.header("if-range").is_none_or(|t| t.trim() == tag);
    let range = range(head.header("range").filter(|_| same), length);
    let (first, last) = match range {
        None => (0, length.saturating_sub(1)),
        Some(Ok(range)) => {
            exchange.status(206);
            exchange.header("content-range", &format!("bytes {}-{}/{length}", range.0, range.1));
            range
        }
        Some(Err(())) => {
            exchange.header("content-range", &format!("bytes */{length}"));
            exchange.status(416);
            return Ok(());
        }
    };
    let mut left = if length == 0 { 0 } else { last.minus(first).plus(1) };
    exchange.length(left);
    if head.method == "HEAD" {
        return exchange.flush().map_err(Fail::from);
    }
    let mut contents = node.contents()?;
    let (mut skip, is_whole) = (first, range.is_none());
    exchange.produce(Box::new(move |out| {
        // A whole text is read to its end: the checksum is compared there.
        if left == 0 && !is_whole {
            return Ok(false);
        }
        let begun = out.len();
        // Only one piece: data that waits for a client that does not read must be small.
        let wanted = sapwood_core::exact::clamped(left.plus(skip));
        let room = wanted.clamp(1, CHUNK.minus(begun.min(CHUNK)).max(1));
        out.resize(begun.plus(room), 0);
        let count = match out.get_mut(begun..) {
            Some(room) => contents.read_some(room)?,
            None => 0,
        };
        let skipped = sapwood_core::exact::clamped(skip).min(count);
        skip = skip.minus(sapwood_core::exact::len64(skipped));
        let taken = sapwood_core::exact::clamped(left).min(count.minus(skipped));
        left = left.minus(sapwood_core::exact::len64(taken));
        out.truncate(begun.plus(count));
        if skipped > 0 {
            drop(out.drain(begun..begun.plus(skipped)));
        }
        out.truncate(begun.plus(taken));
        Ok(count > 0)
    }))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(range(None, 10), None);
        assert_eq!(range(Some("bytes=0-3"), 10), Some(Ok((0, 3))));
        assert_eq!(range(Some("bytes=5-"), 10), Some(Ok((5, 9))));
        assert_eq!(range(Some("bytes=-3"), 10), Some(Ok((7, 9))));
        assert_eq!(range(Some("bytes=-30"), 10), Some(Ok((0, 9))));
        assert_eq!(range(Some("bytes=0-99"), 10), Some(Ok((0, 9))));
        assert_eq!(range(Some("bytes=10-"), 10), Some(Err(())));
        assert_eq!(range(Some("bytes=0-"), 0), Some(Err(())));
        assert_eq!(range(Some("bytes=3-1"), 10), None);
        assert_eq!(range(Some("bytes=0-1,3-4"), 10), None);
        assert_eq!(range(Some("lines=0-1"), 10), None);
    }
}
