//! The requests of the reports as a client writes them: the counterpart of [`super::request`] and
//! of what [`super::update`] reads.

use sapwood_core::date::Timestamp;
use sapwood_core::{Depth, Revnum};

use super::Kind;
use super::request::{
    DeletedRev, FileRevs, InheritedProps, List, LocationSegments, Locations, Log, Mergeinfo, Replay,
};
use super::update::{Item, UpdateRequest};
use crate::xml::{HEADER, Xml as _};
use crate::{NS_DAV, NS_SVN};

fn begin(kind: Kind, attributes: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.raw(HEADER);
    out.raw("<S:");
    out.raw(kind.name());
    out.attribute("xmlns:S", NS_SVN);
    out.attribute("xmlns:D", NS_DAV);
    for (name, value) in attributes {
        out.attribute(name, value);
    }
    out.raw(">\n");
    out
}

fn end(mut out: Vec<u8>, kind: Kind) -> Vec<u8> {
    out.raw("</S:");
    out.raw(kind.name());
    out.raw(">\n");
    out
}

fn revision(out: &mut Vec<u8>, element: &str, revision: Option<Revnum>) {
    if let Some(revision) = revision {
        out.element(element, &revision.0.to_string());
    }
}

fn flag(out: &mut Vec<u8>, element: &str, on: bool) {
    if on {
        out.raw("<");
        out.raw(element);
        out.raw("/>\n");
    }
}

impl Log {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::Log, &[]);
        revision(&mut out, "S:start-revision", self.start);
        revision(&mut out, "S:end-revision", self.end);
        if self.limit > 0 {
            out.element("S:limit", &self.limit.to_string());
        }
        flag(&mut out, "S:discover-changed-paths", self.changed_paths);
        flag(&mut out, "S:strict-node-history", self.strict);
        flag(&mut out, "S:include-merged-revisions", self.merged);
        match &self.revprops {
            None => out.raw("<S:all-revprops/>\n"),
            Some(names) if names.is_empty() => out.raw("<S:no-revprops/>\n"),
            Some(names) => names.iter().for_each(|name| out.element("S:revprop", name)),
        }
        self.paths.iter().for_each(|path| out.element("S:path", path));
        flag(&mut out, "S:encode-binary-props", self.encode_binary);
        end(out, Kind::Log)
    }
}

impl Locations {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::Locations, &[]);
        out.element("S:path", &self.path);
        revision(&mut out, "S:peg-revision", Some(self.peg));
        for wanted in &self.revisions {
            revision(&mut out, "S:location-revision", Some(*wanted));
        }
        end(out, Kind::Locations)
    }
}

impl LocationSegments {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::LocationSegments, &[]);
        out.element("S:path", &self.path);
        revision(&mut out, "S:peg-revision", self.peg);
        revision(&mut out, "S:start-revision", self.start);
        revision(&mut out, "S:end-revision", self.end);
        end(out, Kind::LocationSegments)
    }
}

impl FileRevs {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::FileRevs, &[]);
        revision(&mut out, "S:start-revision", self.start);
        revision(&mut out, "S:end-revision", self.end);
        flag(&mut out, "S:include-merged-revisions", self.merged);
        out.element("S:path", &self.path);
        end(out, Kind::FileRevs)
    }
}

impl Replay {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::Replay, &[]);
        revision(&mut out, "S:revision", self.revision);
        revision(&mut out, "S:low-water-mark", Some(self.low_water_mark));
        out.element("S:send-deltas", if self.send_deltas { "1" } else { "0" });
        if let Some(path) = &self.include_path {
            out.element("S:include-path", path);
        }
        end(out, Kind::Replay)
    }
}

impl Mergeinfo {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::Mergeinfo, &[]);
        revision(&mut out, "S:revision", self.revision);
        if let Some(inherit) = &self.inherit {
            out.element("S:inherit", inherit);
        }
        if self.descendants {
            out.element("S:include-descendants", "yes");
        }
        self.paths.iter().for_each(|path| out.element("S:path", path));
        end(out, Kind::Mergeinfo)
    }
}

impl DeletedRev {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::DeletedRev, &[]);
        out.element("S:path", &self.path);
        revision(&mut out, "S:peg-revision", Some(self.peg));
        revision(&mut out, "S:end-revision", Some(self.end));
        end(out, Kind::DeletedRev)
    }
}

impl InheritedProps {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::InheritedProps, &[]);
        revision(&mut out, "S:revision", self.revision);
        out.element("S:path", &self.path);
        end(out, Kind::InheritedProps)
    }
}

impl List {
    /// The request's body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = begin(Kind::List, &[]);
        out.element("S:path", &self.path);
        revision(&mut out, "S:revision", self.revision);
        out.element("S:depth", self.depth.word());
        match self.patterns.as_deref() {
            None => {}
            Some([]) => out.raw("<S:no-patterns/>\n"),
            Some(patterns) => patterns.iter().for_each(|p| out.element("S:pattern", p)),
        }
        let fields = &self.fields;
        for (on, name) in [
            (fields.kind, "DAV:resourcetype"),
            (fields.size, "DAV:getcontentlength"),
            (fields.has_props, "http://subversion.tigris.org/xmlns/dav/deadprop-count"),
            (fields.created_rev, "DAV:version-name"),
            (fields.date, "DAV:creationdate"),
            (fields.author, "DAV:creator-displayname"),
        ] {
            if on {
                out.element("S:prop", name);
            }
        }
        end(out, Kind::List)
    }
}

/// The body of a request for the locks at and below a path.
#[must_use]
pub fn locks(depth: Depth) -> Vec<u8> {
    end(begin(Kind::Locks, &[("depth", depth.word())]), Kind::Locks)
}

/// The body of a request for the youngest revision at a point in time.
#[must_use]
pub fn dated_rev(time: Timestamp) -> Vec<u8> {
    let mut out = begin(Kind::DatedRev, &[]);
    out.element("D:creationdate", &time.to_string());
    end(out, Kind::DatedRev)
}

impl UpdateRequest {
    /// The beginning of an update report's body. Items follow, then [`end_update`].
    #[must_use]
    pub fn begin(&self) -> Vec<u8> {
        let all: &[(&str, &str)] = if self.send_all { &[("send-all", "true")] } else { &[] };
        let mut out = begin(Kind::Update, all);
        if self.include_props && !self.send_all {
            out.element("S:include-props", "yes");
        }
        out.element("S:src-path", &self.source);
        revision(&mut out, "S:target-revision", self.revision);
        if let Some(destination) = &self.destination {
            out.element("S:dst-path", destination);
        }
        if !self.target.is_empty() {
            out.element("S:update-target", &self.target);
        }
        if self.ignore_ancestry {
            out.element("S:ignore-ancestry", "yes");
        }
        if self.copyfrom {
            out.element("S:send-copyfrom-args", "yes");
        }
        // For servers from before 1.5, which do not know depths.
        if matches!(self.depth, Depth::Files | Depth::Empty) {
            out.element("S:recursive", "no");
        }
        out.element("S:depth", self.depth.word());
        if !self.text_deltas {
            out.element("S:text-deltas", "no");
        }
        out
    }
}

impl Item {
    /// Appends an entry of the client's report.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Missing(path) => out.element("S:missing", path),
            Self::Entry { path, link, revision, depth, start_empty, lock_token } => {
                out.raw("<S:entry rev=\"");
                out.number(revision.0);
                out.raw("\"");
                if *depth != Depth::Infinity {
                    out.attribute("depth", depth.word());
                }
                if let Some(link) = link {
                    out.attribute("linkpath", link);
                }
                if *start_empty {
                    out.attribute("start-empty", "true");
                }
                if let Some(token) = lock_token {
                    out.attribute("lock-token", token);
                }
                out.raw(">");
                out.text(path);
                out.raw("</S:entry>\n");
            }
        }
    }
}

/// The end of an update report's body.
#[must_use]
pub fn end_update(out: Vec<u8>) -> Vec<u8> {
    end(out, Kind::Update)
}

#[cfg(test)]
mod tests {
    use super::super::request::ListFields;
    use super::super::{request, update::ReportReader};
    use super::*;
    use crate::xml::{Document, Element, Limits};

    fn parse(body: &[u8]) -> Element {
        Document::open(body, Limits::default()).unwrap().into_root().unwrap()
    }

    #[test]
    fn what_is_asked_is_read() {
        let text = |text: &str| text.to_owned();
        let log = Log {
            start: Some(Revnum(7)),
            end: Some(Revnum(0)),
            limit: 3,
            changed_paths: true,
            strict: true,
            merged: true,
            encode_binary: true,
            revprops: Some(vec![text("svn:log"), text("a<b")]),
            paths: vec![text("a & b"), text("")],
        };
        for revprops in [None, Some(Vec::new()), log.revprops.clone()] {
            let log = Log { revprops, ..log.clone() };
            assert_eq!(Log::read(&parse(&log.write())).unwrap(), log);
        }
        let locations =
            Locations { path: text("a"), peg: Revnum(9), revisions: vec![Revnum(1), Revnum(2)] };
        assert_eq!(Locations::read(&parse(&locations.write())).unwrap(), locations);
        let segments = LocationSegments {
            path: text(" a"),
            peg: None,
            start: Some(Revnum(4)),
            end: Some(Revnum(0)),
        };
        assert_eq!(LocationSegments::read(&parse(&segments.write())).unwrap(), segments);
        let revs = FileRevs { path: text("f"), start: None, end: Some(Revnum(3)), merged: true };
        assert_eq!(FileRevs::read(&parse(&revs.write())).unwrap(), revs);
        let replay = Replay {
            revision: Some(Revnum(3)),
            low_water_mark: Revnum(1),
            send_deltas: false,
            include_path: Some(text("x/y")),
        };
        assert_eq!(Replay::read(&parse(&replay.write())).unwrap(), replay);
        let mergeinfo = Mergeinfo {
            revision: Some(Revnum(3)),
            inherit: Some(text("nearest-ancestor")),
            paths: vec![text("a"), text("b")],
            descendants: true,
        };
        assert_eq!(Mergeinfo::read(&parse(&mergeinfo.write())).unwrap(), mergeinfo);
        let deleted = DeletedRev { path: text("a"), peg: Revnum(3), end: Revnum(8) };
        assert_eq!(DeletedRev::read(&parse(&deleted.write())).unwrap(), deleted);
        let inherited = InheritedProps { path: text("a"), revision: Some(Revnum(1)) };
        assert_eq!(InheritedProps::read(&parse(&inherited.write())).unwrap(), inherited);
        let list = List {
            path: text("a"),
            revision: Some(Revnum(2)),
            depth: Depth::Immediates,
            patterns: Some(vec![text("*.c")]),
            fields: ListFields { kind: true, size: true, ..ListFields::default() },
        };
        for patterns in [None, Some(Vec::new()), list.patterns.clone()] {
            let list = List { patterns, ..list.clone() };
            assert_eq!(List::read(&parse(&list.write())).unwrap(), list);
        }
        assert_eq!(request::locks_depth(&parse(&locks(Depth::Files))), Depth::Files);
        let time = Timestamp(1_000_000);
        assert_eq!(request::dated_rev(&parse(&dated_rev(time))).unwrap(), time.to_string());
    }

    #[test]
    fn an_update_there_and_back() {
        let wanted = UpdateRequest {
            revision: Some(Revnum(5)),
            source: "http://h/r/a".to_owned(),
            destination: Some("http://h/r/b".to_owned()),
            target: "t & t".to_owned(),
            depth: Depth::Files,
            ignore_ancestry: true,
            copyfrom: true,
            text_deltas: true,
            send_all: true,
            include_props: true,
        };
        let items = [
            Item::Entry {
                path: String::new(),
                link: None,
                revision: Revnum(3),
                depth: Depth::Infinity,
                start_empty: true,
                lock_token: None,
            },
            Item::Entry {
                path: " x".to_owned(),
                link: Some("/b".to_owned()),
                revision: Revnum(4),
                depth: Depth::Immediates,
                start_empty: false,
                lock_token: Some("opaquelocktoken:1".to_owned()),
            },
            Item::Missing("y".to_owned()),
        ];
        let mut body = wanted.begin();
        items.iter().for_each(|item| item.write(&mut body));
        let root = parse(&end_update(body));
        let mut reading = ReportReader::new(&root);
        let read: Vec<Item> =
            root.children.iter().filter_map(|child| reading.child(child).unwrap()).collect();
        assert_eq!(read, items);
        assert_eq!(reading.wanted().unwrap(), wanted);
    }
}
