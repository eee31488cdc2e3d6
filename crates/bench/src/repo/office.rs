//! Documents, tables and pictures: large files that do not compress.
//!
//! A document is a row of parts, as a .docx is an archive of compressed members. A part is known by
//! its seed and length, so that gigabytes of texts are never in memory; what changes is a part's
//! seed, and the parts around it stay as they are.

use std::io::Read;

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::rng::Rng;
use sapwood_core::{FsPath, SvnError, SvnResult, props::names as prop_names};

use super::build::{Build, add_file};

/// The number of documents in the end.
const DOCUMENTS: usize = 600;
/// The number of directories for them.
const FOLDERS: usize = 40;
const INDEX: &str = "/trunk/index.txt";

/// A part: its seed and its length in bytes.
type Part = (u64, usize);

struct Document {
    path: String,
    parts: Vec<Part>,
}

/// Writes the history.
pub(super) fn write(build: &mut Build<'_, '_>) -> SvnResult<()> {
    let mut txn = build.begin()?;
    txn.make_dir(FsPath::new("/trunk")?)?;
    for folder in 0..FOLDERS {
        txn.make_dir(FsPath::new(&format!("/trunk/folder{folder:02}"))?)?;
    }
    add_file(&mut txn, INDEX, b"What is here.\n")?;
    build.commit(txn, "dev0", "The folders.")?;
    let mut documents: Vec<Document> = Vec::new();
    let mut serial: usize = 0;
    while build.goes_on() {
        let mut txn = build.begin()?;
        let left = build.revisions().minus(build.youngest());
        let due = DOCUMENTS.times(build.youngest());
        let due = due.checked_div(build.revisions()).unwrap_or(DOCUMENTS);
        for _ in 0..build.rng.between(1, 3) {
            serial = serial.plus(1);
            let folder = build.rng.below(FOLDERS);
            let kind = build.rng.below(1_000);
            let enough = documents.len() > due;
            let at = build.rng.skewed(documents.len());
            match documents.get_mut(at) {
                // A file that stays as it is: a picture, seldom something huge.
                _ if kind < 60 => {
                    let huge = kind < 2 && left > 20;
                    let (low, high) = if huge { (20, 60) } else { (1, 8) };
                    let len = build.rng.between(low << 20, high << 20);
                    let parts = vec![(build.rng.draw(), len)];
                    let path = format!("/trunk/folder{folder:02}/picture{serial:04}.png");
                    add(&mut txn, &path, &parts)?;
                }
                Some(document) if enough => {
                    change(build, &mut document.parts);
                    txn.set_text(
                        FsPath::new(&document.path)?,
                        &mut Parts::new(&document.parts),
                        None,
                    )?;
                }
                _ => {
                    let kinds = ["docx", "xlsx", "pptx"];
                    let kind = build.rng.choose(&kinds).copied().unwrap_or("docx");
                    let path = format!("/trunk/folder{folder:02}/document{serial:04}.{kind}");
                    let parts: Vec<Part> =
                        (0..build.rng.between(3, 30)).map(|_| part(build)).collect();
                    add(&mut txn, &path, &parts)?;
                    documents.push(Document { path, parts });
                }
            }
        }
        if build.rng.chance(30) {
            let index = build.text(INDEX)?;
            let mut index = index.ok_or_else(|| SvnError::internal("the index is gone"))?;
            index.extend_from_slice(build.rng.line().as_bytes());
            txn.set_text(FsPath::new(INDEX)?, &mut index.as_slice(), None)?;
        }
        build.commit_some(txn, 25)?;
    }
    Ok(())
}

fn add(txn: &mut sapwood_fs::txn::Txn, path: &str, parts: &[Part]) -> SvnResult<()> {
    let path = FsPath::new(path)?;
    txn.make_file(path)?;
    txn.set_text(path, &mut Parts::new(parts), None)?;
    Ok(txn.change_prop(path, prop_names::MIME_TYPE, Some(b"application/octet-stream"))?)
}

fn part(build: &mut Build<'_, '_>) -> Part {
    (build.rng.draw(), build.rng.skewed(120_000).plus(2_000))
}

/// Other contents for one to three parts, now and then one part more.
fn change(build: &mut Build<'_, '_>, parts: &mut Vec<Part>) {
    for _ in 0..build.rng.between(1, 3) {
        let new = part(build);
        let at = build.rng.below(parts.len());
        match parts.get_mut(at) {
            Some(old) if !build.rng.chance(10) => *old = new,
            _ => parts.push(new),
        }
    }
}

/// The bytes of a document.
struct Parts<'a> {
    parts: &'a [Part],
    /// The first part: its generator and the number of bytes that are left.
    open: Option<(Rng, usize)>,
    /// Bytes that were drawn and not yet read.
    drawn: Vec<u8>,
    taken: usize,
}

/// The number of bytes that are drawn at once.
const PIECE: usize = 64 << 10;

impl<'a> Parts<'a> {
    const fn new(parts: &'a [Part]) -> Self {
        Self { parts, open: None, drawn: Vec::new(), taken: 0 }
    }
}

impl Read for Parts<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        while self.taken == self.drawn.len() {
            let (mut rng, left) = match self.open.take() {
                Some(open) => open,
                None => {
                    let Some(((seed, len), rest)) = self.parts.split_first() else { return Ok(0) };
                    self.parts = rest;
                    (Rng::new(*seed), *len)
                }
            };
            let piece = left.min(PIECE);
            self.drawn = rng.bytes(piece);
            self.taken = 0;
            if left > piece {
                self.open = Some((rng, left.minus(piece)));
            }
        }
        let rest = self.drawn.tail(self.taken);
        let len = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..len), rest.get(..len)) {
            to.copy_from_slice(from);
        }
        self.taken = self.taken.plus(len);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_whole() {
        let parts = [(1, 10), (2, PIECE * 2 + 3), (3, 0), (4, 1)];
        let read = |parts: &[Part]| {
            let mut out = Vec::new();
            Parts::new(parts).read_to_end(&mut out).unwrap();
            out
        };
        let all = read(&parts);
        assert_eq!(all.len(), 10 + PIECE * 2 + 3 + 1);
        assert_eq!(all[10..all.len() - 1], read(&[parts[1]]));
        assert_eq!(read(&[]), b"");
    }
}
