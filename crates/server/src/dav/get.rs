//! GET and HEAD: files, text deltas, and pages for directories.

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Revnum, SvnError, SvnResult};
use sapwood_delta::write_svndiff;
use sapwood_fs::{Node, Root};
use sapwood_repos::committed_info;
use sapwood_wire_dav::{Resource, headers};

use super::browse;
use super::entity::{etag, http_date, media_type, revision_of};
use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::get_conditions;
use super::ranges;
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
    let mut modified = None;
    if !is_fixed {
        let info = committed_info(&mut root.fs().revprops_snapshot(), node)?;
        modified = info.date().and_then(http_date);
    }
    if let Some(date) = &modified {
        exchange.header("last-modified", date);
    }
    if get_conditions::answers(session.head, exchange, &tag, modified.as_deref())? {
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
    ranges::send(session, exchange, node, &tag)
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
        return ranges::send(session, exchange, node, &tag);
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
        exchange.flush_if_large()
    })?;
    Ok(())
}
