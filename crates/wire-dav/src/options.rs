//! OPTIONS: the body.

use crate::NS_DAV;
use crate::xml::{Element, HEADER, Xml as _};

/// Whether the client asks where activities are made, and with that for everything that a server
/// says of a repository.
#[must_use]
pub fn asks_for_activities(root: &Element) -> bool {
    root.is(NS_DAV, "options") && root.child(NS_DAV, "activity-collection-set").is_some()
}

/// The body of an OPTIONS that asks for everything that a server says of a repository.
pub const REQUEST: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
    <D:options xmlns:D=\"DAV:\"><D:activity-collection-set/></D:options>\n";

/// The address where activities are made, of a reply.
#[must_use]
pub fn activities(root: &Element) -> Option<&str> {
    root.child(NS_DAV, "activity-collection-set")?.child(NS_DAV, "href").map(Element::trimmed)
}

/// Appends the reply: `activities` is the address where they are made.
pub fn reply(out: &mut Vec<u8>, activities: &str) {
    out.raw(HEADER);
    out.raw("<D:options-response xmlns:D=\"DAV:\">\n<D:activity-collection-set>");
    out.raw("<D:href>");
    out.text(activities);
    out.raw("</D:href></D:activity-collection-set></D:options-response>\n");
}
