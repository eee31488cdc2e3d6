//! Items of revision files and small files of a filesystem: what is read is written, and read
//! again the same.

use sapwood_core::Revnum;
use sapwood_fsfs_format::changes::{ChangeRef, Changes, fold};
use sapwood_fsfs_format::current::{Current, parse_min_unpacked_rev, parse_txn_current};
use sapwood_fsfs_format::lockfile::DigestFile;
use sapwood_fsfs_format::manifest::Manifest;
use sapwood_fsfs_format::txn::NextIds;
use sapwood_fsfs_format::{
    DirEntries, Directory, Footer, FormatFile, IdPart, NodeRev, NodeRevId, RepHeader,
    Representation, Trailer, node_origins,
};

/// Runs one input: its first byte chooses the item.
pub fn run(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 14 {
        0 => noderev(data),
        1 => again(RepHeader::parse(data).ok().map(|(h, _)| h), RepHeader::write, |b| {
            RepHeader::parse(b).ok().map(|(h, _)| h)
        }),
        2 => representation(data),
        3 => directory(data),
        4 => changes(data),
        5 => id(data),
        6 => again(FormatFile::parse(data, "format").ok(), FormatFile::write, |b| {
            FormatFile::parse(b, "format").ok()
        }),
        7 => {
            for format in [1, 8] {
                let parse = |b: &[u8]| Current::parse(b, format).ok();
                again(parse(data), Current::write, parse);
            }
            let _ = (parse_min_unpacked_rev(data), parse_txn_current(data));
        }
        8 => {
            let parse = |b: &[u8]| Trailer::parse(b, Revnum(1)).ok();
            let write = |t: &Trailer, out: &mut Vec<u8>| {
                out.push(b'\n');
                t.write(out);
            };
            again(parse(data), write, parse);
        }
        9 => footer(data),
        10 => {
            let lines = data.iter().filter(|b| **b == b'\n').count();
            let parse = |b: &[u8]| Manifest::parse(b, u64::try_from(lines).ok()?).ok();
            again(parse(data), Manifest::write, parse);
        }
        11 => again(NextIds::parse(data).ok(), NextIds::write, |b| NextIds::parse(b).ok()),
        12 => again(DigestFile::parse(data, "lock", "db").ok(), DigestFile::write, |b| {
            DigestFile::parse(b, "lock", "db").ok()
        }),
        _ => {
            let _ = node_origins::find(data, IdPart::new(Revnum(0), 71));
        }
    }
}

fn again<T: PartialEq + std::fmt::Debug>(
    read: Option<T>,
    write: impl Fn(&T, &mut Vec<u8>),
    parse: impl Fn(&[u8]) -> Option<T>,
) {
    let Some(read) = read else { return };
    let mut out = Vec::new();
    write(&read, &mut out);
    assert_eq!(parse(&out), Some(read));
}

fn noderev(data: &[u8]) {
    let parse = |b: &[u8]| NodeRev::parse(b).ok().map(|(n, _)| n);
    let Ok((node, len)) = NodeRev::parse(data) else { return };
    assert!(len <= data.len());
    // Format 8 can say all that a negative count of mergeinfo, which no program writes, does not.
    let node = NodeRev { mergeinfo_count: node.mergeinfo_count.max(0), ..node };
    again(Some(node), |n, out| n.write(8, out), parse);
}

fn representation(data: &[u8]) {
    let parse = |b: &[u8]| Representation::parse(b).ok();
    again(parse(data), |r, out| r.write(8, out), parse);
}

fn directory(data: &[u8]) {
    again(Directory::parse(data).ok(), Directory::write, |b| Directory::parse(b).ok());
    again(Directory::parse_incremental(data).ok(), Directory::write, |b| {
        Directory::parse_incremental(b).ok()
    });
    let count = DirEntries::new(data).filter(Result::is_ok).count();
    if let Ok(dir) = Directory::parse(data) {
        assert_eq!(dir.len(), count);
        for entry in dir.iter() {
            assert_eq!(dir.find(entry.name), Some(entry));
        }
    }
}

fn changes(data: &[u8]) {
    let raw: Vec<ChangeRef<'_>> = Changes::new(data).filter_map(Result::ok).collect();
    let mut out = Vec::new();
    for change in &raw {
        change.write(8, false, &mut out);
    }
    let again: Vec<ChangeRef<'_>> = Changes::new(&out).map(|c| c.expect("own form")).collect();
    assert_eq!(again, raw);
    if let Ok(folded) = fold(raw) {
        assert!(folded.is_sorted_by(|a, b| a.path < b.path));
    }
}

fn id(data: &[u8]) {
    if let Ok(id) = NodeRevId::parse(data) {
        assert_eq!(NodeRevId::parse(id.to_string().as_bytes()), Ok(id));
    }
}

fn footer(data: &[u8]) {
    let len = u64::try_from(data.len()).unwrap_or(0).saturating_add(1 << 20);
    if let Ok(footer) = Footer::parse(data, len, Revnum(1)) {
        assert!(footer.l2p_offset < footer.p2l_offset && footer.p2l_offset < footer.footer_offset);
        let mut out = Vec::new();
        footer.write(&mut out);
        let own = u64::try_from(out.len()).unwrap_or(0).saturating_add(footer.footer_offset);
        assert_eq!(Footer::parse(&out, own, Revnum(1)), Ok(footer));
    }
}
