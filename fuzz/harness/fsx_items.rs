//! All items of FSX: what is read and can be written is read again the same.

use sapwood_core::Revnum;
use sapwood_fsx_format::changes_container::ChangesContainer;
use sapwood_fsx_format::format_file::FormatFile;
use sapwood_fsx_format::noderevs_container::{Builder, NodeRevsContainer};
use sapwood_fsx_format::reps_container::RepsContainer;
use sapwood_fsx_format::{NodeRev, changes, directory, l2p, p2l, proplist, rep, revprops};

/// How many items of a container are looked at.
const MANY: usize = 500;

/// Runs one input as each kind of item; the first byte is not used where the rest is a container.
pub fn run(data: &[u8]) {
    texts(data);
    containers(data);
    indexes(data);
    // With a checksum that fits, the parser behind it is reached.
    let mut file = data.to_vec();
    sapwood_fsx_format::trailer::append(&mut file);
    let _ = revprops::parse_file(&file);
    if let Ok(entries) = revprops::parse_manifest(&file) {
        let written = revprops::write_manifest(&entries).expect("what was read can be written");
        assert_eq!(revprops::parse_manifest(&written), Ok(entries));
    }
    if let Ok(pack) = revprops::RevpropPack::read(&file) {
        (0..pack.len().unwrap_or(0).min(MANY)).for_each(|at| drop(pack.get(at)));
    }
}

fn texts(data: &[u8]) {
    let _ = FormatFile::parse(data);
    let _ = rep::RepHeader::parse(data);
    let _ = directory::parse_changed(data);
    if let Ok((node, _)) = NodeRev::parse(data) {
        let mut written = Vec::new();
        node.write(&mut written);
        assert_eq!(NodeRev::parse(&written), Ok((node, written.len())));
    }
    if let Ok((list, _)) = changes::parse(data) {
        let mut written = Vec::new();
        list.iter().for_each(|change| changes::write(change, &mut written));
        assert_eq!(changes::parse_txn(&written), Ok(list));
    }
    if let Ok(entries) = directory::parse(data) {
        let mut written = Vec::new();
        directory::write(&entries, &mut written).expect("what was read can be written");
        assert_eq!(directory::parse(&written), Ok(entries));
    }
    if let Ok(props) = proplist::parse(data) {
        let mut written = Vec::new();
        proplist::write(&props, &mut written);
        assert_eq!(proplist::parse(&written), Ok(props));
    }
}

fn containers(data: &[u8]) {
    if let Ok(container) = NodeRevsContainer::read(data) {
        let mut builder = Builder::default();
        let nodes = (0..container.len().min(MANY)).map_while(|at| container.get(at).ok());
        let nodes: Vec<_> = nodes.collect();
        if nodes.iter().all(|node| builder.push(node).is_ok()) {
            let mut written = Vec::new();
            builder.write(&mut written).expect("memory takes it");
            let again = NodeRevsContainer::read(&written).expect("what was written can be read");
            for (at, node) in nodes.iter().enumerate() {
                assert_eq!(again.get(at).as_ref(), Ok(node));
            }
        }
    }
    if let Ok(container) = ChangesContainer::read(data) {
        (0..container.len().unwrap_or(0).min(MANY)).for_each(|at| drop(container.get(at)));
    }
    if let Ok(container) = RepsContainer::read(data) {
        (0..container.len().unwrap_or(0).min(MANY)).for_each(|at| drop(container.get(at, 1 << 20)));
    }
}

fn indexes(data: &[u8]) {
    let len = u64::try_from(data.len()).unwrap_or(0);
    let first = Revnum(20);
    for revisions in [1, 20] {
        let Ok(header) = l2p::Header::parse(data, len, first, revisions) else { continue };
        for revision in (20..20 + revisions).map(Revnum) {
            for page in header.pages_of(revision).expect("a revision of the index") {
                let bytes = part(data, page.offset, page.len).expect("a page within the index");
                let _ = l2p::parse_page(bytes, page.entries);
            }
        }
    }
    if let Ok(header) = p2l::Header::parse(data, len, first) {
        for (offset, len) in &header.pages {
            let bytes = part(data, *offset, *len).expect("a page within the index");
            let _ = p2l::parse_page(bytes, first);
        }
    }
}

fn part(data: &[u8], start: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    data.get(start..start.checked_add(usize::try_from(len).ok()?)?)
}
