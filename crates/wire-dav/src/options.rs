//! OPTIONS: the body.

use crate::NS_DAV;
use crate::xml::{Element, HEADER, Xml as _};

/// Whether the client asks for the activity collection, and with that for all capabilities
/// of the server.
#[must_use]
pub fn asks_for_activities(root: &Element) -> bool {
    root.is(NS_DAV, "options") && root.child(NS_DAV, "activity-collection-set").is_some()
}

/// The body of an OPTIONS that asks for all capabilities of a server.
pub const REQUEST: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
    <D:options xmlns:D=\"DAV:\"><D:activity-collection-set/></D:options>\n";

/// The address of the activity collection in a reply.
#[must_use]
pub fn activities(root: &Element) -> Option<&str> {
    root.child(NS_DAV, "activity-collection-set")?.child(NS_DAV, "href").map(Element::trimmed)
}

/// Appends the reply: `activities` is the address of the activity collection.
pub fn reply(out: &mut Vec<u8>, activities: &str) {
    out.raw(HEADER);
    out.raw("<D:options-response xmlns:D=\"DAV:\">\n<D:activity-collection-set>");
    out.raw("<D:href>");
    out.text(activities);
    out.raw("</D:href></D:activity-collection-set></D:options-response>\n");
}
