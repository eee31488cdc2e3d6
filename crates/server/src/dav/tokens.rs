//! What a request shows to change a resource: lock tokens, in headers and in bodies, and the revision that its
//! client has.

use sapwood_core::path::join;
use sapwood_core::{FsPath, Revnum};
use sapwood_wire_dav::xml::{Document, Element, Limits};
use sapwood_wire_dav::{Resource, headers, ifheader};

use super::fail::DavResult;
use super::session::Session;

/// The revision that the client says it has.
pub(super) fn version_name(session: &Session<'_>) -> Option<Revnum> {
    session
        .head
        .header(headers::VERSION_NAME)
        .and_then(|text| Revnum::parse(text.trim().as_bytes()))
}

/// The lock tokens of the `If` headers, each with the fspath that it is for.
pub(super) fn lock_tokens(session: &Session<'_>) -> Vec<(String, String)> {
    let own = session.resource_path().unwrap_or(FsPath::ROOT).to_owned();
    let headers = session.head.headers.get_all("if").iter().filter_map(|v| v.to_str().ok());
    headers
        .flat_map(ifheader::tokens)
        .filter_map(|shown| {
            let path = match &shown.resource {
                Some(address) => match session.resource_at(address).ok()? {
                    Resource::Public(path)
                    | Resource::TxnRoot(_, path)
                    | Resource::VTxnRoot(_, path)
                    | Resource::Working(_, path)
                    | Resource::Version(_, path)
                    | Resource::RevisionRoot(_, path) => path,
                    _ => return None,
                },
                None => own.clone(),
            };
            Some((path.into_string(), shown.token))
        })
        .collect()
}

/// All lock tokens that the request shows.
pub(super) fn all_tokens(session: &Session<'_>) -> Vec<String> {
    let headers = session.head.headers.get_all("if").iter().filter_map(|v| v.to_str().ok());
    headers.flat_map(ifheader::tokens).map(|shown| shown.token).collect()
}

/// The lock tokens in the body of a DELETE or MERGE: fspaths, from paths relative to `base`.
pub(super) fn tokens_in_body(body: &[u8], base: &str) -> DavResult<Vec<(String, String)>> {
    let root = Document::open(body, Limits::default())?.into_root()?;
    Ok(tokens(&root, base))
}

/// The lock tokens of a `lock-token-list`, which `root` is or contains.
pub(super) fn tokens(root: &Element, base: &str) -> Vec<(String, String)> {
    let is_list = |element: &&Element| element.name == "lock-token-list";
    let list = Some(root).filter(is_list).or_else(|| root.children.iter().find(is_list));
    let part = |lock: &Element, name: &str| {
        lock.children.iter().find(|c| c.name == name).map(|c| c.text.clone())
    };
    list.into_iter()
        .flat_map(|list| &list.children)
        .filter_map(|lock| {
            let path = join(base, part(lock, "lock-path")?.trim_start_matches('/'));
            Some((path, part(lock, "lock-token")?.trim().to_owned()))
        })
        .collect()
}
