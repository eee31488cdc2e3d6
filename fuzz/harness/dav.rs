//! What strangers send over http: bodies, read as each kind of body; addresses, `If` headers, skels;
//! replies of a hostile server, read as each kind of reply.

use sapwood_core::{PropList, SvnResult};
use sapwood_delta::{IgnoreAll, TextDelta};
use sapwood_wire_dav::report::drive::{self, Fetch};
use sapwood_wire_dav::report::{answer, request, update};
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{
    Resource, dead, failure, ifheader, lock, merge, multistatus, post, propfind, proppatch,
};

/// What a report names is empty.
struct Empty;

impl Fetch for Empty {
    fn props(&mut self, _: &str) -> SvnResult<PropList> {
        Ok(PropList::new())
    }

    fn text(
        &mut self,
        _: &str,
        _: Option<&str>,
        take: &mut dyn FnMut(&mut dyn TextDelta) -> SvnResult<()>,
    ) -> SvnResult<()> {
        take(&mut sapwood_delta::FullText::new(&b""[..]))
    }
}

/// Reads a reply as each kind of reply.
fn replies(data: &[u8], limits: Limits) {
    let open = || Document::open(data, limits);
    if let Ok(document) = open() {
        let _ = drive::update::drive(document, true, &mut IgnoreAll, &mut Empty);
    }
    if let Ok(document) = open() {
        let _ = drive::replay::drive(document, &mut IgnoreAll);
    }
    if let Ok(document) = open() {
        let _ = drive::file_revs::drive(document, &mut |_, delta| {
            if let Some(delta) = delta {
                while delta.next_window()?.is_some() {}
            }
            Ok(())
        });
    }
    let Ok(mut document) = open() else { return };
    while let Ok(Some(child)) = document.next_child() {
        let _ = answer::log_item(&child);
        let _ = answer::location(&child);
        let _ = answer::segment(&child);
        let _ = answer::mergeinfo(&child);
        let _ = answer::inherited(&child);
        let _ = answer::lock(&child);
        let _ = answer::list_item(&child);
        if let Ok(Some(resource)) = multistatus::resource(child) {
            let _ = (resource.properties(), resource.kind(), resource.error("/"));
        }
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let limits = Limits { child_bytes: 64 << 10, ..Limits::default() };
    let whole = Document::open(data, limits).and_then(Document::into_root);
    if let Ok(root) = &whole {
        let _ = propfind::PropfindRequest::read(Some(root));
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
    if let Ok(changes) = Document::open(data, limits).and_then(proppatch::read_any) {
        for change in changes {
            let _ = change.value.is_some_and(|value| dead::is_sound(&value));
        }
    }
    if let Ok(mut document) = Document::open(data, limits) {
        let mut reading = update::ReportReader::new(document.root());
        while let Ok(Some(child)) = document.next_child() {
            let _ = reading.child(&child);
        }
        let _ = reading.wanted();
    }
    if let Ok(root) = &whole {
        let _ = (lock::read_reply(root), merge::read_reply(root), answer::one_revision(root));
    }
    replies(data, limits);
    let _ = failure::read(data);
    let _ = post::Post::read(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = ifheader::tokens(text);
        let _ = ifheader::lists(text);
        if let Some((name, is_xml)) = dead::name_of(text) {
            let kept = dead::property(&name, is_xml);
            assert_eq!(dead::name_of(&kept), Some((name, is_xml)));
        }
        if let Ok(resource) = Resource::parse(text, "!svn") {
            assert_eq!(Resource::parse(&resource.path("!svn"), "!svn").ok(), Some(resource));
        }
    }
}
