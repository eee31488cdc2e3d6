//! OPTIONS: what the server and the repository can do.

use sapwood_wire_dav::resource::SPECIAL;
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{Resource, headers as names, options};

use super::exchange::Exchange;
use super::fail::DavResult;
use super::session::Session;
use super::settings::BulkUpdates;

/// The methods that there are.
pub(super) const ALLOWED: &str = "OPTIONS,GET,HEAD,POST,DELETE,PROPFIND,PROPPATCH,COPY,MOVE,LOCK,\
                                  UNLOCK,MKCOL,PUT,REPORT,CHECKOUT,MKACTIVITY,MERGE";

pub(super) fn options(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let asks = if exchange.body.is_over() {
        false
    } else {
        let body = exchange.body.read_all(64 << 10)?;
        !body.is_empty()
            && options::asks_for_activities(
                &Document::open(&*body, Limits::default())?.into_root()?,
            )
    };
    let more = if session.autoversions() { ",MOVE" } else { "" };
    exchange.header("allow", &format!("{ALLOWED}{more}"));
    exchange.header("ms-author-via", "DAV");
    exchange.header(names::DAV, "1,2");
    exchange.header(names::DAV, "version-control,checkout,working-resource");
    exchange.header(names::DAV, "merge,baseline,activity,version-controlled-collection");
    for token in names::CAPABILITIES {
        exchange.header(names::DAV, token);
    }
    if !asks {
        return Ok(());
    }
    let http = &session.shared.settings;
    exchange.header(names::YOUNGEST_REV, &session.youngest()?.to_string());
    exchange.header(names::REPOSITORY_UUID, &session.uuid);
    let mergeinfo = if session.repository.has_mergeinfo() { "yes" } else { "no" };
    exchange.header(names::REPOSITORY_MERGEINFO, mergeinfo);
    let master = session.location.and_then(|location| location.master.as_ref());
    // Features that the master lacks are not announced by its mirror.
    let has = |minor| master.is_none_or(|master| master.is_at_least(1, minor));
    if http.v2 && has(7) {
        announce_v2(&session.root, http.bulk_updates, exchange);
        if has(8) {
            exchange.header(names::SUPPORTED_POSTS, "create-txn-with-props");
        }
    }
    for token in names::COMMIT_CAPABILITIES {
        let is_svndiff = token.contains("/svndiff");
        let is_there = has(if token.ends_with("/ephemeral-txnprops") { 8 } else { 10 });
        if !is_there {
            continue;
        }
        if !is_svndiff || session.shared.server.settings.compression > 0 {
            exchange.header(names::DAV, token);
        }
    }
    exchange.xml();
    let activities = session.address(&Resource::Activities);
    options::reply(exchange.out(), &activities);
    Ok(())
}

/// Announces the addresses of the second version of the protocol.
fn announce_v2(root: &str, bulk_updates: BulkUpdates, exchange: &mut Exchange) {
    exchange.header(names::DAV, names::REPLAY_REV_RESOURCE);
    // An empty path stands for the server's root, which is written as a slash.
    exchange.header(names::REPOSITORY_ROOT, if root.is_empty() { "/" } else { root });
    for (name, stub) in [
        (names::ME_RESOURCE, "me"),
        (names::REV_ROOT_STUB, "rvr"),
        (names::REV_STUB, "rev"),
        (names::TXN_ROOT_STUB, "txr"),
        (names::TXN_STUB, "txn"),
        (names::VTXN_ROOT_STUB, "vtxr"),
        (names::VTXN_STUB, "vtxn"),
    ] {
        exchange.header(name, &format!("{root}/{SPECIAL}/{stub}"));
    }
    let bulk = match bulk_updates {
        BulkUpdates::On => "On",
        BulkUpdates::Off => "Off",
        BulkUpdates::Prefer => "Prefer",
    };
    exchange.header(names::ALLOW_BULK_UPDATES, bulk);
    exchange.header(names::SUPPORTED_POSTS, "create-txn");
}
