//! What strangers send over http: bodies, read as each kind of body; addresses, `If` headers, skels.

use sapwood_wire_dav::report::{request, update};
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{Resource, failure, ifheader, lock, merge, post, propfind, proppatch};

/// Runs one input.
pub fn run(data: &[u8]) {
    let limits = Limits { child_bytes: 64 << 10, ..Limits::default() };
    let whole = Document::open(data, limits).and_then(Document::into_root);
    if let Ok(root) = &whole {
        let _ = propfind::Wanted::read(Some(root));
        let _ = proppatch::read(root);
        let _ = lock::read(root);
        let _ = merge::read(root);
        let _ = request::Log::read(root);
        let _ = request::Locations::read(root);
        let _ = request::LocationSegments::read(root);
        let _ = request::FileRevs::read(root);
        let _ = request::Replay::read(root);
        let _ = request::Mergeinfo::read(root);
        let _ = request::DeletedRev::read(root);
        let _ = request::InheritedProps::read(root);
        let _ = request::List::read(root);
    }
    if let Ok(mut document) = Document::open(data, limits) {
        let mut reading = update::Reading::new(document.root());
        while let Ok(Some(child)) = document.next_child() {
            let _ = reading.child(&child);
        }
        let _ = reading.wanted();
    }
    let _ = failure::read(data);
    let _ = post::Post::read(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = ifheader::tokens(text);
        if let Ok(resource) = Resource::parse(text, "!svn") {
            assert_eq!(Resource::parse(&resource.path("!svn"), "!svn").ok(), Some(resource));
        }
    }
}
