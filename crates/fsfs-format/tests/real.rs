//! Every item of repositories that the reference's `svnadmin` made is parsed, and where we write
//! that item too, what we write is what was read, to the byte.

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

use sapwood_core::hashdump::{self, END};
use sapwood_core::{Md5, NodeKind, Revnum};
use sapwood_fsfs_format::current::{Current, parse_min_unpacked_rev, parse_txn_current};
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsfs_format::index_write::{ItemOffsets, write_l2p, write_p2l};
use sapwood_fsfs_format::l2p::{ITEM_CHANGES, ITEM_ROOT};
use sapwood_fsfs_format::manifest::Manifest;
use sapwood_fsfs_format::rep::ENDREP;
use sapwood_fsfs_format::revprops::{RevpropManifest, RevpropPack};
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{
    Addressing, Changes, Directory, Error, Footer, FormatFile, ItemType, L2pHeader, L2pPage,
    Layout, Location, NodeRev, NodeRevId, P2lEntry, P2lHeader, P2lPage, RepHeader, RepLocation,
    Representation, Trailer,
};
use sapwood_testkit::{Programs, Repository, Shape};

/// What was met, to see that the fixtures hold what they should.
#[derive(Debug, Default)]
struct Met {
    noderevs: usize,
    changes: usize,
    directories: usize,
    delta_reps: usize,
    revprops: usize,
    /// Node-revisions that the present format would write in another way.
    old_forms: usize,
}

struct Repo {
    db: PathBuf,
    layout: Layout,
    min_unpacked: Revnum,
    youngest: Revnum,
    met: Met,
    seen: BTreeSet<(Revnum, u64)>,
}

impl Repo {
    fn open(db: &Path) -> Self {
        let bytes = fs::read(db.join("format")).unwrap();
        let format = FormatFile::parse(&bytes, "format").unwrap();
        let mut out = Vec::new();
        format.write(&mut out);
        // A linear layout need not be written.
        assert!(out == bytes || format.shard_size.is_none());
        assert_eq!(FormatFile::parse(&out, "format"), Ok(format));
        let current = fs::read(db.join("current")).unwrap();
        let youngest = Current::parse(&current, format.number).unwrap();
        let mut out = Vec::new();
        youngest.write(&mut out);
        assert_eq!(out, current);
        if let Ok(bytes) = fs::read(db.join("txn-current")) {
            parse_txn_current(&bytes).unwrap();
        }
        let min_unpacked = match fs::read(db.join("min-unpacked-rev")) {
            Ok(bytes) => parse_min_unpacked_rev(&bytes).unwrap(),
            Err(_) => Revnum(0),
        };
        Self {
            db: db.to_owned(),
            layout: Layout::new(format),
            min_unpacked,
            youngest: youngest.youngest,
            met: Met::default(),
            seen: BTreeSet::new(),
        }
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.db.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    fn all(&mut self) {
        let logical = self.layout.format.addressing == Addressing::Logical;
        let mut revision = Revnum(0);
        while revision <= self.youngest {
            let packed = revision < self.min_unpacked;
            let size = if packed { self.layout.format.shard_size.unwrap() } else { 1 };
            let shard = self.layout.shard(revision);
            let file = match packed {
                true => self.read(&self.layout.pack_file(shard.unwrap())),
                false => self.read(&self.layout.rev_file(revision)),
            };
            if logical {
                self.logical(&file, revision, size);
            } else if packed {
                let bytes = self.read(&self.layout.pack_manifest(shard.unwrap()));
                let manifest = Manifest::parse(&bytes, size).unwrap();
                let mut out = Vec::new();
                manifest.write(&mut out);
                assert_eq!(out, bytes);
                for place in 0..size {
                    let end = manifest.offset(place + 1).unwrap_or(file.len() as u64);
                    let start = manifest.offset(place).unwrap();
                    let data = &file[start as usize..end as usize];
                    self.physical(data, Revnum(revision.0 + place));
                }
            } else {
                self.physical(&file, revision);
            }
            revision = Revnum(revision.0 + size);
        }
        self.revprops();
    }

    fn physical(&mut self, data: &[u8], revision: Revnum) {
        let trailer = Trailer::parse(data, revision).unwrap();
        let mut out = Vec::new();
        trailer.write(&mut out);
        assert!(data.ends_with(&out));
        self.changes(&data[trailer.changes as usize..], revision);
        self.tree(data, trailer.root, revision);
    }

    /// Walks what this revision changed, by offsets.
    fn tree(&mut self, data: &[u8], offset: u64, revision: Revnum) {
        if !self.seen.insert((revision, offset)) {
            return;
        }
        let noderev = self.noderev(&data[offset as usize..]);
        for rep in [noderev.text, noderev.props].into_iter().flatten() {
            if let RepLocation::Rev { revision: at, item } = rep.location
                && at == revision
            {
                let children = self.rep(&data[item as usize..], &rep, noderev.kind);
                if noderev.text != Some(rep) {
                    continue;
                }
                for child in children {
                    if let Location::Rev { revision: at, item } = child.location
                        && at == revision
                    {
                        self.tree(data, item, revision);
                    }
                }
            }
        }
    }

    fn noderev(&mut self, bytes: &[u8]) -> NodeRev {
        let (noderev, len) = NodeRev::parse(bytes).unwrap();
        self.met.noderevs += 1;
        let mut out = Vec::new();
        noderev.write(self.layout.format.number, &mut out);
        if out != bytes[..len] {
            // An upgraded repository keeps what older programs wrote.
            let older = (1..self.layout.format.number).any(|format| {
                out.clear();
                noderev.write(format, &mut out);
                out == bytes[..len]
            });
            let text = String::from_utf8_lossy(&bytes[..len]);
            assert!(older, "{text}\n{}", String::from_utf8_lossy(&out));
            self.met.old_forms += 1;
        }
        for end in 0..len {
            assert_eq!(NodeRev::parse(&bytes[..end]), Err(Error::UnexpectedEnd("node-revision")));
        }
        noderev
    }

    /// Checks the frame of a representation; the entries, when it is a directory's plain text.
    fn rep(&mut self, bytes: &[u8], rep: &Representation, kind: NodeKind) -> Vec<NodeRevId> {
        let (header, len) = RepHeader::parse(bytes).unwrap();
        let mut out = Vec::new();
        header.write(&mut out);
        assert_eq!(out, bytes[..len]);
        let end = len + rep.size as usize;
        assert!(bytes[end..].starts_with(ENDREP));
        if header != RepHeader::Plain {
            self.met.delta_reps += 1;
            assert!(bytes[len..].starts_with(b"SVN"));
            return Vec::new();
        }
        let data = &bytes[len..end];
        assert_eq!(Md5::of(data), rep.md5);
        match (kind, Directory::parse(data)) {
            (NodeKind::Dir, Ok(dir)) => {
                self.met.directories += 1;
                let mut out = Vec::new();
                dir.write(&mut out);
                assert_eq!(out, data);
                dir.iter().map(|e| e.id).collect()
            }
            // Properties.
            _ => {
                hashdump::parse(data, Some(END)).unwrap();
                Vec::new()
            }
        }
    }

    fn changes(&mut self, bytes: &[u8], revision: Revnum) -> usize {
        let mut list = Changes::new(bytes);
        let mut out = Vec::new();
        let all: Vec<_> = list.by_ref().map(Result::unwrap).collect();
        assert!(list.is_terminated(), "r{revision}");
        for change in &all {
            self.met.changes += 1;
            change.write(self.layout.format.number, false, &mut out);
        }
        out.push(b'\n');
        assert_eq!(
            String::from_utf8_lossy(&out),
            String::from_utf8_lossy(&bytes[..list.consumed()]),
            "r{revision}"
        );
        list.consumed()
    }

    fn logical(&mut self, file: &[u8], first: Revnum, count: u64) {
        let footer = Footer::parse(file, file.len() as u64, first).unwrap();
        let mut out = Vec::new();
        footer.write(&mut out);
        assert!(file.ends_with(&out));
        let l2p_bytes = &file[footer.l2p_offset as usize..footer.p2l_offset as usize];
        let p2l_bytes = &file[footer.p2l_offset as usize..footer.footer_offset as usize];
        assert_eq!(Md5::of(l2p_bytes), footer.l2p_md5);
        assert_eq!(Md5::of(p2l_bytes), footer.p2l_md5);

        let items = self.l2p(l2p_bytes, first, count);
        let entries = Self::p2l(p2l_bytes, first, &footer);
        let mut reps = BTreeMap::new();
        for entry in &entries {
            if entry.item_type == ItemType::Unused {
                continue;
            }
            let data = &file[entry.offset as usize..entry.end() as usize];
            assert_eq!(Fnv1a32x4::of(data), entry.fnv1, "{entry:?}");
            let at = (entry.revision, entry.item);
            assert_eq!(items.get(&at), Some(&entry.offset), "{entry:?}");
            match entry.item_type {
                ItemType::NodeRev => {
                    let noderev = self.noderev(data);
                    assert_eq!(noderev.id.revision(), Some(entry.revision));
                    assert_eq!(noderev.id.item(), Some(entry.item));
                    for rep in [noderev.text, noderev.props].into_iter().flatten() {
                        if let RepLocation::Rev { revision, item } = rep.location {
                            reps.insert((revision, item), (rep, noderev.kind));
                        }
                    }
                }
                ItemType::Changes => {
                    assert_eq!(entry.item, ITEM_CHANGES);
                    assert_eq!(self.changes(data, entry.revision), data.len());
                }
                _ => {}
            }
        }
        for entry in &entries {
            if let Some((rep, kind)) = reps.get(&(entry.revision, entry.item)) {
                let data = &file[entry.offset as usize..entry.end() as usize];
                self.rep(data, rep, *kind);
            }
        }
        let used = entries.iter().filter(|e| e.item_type != ItemType::Unused).count();
        assert_eq!(used, items.len());
        for place in 0..count {
            let revision = Revnum(first.0 + place);
            for item in [ITEM_CHANGES, ITEM_ROOT] {
                // Revision 0 of a fresh repository has a root, and changes too.
                assert!(items.contains_key(&(revision, item)), "r{revision}");
            }
        }
    }

    fn l2p(&self, bytes: &[u8], first: Revnum, count: u64) -> BTreeMap<(Revnum, u64), u64> {
        let len = bytes.len() as u64;
        let shard_size = self.layout.format.shard_size.unwrap();
        let header = L2pHeader::parse(bytes, len, first, shard_size).unwrap();
        assert_eq!(header.revision_count(), count);
        let mut found = BTreeMap::new();
        let mut revisions = Vec::new();
        for place in 0..count {
            let revision = Revnum(first.0 + place);
            let mut offsets = ItemOffsets::new();
            for item in 0..header.item_count(revision).unwrap() {
                let slot = header.find(revision, item).unwrap();
                let start = slot.info.offset as usize;
                let page = &bytes[start..start + slot.info.size as usize];
                let page = L2pPage::parse(page, &slot.info).unwrap();
                let offset = page.offset(&slot, revision, item).unwrap();
                if let Some(offset) = offset {
                    assert!(offsets.set(item, offset));
                    found.insert((revision, item), offset);
                }
            }
            revisions.push(offsets);
        }
        let mut out = Vec::new();
        write_l2p(first, u64::from(header.page_size()), &revisions, &mut out);
        assert_eq!(out, bytes);
        found
    }

    fn p2l(bytes: &[u8], first: Revnum, footer: &Footer) -> Vec<P2lEntry> {
        let len = bytes.len() as u64;
        let header = P2lHeader::parse(bytes, len, first, footer.l2p_offset).unwrap();
        let mut all: Vec<P2lEntry> = Vec::new();
        for number in 0..header.page_count() {
            let range = header.page(number, len).unwrap();
            let bytes = &bytes[range.start as usize..range.end as usize];
            let page = P2lPage::parse(bytes, &header, number).unwrap();
            for entry in page.entries() {
                if all.last().is_none_or(|last| last.end() <= entry.offset && last != entry) {
                    all.push(*entry);
                }
            }
        }
        let filler = all.pop().unwrap();
        assert_eq!((filler.item_type, filler.offset), (ItemType::Unused, footer.l2p_offset));
        let mut out = Vec::new();
        write_p2l(first, header.page_size(), &all, &mut out);
        assert_eq!(out, bytes);
        all
    }

    fn revprops(&mut self) {
        for n in 0..=self.youngest.0 {
            let revision = Revnum(n);
            let props = if self.layout.is_revprop_packed(revision, self.min_unpacked) {
                let size = self.layout.format.shard_size.unwrap();
                let shard = self.layout.shard(revision).unwrap();
                let dir = self.layout.revprops_pack_dir(shard);
                let manifest = self.read(&format!("{dir}/manifest"));
                let manifest =
                    RevpropManifest::parse(&manifest, Revnum(shard * size), size).unwrap();
                let (name, range) = manifest.find(revision).unwrap();
                let pack = RevpropPack::parse(&self.read(&format!("{dir}/{name}"))).unwrap();
                assert_eq!(pack.first_revision().0, range.start);
                assert_eq!(pack.len() as u64, range.end - range.start);
                pack.get(revision).unwrap().to_vec()
            } else {
                self.read(&self.layout.revprops_file(revision))
            };
            self.met.revprops += hashdump::parse(&props, Some(END)).unwrap().len();
        }
    }
}

fn check(repository: &Repository) -> Met {
    let mut repo = Repo::open(&repository.path().join("db"));
    let name = repository.name();
    repo.all();
    let met = repo.met;
    assert!(met.noderevs > 20 && met.changes > 20 && met.revprops > 20, "{name}: {met:?}");
    let format = repo.layout.format.number;
    let fresh = !repository.shape.upgraded || format < since::PACKING;
    // Revision 0 is written from a template that leaves out what is optional.
    assert!(!fresh || met.old_forms <= 1, "{name}: {met:?}");
    println!("{name}: {met:?}");
    met
}

#[test]
fn scripted_history_in_a_few_shapes() {
    let met: Vec<Met> =
        Shape::few().iter().map(|shape| check(&Repository::scripted(shape))).collect();
    assert!(met.iter().any(|m| m.old_forms > 0));
    assert!(met.iter().any(|m| m.delta_reps > 0));
    assert!(met.iter().any(|m| m.directories > 0));
}

#[test]
#[ignore = "long: all shapes"]
fn random_history_in_all_shapes() {
    for shape in Shape::all() {
        let repository = Repository::random(&shape, 11, 40);
        // With small blocks the reference's packing may lose items, as its own verification says.
        let args = ["verify", "-q", &repository.arg()];
        if Programs::reference().run("svnadmin", args).code == 0 {
            check(&repository);
        }
    }
}
