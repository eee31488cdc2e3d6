//! Everything in FSX repositories that the reference's `svnadmin` made is read and checked: both indexes against each
//! other, the checksum of each item, all node-revisions, texts, change lists and revision properties, packed and not.
//! Where this crate writes an item too, the values are written and read back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test on input of our own"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::{Md5, NodeKind, PropList, Revnum};
use sapwood_fsfs_format::Footer;
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsx_format::changes_container::ChangesContainer;
use sapwood_fsx_format::format_file::FormatFile;
use sapwood_fsx_format::layout::Layout;
use sapwood_fsx_format::noderevs_container::{Builder, NodeRevsContainer};
use sapwood_fsx_format::p2l::{self, ItemType};
use sapwood_fsx_format::reps_container::RepsContainer;
use sapwood_fsx_format::{
    ChangeSet, Id, NodeRev, changes, directory, l2p, proplist, rep, revprops,
};
use sapwood_testkit::{fsx, random};

/// Revisions in a shard.
const SHARD: u64 = 20;

/// Where each item is, by the index that says what is at each offset.
type Places = BTreeMap<(Revnum, u64), (u64, u64)>;

#[derive(Default)]
struct Found {
    kinds: BTreeMap<String, usize>,
    nodes: BTreeMap<Id, NodeRev>,
    changes: BTreeMap<Revnum, Vec<changes::Change>>,
    /// Full texts, where they stand so, and deltas with their header.
    texts: BTreeMap<Id, Result<Vec<u8>, Vec<u8>>>,
}

impl Found {
    fn file(&mut self, path: &Path, first: Revnum, revisions: u64) {
        let bytes = fs::read(path).unwrap();
        let len = bytes.len() as u64;
        let footer = Footer::parse(&bytes[bytes.len().saturating_sub(256)..], len, first).unwrap();
        let l2p = &bytes[footer.l2p_offset as usize..footer.p2l_offset as usize];
        let p2l = &bytes[footer.p2l_offset as usize..footer.footer_offset as usize];
        assert_eq!((Md5::of(l2p), Md5::of(p2l)), (footer.l2p_md5, footer.p2l_md5));
        let places = self.items(&bytes[..footer.l2p_offset as usize], p2l, first);
        let header = l2p::Header::parse(l2p, l2p.len() as u64, first, revisions).unwrap();
        let mut by_item = Places::new();
        let mut all = Vec::new();
        for revision in first.0..first.0 + revisions {
            let mut items = Vec::new();
            for page in header.pages_of(Revnum(revision)).unwrap() {
                let bytes = &l2p[page.offset as usize..(page.offset + page.len) as usize];
                items.extend(l2p::parse_page(bytes, page.entries).unwrap());
            }
            for (item, location) in (0..).zip(&items) {
                if let Some(location) = location {
                    by_item.insert((Revnum(revision), item), (location.offset, location.sub_item));
                }
            }
            all.push(items);
        }
        assert_eq!(by_item, places, "both indexes of {}", path.display());
        let mut written = Vec::new();
        l2p::write(first, &all, header.page_size as usize, &mut written).unwrap();
        let again = l2p::Header::parse(&written, written.len() as u64, first, revisions).unwrap();
        assert_eq!(again.page(first, 1).is_ok(), header.page(first, 1).is_ok());
    }

    fn items(&mut self, data: &[u8], index: &[u8], first: Revnum) -> Places {
        let header = p2l::Header::parse(index, index.len() as u64, first).unwrap();
        assert_eq!(header.data_len, data.len() as u64);
        let mut entries = Vec::new();
        for (offset, len) in &header.pages {
            let page = &index[*offset as usize..(offset + len) as usize];
            entries.extend(p2l::parse_page(page, first).unwrap());
        }
        let mut places = Places::new();
        let mut end = 0;
        for entry in &entries {
            assert_eq!(entry.offset, end, "no gaps");
            end += entry.size;
            if entry.kind == ItemType::Unused {
                let zeros = &data[entry.offset as usize..(end as usize).min(data.len())];
                assert!(zeros.iter().all(|byte| *byte == 0));
                continue;
            }
            let item = &data[entry.offset as usize..end as usize];
            assert_eq!(Fnv1a32x4::of(item), entry.checksum);
            for (at, id) in (0..).zip(&entry.items) {
                places.insert((id.change_set.revision().unwrap(), id.number), (entry.offset, at));
            }
            self.item(entry, item);
        }
        let used: Vec<_> = entries.iter().filter(|e| e.offset < header.data_len).cloned().collect();
        let mut written = Vec::new();
        let (last, size) = (used.last().map_or(0, |e| e.offset + e.size), header.page_size);
        if last <= header.data_len {
            p2l::write(first, &used, header.data_len, size, &mut written).unwrap();
            assert_eq!(written, index, "the phys-to-log index is written as it was");
        }
        places
    }

    fn item(&mut self, entry: &p2l::Entry, bytes: &[u8]) {
        *self.kinds.entry(format!("{:?}", entry.kind)).or_default() += entry.items.len();
        let id = entry.items[0];
        match entry.kind {
            ItemType::NodeRev => {
                let (node, len) = NodeRev::parse(bytes).unwrap();
                assert_eq!(len, bytes.len());
                let mut written = Vec::new();
                node.write(&mut written);
                assert_eq!(written, bytes);
                self.nodes.insert(id, node);
            }
            ItemType::Changes => {
                let (list, len) = changes::parse(bytes).unwrap();
                assert_eq!(len, bytes.len());
                let mut written = Vec::new();
                list.iter().for_each(|change| changes::write(change, &mut written));
                written.push(b'\n');
                assert_eq!(written, bytes);
                self.changes.insert(id.change_set.revision().unwrap(), list);
            }
            ItemType::NodeRevsContainer => self.noderevs(entry, bytes),
            ItemType::ChangesContainer => self.change_lists(entry, bytes),
            ItemType::RepsContainer => {
                let container = RepsContainer::read(bytes).unwrap();
                assert_eq!(container.len().unwrap(), entry.items.len());
                for (at, id) in entry.items.iter().enumerate() {
                    self.texts.insert(*id, Ok(container.get(at, 1 << 24).unwrap()));
                }
            }
            _ => {
                let (_, len) = sapwood_fsx_format::RepHeader::parse(bytes).unwrap();
                assert!(bytes.len() >= len + rep::END.len() && bytes.ends_with(rep::END));
                self.texts.insert(id, Err(bytes.to_vec()));
            }
        }
    }

    fn noderevs(&mut self, entry: &p2l::Entry, bytes: &[u8]) {
        let container = NodeRevsContainer::read(bytes).unwrap();
        assert_eq!(container.len(), entry.items.len());
        let mut builder = Builder::default();
        let nodes: Vec<NodeRev> =
            (0..container.len()).map(|at| container.get(at).unwrap()).collect();
        nodes.iter().for_each(|node| builder.push(node).unwrap());
        let mut written = Vec::new();
        builder.write(&mut written).unwrap();
        let again = NodeRevsContainer::read(&written).unwrap();
        for (at, (id, node)) in entry.items.iter().zip(&nodes).enumerate() {
            assert_eq!(node.id, *id);
            assert_eq!(again.get(at).as_ref(), Ok(node));
            self.nodes.insert(*id, node.clone());
        }
    }

    fn change_lists(&mut self, entry: &p2l::Entry, bytes: &[u8]) {
        let container = ChangesContainer::read(bytes).unwrap();
        assert_eq!(container.len().unwrap(), entry.items.len());
        let lists: Vec<_> = (0..entry.items.len()).map(|at| container.get(at).unwrap()).collect();
        let mut written = Vec::new();
        ChangesContainer::write(&lists, &mut written).unwrap();
        let again = ChangesContainer::read(&written).unwrap();
        for (at, (id, list)) in entry.items.iter().zip(lists).enumerate() {
            assert_eq!(again.get(at).as_ref(), Ok(&list));
            self.changes.insert(id.change_set.revision().unwrap(), list);
        }
    }

    /// The full text of a representation.
    fn text(&self, id: Id) -> Vec<u8> {
        let item = match &self.texts[&id] {
            Ok(text) => return text.clone(),
            Err(item) => item,
        };
        let (header, len) = sapwood_fsx_format::RepHeader::parse(item).unwrap();
        let base = header.base.map_or_else(Vec::new, |(revision, number, _)| {
            self.text(Id { change_set: ChangeSet::Revision(revision), number })
        });
        let svndiff = &item[len..item.len() - rep::END.len()];
        let mut decoder = sapwood_delta::svndiff::Decoder::new();
        decoder.push(svndiff);
        let mut applier = sapwood_delta::Applier::new(base.as_slice());
        let mut text = Vec::new();
        while let Some(window) = decoder.next_window().unwrap() {
            text.extend_from_slice(applier.apply(&window).unwrap());
        }
        decoder.finish().unwrap();
        text
    }

    /// Each node-revision's texts have the recorded sums, and directories lead to node-revisions.
    fn check_nodes(&self) {
        let mut checked = BTreeSet::new();
        for node in self.nodes.values() {
            for (rep, is_text) in [(node.text, true), (node.props, false)] {
                let Some(rep) = rep.filter(|rep| checked.insert((rep.id, is_text))) else {
                    continue;
                };
                let text = self.text(rep.id);
                assert_eq!(text.len() as u64, rep.expanded_size, "{node:?}");
                assert_eq!(Md5::of(&text), rep.md5, "{node:?}");
                if !is_text {
                    let props = proplist::parse(&text).unwrap();
                    let mut written = Vec::new();
                    proplist::write(&props, &mut written);
                    assert_eq!(proplist::parse(&written), Ok(props));
                } else if node.kind == NodeKind::Dir {
                    let entries = directory::parse(&text).unwrap();
                    assert!(entries.iter().all(|entry| self.nodes[&entry.id].kind == entry.kind));
                    let mut written = Vec::new();
                    directory::write(&entries, &mut written).unwrap();
                    assert_eq!(written, text);
                }
            }
        }
    }
}

/// The revision properties of every revision, and all items.
fn read(repository: &Path) -> (Found, Vec<PropList>) {
    let db: PathBuf = repository.join("db");
    let format = FormatFile::parse(&fs::read(db.join("format")).unwrap()).unwrap();
    let layout = Layout(format);
    let number =
        |name: &str| -> u64 { fs::read_to_string(db.join(name)).unwrap().trim().parse().unwrap() };
    let (youngest, unpacked) = (number("current"), number("min-unpacked-rev"));
    let (mut found, mut props) = (Found::default(), Vec::new());
    let read = |name: String| fs::read(db.join(name)).unwrap();
    for shard in 0..unpacked / SHARD {
        found.file(&db.join(layout.pack(shard)), Revnum(shard * SHARD), SHARD);
        let manifest = read(layout.manifest(shard));
        let entries = revprops::parse_manifest(&manifest).unwrap();
        assert_eq!(
            revprops::parse_manifest(&revprops::write_manifest(&entries).unwrap()),
            Ok(entries.clone())
        );
        if shard == 0 {
            props.push(revprops::parse_file(&read(layout.revprops(Revnum::ZERO, true))).unwrap());
        }
        for entry in entries {
            let pack =
                revprops::RevpropPack::read(&read(layout.revprop_pack(shard, entry))).unwrap();
            assert_eq!(entry.start.0, props.len() as u64);
            props.extend((0..pack.len().unwrap()).map(|at| pack.get(at).unwrap()));
        }
    }
    for revision in (unpacked..=youngest).map(Revnum) {
        found.file(&db.join(layout.revision(revision)), revision, 1);
        let file = read(layout.revprops(revision, false));
        let list = revprops::parse_file(&file).unwrap();
        assert_eq!(revprops::parse_file(&revprops::write_file(&list)), Ok(list.clone()));
        props.push(list);
    }
    found.check_nodes();
    (found, props)
}

#[test]
fn repositories_of_the_reference_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("plain"), folder.path().join("packed"));
    let history = random::history(7, 50);
    fsx::make(&plain, &history, SHARD, false);
    fsx::make(&packed, &history, SHARD, true);
    let ((a, a_props), (b, b_props)) = (read(&plain), read(&packed));
    assert_eq!(a_props.len(), history.youngest() + 1);
    let without_dates = |mut list: PropList| {
        list.remove("svn:date");
        list
    };
    let strip = |props: Vec<PropList>| props.into_iter().map(without_dates).collect::<Vec<_>>();
    assert_eq!(strip(a_props), strip(b_props));
    assert_eq!(a.changes, b.changes);
    assert_eq!(a.nodes, b.nodes);
    for kind in ["NodeRevsContainer", "ChangesContainer", "RepsContainer"] {
        assert!(b.kinds.contains_key(kind), "{:?}", b.kinds);
    }
    for kind in ["NodeRev", "Changes", "FileRep", "DirRep", "FileProps"] {
        assert!(a.kinds.contains_key(kind), "{:?}", a.kinds);
    }
}
