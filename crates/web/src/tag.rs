//! Tags of pages, made of what they depend on: the address, the newest revision, the rules, who looks, what can change without a
//! revision; and the time, in steps, for ages are shown.
//!
//! Invariant: tags are compared within one process only; in another one they all differ.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};
use std::sync::OnceLock;

use crate::Request;
use crate::address::Kind;
use crate::fault::Result;

/// In seconds: so old may ages, and log messages that were edited, be on pages that list many.
const STEP: i64 = 600;

pub(crate) fn of(request: &Request<'_>) -> Result<Option<String>> {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    let Request { view, address, links, name, now, visitor, .. } = request;
    match address.kind() {
        Kind::Style => return Ok(crate::style::tag(address.name())),
        Kind::Home | Kind::SignIn | Kind::Description => return Ok(None),
        kind if kind.is_search() => return Ok(None),
        // It has the tag of its bytes.
        Kind::Media => return view.at(address).map(|_| None),
        // They change without a revision.
        Kind::Locks => return view.find(address.path(), None, None).map(|_| None),
        _ => {}
    }
    let mut hasher = KEY.get_or_init(RandomState::new).build_hasher();
    match address.kind() {
        Kind::Revision(revision) | Kind::Differences(revision) => {
            let props = view.revision_props(revision)?;
            props.iter().for_each(|pair| pair.hash(&mut hasher));
        }
        _ => {
            let found = view.at(address)?;
            if let Some(created) = found.node.created_rev() {
                let props = view.revision_props(created)?;
                props.iter().for_each(|pair| pair.hash(&mut hasher));
            }
            view.lock(&found.path)?.map(|lock| lock.token).hash(&mut hasher);
        }
    }
    let Some(rules) = view.rules() else { return Ok(None) };
    (address, rules, links.absolute(&links.start()), name, visitor, now.div_euclid(STEP))
        .hash(&mut hasher);
    view.youngest()?.hash(&mut hasher);
    Ok(Some(format!("W/\"{:016x}\"", hasher.finish())))
}
